// The faults around alerts in brief, for the check of every change. Minutes that the program waits for on purpose are
// skipped in what the database remembers; every step waits for what it needs, so that chance decides nothing.
import type { AlertReceiver } from "../alerts/alert-receiver.ts";
import { countDuplicated, countRepeated, deliveryStates, toldOf } from "../alerts/alert-verdict.ts";
import { addCrowd, expectBetween } from "../alerts/crowd.ts";
import { makeBoth } from "../alerts/house.ts";
import type { Figures } from "../scenario.ts";
import { databaseNow } from "../stage/intake-rows.ts";
import { letTimePass, skipLeases, untilSettled } from "../stage/passing-time.ts";
import type { Stage } from "../stage/stage.ts";
import { demand } from "../waiting.ts";
import {
  expectWithin,
  gatherStopped,
  judgeStopped,
  makeHouse,
  resumeJobs,
  untilAllTold,
} from "./all-stopped.ts";
import { playDiskLost } from "./disk-lost.ts";
import { startStill, stopBeforeFiring, stopOneThatReceives } from "./sweeper-still.ts";

/** A bound for what hangs. */
const STEP_MS_MAX = 180_000;
const OWED = 24;
const CHANNELS = 2;
const GRACE_SECONDS = 2;
const OUTAGE_MS = 600_000;

/** Nobody takes the messages that are under way when their sender dies: they have to be sent again. */
export function playUntakenBriefly(stage: Stage, receiver: AlertReceiver): Promise<Figures> {
  return playOwed(stage, { receiver, manners: ["deaf"] });
}

/** They are taken, but their sender dies before it hears so: they are sent again, and can be told apart. */
export function playUnansweredBriefly(stage: Stage, receiver: AlertReceiver): Promise<Figures> {
  return playOwed(stage, { receiver, manners: ["mute"] });
}

/** Both, one after the other. */
export function playOwedBriefly(stage: Stage, receiver: AlertReceiver): Promise<Figures> {
  return playOwed(stage, { receiver, manners: ["deaf", "mute"] });
}

type OwedPlay = { receiver: AlertReceiver; manners: readonly ("deaf" | "mute")[] };

async function playOwed(stage: Stage, { receiver, manners }: OwedPlay): Promise<Figures> {
  const intake = await stage.receiver({ name: "intake", spool: null });
  const both = await makeBoth(stage, { name: "sweeper-and-notifier" });
  const crowd = await addCrowd(stage, {
    receiver,
    count: OWED,
    channels: CHANNELS,
    graceSeconds: GRACE_SECONDS,
  });
  receiver.behave(manners[0] ?? "well");
  await Promise.all([intake.start(), both.startInner()]);
  const from = await stage.withClient(databaseNow);
  await expectBetween(stage, crowd, { from, to: from + 100, graceSeconds: GRACE_SECONDS });
  await untilSettled(stage, { atOnce: true });
  const wait = (what: string, holds: () => boolean | Promise<boolean>) =>
    demand(holds, { withinMs: STEP_MS_MAX, what });
  for (const [index] of manners.entries()) {
    await wait("messages are under way", () => receiver.waitingCount > CHANNELS);
    await both.kill();
    // Otherwise the receiver would take messages whose sender it does not yet know to be dead.
    await wait("the receiver has seen its connections close", () => receiver.waitingCount === 0);
    receiver.behave(manners[index + 1] ?? "well");
    await skipLeases(stage);
    await both.startInner();
  }
  await wait("everything is settled", async () => {
    const states = await deliveryStates(stage);
    return !("pending" in states) && sum(states) === OWED;
  });
  const told = toldOf(receiver.arrivals, crowd);
  return {
    owed: OWED,
    delivered: told.size,
    lost: OWED - told.size,
    duplicated: countDuplicated(receiver.arrivals),
    repeated: countRepeated(receiver.arrivals),
  };
}

function sum(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((total, count) => total + count, 0);
}

/** Everything but the database is killed, ten minutes pass, and the sweeper is the first to return. */
export async function playStoppedBriefly(stage: Stage, receiver: AlertReceiver): Promise<Figures> {
  const house = await makeHouse(stage);
  const { intake, sweeper, notifier } = house;
  const crowd = await gatherStopped(stage, {
    receiver,
    checks: 20,
    afterwards: 4,
    channels: CHANNELS,
    graceSeconds: GRACE_SECONDS,
  });
  await intake.start();
  await untilSettled(stage, { atOnce: true });
  await expectWithin(stage, { crowd, outageMs: OUTAGE_MS, graceSeconds: GRACE_SECONDS });
  await intake.kill();
  await letTimePass(stage, OUTAGE_MS);
  await sweeper.startInner();
  await Promise.all([notifier.startInner(), intake.start()]);
  await resumeJobs(stage, { house, crowd, graceSeconds: GRACE_SECONDS });
  await untilSettled(stage, { atOnce: true });
  await untilAllTold(stage, { crowd, arrivals: () => receiver.arrivals, channels: CHANNELS });
  return judgeStopped(stage, { crowd, arrivals: receiver.arrivals });
}

/** One of two that receive is destroyed with its disk. */
export async function playDiskBriefly(stage: Stage, receiver: AlertReceiver): Promise<Figures> {
  const plan = { held: 6, afterwards: 4, channels: CHANNELS, leaseMs: 10_000, comesBack: false };
  return (await playDiskLost(stage, { plan, receiver })).figures;
}

const STILL_PLAN = {
  checks: 30,
  channels: CHANNELS,
  stillMs: 6_000,
  spreadMs: 2_000,
  isTogether: true,
} as const;

/** The sweeper stands still before it fires. */
export async function playSweeperBriefly(stage: Stage, receiver: AlertReceiver): Promise<Figures> {
  return stopBeforeFiring(await startStill(stage, { plan: STILL_PLAN, receiver }));
}

/** One of two that receive stands still. */
export async function playReceivingBriefly(stage: Stage, receiver: AlertReceiver): Promise<Figures> {
  return stopOneThatReceives(await startStill(stage, { plan: STILL_PLAN, receiver }));
}
