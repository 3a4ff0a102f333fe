// Concurrent changes of checks: one check per request, no more than the limit, no lost edits or signals; and
// conflicts with other transactions.
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DEFAULT_SETTINGS } from "../../src/core/check.ts";
import { AppError } from "../../src/core/errors.ts";
import { MINUTE_MS } from "../../src/core/instant.ts";
import { readPingSettings } from "../../src/core/ping-settings.ts";
import { downAtOf } from "../../src/core/state.ts";
import {
  createCheck,
  deleteCheck,
  pauseCheck,
  provisionCheck,
  updateCheck,
} from "../../src/operations/checks.ts";
import { deleteChannel, listAssignmentsOfChecks } from "../../src/store/channels.ts";
import {
  findCheckByUuid,
  listChecks,
  lockCreation,
  lockStates,
  markCheckDeleted,
  updateCheck as writeSettings,
} from "../../src/store/checks.ts";
import { type Database, statement } from "../../src/store/db.ts";
import { isDatabaseAway, postgresErrorName } from "../../src/store/errors.ts";
import { listEvents } from "../../src/store/events.ts";
import { listPings } from "../../src/store/pings.ts";
import { listPolicies } from "../../src/store/policies.ts";
import { inTransaction, type Tx } from "../../src/store/transaction.ts";
import { creation, edit, sampleChannel, sampleIntake, UNSEEN } from "../support/checks-under-change.ts";
import { openTestDatabase, useDatabase } from "../support/database.ts";
import { MONDAY_NOON as NOW, sampleAccount, sampleCheck, sampleProject } from "../support/sample.ts";

const database = useDatabase();

const TRIES_MAX = 20;
const NOTHING = statement({ name: "test.nothing", text: "select 1" });

// Two pools, like two processes, with open connections: otherwise the first to connect would finish before the others
// have begun.
let other: Database;
beforeAll(async () => {
  other = openTestDatabase(database.url);
  for (const { pool } of [database.db, other]) {
    const clients = await Promise.all(Array.from({ length: pool.options.max }, () => pool.connect()));
    for (const client of clients) client.release();
  }
});
afterAll(() => other.close());

/** Runs `work` this many times at once, spread over both pools; the results in order. */
function atOnce<T>(count: number, work: (db: Database, index: number) => Promise<T>): Promise<T[]> {
  return Promise.all(
    Array.from({ length: count }, (_, index) =>
      patiently(() => work(index % 2 === 0 ? database.db : other, index)),
    ),
  );
}

/** Retries on request: on a busy machine not every request succeeds within the few seconds of waiting. */
async function patiently<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      const isRefused = error instanceof AppError && error.code === "unavailable";
      if (!(isRefused || isDatabaseAway(error)) || tries === TRIES_MAX) throw error;
    }
  }
}

function tally(kinds: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const kind of kinds) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

