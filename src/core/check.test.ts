// Defaults, create and update of settings, derived slugs, the older subject fields, and the check limit.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type CheckParams,
  type CheckSettings,
  DEFAULT_SETTINGS,
  mayCreateCheck,
  mayProvisionCheck,
  newCheck,
  patchCheck,
  provisionedCheck,
  subjectFailOf,
  subjectOf,
} from "./check.ts";
import { isSlug } from "./identity.ts";

const V3 = { deriveSlug: false };
const V1 = { deriveSlug: true };

const settingsArbitrary: fc.Arbitrary<CheckSettings> = fc.record({
  name: fc.string(),
  slug: fc.string(),
  tags: fc.string(),
  desc: fc.string(),
  kind: fc.constantFrom("simple", "cron", "oncalendar"),
  timeoutSeconds: fc.nat(),
  graceSeconds: fc.nat(),
  schedule: fc.constantFrom("* * * * *", "0 0 * * *", "daily", "12:34"),
  tz: fc.constantFrom("UTC", "Europe/Riga"),
  manualResume: fc.boolean(),
  rules: fc.constant(null),
  methods: fc.constantFrom("", "POST"),
  startKw: fc.string(),
  successKw: fc.string(),
  failureKw: fc.string(),
  filterSubject: fc.boolean(),
  filterBody: fc.boolean(),
  filterHttpBody: fc.boolean(),
  filterDefaultFail: fc.boolean(),
});

const paramsArbitrary: fc.Arbitrary<CheckParams> = settingsArbitrary.chain((settings) => {
  const all = Object.entries({ ...settings, subject: "s", subjectFail: "f" });
  return fc
    .subarray(all.filter(([key]) => key !== "kind"))
    .map((entries): CheckParams => Object.fromEntries(entries));
});

describe("a new check", () => {
  test("of which nothing was said has the defaults", () => {
    expect(newCheck({}, V3)).toEqual({
      name: "",
      slug: "",
      tags: "",
      desc: "",
      kind: "simple",
      timeoutSeconds: 86_400,
      graceSeconds: 3600,
      schedule: "* * * * *",
      tz: "UTC",
      manualResume: false,
      methods: "",
      startKw: "",
      successKw: "",
      failureKw: "",
      filterSubject: false,
      filterBody: false,
      filterHttpBody: false,
      filterDefaultFail: false,
      rules: null,
    });
    expect(newCheck({}, V1)).toEqual(newCheck({}, V3));
  });

  test("with a timeout is a simple check", () => {
    expect(newCheck({ timeoutSeconds: 3600 }, V3)).toMatchObject({ kind: "simple", timeoutSeconds: 3600 });
  });

  test("with a schedule is a cron check in UTC, or in the zone that is given", () => {
    expect(newCheck({ schedule: "0 0 * * *" }, V3)).toMatchObject({ kind: "cron", tz: "UTC" });
    expect(newCheck({ schedule: "0 0 * * *", tz: "Asia/Tokyo" }, V3)).toMatchObject({ tz: "Asia/Tokyo" });
  });

  test("with an OnCalendar schedule is an oncalendar check, and the text is kept as given", () => {
    expect(newCheck({ schedule: " Mon 10:00 " }, V3)).toMatchObject({
      kind: "oncalendar",
      schedule: " Mon 10:00 ",
    });
  });

  test("with both has the schedule, and the default timeout", () => {
    expect(newCheck({ schedule: "0 0 * * *", timeoutSeconds: 60 }, V3)).toMatchObject({
      kind: "cron",
      schedule: "0 0 * * *",
      timeoutSeconds: 86_400,
    });
  });

  test("that made itself by a ping is called after its slug", () => {
    expect(provisionedCheck("my-job")).toEqual({ ...DEFAULT_SETTINGS, name: "my-job", slug: "my-job" });
  });
});

describe("an update", () => {
  test("that says nothing changes nothing", () => {
    fc.assert(
      fc.property(settingsArbitrary, fc.boolean(), (settings, deriveSlug) => {
        expect(patchCheck(settings, {}, { deriveSlug })).toEqual(settings);
      }),
    );
  });

  test("changes what it gives and nothing else, and brings in no default", () => {
    fc.assert(
      fc.property(settingsArbitrary, paramsArbitrary, (settings, params) => {
        const patched = patchCheck(settings, params, V3);
        const mayChange = new Set<string>(Object.keys(params));
        if ("schedule" in params || "timeoutSeconds" in params) mayChange.add("kind");
        if ("subject" in params || "subjectFail" in params) {
          for (const key of ["successKw", "failureKw", "filterSubject"]) mayChange.add(key);
        }
        for (const key of Object.keys(settings) as (keyof CheckSettings)[]) {
          if (!mayChange.has(key)) expect(patched[key]).toEqual(settings[key]);
        }
        expect(Object.keys(patched).toSorted()).toEqual(Object.keys(settings).toSorted());
      }),
    );
  });

  test("applied twice is applied once", () => {
    fc.assert(
      fc.property(settingsArbitrary, paramsArbitrary, fc.boolean(), (settings, params, deriveSlug) => {
        const once = patchCheck(settings, params, { deriveSlug });
        expect(patchCheck(once, params, { deriveSlug })).toEqual(once);
      }),
    );
  });

  test("with a timeout turns a cron check into a simple one, and keeps its schedule and zone", () => {
    const cron = newCheck({ schedule: "5 5 * * *", tz: "Europe/Riga" }, V3);
    expect(patchCheck(cron, { timeoutSeconds: 60 }, V3)).toEqual({
      ...cron,
      kind: "simple",
      timeoutSeconds: 60,
    });
  });

  test("with a schedule turns a simple check into a cron one, and keeps its timeout", () => {
    const simple = newCheck({ timeoutSeconds: 120 }, V3);
    const cron = patchCheck(simple, { schedule: "0 0 * * *", timeoutSeconds: 60 }, V3);
    expect(cron).toEqual({ ...simple, kind: "cron", schedule: "0 0 * * *" });
  });

  test("with a zone alone stores it, and leaves the kind", () => {
    expect(patchCheck(newCheck({}, V3), { tz: "Europe/Riga" }, V3)).toMatchObject({
      kind: "simple",
      tz: "Europe/Riga",
    });
  });
});

