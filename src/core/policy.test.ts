import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  changedPolicy,
  DEFAULT_POLICY,
  type EffectivePolicy,
  effectivePolicy,
  isSameRules,
  type Policy,
  type PolicyField,
  policyProblem,
  policySentence,
  routedChannels,
  rulesOf,
  startLimitProblem,
  wholePolicy,
} from "./policy.ts";
import { DEFAULT_RULES } from "./rules.ts";

const NOTHING = { own: {}, tagRules: [], tags: [], project: {} };
const FIELDS = Object.keys(DEFAULT_POLICY) as PolicyField[];

const severity = fc.constantFrom("low", "normal", "high");
const policies: fc.Arbitrary<Policy> = fc.record(
  {
    failures: fc
      .tuple(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 0, max: 19 }))
      .map(([count, more]) => ({ count, of: Math.min(20, count + more) })),
    missed: fc.integer({ min: 1, max: 20 }),
    recovery: fc.integer({ min: 1, max: 20 }),
    startWithin: fc.constantFrom(0, 60, 86_400),
    maxRun: fc.constantFrom(0, 60, 21_600),
    minRun: fc.integer({ min: 0, max: 86_400 }),
    minGap: fc.integer({ min: 0, max: 31_536_000 }),
    early: fc.integer({ min: 0, max: 86_400 }),
    dependencyWait: fc.integer({ min: 0, max: 300 }),
    groupBy: fc.uniqueArray(fc.constantFrom("source", "project", "tag:host-", "tag:db")),
    groupWait: fc.integer({ min: 0, max: 300 }),
    groupInterval: fc.integer({ min: 60, max: 3600 }),
    reopenWithin: fc.integer({ min: 0, max: 86_400 }),
    ackTimeout: fc.integer({ min: 0, max: 604_800 }),
    repeat: fc.constantFrom(0, 300, 3600),
    severity: fc.record({ failed: severity, missed: severity }),
  },
  { requiredKeys: [] },
);

const TAGS = ["a", "b", "c", "d"];
const sources = fc.record({
  own: policies,
  tagRules: fc.array(fc.record({ tag: fc.constantFrom(...TAGS), policy: policies }), { maxLength: 6 }),
  tags: fc.subarray(TAGS),
  project: policies,
});

describe("inheritance", () => {
  test("without anything set, the defaults apply", () => {
    const { policy, origins } = effectivePolicy(NOTHING);
    expect(policy).toEqual(DEFAULT_POLICY);
    expect(new Set(Object.values(origins))).toEqual(new Set(["default"]));
  });

  test("check, then the first matching rule that sets the field, then the project", () => {
    const { policy, origins } = effectivePolicy({
      own: { missed: 2 },
      tagRules: [
        { tag: "other", policy: { missed: 9, recovery: 9, early: 9, groupWait: 9 } },
        { tag: "db", policy: { missed: 3, recovery: 3 } },
        { tag: "prod", policy: { missed: 4, recovery: 4, early: 4 } },
      ],
      tags: ["prod", "db"],
      project: { missed: 5, recovery: 5, early: 5, groupWait: 5 },
    });
    expect(policy).toEqual({ ...DEFAULT_POLICY, missed: 2, recovery: 3, early: 4, groupWait: 5 });
    const { missed, recovery, early, groupWait, repeat } = origins;
    expect([missed, recovery, early, groupWait, repeat]).toEqual([
      "check",
      "tag:db",
      "tag:prod",
      "project",
      "default",
    ]);
  });

  test("0 switches off what would be inherited, except that it is no limit for the longest run", () => {
    const off = { startWithin: 0, minRun: 0, minGap: 0, repeat: 0, maxRun: 0 };
    const on = { startWithin: 60, minRun: 60, minGap: 60, repeat: 300, maxRun: 60 };
    const { policy } = effectivePolicy({ ...NOTHING, own: off, project: on });
    expect(policy).toEqual({ ...DEFAULT_POLICY, maxRun: 0 });
  });

  test("each value is that of the most specific level that sets it", () => {
    fc.assert(
      fc.property(sources, (given) => {
        const { policy, origins } = effectivePolicy(given);
        const rules = given.tagRules.filter(({ tag }) => given.tags.includes(tag));
        for (const field of FIELDS) {
          const levels = [given.own, ...rules.map((rule) => rule.policy), given.project];
          const set = levels.map((level) => level[field]).filter((value) => value !== undefined);
          const value = set[0] ?? DEFAULT_POLICY[field];
          const isOff = value === 0 && DEFAULT_POLICY[field] === null && field !== "maxRun";
          expect(policy[field]).toEqual(isOff ? null : value);
          expect(origins[field] === "check").toBe(given.own[field] !== undefined);
          expect(origins[field] === "default").toBe(set.length === 0);
        }
      }),
    );
  });

  test("rules of tags that the check does not have change nothing", () => {
    fc.assert(
      fc.property(sources, policies, (given, policy) => {
        const more = { ...given, tagRules: [{ tag: "absent", policy }, ...given.tagRules] };
        expect(effectivePolicy(more)).toEqual(effectivePolicy(given));
      }),
    );
  });
});

