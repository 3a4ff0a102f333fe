// A whole process inside this one: the same `run` that the binary calls, on a database of its own.
import { describe, expect, test } from "vitest";
import { loadConfig } from "../../src/config.ts";
import { createLog } from "../../src/lib/log.ts";
import { createMetrics } from "../../src/lib/metrics.ts";
import { chooseRoles, type Resources, ROLE_NAMES, run } from "../../src/roles.ts";
import { openDatabase } from "../../src/store/db.ts";
import { useDatabase } from "../support/database.ts";

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
      /no role "housekeper"\. Did you mean housekeeper\? There are: /,
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
    const migrations = both.flatMap(({ lines }) => lines.filter((line) => line.includes("schema migrated")));
    expect(migrations).toHaveLength(1);
    await Promise.all(running.map((one) => one.stop()));
  });

  test("told to stop before the database is there, it gives up waiting", async () => {
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
