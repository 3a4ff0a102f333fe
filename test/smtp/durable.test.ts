// Mail in front of the real intake and a real, durable PostgreSQL: a 250 means that every recipient has its signal on
// disk, and where one of them cannot have it, the whole message has to come again.
import pg from "pg";
import { afterEach, describe, expect, test } from "vitest";
import { loadConfig } from "../../src/config/config.ts";
import type { CheckSettings } from "../../src/core/check.ts";
import { createLog } from "../../src/lib/log.ts";
import { createMetrics } from "../../src/lib/metrics.ts";
import { smtpRole } from "../../src/roles/smtp.ts";
import type { CheckWithState } from "../../src/store/checks.ts";
import { listPings } from "../../src/store/pings.ts";
import { temporaryFolder } from "../intake/support/folders.ts";
import { useOwnPostgres } from "../support/own-postgres.ts";
import { sampleCheck, sampleProject } from "../support/sample.ts";
import { type MailClient, mailClient } from "./client.ts";
import { DOMAIN } from "./server.ts";

const MESSAGE = Buffer.from("Subject: nightly run FAILED\r\n\r\nno space left\r\n");
/** What a server needs at the most to start again, and everybody to notice. */
const BACK_MS_MAX = 30_000;

const own = useOwnPostgres();

const closing: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
  await own.db.pool.query("truncate intakes, blind_intervals cascade");
});

/** The role as a process runs it, with a client that is connected to it. */
async function start(settings: Record<string, string> = {}): Promise<MailClient> {
  const { config } = loadConfig({
    OVERDUE_PING_MAIL_LISTEN: "127.0.0.1:0",
    OVERDUE_PING_MAIL_DOMAIN: DOMAIN,
    ...settings,
  });
  const log = createLog({ level: "fatal" });
  const databaseOptions = { url: own.server.url(), applicationName: "overdue", onError: () => {} };
  const role = smtpRole({ config, databaseOptions, log, metrics: createMetrics({ version: "test" }) });
  await role.open();
  await role.opened?.();
  const client = await mailClient({ port: role.ownAddress?.()?.port ?? 0 });
  closing.push(async () => {
    client.close();
    role.closing?.();
    await role.close();
  });
  return client;
}

async function newChecks(...all: Partial<CheckSettings>[]): Promise<CheckWithState[]> {
  const { id: projectId } = await sampleProject(own.db);
  return Promise.all(all.map((settings) => sampleCheck(own.db, { projectId, ...settings })));
}

const addressOf = ({ uuid }: CheckWithState) => `${uuid}@${DOMAIN}`;
const kindsOf = async ({ id }: CheckWithState) =>
  (await listPings(own.db, { checkId: id, afterN: 0, limit: 100 })).map(({ kind }) => kind);
const countsOf = async (checks: readonly CheckWithState[]) =>
  Promise.all(checks.map(async (check) => (await kindsOf(check)).length));

/** As mail programs do: put off, it comes again. */
async function sendPatiently(client: MailClient, to: readonly string[]): Promise<void> {
  const answered = async () => {
    await client.say("RSET");
    return client.send(MESSAGE, { to });
  };
  await expect.poll(answered, { timeout: BACK_MS_MAX, interval: 200 }).toBe("250 OK");
}

