// Checks the repeats of a message about a problem to one channel.
import type { CheckVerdict } from "./check-model.ts";
import { type Hold, turnsFrom } from "./due.ts";
import type { ReceiverHistory, Turn } from "./history.ts";
import type { NotifyContext } from "./notify.ts";
import { LATE_AFTER_MS, RELEASE_MS_MAX } from "./rules.ts";

export type Problem = {
  detectedTrueAt: number;
  /** When the first message was accepted. */
  sentTrueAt: number;
  /** When its end was recorded; Infinity if it did not end. */
  endsTrueAt: number;
  hold: Hold;
  /** When repeats were accepted. */
  repeats: readonly number[];
  receiver: ReceiverHistory;
};

/** What is wrong with the repeats of a problem. */
export function repeatFindings(
  problem: Problem,
  { notify, parents, server, verdict }: NotifyContext & { verdict: CheckVerdict },
): { kind: "false" | "missed"; text: string }[] {
  const found: { kind: "false" | "missed"; text: string }[] = [];
  const repeatMs =
    Math.min(
      ...[notify, ...parents.map((parent) => parent.notify)].map(
        ({ repeatSeconds }) => repeatSeconds ?? Infinity,
      ),
    ) * 1_000;
  const ackMs = notify.ackTimeoutSeconds === 0 ? Infinity : notify.ackTimeoutSeconds * 1_000;
  const turnAt = (trueAt: number) => turnsFrom(server, trueAt).next().value ?? undefined;
  const wrong = (kind: "false" | "missed", trueAt: number, why: string) =>
    found.push({ kind, text: `repeat at ${new Date(trueAt).toISOString()}: ${why}` });
  let before = turnAt(problem.sentTrueAt);
  for (const trueAt of problem.repeats) {
    const turn = turnAt(trueAt);
    if (before === undefined || turn === undefined) break;
    // A clock may have been changed in between.
    const passedMs = Math.max(turn.at - before.at, turn.trueAt - before.trueAt);
    const since = before.at;
    // When a silence ends, problems that were notified before are repeated once.
    const isAfterSilence = verdict.silenced.some(({ to }) => since < to && to <= turn.at);
    if (passedMs < repeatMs && !isAfterSilence)
      wrong("false", trueAt, `only ${passedMs / 1_000} s after the last message`);
    if (problem.hold.heldAt(turn) === "yes") wrong("false", trueAt, "while silenced");
    if (isAcknowledged(turn)) wrong("false", trueAt, "although acknowledged");
    before = turn;
  }
  const missed = before === undefined ? null : firstChance(before);
  if (missed !== null) wrong("missed", missed.trueAt, "not received");
  return found;

  /** Whether somebody may have acknowledged the problem, and that may still count. */
  function mayBeAcknowledged({ trueAt, at }: Turn): boolean {
    const slackMs = Math.abs(at - trueAt) + RELEASE_MS_MAX;
    return possibleAcks(trueAt).some((ackTrueAt) => trueAt < ackTrueAt + ackMs + slackMs);
  }

  /** Whether somebody has acknowledged the problem since the first message, and that still counts. */
  function isAcknowledged({ trueAt, at }: Turn): boolean {
    const slackMs = Math.abs(at - trueAt) + RELEASE_MS_MAX;
    let last = { isCertain: false, endsTrueAt: -Infinity };
    for (const ackTrueAt of possibleAcks(trueAt)) {
      // While the last one counts, another one changes nothing.
      if (ackTrueAt < last.endsTrueAt) continue;
      const hasEnded = last.endsTrueAt === -Infinity || isSentBetween(last.endsTrueAt + slackMs, ackTrueAt);
      last = { isCertain: hasEnded && ackTrueAt > problem.sentTrueAt, endsTrueAt: ackTrueAt + ackMs };
    }
    return last.isCertain && trueAt < last.endsTrueAt - slackMs;
  }

  function possibleAcks(untilTrueAt: number): number[] {
    return verdict.acknowledgedTrueAt.filter((ackTrueAt) => {
      if (ackTrueAt > untilTrueAt) return false;
      if (ackTrueAt > problem.sentTrueAt) return true;
      // Before the first message was sent, the planner may or may not have seen the problem. It has not created an
      // incident while the problem was silenced.
      const turn = turnAt(ackTrueAt);
      const isSilenced = turn !== undefined && problem.hold.heldAt(turn) === "yes";
      return ackTrueAt > problem.detectedTrueAt && !isSilenced;
    });
  }

  /** Whether messages were certainly sent in a turn, so that the steps that were due have been taken. */
  function isSentBetween(fromTrueAt: number, toTrueAt: number): boolean {
    for (const { trueAt, sending } of turnsFrom(server, fromTrueAt)) {
      if (trueAt >= toTrueAt) return false;
      if (sending === "yes") return true;
    }
    return false;
  }

  /** The first turn in which the next repeat had to be sent, if it is late now; the rest of the world is ignored. */
  function firstChance(last: Turn): Turn | null {
    const worldEndsTrueAt = server.turns.findLast(({ sweeping }) => sweeping !== "no")?.trueAt ?? 0;
    const endsTrueAt = Math.min(problem.endsTrueAt, worldEndsTrueAt);
    let dueTrueAt = last.trueAt + repeatMs;
    // A clock may have been set back.
    let dueAt = last.at + repeatMs;
    for (const turn of turnsFrom(server, dueTrueAt)) {
      const { trueAt, at, sending } = turn;
      const isFailing = problem.receiver.failing.some(({ from, to }) => from < trueAt && trueAt < to);
      const isGone = (problem.receiver.goneTrueAt ?? Infinity) <= trueAt;
      if (trueAt > endsTrueAt || isGone) return null;
      // Afterwards, it counts from here.
      if (problem.hold.heldAt(turn) !== "no" || mayBeAcknowledged(turn)) {
        dueTrueAt = trueAt + repeatMs;
        dueAt = at + repeatMs;
      } else if (sending === "yes" && !isFailing && trueAt >= dueTrueAt && at >= dueAt) {
        const lateTrueAt = trueAt + (trueAt - dueTrueAt) + LATE_AFTER_MS + RELEASE_MS_MAX;
        return lateTrueAt < endsTrueAt ? turn : null;
      }
    }
    return null;
  }
}
