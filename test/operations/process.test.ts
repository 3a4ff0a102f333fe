// A whole process inside this one: the same `run` that the binary calls, on its own database.
import { describe, expect, test } from "vitest";
import { loadConfig } from "../../src/config/config.ts";
import { createLog } from "../../src/lib/log.ts";
import { createMetrics } from "../../src/lib/metrics.ts";
import { chooseRoles, ROLE_NAMES } from "../../src/roles/names.ts";
import { type Resources, run } from "../../src/roles/roles.ts";
import { openDatabase } from "../../src/store/db.ts";
import { DatabaseProxy } from "../faults/stage/proxy.ts";
import { temporaryFolder } from "../intake/support/folders.ts";
import { useDatabase } from "../support/database.ts";
import { sampleCheck, sampleProject } from "../support/sample.ts";

const migrated = useDatabase();
const empty = useDatabase({ empty: true });

function resourcesFor(url: string, settings: Record<string, string> = {}) {
  const lines: string[] = [];
  const databaseOptions = { url, applicationName: "overdue-test", onError: () => {}, requireDurable: false };
  const resources: Resources = {
    config: loadConfig({ OVERDUE_ADMIN_LISTEN: "127.0.0.1:0", OVERDUE_LISTEN: "127.0.0.1:0", ...settings })
      .config,
    database: openDatabase(databaseOptions),
    databaseOptions,
    log: createLog({ level: "info", destination: { write: (line) => lines.push(line) } }),
    metrics: createMetrics({ version: "0" }),
  };
  return { resources, lines };
}

const never = () => new AbortController().signal;

describe("choosing roles", () => {
  test("null and all mean every role", () => {
    expect(chooseRoles(null)).toEqual(ROLE_NAMES);
    expect(chooseRoles(["all"])).toEqual(ROLE_NAMES);
  });

  test("a named role is chosen once, whatever is repeated", () => {
    expect(chooseRoles(["housekeeper", "housekeeper"])).toEqual(["housekeeper"]);
    expect(chooseRoles([])).toEqual([]);
  });

  test("an unknown one is refused with the nearest and all others", () => {
    expect(() => chooseRoles(["housekeper"])).toThrow(
      /Unknown role "housekeper"\. Did you mean housekeeper\? Valid roles: /,
    );
  });
});

describe("a process", () => {
  test("starts, answers, and leaves no connection behind", async () => {
    const { resources } = resourcesFor(migrated.url);
    const running = await run(chooseRoles(null), resources, { signal: never() });
    const ready = await fetch(`http://127.0.0.1:${running.adminAddress?.port}/readyz`);
    expect(ready.status).toBe(200);
    expect(await running.stop()).toEqual([]);
    await expect(fetch(`http://127.0.0.1:${running.adminAddress?.port}/healthz`)).rejects.toThrow(
      "fetch failed",
    );
  });

  test("without roles it still answers: every process has an admin server", async () => {
    const { resources } = resourcesFor(migrated.url);
    const running = await run([], resources, { signal: never() });
    const ready = await fetch(`http://127.0.0.1:${running.adminAddress?.port}/readyz`);
    expect(await ready.json()).toEqual({ status: "ready", checks: { process: "ok", database: "ok" } });
    await running.stop();
  });

  test("is not ready while the database is read-only, as a standby is", async () => {
    const { resources } = resourcesFor(migrated.url);
    const running = await run([], resources, { signal: never() });
    // This connection stays unchanged: the setting is for new ones.
    const own = await migrated.db.pool.connect();
    const { rows } = await own.query<{ name: string }>("select quote_ident(current_database()) as name");
    const ready = async () => {
      const answer = await fetch(`http://127.0.0.1:${running.adminAddress?.port}/readyz`);
      return { status: answer.status, text: await answer.text() };
    };
    try {
      await own.query(`alter database ${rows[0]?.name} set default_transaction_read_only = on`);
      await own.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
      );
      await expect
        .poll(ready, { timeout: 30_000, interval: 100 })
        .toEqual({ status: 503, text: expect.stringContaining("The database is read-only") });
    } finally {
      await own.query(`alter database ${rows[0]?.name} reset default_transaction_read_only`);
      own.release();
      await running.stop();
    }
  });

  test("does not start on a schema it does not know, and closes what it had opened", async () => {
    const { resources, lines } = resourcesFor(empty.url, { OVERDUE_MIGRATE_ON_START: "false" });
    await expect(run([], resources, { signal: never() })).rejects.toThrow("Run `overdue migrate` first.");
    const stopped = lines.flatMap((line) =>
      line.includes("service stopped") ? [JSON.parse(line)["service"]] : [],
    );
    expect(stopped).toEqual(["admin", "pool"]);
  });

  test("migrates an empty database; two that start together get along", async () => {
    const both = [resourcesFor(empty.url), resourcesFor(empty.url)];
    const running = await Promise.all(both.map(({ resources }) => run([], resources, { signal: never() })));
    const migrations = both.flatMap(({ lines }) =>
      lines.filter((line) => line.includes("database migrated")),
    );
    expect(migrations).toHaveLength(1);
    await Promise.all(running.map((one) => one.stop()));
  });

  test("stopped before the database is available, it stops waiting", async () => {
    const { resources, lines } = resourcesFor("postgres://nobody@127.0.0.1:1/nothing");
    const stop = new AbortController();
    const starting = run([], resources, { signal: stop.signal });
    await expect.poll(() => lines.some((line) => line.includes("waiting for the database"))).toBe(true);
    const admin = lines
      .map((line) => JSON.parse(line)["url"] as string | undefined)
      .find((url) => url !== undefined);
    const ready = await fetch(`${admin}/readyz`);
    expect(ready.status).toBe(503);
    expect(await ready.json()).toMatchObject({ checks: { process: "starting" } });
    stop.abort();
    await expect(starting).rejects.toThrow("aborted");
  });
});

