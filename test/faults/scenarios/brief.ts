// The faults in brief, for the check of every change: the link cut around COMMIT, a process killed while its
// database is silent, and one killed while it is cut off. Every step waits for what it needs and for nothing else,
// so that neither chance nor a busy machine decides what comes out. A refusal is no fault here: it promises nothing.
import { type Entry, isAcknowledged } from "../signals/send.ts";
import { judge, type Verdict } from "../signals/verdict.ts";
import { COMMIT_FAULTS, type CommitFault, type DatabaseProxy } from "../stage/proxy.ts";
import type { PingProcess } from "../stage/ping-process.ts";
import type { Stage } from "../stage/stage.ts";
import { demand } from "../waiting.ts";

/** Bounds for what hangs. */
const STEP_MS_MAX = 180_000;

type Cast = { proxy: DatabaseProxy; receiver: PingProcess };

/** Everything, on a stage with a few checks. What was promised is held against what is there. */
export async function playBriefly(stage: Stage): Promise<Verdict> {
  await Promise.all([playCutsAndKill(stage), killInSilence(stage)]);
  return judgeAll(stage);
}

/** Only the part that has to see an answer that is given before the commit. */
export async function playSilence(stage: Stage): Promise<Verdict> {
  await killInSilence(stage);
  return judgeAll(stage);
}

/** Only the part that has to see a batch that is applied twice. */
export async function playAppliedTwice(stage: Stage): Promise<Verdict> {
  await cutAroundCommits(stage, { all: await cast(stage, "spooling"), faults: ["applied"] });
  return judgeAll(stage);
}

async function playCutsAndKill(stage: Stage): Promise<void> {
  const all = await cast(stage, "spooling");
  await cutAroundCommits(stage, { all, faults: COMMIT_FAULTS });
  await killWhileCutOff(stage, all);
  await untilDirect(all);
}

function judgeAll(stage: Stage): Promise<Verdict> {
  const leniency = { forgiven: new Set<string>(), mayRefuse: () => true };
  return stage.withClient((client) => judge(client, stage.ledger, leniency));
}

async function cast(stage: Stage, name: "spooling" | "bare"): Promise<Cast> {
  const proxy = await stage.proxy();
  const databaseUrl = proxy.urlFor(stage.url);
  const receiver = await stage.receiver({ name, databaseUrl, ...(name === "bare" ? { spool: null } : {}) });
  await receiver.start();
  await getKnown(stage, receiver);
  return { proxy, receiver };
}

/** A process takes only signals of checks that it knows while its database is away. */
async function getKnown(stage: Stage, receiver: PingProcess): Promise<void> {
  for (const target of stage.targets) {
    const ping = () => stage.ledger.send(stage.ledger.maker.make(target, { kind: "s" }), receiver.port);
    await demand(async () => isAcknowledged(await ping()), {
      withinMs: STEP_MS_MAX,
      what: `${receiver.name} takes a signal`,
    });
  }
}

/** One signal for each check, at the same time. */
function sendToAll(stage: Stage, { receiver }: Cast): Promise<Entry[]> {
  return Promise.all(
    stage.targets.map((target) =>
      stage.ledger.send(stage.ledger.maker.make(target, { kind: "s" }), receiver.port),
    ),
  );
}

async function cutAroundCommits(
  stage: Stage,
  { all, faults }: { all: Cast; faults: readonly CommitFault[] },
): Promise<void> {
  for (const fault of faults) {
    let isStruck = false;
    const striking = all.proxy.strike(fault).then(() => (isStruck = true));
    await sendToAll(stage, all);
    // Where nothing could be recorded at once, the batch that meets the fault is one that is replayed.
    await demand(() => isStruck, { withinMs: STEP_MS_MAX, what: `a COMMIT came by (${fault})` });
    await striking;
    await untilDirect(all);
  }
}

/**
 * Nothing is heard from the database and there is no spool, so that nothing can be promised: whoever was told
 * otherwise has lost its signal with the process.
 */
async function killInSilence(stage: Stage): Promise<void> {
  const all = await cast(stage, "bare");
  const { proxy, receiver } = all;
  proxy.silence();
  await sendToAll(stage, all);
  await receiver.kill();
  proxy.heal();
}

/** What was promised meanwhile is in the spool, and the next start has to find it there. */
async function killWhileCutOff(stage: Stage, all: Cast): Promise<void> {
  const { proxy, receiver } = all;
  proxy.cut();
  await sendToAll(stage, all);
  await receiver.kill();
  proxy.heal();
  await receiver.start();
}

/** The database has everything that the process holds. */
function untilDirect({ receiver }: Cast): Promise<void> {
  return demand(async () => !(await receiver.isOnDetour()), {
    withinMs: STEP_MS_MAX,
    what: `${receiver.name} has replayed everything`,
  });
}
