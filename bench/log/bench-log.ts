// The log benchmark: an edge, a bare append and a recorder, each beside what limits it. Everything that is compared takes
// turns on the same machine, so that a busy moment affects both; ratios are the median of the rounds.
import { isKafkaInstalled } from "../../test/support/kafka-cluster.ts";
import { readRecorded } from "../ping/ping-scale.ts";
import { median, printTable, rounded, shown } from "../store/figures.ts";
import { type LogStage, onLogStage } from "./log-stage.ts";
import { measureAppend } from "./measure-append.ts";
import { measureEdge } from "./measure-edge.ts";
import { emptyLog, measureRecorder } from "./measure-recorder.ts";
import type { LogSize } from "./sizes.ts";

type Figures = Record<string, number>;

const ALLOWED: Readonly<Record<string, string>> = {
  "log.edge_over_http": "at least 0.5",
  "log.edge_over_direct": "at least 1.5",
  "log.append_over_bare": "at least 0.8",
  "log.recorder_over_recording": "at least 0.85",
};

/** Prints the figures beside their limits, and returns them under flat keys. */
export async function benchLog(
  size: LogSize,
  whenInterrupted: (cleanUp: () => Promise<void>) => void,
): Promise<Figures> {
  if (!isKafkaInstalled) throw new Error("Kafka is not installed; see .ci/install");
  console.log(`log: ${size.about}`);
  return onLogStage(size, whenInterrupted, async (stage) => {
    // First, because it warms up the broker.
    const append = await appendFigures(stage, size);
    const figures = {
      ...(await edgeFigures(stage, size)),
      ...append,
      ...(await recorderFigures(stage, size)),
    };
    const result = Object.fromEntries(
      Object.entries(figures).map(([name, value]) => [`log.${name}`, rounded(value)]),
    );
    printTable("log: signals a second, processor time in microseconds a signal", [
      ["figure", "measured", "allowed"],
      ...Object.entries(result).map(([name, value]) => [
        name,
        shown(value, name.endsWith("_per_second") ? 0 : 2),
        ALLOWED[name] ?? "",
      ]),
    ]);
    return result;
  });
}

async function edgeFigures(stage: LogStage, size: LogSize): Promise<Figures> {
  const before = await readRecorded(stage.scale);
  const measured = await measureEdge(stage, size);
  await emptyLog(stage);
  const { pings } = await readRecorded(stage.scale);
  // The most important check: every ping that was answered 200 is recorded, once.
  if (pings - before.pings !== measured.acceptedCount) {
    throw new Error(
      `${measured.acceptedCount} signals were answered 200, and ${pings - before.pings} are recorded`,
    );
  }
  return {
    edge_per_second: Math.round(median(measured.edge)),
    http_per_second: Math.round(median(measured.http)),
    direct_per_second: Math.round(median(measured.direct)),
    edge_over_http: medianRatio(measured.edge, measured.http),
    edge_over_direct: medianRatio(measured.edge, measured.direct),
    record_bytes_per_signal: median(measured.recordBytes),
    edge_cpu_us: median(measured.edgeCpuUs),
    http_cpu_us: median(measured.httpCpuUs),
    broker_cpu_us: median(measured.brokerCpuUs),
  };
}

async function appendFigures(stage: LogStage, size: LogSize): Promise<Figures> {
  const measured = await measureAppend(stage, size);
  return {
    append_per_second: Math.round(median(measured.ours)),
    bare_per_second: Math.round(median(measured.bare)),
    append_over_bare: medianRatio(measured.ours, measured.bare),
    append_cpu_us: median(measured.cpuUs),
    bare_cpu_us: median(measured.bareCpuUs),
  };
}

async function recorderFigures(stage: LogStage, size: LogSize): Promise<Figures> {
  const measured = await measureRecorder(stage, size);
  return {
    recorder_per_second: Math.round(median(measured.recorder)),
    recording_per_second: Math.round(median(measured.recording)),
    recorder_over_recording: medianRatio(measured.recorder, measured.recording),
    recorder_cpu_us: median(measured.cpuUs),
    recorder_postgres_cpu_us: median(measured.postgresCpuUs),
    recorder_batch_size: measured.batchSize,
  };
}

/** Of the ratios of each round. */
function medianRatio(ours: readonly number[], others: readonly number[]): number {
  return median(ours.map((one, round) => one / (others[round] ?? Number.NaN)));
}
