// The role in a process that also receives pings: no ping and no probe suffers from a store that is away, and
// what was received meanwhile is moved when it is back.
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadConfig } from "../../src/config/config.ts";
import { createLog } from "../../src/lib/log.ts";
import { createMetrics } from "../../src/lib/metrics.ts";
import { readBody } from "../../src/operations/ping-bodies.ts";
import { type Resources, run } from "../../src/roles/roles.ts";
import { openDatabase } from "../../src/store/db.ts";
import { findBody } from "../../src/store/pings.ts";
import { useDatabase } from "../support/database.ts";
import { isS3ServerInstalled, S3Server, WHY_SKIPPED } from "../support/s3-server.ts";
import { sampleCheck, sampleProject } from "../support/sample.ts";

const MOVED_WITHIN_MS = 60_000;

const database = useDatabase();

function resourcesFor(settings: Record<string, string>) {
  const lines: string[] = [];
  const databaseOptions = {
    url: database.url,
    applicationName: "overdue-test",
    onError: () => {},
    requireDurable: false,
  };
  const resources: Resources = {
    config: loadConfig({ OVERDUE_ADMIN_LISTEN: "127.0.0.1:0", OVERDUE_LISTEN: "127.0.0.1:0", ...settings })
      .config,
    database: openDatabase(databaseOptions),
    databaseOptions,
    log: createLog({ level: "info", destination: { write: (line) => lines.push(line) } }),
    metrics: createMetrics({ version: "0" }),
  };
  return { resources, said: () => lines.join("") };
}

const start = (roles: Parameters<typeof run>[0], resources: Resources) =>
  run(roles, resources, { signal: new AbortController().signal });

test("without a store in the settings the role is there, does nothing, and is well", async () => {
  const { resources } = resourcesFor({});
  const running = await start(["mover"], resources);
  const ready = await fetch(`http://127.0.0.1:${running.adminAddress?.port}/readyz`);
  expect(await ready.json()).toMatchObject({ status: "ready", checks: { mover: "ok" } });
  expect(await running.stop()).toEqual([]);
});

describe.skipIf(!isS3ServerInstalled)(`with a real store${WHY_SKIPPED}`, () => {
  let server: S3Server;
  beforeAll(async () => {
    server = await S3Server.make();
  });
  afterAll(() => server.remove());

  test("pings are recorded while it is unavailable, and bodies are moved when it is available", {
    timeout: 3 * MOVED_WITHIN_MS,
  }, async () => {
    const { uuid, id: checkId } = await sampleCheck(database.db, {
      projectId: (await sampleProject(database.db)).id,
    });
    const { resources, said } = resourcesFor(server.settings());
    const running = await start(["ping", "mover"], resources);
    try {
      const bodies = Array.from({ length: 5 }, () => randomBytes(10_000));
      for (const body of bodies) {
        const url = `http://127.0.0.1:${running.addresses.ping?.port}/ping/${uuid}`;
        expect((await fetch(url, { method: "POST", body })).status).toBe(200);
      }
      await expect.poll(said, { timeout: MOVED_WITHIN_MS }).toContain("the object store is failing");
      const admin = `http://127.0.0.1:${running.adminAddress?.port}`;
      expect((await fetch(`${admin}/readyz`)).status).toBe(200);
      expect(await (await fetch(`${admin}/metrics`)).text()).toContain("\noverdue_object_store_trouble 1\n");
      expect((await findBody(database.db, { checkId, n: 1 }))?.body).toEqual(bodies[0]);

      await server.start();
      const inDatabase = async () => {
        const { rows } = await database.db.pool.query<{ count: string }>(
          "select count(body)::text as count from ping_bodies",
        );
        return rows[0]?.count;
      };
      await expect.poll(inDatabase, { timeout: MOVED_WITHIN_MS }).toBe("0");
      const objects = server.open();
      for (const [i, body] of bodies.entries()) {
        expect(await readBody(database.db, { objects, checkId, n: i + 1 })).toEqual({ kind: "found", body });
      }
      expect(said()).not.toContain(server.secretKey);
    } finally {
      expect(await running.stop()).toEqual([]);
    }
  });
});
