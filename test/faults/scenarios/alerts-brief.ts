// Short versions of the alert scenarios, for the check of every change. Intentional waits of the program are skipped
// by changing times in the database; every step waits for its precondition, so that results do not depend on timing.
import type { AlertReceiver } from "../alerts/alert-receiver.ts";
import { countDuplicated, countRepeated, deliveryStates, notificationsOf } from "../alerts/alert-verdict.ts";
import { addWatchedChecks, expectBetween } from "../alerts/watched-checks.ts";
import { makeBoth } from "../alerts/alert-processes.ts";
import type { Figures } from "../scenario.ts";
import { databaseNow } from "../stage/intake-rows.ts";
import { letTimePass, skipLeases, untilSettled } from "../stage/passing-time.ts";
import type { Stage } from "../stage/stage.ts";
import { demand } from "../waiting.ts";
import {
  expectWithin,
  gatherStopped,
  judgeStopped,
  makeProcesses,
  resumeJobs,
  untilAllNotified,
} from "./all-stopped.ts";
import { playDiskLost } from "./disk-lost.ts";
import { startStill, stopBeforeFiring, stopOneThatReceives } from "./sweeper-still.ts";

/** A time limit. */
const STEP_MS_MAX = 180_000;
const OWED = 24;
const CHANNELS = 2;
const GRACE_SECONDS = 2;
const OUTAGE_MS = 600_000;

/** The receiver accepts none of the messages in flight when their sender dies: they have to be sent again. */
export function playUntakenBriefly(stage: Stage, receiver: AlertReceiver): Promise<Figures> {
  return playOwed(stage, { receiver, manners: ["deaf"] });
}

/** They are accepted, but their sender dies before it gets the response: they are sent again with the same key. */
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
  const watched = await addWatchedChecks(stage, {
    receiver,
    count: OWED,
    channels: CHANNELS,
    graceSeconds: GRACE_SECONDS,
  });
  receiver.behave(manners[0] ?? "well");
  await Promise.all([intake.start(), both.startInner()]);
  const from = await stage.withClient(databaseNow);
  await expectBetween(stage, watched, { from, to: from + 100, graceSeconds: GRACE_SECONDS });
  await untilSettled(stage, { atOnce: true });
  const wait = (what: string, holds: () => boolean | Promise<boolean>) =>
    demand(holds, { withinMs: STEP_MS_MAX, what });
  for (const [index] of manners.entries()) {
    await wait("messages are in flight", () => receiver.waitingCount > CHANNELS);
    await both.kill();
    // Otherwise the receiver would accept messages before it has noticed that their sender died.
    await wait("the receiver has seen its connections close", () => receiver.waitingCount === 0);
    receiver.behave(manners[index + 1] ?? "well");
    await skipLeases(stage);
    await both.startInner();
  }
  await wait("everything is settled", async () => {
    const states = await deliveryStates(stage);
    return !("pending" in states) && sum(states) === OWED;
  });
  const notified = notificationsOf(receiver.arrivals, watched);
  return {
    owed: OWED,
    delivered: notified.size,
    lost: OWED - notified.size,
    duplicated: countDuplicated(receiver.arrivals),
    repeated: countRepeated(receiver.arrivals),
  };
}

function sum(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((total, count) => total + count, 0);
}

/** Everything but the database is killed, ten minutes pass, and the sweeper returns first. */
export async function playStoppedBriefly(stage: Stage, receiver: AlertReceiver): Promise<Figures> {
  const processes = await makeProcesses(stage);
  const { intake, sweeper, notifier } = processes;
  const watched = await gatherStopped(stage, {
    receiver,
    checks: 20,
    afterwards: 4,
    channels: CHANNELS,
    graceSeconds: GRACE_SECONDS,
  });
  await intake.start();
  await untilSettled(stage, { atOnce: true });
  await expectWithin(stage, { watched, outageMs: OUTAGE_MS, graceSeconds: GRACE_SECONDS });
  await intake.kill();
  await letTimePass(stage, OUTAGE_MS);
  await sweeper.startInner();
  await Promise.all([notifier.startInner(), intake.start()]);
  await resumeJobs(stage, { processes, watched, graceSeconds: GRACE_SECONDS });
  await untilSettled(stage, { atOnce: true });
  await untilAllNotified(stage, { watched, arrivals: () => receiver.arrivals, channels: CHANNELS });
  return judgeStopped(stage, { watched, arrivals: receiver.arrivals });
}

/** One of two receiving processes is destroyed with its disk. */
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

/** The sweeper is stopped before it fires. */
export async function playSweeperBriefly(stage: Stage, receiver: AlertReceiver): Promise<Figures> {
  return stopBeforeFiring(await startStill(stage, { plan: STILL_PLAN, receiver }));
}

/** One of two receiving processes is stopped. */
export async function playReceivingBriefly(stage: Stage, receiver: AlertReceiver): Promise<Figures> {
  return stopOneThatReceives(await startStill(stage, { plan: STILL_PLAN, receiver }));
}
