// Processes that are stopped across deadlines: the sweeper between reading the watermark and firing, the sweeper with
// checks locked, one of two receiving processes with signals in its sockets, and the database. Every deadline fires
// once and at its own time, changes in between count, and our stopping causes no alert.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pauseCheck } from "../../../src/operations/checks.ts";
import { AlertReceiver } from "../alerts/alert-receiver.ts";
import {
  countDuplicated,
  countFalse,
  readFlips,
  readNoticed,
  notificationsOf,
} from "../alerts/alert-verdict.ts";
import { addWatchedChecks, expectBetween, type WatchedCheck } from "../alerts/watched-checks.ts";
import {
  makeBoth,
  makeNotifier,
  makeSweeper,
  signalAll,
  signalUntilTaken,
  untilConfirmed,
} from "../alerts/alert-processes.ts";
import { conclude } from "../conclusion.ts";
import { bySize, type Figures, type Run, type Scenario } from "../scenario.ts";
import { databaseNow } from "../stage/intake-rows.ts";
import { untilSettled } from "../stage/passing-time.ts";
import type { PingProcess } from "../stage/ping-process.ts";
import { onStage, type Stage } from "../stage/stage.ts";
import { demand, until } from "../waiting.ts";
import { standStillDatabase } from "./stopped.ts";

export type StillPlan = {
  checks: number;
  channels: number;
  stillMs: number;
  spreadMs: number;
  /** One process sweeps and sends, so both are stopped together. */
  isTogether?: true;
};

const PLANS: Record<Run["size"], StillPlan> = {
  full: { checks: 3_000, channels: 20, stillMs: 20_000, spreadMs: 6_000 },
  quick: { checks: 600, channels: 10, stillMs: 10_000, spreadMs: 4_000 },
  tiny: { checks: 120, channels: 4, stillMs: 8_000, spreadMs: 3_000 },
};

/**
 * The statements in which the sweeper reads due checks, and plans deliveries with the checks locked. See the names in
 * src/store/.
 */
const BEFORE_FIRING = "sweeping.find_due";
const WHILE_LOCKED = "planning.flips";
const STOP_POINT = new URL("../stage/stop-point.ts", import.meta.url);

/** Deadlines begin this long after they were stored. */
const AHEAD_MS = 3_000;
const GRACE_SECONDS = 10;
/** Checks that are paused in between; their deadlines are this much later than those of the others. */
const PAUSED_PART = 10;
const PAUSED_AFTER_MS = 1_000;
const NOTIFIED_MS_MAX = 120_000;
const STOPPED_MS_MAX = 30_000;
const UNSEEN = { watermarkAt: null, blind: [] };

export const sweeperStill: Scenario = {
  name: "sweeper-still",
  about: "SIGSTOP across deadlines: of the sweeper before it fires and while it locks, and of a receiver",
  run: async (run) => {
    const plan = bySize(run, PLANS);
    const receiver = await AlertReceiver.start();
    try {
      return await onStage(run, { checks: 0 }, async (stage) => {
        const all = await startStill(stage, { plan, receiver });
        const parts = [
          await stopBeforeFiring(all),
          await stopWhileLocked(all),
          await stopOneThatReceives(all),
          await stopDatabase(all),
        ];
        const figures = addUp(parts);
        return conclude(stage, {
          figures,
          complaints: complaintsOf(figures),
          mayRefuse: () => true,
          mayBeSlow: true,
        });
      });
    } finally {
      await receiver.stop();
    }
  },
};

export type Still = {
  stage: Stage;
  plan: StillPlan;
  receiver: AlertReceiver;
  one: PingProcess;
  two: PingProcess;
  sweeper: PingProcess;
  /** Not started yet. */
  secondSweeper: PingProcess;
  stopFile: string;
};

