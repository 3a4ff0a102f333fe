// Fire drills: what follows, the result, hops in order, and the times of weekly ones.
import { describe, expect, test } from "vitest";
import {
  type DrillFacts,
  drillMs,
  drillName,
  drillNotes,
  drillOutcome,
  hopsOf,
  mayStillSend,
  nextDrillAt,
  nextDrillStep,
  unnotifiedReason,
} from "./fire-drill.ts";
import { DELIVERY_LEASE_MS, FIRE_DRILL_MS_MAX } from "./limits.ts";
import { DEFAULT_POLICY } from "./policy.ts";

const START = Date.UTC(2026, 10, 16, 12);
const FACTS: DrillFacts = {
  mode: "sent",
  startedAt: START,
  closedAt: null,
  isEnded: false,
  alert: { isPlanned: true, isHeld: false },
  openings: [],
  closings: [],
};
const PENDING = { isSettled: false, mayHaveArrived: false };
const CLAIMED = { isSettled: false, mayHaveArrived: true };
const SENT = { isSettled: true, mayHaveArrived: true };
const SKIPPED = { isSettled: true, mayHaveArrived: false };

const WAIT = { closes: false, ends: false, removes: false };
const CLOSE = { closes: true, ends: false, removes: false };
const OVER = { closes: false, ends: true, removes: true };
const soon = START + 2_000;
const late = START + FIRE_DRILL_MS_MAX + DELIVERY_LEASE_MS;

describe("the next step", () => {
  test.each<[string, Partial<DrillFacts>, number, object]>([
    ["waits for the sweeper", { alert: null }, soon, WAIT],
    ["ends without the sweeper", { alert: null }, late, OVER],
    ["waits for the planner", { alert: { isPlanned: false, isHeld: false } }, soon, WAIT],
    ["ends if a silence holds it", { alert: { isPlanned: false, isHeld: true } }, soon, OVER],
    ["waits for the notifier", { openings: [SENT, PENDING] }, soon, WAIT],
    ["closes what was sent", { openings: [SENT, SKIPPED] }, soon, CLOSE],
    ["closes what may have been sent", { openings: [CLAIMED] }, late, CLOSE],
    ["ends if nothing was sent", { openings: [SKIPPED] }, soon, OVER],
    ["ends if nothing could be sent", { openings: [PENDING] }, late, OVER],
    ["ends without closing if messages were only rendered", { mode: "quiet", openings: [SENT] }, soon, OVER],
    ["waits until it is closed", { closedAt: soon, openings: [SENT], closings: [PENDING] }, soon, WAIT],
    [
      "waits until closing is planned",
      { closedAt: soon, alert: { isPlanned: false, isHeld: false } },
      soon,
      WAIT,
    ],
    ["ends when it is closed", { closedAt: soon, openings: [SENT], closings: [SENT] }, soon, OVER],
    [
      "keeps closing after its result",
      { closedAt: START, openings: [SENT], closings: [PENDING] },
      late,
      { closes: false, ends: true, removes: false },
    ],
    [
      "removes what has been closed after its result",
      { closedAt: START, isEnded: true, openings: [SENT], closings: [SENT] },
      late,
      { closes: false, ends: false, removes: true },
    ],
  ])("%s", (_, facts, now, step) => {
    expect(nextDrillStep({ ...FACTS, ...facts }, now)).toEqual(step);
  });
});

test("a problem is not sent after the drill", () => {
  expect(mayStillSend({ startedAt: START }, START + FIRE_DRILL_MS_MAX - 1)).toBe(true);
  expect(mayStillSend({ startedAt: START }, START + FIRE_DRILL_MS_MAX)).toBe(false);
});

