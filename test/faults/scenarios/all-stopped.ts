// Everything stops at once and stays away across thousands of deadlines, the database too, and comes back in one order
// or another. Nobody is alarmed for that; whoever stays silent is named in one notice; afterwards silence counts again.
import { setTimeout as sleep } from "node:timers/promises";
import { AlertReceiver, type Arrival } from "../alerts/alert-receiver.ts";
import { checksNamed, countDuplicated, countFalse, readNoticed, toldOf } from "../alerts/alert-verdict.ts";
import { addCrowd, expectBetween, type Member } from "../alerts/crowd.ts";
import { makeNotifier, makeSweeper, signalUntilTaken } from "../alerts/house.ts";
import { conclude } from "../conclusion.ts";
import { bySize, type Figures, type Result, type Run, type Scenario } from "../scenario.ts";
import { databaseNow } from "../stage/intake-rows.ts";
import { letTimePass, skipFolding, untilSettled } from "../stage/passing-time.ts";
import type { PingProcess } from "../stage/ping-process.ts";
import { onStage, type Stage } from "../stage/stage.ts";
import { demand, until } from "../waiting.ts";

type Role = "intake" | "sweeper" | "notifier";
type Plan = {
  /** Checks whose deadlines lie in the outage, and those that fall silent after it. */
  checks: number;
  afterwards: number;
  channels: number;
  outageMs: number;
  /** Whether the first outage is waited for; otherwise the database is told that so much time has passed. */
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

/** Each is alone for so long before the next one is started. */
const ALONE_MS = 3_000;
/** Of the checks that were due, every so many sends its signal when it can. */
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
export type House = Record<Role, PingProcess>;
export type StoppedCrowd = { silent: Member[]; late: Member[]; afterwards: Member[] };

async function play(stage: Stage, { plan, receiver }: Play): Promise<Result> {
  const house = await makeHouse(stage);
  await Promise.all([house.intake.start(), house.sweeper.startInner(), house.notifier.startInner()]);
  const crowd = await gatherStopped(stage, { receiver, ...plan });
  const figures: Figures = {};
  const complaints: string[] = [];
  for (const [index, order] of plan.orders.entries()) {
    const isReal = plan.isReal && index === 0;
    const how = isReal ? "waited for" : "skipped";
    stage.run.say(`away for ${plan.outageMs / 1_000} s (${how}), then ${order.join(", ")}`);
    const since = receiver.arrivals.length;
    await stopAll(stage, { house, crowd, plan, isReal });
    for (const role of order) {
      await startRole(house, role);
      await sleep(ALONE_MS);
    }
    await resumeJobs(stage, { house, crowd, graceSeconds: plan.graceSeconds });
    await untilSettled(stage, { atOnce: stage.run.size !== "full" });
    const arrivals = () => receiver.arrivals.slice(since);
    await untilAllTold(stage, { crowd, arrivals, channels: plan.channels });
    const found = await judgeStopped(stage, { crowd, arrivals: arrivals() });
    for (const [name, value] of Object.entries(found)) figures[name] = (figures[name] ?? 0) + value;
    complaints.push(...complaintsOf(found, { order, channels: plan.channels }));
    await forget(stage);
  }
  return conclude(stage, { figures: { ...figures, orders: plan.orders.length }, complaints });
}

/** One process for each role; none is started. */
export async function makeHouse(stage: Stage): Promise<House> {
  return {
    intake: await stage.receiver({ name: "intake" }),
    sweeper: await makeSweeper(stage, { name: "sweeper" }),
    notifier: await makeNotifier(stage, { name: "notifier" }),
  };
}

function startRole(house: House, role: Role): Promise<void> {
  return role === "intake" ? house.intake.start() : house[role].startInner();
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
): Promise<StoppedCrowd> {
  const { checks, afterwards, receiver, channels, graceSeconds } = options;
  const all = await addCrowd(stage, { receiver, count: checks + afterwards, channels, graceSeconds });
  const due = all.slice(0, checks);
  // Of every channel some.
  const isLate = (index: number) => Math.floor(index / channels) % LATE_PART === 0;
  return {
    silent: due.filter((_, index) => !isLate(index)),
    late: due.filter((_, index) => isLate(index)),
    afterwards: all.slice(checks),
  };
}

/** Everything is killed, and the time passes in which all deadlines lie. */
async function stopAll(
  stage: Stage,
  given: { house: House; crowd: StoppedCrowd; plan: Plan; isReal: boolean },
): Promise<void> {
  const { house, crowd, plan, isReal } = given;
  await expectWithin(stage, { crowd, ...plan });
  await Promise.all(Object.values(house).map((one) => one.kill()));
  await stage.postgres.crash();
  if (isReal) await sleep(plan.outageMs);
  await stage.postgres.resume();
  if (!isReal) await letTimePass(stage, plan.outageMs);
}

/** All deadlines lie in the outage that begins now. */
export async function expectWithin(
  stage: Stage,
  { crowd, outageMs, graceSeconds }: { crowd: StoppedCrowd; outageMs: number; graceSeconds: number },
): Promise<void> {
  const now = await stage.withClient(databaseNow);
  const within = { from: now + EDGE_MS, to: now + outageMs - EDGE_MS, graceSeconds };
  await expectBetween(stage, crowd.silent, within);
  await expectBetween(stage, crowd.late, within);
}

/** Some of the jobs try again, and others fall silent only now. */
export async function resumeJobs(
  stage: Stage,
  { house, crowd, graceSeconds }: { house: House; crowd: StoppedCrowd; graceSeconds: number },
): Promise<void> {
  await signalUntilTaken(stage, crowd.late, { port: house.intake.port });
  // What was expected from now on lies behind the blind time, so that nothing excuses it.
  const expectedAt = (await stage.withClient(databaseNow)) + 1_000;
  const deadlineAt = expectedAt + graceSeconds * 1_000;
  await expectBetween(stage, crowd.afterwards, { from: deadlineAt, to: deadlineAt, graceSeconds });
}

type Told = { crowd: StoppedCrowd; arrivals: () => readonly Arrival[]; channels: number };

/** Returns when everybody has been told what there is to tell, or when that takes too long. */
export async function untilAllTold(stage: Stage, { crowd, arrivals, channels }: Told): Promise<void> {
  const silent = new Set(crowd.silent.map(({ uuid }) => uuid));
  const isFalse = ({ what, uuid }: Arrival) => what === "down" && silent.has(uuid);
  await until(
    async () => {
      const { timesByCheck } = await readNoticed(stage, crowd.silent);
      const isWhole = timesByCheck.size === silent.size;
      if (isWhole && stage.run.size !== "full") await skipFolding(stage);
      const notices = new Set(
        arrivals()
          .filter(isNotice)
          .map(({ channel }) => channel),
      );
      // Alarms that should not be are an end, too: one is enough.
      const isDone = (isWhole && notices.size === channels) || arrivals().some(isFalse);
      return isDone && toldOf(arrivals(), crowd.afterwards).size === crowd.afterwards.length;
    },
    { withinMs: ROUND_MS_MAX, pollMs: 500 },
  );
}

function isNotice(arrival: Arrival): boolean {
  return arrival.what === "notice" && checksNamed(arrival) > 0;
}

export async function judgeStopped(
  stage: Stage,
  { crowd, arrivals }: { crowd: StoppedCrowd; arrivals: readonly Arrival[] },
): Promise<Figures> {
  const due = [...crowd.silent, ...crowd.late];
  const { timesByCheck } = await readNoticed(stage, due);
  const told = toldOf(arrivals, crowd.afterwards);
  const notices = new Map(arrivals.filter(isNotice).map((one) => [one.key, one]));
  const named = [...notices.values()].reduce((sum, one) => sum + checksNamed(one), 0);
  return {
    checks: due.length,
    false_alarms: await countFalse(stage, { arrivals, crowd: due }),
    notices: notices.size,
    unnoticed: crowd.silent.filter(({ checkId }) => timesByCheck.get(checkId) !== 1).length,
    // Checks that sent their signal when they could, and are named in a notice all the same.
    noticed_late: crowd.late.filter(({ checkId }) => timesByCheck.has(checkId)).length,
    misnamed: Math.abs(crowd.silent.length - named),
    owed: crowd.afterwards.length,
    lost: crowd.afterwards.length - told.size,
    duplicated: countDuplicated(arrivals),
  };
}

function complaintsOf(
  found: Figures,
  { order, channels }: { order: readonly Role[]; channels: number },
): string[] {
  const wrong: Record<string, string> = {
    false_alarms: "checks were alarmed about for our absence",
    unnoticed: "silent checks are not in exactly one notice",
    noticed_late: "checks that sent their signal late are in a notice",
    misnamed: "is the difference between silent checks and those that the notices speak of",
    lost: "checks that fell silent later were alarmed about to nobody",
    duplicated: "messages were sent under two keys",
  };
  const complaints = Object.entries(wrong)
    .filter(([name]) => (found[name] ?? 0) > 0)
    .map(([name, text]) => `${found[name]} ${text}`);
  if (found["notices"] !== channels) complaints.push(`${found["notices"]} notices to ${channels} channels`);
  return complaints.map((text) => `${text} (order ${order.join(", ")})`);
}

/** The next round begins with a clean table; what is left of this one would be told then. */
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
