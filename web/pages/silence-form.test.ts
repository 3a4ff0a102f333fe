// The fields of a silence as requests, and back.
import { describe, expect, test } from "vitest";
import type { Silence } from "../../src/contract/api/silences.ts";
import { bodyOf, changeOf, codeOf, formOf, missingIn, newForm } from "./silence-form.tsx";

const ZONE = "Europe/Riga";
const NEW = newForm([], ZONE);
const FROM = Date.UTC(2026, 9, 28, 0, 0);
const HOUR_MS = 3_600_000;

const UPGRADE: Silence = {
  id: "1f0c6a7e-52d1-4f6b-8a53-6a1f6d0f7c21",
  checks: null,
  tag: "db",
  reason: "Postgres 17 upgrade",
  state: "upcoming",
  window: { from: FROM, until: FROM + 3 * HOUR_MS },
  from: FROM,
  until: FROM + 3 * HOUR_MS,
  untilSuccess: false,
  schedule: null,
  tz: null,
  duration: null,
  holdAfter: 0,
  createdAt: FROM,
  createdBy: null,
  endedAt: null,
  version: 1,
};
const NIGHTLY: Silence = {
  ...UPGRADE,
  tag: null,
  checks: [{ id: "a", name: "nightly-backup" }],
  until: null,
  schedule: "0 2 * * *",
  tz: ZONE,
  duration: 5_400,
  holdAfter: 3_600,
};
const edit = (silence: Silence) => formOf(silence, { zone: ZONE, isRepeated: false });

describe("A request", () => {
  test("names nothing for all checks, and its length from now on", () => {
    expect(bodyOf(NEW, ZONE)).toEqual({ duration: 7_200 });
  });

  test("has local times as instants", () => {
    const form = { ...NEW, from: "2026-10-28T02:00", end: { at: "2026-10-28T05:00" }, reason: " upgrade " };
    expect(bodyOf(form, ZONE)).toEqual({ from: FROM, until: FROM + 3 * HOUR_MS, reason: "upgrade" });
  });

  test("of a recurring silence has no start or end, even if some were typed", () => {
    const form = { ...NEW, from: "2026-10-28T02:00", untilSuccess: true, isRecurring: true };
    expect(bodyOf(form, ZONE)).toEqual({ schedule: "0 2 * * *", tz: ZONE, duration: 7_200 });
  });
});

describe("An edited silence", () => {
  test.each([
    ["once", UPGRADE],
    ["recurring", NIGHTLY],
  ])("that was not changed has no change (%s)", (_, silence) => {
    expect(changeOf(edit(silence), edit(silence), ZONE)).toEqual({});
  });

  test("sends what was changed", () => {
    const before = edit(UPGRADE);
    expect(changeOf(before, { ...before, end: { seconds: 600 }, reason: "" }, ZONE)).toEqual({
      duration: 600,
      reason: "",
    });
  });

  test("for all checks resets tag and checks", () => {
    const before = edit(UPGRADE);
    expect(changeOf(before, { ...before, scope: "all" }, ZONE)).toEqual({ tag: null, checks: null });
  });

  test("that does not recur any more resets its schedule and gets an end", () => {
    const before = edit(NIGHTLY);
    expect(changeOf(before, { ...before, isRecurring: false }, ZONE)).toEqual({
      schedule: null,
      duration: 7_200,
    });
  });

  test("that is repeated begins now, with the same length", () => {
    expect(bodyOf(formOf(UPGRADE, { zone: ZONE, isRepeated: true }), ZONE)).toEqual({
      tag: "db",
      duration: 10_800,
      holdAfter: 0,
      reason: "Postgres 17 upgrade",
    });
  });
});

test("a tag or checks have to be chosen, and not too many", () => {
  expect(missingIn(NEW)).toBeNull();
  expect(missingIn({ ...NEW, scope: "tag" })).toBe("Choose a tag.");
  expect(missingIn({ ...NEW, scope: "checks" })).toBe("Choose at least one check.");
  expect(missingIn({ ...NEW, scope: "checks", checks: ["a"] })).toBeNull();
  const many = Array.from({ length: 201 }, (_, n) => String(n));
  expect(missingIn({ ...NEW, scope: "checks", checks: many })).toMatch(/at most 200 checks/);
});

test("code escapes quotes for the shell", () => {
  const { curl } = codeOf({ reason: "it's late" }, { project: "p", siteUrl: "https://overdue.example" });
  expect(curl).toContain(String.raw`"reason": "it'\''s late"`);
  expect(curl).toContain("https://overdue.example/api/overdue/v1/projects/p/silences");
});

test("code for the command line names what is silenced, and when", () => {
  const site = { project: "p", siteUrl: "https://overdue.example" };
  const lines = (body: Parameters<typeof codeOf>[0]) => codeOf(body, site).cli.split(/ \\\n {2}/);
  expect(lines({ duration: 7_200, reason: "it's late" })).toEqual([
    "overdue silence",
    "--all",
    "--for 7200s",
    String.raw`--reason 'it'\''s late'`,
  ]);
  expect(lines({ checks: ["a", "b"], from: FROM, until: FROM + HOUR_MS, untilSuccess: true })).toEqual([
    "overdue silence",
    "--check a",
    "--check b",
    "--from 2026-10-28T00:00:00Z",
    "--until 2026-10-28T01:00:00Z",
    "--until-success",
  ]);
  expect(lines({ tag: "db", schedule: "0 2 * * *", tz: ZONE, duration: 60, holdAfter: 0 })).toEqual([
    "overdue silence",
    "--tag 'db'",
    "--schedule '0 2 * * *'",
    "--tz Europe/Riga",
    "--for 60s",
    "--hold-after 0s",
  ]);
});
