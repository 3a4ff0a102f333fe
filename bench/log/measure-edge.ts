// Pings over HTTP: appended to the log by an edge, recorded in PostgreSQL by a process without a log, and answered without
// doing either. All of them take turns.
import { startPingProcess } from "../../test/support/ping-process.ts";
import { freePort } from "../../test/support/ports.ts";
import { startAnsweringOnly } from "../ping/processes.ts";
import { countAnswered } from "../ping/wrk.ts";
import type { LogStage } from "./log-stage.ts";
import { processorMs } from "./processor-time.ts";
import type { LogSize } from "./sizes.ts";

export type EdgeMeasured = {
  /** Pings per second, by round. */
  edge: number[];
  http: number[];
  direct: number[];
  /** Processor time per ping in microseconds, by round. */
  edgeCpuUs: number[];
  httpCpuUs: number[];
  brokerCpuUs: number[];
  /** Bytes in the log per ping, by round. */
  recordBytes: number[];
  /** How many pings were answered with 200 by the edge and the process without a log, also before measuring. */
  acceptedCount: number;
};

/** The log rows that are kept, so that trimming is part of the measurement. */
export const SETTINGS = { OVERDUE_PING_LOG_LIMIT: "100", OVERDUE_SIGNALS_PER_MINUTE: "0" };

type Stoppable = { stop(): Promise<void> };

/** Measures an edge, a process without a log, and HTTP alone. No recorder runs. */
export async function measureEdge(
  stage: Pick<LogStage, "scale" | "cluster" | "url" | "uuidsPath" | "topicBytes">,
  size: Pick<LogSize, "connections" | "seconds" | "rounds" | "warmUpSeconds">,
): Promise<EdgeMeasured> {
  const { scale, cluster, uuidsPath } = stage;
  const { connections, seconds, rounds, warmUpSeconds } = size;
  const started: Stoppable[] = [];
  const keep = <T extends Stoppable>(one: T): T => {
    started.push(one);
    return one;
  };
  const measured: EdgeMeasured = {
    edge: [],
    http: [],
    direct: [],
    edgeCpuUs: [],
    httpCpuUs: [],
    brokerCpuUs: [],
    recordBytes: [],
    acceptedCount: 0,
  };
  try {
    const databaseUrl = scale.url;
    const logged = { ...SETTINGS, OVERDUE_LOG: stage.url };
    const edge = keep(await startPingProcess({ databaseUrl, port: await freePort(), settings: logged }));
    const direct = keep(await startPingProcess({ databaseUrl, port: await freePort(), settings: SETTINGS }));
    const http = keep(await startAnsweringOnly());
    const answered = (port: number, duration: number) =>
      countAnswered({
        url: `http://127.0.0.1:${port}`,
        uuidsPath,
        bodyBytes: 0,
        connections,
        seconds: duration,
      });
    await answered(http.port, warmUpSeconds);
    for (const { port } of [direct, edge]) measured.acceptedCount += await answered(port, warmUpSeconds);
    const brokerMs = () => cluster.pids.reduce((sum, pid) => sum + processorMs(pid), 0);
    const measureOurs = async () => {
      const before = { edge: processorMs(edge.pid), broker: brokerMs(), bytes: await stage.topicBytes() };
      const count = await answered(edge.port, seconds);
      measured.edge.push(count / seconds);
      measured.edgeCpuUs.push(((processorMs(edge.pid) - before.edge) * 1_000) / count);
      measured.brokerCpuUs.push(((brokerMs() - before.broker) * 1_000) / count);
      measured.recordBytes.push(((await stage.topicBytes()) - before.bytes) / count);
      measured.acceptedCount += count;
    };
    const measureHttp = async () => {
      const before = processorMs(http.pid);
      const count = await answered(http.port, seconds);
      measured.http.push(count / seconds);
      measured.httpCpuUs.push(((processorMs(http.pid) - before) * 1_000) / count);
    };
    const measureDirect = async () => {
      const count = await answered(direct.port, seconds);
      measured.direct.push(count / seconds);
      measured.acceptedCount += count;
    };
    for (let round = 0; round < rounds; round += 1) {
      const turns = [measureOurs, measureHttp, measureDirect];
      for (const measure of round % 2 === 0 ? turns : turns.toReversed()) await measure();
    }
    return measured;
  } finally {
    await Promise.all(started.map((one) => one.stop()));
  }
}
