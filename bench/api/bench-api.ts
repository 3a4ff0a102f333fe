// The API benchmark: requests per second, compared with the bare SQL statements of the same work and with the same
// server and a constant response. All of them run alternately, so that a busy moment affects all.
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { endWithUs } from "../../test/support/end-with-us.ts";
import { startPingProcess } from "../../test/support/ping-process.ts";
import { freePort } from "../../test/support/ports.ts";
import { onEngine } from "../store/engine.ts";
import { mean, median, printTable, rounded, shown } from "../store/figures.ts";
import type { BareOrder } from "./bare-sql.ts";
import { measureLoad } from "./load.ts";
import { COUNTER_TEXT, type RecordedWork, recordWorks } from "./recorded.ts";
import type { ApiSize } from "./sizes.ts";
import { type ApiStage, createApiStage } from "./stage.ts";
import { type Work, worksOf } from "./work.ts";

type Figures = Record<string, number>;

const run = promisify(execFile);
const ANSWERING = join(import.meta.dirname, "answering-only.ts");
const BARE = join(import.meta.dirname, "bare-sql.ts");
const END_GRACE_MS = 60_000;

/** Operations per second, by round. */
type Rates = { ours: number[]; bareSql: number[]; noop: number[] };
type Contest = { work: Work; recorded: RecordedWork; rates: Rates };
type Ports = { ours: number; noop: number };

/** Prints the comparison and returns the figures under flat keys. */
export async function benchApi(
  size: ApiSize,
  whenInterrupted: (cleanUp: () => Promise<void>) => void,
): Promise<Figures> {
  console.log(`api: ${size.about}`);
  return onEngine(whenInterrupted, async (engine, folder) => {
    const stage = await createApiStage(engine, { ...size, folder });
    const works = worksOf(size);
    const recorded = await recordWorks(stage, works);
    const contests = works.map((work, index): Contest => {
      const one = recorded[index];
      if (one === undefined) throw new Error(`${work.name} was not recorded`);
      return { work, recorded: one, rates: { ours: [], bareSql: [], noop: [] } };
    });
    const times: Times = { list: [], unchanged: [] };
    await withServers(stage, async (ports) => {
      const circumstances = { stage, size, ports, folder };
      await measure(contests, circumstances);
      await measureTimes(times, circumstances);
    });
    await stage.close();
    print(contests);
    const figures = { ...figuresOf(contests), ...timeFigures(times, size) };
    for (const [name, value] of Object.entries(timeFigures(times, size))) console.log(`  ${name}: ${value}`);
    return figures;
  });
}

async function withServers(stage: ApiStage, work: (ports: Ports) => Promise<void>): Promise<void> {
  const ours = await startPingProcess({
    databaseUrl: stage.url,
    port: await freePort(),
    roles: "api",
    settings: { OVERDUE_API_RATE_LIMIT: "0" },
  });
  try {
    const noop = await startAnsweringOnly();
    try {
      await work({ ours: ours.port, noop: noop.port });
    } finally {
      await noop.stop();
    }
  } finally {
    await ours.stop();
  }
}

async function startAnsweringOnly(): Promise<{ port: number; stop(): Promise<void> }> {
  const port = await freePort();
  const child = spawn(process.execPath, [ANSWERING, String(port)], { stdio: ["ignore", "pipe", "inherit"] });
  endWithUs(child);
  const ended = once(child, "exit");
  const isReady = await Promise.race([once(child.stdout, "data").then(() => true), ended.then(() => false)]);
  if (!isReady) throw new Error("the server without the API did not start");
  return {
    port,
    stop: async () => {
      child.kill("SIGTERM");
      await ended;
    },
  };
}

type Circumstances = { stage: ApiStage; size: ApiSize; ports: Ports; folder: string };

async function measure(contests: readonly Contest[], circumstances: Circumstances): Promise<void> {
  const { size } = circumstances;
  if (size.warmUpSeconds > 0) {
    for (const contest of contests) await measureOnce(contest, circumstances, size.warmUpSeconds);
    for (const { rates } of contests) Object.assign(rates, { ours: [], bareSql: [], noop: [] });
  }
  for (let round = 0; round < size.rounds; round++) {
    const order = round % 2 === 0 ? contests : contests.toReversed();
    for (const contest of order) await measureOnce(contest, circumstances, size.seconds);
  }
}

