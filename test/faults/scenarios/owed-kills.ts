// Thousands of alerts are owed at once while sweepers and notifiers are killed again and again, and some receivers are
// slow, fail, or hang up. Everybody is told in the end, soon after the last kill, in order, and by one message each.
import { setTimeout as sleep } from "node:timers/promises";
import { AlertReceiver, type Manner } from "../alerts/alert-receiver.ts";
import {
  countDuplicated,
  countFalse,
  countOutOfOrder,
  countRepeated,
  deliveryStates,
  readFlips,
  toldOf,
} from "../alerts/alert-verdict.ts";
import { addCrowd, expectBetween, type Member } from "../alerts/crowd.ts";
import { makeNotifier, makeSweeper, signalUntilTaken } from "../alerts/house.ts";
import { chanceFrom } from "../chance.ts";
import { conclude } from "../conclusion.ts";
import { bySize, type Figures, type Result, type Run, type Scenario } from "../scenario.ts";
import { databaseNow } from "../stage/intake-rows.ts";
import { untilSettled } from "../stage/passing-time.ts";
import type { PingProcess } from "../stage/ping-process.ts";
import { onStage, type Stage } from "../stage/stage.ts";
import { demand, until } from "../waiting.ts";

type Plan = {
  /** Checks that go down by silence, and channels that hear of them. */
  owed: number;
  channels: number;
  /** Over how long they do. */
  spreadMs: number;
  kills: number;
  killPauseMs: readonly [number, number];
  /** So many of their first messages are failed, or hung up on, by the receivers that do. */
  failures: number;
};

const PLANS = {
  full: {
    owed: 10_000,
    channels: 100,
    spreadMs: 30_000,
    kills: 24,
    killPauseMs: [500, 5_000],
    failures: 20,
  },
  quick: { owed: 2_000, channels: 40, spreadMs: 10_000, kills: 8, killPauseMs: [500, 3_000], failures: 10 },
  tiny: { owed: 300, channels: 20, spreadMs: 3_000, kills: 4, killPauseMs: [500, 2_000], failures: 3 },
} as const satisfies Record<Run["size"], Plan>;

const GRACE_SECONDS = 60;
/** Deadlines begin so long after they were written down. */
const AHEAD_MS = 8_000;
/** A part of the checks sends a signal in time, and another part comes up again while all this goes on. */
const IN_TIME_PART = 50;
const RECOVER_PART = 10;
const SLOW_MS = 400;
/** What is promised: the last is told so long after the last kill. */
const LAST_S_MAX = 120;
/** After that it is waited for, so that what is only late is told apart from what is lost. */
const WAIT_MS_MAX = 300_000;

export const owedKills: Scenario = {
  name: "owed-kills",
  about:
    "kill -9 of sweepers and notifiers again and again while alerts are owed; slow and failing receivers",
  run: async (run) => {
    const plan = bySize<Plan>(run, PLANS);
    const receiver = await AlertReceiver.start();
    try {
      return await onStage(run, { checks: 0 }, (stage) => play(stage, { plan, receiver }));
    } finally {
      await receiver.stop();
    }
  },
};

type Play = { plan: Plan; receiver: AlertReceiver };
type Cast = { intake: PingProcess; sweepers: PingProcess[]; notifiers: PingProcess[] };
type Crowd = { silent: Member[]; inTime: Member[]; recovering: Member[] };

async function play(stage: Stage, { plan, receiver }: Play): Promise<Result> {
  const cast = await start(stage);
  const crowd = await gather(stage, { plan, receiver });
  await untilSettled(stage, { atOnce: stage.run.size !== "full" });
  receiver.behave("deaf");
  const now = await stage.withClient(databaseNow);
  const ends = { from: now + AHEAD_MS, to: now + AHEAD_MS + plan.spreadMs, graceSeconds: GRACE_SECONDS };
  const deadlines = await expectBetween(stage, crowd.silent, ends);
  await expectBetween(stage, crowd.inTime, ends);
  await signalUntilTaken(stage, crowd.inTime, { port: cast.intake.port });
  await sleep(Math.max(0, ends.from - (await stage.withClient(databaseNow))));
  await killWithFirst(stage, { cast, receiver });
  misbehave(receiver, { crowd, failures: plan.failures });
  const [lastKill] = await Promise.all([
    killAgainAndAgain(stage, { plan, cast, receiver }),
    recover(stage, { cast, crowd, after: ends.to }),
  ]);
  stage.run.say(`the last kill; ${receiver.arrivals.length} messages had been taken by then`);
  await until(() => isAllSettled(stage, crowd), { withinMs: WAIT_MS_MAX, pollMs: 500 });
  return judge(stage, { receiver, crowd, deadlines, lastKill, kills: plan.kills + 2 });
}

