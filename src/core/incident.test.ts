import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  acknowledge,
  higherSeverity,
  type IncidentStatus,
  nextStepAt,
  parseIncidentKey,
  reopen,
  resolve,
  type Severity,
  unacknowledge,
} from "./incident.ts";
import { HOUR_MS, MINUTE_MS } from "./instant.ts";
import { groupKeyOf } from "./plan.ts";

const NOON = Date.UTC(2026, 10, 16, 12);
const OPEN: IncidentStatus = {
  state: "open",
  severity: "normal",
  acknowledged: null,
  resolvedAt: null,
  reopenCount: 0,
  flappingAt: null,
};
const ANN = { accountId: 1, channelId: null };
const BEN = { accountId: 2, channelId: null };
const ACKNOWLEDGED = acknowledge(OPEN, { at: NOON, by: ANN });

const severity = fc.constantFrom<Severity>("low", "normal", "high");
const instant = fc.integer({ min: NOON, max: NOON + 30 * 24 * HOUR_MS });
const actor = fc.constantFrom(ANN, BEN, { accountId: null, channelId: 3 });
const acknowledgement = fc.record({ at: instant, by: actor });

/** Any incident that a sequence of changes leads to. */
const incident: fc.Arbitrary<IncidentStatus> = fc
  .tuple(severity, fc.array(fc.tuple(fc.nat(4), acknowledgement, severity), { maxLength: 12 }))
  .map(([first, changes]) =>
    changes.reduce<IncidentStatus>(
      (status, [kind, given, higher]) => {
        switch (kind) {
          case 0:
            return acknowledge(status, given);
          case 1:
            return unacknowledge(status);
          case 2:
            return resolve(status, given.at);
          case 3:
            return reopen(status, { at: given.at, reopenedAts: [] });
          default:
            return { ...status, severity: higherSeverity(status.severity, higher) };
        }
      },
      { ...OPEN, severity: first },
    ),
  );

const REPEATED = { repeatMs: HOUR_MS, ackTimeoutMs: null, lastSentAt: NOON };

describe("acknowledging", () => {
  test("is idempotent: the first acknowledgement stays", () => {
    fc.assert(
      fc.property(incident, acknowledgement, acknowledgement, (before, one, other) => {
        const once = acknowledge(before, one);
        expect(acknowledge(once, other)).toEqual(once);
      }),
    );
  });

  test("commutes with resolving, except for the record of who acknowledged", () => {
    fc.assert(
      fc.property(incident, acknowledgement, instant, (before, given, at) => {
        const { acknowledged: _, ...one } = resolve(acknowledge(before, given), at);
        const { acknowledged: __, ...other } = acknowledge(resolve(before, at), given);
        expect(one).toEqual(other);
      }),
    );
  });

  test("no step follows it, unless the acknowledgement ends", () => {
    fc.assert(
      fc.property(incident, acknowledgement, instant, (before, given, lastSentAt) => {
        const after = acknowledge(before, given);
        const repetition = { repeatMs: HOUR_MS, lastSentAt };
        expect(nextStepAt(after, { ...repetition, ackTimeoutMs: null })).toBeNull();
        const endsAt = nextStepAt(after, { ...repetition, ackTimeoutMs: 2 * HOUR_MS });
        const at = after.acknowledged?.at ?? 0;
        expect(endsAt).toBe(after.state === "resolved" ? null : at + 2 * HOUR_MS);
      }),
    );
  });

  test("has no effect once resolved, and does not reopen", () => {
    const resolved = resolve(OPEN, NOON);
    expect(acknowledge(resolved, { at: NOON + 1, by: ANN })).toBe(resolved);
  });

  test("can be taken back, and then repeats are due again", () => {
    expect(unacknowledge(ACKNOWLEDGED)).toEqual(OPEN);
    expect(nextStepAt(OPEN, REPEATED)).toBe(NOON + HOUR_MS);
    expect(nextStepAt(ACKNOWLEDGED, REPEATED)).toBeNull();
  });
});

test("what is resolved has its time, and what is acknowledged says by whom", () => {
  fc.assert(
    fc.property(incident, ({ state, resolvedAt, acknowledged }) => {
      expect(resolvedAt !== null).toBe(state === "resolved");
      if (state === "acknowledged") expect(acknowledged).not.toBeNull();
      if (state === "open") expect(acknowledged).toBeNull();
    }),
  );
});

describe("reopening", () => {
  test("ends the acknowledgement and is counted", () => {
    const resolved = resolve(ACKNOWLEDGED, NOON + 1);
    expect(resolved.acknowledged).not.toBeNull();
    expect(reopen(resolved, { at: NOON + 2, reopenedAts: [] })).toEqual({ ...OPEN, reopenCount: 1 });
  });

  test("has no effect on an incident that is not resolved", () => {
    expect(reopen(ACKNOWLEDGED, { at: NOON, reopenedAts: [] })).toBe(ACKNOWLEDGED);
  });

  test("flaps from the third time within an hour on", () => {
    const resolved = resolve(OPEN, NOON);
    const flappingAt = (reopenedAts: number[]) => reopen(resolved, { at: NOON, reopenedAts }).flappingAt;
    expect(flappingAt([NOON - MINUTE_MS])).toBeNull();
    expect(flappingAt([NOON - HOUR_MS + 1, NOON - MINUTE_MS])).toBe(NOON);
    expect(flappingAt([NOON - HOUR_MS, NOON - MINUTE_MS])).toBeNull();
  });
});

describe("the next step", () => {
  test.each([
    ["repeats are off", OPEN, { ...REPEATED, repeatMs: null }, null],
    ["nothing was sent yet", OPEN, { ...REPEATED, lastSentAt: null }, null],
    ["it is resolved", resolve(OPEN, NOON), REPEATED, null],
    ["it is open", OPEN, REPEATED, NOON + HOUR_MS],
    ["acknowledgements end", ACKNOWLEDGED, { ...REPEATED, ackTimeoutMs: MINUTE_MS }, NOON + MINUTE_MS],
  ])("%s", (_, status, repetition, expected) => {
    expect(nextStepAt(status, repetition)).toBe(expected);
  });
});

test("the higher severity wins, in any order", () => {
  expect(higherSeverity("low", "high")).toBe("high");
  expect(higherSeverity("high", "normal")).toBe("high");
  expect(higherSeverity("low", "low")).toBe("low");
});

test("keys are read as they are made, and unknown ones are left out", () => {
  const made = (groupBy: string[]) =>
    groupKeyOf("missed", { groupBy, tags: ["env:prod"], source: "2001:db8::1" }) ?? "";
  expect(parseIncidentKey(made(["source"]))).toEqual({ kind: "source", address: "2001:db8::1" });
  expect(parseIncidentKey(made(["tag:env"]))).toEqual({ kind: "tag", tag: "env:prod" });
  expect(parseIncidentKey(made(["project"]))).toEqual({ kind: "project" });
  for (const text of ["", "weather:rain", "source"]) expect(parseIncidentKey(text)).toBeNull();
});
