// The link to the database breaks around a COMMIT: before it arrives, after it has been applied, or so that it
// arrives when nobody waits for it any more. Whatever the process believes, each signal is there once.
import { setTimeout as sleep } from "node:timers/promises";
import { chanceFrom } from "../chance.ts";
import { conclude } from "../conclusion.ts";
import { bySize, type Result, type Run, type Scenario } from "../scenario.ts";
import { COMMIT_FAULTS, type CommitFault, type DatabaseProxy } from "../stage/proxy.ts";
import { onStage, type Stage } from "../stage/stage.ts";
import { warmUp } from "../stage/warm-up.ts";
import { WatermarkWatch } from "../stage/watermark-watch.ts";

type Plan = { rounds: number; perSecond: number; checks: number };

const PLANS: Record<Run["size"], Plan> = {
  full: { rounds: 10, perSecond: 200, checks: 600 },
  quick: { rounds: 2, perSecond: 150, checks: 450 },
  tiny: { rounds: 1, perSecond: 100, checks: 300 },
};

/** A batch is committed many times a second, so this is long. */
const STRIKE_MS_MAX = 30_000;
/** How long the whole link is away, once per round and kind. */
const AWAY_MS = 2_500;

export const linkCut: Scenario = {
  name: "link-cut",
  about: "the link to the database cut around COMMIT: applied, not applied, applied late; broken or silent",
  run: (run) => {
    const plan = bySize(run, PLANS);
    return onStage(run, { checks: plan.checks }, (stage) => play(stage, plan));
  },
};

async function play(stage: Stage, plan: Plan): Promise<Result> {
  const { run } = stage;
  const chance = chanceFrom(run.seed + 1);
  const proxy = await stage.proxy();
  const receiver = await stage.receiver({ name: "one", databaseUrl: proxy.urlFor(stage.url) });
  await receiver.start();
  await warmUp(stage, [receiver]);
  const watch = new WatermarkWatch(stage);
  const load = stage.ledger.startLoad({
    targets: stage.targets,
    ports: [receiver.port],
    perSecond: plan.perSecond,
  });
  const complaints: string[] = [];
  let cuts = 0;
  for (let round = 1; round <= plan.rounds; round += 1) {
    for (const fault of COMMIT_FAULTS) {
      await sleep(chance.between(100, 2_000));
      if (await strike(proxy, fault)) cuts += 1;
      else complaints.push(`no COMMIT of a batch came by within ${STRIKE_MS_MAX / 1_000} s (${fault})`);
    }
    for (const begin of [() => proxy.cut(), () => proxy.silence()]) {
      begin();
      await sleep(AWAY_MS);
      proxy.heal();
      await sleep(chance.between(100, 2_000));
    }
    const { acknowledged, refused } = load.counts();
    run.say(`round ${round} of ${plan.rounds}: ${acknowledged} acknowledged, ${refused} refused`);
  }
  await load.stop();
  return conclude(stage, { figures: { cuts, rounds: plan.rounds }, complaints, watch });
}

async function strike(proxy: DatabaseProxy, fault: CommitFault): Promise<boolean> {
  const abort = new AbortController();
  const isStruck = await Promise.race([
    proxy.strike(fault).then(() => true),
    sleep(STRIKE_MS_MAX, false, { signal: abort.signal }).catch(() => false),
  ]);
  abort.abort();
  return isStruck;
}
