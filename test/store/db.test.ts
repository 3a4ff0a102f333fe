// The connection: session settings, rejected servers, and conversion of values.
import pg from "pg";
import { describe, expect, inject, test } from "vitest";
import { connectAlone, openDatabase, statement } from "../../src/store/db.ts";
import {
  isRefusedValue,
  postgresErrorName,
  sqlStateOf,
  UnusableDatabaseError,
} from "../../src/store/errors.ts";
import { findSecretKey, readDatabaseClock } from "../../src/store/instance.ts";
import { sqlInstant, toNumberArray, toTimestamp } from "../../src/store/values.ts";
import { openTestDatabase, useDatabase } from "../support/database.ts";
import { debianPostgres, embeddedPostgres } from "../support/postgres-binaries.ts";
import { startPostgres } from "../support/postgres.ts";

const database = useDatabase();

describe("a session", () => {
  test("uses UTC, waits briefly for locks, and ends idle transactions", async () => {
    const { rows } = await database.db.pool.query<{ name: string; setting: string }>(
      `select name, setting from pg_settings where name in ('TimeZone', 'lock_timeout', 'statement_timeout',
        'idle_in_transaction_session_timeout', 'application_name', 'jit', 'tcp_keepalives_idle')`,
    );
    expect(Object.fromEntries(rows.map(({ name, setting }) => [name, setting]))).toEqual({
      TimeZone: "UTC",
      lock_timeout: "500",
      statement_timeout: "30000",
      idle_in_transaction_session_timeout: "5000",
      application_name: "overdue-test",
      jit: "off",
      tcp_keepalives_idle: "10",
    });
  });

  test("keeps a named statement prepared", async () => {
    const db = openDatabase({
      url: database.url,
      applicationName: "overdue-test",
      onError: () => {},
      connectionsMax: 1,
      requireDurable: false,
    });
    try {
      const named = statement<{ one: number }>({ name: "test.one", text: "select $1::int as one" });
      expect(await db.query(named, [1])).toEqual({ rows: [{ one: 1 }], count: 1 });
      await db.query(named, [2]);
      const { rows } = await db.pool.query(
        "select generic_plans + custom_plans as runs from pg_prepared_statements where name = 'test.one'",
      );
      expect(rows).toEqual([{ runs: 2 }]);
    } finally {
      await db.close();
    }
  });

  test("that does not answer a statement some time after the server should have ended it is replaced", async () => {
    const db = openDatabase({
      url: database.url,
      applicationName: "overdue-test",
      onError: () => {},
      connectionsMax: 1,
      statementTimeoutMs: 100,
      requireDurable: false,
    });
    try {
      const pid = async () =>
        (await db.pool.query<{ pid: number }>("select pg_backend_pid() as pid")).rows[0]?.pid;
      const before = await pid();
      // As if the machine of the server was gone.
      await db.pool.query("set statement_timeout = 0");
      await expect(db.pool.query("select pg_sleep(60)")).rejects.toThrow("Query read timeout");
      expect(await pid()).not.toBe(before);
    } finally {
      await db.close();
      await database.db.pool.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where query = 'select pg_sleep(60)' and pid <> pg_backend_pid()",
      );
    }
  });

  test("that breaks while idle is reported and replaced, and the process lives on", async () => {
    const errors: Error[] = [];
    const db = openDatabase({
      url: database.url,
      applicationName: "overdue-test-broken",
      onError: (error) => errors.push(error),
      connectionsMax: 1,
      requireDurable: false,
    });
    try {
      const before = (await db.pool.query<{ pid: number }>("select pg_backend_pid() as pid")).rows[0]?.pid;
      await database.db.pool.query("select pg_terminate_backend($1)", [before]);
      await expect.poll(() => errors.length).toBe(1);
      const after = (await db.pool.query<{ pid: number }>("select pg_backend_pid() as pid")).rows[0]?.pid;
      expect(after).not.toBe(before);
    } finally {
      await db.close();
    }
  });
});