describe("creating at once", () => {
  test("50 identical upserts make one check", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const request = creation(projectId, { params: { name: "job", tags: "prod" }, unique: ["name", "tags"] });
    const results = await atOnce(50, (db) => createCheck(db, request));
    expect(tally(results.map(({ kind }) => kind))).toEqual({ created: 1, updated: 49 });
    expect(await listChecks(database.db, { projectId })).toHaveLength(1);
  });

  test("upserts that share only one of their values make one check as well", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const params = { name: "job", slug: "job", tags: "prod" };
    const wishes = [["name"], ["slug", "name"], ["name", "tags"], ["tags", "slug", "name"]] as const;
    await atOnce(24, (db, index) =>
      createCheck(db, creation(projectId, { params, unique: wishes[index % wishes.length] ?? [] })),
    );
    expect(await listChecks(database.db, { projectId })).toHaveLength(1);
  });

  test("50 creates at a limit of 20 make exactly 20, over all projects of the owner", async () => {
    const { id: ownerId } = await sampleAccount(database.db);
    const projects = await Promise.all([1, 2].map(() => sampleProject(database.db, { ownerId })));
    const results = await atOnce(50, (db, index) => {
      const projectId = projects[index % 3 === 0 ? 0 : 1]?.id ?? 0;
      return createCheck(db, creation(projectId, { checkLimitDefault: 20 }));
    });
    expect(tally(results.map(({ kind }) => kind))).toEqual({ created: 20, refused: 30 });
    const made = await Promise.all(projects.map(({ id }) => listChecks(database.db, { projectId: id })));
    expect(made.flat()).toHaveLength(20);
  });

  test("20 pings with create=1, and upserts of the same slug among them, make one check", async () => {
    const { id: projectId, pingKey } = await sampleProject(database.db);
    const ping = { pingKey: pingKey ?? "", slug: "job", at: NOW, checkLimitDefault: 1 };
    const made = await atOnce(20, (db) => provisionCheck(db, ping));
    expect(tally(made)).toEqual({ created: 1, exists: 19 });
    const upsert = creation(projectId, { params: { slug: "both" }, unique: ["slug"] });
    await atOnce(20, async (db, index) => {
      if (index % 3 === 0) await createCheck(db, upsert);
      else await provisionCheck(db, { ...ping, slug: "both", checkLimitDefault: null });
    });
    const slugs = (await listChecks(database.db, { projectId })).map(({ settings }) => settings.slug);
    expect(slugs).toEqual(["job", "both"]);
  });

  test("pings with create=1 for different slugs stop at twice the limit", async () => {
    const { id: projectId, pingKey } = await sampleProject(database.db);
    const ping = { pingKey: pingKey ?? "", at: NOW, checkLimitDefault: 5 };
    const made = await atOnce(20, (db, index) => provisionCheck(db, { ...ping, slug: `job-${index}` }));
    expect(tally(made)).toEqual({ created: 10, unknown: 10 });
    expect(await listChecks(database.db, { projectId })).toHaveLength(10);
  });
});

describe("a ping with create=1", () => {
  test("makes a check named by its slug, with the defaults and all channels of its project", async () => {
    const { id: projectId, pingKey } = await sampleProject(database.db);
    const channels = [
      await sampleChannel(database.db, { projectId }),
      await sampleChannel(database.db, { projectId }),
    ];
    await sampleChannel(database.db, { projectId: (await sampleProject(database.db)).id });
    const ping = { pingKey: pingKey ?? "", slug: "nightly", at: NOW + 3, checkLimitDefault: null };
    expect(await provisionCheck(database.db, ping)).toBe("created");
    const [check] = await listChecks(database.db, { projectId });
    expect(check).toMatchObject({
      settings: { ...DEFAULT_SETTINGS, name: "nightly", slug: "nightly" },
      state: { status: "new" },
    });
    expect((await findCheckByUuid(database.db, check?.uuid ?? ""))?.createdAt).toBe(NOW + 3);
    const assigned = await listAssignmentsOfChecks(database.db, [check?.id ?? 0]);
    expect(assigned.map(({ channelId }) => channelId)).toEqual(channels.map(({ id }) => id));
    expect(await provisionCheck(database.db, ping)).toBe("exists");
  });

  test("gives the check its settings and policy, and what was ignored is an event", async () => {
    const { id: projectId, pingKey } = await sampleProject(database.db);
    const given = readPingSettings(
      Object.entries({ name: "Nightly", tags: "prod", schedule: "30 2 * * *", max_run: "6h", tz: "Mars" }),
    );
    const ping = { pingKey: pingKey ?? "", slug: "nightly", given, at: NOW, checkLimitDefault: null };
    expect(await provisionCheck(database.db, ping)).toBe("created");
    const [check] = await listChecks(database.db, { projectId });
    expect(check?.settings).toMatchObject({
      name: "Nightly",
      slug: "nightly",
      tags: "prod",
      kind: "cron",
      schedule: "30 2 * * *",
      tz: "UTC",
      rules: { maxRunSeconds: 21_600 },
    });
    const checkId = check?.id ?? 0;
    const [policy] = await listPolicies(database.db, [checkId]);
    expect(policy?.own).toEqual({ maxRun: 21_600 });
    const warning = "Ignored settings: tz is not a valid timezone.";
    expect(await listEvents(database.db, { checkId, limit: 10 })).toMatchObject([
      { kind: "settings_ignored", at: NOW, accountId: null, detail: { warning } },
    ]);
    // The check exists: its settings stay, whatever a ping carries.
    const again = {
      ...ping,
      given: readPingSettings([
        ["name", "Other"],
        ["tz", "x"],
      ]),
    };
    expect(await provisionCheck(database.db, again)).toBe("exists");
    expect((await listChecks(database.db, { projectId }))[0]?.settings.name).toBe("Nightly");
    expect(await listEvents(database.db, { checkId, limit: 10 })).toHaveLength(1);
  });

  test("creates none next to several with the same slug, and none for an unknown key", async () => {
    const { id: projectId, pingKey } = await sampleProject(database.db);
    await sampleCheck(database.db, { projectId, slug: "twin" });
    await sampleCheck(database.db, { projectId, slug: "twin" });
    const ping = { slug: "twin", at: NOW, checkLimitDefault: null };
    expect(await provisionCheck(database.db, { ...ping, pingKey: pingKey ?? "" })).toBe("exists");
    expect(await provisionCheck(database.db, { ...ping, pingKey: randomUUID() })).toBe("unknown");
  });
});

