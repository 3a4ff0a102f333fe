// The restore drill: backs up a server under load, restores into another database, starts a server on it, confirms the
// restore, and simulates the next hour. Every acknowledged ping of the backup must be there, every owed alert must be
// delivered once, and no other.
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { Agent, get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { HOUR_MS, MINUTE_MS, SECOND_MS } from "../../src/core/instant.ts";
import { insertChannel } from "../../src/store/channels.ts";
import { type Database, openDatabase } from "../../src/store/db.ts";
import { findStoredIdentity } from "../../src/store/instance.ts";
import { migrate } from "../../src/store/migrate.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { startWebhook } from "../receivers/kinds/webhook.ts";
import { openEnvironment } from "../sim/driver/environment.ts";
import { SimProcesses } from "../sim/driver/sim-processes.ts";
import { signalOf } from "../sim/driver/signals.ts";
import { realServer } from "../sim/real-server.ts";
import type { Message } from "../sim/server-under-test.ts";
import { COMPILE_CACHE } from "../support/compile-cache.ts";
import { endWithUs } from "../support/end-with-us.ts";
import { freePort } from "../support/ports.ts";
import { embeddedPostgres } from "../support/postgres-binaries.ts";
import { type PostgresServer, startPostgres } from "../support/postgres.ts";
import { sampleProject } from "../support/sample.ts";
import { makeWatched } from "../support/sweeping.ts";

const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url));
const PINGS_PER_SECOND = 500;
const TICK_MS = 20;
const SOCKETS_MAX = 64;
const WAIT_MS_MAX = 120_000;
const POLL_MS = 100;
/** How long the restored server is watched before it is confirmed. */
const SAFE_MS = 3 * SECOND_MS;
const TURN_MS = 20 * SECOND_MS;

export type DrillOptions = {
  /** Checks that are pinged all the time. */
  healthy: number;
  /** Alerts that are pending in the backup, and checks that go silent after it: this many of each. */
  owed: number;
  /** Time under load before the backup. */
  loadMs: number;
  say: (text: string) => void;
};

export type DrillResult = {
  /** Pings that were acknowledged, and of those the ones before the time of the backup. */
  acknowledged: number;
  inBackup: number;
  refused: number;
  /** Acknowledged before the time of the backup, and not in the restored database. */
  missing: number;
  owed: number;
  deliveredOnce: number;
  /** Messages that were not owed, or were sent again. */
  falseAlarms: number;
  /** Messages that the restored server sent before it was confirmed. */
  sentInSafeMode: number;
  backupMs: number;
  backupBytes: number;
  restoreMs: number;
  pingsPerSecond: number;
};

type Check = { uuid: string };

type Stage = {
  server: PostgresServer;
  folder: string;
  receiver: Awaited<ReturnType<typeof startWebhook>>;
  children: Set<ChildProcess>;
};

export async function runDrill(options: DrillOptions): Promise<DrillResult> {
  const stage: Stage = {
    server: await startPostgres({ binaries: embeddedPostgres() }),
    folder: mkdtempSync(join(tmpdir(), "overdue-drill-")),
    receiver: await startWebhook(),
    children: new Set(),
  };
  try {
    return await drill(stage, options);
  } finally {
    for (const child of stage.children) child.kill("SIGKILL");
    await stage.receiver.close();
    await stage.server.stop();
    rmSync(stage.folder, { recursive: true, force: true });
  }
}

