// The text for a check that was deleted or moved, and the user who did it.
import { expect, test } from "vitest";
import type { RemovedCheck } from "../../src/contract/api/overview.ts";
import { goneSentence } from "./check.ts";

const BY: readonly [RemovedCheck["by"], string][] = [
  [{ kind: "you" }, "You deleted this check today 14:02."],
  [{ kind: "person", email: "ann@example.org" }, "ann@example.org deleted this check today 14:02."],
  [{ kind: "key" }, "This check was deleted today 14:02 with a project API key."],
  [null, "This check was deleted today 14:02."],
];

test.each(BY)("%j", (by, sentence) => {
  expect(goneSentence({ how: "deleted", by }, "today 14:02")).toBe(sentence);
  expect(goneSentence({ how: "moved", by }, "today 14:02")).toBe(sentence.replace("deleted", "moved"));
});
