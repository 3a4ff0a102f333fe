// Upsert: which stored check a request with `unique` selects.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type CheckParams,
  type CheckSettings,
  DEFAULT_SETTINGS,
  meetsCriteria,
  oldestMatch,
  UNIQUE_FIELDS,
  uniqueCriteria,
  type UniqueField,
} from "./check.ts";

const stored = (id: number, patch: Partial<CheckSettings>) => ({
  id,
  settings: { ...DEFAULT_SETTINGS, ...patch },
});
const find = (params: CheckParams, unique: UniqueField[], checks: ReturnType<typeof stored>[]) => {
  const criteria = uniqueCriteria(params, unique);
  return criteria === null ? null : (oldestMatch(checks, criteria)?.id ?? null);
};

describe("criteria", () => {
  test("are the values that the request gives for the named fields, and no others", () => {
    const params = { name: "n", slug: "s", tags: "t", timeoutSeconds: 60, graceSeconds: 120, desc: "d" };
    expect(uniqueCriteria(params, [...UNIQUE_FIELDS])).toEqual({
      name: "n",
      slug: "s",
      tags: "t",
      timeoutSeconds: 60,
      graceSeconds: 120,
    });
    expect(uniqueCriteria(params, ["grace"])).toEqual({ graceSeconds: 120 });
  });

  test("are none when unique is empty: a plain create", () => {
    expect(uniqueCriteria({ name: "n" }, [])).toBeNull();
  });

  test("there are none if a named field is missing, so a new check is created", () => {
    expect(uniqueCriteria({}, ["name"])).toBeNull();
    expect(uniqueCriteria({ name: "n" }, ["name", "slug"])).toBeNull();
    expect(uniqueCriteria({ name: "n" }, ["timeout"])).toBeNull();
  });

  test("take an empty text for a value that is given", () => {
    expect(uniqueCriteria({ name: "" }, ["name"])).toEqual({ name: "" });
  });
});

describe("matching", () => {
  test.each([
    ["by name", { name: "job" }, ["name"], { name: "job" }, true],
    ["letter case counts", { name: "job" }, ["name"], { name: "Job" }, false],
    ["spaces count", { name: "job " }, ["name"], { name: "job" }, false],
    ["by slug", { slug: "s" }, ["slug"], { slug: "s" }, true],
    ["by tags, as one text", { tags: "a b" }, ["tags"], { tags: "a b" }, true],
    ["the order of tags counts", { tags: "b a" }, ["tags"], { tags: "a b" }, false],
    ["by timeout", { timeoutSeconds: 60 }, ["timeout"], { timeoutSeconds: 60 }, true],
    ["another timeout", { timeoutSeconds: 61 }, ["timeout"], { timeoutSeconds: 60 }, false],
    [
      "by the timeout that a cron check has kept",
      { timeoutSeconds: 60 },
      ["timeout"],
      { kind: "cron", timeoutSeconds: 60 },
      true,
    ],
    ["by grace", { graceSeconds: 60 }, ["grace"], { graceSeconds: 60 }, true],
    ["empty equals empty", { name: "" }, ["name"], {}, true],
    [
      "all named fields must match",
      { name: "n", tags: "t" },
      ["name", "tags"],
      { name: "n", tags: "u" },
      false,
    ],
    [
      "fields that are not named need not",
      { name: "n", tags: "t" },
      ["name"],
      { name: "n", tags: "u" },
      true,
    ],
  ] as [string, CheckParams, UniqueField[], Partial<CheckSettings>, boolean][])(
    "%s",
    (_, params, unique, settings, matches) => {
      expect(find(params, unique, [stored(1, settings)])).toBe(matches ? 1 : null);
    },
  );

  test("of several matches the oldest wins, in whatever order they come", () => {
    const checks = [
      stored(7, { name: "n" }),
      stored(3, { name: "n" }),
      stored(1, {}),
      stored(5, { name: "n" }),
    ];
    expect(find({ name: "n" }, ["name"], checks)).toBe(3);
    expect(find({ name: "n" }, ["name"], checks.toReversed())).toBe(3);
  });

  test("wide ids are compared as numbers", () => {
    const checks = [10n, 9n].map((id) => ({ id, settings: DEFAULT_SETTINGS }));
    expect(oldestMatch(checks, { name: "" })?.id).toBe(9n);
  });

  test("a check always matches its own values, whichever fields are named", () => {
    const settings = fc.record({
      name: fc.string(),
      slug: fc.string(),
      tags: fc.string(),
      timeoutSeconds: fc.nat(),
      graceSeconds: fc.nat(),
    });
    fc.assert(
      fc.property(settings, fc.subarray([...UNIQUE_FIELDS], { minLength: 1 }), (values, unique) => {
        const criteria = uniqueCriteria(values, unique);
        expect(criteria).not.toBeNull();
        expect(meetsCriteria({ ...DEFAULT_SETTINGS, ...values }, criteria ?? {})).toBe(true);
      }),
    );
  });
});
