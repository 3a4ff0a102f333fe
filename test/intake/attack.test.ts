// An attacker makes the intake reject pings in every possible way. Alerts of other checks are still on time, and a
// check whose own ping was rejected is not reported as down.
import { randomBytes, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { loadConfig } from "../../src/config/config.ts";
import type { AcceptedSignal } from "../../src/core/signal.ts";
import { createLog } from "../../src/lib/log.ts";
import { readIntakes } from "../../src/operations/intakes.ts";
import { sweepDeadlines } from "../../src/operations/sweep.ts";
import { type StartedIntake, startIntake } from "../../src/roles/ping.ts";
import { mailServer } from "../../src/services/smtp/server.ts";
import type { CheckWithState } from "../../src/store/checks.ts";
import { readDatabaseClock } from "../../src/store/instance.ts";
import { bareClient } from "../smtp/client.ts";
import { useDatabase } from "../support/database.ts";
import { makeWatched, makeWorld, storedRow, type World } from "../support/sweeping.ts";
import { signal } from "./scripted-ports.ts";

const database = useDatabase();
const TEST_MS_MAX = 180_000;
/** From the deadline on, including the watermark's lag, a heartbeat and a sweep. */
const ON_TIME_MS = 15_000;
const GRACE_SECONDS = 60;
const ATTACKER = "203.0.113.9";

let world: World;
let receiving: StartedIntake;
const endings: (() => unknown)[] = [];

beforeEach(async () => {
  await database.db.pool.query(
    "truncate intakes, blind_intervals, refused_intervals, checks, flips, deliveries cascade",
  );
  world = await makeWorld(database);
  const databaseOptions = {
    url: database.url,
    applicationName: "overdue",
    onError: () => {},
    requireDurable: false,
  };
  const log = createLog({ level: "error", destination: { write: () => {} } });
  const { config } = loadConfig({});
  receiving = await startIntake({ config: { ...config, spoolFolder: null }, databaseOptions, log });
  await receiving.heartbeat.start();
});

afterEach(async () => {
  for (const end of endings.splice(0).toReversed()) await end();
  receiving.heartbeat.stopAccepting();
  await receiving.stop();
});

/** A check that goes down in this many seconds unless it is pinged. */
async function dueIn(seconds: number): Promise<CheckWithState> {
  const now = await readDatabaseClock(database.db);
  const lastPingAt = now + seconds * 1_000 - (3_600 + GRACE_SECONDS) * 1_000;
  return makeWatched(database, world, {
    settings: { timeoutSeconds: 3_600, graceSeconds: GRACE_SECONDS },
    state: { lastPingAt, newestAt: lastPingAt },
  });
}

async function send(
  given: Partial<AcceptedSignal>,
  { create = false, network = ATTACKER } = {},
): Promise<string> {
  const { intake } = receiving;
  const accepted = signal("x", { remoteAddr: network, ...given, at: intake.now() });
  return (await intake.accept(accepted, { create, network })).kind;
}

/** Sweeps like the sweeper, without waiting for heartbeats to settle after the start. */
async function sweep(): Promise<void> {
  const { now, visibility } = await readIntakes(database.db);
  await sweepDeadlines(database.db, { now, visibility });
}

/** Repeats the attack until the check is down, and returns how long after the deadline that was. */
async function lagUnder(attack: () => Promise<void>, check: CheckWithState): Promise<number> {
  const downAt = check.downAt ?? 0;
  for (;;) {
    await attack();
    await sweep();
    const { status } = await storedRow(database, check.id);
    const lagMs = (await readDatabaseClock(database.db)) - downAt;
    if (status === "down" || lagMs > 4 * ON_TIME_MS) return lagMs;
  }
}

async function blindCount(): Promise<number> {
  const { rows } = await database.db.pool.query<{ count: number }>(
    "select count(*)::int as count from blind_intervals where reason like 'senders%'",
  );
  return rows[0]?.count ?? 0;
}

describe("a bystander's alert is on time", () => {
  test(
    "while 10,000 pings for made-up UUIDs are refused",
    async () => {
      const bystander = await dueIn(2);
      let refused = 0;
      const flood = async () => {
        const targets = Array.from({ length: 30_000 }, () => ({ by: "uuid", uuid: randomUUID() }) as const);
        const kinds = await Promise.all(targets.map((target) => send({ target })));
        refused += kinds.filter((kind) => kind === "busy").length;
      };
      expect(await lagUnder(flood, bystander)).toBeLessThan(ON_TIME_MS);
      expect(refused).toBeGreaterThan(10_000);
      expect(await blindCount()).toBe(0);
    },
    TEST_MS_MAX,
  );

  test(
    "while one ping key creates checks without end",
    async () => {
      const bystander = await dueIn(2);
      const { rows } = await database.db.pool.query("select ping_key from projects where id = $1", [
        world.projectId,
      ]);
      const pingKey = String(rows[0]?.ping_key);
      let refused = 0;
      const create = async () => {
        const slugs = Array.from({ length: 1_000 }, () => `job-${randomBytes(8).toString("hex")}`);
        const kinds = await Promise.all(
          slugs.map((slug) => send({ target: { by: "slug", pingKey, slug } }, { create: true })),
        );
        refused += kinds.filter((kind) => kind === "busy").length;
      };
      expect(await lagUnder(create, bystander)).toBeLessThan(ON_TIME_MS);
      expect(refused).toBeGreaterThan(100);
      expect(await blindCount()).toBe(0);
    },
    TEST_MS_MAX,
  );

  test(
    "while SMTP connections of many networks fill the port",
    async () => {
      const server = mailServer({
        intake: receiving.intake,
        listen: { host: "127.0.0.1", port: 0 },
        domain: "ping.example.org",
        certificate: null,
        isBehindProxy: false,
        connectionsMax: 50,
        peerConnectionsMax: 10,
        peerMessagesPerMinute: 0,
        keptBytes: 1_000,
        keptBytesBeyond: 1_000,
        log: createLog({ level: "error", destination: { write: () => {} } }),
      });
      await server.start();
      endings.push(() => server.stop());
      const port = server.address()?.port ?? 0;
      const bystander = await dueIn(2);
      let opened = 0;
      const occupy = async () => {
        const batch = Array.from({ length: 40 }, async () => {
          const localAddress = `127.1.0.${(opened++ % 100) + 1}`;
          const client = bareClient({ port, localAddress });
          client.socket.on("error", () => {});
          endings.push(() => client.close());
          const greeting = await client.hear();
          if (!greeting.startsWith("220")) return;
          await client.say("EHLO client.example.org");
          // In the middle of a message: closing it may lose a ping.
          await client.say("MAIL FROM:<a@example.org>");
        });
        await Promise.all(batch.map((one) => one.catch(() => {})));
      };
      expect(await lagUnder(occupy, bystander)).toBeLessThan(ON_TIME_MS);
      const { refused, cutOff } = server.counts().connections;
      expect(refused + cutOff).toBeGreaterThan(0);
      expect(await blindCount()).toBe(0);
    },
    TEST_MS_MAX,
  );
});

test(
  "a check whose own ping was refused is not reported as down",
  async () => {
    const [own, bystander] = [await dueIn(4), await dueIn(4)];
    // This intake has never seen the check, so its ping waits with those of unknown targets, where there is no room.
    const flood = Array.from({ length: 30_000 }, () => send({ target: { by: "uuid", uuid: randomUUID() } }));
    const refused = await send({ target: { by: "uuid", uuid: own.uuid } }, { network: "198.51.100.7" });
    expect(refused).toBe("busy");
    await Promise.all(flood);
    await lagUnder(() => sleep(100), bystander);
    expect(await storedRow(database, bystander.id)).toMatchObject({ status: "down" });
    expect(await storedRow(database, own.id)).toMatchObject({ status: "up" });
    const { rows } = await database.db.pool.query(
      "select check_id, network from refused_intervals order by 1",
    );
    expect(rows).toContainEqual({ check_id: own.id, network: null });
    expect(rows).toContainEqual({ check_id: null, network: ATTACKER });
    // It still fires for the next missing ping, after its job had time to retry.
    const later = (own.downAt ?? 0) + 2 * 3_600_000;
    await sweepDeadlines(database.db, { now: later + 1_000, visibility: { watermarkAt: later, blind: [] } });
    expect(await storedRow(database, own.id)).toMatchObject({ status: "down" });
  },
  TEST_MS_MAX,
);
