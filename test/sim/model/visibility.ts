// How far the server had seen at a moment: the instant through which a missed deadline must have been noticed, and
// the one beyond which none may have been. Between the two either is right.
import type { Hold, ServerHistory, Turn } from "./history.ts";
import { SETTLE_MS, SLACK_MS, WATERMARK_LAG_MS } from "./rules.ts";

/** On the database's clock. Deadlines before `surely` had to be noticed, those at or after `atMost` could not be. */
export type VisibilityBounds = { surely: number; atMost: number };

/** What was seen when a deadline was looked for at a turn, after the beats of this turn. */
export function visibilityAtTurn(server: ServerHistory, turn: Turn): VisibilityBounds {
  const moment = { trueAt: turn.trueAt, at: turn.at };
  // A turn at the end of a hold comes after it: what was held has been given, and a beat has said so.
  const isDuring = ({ fromTrueAt, toTrueAt }: Hold) => fromTrueAt < turn.trueAt && turn.trueAt < toTrueAt;
  const seen = visibilityAt(server, { ...moment, isDuring, lagMs: WATERMARK_LAG_MS });
  if (turn.sweeping === "no") return { surely: -Infinity, atMost: -Infinity };
  return turn.sweeping === "surely" ? seen : { ...seen, surely: -Infinity };
}

/** What was seen by whoever applied something to a check at a moment, before the turn in which that was. */
export function visibilityAtStep(
  server: ServerHistory,
  moment: { trueAt: number; at: number },
): VisibilityBounds {
  const isDuring = ({ fromTrueAt, toTrueAt }: Hold) =>
    fromTrueAt < moment.trueAt && moment.trueAt <= toTrueAt;
  // A turn stands for the many small batches since the one before, so no lag can be held against the server.
  return visibilityAt(server, { ...moment, isDuring, lagMs: 0 });
}

type Question = { trueAt: number; at: number; isDuring: (hold: Hold) => boolean; lagMs: number };

function visibilityAt(server: ServerHistory, { trueAt, at, isDuring, lagMs }: Question): VisibilityBounds {
  let surely = at - SLACK_MS;
  let atMost = at - lagMs;
  for (const hold of near(server.holds, trueAt)) {
    if (isDuring(hold)) atMost = Math.min(atMost, hold.at - WATERMARK_LAG_MS);
    if (touches(hold, { trueAt, afterMs: SLACK_MS })) surely = Math.min(surely, hold.at - SLACK_MS);
  }
  for (const gap of near(server.gaps, trueAt)) {
    const isSettling = gap.toTrueAt <= trueAt && trueAt < gap.toTrueAt + SETTLE_MS;
    // Whatever is applied in the very moment in which all is settled was looked at before.
    const isJustSettled = lagMs === 0 && trueAt === gap.toTrueAt + SETTLE_MS;
    if (isDuring(gap) || isSettling || isJustSettled) atMost = -Infinity;
    if (touches(gap, { trueAt, afterMs: SETTLE_MS + SLACK_MS })) surely = -Infinity;
  }
  for (const one of near(server.uncertain, trueAt)) {
    if (touches(one, { trueAt, afterMs: SLACK_MS })) surely = -Infinity;
  }
  return { surely: Math.min(surely, atMost), atMost };
}

function touches({ fromTrueAt, toTrueAt }: Hold, { trueAt, afterMs }: { trueAt: number; afterMs: number }) {
  return fromTrueAt < trueAt && trueAt < toTrueAt + afterMs;
}

/** Those that began before a moment and ended not long before it; the list is in the order of their beginnings. */
function near(holds: readonly Hold[], trueAt: number): Hold[] {
  return holds.filter((hold) => touches(hold, { trueAt, afterMs: SETTLE_MS + SLACK_MS + 1 }));
}