async function drill(stage: Stage, options: DrillOptions): Promise<DrillResult> {
  const { say } = options;
  const [from, to] = [await createDatabase(stage, "live"), await createDatabase(stage, "restored")];
  await migrate({ url: from, applicationName: "overdue-drill", onError: () => {} });
  // Thousands of small transactions, and nothing is lost if they are not on disk yet.
  const plan = await using(`${from}?options=-c%20synchronous_commit%3Doff`, (db) =>
    populate(db, { stage, options }),
  );
  say(`${plan.healthy.length} checks are pinged, ${plan.owed.length} alerts are owed`);

  const sitePort = await freePort();
  const live = await startServer(stage, { url: from, port: sitePort, roles: "ping,sweeper" });
  const load = startLoad({ port: sitePort, checks: plan.healthy });
  const halfMs = options.loadMs / 2;
  await sleep(halfMs);
  for (const { uuid } of plan.failing) await load.send(`/ping/${uuid}/fail`);
  await sleep(halfMs);
  const file = join(stage.folder, "backup.tar");
  const backupStartedMs = performance.now();
  const backup = await overdue(stage, ["backup", "--to", file, "--quiet", "--json"], { url: from });
  const backupMs = performance.now() - backupStartedMs;
  const { created_at: createdAt, bytes } = JSON.parse(backup) as { created_at: string; bytes: number };
  await sleep(SECOND_MS);
  const entries = await load.stop();
  await stopServer(live);
  say(
    `backup of ${bytes} bytes in ${Math.round(backupMs)} ms under ${Math.round(entries.perSecond)} pings/s`,
  );

  const restoreStartedMs = performance.now();
  await overdue(stage, ["restore", "--from", file, "--quiet", "--json"], { url: to });
  const restoreMs = performance.now() - restoreStartedMs;
  const taken = entries.acknowledged.filter(({ at }) => at < Date.parse(createdAt));
  const missing = await using(to, (db) =>
    countMissing(
      db,
      taken.map(({ rid }) => rid),
    ),
  );
  say(
    `restored in ${Math.round(restoreMs)} ms: ${missing} of ${taken.length} acknowledged pings are missing`,
  );

  const sentInSafeMode = await startAndConfirm(stage, { url: to, port: sitePort });
  const messages = stage.receiver.received.map(({ body }) => body);
  say(`${sentInSafeMode} messages before the confirmation, ${messages.length} after it`);
  const later = await simulateHour(to, { healthy: plan.healthy });
  const verdict = judge([...messages, ...later], plan.owed);
  say(
    `${verdict.deliveredOnce} of ${plan.owed.length} owed alerts delivered once, ${verdict.falseAlarms} false alarms`,
  );
  return {
    acknowledged: entries.acknowledged.length,
    inBackup: taken.length,
    refused: entries.refused,
    missing,
    owed: plan.owed.length,
    ...verdict,
    sentInSafeMode,
    backupMs: Math.round(backupMs),
    backupBytes: bytes,
    restoreMs: Math.round(restoreMs),
    pingsPerSecond: Math.round(entries.perSecond),
  };
}

async function createDatabase({ server }: Stage, name: string): Promise<string> {
  const admin = new pg.Client({ connectionString: server.url() });
  await admin.connect();
  await admin.query(`create database ${name}`);
  await admin.end();
  return server.url(name);
}

async function using<T>(url: string, work: (db: Database) => Promise<T>): Promise<T> {
  const db = openDatabase({
    url,
    applicationName: "overdue-drill",
    requireDurable: false,
    onError: () => {},
  });
  try {
    return await work(db);
  } finally {
    await db.close();
  }
}

type Plan = {
  /** Pinged before and after the restore; their deadlines pass in between. */
  healthy: readonly Check[];
  /** They report a failure before the backup, and no notifier is running. */
  failing: readonly Check[];
  /** Every message that must be sent, as "down <uuid>". */
  owed: readonly string[];
};

async function populate(
  db: Database,
  { stage: { receiver }, options }: { stage: Stage; options: DrillOptions },
): Promise<Plan> {
  const { id: projectId } = await sampleProject(db);
  const config = {
    url_down: receiver.url,
    url_up: receiver.url,
    url_notice: receiver.url,
    body_down: "$STATUS $CODE",
    body_up: "$STATUS $CODE",
  };
  const channel = await inTransaction(db, (tx) =>
    insertChannel(tx, {
      uuid: randomUUID(),
      kind: "webhook",
      config,
      name: "team",
      projectId,
      createdAt: Date.now(),
    }),
  );
  const make = async (count: number, timeoutSeconds: number) => {
    const made: Check[] = [];
    for (let n = 0; n < count; n += 1) {
      const at = Date.now();
      const settings = { timeoutSeconds, graceSeconds: 60 };
      const state = { lastPingAt: at, newestAt: at };
      const world = { projectId, channels: [channel] };
      made.push(await makeWatched({ db, url: "" }, world, { settings, state }));
    }
    return made;
  };
  const healthy = await make(options.healthy, 60);
  const failing = await make(options.owed, 24 * 3_600);
  const silent = await make(options.owed, 30 * 60);
  return { healthy, failing, owed: [...failing, ...silent].map(({ uuid }) => `down ${uuid}`) };
}

type ServerProcess = { child: ChildProcess; adminPort: number };

