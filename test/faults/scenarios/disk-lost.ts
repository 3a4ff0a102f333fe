// A receiving process is destroyed with its disk and the signals that only it had: the time counts as blind, so no
// alert is sent, the admin is notified, and alerts continue without it. Then again, but its disk comes back: the
// alerts caused by its absence are retracted.
import { rmSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { AlertReceiver, type Arrival } from "../alerts/alert-receiver.ts";
import { countFalse, readFlips, readNoticed, notificationsOf } from "../alerts/alert-verdict.ts";
import { addChannel, addWatchedChecks, expectBetween, type WatchedCheck } from "../alerts/watched-checks.ts";
import { makeBoth, signalAll, signalUntilTaken } from "../alerts/alert-processes.ts";
import { conclude } from "../conclusion.ts";
import { bySize, type Figures, type Run, type Scenario } from "../scenario.ts";
import { isAcknowledged } from "../signals/send.ts";
import { databaseNow, readIntakes } from "../stage/intake-rows.ts";
import { skipFolding, untilSettled } from "../stage/passing-time.ts";
import type { PingProcess } from "../stage/ping-process.ts";
import type { DatabaseProxy } from "../stage/proxy.ts";
import { onStage, type Stage } from "../stage/stage.ts";
import { demand, until } from "../waiting.ts";

export type DiskPlan = {
  /** Checks whose signals are on the disk, as many without signals, and those whose pings are missing afterwards. */
  held: number;
  afterwards: number;
  channels: number;
  /** After this time without a heartbeat a process is given up; ten minutes unless it is set. */
  leaseMs: number;
  /** Whether the disk comes back in the end. */
  comesBack: boolean;
};

const PLANS: Record<Run["size"], DiskPlan> = {
  full: { held: 2_000, afterwards: 300, channels: 4, leaseMs: 30_000, comesBack: true },
  quick: { held: 300, afterwards: 50, channels: 2, leaseMs: 10_000, comesBack: true },
  tiny: { held: 40, afterwards: 10, channels: 2, leaseMs: 10_000, comesBack: true },
};

const GRACE_SECONDS = 5;
const STEP_MS_MAX = 240_000;
const ADMIN = "admin";

export const diskLost: Scenario = {
  name: "disk-lost",
  about: "one of two receivers destroyed with its disk; and one that is given up and comes back",
  run: async (run) => {
    const plan = bySize(run, PLANS);
    const receiver = await AlertReceiver.start();
    try {
      return await onStage(run, { checks: 0 }, async (stage) => {
        const { figures, complaints, forgiven } = await playDiskLost(stage, { plan, receiver });
        return conclude(stage, { figures, complaints, forgiven, mayRefuse: () => true });
      });
    } finally {
      await receiver.stop();
    }
  },
};

type Play = { plan: DiskPlan; receiver: AlertReceiver };
type Cast = { doomed: PingProcess; other: PingProcess; proxy: DatabaseProxy };
type Found = { figures: Figures; complaints: string[]; forgiven: Set<string> };

/** Both parts on separate stages; violations are reported, and the signals are not evaluated. */
export async function playDiskLost(stage: Stage, { plan, receiver }: Play): Promise<Found> {
  const all = await start(stage, { plan, receiver });
  const found = await destroy(stage, { plan, receiver, all });
  if (!plan.comesBack) return found;
  const back = await comeBack(stage, { plan, receiver, all });
  return {
    figures: { ...found.figures, ...back.figures },
    complaints: [...found.complaints, ...back.complaints],
    forgiven: found.forgiven,
  };
}

async function start(stage: Stage, { plan, receiver }: Play): Promise<Cast> {
  const proxy = await stage.proxy();
  const environment = { OVERDUE_INTAKE_LOST_AFTER: String(plan.leaseMs / 1_000) };
  const doomed = await stage.receiver({
    name: "doomed",
    spool: "disk",
    databaseUrl: proxy.urlFor(stage.url),
    environment,
  });
  const other = await stage.receiver({ name: "other", spool: "other-disk", environment });
  const adminChannel = await addChannel(stage, { receiver, name: ADMIN });
  const both = await makeBoth(stage, {
    name: "sweeper-and-notifier",
    environment: { OVERDUE_ADMIN_CHANNEL: adminChannel },
  });
  await Promise.all([doomed.start(), other.start(), both.startInner()]);
  return { doomed, other, proxy };
}

type Part = Play & { all: Cast };

async function destroy(stage: Stage, { plan, receiver, all }: Part): Promise<Found> {
  const { held: count, channels, leaseMs } = plan;
  const watched = await addWatchedChecks(stage, {
    receiver,
    count: 2 * count + plan.afterwards,
    channels,
    graceSeconds: GRACE_SECONDS,
  });
  const held = watched.slice(0, count);
  const silent = watched.slice(count, 2 * count);
  const afterwards = watched.slice(2 * count);
  await signalUntilTaken(stage, held, { port: all.doomed.port });
  await untilSettled(stage, { atOnce: stage.run.size !== "full" });
  const { forgiven, cutAt } = await cutOff(stage, {
    all,
    signalling: held,
    expect: async (now) => {
      const within = { from: now + leaseMs / 2, to: now + leaseMs - 1_000, graceSeconds: GRACE_SECONDS };
      await expectBetween(stage, held, within);
      await expectBetween(stage, silent, within);
    },
  });
  stage.run.say(
    `${forgiven.size} signals were acknowledged by a process that is now destroyed with its disk`,
  );
  rmSync(stage.subfolder("disk"), { recursive: true, force: true });
  await untilLost(stage, { cutAt, leaseMs });
  await expectSoon(stage, afterwards);
  const due = [...held, ...silent];
  await until(() => isAllNotified(stage, { receiver, due, afterwards, channels }), {
    withinMs: STEP_MS_MAX,
    pollMs: 500,
  });
  const { arrivals } = receiver;
  const noticed = await readNoticed(stage, due);
  const figures: Figures = {
    on_the_disk: forgiven.size,
    false_alarms: await countFalse(stage, { arrivals, watched: due }),
    notices: noticed.notices,
    unnoticed: due.filter(({ checkId }) => noticed.timesByCheck.get(checkId) !== 1).length,
    owed: afterwards.length,
    lost: afterwards.length - notificationsOf(arrivals, afterwards).size,
    admin_notified: arrivals.filter(isAboutLoss).length,
  };
  return { figures, complaints: complaintsOf(figures, plan), forgiven };
}

type CutOff = { all: Cast; signalling: readonly WatchedCheck[]; expect: (now: number) => Promise<void> };

/** Cuts the process off from its database, lets it acknowledge signals it cannot record, and kills it. */
async function cutOff(
  stage: Stage,
  { all, signalling, expect }: CutOff,
): Promise<{ forgiven: Set<string>; cutAt: number }> {
  const cutAt = await stage.withClient(databaseNow);
  await expect(cutAt);
  all.proxy.cut();
  const entries = await signalAll(stage, signalling, { port: all.doomed.port });
  const refused = entries.filter((entry) => !isAcknowledged(entry)).length;
  if (refused > 0) throw new Error(`${refused} of ${entries.length} signals were rejected by a spool`);
  await all.doomed.kill();
  return { forgiven: new Set(entries.map(({ marker }) => marker)), cutAt };
}

function untilLost(stage: Stage, { cutAt, leaseMs }: { cutAt: number; leaseMs: number }): Promise<void> {
  return demand(
    async () =>
      (await stage.withClient(readIntakes)).some(({ isLost, closedAt }) => isLost && (closedAt ?? 0) > cutAt),
    { withinMs: leaseMs + 60_000, what: "the process is given up" },
  );
}

/** Pings are missing from now on, without an excuse. */
async function expectSoon(stage: Stage, watched: readonly WatchedCheck[]): Promise<void> {
  const deadlineAt = (await stage.withClient(databaseNow)) + 1_000 + GRACE_SECONDS * 1_000;
  await expectBetween(stage, watched, { from: deadlineAt, to: deadlineAt, graceSeconds: GRACE_SECONDS });
}

type Telling = {
  receiver: AlertReceiver;
  due: readonly WatchedCheck[];
  afterwards: readonly WatchedCheck[];
  channels: number;
};

async function isAllNotified(
  stage: Stage,
  { receiver, due, afterwards, channels }: Telling,
): Promise<boolean> {
  const { arrivals } = receiver;
  const isDone =
    arrivals.some(isAboutLoss) && notificationsOf(arrivals, afterwards).size === afterwards.length;
  // A false alert ends the wait, too.
  if (notificationsOf(arrivals, due).size > 0) return isDone;
  const { timesByCheck } = await readNoticed(stage, due);
  if (timesByCheck.size < due.length) return false;
  if (stage.run.size !== "full") await skipFolding(stage);
  const notified = new Set(arrivals.filter(({ what }) => what === "notice").map(({ channel }) => channel));
  notified.delete(ADMIN);
  return isDone && notified.size === channels;
}

function isAboutLoss({ channel, body }: Arrival): boolean {
  return channel === ADMIN && body.includes("considered lost");
}

function complaintsOf(found: Figures, { channels }: DiskPlan): string[] {
  const complaints: string[] = [];
  const { false_alarms = 0, unnoticed = 0, notices = 0, lost = 0, admin_notified = 0 } = found;
  if (false_alarms > 0) complaints.push(`${false_alarms} checks raised an alert because of the lost disk`);
  if (unnoticed > 0) complaints.push(`${unnoticed} checks that could not be monitored are not in one notice`);
  if (notices !== channels) complaints.push(`${notices} notices to ${channels} channels`);
  if (lost > 0) complaints.push(`${lost} checks without a ping after the loss raised no alert`);
  if (admin_notified === 0) complaints.push("the admin was not notified of the loss");
  return complaints;
}

/** Early signals are on the disk; the deadlines they had postponed fire while the disk is missing. */
async function comeBack(
  stage: Stage,
  { plan, receiver, all }: Part,
): Promise<{ figures: Figures; complaints: string[] }> {
  const { held: count, channels, leaseMs } = plan;
  const watched = await addWatchedChecks(stage, { receiver, count, channels, graceSeconds: GRACE_SECONDS });
  all.proxy.heal();
  await all.doomed.start();
  await signalUntilTaken(stage, watched, { port: all.doomed.port });
  // Well after it has been given up, so that nothing is blind then.
  const afterMs = leaseMs + 8_000 + GRACE_SECONDS * 1_000;
  const { cutAt } = await cutOff(stage, {
    all,
    signalling: watched,
    expect: async (now) => {
      await expectBetween(stage, watched, {
        from: now + afterMs,
        to: now + afterMs,
        graceSeconds: GRACE_SECONDS,
      });
    },
  });
  await untilLost(stage, { cutAt, leaseMs });
  const isNotified = (what: Arrival["what"]) => () =>
    [...notificationsOf(receiver.arrivals, watched).values()].filter((notified) =>
      notified.some((one) => one.what === what),
    ).length === count;
  await until(isNotified("down"), { withinMs: STEP_MS_MAX, pollMs: 500 });
  stage.run.say("the disk comes back");
  await sleep(1_000);
  all.proxy.heal();
  await all.doomed.start();
  await until(isNotified("up"), { withinMs: STEP_MS_MAX, pollMs: 500 });
  const flips = await readFlips(stage, watched);
  const notified = notificationsOf(receiver.arrivals, watched);
  const figures: Figures = {
    alarmed: [...notified.values()].filter((of) => of.some(({ what }) => what === "down")).length,
    retracted: flips.filter(({ to, isRetracted }) => to === "down" && isRetracted).length,
    corrected: [...notified.values()].filter((of) => of.at(-1)?.what === "up").length,
  };
  const complaints = Object.entries(figures)
    .filter(([, value]) => value !== count)
    .map(
      ([name, value]) => `of ${count} checks whose disk came back ${value} were ${name.replace("_", " ")}`,
    );
  return { figures, complaints };
}
