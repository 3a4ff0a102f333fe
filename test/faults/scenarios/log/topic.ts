// The topic is weakened, so that receiving processes must reject pings, and it is deleted and created again, so that
// recorders must stop until an admin accepts the loss. What the new topic has is then applied from its beginning.
import { setTimeout as sleep } from "node:timers/promises";
import { callOverdue } from "../../../cli/run-overdue.ts";
import { type LogPart, type PartFound, PER_SECOND } from "../../log/part.ts";
import type { LogStage } from "../../log/log-stage.ts";
import type { Pulse } from "../../log/pulse.ts";
import type { Size } from "../../scenario.ts";
import { isAcknowledged } from "../../signals/send.ts";
import { databaseNow, readBlind } from "../../stage/intake-rows.ts";
import { demand } from "../../waiting.ts";

const WAIT_MS_MAX = 180_000;
/** Pings that are acknowledged by the new topic before processes notice that it is another one. */
const BEFORE_NOTICED_MS = 2_000;
const UNAPPLIED_MS = 2_000;
const LOST_BY_LOG = "the log lost confirmed pings";

/** Each weakens the topic in another way. */
const WEAKER: readonly { weak: Record<string, string>; strong: Record<string, string> }[] = [
  { weak: { "min.insync.replicas": "1" }, strong: { "min.insync.replicas": "2" } },
  {
    weak: { "unclean.leader.election.enable": "true" },
    strong: { "unclean.leader.election.enable": "false" },
  },
];
const WEAKENED: Record<Size, number> = { full: 2, quick: 1, tiny: 0 };

export const topicPart: LogPart = {
  name: "log-topic",
  about: "the topic is weakened, then deleted and created again",
  play: async (log, { size, pulse }) => {
    const weakened = WEAKER.slice(0, WEAKENED[size]);
    for (const one of weakened) await weaken(log, one);
    const recreated = await recreate(log, pulse);
    return { ...recreated, figures: { ...recreated.figures, topics_weakened: weakened.length } };
  },
};

async function weaken(
  log: LogStage,
  { weak, strong }: { weak: Record<string, string>; strong: Record<string, string> },
): Promise<void> {
  const load = log.startLoad(PER_SECOND);
  await log.cluster.change(log.topicName, weak);
  const answers = () => Promise.all(log.edges.map(({ port }) => ping(log, port)));
  const rejects = async () => !(await answers()).includes(true);
  await demand(rejects, { withinMs: WAIT_MS_MAX, what: "processes reject pings because of the topic" });
  await log.cluster.change(log.topicName, strong);
  const accepts = async () => !(await answers()).includes(false);
  await demand(accepts, { withinMs: WAIT_MS_MAX, what: "processes accept pings again" });
  await load.stop();
}

/** Whether a process acknowledges a ping. */
async function ping({ stage }: LogStage, port: number): Promise<boolean> {
  const [target] = stage.targets;
  if (target === undefined) throw new Error("there are no checks");
  return isAcknowledged(await stage.ledger.send(stage.ledger.maker.make(target, { kind: "s" }), port));
}

async function recreate(log: LogStage, pulse: Pulse): Promise<PartFound> {
  const { stage } = log;
  await Promise.all(log.recorders.map((one) => one.kill()));
  const unapplied = log.startLoad(PER_SECOND);
  await sleep(UNAPPLIED_MS);
  await unapplied.stop();
  await pulse.pause();
  await log.recreateTopic();
  pulse.resume();
  const recreatedAt = await stage.withClient(databaseNow);
  const load = log.startLoad(PER_SECOND);
  await sleep(BEFORE_NOTICED_MS);
  await load.stop();
  await Promise.all(log.recorders.map((one) => one.startInner()));
  const isStopped = await countStopped(log);
  await acceptLoss(log);
  // A process uses the topic that it has found when it started.
  for (const edge of log.edges) {
    await edge.terminate();
    await edge.start();
  }
  const blind = await stage.withClient(readBlind);
  const isTold = blind.some(
    ({ from, to, reason }) => reason === LOST_BY_LOG && from < recreatedAt && (to ?? Infinity) >= recreatedAt,
  );
  const complaints: string[] = [];
  if (isStopped.moved > 0) complaints.push(`${isStopped.moved} partitions went on in another topic`);
  if (!isTold) complaints.push("the loss of unapplied pings is not recorded as a monitoring gap");
  return {
    figures: { topics_recreated: 1, moved: isStopped.moved, destroyed: log.destroyed.size },
    complaints,
  };
}

/** Partitions that went on although their topic is gone; waits until every partition has stopped or moved. */
async function countStopped({ stage }: LogStage): Promise<{ moved: number }> {
  const read = async () => {
    const { rows } = await stage.withClient((client) =>
      client.query<{ partition: number; next_offset: string; stopped: string | null }>(
        "select partition, next_offset, stopped from log_partitions order by partition",
      ),
    );
    return rows;
  };
  const before = await read();
  let moved = 0;
  await demand(
    async () => {
      const now = await read();
      const isMoved = now.map((row, index) => row.next_offset !== before[index]?.next_offset);
      moved = isMoved.filter(Boolean).length;
      return now.every((row, index) => row.stopped !== null || isMoved[index]);
    },
    { withinMs: WAIT_MS_MAX, what: "every partition has stopped" },
  );
  return { moved };
}

async function acceptLoss({ stage, cluster, topicName }: LogStage): Promise<void> {
  const environment = { OVERDUE_DATABASE_URL: stage.url, OVERDUE_LOG: cluster.url(topicName) };
  const { code, err } = await callOverdue(["log", "accept-loss"], environment);
  if (code !== 0) throw new Error(`the loss could not be accepted: ${err}`);
}