/** Two receiving processes, a sweeper and a notifier, with fresh heartbeats. */
export async function startStill(
  stage: Stage,
  { plan, receiver }: { plan: StillPlan; receiver: AlertReceiver },
): Promise<Still> {
  const stopFile = join(stage.folder, "stop-before");
  const one = await stage.receiver({ name: "one" });
  const two = await stage.receiver({ name: "two" });
  const make = plan.isTogether ? makeBoth : makeSweeper;
  const sweeper = await make(stage, {
    name: "sweeper",
    preloads: [`${STOP_POINT.href}?file=${encodeURIComponent(stopFile)}`],
  });
  const secondSweeper = await makeSweeper(stage, { name: "second-sweeper" });
  const notifier = plan.isTogether ? null : await makeNotifier(stage, { name: "notifier" });
  await Promise.all([one.start(), two.start(), sweeper.startInner(), notifier?.startInner()]);
  await untilSettled(stage, { atOnce: stage.run.size !== "full" });
  return { stage, plan, receiver, one, two, sweeper, secondSweeper, stopFile };
}

/** Adds checks whose deadlines pass soon, one after the other. */
async function addDueSoon({
  stage,
  plan,
  receiver,
}: Still): Promise<{ watched: WatchedCheck[]; deadlines: number[] }> {
  const { checks: count, channels } = plan;
  const watched = await addWatchedChecks(stage, { receiver, count, channels, graceSeconds: GRACE_SECONDS });
  const from = (await stage.withClient(databaseNow)) + AHEAD_MS;
  const within = { from, to: from + plan.spreadMs, graceSeconds: GRACE_SECONDS };
  return { watched, deadlines: await expectBetween(stage, watched, within) };
}

/** The sweeper is stopped right before a statement, while deadlines pass. */
async function stopSweeperBefore(
  { stage, plan, sweeper, stopFile }: Still,
  { statement, from }: { statement: string; from: number },
): Promise<number> {
  await sleep(Math.max(0, from + plan.spreadMs / 2 - (await stage.withClient(databaseNow))));
  writeFileSync(stopFile, statement);
  await demand(() => isStopped(sweeper.pid), {
    withinMs: STOPPED_MS_MAX,
    what: `the sweeper is stopped before ${statement}`,
  });
  return stage.withClient(databaseNow);
}

function isStopped(pid: number): boolean {
  return / T /.test(readFileSync(`/proc/${pid}/stat`, "utf8").replace(/^.*\)/, ""));
}

/** In the meantime some checks are paused, some are pinged, and the pings of others are missing. */
export async function stopBeforeFiring(all: Still): Promise<Figures> {
  const { stage, plan, sweeper, one } = all;
  const { watched, deadlines } = await addDueSoon(all);
  const lastAt = deadlines.at(-1) ?? 0;
  const paused = watched.slice(0, Math.floor(watched.length / PAUSED_PART));
  await expectBetween(stage, paused, {
    from: lastAt + PAUSED_AFTER_MS,
    to: lastAt + PAUSED_AFTER_MS,
    graceSeconds: GRACE_SECONDS,
  });
  const from = deadlines[0] ?? 0;
  const stoppedAt = await stopSweeperBefore(all, { statement: BEFORE_FIRING, from });
  stage.run.say(`the sweeper is stopped before it fires for ${plan.stillMs / 1_000} s`);
  await pauseAll(stage, paused);
  await untilConfirmed(stage, lastAt);
  const pinged = watched.slice(paused.length).filter((_, index) => index % 3 === 1);
  await signalUntilTaken(stage, pinged, { port: one.port });
  await sleep(Math.max(0, stoppedAt + plan.stillMs - (await stage.withClient(databaseNow))));
  sweeper.thaw();
  return judgeOnce(all, { watched, deadlines, pinged, paused });
}

