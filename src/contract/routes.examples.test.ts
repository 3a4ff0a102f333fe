// Every example of what is only read is an answer that version 3 could give.
import { Value } from "typebox/value";
import { expect, test } from "vitest";
import { HISTORY_ROUTES } from "./routes.ts";
import { VERSIONS } from "./versions.ts";

const SIGHT = { column: VERSIONS.standard[3], keyKind: "readWrite" } as const;

const CASES = HISTORY_ROUTES.flatMap(({ endpoint, responses }) =>
  Object.entries(responses).map(([status, response]) => [endpoint, status, response] as const),
);

test.each(CASES)("%s, answer %s", (_, __, { schema, example }) => {
  expect([...Value.Errors(schema(SIGHT), example)]).toEqual([]);
});

test("there is one for each of them", () => {
  expect(CASES.length).toBe(6);
});
