// Positions on the timeline.
import { expect, test } from "vitest";
import type { RunRow } from "../../src/contract/api/history.ts";
import { placeOf, type TrackFacts, trackOf, trackOfSteps } from "./check-timeline.tsx";

const NOW = 1_000_000_000;
const MIN = 60_000;
const run = (at: number): RunRow => ({
  n: 1,
  outcome: "success",
  at,
  startAt: at - 5 * MIN,
  durationMs: 5 * MIN,
  isLate: false,
  exitStatus: 0,
  excerpt: null,
  bodySize: null,
});
const facts = (change: Partial<TrackFacts["row"]>): TrackFacts => ({
  row: {
    state: "up",
    fuse: null,
    runningSince: null,
    downSince: null,
    downReason: null,
    lastPingAt: NOW - 100 * MIN,
    ...change,
  },
  runs: [run(NOW - 100 * MIN)],
  missedAt: NOW - 30 * MIN,
  usualMs: 5 * MIN,
  now: NOW,
});

test("silence is drawn as the missing run, its grace, and the time since", () => {
  const track = trackOf(facts({ state: "down", downReason: "timeout", downSince: NOW - 20 * MIN }));
  expect(track?.expectedAt).toBe(NOW - 30 * MIN);
  expect(track?.bars.map(({ kind }) => kind)).toEqual(["grace", "late", "expected", "down", "success"]);
  expect(track?.bars.find(({ kind }) => kind === "down")).toMatchObject({
    fromAt: NOW - 20 * MIN,
    toAt: NOW,
  });
});

test("a run that took too long was not expected when it began", () => {
  const overrun = facts({
    state: "down",
    downReason: "timeout",
    downSince: NOW - 20 * MIN,
    runningSince: NOW - 30 * MIN,
  });
  const track = trackOf({ ...overrun, missedAt: null });
  expect(track?.expectedAt).toBeNull();
  expect(track?.bars.map(({ kind }) => kind)).toEqual(["down", "success", "running"]);
});

test("a failure has no expected run", () => {
  const track = trackOf(facts({ state: "down", downReason: "fail", downSince: NOW - 20 * MIN }));
  expect(track?.expectedAt).toBeNull();
  expect(track?.bars.map(({ kind }) => kind)).toEqual(["down", "success"]);
});

test("future times are on the track as well, after now", () => {
  const fuse = { fromAt: NOW - 100 * MIN, lateAt: NOW + 10 * MIN, alertAt: NOW + 20 * MIN };
  const track = trackOf(facts({ fuse }));
  if (track === null) throw new Error("there is a track");
  expect(track.toAt).toBeGreaterThan(fuse.alertAt);
  expect(track.bars.some(({ kind }) => kind === "late")).toBe(false);
  expect(placeOf(NOW, track)).toBeLessThan(placeOf(fuse.lateAt, track));
});

test("a ping that has arrived is never after now, even if the clock of the page is behind", () => {
  const track = trackOf(facts({ lastPingAt: NOW + 400 }));
  expect(track?.now).toBe(NOW + 400);
});

test("a run in progress is drawn up to now", () => {
  const fuse = { fromAt: NOW - 5 * MIN, lateAt: NOW, alertAt: NOW + 20 * MIN };
  const track = trackOf(facts({ runningSince: NOW - 5 * MIN, fuse: { ...fuse, lateAt: NOW + MIN } }));
  expect(track?.bars.at(-1)).toEqual({ kind: "running", fromAt: NOW - 5 * MIN, toAt: NOW });
  expect(track?.expectedAt).toBeNull();
});

test("nothing is drawn if no ping is expected", () => {
  expect(trackOf(facts({ state: "paused" }))).toBeNull();
  expect(trackOf(facts({ state: "new" }))).toBeNull();
});

test("an alert that is over is drawn from its steps", () => {
  const track = trackOfSteps(
    [
      { kind: "success", at: NOW - 100 * MIN, n: 1 },
      { kind: "expected", at: NOW - 10 * MIN, sentence: "", offsetMinutes: 0, clockChange: null },
      { kind: "down", at: NOW, rule: "silence", graceSeconds: 600 },
    ],
    NOW + 500 * MIN,
  );
  expect(track).toMatchObject({ expectedAt: NOW - 10 * MIN, alertAt: NOW, isPast: true });
  expect(trackOfSteps([{ kind: "up", at: NOW }], NOW)).toBeNull();
});

test("positions stay within the track", () => {
  const track = { fromAt: 100, toAt: 200 };
  expect([50, 100, 150, 200, 900].map((at) => placeOf(at, track))).toEqual([0, 0, 50, 100, 100]);
});