async function start(stage: Stage): Promise<Cast> {
  const intake = await stage.receiver({ name: "intake" });
  const sweepers = [
    await makeSweeper(stage, { name: "sweeper1" }),
    await makeSweeper(stage, { name: "sweeper2" }),
  ];
  const notifiers = [
    await makeNotifier(stage, { name: "notifier1" }),
    await makeNotifier(stage, { name: "notifier2" }),
  ];
  await intake.start();
  await Promise.all([...sweepers, ...notifiers].map((one) => one.startInner()));
  return { intake, sweepers, notifiers };
}

async function gather(stage: Stage, { plan, receiver }: Play): Promise<Crowd> {
  const inTimeCount = Math.ceil(plan.owed / IN_TIME_PART);
  const all = await addCrowd(stage, {
    receiver,
    count: plan.owed + inTimeCount,
    channels: plan.channels,
    graceSeconds: GRACE_SECONDS,
  });
  const silent = all.slice(0, plan.owed);
  // Of every channel some: the channels take turns, and the parts are cut by tens.
  const recovering = silent.filter((_, index) => Math.floor(index / plan.channels) % RECOVER_PART === 0);
  return { silent, inTime: all.slice(plan.owed), recovering };
}

/** Nobody takes the first messages, so that all who send are killed with some under way. */
async function killWithFirst(
  stage: Stage,
  { cast, receiver }: { cast: Cast; receiver: AlertReceiver },
): Promise<void> {
  await demand(() => receiver.waitingCount > 0, {
    withinMs: WAIT_MS_MAX,
    what: "the first messages are sent",
  });
  stage.run.say(`kill 1, of everybody; ${receiver.waitingCount} messages were under way`);
  await killAll([...cast.sweepers, ...cast.notifiers]);
}

async function killAll(victims: readonly PingProcess[]): Promise<number> {
  await Promise.all(victims.map((one) => one.kill()));
  const at = Date.now();
  for (const one of victims) one.launch();
  return at;
}

/** Of ten receivers one is slow, one fails at first, and one takes the first messages and hangs up. */
function misbehave(receiver: AlertReceiver, { crowd, failures }: { crowd: Crowd; failures: number }): void {
  const names = [...new Set(crowd.silent.map(({ channel }) => channel))];
  const kinds = new Map(names.map((name, index) => [name, index % 10]));
  const counts = new Map<string, number>();
  receiver.behave((channel): Manner => {
    const kind = kinds.get(channel);
    const count = (counts.get(channel) ?? 0) + 1;
    counts.set(channel, count);
    if (kind === 0) return { slowMs: SLOW_MS };
    if (count > failures) return "well";
    if (kind === 1) return { failsWith: 503 };
    return kind === 2 ? "hangs up" : "well";
  });
}

/** Returns when the last one happened, which takes everybody with it. */
async function killAgainAndAgain(
  stage: Stage,
  { plan, cast, receiver }: Play & { cast: Cast },
): Promise<number> {
  const chance = chanceFrom(stage.run.seed + 1);
  const victims = [...cast.sweepers, ...cast.notifiers];
  for (let kill = 2; kill <= plan.kills + 1; kill += 1) {
    await sleep(chance.between(...plan.killPauseMs));
    const victim = chance.pick(victims);
    await victim.kill();
    victim.launch();
    if (kill % 8 === 0) stage.run.say(`kill ${kill}; ${receiver.arrivals.length} messages have been taken`);
  }
  // One more, of everybody: whatever is claimed at this moment has nobody left.
  return killAll(victims);
}

/** As soon as all of them are down, some come up again. */
async function recover(
  stage: Stage,
  { cast, crowd, after }: { cast: Cast; crowd: Crowd; after: number },
): Promise<void> {
  const { recovering } = crowd;
  await until(
    async () => {
      const now = await stage.withClient(databaseNow);
      const flips = now < after ? [] : await readFlips(stage, recovering);
      return flips.filter(({ to }) => to === "down").length >= recovering.length;
    },
    { withinMs: WAIT_MS_MAX, pollMs: 500 },
  );
  await signalUntilTaken(stage, recovering, { port: cast.intake.port });
}

