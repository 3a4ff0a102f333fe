// Request values are validated by their schema, and rejected with a sentence that names the field.
import { Type } from "typebox";
import { describe, expect, test } from "vitest";
import { RULE } from "../check.ts";
import { historyRoutes } from "./history.ts";
import { validateBody, validateQuery } from "./validate.ts";

const Body = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 3 }),
    count: Type.Optional(Type.Integer({ minimum: 2, maximum: 4 })),
    ids: Type.Optional(Type.Array(Type.String({ pattern: "^x$" }), { minItems: 1, maxItems: 2 })),
    do: Type.Optional(Type.Enum(["pause", "resume"])),
    tz: Type.Optional(Type.String({ [RULE]: "zone" })),
    free: Type.Optional(Type.Unknown()),
    groups: Type.Optional(
      Type.Array(
        Type.Object({
          when: Type.Object({ tz: Type.String({ [RULE]: "zone" }), grace: Type.Integer({ minimum: 60 }) }),
        }),
      ),
    ),
  },
  { additionalProperties: false },
);

describe("a body", () => {
  test.each([
    ["lists", (levels: number) => `${"[".repeat(levels)}${"]".repeat(levels)}`],
    ["objects", (levels: number) => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`],
  ])("of %s without end is rejected without a stack overflow", (_, nested) => {
    const judge = (levels: number) =>
      validateBody(Body, JSON.parse(`{"name":"a","free":${nested(levels)}}`) as unknown);
    expect(judge(20).ok).toBe(true);
    for (const levels of [21, 100_000]) {
      expect(judge(levels)).toEqual({ ok: false, error: "free is nested too deeply.", field: "free" });
    }
  });

  test("that matches its schema is passed on unchanged", () => {
    const body = { name: "abc", count: 3, ids: ["x"], do: "pause", tz: "Europe/Riga" };
    expect(validateBody(Body, body)).toEqual({ ok: true, value: body });
  });

  test.each([
    [{}, "name", "The name is missing."],
    [{ name: 5 }, "name", "The name must be text."],
    [{ name: "" }, "name", "The name must not be empty."],
    [{ name: "abcd" }, "name", "The name must have at most 3 characters."],
    [{ name: "a", count: 1 }, "count", "count must be at least 2."],
    [{ name: "a", count: 5 }, "count", "count must be at most 4."],
    [{ name: "a", count: 2.5 }, "count", "count must be a whole number."],
    [{ name: "a", ids: [] }, "ids", "ids must have at least 1 items."],
    [{ name: "a", ids: ["y"] }, "ids", "ids contains characters that are not allowed."],
    [{ name: "a", do: "stop" }, "do", "do is not an allowed value."],
    [{ name: "a", more: 1 }, "more", "more is not allowed."],
    [{ name: "a", tz: "Mars" }, "tz", "Unknown time zone: Mars."],
    [{ name: "a\0" }, "name", "The name contains a character that can't be stored."],
    [{ name: "a", free: [{ deep: "\ud800" }] }, "free", "free contains a character that can't be stored."],
    [
      { name: "a", groups: [{ when: { tz: "\0", grace: 60 } }] },
      "tz",
      "The time zone contains a character that can't be stored.",
    ],
    [{ name: "a", groups: [{ when: { tz: "UTC", grace: 5 } }] }, "grace", "grace must be at least 60."],
    [{ name: "a", groups: [{ when: { tz: "UTC" } }] }, "grace", "grace is missing."],
    [{ name: "a", groups: [{}, {}] }, "when", "when is missing."],
    [
      { name: "a", groups: [{ when: { tz: "UTC", grace: 60 } }, { when: { tz: "Mars", grace: 60 } }] },
      "tz",
      "Unknown time zone: Mars.",
    ],
  ])("%j is rejected", (body, field, error) => {
    expect(validateBody(Body, body)).toEqual({ ok: false, error, field });
  });

  test.each([[null], [[]], ["text"], [7]])("%j is not an object", (body) => {
    expect(validateBody(Body, body)).toEqual({ ok: false, error: "The request is not a JSON object." });
  });
});

describe("a query", () => {
  const Query = Type.Object({
    limit: Type.Optional(Type.Integer({ minimum: 1 })),
    text: Type.Optional(Type.String()),
  });

  test("has numbers if the schema has them, and no unknown names", () => {
    expect(validateQuery(Query, new URLSearchParams("limit=5&text=7&other=x"))).toEqual({
      ok: true,
      value: { limit: 5, text: "7" },
    });
  });

  test("is rejected with the invalid field", () => {
    expect(validateQuery(Query, new URLSearchParams("limit=five"))).toEqual({
      ok: false,
      error: "limit must be a whole number.",
      field: "limit",
    });
  });
});

describe("a minute in local time", () => {
  test.each([
    ["2026-11-15T03:00", true],
    ["9999-12-31T23:59", false],
    ["0000-01-01T00:00", false],
    ["2026-13-01T00:00", false],
    ["2026-01-01T24:00", false],
    ["2026-01-01T00:00\n", false],
  ])("%j: %s", (to, isTaken) => {
    expect(validateQuery(historyRoutes.listProjectEvents.query, new URLSearchParams({ to })).ok).toBe(
      isTaken,
    );
  });
});