describe("a server", () => {
  const binaries = () => (inject("postgresMajor") === 15 ? debianPostgres() : embeddedPostgres());

  /** Whether a pool and a single connection to this URL are accepted, or why not. */
  async function verdicts(url: string): Promise<string[]> {
    const options = { url, applicationName: "overdue-test", onError: () => {} };
    const db = openDatabase(options);
    const works = [
      () => readDatabaseClock(db),
      async () => {
        const client = await connectAlone(options);
        await client.end();
      },
    ];
    const verdict = (work: () => Promise<unknown>) =>
      work().then(
        () => "accepted",
        (error: unknown) => (error instanceof UnusableDatabaseError ? error.message : String(error)),
      );
    try {
      return await Promise.all(works.map(verdict));
    } finally {
      await db.close();
    }
  }

  // The server of the tests runs without fsync, for speed, which must be rejected everywhere else.
  test("that could lose a confirmed signal is refused, by pool and by single connection", async () => {
    for (const verdict of await verdicts(database.url)) expect(verdict).toMatch("fsync = off");
  });

  test("that keeps what it confirms is accepted, and refused when a commit does not wait", async () => {
    const server = await startPostgres({ binaries: binaries() });
    try {
      expect(await verdicts(server.url())).toEqual(["accepted", "accepted"]);
      const client = new pg.Client(server.url());
      await client.connect();
      await client.query("alter database postgres set synchronous_commit = off");
      await client.end();
      for (const verdict of await verdicts(server.url())) expect(verdict).toMatch("synchronous_commit = off");
    } finally {
      await server.stop();
    }
  });

  test("that is not there is an error of the statement, not of the process", async () => {
    const db = openTestDatabase("postgres://nobody@127.0.0.1:1/nothing");
    await expect(readDatabaseClock(db)).rejects.toThrow("ECONNREFUSED");
    await db.close();
  });
});

describe("values", () => {
  const echo = statement<{ at: number | null; ats: number[]; big: number; bigs: number[]; day: string }>({
    name: "test.echo",
    text: `select $1::timestamptz as at, array[$1::timestamptz] as ats, $2::bigint as big,
      array[$2::bigint] as bigs, $3::date as day`,
  });

  test.each([0, 1, 999, 1_000, 1_793_448_000_123, -1, -86_400_001, Date.UTC(9999, 11, 31)])(
    "the instant %d comes back exactly",
    async (at) => {
      const { rows } = await database.db.query(echo, [toTimestamp(at), 9_007_199_254_740_991, "2026-11-16"]);
      const big = Number.MAX_SAFE_INTEGER;
      expect(rows).toEqual([{ at, ats: [at], big, bigs: [big], day: "2026-11-16" }]);
    },
  );

  test("instants sent as numbers arrive exactly, to the last millisecond", async () => {
    const instants = Array.from({ length: 2_000 }, (_, i) => 1_500_000_000_000 + i * 1_234_567_891 + i);
    const arrive = statement<{ ats: (number | null)[] }>({
      name: "test.instants",
      text: `select array_agg(${sqlInstant("n.at")} order by n.position) as ats
        from unnest($1::bigint[]) with ordinality as n (at, position)`,
    });
    const { rows } = await database.db.query(arrive, [toNumberArray([...instants, null])]);
    expect(rows[0]?.ats).toEqual([...instants, null]);
  });

  test("null stays null", async () => {
    const { rows } = await database.db.query(echo, [toTimestamp(null), 1, "2026-11-16"]);
    expect(rows[0]).toMatchObject({ at: null, ats: [null] });
  });

  test("what a number cannot hold exactly is refused instead of rounded", async () => {
    const asked = database.db.query(echo, [toTimestamp(0), "9007199254740993", "2026-11-16"]);
    await expect(asked).rejects.toThrow("too large for a number");
    const infinite = statement<{ at: number }>({
      name: "test.infinity",
      text: "select 'infinity'::timestamptz as at",
    });
    await expect(database.db.query(infinite, [])).rejects.toThrow("not a timestamp in UTC");
  });

  test("the database's clock is close to ours", async () => {
    expect(Math.abs((await readDatabaseClock(database.db)) - Date.now())).toBeLessThan(60_000);
  });
});

test("the first migration made a secret of 256 bits", async () => {
  expect(await findSecretKey(database.db)).toMatch(/^[0-9a-f]{64}$/);
});

describe("errors", () => {
  const failure = (text: string) => database.db.pool.query(text).catch((error: unknown) => error);

  test("of the server have a name if it is needed", async () => {
    expect(
      postgresErrorName(await failure("insert into instance_settings select * from instance_settings")),
    ).toBe("unique_violation");
    const syntax = await failure("selec");
    expect(sqlStateOf(syntax)).toBe("42601");
    expect(postgresErrorName(syntax)).toBeNull();
  });

  test("of a rejected value are distinguished from others", async () => {
    expect(isRefusedValue(await failure("select 'x'::int"))).toBe(true);
    expect(isRefusedValue(await failure("select chr(0)"))).toBe(false);
    expect(isRefusedValue(await failure("select 1/0"))).toBe(true);
    expect(isRefusedValue(await failure("selec"))).toBe(false);
  });

  test("that are not the server's have no state", () => {
    expect(sqlStateOf(Object.assign(new Error("refused"), { code: "ECONNREFUSED" }))).toBeNull();
    expect(sqlStateOf("23505")).toBeNull();
  });
});
