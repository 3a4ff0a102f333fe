// The role in a running process: deadlines fire within seconds, but not while heartbeats settle; health problems are
// logged, counted and reported; and the external heartbeat is sent only while everything works.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { loadConfig } from "../../src/config/config.ts";
import { createLog } from "../../src/lib/log.ts";
import { createMetrics } from "../../src/lib/metrics.ts";
import { enterIntake, leaveIntake, recordHeartbeat } from "../../src/operations/intakes.ts";
import type { RoleName } from "../../src/roles/names.ts";
import { type Resources, run, type RunningProcess } from "../../src/roles/roles.ts";
import { openDatabase } from "../../src/store/db.ts";
import { readDatabaseClock } from "../../src/store/instance.ts";
import { useDatabase } from "../support/database.ts";
import { makeWatched, makeWorld, owedFlips, type World } from "../support/sweeping.ts";

const SOON = { timeout: 30_000, interval: 100 };
const TEST_MS_MAX = 180_000;
const database = useDatabase();
const endings: (() => Promise<unknown>)[] = [];
let world: World;

beforeEach(async () => {
  await database.db.pool.query(
    "truncate intakes, blind_intervals, checks, flips, deliveries, operator_incidents, channels cascade",
  );
  world = await makeWorld(database);
});

afterEach(async () => {
  for (const end of endings.splice(0).toReversed()) await end();
});

type Started = {
  running: RunningProcess;
  said: () => string;
  metric: (name: string) => Promise<string | undefined>;
};

async function startSweeper(
  settings: Record<string, string> = {},
  roles: readonly RoleName[] = ["sweeper"],
): Promise<Started> {
  const lines: string[] = [];
  const databaseOptions = {
    url: database.url,
    applicationName: "overdue-test",
    onError: () => {},
    requireDurable: false,
  };
  const resources: Resources = {
    config: loadConfig({ OVERDUE_ADMIN_LISTEN: "127.0.0.1:0", ...settings }).config,
    database: openDatabase(databaseOptions),
    databaseOptions,
    log: createLog({ level: "info", destination: { write: (line) => lines.push(line) } }),
    metrics: createMetrics({ version: "0" }),
  };
  const running = await run(roles, resources, { signal: new AbortController().signal });
  endings.push(async () => expect(await running.stop()).toEqual([]));
  const metric = async (name: string) => {
    const answer = await fetch(`http://127.0.0.1:${running.adminAddress?.port}/metrics`);
    return new RegExp(`^${name}\\S* (\\S+)$`, "m").exec(await answer.text())?.[1];
  };
  return { running, said: () => lines.join(""), metric };
}

type Beating = { stop(): Promise<void>; release(): void };

/** An intake that sends heartbeats twice a second, and may hold the watermark back. */
async function startBeating({ isSettled = true, heldMs = 0 } = {}): Promise<Beating> {
  const intakeId = randomUUID();
  const leaseMs = 600_000;
  await enterIntake(database.db, { intakeId, name: "host/1", leaseMs });
  let heldAt = heldMs === 0 ? Infinity : (await readDatabaseClock(database.db)) - heldMs;
  const beat = () =>
    recordHeartbeat(database.db, {
      intakeId,
      leaseMs,
      heartbeatAt: null,
      lookedAt: null,
      confirmedSeqs: [],
      watchingSinceAt: null,
      signs: new Map(),
      gone: [],
      broken: [],
      observe: async ({ databaseAt }) => ({
        watermarkAt: Math.min(databaseAt - 1_000, heldAt),
        acceptedUntilAt: null,
        skippedMs: 0,
        unproven: [],
        refused: [],
        spoolEmpty: true,
        spoolFill: 0,
        signalsPerMinute: 0,
      }),
    });
  await beat();
  if (isSettled) {
    await database.db.pool.query("update intakes set gap_ended_at = gap_ended_at - interval '1 hour'");
  }
  const stopping = new AbortController();
  const beating = (async () => {
    while (!stopping.signal.aborted) {
      await beat();
      await sleep(500);
    }
  })();
  const stop = async () => {
    stopping.abort();
    await beating;
  };
  endings.push(stop);
  return {
    stop,
    release: () => {
      heldAt = Infinity;
    },
  };
}

/** A check whose deadline passes after this time. */
async function checkDownIn(ms: number) {
  const downAt = (await readDatabaseClock(database.db)) + ms;
  const state = { lastPingAt: downAt - 4_200_000, newestAt: downAt - 4_200_000 };
  return makeWatched(database, world, { state });
}

const flips = () => owedFlips(database, world);