function environmentOf(
  stage: Stage,
  { url, port, adminPort }: { url: string; port: number; adminPort: number },
) {
  return {
    ...COMPILE_CACHE,
    OVERDUE_DATABASE_URL: url,
    OVERDUE_LISTEN: `127.0.0.1:${port}`,
    OVERDUE_ADMIN_LISTEN: `127.0.0.1:${adminPort}`,
    OVERDUE_SITE_URL: `http://127.0.0.1:${port}`,
    OVERDUE_CHANNELS_ALLOW_PRIVATE_IPS: "true",
    OVERDUE_SPOOL_FOLDER: mkdtempSync(join(stage.folder, "spool-")),
    OVERDUE_LOG_LEVEL: "error",
  };
}

async function startServer(
  stage: Stage,
  { url, port, roles }: { url: string; port: number; roles: string },
): Promise<ServerProcess> {
  const adminPort = await freePort();
  const env = environmentOf(stage, { url, port, adminPort });
  const child = spawn(process.execPath, [MAIN, "serve", "--roles", roles], {
    env,
    stdio: ["ignore", "inherit", "inherit"],
  });
  endWithUs(child);
  stage.children.add(child);
  child.once("exit", () => stage.children.delete(child));
  const isReady = async () =>
    (await fetch(`http://127.0.0.1:${adminPort}/readyz`).catch(() => null))?.ok === true;
  await until(isReady, "the server is ready");
  return { child, adminPort };
}

async function stopServer({ child }: ServerProcess): Promise<void> {
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  await exited;
}

async function until(isTrue: () => Promise<boolean>, what: string): Promise<void> {
  const endMs = performance.now() + WAIT_MS_MAX;
  while (!(await isTrue())) {
    if (performance.now() > endMs) throw new Error(`it took too long until ${what}`);
    await sleep(POLL_MS);
  }
}

/** Runs a command to its end and returns its standard output. */
async function overdue(stage: Stage, args: readonly string[], { url }: { url: string }): Promise<string> {
  const env = { ...COMPILE_CACHE, OVERDUE_DATABASE_URL: url };
  const child = spawn(process.execPath, [MAIN, ...args], { env, stdio: ["ignore", "pipe", "inherit"] });
  endWithUs(child);
  stage.children.add(child);
  let out = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
  });
  const [code] = (await once(child, "close")) as [number | null];
  stage.children.delete(child);
  if (code !== 0) throw new Error(`overdue ${args.join(" ")} ended with ${code}`);
  return out;
}

type Load = {
  send(path: string): Promise<void>;
  stop(): Promise<{ acknowledged: { rid: string; at: number }[]; refused: number; perSecond: number }>;
};

/** Pings the checks in turn at a fixed rate, whether or not earlier pings were answered. */
function startLoad({ port, checks }: { port: number; checks: readonly Check[] }): Load {
  const agent = new Agent({ keepAlive: true, maxSockets: SOCKETS_MAX });
  const acknowledged: { rid: string; at: number }[] = [];
  const open = new Set<Promise<void>>();
  const startedMs = performance.now();
  let refused = 0;
  let sent = 0;
  const send = (path: string) => {
    const rid = randomUUID();
    const sending = new Promise<void>((resolve) => {
      const request = get({ host: "127.0.0.1", port, path: `${path}?rid=${rid}`, agent }, (response) => {
        response.resume().once("close", () => {
          // The answer came before this moment, so the ping was stored before it.
          if (response.statusCode === 200 && response.complete) acknowledged.push({ rid, at: Date.now() });
          else refused += 1;
          resolve();
        });
      });
      request.once("error", () => {
        refused += 1;
        resolve();
      });
    });
    open.add(sending);
    void sending.then(() => open.delete(sending));
    return sending;
  };
  const timer = setInterval(() => {
    const due = Math.floor(((performance.now() - startedMs) / SECOND_MS) * PINGS_PER_SECOND);
    for (; sent < due; sent += 1) void send(`/ping/${checks[sent % checks.length]?.uuid}`);
  }, TICK_MS);
  return {
    send,
    stop: async () => {
      clearInterval(timer);
      const perSecond = sent / ((performance.now() - startedMs) / SECOND_MS);
      await Promise.all(open);
      agent.destroy();
      return { acknowledged, refused, perSecond };
    },
  };
}