async function measureOnce(
  { work, recorded, rates }: Contest,
  { stage, ports, folder }: Circumstances,
  seconds: number,
): Promise<void> {
  const { method, project, body, connections, drainSeconds } = work;
  const load = { method, key: stage.keys[project], body, connections, seconds, drainSeconds };
  const uuidsPath = work.namedBy === undefined ? null : stage.namesPaths[work.namedBy];
  rates.ours.push(await measureLoad({ ...load, port: ports.ours, path: work.path, uuidsPath }));
  rates.bareSql.push(await measureBare({ work, recorded }, { stage, folder, seconds }));
  const path = `/api/v3/${recorded.status}/${recorded.bytes}`;
  rates.noop.push(await measureLoad({ ...load, port: ports.noop, path, uuidsPath: null }));
}

/** How long one client that sends nothing else waits for the large list, in ms: read in full, and answered with 304. */
type Times = { list: number[]; unchanged: number[] };

async function measureTimes(times: Times, { stage, size, ports }: Circumstances): Promise<void> {
  const url = `http://127.0.0.1:${ports.ours}/api/v3/checks/`;
  const headers = { "X-Api-Key": stage.keys.large };
  const ask = async (more: Record<string, string>, status: number) => {
    const begin = performance.now();
    const response = await fetch(url, { headers: { ...headers, ...more } });
    await response.arrayBuffer();
    if (response.status !== status) throw new Error(`the list was answered ${response.status}`);
    return { ms: performance.now() - begin, tag: response.headers.get("etag") ?? "" };
  };
  for (let count = 0; count < size.timedLists; count++) times.list.push((await ask({}, 200)).ms);
  const { tag } = await ask({}, 200);
  for (let count = 0; count < size.timedLists; count++) {
    times.unchanged.push((await ask({ "If-None-Match": tag }, 304)).ms);
  }
}

function timeFigures({ list, unchanged }: Times, { large }: ApiSize): Figures {
  const name = large === 10_000 ? "list_10k" : `list_${large}`;
  return { [`api.${name}_ms`]: rounded(median(list)), "api.list_304_ms": rounded(median(unchanged)) };
}

async function measureBare(
  { work, recorded }: Pick<Contest, "work" | "recorded">,
  { stage, folder, seconds }: { stage: ApiStage; folder: string; seconds: number },
): Promise<number> {
  const { url, namesPaths, ids } = stage;
  const order: BareOrder = {
    url,
    statements: recorded.statements,
    sample: work.namedBy === undefined ? null : stage.sample,
    namesPaths,
    ids,
    counter: COUNTER_TEXT,
    sessions: work.connections,
    seconds,
  };
  const orderPath = join(folder, `${work.name}.json`);
  await writeFile(orderPath, JSON.stringify(order, encoded));
  const { stdout } = await run(process.execPath, [BARE, orderPath], {
    timeout: seconds * 1_000 + END_GRACE_MS,
    killSignal: "SIGKILL",
  });
  const { works, elapsedMs } = JSON.parse(stdout) as { works: number; elapsedMs: number };
  return (works * 1_000) / elapsedMs;
}

/** Bytes in a form that JSON supports. */
function encoded(_key: string, value: unknown): unknown {
  const isBuffer = typeof value === "object" && value !== null && "type" in value && value.type === "Buffer";
  return isBuffer && "data" in value
    ? { base64: Buffer.from(value.data as number[]).toString("base64") }
    : value;
}

function figuresOf(contests: readonly Contest[]): Figures {
  const figures: Figures = {};
  for (const { work, rates } of contests) {
    const ours = mean(rates.ours);
    figures[`api.${work.figure}.per_second`] = rounded(ours);
    figures[`api.${work.figure}.over_bare_sql`] = rounded(ours / mean(rates.bareSql));
    figures[`api.${work.figure}.over_noop`] = rounded(ours / mean(rates.noop));
  }
  return figures;
}

function print(contests: readonly Contest[]): void {
  printTable("Requests a second", [
    ["", "ours", "bare SQL", "no-op", "/ bare SQL", "/ no-op", "statements", "bytes", "at once"],
    ...contests.map(({ work, recorded, rates }) => [
      work.figure,
      shown(mean(rates.ours), 1),
      shown(mean(rates.bareSql), 1),
      shown(mean(rates.noop), 1),
      shown(mean(rates.ours) / mean(rates.bareSql), 2),
      shown(mean(rates.ours) / mean(rates.noop), 2),
      String(recorded.statements.length),
      String(recorded.bytes),
      String(work.connections),
    ]),
  ]);
  for (const { work, recorded, rates } of contests) {
    const rounds = (values: readonly number[]) => values.map((value) => shown(value, 1)).join(" ");
    const names = recorded.statements.map(({ name, text }) => name ?? text).join(", ");
    console.log(`  ${work.figure}: ours by round ${rounds(rates.ours)}; bare SQL ${rounds(rates.bareSql)}`);
    console.log(`    ${names}`);
  }
}