const GRACE = { graceSeconds: 3600 };
const rulesFrom = (own: Policy) => rulesOf(effectivePolicy({ ...NOTHING, own }).policy, GRACE);

describe("rules", () => {
  test("defaults are null, also if they are set", () => {
    expect(rulesFrom({})).toBeNull();
    const own = { failures: { count: 1, of: 5 }, missed: 1, startWithin: 0, repeat: 300 };
    expect(rulesFrom(own)).toBeNull();
  });

  test("thresholds and limits are taken over", () => {
    const own = {
      failures: { count: 2, of: 3 },
      missed: 2,
      recovery: 3,
      startWithin: 600,
      maxRun: 0,
      minRun: 5,
      minGap: 60,
      early: 30,
    };
    expect(rulesFrom(own)).toEqual({
      failures: { count: 2, of: 3 },
      missed: 2,
      recovery: 3,
      startWithinSeconds: 600,
      maxRunSeconds: 0,
      minRunSeconds: 5,
      minGapSeconds: 60,
      earlySeconds: 30,
    });
  });

  test("a field that differs from the default makes rules", () => {
    expect(rulesOf({ ...DEFAULT_POLICY, missed: 2 }, GRACE)).toEqual({ ...DEFAULT_RULES, missed: 2 });
  });
});

test.each<[Policy, number | null | undefined]>([
  [{ startWithin: 7200 }, 3600],
  [{ startWithin: 600 }, 600],
  [{ startWithin: 7200, maxRun: 0 }, 7200],
])("with a grace period of an hour, %j allows %s seconds to start", (own, seconds) => {
  expect(rulesFrom(own)?.startWithinSeconds).toBe(seconds);
});

test("rules are the same in any order of their fields", () => {
  const rules = { ...DEFAULT_RULES, failures: { count: 2, of: 3 } };
  const { failures: _, ...rest } = rules;
  expect(isSameRules(rules, { ...rest, failures: { of: 3, count: 2 } })).toBe(true);
  expect(isSameRules(rules, { ...rest, failures: { of: 3, count: 3 } })).toBe(false);
  expect(isSameRules(rules, null)).toBe(false);
  expect(isSameRules(null, null)).toBe(true);
});

test("a field that changes is a difference of rules", () => {
  fc.assert(
    fc.property(policies, policies, (one, other) => {
      const rules = [one, other].map((own) => rulesFrom(own)) as [null, null];
      const isEqual = JSON.stringify(rules[0]) === JSON.stringify(rules[1]);
      expect(isSameRules(...rules)).toBe(isEqual);
    }),
  );
});

test("a whole policy names all fields", () => {
  expect(Object.keys(wholePolicy({ missed: 2 }))).toEqual(FIELDS);
  expect(wholePolicy({ missed: 2 })).toMatchObject({ missed: 2, repeat: null });
});

test("channels are those assigned and those of all matching rules, once each", () => {
  const routed = routedChannels({
    assigned: [1, 2],
    tagRules: [
      { tag: "db", channels: [2, 3] },
      { tag: "other", channels: [9] },
      { tag: "prod", channels: [3, 4] },
    ],
    tags: ["prod", "db"],
  });
  expect(routed).toEqual([
    { channel: 1, origin: "check" },
    { channel: 2, origin: "check" },
    { channel: 3, origin: "tag:db" },
    { channel: 4, origin: "tag:prod" },
  ]);
});