describe("a process that receives pings and has a spool", () => {
  const urlIn = (lines: readonly string[], listener: string) =>
    lines
      .map((line) => JSON.parse(line) as { listener?: string; url?: string; msg?: string })
      .find((line) => line.msg === `${listener} listening`)?.url;

  test("starts while the database is down, accepts pings for known checks, and records them later", async () => {
    const proxy = await DatabaseProxy.open({ targetPort: Number(new URL(migrated.url).port) });
    const settings = { OVERDUE_SPOOL_FOLDER: temporaryFolder() };
    const { id: projectId } = await sampleProject(migrated.db);
    const { uuid } = await sampleCheck(migrated.db, { projectId });
    const { uuid: stranger } = await sampleCheck(migrated.db, { projectId });
    const start = () => {
      const { resources, lines } = resourcesFor(proxy.urlFor(migrated.url), settings);
      return { starting: run(["ping"], resources, { signal: never() }), lines };
    };
    const ping = (lines: readonly string[], whom: string) =>
      fetch(`${urlIn(lines, "site")}/ping/${whom}`).then((answer) => answer.status);
    const first = start();
    const running = await first.starting;
    expect(await ping(first.lines, uuid)).toBe(200);
    expect(await running.stop()).toEqual([]);
    proxy.cut();
    const second = start();
    await expect.poll(() => urlIn(second.lines, "site"), { timeout: 20_000 }).toBeDefined();
    expect([await ping(second.lines, uuid), await ping(second.lines, stranger)]).toEqual([200, 503]);
    const admin = second.lines.map((line) => (JSON.parse(line) as { url?: string }).url).find(Boolean);
    await expect.poll(() => fetch(`${admin}/readyz`).then(({ status }) => status)).toBe(200);
    proxy.heal();
    const again = await second.starting;
    const count = () =>
      migrated.db.pool
        .query("select ping_count from check_states s join checks c on c.id = s.check_id where uuid = $1", [
          uuid,
        ])
        .then(({ rows }) => Number(rows[0].ping_count));
    await expect.poll(count, { timeout: 20_000 }).toBe(2);
    await expect.poll(() => ping(second.lines, stranger)).toBe(200);
    expect(await again.stop()).toEqual([]);
    const { rows } = await migrated.db.pool.query("select * from intakes where closed_at is null or lost");
    expect(rows).toEqual([]);
    await proxy.close();
  }, 120_000);

  test("is not ready while the database is down and no checks are known", async () => {
    const settings = { OVERDUE_SPOOL_FOLDER: temporaryFolder() };
    const { resources, lines } = resourcesFor("postgres://nobody@127.0.0.1:1/nothing", settings);
    const stop = new AbortController();
    const starting = run(["ping"], resources, { signal: stop.signal });
    await expect.poll(() => urlIn(lines, "site"), { timeout: 20_000 }).toBeDefined();
    const admin = lines.map((line) => (JSON.parse(line) as { url?: string }).url).find(Boolean);
    const ready = async () => {
      const response = await fetch(`${admin}/readyz`);
      return { status: response.status, body: await response.text() };
    };
    await expect.poll(ready).toMatchObject({
      status: 503,
      body: expect.stringContaining("no checks are known on this machine yet"),
    });
    stop.abort();
    await expect(starting).rejects.toThrow("aborted");
  }, 120_000);

  test("stopped before the database is available, it stops in order", async () => {
    const settings = { OVERDUE_SPOOL_FOLDER: temporaryFolder() };
    const { resources, lines } = resourcesFor("postgres://nobody@127.0.0.1:1/nothing", settings);
    const stop = new AbortController();
    const starting = run(["ping"], resources, { signal: stop.signal });
    await expect.poll(() => urlIn(lines, "site"), { timeout: 20_000 }).toBeDefined();
    stop.abort();
    await expect(starting).rejects.toThrow("aborted");
    const stopped = lines.flatMap((line) =>
      line.includes("service stopped") ? [JSON.parse(line)["service"]] : [],
    );
    expect(stopped).toEqual(["site", "schema, if available", "admin", "pool"]);
  }, 120_000);
});
