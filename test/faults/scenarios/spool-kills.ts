// SIGKILL at critical times: while the spool commits, while it is replayed, and between the database's commit and the
// removal from the spool. Also a graceful stop, and starts, while the database is down.
import { setTimeout as sleep } from "node:timers/promises";
import { type Chance, chanceFrom } from "../chance.ts";
import { conclude } from "../conclusion.ts";
import { bySize, type Result, type Run, type Scenario } from "../scenario.ts";
import type { PingProcess } from "../stage/ping-process.ts";
import type { DatabaseProxy } from "../stage/proxy.ts";
import { onStage, type Stage } from "../stage/stage.ts";
import { warmUp } from "../stage/warm-up.ts";
import { WatermarkWatch } from "../stage/watermark-watch.ts";
import { until } from "../waiting.ts";

type Plan = { kills: number; perSecond: number; checks: number };

const PLANS: Record<Run["size"], Plan> = {
  full: { kills: 10, perSecond: 200, checks: 600 },
  quick: { kills: 3, perSecond: 150, checks: 450 },
  tiny: { kills: 1, perSecond: 100, checks: 300 },
};

const START_MS_MAX = 60_000;
/** Time limit for the start of a process that cannot reach its database. */
const AWAY_START_MS_MAX = 20_000;
const COMMIT_MS_MAX = 30_000;

export const spoolKills: Scenario = {
  name: "spool-kills",
  about:
    "kill -9 during a spool commit, a replay, and between commit and removal; stop and start without the database",
  run: (run) => {
    const plan = bySize(run, PLANS);
    return onStage(run, { checks: plan.checks }, (stage) => play(stage, plan));
  },
};

type Play = {
  stage: Stage;
  plan: Plan;
  proxy: DatabaseProxy;
  receiver: PingProcess;
  chance: Chance;
  complaints: string[];
};

async function play(stage: Stage, plan: Plan): Promise<Result> {
  const proxy = await stage.proxy();
  const receiver = await stage.receiver({ name: "one", databaseUrl: proxy.urlFor(stage.url) });
  await receiver.start();
  await warmUp(stage, [receiver]);
  const watch = new WatermarkWatch(stage);
  const chance = chanceFrom(stage.run.seed + 1);
  const all: Play = { stage, plan, proxy, receiver, chance, complaints: [] };
  const load = stage.ledger.startLoad({
    targets: stage.targets,
    ports: [receiver.port],
    perSecond: plan.perSecond,
  });
  await killWhileSpooling(all);
  const stopSeconds = await stopWhileAway(all);
  await killWhileReplaying(all);
  await killAfterCommit(all);
  await load.stop();
  const figures = { kills: plan.kills * 3, stop_seconds: stopSeconds };
  return conclude(stage, { figures, complaints: all.complaints, watch, mayRefuse: () => true });
}

/** Every start after a kill is one without the database after a crash. */
async function killWhileSpooling({ stage, plan, receiver, chance, complaints }: Play): Promise<void> {
  await stage.postgres.crash();
  for (let kill = 1; kill <= plan.kills; kill += 1) {
    await sleep(chance.between(300, 1_500));
    await receiver.kill();
    if (!(await comesBack(receiver))) {
      complaints.push("killed while the database was down, it did not start until the database did");
      return;
    }
  }
  stage.run.say(`${plan.kills} kills while spooling`);
  complaints.push(...(await askWhileAway(stage, { receiver, after: "a crash" })));
}

/** Whether the process accepts connections again although its database is down. */
async function comesBack(receiver: PingProcess): Promise<boolean> {
  receiver.launch();
  return receiver.listening(AWAY_START_MS_MAX).then(
    () => true,
    () => false,
  );
}

/** A graceful stop cannot empty the spool; the next start finds it. */
async function stopWhileAway({ stage, receiver, complaints }: Play): Promise<number> {
  if (!receiver.isRunning) return 0;
  const beganMs = performance.now();
  const code = await receiver.terminate();
  const seconds = Math.round((performance.now() - beganMs) / 100) / 10;
  stage.run.say(`stopped gracefully after ${seconds} s with exit code ${code}`);
  if (code === null) complaints.push("stopping while the database was down, it had to be killed");
  if (await comesBack(receiver)) {
    complaints.push(...(await askWhileAway(stage, { receiver, after: "a graceful stop" })));
  } else complaints.push("stopped while the database was down, it did not start until the database did");
  return seconds;
}

async function killWhileReplaying({ stage, plan, receiver, chance }: Play): Promise<void> {
  await stage.postgres.resume();
  for (let kill = 1; kill <= plan.kills; kill += 1) {
    await sleep(chance.between(50, 800));
    await receiver.kill();
    receiver.launch();
    await receiver.listening(START_MS_MAX);
  }
  stage.run.say(`${plan.kills} kills while replaying`);
}

/** The link is cut until something is spooled; the first commit after it is restored is that of a replay. */
async function killAfterCommit({ stage, plan, proxy, receiver, chance, complaints }: Play): Promise<void> {
  for (let kill = 1; kill <= plan.kills; kill += 1) {
    proxy.cut();
    await sleep(chance.between(1_500, 2_500));
    let isKilled = false;
    proxy.onBatchCommitted = () => {
      if (isKilled) return;
      isKilled = true;
      process.kill(receiver.pid, "SIGKILL");
    };
    proxy.heal();
    const isSeen = await until(() => isKilled && !receiver.isRunning, { withinMs: COMMIT_MS_MAX });
    proxy.onBatchCommitted = () => {};
    if (!isSeen) complaints.push("no batch was replayed after the link was restored");
    await receiver.kill();
    receiver.launch();
    await receiver.listening(START_MS_MAX);
  }
  stage.run.say(`${plan.kills} kills between commit and removal`);
}

/**
 * While the database is down: signals of known checks are accepted, those of unknown checks or with create=1 are
 * deferred.
 */
async function askWhileAway(
  stage: Stage,
  { receiver, after }: { receiver: PingProcess; after: string },
): Promise<string[]> {
  const { ledger, targets } = stage;
  const [target] = targets;
  if (target === undefined) return [];
  const complaints: string[] = [];
  const expectStatus = (what: string, { status, wanted }: { status: number; wanted: number }) => {
    if (status !== wanted) {
      complaints.push(`started while the database was down after ${after}, ${what} got ${status}`);
    }
  };
  for (const bySlug of [true, false]) {
    const { status } = await ledger.send(ledger.maker.make(target, { kind: "s", bySlug }), receiver.port);
    expectStatus("a known check", { status, wanted: 200 });
  }
  const root = `http://127.0.0.1:${receiver.port}/ping`;
  const ask = async (path: string) => (await fetch(`${root}/${path}`).catch(() => null))?.status ?? 0;
  expectStatus("an unknown UUID", { status: await ask(crypto.randomUUID()), wanted: 503 });
  const fresh = `${target.pingKey}/fresh-${Date.now()}?create=1`;
  expectStatus("a check to be created", { status: await ask(fresh), wanted: 503 });
  return complaints;
}
