// The link to the database breaks around a COMMIT: before it arrives, after it has been applied, or so that it
// arrives after the timeout. In every case, each signal is recorded once.
import { setTimeout as sleep } from "node:timers/promises";
import { chanceFrom } from "../chance.ts";
import { conclude } from "../conclusion.ts";
import { bySize, type Result, type Run, type Scenario } from "../scenario.ts";
import { COMMIT_FAULTS, type CommitFault, type DatabaseProxy } from "../stage/proxy.ts";
import type { PingProcess } from "../stage/ping-process.ts";
import { onStage, type Stage } from "../stage/stage.ts";
import { warmUp } from "../stage/warm-up.ts";
import { WatermarkWatch } from "../stage/watermark-watch.ts";
import { until } from "../waiting.ts";

type Plan = {
  rounds: number;
  perSecond: number;
  checks: number;
  /** The longest pause between two faults. */
  pauseMsMax: number;
  /** How long the whole link is down, broken and then unresponsive. */
  awayMs: number;
};

const PLANS: Record<Run["size"], Plan> = {
  full: { rounds: 10, perSecond: 200, checks: 600, pauseMsMax: 2_000, awayMs: 2_500 },
  quick: { rounds: 2, perSecond: 150, checks: 450, pauseMsMax: 2_000, awayMs: 2_500 },
  tiny: { rounds: 1, perSecond: 100, checks: 200, pauseMsMax: 500, awayMs: 1_500 },
};

/** Many batches are committed per second, so this is long. */
const STRIKE_MS_MAX = 30_000;
const DIRECT_MS_MAX = 30_000;
/** Less than the second after which a process uses its spool. */
const SILENCE_MS = 500;

export const linkCut: Scenario = {
  name: "link-cut",
  about:
    "the link to the database cut around COMMIT: applied, not applied, applied late; kill -9 while it is unresponsive",
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
      await sleep(chance.between(100, plan.pauseMsMax));
      if (await strike(proxy, fault)) cuts += 1;
      else
        complaints.push(`no COMMIT of a batch was intercepted within ${STRIKE_MS_MAX / 1_000} s (${fault})`);
    }
    for (const begin of [() => proxy.cut(), () => proxy.silence()]) {
      begin();
      await sleep(plan.awayMs);
      proxy.heal();
      await sleep(chance.between(100, plan.pauseMsMax));
    }
    // Spooled signals are replayed sooner if fewer follow.
    load.pace(plan.perSecond / 5);
    await until(async () => !(await receiver.isSpooling()), { withinMs: DIRECT_MS_MAX });
    load.pace(plan.perSecond);
    await killInSilence({ proxy, receiver });
    const { acknowledged, refused } = load.counts();
    run.say(`round ${round} of ${plan.rounds}: ${acknowledged} acknowledged, ${refused} rejected`);
  }
  await load.stop();
  return conclude(stage, { figures: { cuts, rounds: plan.rounds }, complaints, watch });
}

/**
 * The database does not respond, and the process is killed before it notices. A signal acknowledged at that time
 * would be lost.
 */
async function killInSilence(at: { proxy: DatabaseProxy; receiver: PingProcess }): Promise<void> {
  const { proxy, receiver } = at;
  proxy.silence();
  await sleep(SILENCE_MS);
  await receiver.kill();
  proxy.heal();
  await receiver.start();
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
