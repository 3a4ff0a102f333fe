// Versions N and N+1 side by side under load: two processes of this code are replaced, one after the other, by
// processes of the same code with one more migration, while jobs ping and programs use the API through a balancer that
// follows /readyz, as a load balancer does. Counts what clients noticed and what the database has in the end.
import { type ChildProcess, spawn } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createProject } from "../../src/operations/projects.ts";
import { type Database, openDatabase } from "../../src/store/db.ts";
import { findSecretKey } from "../../src/store/instance.ts";
import { migrate } from "../../src/store/migrate.ts";
import { COMPILE_CACHE } from "../support/compile-cache.ts";
import { endWithUs } from "../support/end-with-us.ts";
import { freePort } from "../support/ports.ts";
import { embeddedPostgres } from "../support/postgres-binaries.ts";
import { startPostgres } from "../support/postgres.ts";
import { sampleAccount, sampleCheck } from "../support/sample.ts";

const ROOT = join(import.meta.dirname, "../..");
/** What the next version adds: a column with a default, an index, a table. The version before uses none of it. */
const EXPAND = `alter table checks add column planted text not null default 'planted';
create index planted_flips on flips (at);
create table planted (id bigint primary key);
`;
/** What the next version must not do: the version before still writes the column. */
const CONTRACT = "alter table pings drop column ua;\n";
const CHECKS = 40;
const PING_CONNECTIONS = 12;
const API_CONNECTIONS = 3;
const API_PAUSE_MS = 60;
const READY_POLL_MS = 100;
const START_MS_MAX = 60_000;
const STOP_MS_MAX = 30_000;
const REQUEST_MS_MAX = 20_000;
const REPLAY_MS_MAX = 15_000;
const COMPLAINTS_MAX = 5;
const SHOWN_LENGTH_MAX = 200;

export type UpgradeOptions = {
  pingsPerSecond: number;
  /** Load before the first, between, and after the last replacement. */
  phaseMs: number;
  /** Plants a migration that breaks the version before, to show that the test sees it. */
  planted?: boolean;
  say?: (line: string) => void;
};

export type UpgradeResult = {
  /** Acknowledged with 200. */
  pings: number;
  /** Pings without an answer, or with another one. */
  refused: number;
  apiRequests: number;
  /** Answers of 500 and above, to pings and API requests. */
  serverErrors: number;
  /** API requests without an answer. */
  apiFailed: number;
  /** Acknowledged pings that the database does not have. */
  lost: number;
  /** The versions that answered in the end. */
  versions: string[];
  seconds: number;
  complaints: string[];
};

type Instance = { name: string; port: number; adminPort: number; child: ChildProcess };

/** Plays the whole upgrade; everything is stopped and deleted at the end. */
export async function runUpgrade(options: UpgradeOptions): Promise<UpgradeResult> {
  const say = options.say ?? (() => {});
  const folder = mkdtempSync(join(tmpdir(), "overdue-upgrade-"));
  const endings: (() => Promise<unknown> | void)[] = [() => rmSync(folder, { recursive: true, force: true })];
  const begunMs = performance.now();
  try {
    const next = copyNextVersion(folder, options.planted === true ? CONTRACT : EXPAND);
    const postgres = await startPostgres({ binaries: embeddedPostgres() });
    endings.push(() => postgres.stop());
    const databaseOptions = { url: postgres.url(), applicationName: "test", onError: () => {} };
    await migrate(databaseOptions);
    const database = openDatabase(databaseOptions);
    endings.push(() => database.close());
    const { uuids, apiKey } = await setUp(database);
    const start = (name: string, root: string) =>
      startInstance(name, { root, databaseUrl: postgres.url(), folder, endings });
    const running = await Promise.all([start("N a", ROOT), start("N b", ROOT)]);
    for (const { port } of running) await warmUp(port, uuids);
    const balancer = await startBalancer(running);
    endings.push(() => balancer.close());
    say(`two processes of version N, ${options.pingsPerSecond} pings per second`);
    // Each check was pinged once at each process.
    const acknowledged = new Map(uuids.map((uuid) => [uuid, running.length]));
    const load = startLoad({
      acknowledged,
      port: balancer.port,
      uuids,
      apiKey,
      pingsPerSecond: options.pingsPerSecond,
    });
    for (const [index, name] of ["N+1 a", "N+1 b"].entries()) {
      await sleep(options.phaseMs);
      say(`stopping ${running[index]?.name} after ${load.seconds()} s`);
      await stopInstance(running[index]);
      say(`starting ${name} after ${load.seconds()} s`);
      running[index] = await start(name, next);
      say(`${name} has replaced a process of version N after ${load.seconds()} s`);
    }
    await sleep(options.phaseMs);
    const counted = await load.stop();
    const versions = await Promise.all(running.map(versionOf));
    const lost = await countLost(database, acknowledged);
    for (const instance of running) await stopInstance(instance);
    const seconds = Math.round((performance.now() - begunMs) / 1_000);
    return { ...counted, lost, versions, seconds };
  } finally {
    for (const end of endings.toReversed()) await end();
  }
}

