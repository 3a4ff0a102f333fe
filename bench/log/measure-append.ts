// Records of the size that an edge makes: appended by the product, and by a bare produce of the client package.
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { NO_REFUSALS } from "../../src/core/log.ts";
import { encodeForLog, encodeRecord } from "../../src/intake/log-record.ts";
import type { Appended, AppendOrder, BothAppended } from "./append-only.ts";
import { success } from "./fill-log.ts";
import type { LogStage } from "./log-stage.ts";
import type { LogSize } from "./sizes.ts";

const run = promisify(execFile);

const APPENDING = join(import.meta.dirname, "append-only.ts");
const END_GRACE_MS = 60_000;

export type AppendMeasured = {
  /** Signals per second, by round. */
  ours: number[];
  bare: number[];
  /** Processor time per signal in microseconds, by round. */
  cpuUs: number[];
  bareCpuUs: number[];
};

/** Measures both, in a topic of their own. */
export async function measureAppend(
  stage: Pick<LogStage, "createTopic" | "partitions">,
  size: Pick<LogSize, "signalsPerSend" | "rounds" | "seconds" | "warmUpSeconds" | "brokerWarmUpSeconds">,
): Promise<AppendMeasured> {
  const { partitions } = stage;
  const signalsPerRecord = Math.round(size.signalsPerSend / partitions);
  const order = {
    address: await stage.createTopic("appended"),
    partitions,
    recordBytes: recordBytes(signalsPerRecord),
    warmUpSeconds: size.warmUpSeconds,
    seconds: size.seconds,
  };
  const measured: AppendMeasured = { ours: [], bare: [], cpuUs: [], bareCpuUs: [] };
  const note = ({ records, elapsedMs, cpuMs }: Appended, rates: number[], cpuUs: number[]) => {
    const signals = records * signalsPerRecord;
    rates.push((signals * 1_000) / elapsedMs);
    cpuUs.push((cpuMs * 1_000) / signals);
  };
  // A new broker is ten times slower until its code is compiled.
  await append({ ...order, seconds: size.brokerWarmUpSeconds });
  for (let round = 0; round < size.rounds; round += 1) {
    const { ours, bare } = await append(order);
    note(ours, measured.ours, measured.cpuUs);
    note(bare, measured.bare, measured.bareCpuUs);
  }
  return measured;
}

async function append(order: AppendOrder): Promise<BothAppended> {
  const { stdout } = await run(process.execPath, [APPENDING, JSON.stringify(order)], {
    timeout: 2 * (order.warmUpSeconds + order.seconds) * 1_000 + END_GRACE_MS,
    killSignal: "SIGKILL",
  });
  return JSON.parse(stdout) as BothAppended;
}

function recordBytes(signals: number): number {
  const at = Date.now();
  const edge = "00000000-0000-4000-8000-000000000000";
  const encoded = encodeForLog(success(edge));
  const header = {
    edge,
    kind: "more",
    n: 1,
    at,
    watermarkAt: at,
    givenUp: [],
    refused: [],
    attributed: NO_REFUSALS,
  } as const;
  return encodeRecord(
    header,
    Array.from({ length: signals }, () => encoded),
  ).length;
}
