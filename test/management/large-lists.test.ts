// Lists that are larger than memory should hold: the real program, 10,000 checks with descriptions of 10 kB each, read
// three times at once, and by clients that do not read at all.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { callOverdue, useDurablePostgres } from "../cli/run-overdue.ts";
import { type PingProcess, startPingProcess } from "../support/ping-process.ts";
import { freePort } from "../support/ports.ts";

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

const COUNT = 10_000;
const DESCRIPTION_LENGTH = 10_000;
const RESIDENT_BYTES_MAX = 512 * 1024 * 1024;
const SLOW_READERS = 40;

const postgres = useDurablePostgres();
let program: PingProcess;
let key = "";
let healthUrl = "";

beforeAll(async () => {
  const databaseUrl = await postgres.newDatabase();
  const environment = { OVERDUE_DATABASE_URL: databaseUrl };
  await callOverdue(["migrate"], environment);
  await callOverdue(["admin", "create-account", "--email", "ann@example.org"], environment);
  const made = await callOverdue(["admin", "create-project", "--json"], environment);
  const project = JSON.parse(made.out) as { uuid: string; api_key: string };
  key = project.api_key;
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query(
    `insert into checks (uuid, badge_uuid, unique_key,
      project_id, name, slug, tags, description, kind, timeout_seconds,
       grace_seconds, schedule, tz, manual_resume, methods, start_kw, success_kw, failure_kw, filter_subject,
       filter_body, filter_http_body, filter_default_fail, created_at, updated_at)
     select gen_random_uuid(), gen_random_uuid(), gen_random_uuid()::text, p.id, 'job ' || n, 'job-' || n, '',
       rpad('', $2::int, md5(n::text)), 'simple', 3600, 600, '* * * * *', 'UTC', false, '', '', '', '', false,
       false, false, false, now(), now()
     from projects p, generate_series(1, $1::int) n`,
    [COUNT, DESCRIPTION_LENGTH],
  );
  await client.query(
    `insert into check_states (check_id, status, ping_count, coalesced_count, rate_count)
     select id, 'new', 0, 0, 0 from checks`,
  );
  await client.query("analyze checks, check_states");
  await client.end();
  const adminPort = await freePort();
  healthUrl = `http://127.0.0.1:${adminPort}/healthz`;
  program = await startPingProcess({
    databaseUrl,
    port: await freePort(),
    roles: "api,web",
    settings: { OVERDUE_ADMIN_LISTEN: `127.0.0.1:${adminPort}`, OVERDUE_API_RATE_LIMIT: "0" },
  });
});
afterAll(() => program.stop());

/** Reads a list to its end and holds none of it. */
async function readList(): Promise<{ bytes: number; checks: number }> {
  const response = await fetch(`http://127.0.0.1:${program.port}/api/v3/checks/`, {
    headers: { "X-Api-Key": key },
  });
  expect(response.status).toBe(200);
  let bytes = 0;
  let checks = 0;
  let tail = "";
  for await (const chunk of response.body ?? []) {
    const piece = tail + Buffer.from(chunk as Uint8Array).toString("latin1");
    checks += piece.split('"ping_url"').length - 1;
    tail = piece.slice(-9);
    bytes += (chunk as Uint8Array).length;
  }
  return { bytes, checks };
}

/** The most memory that the program occupies while something goes on. */
async function memoryDuring(work: Promise<unknown>): Promise<number> {
  const watching = { isDone: false };
  const done = work.finally(() => {
    watching.isDone = true;
  });
  let most = 0;
  while (!watching.isDone) {
    most = Math.max(most, await program.residentBytes());
    await sleep(50);
  }
  await done;
  return most;
}

function startProbe(): { stop(): Promise<number[]> } {
  const script = fileURLToPath(new URL("./health-probe.js", import.meta.url));
  const child = spawn(process.execPath, [script, healthUrl], { stdio: ["pipe", "pipe", "inherit"] });
  const said = text(child.stdout);
  const closed = once(child, "close");
  return {
    stop: async () => {
      child.stdin.end("end\n");
      await closed;
      return JSON.parse(await said) as number[];
    },
  };
}

function report(what: string, figures: Readonly<Record<string, number>>): void {
  const texts = Object.entries(figures).map(([name, value]) => `${name} ${value}`);
  process.stdout.write(`${what}: ${texts.join(", ")}\n`);
}

const quantile = (sorted: readonly number[], part: number) =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;

test("three lists of 10,000 checks at once stay within memory and delay no other request", async () => {
  const before = await program.residentBytes();
  const probe = startProbe();
  const startedMs = performance.now();
  const reading = Promise.all([readList(), readList(), readList()]);
  const most = await memoryDuring(reading);
  const lists = await reading;
  const took = (await probe.stop()).toSorted((one, other) => one - other);
  report("three concurrent lists", {
    "MB each": Math.round((lists[0]?.bytes ?? 0) / 1e6),
    seconds: Math.round((performance.now() - startedMs) / 100) / 10,
    "RSS before, MB": Math.round(before / 1e6),
    "RSS at most, MB": Math.round(most / 1e6),
    "healthz median, ms": quantile(took, 0.5),
    "p95, ms": quantile(took, 0.95),
    "at most, ms": took.at(-1) ?? 0,
    asked: took.length,
  });
  for (const { bytes, checks } of lists) {
    expect(checks).toBe(COUNT);
    expect(bytes).toBeGreaterThan(COUNT * DESCRIPTION_LENGTH);
  }
  expect(most).toBeLessThan(RESIDENT_BYTES_MAX);
  // The machine may be busy with other things, so only what is typical has a bound here.
  expect(quantile(took, 0.95)).toBeLessThan(200);
});

test("clients that ask for the list and do not read it hold no memory, and leave room for others", async () => {
  const sockets: Socket[] = [];
  for (let count = 0; count < SLOW_READERS; count++) {
    const socket = connect({ port: program.port, host: "127.0.0.1" });
    socket.on("error", () => undefined);
    await once(socket, "connect");
    socket.pause();
    socket.write(`GET /api/v3/checks/ HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${key}\r\n\r\n`);
    sockets.push(socket);
  }
  const most = await memoryDuring(sleep(8_000));
  report("slow readers", { clients: SLOW_READERS, "RSS at most, MB": Math.round(most / 1e6) });
  expect(most).toBeLessThan(RESIDENT_BYTES_MAX);
  const health = await fetch(healthUrl);
  expect(health.status).toBe(200);
  for (const socket of sockets) socket.destroy();
  // The places of those that are gone are free again.
  await expect
    .poll(async () => (await readList().catch(() => null))?.checks, { timeout: 60_000 })
    .toBe(COUNT);
});
