// Fire drills: a simulated outage that takes the path of a real alert. What a drill does next, what its result is, and
// when the next weekly one is due.
import type { Instant } from "./instant.ts";
import { DELIVERY_LEASE_MS, FIRE_DRILL_MS_MAX } from "./limits.ts";
import { instantOfLocal, type LocalDay, localDay } from "./local-time.ts";
import { sentenceText } from "./duration-text.ts";
import type { EffectivePolicy, Policy } from "./policy.ts";

/** In the name of the check of a drill, and so in the title and the contents of every message. */
export const FIRE_DRILL_MARK = "[Fire drill]";

/** The name of the check of a drill. */
export function drillName(name: string): string {
  return name === "" ? FIRE_DRILL_MARK : `${FIRE_DRILL_MARK} ${name}`;
}

/** `quiet`: messages are rendered and not sent. */
export type DrillMode = "quiet" | "sent";

/** The result. `held`: a silence applies. `nobody`: no channel is notified. `timedOut`: a step took too long. */
export type DrillOutcome = "ok" | "failed" | "held" | "nobody" | "timedOut";

/** What happened to a message. `notSent`: rendered only. `skipped`: the channel would not get one. */
export type MessageOutcome = "notSent" | "sent" | "retrying" | "failed" | "skipped";

/** What the check of a drill does not inherit: it is notified alone and once. It has no rules for its runs. */
export const DRILL_POLICY: Policy = { groupBy: [], reopenWithin: 0, repeat: 0 };

/** A message of the drill about one direction. */
export type DrillDelivery = {
  isSettled: boolean;
  /** The receiver has got it, or may have. */
  mayHaveArrived: boolean;
};

export type DrillFacts = {
  mode: DrillMode;
  startedAt: Instant;
  closedAt: Instant | null;
  isEnded: boolean;
  /** Null: the sweeper has not written it yet. */
  alert: { isPlanned: boolean; isHeld: boolean } | null;
  openings: readonly DrillDelivery[];
  closings: readonly DrillDelivery[];
};

/** Whether a problem may still be sent: not by a notifier that was down while the drill ended. */
export function mayStillSend({ startedAt }: { startedAt: Instant }, now: Instant): boolean {
  return now - startedAt < FIRE_DRILL_MS_MAX;
}

export type DrillStep = {
  /** The problem is closed, which notifies the channels that have got a message. */
  closes: boolean;
  /** The result is final. */
  ends: boolean;
  /** The check of the drill is removed. Never while a message may have to be closed. */
  removes: boolean;
};

const WAIT: DrillStep = { closes: false, ends: false, removes: false };

/** What a drill does next. */
export function nextDrillStep(drill: DrillFacts, now: Instant): DrillStep {
  return drill.closedAt === null ? stepOfOpen(drill, now) : stepOfClosed(drill, drill.closedAt, now);
}

function stepOfOpen({ mode, startedAt, isEnded, alert, openings }: DrillFacts, now: Instant): DrillStep {
  const over = { closes: false, ends: !isEnded, removes: true };
  // A sender that claimed a message in time has reported by then, or its message may have arrived.
  const isLate = now - startedAt >= FIRE_DRILL_MS_MAX + (mode === "sent" ? DELIVERY_LEASE_MS : 0);
  if (alert === null) return isLate ? over : WAIT;
  // A silence, or a deadline that passed long ago.
  if (!alert.isPlanned) return alert.isHeld || isLate ? over : WAIT;
  if (!isLate && openings.some(({ isSettled }) => !isSettled)) return WAIT;
  const isOpen = mode === "sent" && openings.some(({ mayHaveArrived }) => mayHaveArrived);
  return isOpen ? { ...WAIT, closes: true } : over;
}

function stepOfClosed({ isEnded, alert, openings, closings }: DrillFacts, closedAt: Instant, now: Instant) {
  const isWaiting =
    alert === null || !alert.isPlanned || [...openings, ...closings].some(({ isSettled }) => !isSettled);
  if (!isWaiting) return { closes: false, ends: !isEnded, removes: true };
  // The result does not wait for a receiver that is down; closing is retried like a recovery.
  return { ...WAIT, ends: !isEnded && now - closedAt >= FIRE_DRILL_MS_MAX };
}

/** The result of a drill that has ended. */
export function drillOutcome({
  isHeld,
  isPlanned,
  messages,
}: {
  isHeld: boolean;
  isPlanned: boolean;
  messages: readonly { outcome: MessageOutcome; closeOutcome: MessageOutcome | null }[];
}): DrillOutcome {
  if (isHeld) return "held";
  if (!isPlanned) return "timedOut";
  const all = messages.flatMap(({ outcome, closeOutcome }) => [outcome, closeOutcome]);
  if (all.includes("failed") || all.includes("retrying")) return "failed";
  return messages.some(({ outcome }) => outcome === "sent" || outcome === "notSent") ? "ok" : "nobody";
}