describe("edits among signals", () => {
  test("lose no signal, no edit and no deadline", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const checks = await atOnce(4, () => sampleCheck(database.db, { projectId }));
    const batches = 40;
    const signals = atOnce(2, async (db, lane) => {
      const record = await sampleIntake(db);
      for (let seq = 1; seq <= batches; seq++) {
        const order = (lane + seq) % 2 === 0 ? checks : checks.toReversed();
        await record(order.map(({ uuid }) => ({ uuid, at: NOW + seq * MINUTE_MS })));
      }
    });
    const fields = ["name", "tags", "desc", "startKw"] as const;
    const edits = atOnce(fields.length * checks.length, async (db, index) => {
      const field = fields[index % fields.length] ?? "name";
      const check = checks[Math.floor(index / fields.length)];
      for (let turn = 1; turn <= 10; turn++) {
        const timing = field === "name" ? { timeoutSeconds: 60 * turn } : {};
        const params = { [field]: `${field} ${turn}`, ...timing };
        const change = { projectId, checkId: check?.id ?? 0, ...edit({ params, at: NOW + turn }) };
        await patiently(() => updateCheck(db, change));
      }
    });
    await Promise.all([signals, edits]);
    for (const { id, uuid } of checks) {
      const check = await findCheckByUuid(database.db, uuid);
      if (check === null) throw new Error("the check is gone");
      expect(check.settings).toMatchObject(Object.fromEntries(fields.map((field) => [field, `${field} 10`])));
      expect(check.settings.timeoutSeconds).toBe(600);
      expect(check.state).toMatchObject({ pingCount: 2 * batches, lastPingAt: NOW + batches * MINUTE_MS });
      expect(check.downAt).toBe(downAtOf({ timing: check.settings, state: check.state }));
      const numbers = (await listPings(database.db, { checkId: id, afterN: 0, limit: 1_000 })).map(
        ({ n }) => n,
      );
      expect(numbers).toEqual(Array.from({ length: 2 * batches }, (_, index) => 2 * batches - index));
    }
  });

  test("a deletion in the middle leaves neither a check nor a stray row", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const { id, uuid } = await sampleCheck(database.db, { projectId });
    const record = await sampleIntake(database.db);
    const results: unknown[] = [];
    const signals = (async () => {
      while (!results.includes("unknown")) results.push((await record([{ uuid, body: "x" }]))[0]);
    })();
    const commands = { projectId, checkId: id, at: NOW, accountId: null, visibility: UNSEEN };
    while (!results.includes("recorded")) await sleep(1);
    await Promise.all([
      patiently(() => pauseCheck(other, commands)),
      patiently(() => updateCheck(other, { ...commands, ...edit({ params: { name: "x" } }) })),
      patiently(() => deleteCheck(other, commands)),
    ]);
    await signals;
    for (const table of ["pings", "ping_bodies", "flips", "events", "check_states"]) {
      const { rowCount } = await database.db.pool.query(`select from ${table} where check_id = $1`, [id]);
      expect([table, rowCount]).toEqual([table, 0]);
    }
  });
});