test("the result is that of the worst message", () => {
  const of = (...outcomes: ("sent" | "notSent" | "failed" | "retrying" | "skipped")[]) =>
    drillOutcome({
      isHeld: false,
      isPlanned: true,
      messages: outcomes.map((outcome) => ({ outcome, closeOutcome: null })),
    });
  expect(of("sent", "skipped")).toBe("ok");
  expect(of("notSent")).toBe("ok");
  expect(of("sent", "failed")).toBe("failed");
  expect(of("skipped")).toBe("nobody");
  expect(of()).toBe("nobody");
  expect(drillOutcome({ isHeld: true, isPlanned: false, messages: [] })).toBe("held");
  expect(drillOutcome({ isHeld: false, isPlanned: false, messages: [] })).toBe("timedOut");
  const unclosed = [{ outcome: "sent" as const, closeOutcome: "retrying" as const }];
  expect(drillOutcome({ isHeld: false, isPlanned: true, messages: unclosed })).toBe("failed");
});

test("hops never go back, and the last channel counts", () => {
  const times = {
    deadlineAt: START,
    foundAt: START + 900,
    writtenAt: START + 880,
    plannedAt: START + 1_000,
    messages: [
      {
        outcome: "sent" as const,
        claimedAt: START + 1_000,
        renderedAt: START + 1_010,
        answeredAt: START + 1_200,
      },
      {
        outcome: "failed" as const,
        claimedAt: START + 1_000,
        renderedAt: START + 1_010,
        answeredAt: START + 9_000,
      },
    ],
  };
  expect(hopsOf(times).map(({ at }) => at - START)).toEqual([0, 900, 900, 1_000, 1_000, 1_010, 9_000]);
  expect(drillMs(times)).toBe(1_200);
  expect(drillMs({ ...times, messages: [] })).toBeNull();
  expect(hopsOf({ ...times, foundAt: null, writtenAt: null, plannedAt: null, messages: [] })).toEqual([
    { name: "deadline", at: START },
  ]);
  // The alert was read before it was there, its message after it was claimed.
  const early = { ...times, foundAt: null, writtenAt: null, plannedAt: null };
  expect(hopsOf(early)).toEqual([{ name: "deadline", at: START }]);
});

test("names are marked", () => {
  expect([drillName(""), drillName("backup")]).toEqual(["[Fire drill]", "[Fire drill] backup"]);
});

test("notes say what a real problem would meet", () => {
  expect(drillNotes({ policy: DEFAULT_POLICY, parents: [] })).toEqual([]);
  const policy = { missed: 3, groupBy: ["project"], groupWait: 30 };
  expect(drillNotes({ policy, parents: [{ name: "db", isDown: true }] })).toEqual([
    "A real alert opens after 3 missed runs in a row.",
    "A real alert waits 30 seconds to be combined with others.",
    "The check depends on db, which is down: a real alert would be part of that incident.",
  ]);
});

test("a channel that is not notified has a reason", () => {
  const channel = { isDisabled: false, disabledReason: null, isAssigned: true, heldReason: null };
  expect(unnotifiedReason({ ...channel, isDisabled: true, disabledReason: "HTTP 410" })).toBe(
    "Disabled: HTTP 410",
  );
  expect(unnotifiedReason({ ...channel, isAssigned: false })).toBe("Not assigned to this check");
  expect(unnotifiedReason({ ...channel, heldReason: "Held by a silence" })).toBe("Held by a silence");
});

describe("the next weekly drill", () => {
  test.each([
    ["later today", { weekday: 0, minute: 780, tz: "UTC" }, "2026-11-16T13:00:00.000Z"],
    ["not now", { weekday: 0, minute: 720, tz: "UTC" }, "2026-11-23T12:00:00.000Z"],
    ["on another day", { weekday: 6, minute: 0, tz: "UTC" }, "2026-11-22T00:00:00.000Z"],
    ["in a zone", { weekday: 1, minute: 540, tz: "Europe/Riga" }, "2026-11-17T07:00:00.000Z"],
  ])("is %s", (_, schedule, expected) => {
    expect(new Date(nextDrillAt(schedule, START)).toISOString()).toBe(expected);
  });

  test("follows a clock change", () => {
    const schedule = { weekday: 6, minute: 210, tz: "Europe/Riga" };
    const before = Date.UTC(2027, 2, 27);
    expect(new Date(nextDrillAt(schedule, before)).toISOString()).toBe("2027-03-28T01:00:00.000Z");
  });
});