describe("A 250 to several recipients", () => {
  test("means that each has the message in its log, read with its own keywords", async () => {
    const client = await start();
    const { id: projectId, pingKey } = await sampleProject(own.db);
    const plain = await sampleCheck(own.db, { projectId });
    const watching = await sampleCheck(own.db, { projectId, failureKw: "FAILED", filterSubject: true });
    const named = await sampleCheck(own.db, {
      projectId,
      slug: "nightly",
      startKw: "space",
      filterBody: true,
    });
    const to = [addressOf(plain), addressOf(watching), `${pingKey}+nightly@${DOMAIN}`];
    expect(await client.send(MESSAGE, { to, from: "" })).toBe("250 OK");
    expect(await Promise.all([plain, watching, named].map(kindsOf))).toEqual([
      ["success"],
      ["fail"],
      ["start"],
    ]);
    const { rows } = await own.db.pool.query<{ body: Buffer }>(
      "select body from ping_bodies where check_id = any ($1)",
      [[plain.id, watching.id, named.id]],
    );
    expect(rows.map(({ body }) => body.equals(MESSAGE))).toEqual([true, true, true]);
  });

  test("is given although one of them does not exist", async () => {
    const client = await start();
    const checks = await newChecks({}, {});
    const to = [...checks.map(addressOf), `00000000-0000-4000-8000-000000000001@${DOMAIN}`];
    expect(await client.send(MESSAGE, { to })).toBe("250 OK");
    expect(await countsOf(checks)).toEqual([1, 1]);
  });

  test("is not given while one of them is locked, and then the whole message comes again", async () => {
    const client = await start();
    const checks = await newChecks({}, {});
    const [, locked] = checks;
    const holder = new pg.Client({ connectionString: own.server.url() });
    await holder.connect();
    closing.push(() => holder.end());
    await holder.query("begin");
    await holder.query("select 1 from check_states where check_id = $1 for update", [locked?.id]);
    const to = checks.map(addressOf);
    expect(await client.send(MESSAGE, { to })).toMatch(/^451 4\.3\.0 /);
    await holder.query("rollback");
    await sendPatiently(client, to);
    for (const count of await countsOf(checks)) expect(count).toBeGreaterThanOrEqual(1);
  });
});

describe("While PostgreSQL is down", () => {
  test("a process without a spool puts every message off, and takes it when it is back", async () => {
    const client = await start();
    const checks = await newChecks({}, {});
    const to = checks.map(addressOf);
    await own.server.crash();
    expect(await client.send(MESSAGE, { to })).toMatch(/^451 4\.3\.0 /);
    await own.server.resume();
    await sendPatiently(client, to);
    for (const count of await countsOf(checks)) expect(count).toBeGreaterThanOrEqual(1);
  }, 120_000);

  test("a process with a spool acknowledges, and records one signal for each recipient", async () => {
    const client = await start({ OVERDUE_SPOOL_FOLDER: temporaryFolder() });
    const checks = await newChecks({}, {}, {});
    const to = checks.map(addressOf);
    expect(await client.send(MESSAGE, { to })).toBe("250 OK");
    await own.server.crash();
    for (let at = 0; at < 3; at += 1) expect(await client.send(MESSAGE, { to })).toBe("250 OK");
    await own.server.resume();
    await expect.poll(() => countsOf(checks).catch(() => []), { timeout: BACK_MS_MAX }).toEqual([4, 4, 4]);
  }, 120_000);

  test("one unknown recipient defers the whole message", async () => {
    const client = await start({ OVERDUE_SPOOL_FOLDER: temporaryFolder() });
    const [known, unseen] = await newChecks({}, {});
    if (known === undefined || unseen === undefined) throw new Error("there are two");
    expect(await client.send(MESSAGE, { to: [addressOf(known)] })).toBe("250 OK");
    await own.server.crash();
    const to = [addressOf(known), addressOf(unseen)];
    expect(await client.send(MESSAGE, { to })).toMatch(/^451 4\.3\.0 /);
    expect(await client.send(MESSAGE, { to: [addressOf(known)] })).toBe("250 OK");
    await own.server.resume();
    await sendPatiently(client, to);
    // The message that was put off may be there as well: nothing was promised about it.
    const countOf = (check: CheckWithState) => countsOf([check]).then(([count = 0]) => count);
    expect(await countOf(unseen)).toBeGreaterThanOrEqual(1);
    await expect.poll(() => countOf(known), { timeout: BACK_MS_MAX }).toBeGreaterThanOrEqual(3);
  }, 120_000);
});
