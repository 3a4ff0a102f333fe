// Which missed deadlines the server must have detected at a given time, and which it cannot have detected. In
// between, both results are correct.
import type { Hold, ServerHistory, Turn } from "./history.ts";
import { SETTLE_MS, SLACK_MS, WATERMARK_LAG_MS } from "./rules.ts";

/**
 * On the database clock. Deadlines before `certainTo` must have been detected; deadlines at or after `possibleTo`
 * cannot have been.
 */
export type VisibilityBounds = { certainTo: number; possibleTo: number };

/** The bounds for the sweep of a turn, after the heartbeats of that turn. */
export function visibilityAtTurn(server: ServerHistory, turn: Turn): VisibilityBounds {
  const moment = { trueAt: turn.trueAt, at: turn.at };
  // A turn at the end of a hold comes after it: the spool has been replayed and a heartbeat has recorded that.
  const isDuring = ({ fromTrueAt, toTrueAt }: Hold) => fromTrueAt < turn.trueAt && turn.trueAt < toTrueAt;
  const bounds = visibilityAt(server, { ...moment, isDuring, lagMs: WATERMARK_LAG_MS });
  if (turn.sweeping === "no") return { certainTo: -Infinity, possibleTo: -Infinity };
  return turn.sweeping === "yes" ? bounds : { ...bounds, certainTo: -Infinity };
}

/** The bounds when a step is applied to a check, before the turn that contains the step. */
export function visibilityAtStep(
  server: ServerHistory,
  moment: { trueAt: number; at: number },
): VisibilityBounds {
  const isDuring = ({ fromTrueAt, toTrueAt }: Hold) =>
    fromTrueAt < moment.trueAt && moment.trueAt <= toTrueAt;
  // A turn represents the many small batches since the previous one, so no lag is assumed.
  return visibilityAt(server, { ...moment, isDuring, lagMs: 0 });
}

type Question = { trueAt: number; at: number; isDuring: (hold: Hold) => boolean; lagMs: number };

function visibilityAt(server: ServerHistory, { trueAt, at, isDuring, lagMs }: Question): VisibilityBounds {
  let certainTo = at - SLACK_MS;
  let possibleTo = at - lagMs;
  for (const hold of near(server.holds, trueAt)) {
    if (isDuring(hold)) possibleTo = Math.min(possibleTo, hold.at - WATERMARK_LAG_MS);
    if (touches(hold, { trueAt, afterMs: SLACK_MS })) certainTo = Math.min(certainTo, hold.at - SLACK_MS);
  }
  for (const gap of near(server.gaps, trueAt)) {
    const isSettling = gap.toTrueAt <= trueAt && trueAt < gap.toTrueAt + SETTLE_MS;
    // A step applied exactly when settling ends was checked before.
    const isJustSettled = lagMs === 0 && trueAt === gap.toTrueAt + SETTLE_MS;
    if (isDuring(gap) || isSettling || isJustSettled) possibleTo = -Infinity;
    if (touches(gap, { trueAt, afterMs: SETTLE_MS + SLACK_MS })) certainTo = -Infinity;
  }
  for (const one of near(server.uncertain, trueAt)) {
    if (touches(one, { trueAt, afterMs: SLACK_MS })) certainTo = -Infinity;
  }
  return { certainTo: Math.min(certainTo, possibleTo), possibleTo };
}

function touches({ fromTrueAt, toTrueAt }: Hold, { trueAt, afterMs }: { trueAt: number; afterMs: number }) {
  return fromTrueAt < trueAt && trueAt < toTrueAt + afterMs;
}

/** Holds that began before a given time and ended at most shortly before it. */
function near(holds: readonly Hold[], trueAt: number): Hold[] {
  return holds.filter((hold) => touches(hold, { trueAt, afterMs: SETTLE_MS + SLACK_MS + 1 }));
}
