// Thousands of alerts are due at once while sweepers and notifiers are killed repeatedly, and some receivers are
// slow, fail, or disconnect. All notifications are delivered soon after the last kill, in order, and one message
// each.
import { setTimeout as sleep } from "node:timers/promises";
import { AlertReceiver, type Manner } from "../alerts/alert-receiver.ts";
import {
  countDuplicated,
  countFalse,
  countOutOfOrder,
  countRepeated,
  deliveryStates,
  readFlips,
  notificationsOf,
} from "../alerts/alert-verdict.ts";
import { addWatchedChecks, expectBetween, type WatchedCheck } from "../alerts/watched-checks.ts";
import { makeNotifier, makeSweeper, signalUntilTaken } from "../alerts/alert-processes.ts";
import { chanceFrom } from "../chance.ts";
import { conclude } from "../conclusion.ts";
import { bySize, type Figures, type Result, type Run, type Scenario } from "../scenario.ts";
import { databaseNow } from "../stage/intake-rows.ts";
import { untilSettled } from "../stage/passing-time.ts";
import type { PingProcess } from "../stage/ping-process.ts";
import { onStage, type Stage } from "../stage/stage.ts";
import { demand, until } from "../waiting.ts";

type Plan = {
  /** Checks that go down because of missing pings, and their channels. */
  owed: number;
  channels: number;
  /** Time over which they do. */
  spreadMs: number;
  kills: number;
  killPauseMs: readonly [number, number];
  /** This many of their first messages fail, or are disconnected, at the receivers that do so. */
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
/** Deadlines begin this long after they were stored. */
const AHEAD_MS = 8_000;
/** Some of the checks send a signal in time, and others come up again during the test. */
const IN_TIME_PART = 50;
const RECOVER_PART = 10;
const SLOW_MS = 400;
/** The guarantee: the last notification arrives this long after the last kill. */
const LAST_S_MAX = 120;
/** The test waits longer, to distinguish late from lost notifications. */
const WAIT_MS_MAX = 300_000;

export const owedKills: Scenario = {
  name: "owed-kills",
  about: "repeated kill -9 of sweepers and notifiers while alerts are pending; slow and failing receivers",
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
type WatchedGroups = { silent: WatchedCheck[]; inTime: WatchedCheck[]; recovering: WatchedCheck[] };

async function play(stage: Stage, { plan, receiver }: Play): Promise<Result> {
  const cast = await start(stage);
  const watched = await gather(stage, { plan, receiver });
  await untilSettled(stage, { atOnce: stage.run.size !== "full" });
  receiver.behave("deaf");
  const now = await stage.withClient(databaseNow);
  const ends = { from: now + AHEAD_MS, to: now + AHEAD_MS + plan.spreadMs, graceSeconds: GRACE_SECONDS };
  const deadlines = await expectBetween(stage, watched.silent, ends);
  await expectBetween(stage, watched.inTime, ends);
  await signalUntilTaken(stage, watched.inTime, { port: cast.intake.port });
  await sleep(Math.max(0, ends.from - (await stage.withClient(databaseNow))));
  await killWithFirst(stage, { cast, receiver });
  misbehave(receiver, { watched, failures: plan.failures });
  const [lastKill] = await Promise.all([
    killAgainAndAgain(stage, { plan, cast, receiver }),
    recover(stage, { cast, watched, after: ends.to }),
  ]);
  stage.run.say(`the last kill; ${receiver.arrivals.length} messages had been accepted by then`);
  await until(() => isAllSettled(stage, watched), { withinMs: WAIT_MS_MAX, pollMs: 500 });
  return judge(stage, { receiver, watched, deadlines, lastKill, kills: plan.kills + 2 });
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

async function gather(stage: Stage, { plan, receiver }: Play): Promise<WatchedGroups> {
  const inTimeCount = Math.ceil(plan.owed / IN_TIME_PART);
  const all = await addWatchedChecks(stage, {
    receiver,
    count: plan.owed + inTimeCount,
    channels: plan.channels,
    graceSeconds: GRACE_SECONDS,
  });
  const silent = all.slice(0, plan.owed);
  // Some checks of every channel: channels alternate, and the groups are cut by tens.
  const recovering = silent.filter((_, index) => Math.floor(index / plan.channels) % RECOVER_PART === 0);
  return { silent, inTime: all.slice(plan.owed), recovering };
}

/** The first messages are not accepted, so that all senders are killed with messages in flight. */
async function killWithFirst(
  stage: Stage,
  { cast, receiver }: { cast: Cast; receiver: AlertReceiver },
): Promise<void> {
  await demand(() => receiver.waitingCount > 0, {
    withinMs: WAIT_MS_MAX,
    what: "the first messages are sent",
  });
  stage.run.say(`kill 1, of all processes; ${receiver.waitingCount} messages were in flight`);
  await killAll([...cast.sweepers, ...cast.notifiers]);
}

async function killAll(victims: readonly PingProcess[]): Promise<number> {
  await Promise.all(victims.map((one) => one.kill()));
  const at = Date.now();
  for (const one of victims) one.launch();
  return at;
}

/** Of ten receivers one is slow, one fails at first, and one accepts the first messages and disconnects. */
function misbehave(
  receiver: AlertReceiver,
  { watched, failures }: { watched: WatchedGroups; failures: number },
): void {
  const names = [...new Set(watched.silent.map(({ channel }) => channel))];
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

/** Returns the time of the last kill, which affects all processes. */
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
    if (kill % 8 === 0)
      stage.run.say(`kill ${kill}; ${receiver.arrivals.length} messages have been accepted`);
  }
  // One more kill of all processes: claimed messages have no sender any more.
  return killAll(victims);
}

/** As soon as all of them are down, some come up again. */
async function recover(
  stage: Stage,
  { cast, watched, after }: { cast: Cast; watched: WatchedGroups; after: number },
): Promise<void> {
  const { recovering } = watched;
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

/** All deliveries have been written, and none is pending. */
async function isAllSettled(stage: Stage, { silent, recovering }: WatchedGroups): Promise<boolean> {
  const states = await deliveryStates(stage);
  const count = Object.values(states).reduce((sum, one) => sum + one, 0);
  return count >= silent.length + recovering.length && !("pending" in states);
}

type Played = {
  receiver: AlertReceiver;
  watched: WatchedGroups;
  deadlines: readonly number[];
  lastKill: number;
  kills: number;
};

async function judge(stage: Stage, played: Played): Promise<Result> {
  const { receiver, watched, lastKill, kills } = played;
  const { arrivals } = receiver;
  const notified = notificationsOf(arrivals, watched.silent);
  const counted = countDelivered(watched, notified);
  const firstAt = new Map<string, number>();
  for (const { key, at } of arrivals) if (!firstAt.has(key)) firstAt.set(key, at);
  const lastS = Math.max(0, Math.max(...firstAt.values()) - lastKill) / 1_000;
  const figures: Figures = {
    ...counted,
    duplicated: countDuplicated(arrivals),
    repeated: countRepeated(arrivals),
    out_of_order: countOutOfOrder(notified),
    false_alarms: await countFalse(stage, { arrivals, watched: watched.inTime }),
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

/** A message that a check is up again covers both changes if no down message was accepted. */
function countDelivered(
  { silent, recovering }: WatchedGroups,
  notified: ReturnType<typeof notificationsOf>,
): { owed: number; delivered: number; lost: number; merged: number } {
  const has = ({ uuid }: WatchedCheck, what: "down" | "up") =>
    (notified.get(uuid) ?? []).some((one) => one.what === what);
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
  if (lost > 0) complaints.push(`${lost} expected alerts were not sent`);
  if (duplicated > 0) complaints.push(`${duplicated} messages were sent again with a new key`);
  if (out_of_order > 0) complaints.push(`${out_of_order} checks got messages out of order`);
  if (false_alarms > 0) complaints.push(`${false_alarms} checks that were pinged in time are down`);
  if (last_s > LAST_S_MAX) complaints.push(`the last alert was sent ${last_s} s after the last kill`);
  return complaints;
}

/** Every check without a ping went down once, at its deadline, and those that came up again did so once. */
async function wrongFlips(stage: Stage, { watched, deadlines }: Played): Promise<string[]> {
  const flips = Map.groupBy(await readFlips(stage, watched.silent), ({ checkId }) => checkId);
  const up = new Set(watched.recovering);
  const wrong = watched.silent.filter((member, index) => {
    const [down, back, ...more] = flips.get(member.checkId) ?? [];
    const isDown = down?.to === "down" && down.at === deadlines[index];
    return !isDown || (back?.to === "up") !== up.has(member) || more.length > 0;
  });
  return wrong.length === 0 ? [] : [`the flips of ${wrong.length} checks are not as expected`];
}

function unsettled(states: Readonly<Record<string, number>>): string[] {
  const { sent: _sent, merged: _merged, ...others } = states;
  return Object.keys(others).length === 0 ? [] : [`deliveries have ended as ${JSON.stringify(others)}`];
}
