// `overdue prune` on a real database: everything that may go, goes, in portions and with a report; the rest stays.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import pg from "pg";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { callOverdue, runOverdue, useDurablePostgres } from "./run-overdue.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const postgres = useDurablePostgres();
let environment: Record<string, string>;

beforeEach(async () => {
  environment = { OVERDUE_DATABASE_URL: await postgres.newDatabase() };
  await callOverdue(["migrate"], environment);
});

async function query<T extends pg.QueryResultRow>(sql: string): Promise<T[]> {
  const client = new pg.Client({ connectionString: environment["OVERDUE_DATABASE_URL"] });
  await client.connect();
  try {
    return (await client.query<T>(sql)).rows;
  } finally {
    await client.end();
  }
}

const countOf = async (table: string) =>
  Number((await query<{ count: string }>(`select count(*) as count from ${table}`))[0]?.count);

const prune = (...args: string[]) => callOverdue(["prune", ...args], environment);

/** Checks that nobody has pinged for long, and `count` old flips. */
async function makePast(count: number): Promise<void> {
  await query(`
    insert into projects (uuid, name, ping_key, badge_key, created_at)
      values (gen_random_uuid(), '', 'key', 'key', now());
  `);
  await query(`
    insert into checks (uuid, badge_uuid, unique_key,
      project_id, name, slug, tags, description, kind, timeout_seconds,
        grace_seconds, schedule, tz, manual_resume, methods, start_kw, success_kw, failure_kw, filter_subject,
        filter_body, filter_http_body, filter_default_fail, created_at, updated_at)
      select gen_random_uuid(), gen_random_uuid(), gen_random_uuid()::text,
        1, 'job ' || i, '', '', '', 'simple', 3600, 600, '', 'UTC',
        false, '', '', '', '', false, false, false, false, now(), now()
      from generate_series(1, 450) i`);
  await query(`
    insert into check_days select id, day, 1, 0, 0, 0, 0
      from checks, (values (current_date - 100), (current_date - 5)) as days (day)`);
  await query(`
    insert into run_chunks (from_at, to_at, check_id, run_count, runs)
      select at, at, id, 0, '' from checks, (values (now() - interval '100 days'), (now())) as times (at)`);
  await query(`
    insert into flips (check_id, at, from_status, to_status, reason)
      select 1, now() - interval '1 year', 'up', 'down', 'fail' from generate_series(1, ${count})`);
}