describe("another transaction in the way", () => {
  /** Does something in a transaction and ends it on request, or once another transaction waits for it. */
  async function holding(
    work: (tx: Tx) => Promise<unknown>,
    release?: Promise<void>,
  ): Promise<{ done: Promise<void> }> {
    const begun = Promise.withResolvers<void>();
    const done = inTransaction(other, async (tx) => {
      await work(tx);
      begun.resolve();
      const released = new AbortController();
      void release?.then(() => released.abort());
      while (release === undefined ? !(await isSomebodyWaiting()) : !released.signal.aborted) {
        // The server ends a transaction that is idle for long.
        await tx.query(NOTHING, []);
        await sleep(10);
      }
    });
    await Promise.race([begun.promise, done]);
    return { done };
  }

  async function isSomebodyWaiting(): Promise<boolean> {
    const { rowCount } = await database.db.pool.query(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    );
    return (rowCount ?? 0) > 0;
  }

  test("renames the match of an upsert: a new check is created, and the renamed one keeps its name", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const check = await sampleCheck(database.db, { projectId, name: "job" });
    const { done } = await holding(async (tx) => {
      await lockStates(tx, [check.id]);
      await writeSettings(tx, { checkId: check.id, patch: { name: "renamed" }, at: NOW });
    });
    const request = creation(projectId, { params: { name: "job" }, unique: ["name"] });
    const result = await createCheck(database.db, request);
    await done;
    expect(result.kind).toBe("created");
    const names = (await listChecks(database.db, { projectId })).map(({ settings }) => settings.name);
    expect(names).toEqual(["renamed", "job"]);
  });

  test("deletes a channel that was chosen: it is not a channel any more", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const channel = await sampleChannel(database.db, { projectId, name: "Ops" });
    const { done } = await holding((tx) => deleteChannel(tx, channel.id));
    const result = await createCheck(database.db, creation(projectId, { channels: "Ops" }));
    await done;
    expect(result).toEqual({ kind: "refused", code: "invalid", text: "invalid channel identifier: Ops" });
    expect(await listChecks(database.db, { projectId })).toEqual([]);
  });

  test("marks the check as deleted without its lock: it is not found", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const { id: checkId } = await sampleCheck(database.db, { projectId });
    const { done } = await holding((tx) => markCheckDeleted(tx, { checkId, at: NOW }));
    const request = { projectId, checkId, ...edit({ params: { name: "x" } }) };
    expect(await updateCheck(database.db, request)).toEqual({ kind: "not found" });
    await done;
  });

  test("and stays there: the change fails after a few tries, with the reason", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const released = Promise.withResolvers<void>();
    const { done } = await holding(
      (tx) => lockCreation(tx, { projectId, what: "name:job" }),
      released.promise,
    );
    const request = creation(projectId, { params: { name: "job" }, unique: ["name"] });
    const refused = await createCheck(database.db, request).catch((error: unknown) => error);
    expect(postgresErrorName(refused)).toBe("lock_not_available");
    expect(isDatabaseAway(refused)).toBe(true);
    released.resolve();
    await done;
    expect((await createCheck(database.db, request)).kind).toBe("created");
  });
});
