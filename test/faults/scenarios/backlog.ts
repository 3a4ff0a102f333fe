// A large backlog are replayed while new signals arrive at full rate: none is rejected, the backlog shrinks, and once
// it is gone signals are recorded directly and stay so.
import { setTimeout as sleep } from "node:timers/promises";
import { conclude } from "../conclusion.ts";
import { bySize, type Result, type Run, type Scenario } from "../scenario.ts";
import type { Target } from "../signals/outgoing.ts";
import { databaseNow, readIntakes } from "../stage/intake-rows.ts";
import { type Left, leaveOrphan } from "../stage/orphan.ts";
import type { PingProcess } from "../stage/ping-process.ts";
import { onStage, type Stage } from "../stage/stage.ts";
import { warmUp } from "../stage/warm-up.ts";
import { WatermarkWatch } from "../stage/watermark-watch.ts";
import { until } from "../waiting.ts";

type Plan = { signals: number; perSecond: number; checks: number; drainMsMax: number };

const PLANS: Record<Run["size"], Plan> = {
  full: { signals: 500_000, perSecond: 2_000, checks: 1_000, drainMsMax: 1_200_000 },
  quick: { signals: 50_000, perSecond: 1_000, checks: 500, drainMsMax: 300_000 },
  tiny: { signals: 5_000, perSecond: 200, checks: 200, drainMsMax: 60_000 },
};

/** Time in which the backlog was received. */
const RECEIVED_MS = 1_800_000;
/** One in four of its signals has a body. */
const BODY = Buffer.from("backed up 1,234 files in 56 s\n".repeat(4));
/** No signal may go through the spool for this long. */
const DIRECT_MS = 10_000;
const LOOK_EVERY_MS = 500;
/** Enough for the rate if every response takes two seconds. */
const IN_FLIGHT_MAX = 4_000;
/** How much of the load may be missing before the run is invalid. */
const LEFT_OUT_SHARE_MAX = 0.05;

export const backlog: Scenario = {
  name: "backlog",
  about:
    "half a million signals to replay while 2,000 a second arrive: nothing is rejected, and the spool is not used again",
  run: (run) => {
    const plan = bySize(run, PLANS);
    const signals = run.backlogSignals ?? plan.signals;
    return onStage(run, { checks: plan.checks }, (stage) => play(stage, { ...plan, signals }));
  },
};

async function play(stage: Stage, plan: Plan): Promise<Result> {
  const { run } = stage;
  const receiver = await stage.receiver({ name: "one" });
  await receiver.start();
  await warmUp(stage, [receiver]);
  await receiver.terminate();
  const now = await stage.withClient(databaseNow);
  const orphan = await leaveOrphan(stage, {
    folder: stage.subfolder("spool"),
    left: backlogOf(stage.targets, { count: plan.signals, now }),
  });
  run.say(`${plan.signals} signals are left in the spool`);
  // Not monitored during the replay: counting half a million rows four times a second would dominate the load.
  await receiver.start();
  const load = stage.ledger.startLoad({
    targets: stage.targets,
    ports: [receiver.port],
    perSecond: plan.perSecond,
    inFlightMax: IN_FLIGHT_MAX,
  });
  const beganMs = performance.now();
  const isReplayed = await untilReplayed(stage, { orphan, plan, say: run.say });
  const replayMs = performance.now() - beganMs;
  const complaints = isReplayed ? [] : [`the backlog was not replayed within ${plan.drainMsMax / 1_000} s`];
  const direct = await until(async () => !(await receiver.isSpooling()), { withinMs: plan.drainMsMax });
  if (!direct) complaints.push("signals still go through the spool");
  const watch = new WatermarkWatch(stage);
  const fallBacks = direct ? await countFallBacks(receiver) : 0;
  if (fallBacks > 0) complaints.push("signals went through the spool again after the backlog was gone");
  const counts = await load.stop();
  const seconds = (performance.now() - beganMs) / 1_000;
  const due = counts.sent + counts.leftOut;
  if (counts.leftOut > due * LEFT_OUT_SHARE_MAX) {
    complaints.push(`${counts.leftOut} of ${due} signals could not be sent at this rate`);
  }
  const figures = {
    backlog: plan.signals,
    replayed_per_second: Math.round(plan.signals / (replayMs / 1_000)),
    replay_seconds: Math.round(replayMs / 1_000),
    arrived_per_second: Math.round(counts.acknowledged / seconds),
    left_out: counts.leftOut,
    fall_backs: fallBacks,
  };
  return conclude(stage, { figures, complaints, watch });
}

function* backlogOf(
  targets: readonly Target[],
  { count, now }: { count: number; now: number },
): Generator<Left> {
  for (let index = 0; index < count; index += 1) {
    const target = targets[index % targets.length];
    if (target === undefined) return;
    const { checkId, uuid } = target;
    const at = now - RECEIVED_MS + Math.floor((index / count) * (RECEIVED_MS - 1_000));
    yield { marker: `left-${index}`, checkId, uuid, at, body: index % 4 === 0 ? BODY : null };
  }
}

/** The intake that died is closed together with its last batch. */
async function untilReplayed(
  stage: Stage,
  { orphan, plan, say }: { orphan: string; plan: Plan; say: Run["say"] },
): Promise<boolean> {
  const deadline = performance.now() + plan.drainMsMax;
  let loggedMs = performance.now();
  while (performance.now() < deadline) {
    const row = (await stage.withClient(readIntakes)).find(({ id }) => id === orphan);
    if (row === undefined || row.closedAt !== null) return true;
    if (performance.now() - loggedMs > 10_000) {
      loggedMs = performance.now();
      say(`${row.batches} batches of ${Math.ceil(plan.signals / 500)} are replayed`);
    }
    await sleep(LOOK_EVERY_MS);
  }
  return false;
}

/** How often the process was found spooling again. */
async function countFallBacks(receiver: PingProcess): Promise<number> {
  const deadline = performance.now() + DIRECT_MS;
  let found = 0;
  while (performance.now() < deadline) {
    if (await receiver.isSpooling()) found += 1;
    await sleep(LOOK_EVERY_MS / 5);
  }
  return found;
}