/** Whatever was to be written down as owed is, and nobody will send anything any more. */
async function isAllSettled(stage: Stage, { silent, recovering }: Crowd): Promise<boolean> {
  const states = await deliveryStates(stage);
  const count = Object.values(states).reduce((sum, one) => sum + one, 0);
  return count >= silent.length + recovering.length && !("pending" in states);
}

type Played = {
  receiver: AlertReceiver;
  crowd: Crowd;
  deadlines: readonly number[];
  lastKill: number;
  kills: number;
};

async function judge(stage: Stage, played: Played): Promise<Result> {
  const { receiver, crowd, lastKill, kills } = played;
  const { arrivals } = receiver;
  const told = toldOf(arrivals, crowd.silent);
  const counted = countDelivered(crowd, told);
  const firstAt = new Map<string, number>();
  for (const { key, at } of arrivals) if (!firstAt.has(key)) firstAt.set(key, at);
  const lastS = Math.max(0, Math.max(...firstAt.values()) - lastKill) / 1_000;
  const figures: Figures = {
    ...counted,
    duplicated: countDuplicated(arrivals),
    repeated: countRepeated(arrivals),
    out_of_order: countOutOfOrder(told),
    false_alarms: await countFalse(stage, { arrivals, crowd: crowd.inTime }),
    kills,
    last_s: Math.round(lastS * 10) / 10,
  };
  const complaints = [
    ...complaintsOf(figures),
    ...(await wrongFlips(stage, played)),
    ...unsettled(await deliveryStates(stage)),
  ];
  return conclude(stage, { figures, complaints });
}

/** A message that a check is up again tells of both, where nobody had been told that it was down. */
function countDelivered(
  { silent, recovering }: Crowd,
  told: ReturnType<typeof toldOf>,
): { owed: number; delivered: number; lost: number; merged: number } {
  const has = ({ uuid }: Member, what: "down" | "up") =>
    (told.get(uuid) ?? []).some((one) => one.what === what);
  const up = new Set(recovering);
  let delivered = 0;
  let merged = 0;
  for (const member of silent) {
    const isUp = up.has(member) && has(member, "up");
    const isDown = has(member, "down");
    if (isUp && !isDown) merged += 1;
    delivered += Number(isUp) + Number(isDown || isUp);
  }
  const owed = silent.length + recovering.length;
  return { owed, delivered, lost: owed - delivered, merged };
}

function complaintsOf(figures: Figures): string[] {
  const { lost = 0, duplicated = 0, out_of_order = 0, false_alarms = 0, last_s = 0 } = figures;
  const complaints: string[] = [];
  if (lost > 0) complaints.push(`${lost} alerts that were owed were told to nobody`);
  if (duplicated > 0) complaints.push(`${duplicated} messages say under a new key what had been said`);
  if (out_of_order > 0) complaints.push(`of ${out_of_order} checks the older news came last`);
  if (false_alarms > 0) complaints.push(`${false_alarms} checks that were heard of in time are down`);
  if (last_s > LAST_S_MAX) complaints.push(`the last alert was told ${last_s} s after the last kill`);
  return complaints;
}

/** Every silent check went down once, at its deadline, and those that came up again did so once. */
async function wrongFlips(stage: Stage, { crowd, deadlines }: Played): Promise<string[]> {
  const flips = Map.groupBy(await readFlips(stage, crowd.silent), ({ checkId }) => checkId);
  const up = new Set(crowd.recovering);
  const wrong = crowd.silent.filter((member, index) => {
    const [down, back, ...more] = flips.get(member.checkId) ?? [];
    const isDown = down?.to === "down" && down.at === deadlines[index];
    return !isDown || (back?.to === "up") !== up.has(member) || more.length > 0;
  });
  return wrong.length === 0
    ? []
    : [`the flips of ${wrong.length} checks are not those that they should have`];
}

function unsettled(states: Readonly<Record<string, number>>): string[] {
  const { sent: _sent, merged: _merged, ...others } = states;
  return Object.keys(others).length === 0 ? [] : [`deliveries have ended as ${JSON.stringify(others)}`];
}
