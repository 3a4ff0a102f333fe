// The API while its link to the database is cut: refusals that say when to come back, within seconds, and service
// as before once the link is there again.
import { afterAll, beforeAll, expect, test } from "vitest";
import { loadConfig } from "../../src/config/config.ts";
import { createLog } from "../../src/lib/log.ts";
import { createMetrics } from "../../src/lib/metrics.ts";
import { createAccount } from "../../src/operations/accounts.ts";
import { secretKeyOf } from "../../src/operations/secrets.ts";
import { createProject } from "../../src/operations/projects.ts";
import { chooseRoles } from "../../src/roles/names.ts";
import { run, type RunningProcess } from "../../src/roles/roles.ts";
import { openDatabase } from "../../src/store/db.ts";
import { readDatabaseClock } from "../../src/store/instance.ts";
import { DatabaseProxy } from "../faults/stage/proxy.ts";
import { awakeMs } from "../support/awake.ts";
import { useDatabase } from "../support/database.ts";

const ANSWER_MS_MAX = 8_000;

const database = useDatabase();
const lines: string[] = [];
let proxy: DatabaseProxy;
let running: RunningProcess;
let key: string;

beforeAll(async () => {
  const direct = new URL(database.url);
  proxy = await DatabaseProxy.open({ targetPort: Number(direct.port) });
  const databaseOptions = {
    url: proxy.urlFor(database.url),
    applicationName: "overdue-api",
    onError: () => {},
    requireDurable: false,
  };
  const { config } = loadConfig({ OVERDUE_ADMIN_LISTEN: "127.0.0.1:0", OVERDUE_LISTEN: "127.0.0.1:0" });
  running = await run(
    chooseRoles(["api"]),
    {
      config,
      database: openDatabase(databaseOptions),
      databaseOptions,
      log: createLog({ level: "warn", destination: { write: (line) => lines.push(line) } }),
      metrics: createMetrics({ version: "0" }),
    },
    { signal: new AbortController().signal },
  );
  const now = await readDatabaseClock(database.db);
  const owner = { email: "owner@example.org", name: "", isAdmin: false, checkLimit: null, now };
  const { id: ownerId } = await createAccount(database.db, owner);
  const secretKey = await secretKeyOf(database.db, null);
  key = (await createProject(database.db, { ownerId, name: "Away", secretKey, now })).apiKey;
});

afterAll(async () => {
  proxy.heal();
  await running.stop();
  await proxy.close();
});

/** Sends a request and says what came of it, and after how long. */
async function ask(path: string, method = "GET") {
  const origin = `http://127.0.0.1:${running.addresses.api?.port}`;
  const startedAt = awakeMs();
  const body = method === "POST" ? "{}" : null;
  const response = await fetch(origin + path, { method, headers: { "X-Api-Key": key }, body });
  const json: unknown = await response.json();
  const retryAfter = response.headers.get("retry-after");
  return { status: response.status, json, retryAfter, ms: awakeMs() - startedAt };
}

test("requests get 503 with Retry-After in time, and are served again afterwards", async () => {
  expect((await ask("/api/v3/checks/")).status).toBe(200);
  proxy.cut();
  for (const [path, method] of [
    ["/api/v3/checks/"],
    ["/api/v3/checks/", "POST"],
    ["/api/v3/status/"],
  ] as const) {
    const refused = await ask(path, method);
    expect([path, refused.status, refused.json]).toEqual([path, 503, { error: "service unavailable" }]);
    expect(Number(refused.retryAfter)).toBeGreaterThan(0);
    expect(refused.ms).toBeLessThan(ANSWER_MS_MAX);
  }
  proxy.heal();
  await expect.poll(async () => (await ask("/api/v3/checks/", "POST")).status).toBe(201);
  expect((await ask("/api/v3/status/")).status).toBe(200);
  expect(lines.join("")).not.toContain(key);
});
