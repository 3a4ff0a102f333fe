// Everything stops at once across thousands of deadlines, including the database, and returns in different orders. No
// alert is sent; each check without a ping is named in one notice; later missing pings raise alerts.
import { setTimeout as sleep } from "node:timers/promises";
import { AlertReceiver, type Arrival } from "../alerts/alert-receiver.ts";
import {
  checksNamed,
  countDuplicated,
  countFalse,
  readNoticed,
  notificationsOf,
} from "../alerts/alert-verdict.ts";
import { addWatchedChecks, expectBetween, type WatchedCheck } from "../alerts/watched-checks.ts";
import { makeNotifier, makeSweeper, signalUntilTaken } from "../alerts/alert-processes.ts";
import { conclude } from "../conclusion.ts";
import { bySize, type Figures, type Result, type Run, type Scenario } from "../scenario.ts";
import { databaseNow } from "../stage/intake-rows.ts";
import { letTimePass, skipFolding, untilSettled } from "../stage/passing-time.ts";
import type { PingProcess } from "../stage/ping-process.ts";
import { onStage, type Stage } from "../stage/stage.ts";
import { demand, until } from "../waiting.ts";

type Role = "intake" | "sweeper" | "notifier";
type Plan = {
  /** Number of checks with deadlines in the outage, and of checks whose pings are missing after it. */
  checks: number;
  afterwards: number;
  channels: number;
  outageMs: number;
  /** Whether to wait for the first outage; otherwise times in the database are moved back. */
  isReal: boolean;
  graceSeconds: number;
  orders: readonly (readonly Role[])[];
};

const ORDERS: readonly (readonly Role[])[] = [
  ["sweeper", "notifier", "intake"],
  ["intake", "notifier", "sweeper"],
  ["notifier", "intake", "sweeper"],
  ["sweeper", "intake", "notifier"],
  ["intake", "sweeper", "notifier"],
  ["notifier", "sweeper", "intake"],
];

const OUTAGE_MS = 600_000;
const PLANS: Record<Run["size"], Plan> = {
  full: {
    checks: 10_000,
    afterwards: 300,
    channels: 4,
    outageMs: OUTAGE_MS,
    isReal: true,
    graceSeconds: 60,
    orders: ORDERS,
  },
  quick: {
    checks: 2_000,
    afterwards: 50,
    channels: 4,
    outageMs: OUTAGE_MS,
    isReal: false,
    graceSeconds: 5,
    orders: ORDERS.slice(0, 2),
  },
  tiny: {
    checks: 200,
    afterwards: 10,
    channels: 2,
    outageMs: OUTAGE_MS,
    isReal: false,
    graceSeconds: 2,
    orders: ORDERS.slice(0, 1),
  },
};

/** Each runs alone for this long before the next one is started. */
const ALONE_MS = 3_000;
/** Of the checks that were due, one in this many sends its signal when it can. */
const LATE_PART = 5;
const EDGE_MS = 5_000;
const ROUND_MS_MAX = 420_000;

export const allStopped: Scenario = {
  name: "all-stopped",
  about: "everything stopped for ten minutes across many deadlines, and started again in every order",
  run: async (run) => {
    const plan = bySize(run, PLANS);
    const receiver = await AlertReceiver.start();
    try {
      return await onStage(run, { checks: 0 }, (stage) => play(stage, { plan, receiver }));
    } finally {
      await receiver.stop();
    }
  },
};

type Play = { plan: Plan; receiver: AlertReceiver };
export type Processes = Record<Role, PingProcess>;
export type StoppedGroups = { silent: WatchedCheck[]; late: WatchedCheck[]; afterwards: WatchedCheck[] };

