// Reminders: somebody who wants them is told again and again of what is down, for as long as anything is.
import { DAY_MS, HOUR_MS, type Instant } from "../instant.ts";

/** How often somebody wants to be reminded. */
export const REMINDERS = ["off", "hourly", "daily"] as const;
export type Reminders = (typeof REMINDERS)[number];
export const DEFAULT_REMINDERS: Reminders = "off";

const EVERY_MS: Readonly<Record<Exclude<Reminders, "off">, number>> = { hourly: HOUR_MS, daily: DAY_MS };

/** Checks that one reminder lists; the others are counted. */
export const REMINDER_CHECKS_LISTED_MAX = 100;

export type ReminderPlan = {
  /** Null: nothing is planned. */
  nextAt: Instant | null;
  /** Whether one is to be sent now. */
  isDue: boolean;
};

/**
 * What is planned from now on, given what was. The clock starts when something is first seen down and stops when
 * nothing is. Reminders that were missed are not made up for.
 */
export function planReminder({
  reminders,
  nextAt,
  hasDown,
  now,
}: {
  reminders: Reminders;
  nextAt: Instant | null;
  hasDown: boolean;
  now: Instant;
}): ReminderPlan {
  if (reminders === "off" || !hasDown) return { nextAt: null, isDue: false };
  const everyMs = EVERY_MS[reminders];
  // Further ahead than one step can only be left from another setting, or from before the clock was set back.
  if (nextAt === null || nextAt > now + everyMs) return { nextAt: now + everyMs, isDue: false };
  if (nextAt > now) return { nextAt, isDue: false };
  const missed = Math.floor((now - nextAt) / everyMs);
  return { nextAt: nextAt + (missed + 1) * everyMs, isDue: true };
}

/** What a reminder says. */
export type ReminderFacts = {
  zone: string;
  /** The first of them, by project and name. */
  down: readonly {
    uuid: string;
    name: string;
    projectName: string;
    lastPingAt: Instant | null;
    downSinceAt: Instant | null;
  }[];
  downCount: number;
};
