// Providers that refuse the key of the server.
import { expect, test } from "vitest";
import { DAY_MS } from "../../src/core/instant.ts";
import { clearRefusals, listRefusals, noteRefusals } from "../../src/store/provider-refusals.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { MONDAY_NOON as NOW } from "../support/sample.ts";

const database = useDatabase();

test("a refusal is kept with its beginning until a message is accepted, and begins again after a pause", async () => {
  const note = (at: number, ...kinds: string[]) =>
    inTransaction(database.db, (tx) =>
      noteRefusals(tx, {
        refusals: kinds.map((kind) => ({ kind, reason: `${kind} at ${at}` })),
        at,
        after: at - DAY_MS,
      }),
    );
  const list = (from: number) => listRefusals(database.db, { from });
  await note(NOW, "telegram", "sms");
  await note(NOW + 1_000, "sms");
  expect(await list(NOW)).toEqual([
    { kind: "sms", reason: `sms at ${NOW + 1_000}`, since: NOW },
    { kind: "telegram", reason: `telegram at ${NOW}`, since: NOW },
  ]);
  expect((await list(NOW + 1)).map(({ kind }) => kind)).toEqual(["sms"]);
  await inTransaction(database.db, (tx) => clearRefusals(tx, ["sms", "slack"]));
  expect((await list(NOW)).map(({ kind }) => kind)).toEqual(["telegram"]);
  const later = NOW + 2 * DAY_MS;
  await note(later, "telegram");
  expect(await list(later)).toMatchObject([{ kind: "telegram", since: later }]);
});