async function play(stage: Stage, { plan, receiver }: Play): Promise<Result> {
  const processes = await makeProcesses(stage);
  await Promise.all([
    processes.intake.start(),
    processes.sweeper.startInner(),
    processes.notifier.startInner(),
  ]);
  const watched = await gatherStopped(stage, { receiver, ...plan });
  const figures: Figures = {};
  const complaints: string[] = [];
  for (const [index, order] of plan.orders.entries()) {
    const isReal = plan.isReal && index === 0;
    const how = isReal ? "waited for" : "skipped";
    stage.run.say(`down for ${plan.outageMs / 1_000} s (${how}), then ${order.join(", ")}`);
    const since = receiver.arrivals.length;
    await stopAll(stage, { processes, watched, plan, isReal });
    for (const role of order) {
      await startRole(processes, role);
      await sleep(ALONE_MS);
    }
    await resumeJobs(stage, { processes, watched, graceSeconds: plan.graceSeconds });
    await untilSettled(stage, { atOnce: stage.run.size !== "full" });
    const arrivals = () => receiver.arrivals.slice(since);
    await untilAllNotified(stage, { watched, arrivals, channels: plan.channels });
    const found = await judgeStopped(stage, { watched, arrivals: arrivals() });
    for (const [name, value] of Object.entries(found)) figures[name] = (figures[name] ?? 0) + value;
    complaints.push(...complaintsOf(found, { order, channels: plan.channels }));
    await forget(stage);
  }
  return conclude(stage, { figures: { ...figures, orders: plan.orders.length }, complaints });
}

/** One process for each role; none is started. */
export async function makeProcesses(stage: Stage): Promise<Processes> {
  return {
    intake: await stage.receiver({ name: "intake" }),
    sweeper: await makeSweeper(stage, { name: "sweeper" }),
    notifier: await makeNotifier(stage, { name: "notifier" }),
  };
}

function startRole(processes: Processes, role: Role): Promise<void> {
  return role === "intake" ? processes.intake.start() : processes[role].startInner();
}

export async function gatherStopped(
  stage: Stage,
  options: {
    receiver: AlertReceiver;
    checks: number;
    afterwards: number;
    channels: number;
    graceSeconds: number;
  },
): Promise<StoppedGroups> {
  const { checks, afterwards, receiver, channels, graceSeconds } = options;
  const all = await addWatchedChecks(stage, { receiver, count: checks + afterwards, channels, graceSeconds });
  const due = all.slice(0, checks);
  // Some checks of every channel.
  const isLate = (index: number) => Math.floor(index / channels) % LATE_PART === 0;
  return {
    silent: due.filter((_, index) => !isLate(index)),
    late: due.filter((_, index) => isLate(index)),
    afterwards: all.slice(checks),
  };
}

/** Kills everything, and lets the time with all deadlines pass. */
async function stopAll(
  stage: Stage,
  given: { processes: Processes; watched: StoppedGroups; plan: Plan; isReal: boolean },
): Promise<void> {
  const { processes, watched, plan, isReal } = given;
  await expectWithin(stage, { watched, ...plan });
  await Promise.all(Object.values(processes).map((one) => one.kill()));
  await stage.postgres.crash();
  if (isReal) await sleep(plan.outageMs);
  await stage.postgres.resume();
  if (!isReal) await letTimePass(stage, plan.outageMs);
}

/** All deadlines are in the outage that begins now. */
export async function expectWithin(
  stage: Stage,
  { watched, outageMs, graceSeconds }: { watched: StoppedGroups; outageMs: number; graceSeconds: number },
): Promise<void> {
  const now = await stage.withClient(databaseNow);
  const within = { from: now + EDGE_MS, to: now + outageMs - EDGE_MS, graceSeconds };
  await expectBetween(stage, watched.silent, within);
  await expectBetween(stage, watched.late, within);
}

/** Some jobs retry, and the pings of others are missing from now on. */
export async function resumeJobs(
  stage: Stage,
  {
    processes,
    watched,
    graceSeconds,
  }: { processes: Processes; watched: StoppedGroups; graceSeconds: number },
): Promise<void> {
  await signalUntilTaken(stage, watched.late, { port: processes.intake.port });
  // These pings are due after the blind interval, so that nothing excuses them.
  const expectedAt = (await stage.withClient(databaseNow)) + 1_000;
  const deadlineAt = expectedAt + graceSeconds * 1_000;
  await expectBetween(stage, watched.afterwards, { from: deadlineAt, to: deadlineAt, graceSeconds });
}

