// Migrating and administering a real database through the real program.
import { createHmac } from "node:crypto";
import pg from "pg";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { callOverdue, endOf, runOverdue, startOverdue, useDurablePostgres } from "./run-overdue.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const postgres = useDurablePostgres();
const SECRET_KEY = "a-secret-of-the-operator-0123456789";

async function rowsOf(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

describe("overdue migrate", () => {
  test("--plan prints pending migrations and changes nothing; migrate applies them, once", async () => {
    const environment = { OVERDUE_DATABASE_URL: await postgres.newDatabase() };
    for (const _ of [1, 2]) {
      const plan = await callOverdue(["migrate", "--plan"], environment);
      expect(plan).toMatchObject({ code: 0, out: expect.stringMatching(/^Pending:\n {2}0001_initial/) });
    }
    const first = await runOverdue(["migrate", "--json"], environment);
    expect(JSON.parse(first.out).applied).toContain("0001_initial");
    const second = await callOverdue(["migrate"], environment);
    expect(second).toMatchObject({ code: 0, out: "The database is up to date.\n" });
  });

  test("a database that does not exist is an error in words, with code 1", async () => {
    const url = postgres.server().url("no_such_database");
    const { code, err } = await callOverdue(["migrate"], { OVERDUE_DATABASE_URL: url });
    expect(code).toBe(1);
    expect(err).toBe(
      'overdue: Cannot use the database: database "no_such_database" does not exist. ' +
        "Create the database first, for instance with `createdb overdue`.\n",
    );
  });

  test("an admin command waits while another process migrates", async () => {
    const url = await postgres.newDatabase();
    const environment = { OVERDUE_DATABASE_URL: url };
    await callOverdue(["migrate"], environment);
    // As a database looks during its first migration: the lock is held, and nothing is recorded yet.
    const migrating = new pg.Client({ connectionString: url });
    await migrating.connect();
    await migrating.query("select pg_advisory_lock(7064531920)");
    await migrating.query("alter table migration_checksums rename to hidden");
    const child = startOverdue(["admin", "list"], environment);
    const ended = endOf(child);
    await new Promise<void>((resolve, reject) => {
      child.stderr.once("data", () => resolve());
      void ended.then(({ err }) => reject(new Error(`it did not wait: ${err}`)));
    });
    await migrating.query("alter table hidden rename to migration_checksums");
    await migrating.end();
    const { code, err } = await ended;
    expect({ code, err }).toEqual({
      code: 0,
      err: expect.stringContaining("A database migration is running"),
    });
  });

  test("a newer schema is refused", async () => {
    const url = await postgres.newDatabase();
    await callOverdue(["migrate"], { OVERDUE_DATABASE_URL: url });
    await rowsOf(url, "insert into migration_checksums values ('9999_future', 'x')");
    const { code, err } = await callOverdue(["migrate"], { OVERDUE_DATABASE_URL: url });
    expect(code).toBe(1);
    expect(err).toContain("migrated by a newer version of Overdue: 9999_future");
    expect(err).not.toMatch(/^\s+at /m);
  });

  test("admin commands want a migrated database", async () => {
    const { code, err } = await callOverdue(["admin", "list"], {
      OVERDUE_DATABASE_URL: await postgres.newDatabase(),
    });
    expect(code).toBe(1);
    expect(err).toContain("Run `overdue migrate` first.");
  });
});

describe("overdue admin", () => {
  let url = "";
  const admin = (...args: string[]) =>
    callOverdue(["admin", ...args], {
      OVERDUE_DATABASE_URL: url,
      OVERDUE_SECRET_KEY: SECRET_KEY,
      OVERDUE_CHECK_LIMIT: "50",
    });

  beforeAll(async () => {
    url = await postgres.newDatabase();
    await callOverdue(["migrate"], { OVERDUE_DATABASE_URL: url });
  });

  test("without an account, the list and create-project say how to make one", async () => {
    const list = await admin("list");
    expect(list).toMatchObject({
      code: 0,
      out: expect.stringContaining("overdue admin account create --email"),
    });
    const project = await admin("create-project", "--json");
    expect(project).toMatchObject({
      code: 1,
      out: "",
      err: expect.stringContaining("No accounts yet."),
    });
  });

  test("create-account makes one for an address, once", async () => {
    const made = await admin("create-account", "--email", "Alice@Example.org", "--name", "Alice", "--json");
    expect(made.code).toBe(0);
    expect(JSON.parse(made.out)).toEqual({
      uuid: expect.stringMatching(/^[0-9a-f-]{36}$/),
      email: "alice@example.org",
    });
    const again = await admin("create-account", "--email", "alice@example.org");
    expect(again).toMatchObject({
      code: 1,
      err: "overdue: An account for alice@example.org already exists.\n",
    });
    const wrong = await admin("create-account", "--email", "alice");
    expect(wrong).toMatchObject({ code: 1, err: 'overdue: "alice" is not a valid email address.\n' });
  });

  test("the program itself prints the same JSON and nothing else", async () => {
    const args = ["admin", "create-project", "--json"];
    const { code, out, err } = await runOverdue(args, { OVERDUE_DATABASE_URL: url });
    expect({ code, err, keys: Object.keys(JSON.parse(out)) }).toEqual({
      code: 0,
      err: "",
      keys: ["uuid", "api_key", "api_key_readonly", "ping_key"],
    });
    await rowsOf(url, "delete from projects");
  });

  test("create-project --json prints the four keys and stores the API keys hashed", async () => {
    const { code, out, err } = await admin("create-project", "--name", "Backups", "--json");
    expect({ code, err }).toEqual({ code: 0, err: "" });
    const project = JSON.parse(out);
    expect(project).toEqual({
      uuid: expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
      api_key: expect.stringMatching(/^odw_[A-Za-z0-9]{28}$/),
      api_key_readonly: expect.stringMatching(/^odr_[A-Za-z0-9]{28}$/),
      ping_key: expect.stringMatching(/^[a-z0-9]{22}$/),
    });
    const stored = await rowsOf(
      url,
      "select prefix, encode(digest, 'hex') as digest from api_keys order by id",
    );
    expect(stored).toEqual(
      [project.api_key, project.api_key_readonly].map((key: string) => ({
        prefix: key.slice(0, 12),
        digest: createHmac("sha256", SECRET_KEY).update(key).digest("hex"),
      })),
    );
    const dump = JSON.stringify(await rowsOf(url, "select * from api_keys, projects"));
    expect(dump).toContain(project.ping_key);
    expect(dump).not.toContain(project.api_key);
  });

  test("create-project in words shows addresses and says that keys are shown once", async () => {
    const { out } = await admin("create-project", "--name", "Reports", "--account", "alice@example.org");
    expect(out).toMatch(/API key \(read-write\) +odw_/);
    expect(out).toContain("http://localhost:8000/ping/");
    expect(out).toContain("won't be able to see them again");
  });

  test("create-keys adds keys; --replace ends the earlier ones of that kind", async () => {
    const { uuid } = JSON.parse((await admin("create-project", "--json")).out);
    const added = JSON.parse(
      (await admin("create-keys", "--project", uuid, "--kind", "read-only", "--json")).out,
    );
    expect(added).toMatchObject({ uuid, api_key: null, api_key_readonly: expect.stringMatching(/^odr_/) });
    const replaced = await admin(
      "create-keys",
      "--project",
      uuid.toUpperCase(),
      "--kind",
      "read-only",
      "--replace",
    );
    expect(replaced.out).toContain("Revoked keys: 2.");
    const list = JSON.parse((await admin("list", "--json")).out);
    const project = list.accounts[0].projects.find((one: { uuid: string }) => one.uuid === uuid);
    expect(project.api_keys.map((key: { kind: string }) => key.kind).toSorted()).toEqual([
      "read-only",
      "read-write",
    ]);
    const missing = await admin("create-keys", "--project", "00000000-0000-4000-8000-000000000000");
    expect(missing).toMatchObject({ code: 1, err: expect.stringContaining("No project with UUID 00000000") });
  });

  test("set-check-limit gives an account its own limit, and back", async () => {
    const limitOf = async () => JSON.parse((await admin("list", "--json")).out).accounts[0].check_limit;
    expect(await limitOf()).toBe(50);
    const set = await admin("set-check-limit", "--account", "alice@example.org", "--limit", "3");
    expect(set).toMatchObject({ code: 0, out: "Check limit for alice@example.org: 3.\n" });
    expect(await limitOf()).toBe(3);
    await admin("set-check-limit", "--account", "alice@example.org", "--limit", "default");
    expect(await limitOf()).toBe(50);
    const nobody = await admin("set-check-limit", "--account", "bob@example.org", "--limit", "3");
    expect(nobody).toMatchObject({ code: 1, err: "overdue: No account found for bob@example.org.\n" });
  });

  test("with two accounts, create-project wants to know which", async () => {
    await admin("create-account", "--email", "bob@example.org", "--operator");
    const unclear = await admin("create-project", "--json");
    expect(unclear).toMatchObject({ code: 1, err: expect.stringContaining("Choose one with --account") });
    const { code } = await admin("create-project", "--account", "bob@example.org", "--json");
    expect(code).toBe(0);
  });

  test("list shows accounts, projects and the beginnings of keys, never a whole one", async () => {
    const { out } = await admin("list");
    expect(out).toContain("alice@example.org (0 of 50 checks)");
    expect(out).toContain("bob@example.org (0 of 50 checks, admin)");
    expect(out).toMatch(/odw_[A-Za-z0-9]{8}…/);
    expect(out).not.toMatch(/od[wr]_[A-Za-z0-9]{9}/);
  });
});
