// A database that was restored, copied, upgraded or failed over to, with whole processes on it: a copy next to the
// server in service sends nothing, and the server in service continues.
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { afterEach, describe, expect, inject, test } from "vitest";
import { loadConfig } from "../../src/config/config.ts";
import { SECOND_MS } from "../../src/core/instant.ts";
import { createLog } from "../../src/lib/log.ts";
import { createMetrics } from "../../src/lib/metrics.ts";
import { confirmRestore } from "../../src/operations/database-identity.ts";
import { chooseRoles } from "../../src/roles/names.ts";
import { run } from "../../src/roles/roles.ts";
import { type Channel, insertChannel } from "../../src/store/channels.ts";
import { type Database, openDatabase } from "../../src/store/db.ts";
import { insertTestDeliveries } from "../../src/store/planning.ts";
import { findStoredIdentity, readActualIdentity, readDatabaseClock } from "../../src/store/instance.ts";
import { findHeartbeats } from "../../src/store/intakes.ts";
import { migrate } from "../../src/store/migrate.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { copyCluster, makeStandby } from "../faults/stage/copies.ts";
import { temporaryFolder } from "../intake/support/folders.ts";
import type { Receiver } from "../receivers/receiver.ts";
import { startWebhook } from "../receivers/kinds/webhook.ts";
import { freePort } from "../support/ports.ts";
import { debianPostgres } from "../support/postgres-binaries.ts";
import { type PostgresServer, startPostgres } from "../support/postgres.ts";
import { sampleProject } from "../support/sample.ts";
import { TEMPLATE_DATABASE } from "../support/set-up-postgres.ts";
import { makeWatched } from "../support/sweeping.ts";

const execute = promisify(execFile);
const SOON = { timeout: 60_000, interval: 200 };
const TEST_MS_MAX = 300_000;
/** Shorter than in production, where a load balancer may take a while to find a new process. */
const ASK_MS_MAX = 3 * SECOND_MS;
const CHECKS = 5;

const endings: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).toReversed()) await end();
});

async function onServer<T>(url: string, work: (admin: pg.Client) => Promise<T>): Promise<T> {
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  try {
    return await work(admin);
  } finally {
    await admin.end();
  }
}

/** A migrated database on the server of these tests. */
async function newDatabase(template: string = TEMPLATE_DATABASE): Promise<string> {
  const server = inject("postgresUrl");
  const name = `test_${randomBytes(8).toString("hex")}`;
  await onServer(server, (admin) => admin.query(`create database ${name} template ${template}`));
  endings.push(() => onServer(server, (admin) => admin.query(`drop database ${name} with (force)`)));
  return server.replace(/\/postgres$/, `/${name}`);
}