type Notified = { watched: StoppedGroups; arrivals: () => readonly Arrival[]; channels: number };

/** Returns when all notifications have been sent, or after a timeout. */
export async function untilAllNotified(
  stage: Stage,
  { watched, arrivals, channels }: Notified,
): Promise<void> {
  const silent = new Set(watched.silent.map(({ uuid }) => uuid));
  const isFalse = ({ what, uuid }: Arrival) => what === "down" && silent.has(uuid);
  await until(
    async () => {
      const { timesByCheck } = await readNoticed(stage, watched.silent);
      const isWhole = timesByCheck.size === silent.size;
      if (isWhole && stage.run.size !== "full") await skipFolding(stage);
      const notices = new Set(
        arrivals()
          .filter(isNotice)
          .map(({ channel }) => channel),
      );
      // A false alert ends the wait, too.
      const isDone = (isWhole && notices.size === channels) || arrivals().some(isFalse);
      return isDone && notificationsOf(arrivals(), watched.afterwards).size === watched.afterwards.length;
    },
    { withinMs: ROUND_MS_MAX, pollMs: 500 },
  );
}

function isNotice(arrival: Arrival): boolean {
  return arrival.what === "notice" && checksNamed(arrival) > 0;
}

export async function judgeStopped(
  stage: Stage,
  { watched, arrivals }: { watched: StoppedGroups; arrivals: readonly Arrival[] },
): Promise<Figures> {
  const due = [...watched.silent, ...watched.late];
  const { timesByCheck } = await readNoticed(stage, due);
  const notified = notificationsOf(arrivals, watched.afterwards);
  const notices = new Map(arrivals.filter(isNotice).map((one) => [one.key, one]));
  const named = [...notices.values()].reduce((sum, one) => sum + checksNamed(one), 0);
  return {
    checks: due.length,
    false_alarms: await countFalse(stage, { arrivals, watched: due }),
    notices: notices.size,
    unnoticed: watched.silent.filter(({ checkId }) => timesByCheck.get(checkId) !== 1).length,
    // Checks that sent their signal when they could, and are named in a notice anyway.
    noticed_late: watched.late.filter(({ checkId }) => timesByCheck.has(checkId)).length,
    misnamed: Math.abs(watched.silent.length - named),
    owed: watched.afterwards.length,
    lost: watched.afterwards.length - notified.size,
    duplicated: countDuplicated(arrivals),
  };
}

function complaintsOf(
  found: Figures,
  { order, channels }: { order: readonly Role[]; channels: number },
): string[] {
  const wrong: Record<string, string> = {
    false_alarms: "checks raised an alert because of our downtime",
    unnoticed: "checks without a ping are not in exactly one notice",
    noticed_late: "checks that sent their ping late are in a notice",
    misnamed: "is the difference between checks without a ping and those named in notices",
    lost: "checks without a ping after the outage raised no alert",
    duplicated: "messages were sent with two keys",
  };
  const complaints = Object.entries(wrong)
    .filter(([name]) => (found[name] ?? 0) > 0)
    .map(([name, text]) => `${found[name]} ${text}`);
  if (found["notices"] !== channels) complaints.push(`${found["notices"]} notices to ${channels} channels`);
  return complaints.map((text) => `${text} (order ${order.join(", ")})`);
}

/** The next round begins with empty tables; leftovers of this one would be sent then. */
async function forget(stage: Stage): Promise<void> {
  await demand(
    () =>
      stage.withClient(async (client) => {
        const { rows } = await client.query("select 1 from deliveries where state = 'pending' limit 1");
        return rows.length === 0;
      }),
    { withinMs: ROUND_MS_MAX, what: "everything is settled" },
  );
  await stage.withClient(async (client) => {
    await client.query("delete from notice_checks");
    await client.query("delete from flips");
  });
}