describe("the sweeper", () => {
  test(
    "lets a deadline fire once the watermark has passed it, also right after its own start",
    async () => {
      await startBeating();
      const check = await checkDownIn(1_000);
      const { metric, running } = await startSweeper();
      await expect.poll(flips, SOON).toMatchObject([{ checkId: check.id, at: check.downAt, owed: 1 }]);
      expect(await metric("overdue_sweep_fired_total")).toBe("1");
      expect(await metric("overdue_sight_settled")).toBe("1");
      const ready = await fetch(`http://127.0.0.1:${running.adminAddress?.port}/readyz`);
      expect(await ready.json()).toMatchObject({ checks: { sweeper: "ok" } });
    },
    TEST_MS_MAX,
  );

  test(
    "fires nothing while everything settles after a gap, however often it is started anew",
    async () => {
      await startBeating({ isSettled: false });
      await checkDownIn(-2_000);
      for (let start = 0; start < 3; start += 1) {
        const { running, metric } = await startSweeper();
        await expect.poll(() => metric("overdue_sight_settled"), SOON).toBe("0");
        await sleep(1_000);
        endings.pop();
        expect(await running.stop()).toEqual([]);
      }
      expect(await flips()).toEqual([]);
      await database.db.pool.query("update intakes set gap_ended_at = gap_ended_at - interval '1 minute'");
      await startSweeper();
      await expect.poll(flips, SOON).toHaveLength(1);
    },
    TEST_MS_MAX,
  );

  test(
    "is reported as missing by a process of another role, to the log and the admin channel",
    async () => {
      await startBeating();
      await checkDownIn(-180_000);
      const { said, metric } = await startSweeper({ OVERDUE_ADMIN_CHANNEL: world.channels[0]?.uuid ?? "" }, [
        "notifier",
      ]);
      await expect.poll(said, SOON).toContain("Deadlines are not being checked");
      expect(said()).toContain("Start a process with the role sweeper");
      expect(await metric("overdue_troubles")).toBe("1");
      const { rows } = await database.db.pool.query(
        "select count(*)::int as count from deliveries where kind = 'operator'",
      );
      expect(rows).toEqual([{ count: 1 }]);
    },
    TEST_MS_MAX,
  );

  test(
    "reports once that the watermark is held, to the log and the admin channel, and that it is over",
    async () => {
      const beating = await startBeating({ heldMs: 70_000 });
      await checkDownIn(-2_000);
      const { said, metric } = await startSweeper({
        OVERDUE_ADMIN_CHANNEL: world.channels[0]?.uuid ?? "",
      });
      await expect.poll(said, SOON).toContain("Alerts for missing pings are delayed");
      expect(Number(await metric("overdue_watermark_held_seconds"))).toBeGreaterThan(60);
      expect(await metric("overdue_troubles")).toBe("1");
      expect(await flips()).toEqual([]);
      // A second one notices it, too, and reports nothing.
      const second = await startSweeper();
      await expect.poll(() => second.metric("overdue_troubles"), SOON).toBe("1");
      beating.release();
      await expect.poll(flips, SOON).toHaveLength(1);
      await database.db.pool.query("update operator_incidents set seen_at = seen_at - interval '1 minute'");
      const both = () => said() + second.said();
      await expect.poll(both, SOON).toContain("Alerts for missing pings are on time again");
      expect(both().split('"Alerts for missing pings are delayed"')).toHaveLength(2);
      const reported = async () =>
        (
          await database.db.pool.query(
            "select about ->> 'isOver' as over from deliveries where kind = 'operator' order by id",
          )
        ).rows;
      await expect.poll(reported, SOON).toEqual([{ over: "false" }, { over: "true" }]);
    },
    TEST_MS_MAX,
  );
});

test(
  "a channel of the admin that does not exist is logged at the start, and counted",
  async () => {
    await startBeating();
    const { said, metric } = await startSweeper({ OVERDUE_ADMIN_CHANNEL: randomUUID() });
    await expect.poll(said, SOON).toContain("The admin channel cannot be used");
    expect(await metric("overdue_troubles")).toBe("1");
  },
  TEST_MS_MAX,
);

describe("the heartbeat", () => {
  async function listen(): Promise<{ url: string; calls: () => number }> {
    let calls = 0;
    const server = createServer((request, response) => {
      if (request.url === "/beat?id=7") calls += 1;
      response.end("OK");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    endings.push(() => new Promise((resolve) => server.close(resolve)));
    const { port } = server.address() as AddressInfo;
    return { url: `http://127.0.0.1:${port}/beat?id=7`, calls: () => calls };
  }

  test(
    "leaves while all moves",
    async () => {
      await startBeating();
      const { url, calls } = await listen();
      const { metric, said } = await startSweeper({ OVERDUE_HEARTBEAT_URL: url });
      await expect.poll(calls, SOON).toBe(1);
      await expect.poll(() => metric('overdue_heartbeats_total{result="sent"'), SOON).toBe("1");
      expect(said()).not.toContain("/beat");
    },
    TEST_MS_MAX,
  );

  test.each(["the watermark", "the delivery"])(
    "is withheld while %s is stopped",
    async (what) => {
      const beating = await startBeating({ heldMs: what === "the watermark" ? 61_000 : 0 });
      const { url, calls } = await listen();
      if (what === "the delivery") {
        await database.db.pool.query(
          `insert into deliveries (kind, dedupe_key, channel_id, state, created_at, attempt_count, next_try_at)
           values ('test', gen_random_uuid(), $1, 'pending', now() - interval '5 min', 0, to_timestamp(0))`,
          [world.channels[0]?.id],
        );
      }
      const { said, metric } = await startSweeper({ OVERDUE_HEARTBEAT_URL: url });
      await expect
        .poll(said, SOON)
        .toContain("the external heartbeat is withheld because of health problems");
      expect(await metric("overdue_heartbeat_withheld")).toBe("1");
      expect(calls()).toBe(0);
      beating.release();
      await database.db.pool.query("truncate deliveries");
      await expect.poll(calls, { ...SOON, timeout: 60_000 }).toBe(1);
    },
    TEST_MS_MAX,
  );

  test(
    "is withheld when no process receives",
    async () => {
      const intakeId = randomUUID();
      await enterIntake(database.db, { intakeId, name: "host/1", leaseMs: 1_000 });
      await leaveIntake(database.db, { intakeId });
      await database.db.pool.query("update intakes set beat_at = beat_at - interval '2 minutes'");
      const { url, calls } = await listen();
      const { said } = await startSweeper({ OVERDUE_HEARTBEAT_URL: url });
      await expect
        .poll(said, SOON)
        .toContain("the external heartbeat is withheld because of health problems");
      expect(calls()).toBe(0);
    },
    TEST_MS_MAX,
  );
});