/** A folder that PostgreSQL's own user can access, too. */
function reachableFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "overdue-restore-"));
  chmodSync(folder, 0o755);
  endings.push(async () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const nameOf = (url: string) => new URL(url).pathname.slice(1);

async function using<T>(url: string, work: (db: Database) => Promise<T>): Promise<T> {
  const options = { url, applicationName: "overdue-test", onError: () => {}, requireDurable: false };
  const db = openDatabase(options);
  try {
    return await work(db);
  } finally {
    await db.close();
  }
}

type World = { receiver: Receiver; projectId: number; channels: readonly [Channel]; adminUuid: string };

/** Checks with a channel, an admin channel, and a receiver that counts messages. */
async function fill(url: string): Promise<World> {
  const receiver = await startWebhook();
  endings.push(() => receiver.close());
  return using(url, async (db) => {
    const { id: projectId } = await sampleProject(db);
    const addChannel = (name: string) => {
      const to = `${receiver.url}/${name}`;
      const notices = name === "team" ? `${receiver.url}/notice` : to;
      const config = {
        url_down: to,
        url_up: to,
        url_notice: notices,
        body_down: "$STATUS",
        body_up: "$STATUS",
      };
      return inTransaction(db, (tx) =>
        insertChannel(tx, {
          uuid: crypto.randomUUID(),
          kind: "webhook",
          config,
          name,
          projectId,
          createdAt: Date.now(),
        }),
      );
    };
    const channel = await addChannel("team");
    const admin = await addChannel("admin");
    return { receiver, projectId, channels: [channel], adminUuid: admin.uuid };
  });
}

/** Checks that go down at `dueAt` unless they are pinged; in a few seconds if none is given. */
async function addDueChecks(url: string, world: World, count = CHECKS, dueAt?: number): Promise<void> {
  await using(url, async (db) => {
    const at = dueAt ?? (await readDatabaseClock(db)) + 4 * SECOND_MS;
    for (let n = 0; n < count; n += 1) {
      const lastPingAt = at - 61 * SECOND_MS;
      await makeWatched({ db, url }, world, {
        settings: { timeoutSeconds: 60, graceSeconds: 1 },
        state: { lastPingAt, newestAt: lastPingAt },
      });
    }
  });
}

/** Pending messages in the data, as if the process had died before it sent them. */
async function owe(url: string, { channels: [channel] }: World): Promise<void> {
  await using(url, async (db) => {
    const at = await readDatabaseClock(db);
    await inTransaction(db, (tx) => insertTestDeliveries(tx, { channelId: channel.id, at }));
  });
}

const sent = ({ receiver }: World, to: "team" | "admin" | "notice") =>
  receiver.received.filter(({ path }) => path.startsWith(`/${to}`)).length;

type Started = { port: number; stop(): Promise<void>; said(): string };

async function start(
  url: string,
  world: World,
  { port, siteUrl, roles = null }: { port: number; siteUrl: string; roles?: string[] | null },
): Promise<Started> {
  const lines: string[] = [];
  const databaseOptions = { url, applicationName: "overdue-test", onError: () => {}, requireDurable: false };
  const settings = {
    OVERDUE_ADMIN_LISTEN: "127.0.0.1:0",
    OVERDUE_LISTEN: `127.0.0.1:${port}`,
    OVERDUE_SITE_URL: siteUrl,
    OVERDUE_CHANNELS_ALLOW_PRIVATE_IPS: "true",
    OVERDUE_ADMIN_CHANNEL: world.adminUuid,
    OVERDUE_SPOOL_FOLDER: temporaryFolder(),
  };
  const resources = {
    config: loadConfig(settings).config,
    database: openDatabase(databaseOptions),
    databaseOptions,
    log: createLog({ level: "info", destination: { write: (line) => lines.push(line) } }),
    metrics: createMetrics({ version: "0" }),
    askMsMax: ASK_MS_MAX,
  };
  const running = await run(chooseRoles(roles), resources, { signal: new AbortController().signal });
  let hasStopped = false;
  const stop = async () => {
    if (hasStopped) return;
    hasStopped = true;
    await running.stop();
  };
  endings.push(stop);
  return { port, stop, said: () => lines.join("") };
}

const stateOf = (url: string) => using(url, async (db) => (await findStoredIdentity(db))?.state);

/** Skips the minute after a gap. In safe mode every heartbeat restarts it. */
const settle = (url: string) =>
  using(url, (db) => db.pool.query("update intakes set gap_ended_at = gap_ended_at - interval '10 minutes'"));

/** A check whose ping is missing now raises an alert within seconds. */
async function expectAlert(url: string, world: World): Promise<void> {
  await expect.poll(() => stateOf(url), SOON).toBe("normal");
  await addDueChecks(url, world, 1);
  const before = sent(world, "team");
  const isTold = async () => {
    await settle(url);
    return sent(world, "team") - before;
  };
  await expect.poll(isTold, SOON).toBe(1);
}

/** Everything that would make a copy send: pending messages, and checks past their deadline. */
async function expectNothingSent(url: string, world: World): Promise<void> {
  await expect.poll(() => stateOf(url), SOON).toBe("safe");
  await expect.poll(() => sent(world, "admin"), SOON).toBe(1);
  const until = performance.now() + 12 * SECOND_MS;
  while (performance.now() < until) {
    await settle(url);
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  const counts = { team: sent(world, "team"), notice: sent(world, "notice"), admin: sent(world, "admin") };
  expect(counts).toEqual({ team: 0, notice: 0, admin: 1 });
}

async function inService(): Promise<{ url: string; world: World; live: Started; siteUrl: string }> {
  const url = await newDatabase();
  const world = await fill(url);
  const port = await freePort();
  const siteUrl = `http://127.0.0.1:${port}`;
  const live = await start(url, world, { port, siteUrl });
  await expect.poll(() => stateOf(url), SOON).toBe("normal");
  return { url, world, live, siteUrl };
}

describe("a copy", () => {
  test(
    "beside the server in service records pings and sends nothing but one message to the admin",
    async () => {
      const { url, world, live, siteUrl } = await inService();
      await live.stop();
      const copy = await newDatabase(nameOf(url));
      await start(url, world, { port: live.port, siteUrl });
      await owe(copy, world);
      await addDueChecks(copy, world);
      const copied = await start(copy, world, { port: await freePort(), siteUrl });
      await expectNothingSent(copy, world);
      const [{ uuid } = { uuid: "" }] = await using(
        copy,
        async (db) => (await db.pool.query<{ uuid: string }>("select uuid from checks limit 1")).rows,
      );
      const answer = await fetch(`http://127.0.0.1:${copied.port}/ping/${uuid}`);
      expect(answer.status).toBe(200);
      // The original is not affected by the check.
      expect(await stateOf(url)).toBe("normal");
    },
    TEST_MS_MAX,
  );

  test(
    "on another host name sends nothing, although it answers there itself",
    async () => {
      const { url, world, live } = await inService();
      await live.stop();
      const copy = await newDatabase(nameOf(url));
      await owe(copy, world);
      await addDueChecks(copy, world);
      const port = await freePort();
      await start(copy, world, { port, siteUrl: `http://localhost:${port}` });
      await expectNothingSent(copy, world);
    },
    TEST_MS_MAX,
  );

  test(
    "sends nothing from processes that do not listen either, whichever starts first",
    async () => {
      const { url, world, live, siteUrl } = await inService();
      await live.stop();
      const copy = await newDatabase(nameOf(url));
      await owe(copy, world);
      await addDueChecks(copy, world);
      await start(copy, world, { port: 0, siteUrl, roles: ["sweeper", "notifier"] });
      await expect.poll(() => stateOf(copy), SOON).toBe("checking");
      // No response at the public URL: the server in service is stopped, and this one listens elsewhere.
      await start(copy, world, { port: await freePort(), siteUrl, roles: ["ping"] });
      await expectNothingSent(copy, world);
    },
    TEST_MS_MAX,
  );

  test(
    "that is confirmed sends pending notifications, and raises no alert for the time before",
    async () => {
      const { url, world, live } = await inService();
      await live.stop();
      const copy = await newDatabase(nameOf(url));
      await owe(copy, world);
      await addDueChecks(copy, world);
      const port = await freePort();
      await start(copy, world, { port, siteUrl: `http://localhost:${port}` });
      await expectNothingSent(copy, world);
      await using(copy, async (db) => {
        await confirmRestore(db, { accountId: null });
        await expect(confirmRestore(db, { accountId: null })).rejects.toThrow("not in safe mode");
      });
      // The pending message; about the checks only the monitoring gap notice.
      await expect.poll(() => sent(world, "team"), SOON).toBeGreaterThanOrEqual(1);
      await expectAlert(copy, world);
      const { rows } = await using(copy, (db) =>
        db.pool.query("select count(*)::int as downs from flips where to_status = 'down'"),
      );
      // The one check whose ping was missing after the confirmation.
      expect(rows).toEqual([{ downs: 1 }]);
      const gaps = await using(copy, (db) => db.pool.query("select reason from blind_intervals"));
      expect(gaps.rows.map(({ reason }) => reason)).toContain("the database was restored");
    },
    TEST_MS_MAX,
  );
});

test(
  "a role that may not read the cluster's identifier goes by the database alone",
  async () => {
    const url = await newDatabase();
    await using(url, async (db) => {
      expect(await readActualIdentity(db)).toMatchObject({
        systemIdentifier: expect.stringMatching(/^\d+$/),
      });
      await db.pool.query("revoke execute on function pg_control_system() from public");
      const role = `plain_${randomBytes(4).toString("hex")}`;
      await db.pool.query(`create role ${role} login`);
      endings.splice(0, 0, () =>
        onServer(inject("postgresUrl"), (admin) => admin.query(`drop role ${role}`)),
      );
      const plainUrl = Object.assign(new URL(url), { username: role }).href;
      const plain = await using(plainUrl, (own) => readActualIdentity(own));
      expect(plain).toEqual({ systemIdentifier: null, databaseOid: expect.any(Number) });
      await db.pool.query("grant execute on function pg_control_system() to public");
      expect(await using(plainUrl, (own) => readActualIdentity(own))).toEqual(await readActualIdentity(db));
    });
  },
  TEST_MS_MAX,
);

const DEBIAN = "/usr/lib/postgresql/15/bin";

describe.skipIf(inject("postgresMajor") !== 15 || !existsSync(join(DEBIAN, "pg_upgrade")))(
  "the server in service",
  () => {
    const settings = { wal_level: "replica", max_wal_senders: "5", hot_standby: "on" };

    async function ownServer(
      keepDataIn?: string,
      more: Record<string, string> = {},
    ): Promise<PostgresServer> {
      const server = await startPostgres({
        binaries: debianPostgres(),
        durable: false,
        settings: { ...settings, ...more },
        ...(keepDataIn !== undefined && { keepDataIn }),
      });
      endings.push(() => server.stop());
      return server;
    }

    async function filled(
      server: PostgresServer,
    ): Promise<{ url: string; world: World; live: Started; siteUrl: string }> {
      await onServer(server.url(), (admin) => admin.query("create database overdue_live"));
      const url = server.url("overdue_live");
      await migrate({ url, applicationName: "overdue-test", onError: () => {}, requireDurable: false });
      const world = await fill(url);
      const port = await freePort();
      const siteUrl = `http://127.0.0.1:${port}`;
      const live = await start(url, world, { port, siteUrl });
      await expect.poll(() => stateOf(url), SOON).toBe("normal");
      return { url, world, live, siteUrl };
    }

    test(
      "continues after a restore in place, and notifies the admin",
      async () => {
        const server = await ownServer();
        const { url, world, live, siteUrl } = await filled(server);
        const dump = join(temporaryFolder(), "dump");
        await execute(join(DEBIAN, "pg_dump"), ["--format=custom", `--file=${dump}`, url]);
        await live.stop();
        await onServer(server.url(), async (admin) => {
          await admin.query("drop database overdue_live with (force)");
          await admin.query("create database overdue_live");
        });
        await execute(join(DEBIAN, "pg_restore"), [`--dbname=${url}`, dump]);
        // Their deadline is right after the last heartbeat in the data, however long the restore takes.
        const heartbeatAt = await using(
          url,
          async (db) => (await findHeartbeats(db, { through: Date.now() })).newestHeartbeatAt,
        );
        await addDueChecks(url, world, CHECKS, (heartbeatAt ?? 0) + 1);
        const again = await start(url, world, { port: live.port, siteUrl });
        await expect.poll(() => sent(world, "admin"), SOON).toBe(1);
        expect(again.said()).toContain("monitoring continues");
        await expectAlert(url, world);
        // The checks without pings across the restore are excused: their channel gets a notice and no alert.
        expect(sent(world, "team")).toBe(1);
        const { rows } = await using(url, (db) =>
          db.pool.query("select 1 from flips where to_status = 'down'"),
        );
        expect(rows).toHaveLength(1);
      },
      TEST_MS_MAX,
    );

    test(
      "continues immediately on a promoted standby",
      async () => {
        const server = await ownServer();
        const { world, live, siteUrl } = await filled(server);
        const folder = join(reachableFolder(), "standby");
        await copyCluster(server, folder);
        makeStandby(folder);
        const standby = await ownServer(folder, {
          primary_conninfo: `host=127.0.0.1 port=${server.port} user=overdue`,
        });
        await live.stop();
        // The standby has everything, as in a planned failover.
        const isCaughtUp = () =>
          using(standby.url("overdue_live"), async (db) => {
            const { rows } = await db.pool.query("select 1 from intakes where closed_at is null");
            return rows.length === 0;
          });
        await expect.poll(isCaughtUp, SOON).toBe(true);
        await server.crash();
        await onServer(standby.url(), (admin) => admin.query("select pg_promote()"));
        const url = standby.url("overdue_live");
        const promoted = await start(url, world, { port: live.port, siteUrl });
        await expectAlert(url, world);
        expect(promoted.said()).not.toContain("no notifications are sent until");
        expect(sent(world, "admin")).toBe(0);
      },
      TEST_MS_MAX,
    );

    test(
      "continues after pg_upgrade, which keeps the OID of the database and changes the cluster identifier",
      async () => {
        const folder = reachableFolder();
        const server = await ownServer(join(folder, "old"));
        const { url, world, live, siteUrl } = await filled(server);
        const before = await using(url, readActualIdentity);
        await live.stop();
        await server.stop();
        const { uid, gid } = statSync(join(folder, "old"));
        chownSync(folder, uid, gid);
        const work = join(folder, "work");
        mkdirSync(work);
        chownSync(work, uid, gid);
        const as = { uid, gid, cwd: work };
        const initdb = ["-D", join(folder, "new"), "-U", "overdue", "-A", "trust", "-E", "UTF8"];
        await execute(join(DEBIAN, "initdb"), [...initdb, "--locale=C"], as);
        const folders = ["-d", join(folder, "old"), "-D", join(folder, "new"), "-b", DEBIAN, "-B", DEBIAN];
        await execute(join(DEBIAN, "pg_upgrade"), [...folders, "-U", "overdue", "-s", work], as);
        const upgraded = await ownServer(join(folder, "new"));
        const upgradedUrl = upgraded.url("overdue_live");
        const after = await using(upgradedUrl, readActualIdentity);
        expect(after.databaseOid).toBe(before.databaseOid);
        expect(after.systemIdentifier).not.toBe(before.systemIdentifier);
        await start(upgradedUrl, world, { port: live.port, siteUrl });
        await expectAlert(upgradedUrl, world);
        expect(sent(world, "admin")).toBe(1);
      },
      TEST_MS_MAX,
    );
  },
);
