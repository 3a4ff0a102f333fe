// An attacker makes the intake reject pings in every possible way. Alerts of other checks are still on time, and a
// check whose own ping was rejected is not reported as down.
import { randomBytes, randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { loadConfig } from "../../src/config/config.ts";
import type { AcceptedSignal } from "../../src/core/signal.ts";
import { createLog } from "../../src/lib/log.ts";
import { readIntakes } from "../../src/operations/intakes.ts";
import { sweepDeadlines } from "../../src/operations/sweep.ts";
import { type DirectIntake, startDirectIntake } from "../../src/roles/direct-intake.ts";
import { mailServer } from "../../src/services/smtp/server.ts";
import type { CheckWithState } from "../../src/store/checks.ts";
import { readDatabaseClock } from "../../src/store/instance.ts";
import { bareClient } from "../smtp/client.ts";
import { useDatabase } from "../support/database.ts";
import { makeWatched, makeWorld, storedRow, type World } from "../support/sweeping.ts";
import { signal } from "./scripted-ports.ts";

const database = useDatabase();
const TEST_MS_MAX = 300_000;
/** From the deadline on, including the watermark's lag, a heartbeat and a sweep. */
const ON_TIME_MS = 15_000;
const GRACE_SECONDS = 60;
const TRIES_MAX = 3;
const ATTACKER = "203.0.113.9";

let world: World;
let receiving: DirectIntake;
let spoolFolder: string;
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
  // With a spool, a slow database does not make the intake reject pings.
  spoolFolder = await mkdtemp(join(tmpdir(), "overdue-attack-"));
  receiving = await startDirectIntake({ config: { ...config, spoolFolder }, databaseOptions, log });
  await receiving.heartbeat.start();
});

afterEach(async () => {
  for (const end of endings.splice(0).toReversed()) await end();
  receiving.heartbeat.stopAccepting();
  await receiving.stop();
  await rm(spoolFolder, { recursive: true, force: true });
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

/**
 * Repeats the attack until a check that is due is down, and returns how long after the deadline that was. If this
 * machine was so busy that the process itself could not receive, that excuses the check, and another one is used.
 */
async function lagUnder(attack: () => Promise<void>): Promise<number> {
  for (let tries = 1; ; tries += 1) {
    const lagMs = await lagOf(await dueIn(2), attack);
    if (tries === TRIES_MAX || !(await wasBusy())) return lagMs;
    await database.db.pool.query("truncate blind_intervals");
  }
}

async function lagOf(check: CheckWithState, attack: () => Promise<void>): Promise<number> {
  const downAt = check.downAt ?? 0;
  for (;;) {
    await attack();
    await sweep();
    const { status } = await storedRow(database, check.id);
    const lagMs = (await readDatabaseClock(database.db)) - downAt;
    if (status === "down" || lagMs > 4 * ON_TIME_MS) return lagMs;
  }
}

/** Whether there were seconds in which the process itself did not run. */
async function wasBusy(): Promise<boolean> {
  return (await blindReasons()).includes("the receiving process did not accept pings");
}

async function blindReasons(): Promise<string[]> {
  const { rows } = await database.db.pool.query<{ reason: string }>("select reason from blind_intervals");
  return rows.map(({ reason }) => reason);
}

describe("a bystander's alert is on time", () => {
  test(
    "while 10,000 pings for made-up UUIDs are refused",
    async () => {
      let refused = 0;
      const flood = async () => {
        const targets = Array.from({ length: 30_000 }, () => ({ by: "uuid", uuid: randomUUID() }) as const);
        const sending: Promise<string>[] = [];
        for (const [index, target] of targets.entries()) {
          sending.push(send({ target }));
          // As they would come from sockets: other work gets its turn.
          if (index % 1_000 === 999) await nextTurn();
        }
        const kinds = await Promise.all(sending);
        refused += kinds.filter((kind) => kind === "busy").length;
      };
      expect(await lagUnder(flood)).toBeLessThan(ON_TIME_MS);
      expect(refused).toBeGreaterThan(10_000);
      expect(await blindReasons()).not.toContain("pings were rejected");
    },
    TEST_MS_MAX,
  );

  test(
    "while one ping key creates checks without end",
    async () => {
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
      expect(await lagUnder(create)).toBeLessThan(ON_TIME_MS);
      expect(refused).toBeGreaterThan(100);
      expect(await blindReasons()).not.toContain("pings were rejected");
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
      expect(await lagUnder(occupy)).toBeLessThan(ON_TIME_MS);
      const { refused, cutOff } = server.counts().connections;
      expect(refused + cutOff).toBeGreaterThan(0);
      expect(await blindReasons()).not.toContain("pings were rejected");
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
    await lagOf(bystander, () => sleep(100));
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