describe("changes", () => {
  test("null removes a field, others stay", () => {
    const change = { missed: null, early: 60 };
    expect(changedPolicy({ missed: 2, recovery: 3 }, change)).toEqual({ recovery: 3, early: 60 });
  });

  test("the order of fields does not depend on the order of changes", () => {
    const one = changedPolicy({ early: 1, failures: { of: 2, count: 2 } }, { missed: 2 });
    const other = changedPolicy({ missed: 2 }, { early: 1, failures: { count: 2, of: 2 } });
    expect(JSON.stringify(one)).toBe(JSON.stringify(other));
  });

  test.each<[Policy, PolicyField]>([
    [{ failures: { count: 3, of: 2 } }, "failures"],
    [{ startWithin: 59 }, "startWithin"],
    [{ maxRun: 59 }, "maxRun"],
    [{ repeat: 299 }, "repeat"],
    [{ groupBy: ["source", "source"] }, "groupBy"],
  ])("%j is refused", (policy, field) => {
    expect(policyProblem(policy)?.field).toBe(field);
  });

  test("a policy within the limits is accepted", () => {
    fc.assert(fc.property(policies, (policy) => policyProblem(policy) === null));
  });

  test.each([
    [{ startWithin: 601, maxRun: null }, "startWithin"],
    [{ startWithin: 600, maxRun: null }, undefined],
    [{ startWithin: 601, maxRun: 0 }, undefined],
    [{ startWithin: null, maxRun: null }, undefined],
  ])("with a grace period of 10 minutes, %j is a problem of %s", (limits, field) => {
    expect(startLimitProblem(limits, { graceSeconds: 600 })?.field).toBe(field);
  });
});

describe("the sentence", () => {
  test.each<[Policy, string]>([
    [{}, "Notifies on every failure and missed run."],
    [
      { failures: { count: 3, of: 3 } },
      "Notifies after 3 failed runs in a row or 1 missed run. Recovers after 1 success.",
    ],
    [
      { failures: { count: 3, of: 5 }, missed: 2, recovery: 2 },
      "Notifies after 3 failures in the last 5 runs or 2 missed runs in a row. Recovers after 2 successes in a row.",
    ],
    [{ missed: 2 }, "Notifies on every failure and after 2 missed runs in a row. Recovers after 1 success."],
    [
      { startWithin: 600, maxRun: 21_600, minGap: 3600 },
      "Notifies on every failure and missed run. Runs must start within 10 minutes of the expected time, take at most 6 hours, and start at least 1 hour apart.",
    ],
    [
      { maxRun: 0, early: 300 },
      "Notifies on every failure and missed run. Runs may take any amount of time. Runs may start up to 5 minutes early.",
    ],
    [
      { groupBy: ["source", "tag:host-"] },
      "Notifies on every failure and missed run. Groups missed runs by source address or tag “host-…”. Sends the first grouped notification after 30 seconds, and updates at most every 5 minutes.",
    ],
    [
      { repeat: 3600, ackTimeout: 14_400, severity: { failed: "low", missed: "high" } },
      "Notifies on every failure and missed run. Repeats every hour until acknowledged or recovered. Acknowledgements end after 4 hours. Failures have low severity, missed runs high severity.",
    ],
    [
      { reopenWithin: 600, severity: { failed: "high", missed: "high" } },
      "Notifies on every failure and missed run. A new problem within 10 minutes reopens the incident. Problems have high severity.",
    ],
  ])("%j", (own, sentence) => {
    expect(policySentence(effectivePolicy({ ...NOTHING, own }).policy)).toBe(sentence);
  });

  test("is made of sentences, whatever is set", () => {
    fc.assert(
      fc.property(sources, (given) => {
        const policy: EffectivePolicy = effectivePolicy(given).policy;
        expect(policySentence(policy)).toMatch(/^Notifies .*\.$/);
        expect(policySentence(policy)).not.toMatch(/null|undefined|NaN|\bevery 1 \w+\b[^,]| {2}/);
      }),
    );
  });
});