/** The same program in another folder, with another version and one more migration. */
function copyNextVersion(folder: string, sql: string): string {
  const root = join(folder, "next");
  for (const part of ["src", "migrations", "deploy", "package.json"]) {
    cpSync(join(ROOT, part), join(root, part), { recursive: true });
  }
  symlinkSync(join(ROOT, "node_modules"), join(root, "node_modules"));
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Record<string, unknown>;
  writeFileSync(join(root, "package.json"), JSON.stringify({ ...manifest, version: "999.0.0" }));
  const count = readdirSync(join(root, "migrations")).filter((file) => /^\d{4}_/.test(file)).length;
  writeFileSync(join(root, `migrations/${String(count + 1).padStart(4, "0")}_planted.sql`), sql);
  return root;
}

async function setUp(database: Database): Promise<{ uuids: string[]; apiKey: string }> {
  const { id: ownerId } = await sampleAccount(database);
  const secretKey = await findSecretKey(database);
  const { uuid, apiKey } = await createProject(database, {
    ownerId,
    name: "Upgrade",
    secretKey,
    now: Date.now(),
  });
  const { rows } = await database.pool.query<{ id: number }>("select id from projects where uuid = $1", [
    uuid,
  ]);
  const projectId = rows[0]?.id ?? 0;
  const uuids: string[] = [];
  for (let index = 0; index < CHECKS; index += 1) {
    uuids.push((await sampleCheck(database, { projectId, name: `job ${index}` })).uuid);
  }
  return { uuids, apiKey };
}

/** On a busy machine the first batch may go to the spool, which accepts only checks that were pinged before. */
async function warmUp(port: number, uuids: readonly string[]): Promise<void> {
  const deadline = performance.now() + START_MS_MAX;
  for (const uuid of uuids) {
    while ((await send({ port, agent: undefined, path: `/ping/${uuid}` })).status !== 200) {
      if (performance.now() > deadline) throw new Error("the processes do not accept pings");
      await sleep(READY_POLL_MS);
    }
  }
}

type Place = {
  root: string;
  databaseUrl: string;
  folder: string;
  endings: (() => Promise<unknown> | void)[];
};