async function pauseAll(stage: Stage, members: readonly WatchedCheck[]): Promise<void> {
  const { rows } = await stage.withClient((client) =>
    client.query<{ uuid: string; project_id: string }>(
      "select uuid, project_id from checks where uuid = any ($1::uuid[])",
      [members.map(({ uuid }) => uuid)],
    ),
  );
  const at = await stage.withClient(databaseNow);
  for (const { uuid, project_id } of rows) {
    const command = { projectId: Number(project_id), uuid, at, accountId: null, visibility: UNSEEN };
    await pauseCheck(stage.database, command);
  }
}

/** The database ends the locking session, another sweeper continues, and signals are accepted all the time. */
async function stopWhileLocked(all: Still): Promise<Figures> {
  const { stage, plan, sweeper, secondSweeper, one } = all;
  const { watched, deadlines } = await addDueSoon(all);
  const stoppedAt = await stopSweeperBefore(all, { statement: WHILE_LOCKED, from: deadlines[0] ?? 0 });
  stage.run.say(`the sweeper is stopped while it locks checks for ${plan.stillMs / 1_000} s`);
  await secondSweeper.startInner();
  const lastAt = deadlines.at(-1) ?? 0;
  await untilConfirmed(stage, lastAt);
  const pinged = watched.filter((_, index) => index % 3 === 1);
  const entries = await signalAll(stage, pinged, { port: one.port });
  const refused = entries.filter(({ status }) => status !== 200).length;
  await sleep(Math.max(0, stoppedAt + plan.stillMs - (await stage.withClient(databaseNow))));
  sweeper.thaw();
  return { ...(await judgeOnce(all, { watched, deadlines, pinged, paused: [] })), refused_by_locks: refused };
}

type Once = { watched: WatchedCheck[]; deadlines: number[]; pinged: WatchedCheck[]; paused: WatchedCheck[] };

/** All but the paused checks went down once, at the deadline, and those that were pinged came up once. */
async function judgeOnce(
  { stage, receiver }: Still,
  { watched, deadlines, pinged, paused }: Once,
): Promise<Figures> {
  const isPaused = new Set(paused);
  const isPinged = new Set(pinged);
  const owed = watched.filter((member) => !isPaused.has(member));
  const isNotified = (member: WatchedCheck, notified: ReturnType<typeof notificationsOf>) =>
    (notified.get(member.uuid) ?? []).some(({ what }) => what === (isPinged.has(member) ? "up" : "down"));
  const missing = () => {
    const notified = notificationsOf(receiver.arrivals, watched);
    return owed.filter((member) => !isNotified(member, notified)).length;
  };
  await until(() => missing() === 0, { withinMs: NOTIFIED_MS_MAX, pollMs: 250 });
  const flips = Map.groupBy(await readFlips(stage, watched), ({ checkId }) => checkId);
  const wrong = watched.filter((member, index) => {
    const [down, up, ...more] = flips.get(member.checkId) ?? [];
    if (isPaused.has(member)) return down !== undefined;
    const isDown = down?.to === "down" && down.at === deadlines[index];
    return !isDown || (up?.to === "up") !== isPinged.has(member) || more.length > 0;
  });
  return {
    owed: owed.length,
    lost: missing(),
    paused: paused.length,
    wrong_flips: wrong.length,
    false_alarms: await countFalse(stage, { arrivals: receiver.arrivals, watched: paused }),
    duplicated: countDuplicated(receiver.arrivals),
  };
}