describe("slugs", () => {
  test("are made from the name where the version says so, and only when the name is given", () => {
    const named = newCheck({ name: "First Name" }, V1);
    expect(named.slug).toBe("first-name");
    expect(patchCheck(named, { name: "Second Name" }, V1).slug).toBe("second-name");
    expect(patchCheck(named, { tags: "x" }, V1).slug).toBe("first-name");
    expect(patchCheck(named, { name: "" }, V1).slug).toBe("");
  });

  test("that are given win over the name", () => {
    expect(newCheck({ name: "Hello World", slug: "mine" }, V1).slug).toBe("mine");
    expect(newCheck({ name: "Hello World", slug: "" }, V1).slug).toBe("");
  });

  test("have nothing to do with the name elsewhere", () => {
    expect(newCheck({ name: "Hello World" }, V3).slug).toBe("");
  });

  test("that are derived are always valid", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (name) => {
        expect(isSlug(newCheck({ name }, V1).slug)).toBe(true);
      }),
    );
  });
});

describe("the deprecated subject fields", () => {
  test.each([
    ["subject sets the success keywords and the filter", { subject: "OK" }, "OK", "", true],
    ["subject_fail sets the failure keywords and the filter", { subjectFail: "BAD" }, "", "BAD", true],
    ["both", { subject: "OK", subjectFail: "BAD" }, "OK", "BAD", true],
    ["both empty turn the filter off", { subject: "", subjectFail: "" }, "", "", false],
    ["explicit keywords win", { subject: "OLD", successKw: "NEW" }, "NEW", "", true],
    ["explicit failure keywords win", { subjectFail: "OLD", failureKw: "NEW" }, "", "NEW", true],
    ["an explicit filter wins", { subject: "OK", filterSubject: false }, "OK", "", false],
    ["keywords alone leave the filter off", { successKw: "OK", failureKw: "BAD" }, "OK", "BAD", false],
  ] as [string, CheckParams, string, string, boolean][])(
    "%s",
    (_, params, successKw, failureKw, filterSubject) => {
      expect(newCheck(params, V3)).toEqual({ ...DEFAULT_SETTINGS, successKw, failureKw, filterSubject });
    },
  );

  test("follow each other through updates", () => {
    const shown = (settings: CheckSettings) => [
      subjectOf(settings),
      subjectFailOf(settings),
      settings.filterSubject,
    ];
    const steps: [CheckParams, unknown[]][] = [
      [{ subject: "OK" }, ["OK", "", true]],
      [{ subjectFail: "BAD" }, ["OK", "BAD", true]],
      [{ subject: "" }, ["", "BAD", true]],
      [{ subjectFail: "" }, ["", "", false]],
      [{ subject: "A", successKw: "B" }, ["B", "", true]],
      [{ filterSubject: false }, ["", "", false]],
      [{ failureKw: "C" }, ["", "", false]],
      [{ subject: "A" }, ["A", "C", true]],
    ];
    let settings = newCheck({}, V3);
    for (const [params, expected] of steps) {
      settings = patchCheck(settings, params, V3);
      expect(shown(settings)).toEqual(expected);
    }
  });

  test("show what was set by them", () => {
    fc.assert(
      fc.property(settingsArbitrary, fc.string(), fc.string(), (settings, subject, subjectFail) => {
        const patched = patchCheck(settings, { subject, subjectFail }, V3);
        expect([subjectOf(patched), subjectFailOf(patched)]).toEqual([subject, subjectFail]);
      }),
    );
  });
});

describe("the number of checks", () => {
  test.each([
    [0, 20, true, true],
    [19, 20, true, true],
    [20, 20, false, true],
    [39, 20, false, true],
    [40, 20, false, false],
    [0, 0, false, false],
    [1_000_000, null, true, true],
  ] as [number, number | null, boolean, boolean][])(
    "%i of %s: another may be created %s, may make itself %s",
    (checkCount, checkCountMax, create, provision) => {
      expect(mayCreateCheck({ checkCount, checkCountMax })).toBe(create);
      expect(mayProvisionCheck({ checkCount, checkCountMax })).toBe(provision);
    },
  );
});