async function startInstance(name: string, { root, databaseUrl, folder, endings }: Place): Promise<Instance> {
  const [port, adminPort] = [await freePort(), await freePort()];
  const child = spawn(process.execPath, [join(root, "src/main.ts"), "serve"], {
    env: {
      ...COMPILE_CACHE,
      OVERDUE_DATABASE_URL: databaseUrl,
      OVERDUE_LISTEN: `127.0.0.1:${port}`,
      OVERDUE_ADMIN_LISTEN: `127.0.0.1:${adminPort}`,
      OVERDUE_SPOOL_FOLDER: join(folder, "spool"),
      OVERDUE_API_RATE_LIMIT: "0",
      OVERDUE_LOG_LEVEL: "info",
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  endWithUs(child);
  endings.push(() => void child.kill("SIGKILL"));
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (text: string) => {
      said = (said + text).slice(-10_000);
    });
  }
  const instance = { name, port, adminPort, child };
  const deadline = performance.now() + START_MS_MAX;
  while (!(await isReady(instance))) {
    if (child.exitCode !== null || performance.now() > deadline) {
      throw new Error(`${name} did not become ready:\n${said}`);
    }
    await sleep(READY_POLL_MS);
  }
  return instance;
}

async function isReady({ adminPort }: Instance): Promise<boolean> {
  try {
    return (await fetch(`http://127.0.0.1:${adminPort}/readyz`, { signal: AbortSignal.timeout(3_000) })).ok;
  } catch {
    return false;
  }
}

async function stopInstance(instance: Instance | undefined): Promise<void> {
  const child = instance?.child;
  if (child === undefined || child.exitCode !== null) return;
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  child.kill("SIGTERM");
  const isOut = await Promise.race([exited.then(() => true), sleep(STOP_MS_MAX, false, { ref: false })]);
  if (!isOut) throw new Error(`${instance?.name} did not stop within ${STOP_MS_MAX / 1_000} s`);
}

async function versionOf({ adminPort }: Instance): Promise<string> {
  const text = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text();
  return /overdue_build_info\{[^}]*version="([^"]+)"/.exec(text)?.[1] ?? "?";
}

/**
 * Passes each connection to a process that is ready. A connection that a process does not accept goes to another one:
 * nothing was sent on it yet.
 */
