// Every example of a read-only route is a valid response of version 3.
import { Value } from "typebox/value";
import { expect, test } from "vitest";
import { HISTORY_ROUTES } from "./routes.ts";
import { VERSIONS } from "./versions.ts";

const SIGHT = { column: VERSIONS.standard[3], keyKind: "readWrite" } as const;

const CASES = HISTORY_ROUTES.flatMap(({ endpoint, responses }) =>
  Object.entries(responses).map(([status, response]) => [endpoint, status, response] as const),
);

test.each(CASES)("%s, response %s", (_, __, { schema, example }) => {
  expect([...Value.Errors(schema(SIGHT), example)]).toEqual([]);
});

test("each of them has an example", () => {
  expect(CASES.length).toBe(6);
});
