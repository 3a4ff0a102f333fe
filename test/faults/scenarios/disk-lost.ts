// A process that receives is destroyed with its disk, and on the disk what only it had: its time counts as blind, so
// nobody is alarmed, the operator is told, and alerts go on without it. Then again, but its disk comes back: the alarms
// that its absence caused are taken back.
import { rmSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { AlertReceiver, type Arrival } from "../alerts/alert-receiver.ts";
import { countFalse, readFlips, readNoticed, toldOf } from "../alerts/alert-verdict.ts";
import { addChannel, addCrowd, expectBetween, type Member } from "../alerts/crowd.ts";
import { makeBoth, signalAll, signalUntilTaken } from "../alerts/house.ts";
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
  /** Checks whose signals lie on the disk, as many that are silent, and those that fall silent afterwards. */
  held: number;
  afterwards: number;
  channels: number;
  /** After this a process without a sign of life is given up; ten minutes unless it is set. */
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
const OPERATOR = "operator";

export const diskLost: Scenario = {
  name: "disk-lost",
  about: "one of two that receive destroyed with its disk; and one that is given up and comes back",
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

/** Both parts on a stage of their own; what does not hold is told, and nothing is judged of the signals. */
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
  const operatorChannel = await addChannel(stage, { receiver, name: OPERATOR });
  const both = await makeBoth(stage, {
    name: "sweeper-and-notifier",
    environment: { OVERDUE_ADMIN_CHANNEL: operatorChannel },
  });
  await Promise.all([doomed.start(), other.start(), both.startInner()]);
  return { doomed, other, proxy };
}

type Part = Play & { all: Cast };

async function destroy(stage: Stage, { plan, receiver, all }: Part): Promise<Found> {
  const { held: count, channels, leaseMs } = plan;
  const crowd = await addCrowd(stage, {
    receiver,
    count: 2 * count + plan.afterwards,
    channels,
    graceSeconds: GRACE_SECONDS,
  });
  const held = crowd.slice(0, count);
  const silent = crowd.slice(count, 2 * count);
  const afterwards = crowd.slice(2 * count);
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
  stage.run.say(`${forgiven.size} signals were promised by a process that is destroyed now, with its disk`);
  rmSync(stage.subfolder("disk"), { recursive: true, force: true });
  await untilLost(stage, { cutAt, leaseMs });
  await expectSoon(stage, afterwards);
  const due = [...held, ...silent];
  await until(() => isAllTold(stage, { receiver, due, afterwards, channels }), {
    withinMs: STEP_MS_MAX,
    pollMs: 500,
  });
  const { arrivals } = receiver;
  const noticed = await readNoticed(stage, due);
  const figures: Figures = {
    on_the_disk: forgiven.size,
    false_alarms: await countFalse(stage, { arrivals, crowd: due }),
    notices: noticed.notices,
    unnoticed: due.filter(({ checkId }) => noticed.timesByCheck.get(checkId) !== 1).length,
    owed: afterwards.length,
    lost: afterwards.length - toldOf(arrivals, afterwards).size,
    operator_told: arrivals.filter(isAboutLoss).length,
  };
  return { figures, complaints: complaintsOf(figures, plan), forgiven };
}

type CutOff = { all: Cast; signalling: readonly Member[]; expect: (now: number) => Promise<void> };

/** Cuts the process off from its database, lets it promise what it cannot record, and kills it. */
async function cutOff(
  stage: Stage,
  { all, signalling, expect }: CutOff,
): Promise<{ forgiven: Set<string>; cutAt: number }> {
  const cutAt = await stage.withClient(databaseNow);
  await expect(cutAt);
  all.proxy.cut();
  const entries = await signalAll(stage, signalling, { port: all.doomed.port });
  const refused = entries.filter((entry) => !isAcknowledged(entry)).length;
  if (refused > 0) throw new Error(`${refused} of ${entries.length} signals were refused by a spool`);
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

/** Silence from now on, with nothing that could excuse it. */
async function expectSoon(stage: Stage, crowd: readonly Member[]): Promise<void> {
  const deadlineAt = (await stage.withClient(databaseNow)) + 1_000 + GRACE_SECONDS * 1_000;
  await expectBetween(stage, crowd, { from: deadlineAt, to: deadlineAt, graceSeconds: GRACE_SECONDS });
}

type Telling = {
  receiver: AlertReceiver;
  due: readonly Member[];
  afterwards: readonly Member[];
  channels: number;
};

async function isAllTold(stage: Stage, { receiver, due, afterwards, channels }: Telling): Promise<boolean> {
  const { arrivals } = receiver;
  const isDone = arrivals.some(isAboutLoss) && toldOf(arrivals, afterwards).size === afterwards.length;
  // Alarms that should not be are an end, too.
  if (toldOf(arrivals, due).size > 0) return isDone;
  const { timesByCheck } = await readNoticed(stage, due);
  if (timesByCheck.size < due.length) return false;
  if (stage.run.size !== "full") await skipFolding(stage);
  const told = new Set(arrivals.filter(({ what }) => what === "notice").map(({ channel }) => channel));
  told.delete(OPERATOR);
  return isDone && told.size === channels;
}

function isAboutLoss({ channel, body }: Arrival): boolean {
  return channel === OPERATOR && body.includes("considered lost");
}

function complaintsOf(found: Figures, { channels }: DiskPlan): string[] {
  const complaints: string[] = [];
  const { false_alarms = 0, unnoticed = 0, notices = 0, lost = 0, operator_told = 0 } = found;
  if (false_alarms > 0) complaints.push(`${false_alarms} checks were alarmed about for the loss of a disk`);
  if (unnoticed > 0) complaints.push(`${unnoticed} checks that could not be watched are not in one notice`);
  if (notices !== channels) complaints.push(`${notices} notices to ${channels} channels`);
  if (lost > 0) complaints.push(`${lost} checks fell silent after the loss, and nobody was told`);
  if (operator_told === 0) complaints.push("the operator was not told of the loss");
  return complaints;
}

/** Signals that came early lie on the disk; what they had put off goes off while the disk is away. */
async function comeBack(
  stage: Stage,
  { plan, receiver, all }: Part,
): Promise<{ figures: Figures; complaints: string[] }> {
  const { held: count, channels, leaseMs } = plan;
  const crowd = await addCrowd(stage, { receiver, count, channels, graceSeconds: GRACE_SECONDS });
  all.proxy.heal();
  await all.doomed.start();
  await signalUntilTaken(stage, crowd, { port: all.doomed.port });
  // Well after it has been given up, so that nothing is blind then.
  const afterMs = leaseMs + 8_000 + GRACE_SECONDS * 1_000;
  const { cutAt } = await cutOff(stage, {
    all,
    signalling: crowd,
    expect: async (now) => {
      await expectBetween(stage, crowd, {
        from: now + afterMs,
        to: now + afterMs,
        graceSeconds: GRACE_SECONDS,
      });
    },
  });
  await untilLost(stage, { cutAt, leaseMs });
  const isTold = (what: Arrival["what"]) => () =>
    [...toldOf(receiver.arrivals, crowd).values()].filter((told) => told.some((one) => one.what === what))
      .length === count;
  await until(isTold("down"), { withinMs: STEP_MS_MAX, pollMs: 500 });
  stage.run.say("the disk comes back");
  await sleep(1_000);
  all.proxy.heal();
  await all.doomed.start();
  await until(isTold("up"), { withinMs: STEP_MS_MAX, pollMs: 500 });
  const flips = await readFlips(stage, crowd);
  const told = toldOf(receiver.arrivals, crowd);
  const figures: Figures = {
    alarmed: [...told.values()].filter((of) => of.some(({ what }) => what === "down")).length,
    taken_back: flips.filter(({ to, isTakenBack }) => to === "down" && isTakenBack).length,
    corrected: [...told.values()].filter((of) => of.at(-1)?.what === "up").length,
  };
  const complaints = Object.entries(figures)
    .filter(([, value]) => value !== count)
    .map(
      ([name, value]) => `of ${count} checks whose disk came back ${value} were ${name.replace("_", " ")}`,
    );
  return { figures, complaints };
}