async function startBalancer(instances: readonly Instance[]): Promise<{ port: number; close(): void }> {
  const ready = new Map<number, boolean>();
  const closing = new AbortController();
  let turn = 0;
  const poll = async () => {
    while (!closing.signal.aborted) {
      await Promise.all(instances.map(async (one) => ready.set(one.port, await isReady(one))));
      await sleep(READY_POLL_MS);
    }
  };
  void poll();
  const open = new Set<Socket>();
  const server: Server = createServer({ allowHalfOpen: true }, (client) => {
    open.add(client);
    client.on("close", () => open.delete(client)).on("error", () => {});
    const choose = () => {
      turn += 1;
      const known = instances.filter(({ port }) => ready.get(port) !== false);
      return known[turn % Math.max(1, known.length)] ?? instances[turn % instances.length];
    };
    const dial = (attempt: number) => {
      const target = choose();
      if (target === undefined || attempt > 50) return void client.destroy();
      const upstream = connect({ port: target.port, host: "127.0.0.1", allowHalfOpen: true });
      const onRefused = () => {
        ready.set(target.port, false);
        setTimeout(dial, 20, attempt + 1);
      };
      upstream.once("error", onRefused);
      upstream.once("connect", () => {
        upstream.off("error", onRefused);
        upstream.on("error", () => client.destroy());
        upstream.on("close", () => client.end());
        client.on("close", () => upstream.destroy());
        client.pipe(upstream);
        upstream.pipe(client);
      });
    };
    dial(1);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    close: () => {
      closing.abort();
      for (const socket of open) socket.destroy();
      server.close();
    },
  };
}

type Loading = {
  /** Counts acknowledged pings by check. */
  acknowledged: Map<string, number>;
  port: number;
  uuids: readonly string[];
  apiKey: string;
  pingsPerSecond: number;
};
type Counted = Omit<UpgradeResult, "lost" | "versions" | "seconds">;

function startLoad({ acknowledged, port, uuids, apiKey, pingsPerSecond }: Loading): {
  seconds(): string;
  stop(): Promise<Counted>;
} {
  const counted: Counted = {
    pings: 0,
    refused: 0,
    apiRequests: 0,
    apiFailed: 0,
    serverErrors: 0,
    complaints: [],
  };
  const agents = [PING_CONNECTIONS, API_CONNECTIONS].map(
    (maxSockets) => new Agent({ keepAlive: true, maxSockets }),
  );
  const begunMs = performance.now();
  const over = new AbortController();
  const complain = (text: string) => {
    const at = `${((performance.now() - begunMs) / 1_000).toFixed(1)} s`;
    if (counted.complaints.length < COMPLAINTS_MAX) counted.complaints.push(`${at}: ${text}`);
  };
  const ping = async (uuid: string) => {
    const { status, problem } = await send({ port, agent: agents[0], path: `/ping/${uuid}` });
    if (status === 200) {
      counted.pings += 1;
      acknowledged.set(uuid, (acknowledged.get(uuid) ?? 0) + 1);
      return;
    }
    counted.refused += 1;
    if (status !== null && status >= 500) counted.serverErrors += 1;
    complain(`ping: ${status ?? "no response"} ${problem}`);
  };
  const pinging = async () => {
    const underWay = new Set<Promise<void>>();
    for (let sent = 0; !over.signal.aborted; sent += 1) {
      const dueMs = begunMs + (sent / pingsPerSecond) * 1_000;
      const waitMs = dueMs - performance.now();
      if (waitMs > 1) await sleep(waitMs);
      const one = ping(uuids[sent % uuids.length] ?? "").finally(() => underWay.delete(one));
      underWay.add(one);
    }
    await Promise.all(underWay);
  };
  const asking = async (worker: number) => {
    for (let turn = 0; !over.signal.aborted; turn += 1) {
      const path = `/api/v3/checks/${turn % 3 === 0 ? "" : uuids[(turn + worker) % uuids.length]}`;
      const body = turn % 3 === 2 ? JSON.stringify({ desc: `edited ${turn}` }) : null;
      const { status, problem } = await send({ port, agent: agents[1], path, apiKey, body });
      counted.apiRequests += 1;
      if (status === null) counted.apiFailed += 1;
      else if (status >= 500) counted.serverErrors += 1;
      if (status !== 200)
        complain(`${body === null ? "GET" : "POST"} ${path}: ${status ?? "no response"} ${problem}`);
      await sleep(API_PAUSE_MS);
    }
  };
  const work = [pinging(), ...Array.from({ length: API_CONNECTIONS }, (_, worker) => asking(worker))];
  return {
    seconds: () => ((performance.now() - begunMs) / 1_000).toFixed(1),
    stop: async () => {
      over.abort();
      await Promise.all(work);
      for (const agent of agents) agent.destroy();
      return counted;
    },
  };
}

type Sending = {
  port: number;
  agent: Agent | undefined;
  path: string;
  apiKey?: string;
  body?: string | null;
};

/** One request, never repeated. */
function send({ port, agent, path, apiKey, body = null }: Sending): Promise<{
  status: number | null;
  problem: string;
}> {
  return new Promise((resolve) => {
    const headers = {
      ...(apiKey !== undefined && { "x-api-key": apiKey }),
      ...(body !== null && { "content-type": "application/json" }),
    };
    const method = body === null ? "GET" : "POST";
    const options = { port, host: "127.0.0.1", path, method, headers, timeout: REQUEST_MS_MAX };
    const sent = request(agent === undefined ? options : { ...options, agent }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => {
        text = (text + part).slice(0, SHOWN_LENGTH_MAX);
      });
      response.once("end", () => resolve({ status: response.statusCode ?? null, problem: text }));
      response.once("error", (error) => resolve({ status: null, problem: error.message }));
    });
    sent.once("timeout", () => sent.destroy(new Error("no response in time")));
    sent.once("error", (error) => resolve({ status: null, problem: error.message }));
    sent.end(body ?? undefined);
  });
}

/** How many acknowledged pings the checks have not counted, also after a spool had time to be replayed. */
async function countLost(database: Database, acknowledged: ReadonlyMap<string, number>): Promise<number> {
  const deadline = performance.now() + REPLAY_MS_MAX;
  for (;;) {
    const missing = await countMissing(database, acknowledged);
    if (missing === 0 || performance.now() > deadline) return missing;
    await sleep(READY_POLL_MS);
  }
}

async function countMissing(database: Database, acknowledged: ReadonlyMap<string, number>): Promise<number> {
  const { rows } = await database.pool.query<{ uuid: string; count: number }>(
    `select c.uuid, s.ping_count + s.coalesced_count as count from checks c join check_states s on s.check_id = c.id`,
  );
  const stored = new Map(rows.map(({ uuid, count }) => [uuid, count]));
  return [...acknowledged].reduce(
    (sum, [uuid, count]) => sum + Math.max(0, count - (stored.get(uuid) ?? 0)),
    0,
  );
}