describe("overdue prune", () => {
  test("removes in portions what may go, says how much, and then finds nothing", async () => {
    await makePast(2_500);
    const { code, out, err } = await runOverdue(["prune", "--json"], environment);
    // Progress is printed if it takes more than a few seconds.
    expect({ code, err }).toEqual({
      code: 0,
      err: expect.stringMatching(/^(overdue: deleted so far: .*\n)*$/),
    });
    expect(JSON.parse(out)).toMatchObject({
      deleted: { flips: 2_500, run_history: 900, events: 0 },
      complete: true,
      // The former keys.
      removed: { flips: 2_500, runHistory: 900, events: 0 },
      isComplete: true,
      left: null,
    });
    expect([await countOf("flips"), await countOf("check_days"), await countOf("run_chunks")]).toEqual([
      0, 450, 450,
    ]);
    const again = await prune();
    expect(again).toEqual({ code: 0, err: "", out: "Deleted: nothing. No expired data remains.\n" });
  });

  test("says how far it is while it works, unless it is told to be quiet", async () => {
    await makePast(2_500);
    const past = performance.now.bind(performance);
    let skippedMs = 0;
    // Whoever asks for the time finds that six more seconds have passed.
    vi.spyOn(performance, "now").mockImplementation(() => past() + (skippedMs += 6_000));
    onTestFinished(() => void vi.restoreAllMocks());
    const { code, err } = await prune();
    expect(code).toBe(0);
    expect(err).toMatch(/^(overdue: deleted so far: \d+ status changes, \d+ run history records\n){2,}$/);
    expect(await prune("--quiet")).toMatchObject({ code: 0, err: "" });
  });

  test("takes a check that was deleted in the dashboard with all of its history", async () => {
    await makePast(3);
    await query("update checks set deleted_at = now() - interval '8 days' where id = 1");
    await query("update checks set deleted_at = now() - interval '6 days' where id = 2");
    const { out } = await prune();
    expect(out).toMatch(/^Deleted: .*\b900 run history records, 1 deleted checks\. No expired data/);
    expect(await countOf("checks")).toBe(449);
    expect(await query("select 1 from check_days where check_id = 1")).toEqual([]);
  });

  test("stops when its time is over, says so, and the next run goes on", async () => {
    await makePast(2_500);
    const first = await prune("--minutes", "0.0001");
    expect(first.code).toBe(1);
    expect(first.out).toContain(
      "Some expired data remains: the time limit was reached; run the command again to continue.",
    );
    expect(await countOf("flips")).toBe(1_500);
    expect(await prune("--quiet")).toMatchObject({ code: 0, err: "" });
    expect(await countOf("flips")).toBe(0);
  });

  test("follows the settings, and its help shows them", async () => {
    await makePast(3);
    Object.assign(environment, {
      OVERDUE_FLIP_RETENTION_DAYS: "400",
      OVERDUE_PING_RETENTION_DAYS: "30",
    });
    await query(`insert into pings (at, check_id, n, kind, scheme, method, ua)
      select now() - interval '31 days', 1, i, 's', 'http', 'GET', '' from generate_series(1, 1500) i`);
    const { code, out } = await prune("--json");
    expect({ code, removed: JSON.parse(out).removed }).toMatchObject({
      code: 0,
      removed: { flips: 0, pings: 1_500 },
    });
    const help = await prune("--help");
    expect(help.out).toMatch(/^ {2}30 {2}pings and their bodies/m);
    expect(help.out).toMatch(/^ 400 {2}status changes/m);
  });

  test("two at once do the work of one", async () => {
    await makePast(3_000);
    const both = await Promise.all([prune("--json"), prune("--json")]);
    expect(both.map(({ code }) => code)).toEqual([0, 0]);
    const removed = both.map(({ out }) => JSON.parse(out).removed.flips);
    expect(removed[0] + removed[1]).toBe(3_000);
  });
});

describe("objects whose pings are gone", () => {
  const owe = (count: number) =>
    query(`insert into object_removals (object_key, due_at)
      select 'check/object-' || i, now() - interval '1 hour' from generate_series(1, ${count}) i`);

  const store = (port: number) => ({
    OVERDUE_S3_BUCKET: "bodies",
    OVERDUE_S3_ENDPOINT: `http://127.0.0.1:${port}`,
    OVERDUE_S3_ACCESS_KEY: "key",
    OVERDUE_S3_SECRET_KEY: "secret",
  });

  test("are removed from the object store, however many", async () => {
    await owe(600);
    const asked: string[] = [];
    const server = createServer((request, response) => {
      asked.push(`${request.method} ${request.url}`);
      response.writeHead(204).end();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    Object.assign(environment, store((server.address() as AddressInfo).port));
    const { code, out } = await prune("--json");
    expect({ code, removed: JSON.parse(out).removed.storedObjects }).toEqual({ code: 0, removed: 600 });
    expect(new Set(asked).size).toBe(600);
    expect(asked).toContain("DELETE /bodies/check/object-1");
    expect(await countOf("object_removals")).toBe(0);
  });

  test("stay known while the object store is away, and that is said", async () => {
    await owe(3);
    // A port that nobody listens on.
    Object.assign(environment, store(1));
    const { code, out } = await prune();
    expect(code).toBe(1);
    expect(out).toContain("the object store failed: ");
    expect(await countOf("object_removals")).toBe(3);
  });

  test("need settings that say where they are", async () => {
    await owe(1);
    const { code, out } = await prune();
    expect(code).toBe(1);
    expect(out).toContain("no object store is configured (OVERDUE_S3_BUCKET)");
  });
});
