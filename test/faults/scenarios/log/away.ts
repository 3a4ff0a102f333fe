// No recorder runs while thousands of deadlines pass. Pings are accepted meanwhile, and no alert is sent. When recorders
// are back, exactly the checks without a ping raise alerts.
import { setTimeout as sleep } from "node:timers/promises";
import { countFalse, notificationsOf } from "../../alerts/alert-verdict.ts";
import { addWatchedChecks, expectBetween, type WatchedCheck } from "../../alerts/watched-checks.ts";
import type { LogPart } from "../../log/part.ts";
import type { LogStage } from "../../log/log-stage.ts";
import type { Size } from "../../scenario.ts";
import { type Entry, isAcknowledged } from "../../signals/send.ts";
import { databaseNow } from "../../stage/intake-rows.ts";
import { untilSettled } from "../../stage/passing-time.ts";
import { until } from "../../waiting.ts";

type Plan = { checks: number; leadMs: number; spreadMs: number };

const PLANS: Record<Size, Plan> = {
  full: { checks: 10_000, leadMs: 180_000, spreadMs: 420_000 },
  quick: { checks: 500, leadMs: 25_000, spreadMs: 5_000 },
  tiny: { checks: 60, leadMs: 8_000, spreadMs: 1_000 },
};

/** One check in this many sends nothing. */
const SILENT_PART = 5;
const CHANNELS = 4;
const GRACE_SECONDS = 60;
const TOGETHER_MAX = 50;
/** A sender that was slower proves nothing. */
const MARGIN_MS = 1_000;
const NOTIFIED_MS_MAX = 300_000;

export const awayPart: LogPart = {
  name: "log-away",
  about: "no recorder runs across many deadlines; then exactly the silent checks raise alerts",
  play: async (log, { size }) => {
    const plan = PLANS[size];
    const { stage, receiver } = log;
    const given = { receiver, count: plan.checks, channels: CHANNELS, graceSeconds: GRACE_SECONDS };
    const watched = await addWatchedChecks(stage, given);
    const silent = watched.filter((_, index) => index % SILENT_PART === 0);
    const inTime = watched.filter((_, index) => index % SILENT_PART !== 0);
    await untilSettled(stage, { atOnce: true });
    await Promise.all(log.recorders.map((one) => one.kill()));
    const awayMs = performance.now();
    const from = (await stage.withClient(databaseNow)) + plan.leadMs;
    const endAt = from + plan.spreadMs;
    for (const group of [silent, inTime]) {
      await expectBetween(stage, group, { from, to: endAt, graceSeconds: GRACE_SECONDS });
    }
    const pinged = await pingBefore(log, inTime, from);
    await sleep(Math.max(0, endAt + MARGIN_MS - (await stage.withClient(databaseNow))));
    const early = notificationsOf(receiver.arrivals, silent).size;
    await Promise.all(log.recorders.map((one) => one.startInner()));
    const seconds = Math.round((performance.now() - awayMs) / 1_000);
    await untilSettled(stage, { atOnce: size !== "full" });
    const delivered = await countNotified(log, silent);
    const falseAlarms = await countFalse(stage, { arrivals: receiver.arrivals, watched: pinged });
    const complaints: string[] = [];
    if (early > 0) complaints.push(`${early} alerts were sent while no recorder ran`);
    if (falseAlarms > 0) complaints.push(`${falseAlarms} checks went down although they were pinged in time`);
    if (delivered < silent.length) complaints.push(`${silent.length - delivered} alerts were not sent`);
    return {
      figures: {
        away_s: seconds,
        deadlines: watched.length,
        pinged_in_time: pinged.length,
        early,
        owed: silent.length,
        delivered,
        false_alarms: falseAlarms,
      },
      complaints,
    };
  },
};

/** The checks whose pings were acknowledged before their deadlines. */
async function pingBefore(
  { stage, router }: LogStage,
  watched: readonly WatchedCheck[],
  deadlineAt: number,
): Promise<WatchedCheck[]> {
  const { ledger } = stage;
  const inTime: WatchedCheck[] = [];
  for (let at = 0; at < watched.length; at += TOGETHER_MAX) {
    const some = watched.slice(at, at + TOGETHER_MAX);
    const sent = some.map((check) => ledger.send(ledger.maker.make(check, { kind: "s" }), router.port));
    const entries: Entry[] = await Promise.all(sent);
    for (const [index, check] of some.entries()) {
      const entry = entries[index];
      if (entry === undefined || !isAcknowledged(entry)) continue;
      if (entry.sentAt + entry.ms < deadlineAt - MARGIN_MS) inTime.push(check);
    }
  }
  return inTime;
}

/** How many of these checks were reported as down; waits until all of them are. */
async function countNotified({ receiver }: LogStage, silent: readonly WatchedCheck[]): Promise<number> {
  const count = () => notificationsOf(receiver.arrivals, silent).size;
  await until(() => count() === silent.length, { withinMs: NOTIFIED_MS_MAX });
  return count();
}
