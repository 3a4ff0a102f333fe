// For tests of the model: a world as a text in, and out of it what people are owed, in words and with the world's
// own times.
import type { Alert } from "./model/check-model.ts";
import { type HasFired, Verdicts } from "./verdicts.ts";
import { describeTime, readWorld } from "./world/text.ts";

/** Where a hand-computed world leaves nothing open, nobody is asked. */
const NO_DOUBT: HasFired = (at) => {
  throw new Error(`either answer would be right about the deadline of ${new Date(at).toISOString()}`);
};

/** What the first check of a world makes known: `down 0.01:05`, `notice 0.03:00 0.03:10`, on the database's clock. */
export function notificationsOf(text: string, hasFired: HasFired = NO_DOUBT): string[] {
  const { alerts, from } = alertsOf(text, hasFired);
  const time = (at: number) => describeTime(at, from);
  return alerts.map(({ to, at, blind }) =>
    blind === null ? `${to} ${time(at)}` : `notice ${time(blind.from)} ${time(blind.to)}`,
  );
}

/** For each of them, from when on the server had to know, on the true clock. */
export function detectedOf(text: string): string[] {
  const { alerts, from } = alertsOf(text, NO_DOUBT);
  return alerts.map(({ to, detectedTrueAt }) => `${to} ${describeTime(detectedTrueAt, from)}`);
}

/** For each of them, before when the server could not know. */
export function earliestOf(text: string): string[] {
  const { alerts, from } = alertsOf(text, NO_DOUBT);
  return alerts.map(({ to, earliestTrueAt }) => `${to} ${describeTime(earliestTrueAt, from)}`);
}

function alertsOf(text: string, hasFired: HasFired): { alerts: readonly Alert[]; from: number } {
  const world = readWorld(text);
  return { alerts: new Verdicts(world).of(0, hasFired).alerts, from: world.head.from };
}
