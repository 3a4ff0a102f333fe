// Short versions of the faults, for the check of every change: the link is cut around COMMIT, a process is killed
// while its database does not respond, and one is killed while it is cut off. Every step waits for its precondition,
// so that neither chance nor a busy machine affects the result. A rejection is not a fault: it acknowledges nothing.
import { type Entry, isAcknowledged } from "../signals/send.ts";
import { judge, type Verdict } from "../signals/verdict.ts";
import { COMMIT_FAULTS, type CommitFault, type DatabaseProxy } from "../stage/proxy.ts";
import type { PingProcess } from "../stage/ping-process.ts";
import type { Stage } from "../stage/stage.ts";
import { demand } from "../waiting.ts";

/** Time limits. */
const STEP_MS_MAX = 180_000;

type Cast = { proxy: DatabaseProxy; receiver: PingProcess };

/** Everything, on a stage with a few checks. Acknowledged signals are compared with recorded ones. */
export async function playBriefly(stage: Stage): Promise<Verdict> {
  await Promise.all([playCutsAndKill(stage), killInSilence(stage)]);
  return judgeAll(stage);
}

/** Only the part that must detect a response before the commit. */
export async function playSilence(stage: Stage): Promise<Verdict> {
  await killInSilence(stage);
  return judgeAll(stage);
}

/** Only the part that must detect a batch that is applied twice. */
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

/** While its database is unavailable, a process accepts only signals of known checks. */
async function getKnown(stage: Stage, receiver: PingProcess): Promise<void> {
  for (const target of stage.targets) {
    const ping = () => stage.ledger.send(stage.ledger.maker.make(target, { kind: "s" }), receiver.port);
    await demand(async () => isAcknowledged(await ping()), {
      withinMs: STEP_MS_MAX,
      what: `${receiver.name} accepts a signal`,
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
    // If nothing could be recorded directly, the batch that meets the fault is a replayed one.
    await demand(() => isStruck, { withinMs: STEP_MS_MAX, what: `a COMMIT was intercepted (${fault})` });
    await striking;
    await untilDirect(all);
  }
}

/**
 * The database does not respond and there is no spool, so nothing can be acknowledged: an acknowledged signal would
 * be lost with the process.
 */
async function killInSilence(stage: Stage): Promise<void> {
  const all = await cast(stage, "bare");
  const { proxy, receiver } = all;
  proxy.silence();
  await sendToAll(stage, all);
  await receiver.kill();
  proxy.heal();
}

/** Signals acknowledged in the meantime are in the spool, and the next start has to find them there. */
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
  return demand(async () => !(await receiver.isSpooling()), {
    withinMs: STEP_MS_MAX,
    what: `${receiver.name} has replayed everything`,
  });
}
