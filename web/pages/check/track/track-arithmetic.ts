// Where things lie on the time track of a check: the last signals, the expected run, grace, the time it has been down,
// and now. Pure; shares of the width are between 0 and 100.
import { type CheckRow, drawnAt } from "../../../../src/contract/web/check-row.ts";
import type { ExplanationStep, RunRow } from "../../../../src/contract/web/history.ts";

export type BarKind = "success" | "late-run" | "fail" | "running" | "expected" | "grace" | "late" | "down";
export type Bar = { kind: BarKind; fromAt: number; toAt: number };
export type TrackFacts = {
  row: Pick<CheckRow, "state" | "fuse" | "runningSince" | "downSince" | "downReason" | "lastPingAt">;
  runs: readonly RunRow[];
  /** When the signal was expected that did not come; null: that is not why it is down. */
  missedAt: number | null;
  usualMs: number;
  now: number;
};
export type Track = {
  fromAt: number;
  toAt: number;
  bars: Bar[];
  expectedAt: number | null;
  alertAt: number | null;
  /** The newest run that ended, if it is drawn. */
  last: Pick<RunRow, "outcome" | "at" | "durationMs"> | null;
  now: number;
  /** It tells of something that is over. */
  isPast?: boolean;
};

const EDGE_SHARE = 0.03;
/** A run that lies further back than so many times what matters is not drawn: it would leave no room for the rest. */
const RUNS_DRAWN_MAX = 40;

/** The track; null where nothing is awaited and nothing has come. */
export function trackOf(given: TrackFacts): Track | null {
  // The page's clock may be a moment behind the server's: what has arrived is not in the future.
  const facts = { ...given, now: Math.max(given.now, given.row.lastPingAt ?? given.now) };
  const { row, runs, now } = facts;
  const state = drawnAt(row, now);
  if (state === "new" || state === "paused") return null;
  const ended = runs.filter(({ outcome }) => outcome === "success" || outcome === "fail");
  const last = lastTold(facts, ended);
  const { expectedAt, alertAt } = deadlinesOf(facts);
  const lastFromAt = last === null ? (row.lastPingAt ?? now) : (last.startAt ?? last.at);
  const first = Math.min(lastFromAt, row.runningSince ?? now, expectedAt ?? now, now);
  const end = Math.max(now, alertAt ?? now);
  const marginMs = Math.max(1_000, end - first) * EDGE_SHARE;
  const domain = { fromAt: first - marginMs, toAt: end + marginMs };
  const drawn = ended.filter(({ at }) => at >= domain.fromAt).slice(0, RUNS_DRAWN_MAX);
  const bars = [...waitingBars(facts, { expectedAt, alertAt }), ...drawn.map(runBar), ...runningBar(facts)];
  return { ...domain, bars, expectedAt, alertAt, last, now };
}

/** The last success before it went down, or simply the last run. */
function lastTold({ row }: TrackFacts, ended: readonly RunRow[]): RunRow | null {
  if (row.state !== "down") return ended[0] ?? null;
  return ended.find(({ outcome }) => outcome === "success") ?? ended[0] ?? null;
}

function deadlinesOf({ row, missedAt }: TrackFacts): Pick<Track, "expectedAt" | "alertAt"> {
  if (row.state === "down") {
    if (row.downSince === null) return { expectedAt: null, alertAt: null };
    return { expectedAt: row.downReason === "timeout" ? missedAt : null, alertAt: row.downSince };
  }
  if (row.fuse === null) return { expectedAt: null, alertAt: null };
  const { lateAt, alertAt } = row.fuse;
  // While it runs nothing but its end is awaited.
  return { expectedAt: row.runningSince === null ? lateAt : null, alertAt };
}

function waitingBars({ row, usualMs, now }: TrackFacts, due: Pick<Track, "expectedAt" | "alertAt">): Bar[] {
  const bars: Bar[] = [];
  const { expectedAt, alertAt } = due;
  if (expectedAt !== null && alertAt !== null) {
    bars.push({ kind: "grace", fromAt: expectedAt, toAt: alertAt });
    if (now > expectedAt) bars.push({ kind: "late", fromAt: expectedAt, toAt: Math.min(now, alertAt) });
    bars.push({ kind: "expected", fromAt: expectedAt, toAt: expectedAt + usualMs });
  }
  if (row.state === "down" && alertAt !== null) bars.push({ kind: "down", fromAt: alertAt, toAt: now });
  return bars;
}

function runBar({ outcome, isLate, at, startAt }: RunRow): Bar {
  const kind = outcome === "fail" ? "fail" : isLate ? "late-run" : "success";
  return { kind, fromAt: startAt ?? at, toAt: at };
}

function runningBar({ row, now }: TrackFacts): Bar[] {
  return row.runningSince === null ? [] : [{ kind: "running", fromAt: row.runningSince, toAt: now }];
}

/** The track of an alert that is told step by step: what came, what was expected, and when it was enough. */
export function trackOfSteps(steps: readonly ExplanationStep[], now: number): Track | null {
  const down = steps.find((step) => step.kind === "down");
  if (down === undefined) return null;
  const success = steps.find((step) => step.kind === "success");
  const started = steps.find((step) => step.kind === "started");
  const expected = steps.find((step) => step.kind === "expected");
  const first = Math.min(success?.at ?? down.at, started?.at ?? down.at, expected?.at ?? down.at);
  const marginMs = Math.max(1_000, down.at - first) * EDGE_SHARE;
  const bars: Bar[] = [];
  if (success !== undefined) bars.push({ kind: "success", fromAt: success.at, toAt: success.at });
  if (expected !== undefined) {
    bars.push({ kind: "late", fromAt: expected.at, toAt: down.at });
    bars.push({ kind: "expected", fromAt: expected.at, toAt: expected.at });
  }
  if (started !== undefined) bars.push({ kind: "running", fromAt: started.at, toAt: down.at });
  if (down.rule === "failure") bars.push({ kind: "fail", fromAt: down.at, toAt: down.at });
  return {
    fromAt: first - marginMs,
    toAt: down.at + 2 * marginMs,
    bars: [...bars, { kind: "down", fromAt: down.at, toAt: down.at + 2 * marginMs }],
    expectedAt: expected?.at ?? null,
    alertAt: down.at,
    last: success === undefined ? null : { outcome: "success", at: success.at, durationMs: null },
    now,
    isPast: true,
  };
}

/** The place of an instant, in percent of the width. */
export function placeOf(at: number, { fromAt, toAt }: Pick<Track, "fromAt" | "toAt">): number {
  const share = (at - fromAt) / Math.max(1, toAt - fromAt);
  return Number((Math.min(1, Math.max(0, share)) * 100).toFixed(3));
}
