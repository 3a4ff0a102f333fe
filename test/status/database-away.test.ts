// A status page while PostgreSQL is stopped: the last known state with its time, and after a restart of the program a page
// that says that there is none. The program runs in a process of its own.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { useOwnPostgres } from "../support/own-postgres.ts";
import { type PingProcess, startPingProcess } from "../support/ping-process.ts";
import { freePort } from "../support/ports.ts";
import { sampleCheck, sampleProject } from "../support/sample.ts";
import { samplePage } from "./pages.ts";

const postgres = useOwnPostgres();
let program: PingProcess | undefined;
let port: number;
let spool: string;

/** With a spool, the port opens without the database. */
const start = () =>
  startPingProcess({
    databaseUrl: postgres.server.url(),
    port,
    roles: "ping,api,web",
    settings: { OVERDUE_SPOOL_FOLDER: spool },
  });

beforeAll(async () => {
  port = await freePort();
  spool = await mkdtemp(join(tmpdir(), "overdue-status-"));
  const { id: projectId } = await sampleProject(postgres.db);
  const { uuid } = await sampleCheck(postgres.db, { projectId });
  const groups = [{ name: "", entries: [{ name: "Checkout", check: uuid, tag: null }] }];
  await samplePage(postgres.db, { slug: "nordlight", title: "Nordlight", projectId, groups });
  program = await start();
});

afterAll(async () => {
  await program?.stop();
  await rm(spool, { recursive: true, force: true });
});

async function ask(path: string): Promise<{ status: number; text: string; retryAfter: string | null }> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`);
  return {
    status: response.status,
    text: await response.text(),
    retryAfter: response.headers.get("retry-after"),
  };
}

test("The last known state stays, with its time; after a restart it is not available", async () => {
  const path = "/status/nordlight/";
  await expect.poll(async () => (await ask(path)).status).toBe(200);
  await postgres.server.crash();
  let isBack = false;
  try {
    await expect
      .poll(async () => {
        const { status, text } = await ask(path);
        expect(status).toBe(200);
        expect(text).toContain("Checkout");
        return /Not updated since [\w ,]*\d\d:\d\d UTC\./.test(text);
      })
      .toBe(true);
    expect((await ask(`${path}status.json`)).text).toContain('"isStale":true');
    expect((await ask("/status/unknown/")).status).toBe(404);

    await program?.stop();
    program = undefined;
    const starting = start();
    starting.catch(() => undefined);
    await expect.poll(() => ask(path).catch(() => null)).toMatchObject({ status: 503, retryAfter: "5" });
    expect((await ask(path)).text).toContain("Status not available");
    await postgres.server.resume();
    isBack = true;
    program = await starting;
  } finally {
    if (!isBack) await postgres.server.resume();
  }
  await expect.poll(async () => (await ask(path)).status).toBe(200);
  expect((await ask(path)).text).not.toContain("Not updated since");
});
