// Test helpers: run the model on a world in text form and return its notifications as short strings, with times
// relative to the start of the world.
import type { Alert } from "./model/check-model.ts";
import { type HasFired, Verdicts } from "./verdicts.ts";
import { describeTime, readWorld } from "./world/text.ts";

/** For worlds in which every deadline has only one correct result. */
const NO_DOUBT: HasFired = (at) => {
  throw new Error(`both results would be correct for the deadline at ${new Date(at).toISOString()}`);
};

/** The notifications of the first check, on the database clock: `down 0.01:05`, `notice 0.03:00 0.03:10`. */
export function notificationsOf(text: string, hasFired: HasFired = NO_DOUBT): string[] {
  const { alerts, from } = alertsOf(text, hasFired);
  const time = (at: number) => describeTime(at, from);
  return alerts.map(({ to, at, blind }) =>
    blind === null ? `${to} ${time(at)}` : `notice ${time(blind.from)} ${time(blind.to)}`,
  );
}

/** The time, on the true clock, by which the server must have detected each of them. */
export function detectedOf(text: string): string[] {
  const { alerts, from } = alertsOf(text, NO_DOUBT);
  return alerts.map(({ to, detectedTrueAt }) => `${to} ${describeTime(detectedTrueAt, from)}`);
}

/** The earliest time at which the server could detect each of them. */
export function earliestOf(text: string): string[] {
  const { alerts, from } = alertsOf(text, NO_DOUBT);
  return alerts.map(({ to, earliestTrueAt }) => `${to} ${describeTime(earliestTrueAt, from)}`);
}

function alertsOf(text: string, hasFired: HasFired): { alerts: readonly Alert[]; from: number } {
  const world = readWorld(text);
  return { alerts: new Verdicts(world).of(0, hasFired).alerts, from: world.head.from };
}