/** Signals that were sent in time are in the sockets of a stopped process. */
export async function stopOneThatReceives(all: Still): Promise<Figures> {
  const { stage, plan, receiver, one, two } = all;
  const { checks: count, channels, stillMs } = plan;
  const watched = await addWatchedChecks(stage, { receiver, count, channels, graceSeconds: GRACE_SECONDS });
  const inSockets = watched.filter((_, index) => index % 2 === 0);
  stage.run.say(`one of two receivers is stopped for ${stillMs / 1_000} s, with signals in its sockets`);
  one.freeze();
  const from = await stage.withClient(databaseNow);
  await expectBetween(stage, watched, {
    from: from + 2_000,
    to: from + stillMs - 2_000,
    graceSeconds: GRACE_SECONDS,
  });
  const waiting = Promise.all(
    inSockets.map((member) => stage.ledger.send(stage.ledger.maker.make(member, { kind: "s" }), one.port)),
  );
  // The other one may have missed a heartbeat on a busy machine.
  await untilSettled(stage, { atOnce: stage.run.size !== "full" });
  await sleep(Math.max(0, from + stillMs - (await stage.withClient(databaseNow))));
  one.thaw();
  const entries = await waiting;
  // A signal past its time limit is rejected, and its sender retries.
  const again = inSockets.filter((_, index) => entries[index]?.status !== 200);
  await signalUntilTaken(stage, again, { port: two.port });
  const silent = watched.filter((_, index) => index % 2 === 1);
  const isFalse = () => notificationsOf(receiver.arrivals, watched).size > 0;
  await until(
    async () => isFalse() || (await readNoticed(stage, silent)).timesByCheck.size === silent.length,
    { withinMs: NOTIFIED_MS_MAX, pollMs: 250 },
  );
  const { timesByCheck } = await readNoticed(stage, watched);
  return {
    false_alarms: await countFalse(stage, { arrivals: receiver.arrivals, watched }),
    in_sockets: inSockets.length,
    unnoticed: silent.filter(({ checkId }) => timesByCheck.get(checkId) !== 1).length,
  };
}

/** Receiving continues without the database: accepted signals count, and checks without a ping go down. */
async function stopDatabase(all: Still): Promise<Figures> {
  const { stage, plan, receiver, two } = all;
  const { checks: count, channels, stillMs } = plan;
  const watched = await addWatchedChecks(stage, { receiver, count, channels, graceSeconds: GRACE_SECONDS });
  const spooled = watched.filter((_, index) => index % 2 === 0);
  const silent = watched.filter((_, index) => index % 2 === 1);
  // Both must know a check while the database is down.
  await signalUntilTaken(stage, spooled, { port: two.port });
  const now = await stage.withClient(databaseNow);
  const within = { from: now + stillMs / 2, to: now + stillMs, graceSeconds: GRACE_SECONDS };
  await expectBetween(stage, spooled, within);
  const deadlines = await expectBetween(stage, silent, within);
  const [, entries] = await Promise.all([
    standStillDatabase(stage, { stillMs }),
    sleep(500).then(() => signalAll(stage, spooled, { port: two.port })),
  ]);
  const again = spooled.filter((_, index) => entries[index]?.status !== 200);
  await untilSettled(stage, { atOnce: stage.run.size !== "full" });
  const found = await judgeOnce(all, { watched: silent, deadlines, pinged: [], paused: [] });
  const falseAlarms = await countFalse(stage, { arrivals: receiver.arrivals, watched: spooled });
  return { ...found, false_alarms: falseAlarms, refused_by_spool: again.length };
}

function addUp(parts: readonly Figures[]): Figures {
  const sums: Figures = {};
  for (const part of parts) {
    for (const [name, value] of Object.entries(part)) sums[name] = (sums[name] ?? 0) + value;
  }
  // The receiver counts over all parts.
  return { ...sums, duplicated: Math.max(...parts.map(({ duplicated = 0 }) => duplicated)) };
}

function complaintsOf(figures: Figures): string[] {
  const wrong: Record<string, string> = {
    lost: "checks without a ping raised no alert",
    wrong_flips: "checks do not have exactly one flip per event, at its own time",
    false_alarms: "checks raised an alert although they were paused, or because of our downtime",
    duplicated: "messages were sent again with a new key",
    unnoticed: "checks that could not be monitored are not in one notice",
    refused_by_locks: "signals were rejected because a sweeper had locked their checks",
    refused_by_spool: "signals were rejected because the database was stopped",
  };
  return Object.entries(wrong)
    .filter(([name]) => (figures[name] ?? 0) > 0)
    .map(([name, text]) => `${figures[name]} ${text}`);
}