async function countMissing(db: Database, rids: readonly string[]): Promise<number> {
  const { rows } = await db.pool.query<{ rid: string }>("select rid from pings where rid is not null");
  const found = new Set(rows.map(({ rid }) => rid));
  return rids.filter((rid) => !found.has(rid)).length;
}

/** Starts a server with all roles, confirms the restore, and waits until all that is pending was sent. */
async function startAndConfirm(stage: Stage, at: { url: string; port: number }): Promise<number> {
  const server = await startServer(stage, { ...at, roles: "all" });
  await sleep(SAFE_MS);
  const state = await using(at.url, async (db) => (await findStoredIdentity(db))?.state);
  if (state !== "safe") throw new Error(`the restored server is in the state ${state}, not in safe mode`);
  const sentInSafeMode = stage.receiver.received.length;
  await overdue(stage, ["admin", "confirm-restore", "--json"], at);
  await until(async () => (await countPending(at.url)) === 0, "pending messages are sent");
  await stopServer(server);
  return sentInSafeMode;
}

function countPending(url: string): Promise<number> {
  return using(url, async (db) => {
    const { rows } = await db.pool.query("select 1 from deliveries where state = 'pending'");
    return rows.length;
  });
}

/** The hour after the confirmation, with the real sweeper and notifier on a virtual clock. */
async function simulateHour(url: string, { healthy }: { healthy: readonly Check[] }): Promise<string[]> {
  const environment = await openEnvironment(url);
  const messages: string[] = [];
  const send = async (message: Message) => {
    messages.push(textOf(message));
    return "accepted" as const;
  };
  try {
    const from = Date.now();
    const head = { intakeCount: 1 } as ConstructorParameters<typeof SimProcesses>[1]["head"];
    const clocks = { databaseAt: (at: number) => at, receiptAt: (at: number) => at };
    const processes = new SimProcesses(environment, { head, clocks });
    const killed = new AbortController().signal;
    let beforeAt = from;
    for (let at = from; at <= from + HOUR_MS; at += TURN_MS) {
      const moment = { databaseAt: at, receiptAt: at };
      await environment.setClock(at);
      if (at === from) await processes.startAll(moment);
      // Each check is pinged every 40 seconds.
      const turn = (at - from) / TURN_MS;
      const due = healthy.filter((_, index) => index % 2 === turn % 2);
      const signals = due.map(({ uuid }, check) =>
        signalOf({ what: "success", rid: null, check, at, trueAt: at }, uuid),
      );
      await processes.record(0, signals, processes.visibility({ receiptAt: at, beforeAt }));
      await processes.heartbeat(moment);
      const { now, visibility } = await processes.sweeperVisibility();
      await realServer.sweepDeadlines(environment.database, { now, visibility });
      await realServer.deliverDue(environment.database, { now: at, send, killed });
      beforeAt = at;
    }
    // What the last minutes have queued.
    for (let at = from + HOUR_MS; at <= from + HOUR_MS + 2 * MINUTE_MS; at += TURN_MS) {
      await realServer.deliverDue(environment.database, { now: at, send, killed });
    }
    return messages;
  } finally {
    await environment.close();
  }
}

function textOf(message: Message): string {
  if (message.about !== "flips") return message.about;
  const last = message.flips.at(-1);
  return `${last?.to} ${message.checkUuid}`;
}

function judge(
  messages: readonly string[],
  owed: readonly string[],
): { deliveredOnce: number; falseAlarms: number } {
  const counts = new Map<string, number>();
  for (const message of messages) counts.set(message, (counts.get(message) ?? 0) + 1);
  const deliveredOnce = owed.filter((message) => counts.get(message) === 1).length;
  return {
    deliveredOnce,
    falseAlarms: messages.length - owed.filter((message) => counts.has(message)).length,
  };
}

/** Whether the restore kept its promises. */
export function isGood({
  missing,
  owed,
  deliveredOnce,
  falseAlarms,
  sentInSafeMode,
  inBackup,
}: DrillResult): boolean {
  return missing === 0 && deliveredOnce === owed && falseAlarms === 0 && sentInSafeMode === 0 && inBackup > 0;
}

/** The result with flat keys, for scripts. */
export function figuresOf(result: DrillResult): Record<string, number> {
  const nameOf = (key: string) => `drill.${key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}`;
  return Object.fromEntries(Object.entries(result).map(([key, value]) => [nameOf(key), value]));
}
