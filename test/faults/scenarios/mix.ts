// The long mix: two processes under load, killed repeatedly at random times, and a database that crashes and stays
// down for a while. In the end every acknowledged signal must be recorded once.
import { setTimeout as sleep } from "node:timers/promises";
import { type Chance, chanceFrom } from "../chance.ts";
import { conclude } from "../conclusion.ts";
import { bySize, type Result, type Run, type Scenario } from "../scenario.ts";
import type { Load } from "../signals/load.ts";
import type { PingProcess } from "../stage/ping-process.ts";
import { onStage, type Stage } from "../stage/stage.ts";
import { warmUp } from "../stage/warm-up.ts";
import { WatermarkWatch } from "../stage/watermark-watch.ts";

type Plan = {
  kills: number;
  outages: number;
  /** How long the database stays down, minimum and maximum. */
  outageMs: readonly [number, number];
  /** Pauses between two kills, and between two outages. */
  killPauseMs: readonly [number, number];
  outagePauseMs: readonly [number, number];
  perSecond: number;
  checks: number;
};

const PLANS = {
  full: {
    kills: 50,
    outages: 10,
    outageMs: [1_000, 30_000],
    killPauseMs: [200, 9_000],
    outagePauseMs: [2_000, 12_000],
    perSecond: 300,
    checks: 900,
  },
  quick: {
    kills: 10,
    outages: 3,
    outageMs: [1_000, 5_000],
    killPauseMs: [200, 3_000],
    outagePauseMs: [1_000, 4_000],
    perSecond: 200,
    checks: 600,
  },
  tiny: {
    kills: 3,
    outages: 1,
    outageMs: [1_000, 2_000],
    killPauseMs: [200, 1_500],
    outagePauseMs: [1_000, 2_000],
    perSecond: 100,
    checks: 200,
  },
} as const satisfies Record<Run["size"], Plan>;

export const mix: Scenario = {
  name: "mix",
  about: "load on two processes, kill -9 at random moments, and crashes of the database",
  run: (run) => {
    const plan: Plan = bySize<Plan>(run, PLANS);
    return onStage(run, { checks: plan.checks }, (stage) => play(stage, plan));
  },
};

async function play(stage: Stage, plan: Plan): Promise<Result> {
  const { run } = stage;
  const processes = [await stage.receiver({ name: "one" }), await stage.receiver({ name: "two" })];
  await Promise.all(processes.map((one) => one.start()));
  await warmUp(stage, processes);
  const watch = new WatermarkWatch(stage);
  const ports = processes.map(({ port }) => port);
  const load = stage.ledger.startLoad({ targets: stage.targets, ports, perSecond: plan.perSecond });
  const telling = setInterval(() => run.say(describeLoad(load)), 10_000);
  const { seed } = run;
  const [awayMs] = await Promise.all([
    stopDatabase(stage, plan, chanceFrom(seed + 1)),
    killProcesses(processes, plan, { chance: chanceFrom(seed + 2), say: run.say }),
  ]);
  await sleep(1_000);
  clearInterval(telling);
  const counts = await load.stop();
  run.say(describeLoad(load));
  const figures = {
    kills: plan.kills,
    outages: plan.outages,
    outage_seconds: Math.round(awayMs / 1_000),
    sent: counts.sent,
    left_out: counts.leftOut,
  };
  return conclude(stage, { figures, watch });
}

function describeLoad(load: Load): string {
  const { sent, acknowledged, refused, unanswered, leftOut, slowestMs } = load.counts();
  return (
    `${sent} sent, ${acknowledged} acknowledged, ${refused} refused, ${unanswered} unanswered, ` +
    `${leftOut} skipped, slowest response ${slowestMs} ms`
  );
}

/** Returns how long the database was down in total. */
async function stopDatabase(stage: Stage, plan: Plan, chance: Chance): Promise<number> {
  let awayMs = 0;
  for (let outage = 1; outage <= plan.outages; outage += 1) {
    await sleep(chance.between(...plan.outagePauseMs));
    const lastsMs = chance.between(...plan.outageMs);
    stage.run.say(`outage ${outage} of ${plan.outages}: the database is down for ${lastsMs} ms`);
    await stage.postgres.crash();
    await sleep(lastsMs);
    await stage.postgres.resume();
    awayMs += lastsMs;
  }
  return awayMs;
}

async function killProcesses(
  processes: readonly PingProcess[],
  plan: Plan,
  { chance, say }: { chance: Chance; say: Run["say"] },
): Promise<void> {
  for (let kill = 1; kill <= plan.kills; kill += 1) {
    await sleep(chance.between(...plan.killPauseMs));
    const victim = chance.pick(processes);
    // A process that is still starting is killed as well, which happens in practice, too.
    await victim.kill();
    victim.launch();
    if (kill % 10 === 0 || kill === plan.kills) say(`kill ${kill} of ${plan.kills}`);
  }
  for (const one of processes) await one.listening();
}