export type HopName = "deadline" | "found" | "written" | "planned" | "claimed" | "rendered" | "answered";

/** The instants of a drill; those of messages are the last of all channels. */
export type DrillTimes = {
  deadlineAt: Instant;
  foundAt: Instant | null;
  writtenAt: Instant | null;
  plannedAt: Instant | null;
  messages: readonly {
    outcome: MessageOutcome;
    claimedAt: Instant | null;
    renderedAt: Instant | null;
    answeredAt: Instant | null;
  }[];
};

export type Hop = { name: HopName; at: Instant };

/**
 * The hops so far, up to the first that is unknown: times are read one after the other, so a message may already be
 * claimed when its alert was not there yet. Processes read their clocks apart, so a hop is never shown before the one
 * that caused it.
 */
export function hopsOf({ deadlineAt, foundAt, writtenAt, plannedAt, messages }: DrillTimes): Hop[] {
  const last = (value: (of: DrillTimes["messages"][number]) => Instant | null) => {
    const times = messages.flatMap((message) => value(message) ?? []);
    return times.length === 0 ? null : Math.max(...times);
  };
  const hops: [HopName, Instant | null][] = [
    ["deadline", deadlineAt],
    ["found", foundAt],
    ["written", writtenAt],
    ["planned", plannedAt],
    ["claimed", last(({ claimedAt }) => claimedAt)],
    ["rendered", last(({ renderedAt }) => renderedAt)],
    ["answered", last(({ answeredAt }) => answeredAt)],
  ];
  let before = deadlineAt;
  const shown: Hop[] = [];
  for (const [name, at] of hops) {
    if (at === null) break;
    before = Math.max(before, at);
    shown.push({ name, at: before });
  }
  return shown;
}

/** From the missed deadline until every channel has got its message, or would have. Null: none has. */
export function drillMs(times: DrillTimes): number | null {
  const notified = times.messages.filter(({ outcome }) => outcome === "sent" || outcome === "notSent");
  if (notified.length === 0) return null;
  const last = hopsOf({ ...times, messages: notified }).at(-1);
  return last === undefined ? null : last.at - times.deadlineAt;
}

/** What a real problem of the check would meet in addition: a drill opens its alert at once and alone. */
export function drillNotes({
  policy: { missed, groupBy, groupWait },
  parents,
}: {
  policy: Pick<EffectivePolicy, "missed" | "groupBy" | "groupWait">;
  parents: readonly { name: string; isDown: boolean }[];
}): string[] {
  const notes: string[] = [];
  if (missed > 1) notes.push(`A real alert opens after ${missed} missed runs in a row.`);
  if (groupBy.length > 0) {
    notes.push(`A real alert waits ${sentenceText(groupWait)} to be combined with others.`);
  }
  for (const { name, isDown } of parents) {
    const parent = name === "" ? "a check without a name" : name;
    notes.push(
      isDown
        ? `The check depends on ${parent}, which is down: a real alert would be part of that incident.`
        : `The check depends on ${parent}: while that is down, a real alert is part of its incident.`,
    );
  }
  return notes;
}

/** Why a channel of the project is not notified. */
export function unnotifiedReason({
  disabledReason,
  isDisabled,
  isAssigned,
  heldReason,
}: {
  isDisabled: boolean;
  disabledReason: string | null;
  isAssigned: boolean;
  heldReason: string | null;
}): string {
  if (isDisabled) return disabledReason ? `Disabled: ${disabledReason}` : "Disabled";
  if (!isAssigned) return "Not assigned to this check";
  return heldReason ?? "No notification was planned";
}

/** A weekly drill; Monday is 0. */
export type DrillSchedule = { weekday: number; minute: number; tz: string };

const DAYS_OF_WEEK = 7;

/** The next time of a weekly drill after an instant. */
export function nextDrillAt({ weekday, minute, tz }: DrillSchedule, after: Instant): Instant {
  const today = localDay(after, tz);
  const offset = (weekday - weekdayOf(today) + DAYS_OF_WEEK) % DAYS_OF_WEEK;
  const at = (days: number) =>
    instantOfLocal({ ...today, day: today.day + days }, { minutes: minute, zone: tz });
  const first = at(offset);
  return first > after ? first : at(offset + DAYS_OF_WEEK);
}

function weekdayOf({ year, month, day }: LocalDay): number {
  return (new Date(Date.UTC(year, month - 1, day)).getUTCDay() + DAYS_OF_WEEK - 1) % DAYS_OF_WEEK;
}
