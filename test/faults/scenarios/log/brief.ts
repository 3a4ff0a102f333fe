// Short versions of the faults of the log, for the check of every change. Every step waits for its precondition, so that
// neither chance nor a busy machine affects the result. A rejection is not a fault: it acknowledges nothing.
import { type Entry, isAcknowledged } from "../../signals/send.ts";
import { judge, type Verdict } from "../../signals/verdict.ts";
import { untilDrained } from "../../stage/intake-rows.ts";
import type { LogStage } from "../../log/log-stage.ts";
import { demand } from "../../waiting.ts";

/** Time limits. */
const STEP_MS_MAX = 180_000;

/** Everything, and then acknowledged pings are compared with recorded ones, and those with the topic. */
export async function playLogBriefly(log: LogStage): Promise<Verdict> {
  await untilAccepted(log);
  await killRecorder(log);
  await killEdge(log);
  await killBroker(log);
  return judgeAll(log);
}

/** Only the part that must detect records that are applied twice. */
export async function playAppliedTwice(log: LogStage): Promise<Verdict> {
  await untilAccepted(log);
  await killRecorder(log);
  return judgeAll(log);
}

/** Only the part that must detect a response before the log has confirmed the ping. */
export async function playUnconfirmed(log: LogStage): Promise<Verdict> {
  await untilAccepted(log);
  await killBroker(log);
  return judgeAll(log);
}

/** One ping for each check, at the same time. */
function sendToAll({ stage, router }: LogStage): Promise<Entry[]> {
  const { ledger, targets } = stage;
  return Promise.all(
    targets.map((target) => ledger.send(ledger.maker.make(target, { kind: "s" }), router.port)),
  );
}

/** The log confirms pings, and processes know every check. */
function untilAccepted(log: LogStage): Promise<void> {
  return demand(async () => (await sendToAll(log)).every(isAcknowledged), {
    withinMs: STEP_MS_MAX,
    what: "every ping is accepted",
  });
}

/** It has applied pings, and others are in the log, but not applied. */
async function killRecorder(log: LogStage): Promise<void> {
  const [recorder] = log.recorders;
  if (recorder === undefined) throw new Error("there is no recorder");
  await untilApplied(log);
  recorder.freeze();
  await sendToAll(log);
  await recorder.kill();
  await recorder.startInner();
  await untilApplied(log);
}

/** Pings are on their way to it. */
async function killEdge(log: LogStage): Promise<void> {
  const [edge] = log.edges;
  const sending = sendToAll(log);
  await edge?.kill();
  await sending;
  await edge?.start();
  await untilAccepted(log);
}

/** Nothing can be confirmed without it. */
async function killBroker(log: LogStage): Promise<void> {
  const [broker] = log.cluster.brokerIds;
  if (broker === undefined) throw new Error("there is no broker");
  await log.cluster.signal(broker, "SIGKILL");
  await sendToAll(log);
  await log.cluster.restart(broker);
  await untilAccepted(log);
}

async function untilApplied({ stage }: LogStage): Promise<void> {
  const holdUp = await untilDrained(stage, { withinMs: STEP_MS_MAX });
  if (holdUp !== null) throw new Error(holdUp);
}

async function judgeAll(log: LogStage): Promise<Verdict> {
  await untilApplied(log);
  const timesInLog = await log.timesInLog();
  const leniency = { forgiven: new Set<string>(), mayRefuse: () => true, timesInLog };
  return log.stage.withClient((client) => judge(client, log.stage.ledger, leniency));
}
