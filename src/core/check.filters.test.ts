// Query filters of flips and of the list of checks: what they match and what is rejected.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isCheckWanted, readFlipFilter, readListFilter } from "./check.ts";

const NOW = Date.UTC(2026, 0, 2);
const flips = (query: string) => readFlipFilter(new URLSearchParams(query), NOW);
const wanted = (fromAt: number | null, beforeAt: number | null) => ({
  ok: true,
  value: { fromAt, beforeAt },
});

describe("the filter of flips", () => {
  test.each([
    ["nothing", "", null, null],
    ["unknown parameters", "foo=1&limit=x&Seconds=x", null, null],
    ["seconds", "seconds=60", NOW - 60_000, null],
    ["as many seconds as a year has", "seconds=31536000", NOW - 31_536_000_000, null],
    ["no seconds", "seconds=", null, null],
    ["zero seconds: no filter", "seconds=0", null, null],
    ["seconds with zeros after the point", "seconds=5.0", NOW - 5000, null],
    ["seconds with zeros in front", "seconds=007", NOW - 7000, null],
    ["seconds between spaces", "seconds=%2060%20", NOW - 60_000, null],
    ["start", "start=1000", 1_000_000, null],
    ["start at its limits", "start=0&end=10000000000", 0, 10_000_000_000_000],
    ["start with zeros in front", "start=007", 7000, null],
    ["start after a space", "start=%201", 1000, null],
    ["end", "end=1000", null, 1_000_000],
    ["start and end", "start=1&end=2", 1000, 2000],
    ["seconds and an older start: the later bound holds", "seconds=60&start=1", NOW - 60_000, null],
    [
      "seconds and a younger start: the later bound holds",
      `seconds=60&start=${NOW / 1000 - 1}`,
      NOW - 1000,
      null,
    ],
    ["all three", "seconds=60&start=1&end=2", NOW - 60_000, 2000],
    ["of a repeated one the last", "seconds=x&seconds=60&start=1&start=2", NOW - 60_000, null],
  ] as [string, string, number | null, number | null][])("%s: %j", (_, query, fromAt, beforeAt) => {
    expect(flips(query)).toEqual(wanted(fromAt, beforeAt));
  });

  test.each([
    ["seconds=x", "seconds"],
    ["seconds=-1", "seconds"],
    ["seconds=%2B1", "seconds"],
    ["seconds=31536001", "seconds"],
    ["seconds=1.5", "seconds"],
    ["seconds=.0", "seconds"],
    ["seconds=1e3", "seconds"],
    ["seconds=0x10", "seconds"],
    ["seconds=1_000", "seconds"],
    ["seconds=60&seconds=x", "seconds"],
    ["start=", "start"],
    ["start=x", "start"],
    ["start=-1", "start"],
    ["start=%2B1", "start"],
    ["start=1_000", "start"],
    ["start=1.5", "start"],
    ["start=1.0", "start"],
    ["start=10000000001", "start"],
    ["start=99999999999999999999999", "start"],
    ["start=2020-01-01", "start"],
    ["start=%D9%A1", "start"],
    ["seconds=60&start=x", "start"],
    ["end=", "end"],
    ["end=x", "end"],
    ["end=-1", "end"],
    ["end=1e9", "end"],
    ["end=10000000001", "end"],
    ["start=1&end=x", "end"],
  ])("%j is refused, and the parameter is named", (query, name) => {
    expect(flips(query)).toEqual({ ok: false, text: `invalid query parameter: ${name}` });
  });

  test("no query makes the reading fail, and a refusal always names a known parameter", () => {
    const name = fc.constantFrom("seconds", "start", "end", "foo");
    fc.assert(
      fc.property(fc.array(fc.tuple(name, fc.oneof(fc.string(), fc.integer().map(String)))), (query) => {
        const result = readFlipFilter(query, NOW);
        if (!result.ok) expect(result.text).toMatch(/^invalid query parameter: (seconds|start|end)$/);
      }),
    );
  });
});

describe("the filter of the list", () => {
  const list = (query: string, bySlug = true) => readListFilter(new URLSearchParams(query), { bySlug });

  test.each([
    ["", { slug: null, tags: [] }],
    ["slug=job", { slug: "job", tags: [] }],
    ["slug=", { slug: null, tags: [] }],
    ["slug=a&slug=b", { slug: "b", tags: [] }],
    ["slug=a&slug=", { slug: null, tags: [] }],
    ["tag=a&tag=b&tag=a", { slug: null, tags: ["a", "b"] }],
    ["tag=", { slug: null, tags: [""] }],
    ["tag=a+b", { slug: null, tags: ["a b"] }],
    ["Tag=x&tags=y&page=2", { slug: null, tags: [] }],
  ])("%j asks for %j", (query, expected) => {
    expect(list(query)).toEqual(expected);
  });

  test("a version without that filter takes slug for an unknown parameter", () => {
    expect(list("slug=job&tag=x", false)).toEqual({ slug: null, tags: ["x"] });
  });

  test.each([
    ["", true],
    ["slug=job", true],
    ["slug=JOB", false],
    ["slug=jo", false],
    ["tag=prod", true],
    ["tag=prod&tag=db", true],
    ["tag=prod&tag=nope", false],
    ["tag=PROD", false],
    ["tag=pro", false],
    ["tag=prod+db", false],
    ["tag=", false],
    ["slug=job&tag=db", true],
    ["slug=nope&tag=db", false],
  ])("a check with slug job and tags 'prod db' is wanted by %j: %s", (query, expected) => {
    expect(isCheckWanted({ slug: "job", tags: "prod db" }, list(query))).toBe(expected);
  });
});
