// Pings through a log: real Kafka brokers, recorders, and receiving processes behind a router, broken in every way.
// Acknowledged pings are compared with recorded ones, and recorded ones with the topic.
import { join } from "node:path";
import { conclude } from "../../conclusion.ts";
import { canRunLog, LOG_NEEDS, type LogStage, onLogStage } from "../../log/log-stage.ts";
import type { LogPart } from "../../log/part.ts";
import { Pulse } from "../../log/pulse.ts";
import { bySize, type Figures, type Result, type Run, type Scenario } from "../../scenario.ts";
import { copyCluster } from "../../stage/copies.ts";
import { awayPart } from "./away.ts";
import { brokerPart } from "./broker.ts";
import { edgePart } from "./edge.ts";
import { postgresPart } from "./postgres.ts";
import { recorderPart } from "./recorder.ts";
import { restorePart } from "./restore.ts";
import { topicPart } from "./topic.ts";

const CHECKS = 200;
const PARTITIONS = 16;
const DRAIN_MS_MAX = 300_000;

const PARTS: readonly LogPart[] = [
  recorderPart,
  edgePart,
  brokerPart,
  postgresPart,
  restorePart,
  awayPart,
  topicPart,
];

export const logScenario: Scenario = {
  name: "log",
  about: "pings through Kafka: recorders, edges, brokers, PostgreSQL and topics broken",
  run: (run) => runParts(run, PARTS),
};

/** Each part alone, by name. */
export const LOG_PARTS: readonly Scenario[] = PARTS.map((part) => ({
  name: part.name,
  about: part.about,
  run: (run) => runParts(run, [part]),
}));

async function runParts(run: Run, parts: readonly LogPart[]): Promise<Result> {
  if (!canRunLog) return { skipped: LOG_NEEDS };
  const processes = { edges: 2, recorders: bySize(run, { full: 3, quick: 3, tiny: 2 }), hasAlerts: true };
  const options = {
    ...processes,
    topic: "overdue",
    brokers: 3,
    partitions: PARTITIONS,
    checks: CHECKS,
  } as const;
  return onLogStage(run, options, (stage) => play(stage, parts));
}

async function play(log: LogStage, parts: readonly LogPart[]): Promise<Result> {
  const { stage, run } = log;
  const pulse = await Pulse.start(log);
  const copy = { folder: join(stage.folder, "copy"), takenMs: performance.now() };
  await copyCluster(stage.postgres, copy.folder);
  const figures: Figures = {};
  const complaints: string[] = [];
  for (const part of parts) {
    const beganMs = performance.now();
    run.say(`${part.name}: ${part.about}`);
    const found = await part.play(log, { size: run.size, pulse, copy });
    Object.assign(figures, found.figures);
    complaints.push(...found.complaints.map((text) => `${part.name}: ${text}`));
    run.say(
      `${part.name}: ${JSON.stringify(found.figures)}, ${Math.round((performance.now() - beganMs) / 1_000)} s`,
    );
  }
  await pulse.end();
  const found = await conclude(stage, {
    figures,
    complaints,
    mayRefuse: () => true,
    mayBeSlow: true,
    forgiven: log.destroyed,
    timesInLog: () => log.timesInLog(),
    drainMsMax: DRAIN_MS_MAX,
  });
  const { falseAlarms, ...pulsed } = await pulse.result();
  if (falseAlarms > 0)
    found.complaints.push(`${falseAlarms} checks went down although their pings were answered in time`);
  const more = { applied_twice: found.tally.duplicated, pulses: pulsed.pulses, pings_in_time: pulsed.inTime };
  Object.assign(found.figures, more, { false_alarms: falseAlarms + (figures["false_alarms"] ?? 0) });
  return found;
}
