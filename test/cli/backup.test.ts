// `overdue backup` and `overdue restore` as a user runs them.
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { isS3ServerInstalled, S3Server, WHY_SKIPPED } from "../support/s3-server.ts";
import { callOverdue, endOf, runOverdue, startOverdue, useDurablePostgres } from "./run-overdue.ts";

vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

const postgres = useDurablePostgres();
let environment: Record<string, string>;
let folder: string;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "overdue-backup-"));
  environment = { OVERDUE_DATABASE_URL: await postgres.newDatabase() };
  await callOverdue(["migrate"], environment);
  await callOverdue(["admin", "create-account", "--email", "sam@example.org"], environment);
  await callOverdue(["admin", "create-project", "--name", "Backups"], environment);
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function query<T extends pg.QueryResultRow>(url: string, sql: string): Promise<T[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<T>(sql)).rows;
  } finally {
    await client.end();
  }
}

const projectsIn = (url: string) => query(url, "select name from projects");

const extract = (file: string, name: string) =>
  execFileSync("tar", ["-xOf", file, name], { encoding: "utf8" });

describe("overdue backup", () => {
  test("writes a file that only its owner can read, and ordinary tools can", async () => {
    const file = join(folder, "backup.tar");
    const { code, out, err } = await runOverdue(["backup", "--to", file, "--json"], environment);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    const summary = JSON.parse(out) as Record<string, unknown>;
    expect(summary).toMatchObject({
      location: file,
      bodies: 0,
      bodies_missing: 0,
      bytes: statSync(file).size,
    });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual(["backup.tar"]);
    const listed = execFileSync("tar", ["-tf", file], { encoding: "utf8" }).trim().split("\n");
    expect(listed).toEqual(
      expect.arrayContaining(["header.json", "settings.env", "tables/projects/000001.copy.zst"]),
    );
    expect(listed.at(-1)).toBe("manifest.json");
    expect(JSON.parse(extract(file, "header.json"))).toMatchObject({ format: 1, hasSecrets: false });
  });

  test("never overwrites a file, and leaves nothing behind when it fails", async () => {
    const file = join(folder, "backup.tar");
    writeFileSync(file, "mine");
    const { code, err } = await callOverdue(["backup", "--to", file], environment);
    expect({ code, err }).toEqual({
      code: 1,
      err: expect.stringContaining("already exists and is not overwritten"),
    });
    expect(readFileSync(file, "utf8")).toBe("mine");
    await query(
      environment["OVERDUE_DATABASE_URL"] ?? "",
      "insert into ping_bodies values (1, 1, now(), null, 'k', now())",
    );
    const failed = await callOverdue(["backup", "--to", join(folder, "other.tar")], environment);
    expect(failed).toMatchObject({ code: 1, err: expect.stringContaining("OVERDUE_S3_BUCKET") });
    expect(readdirSync(folder)).toEqual(["backup.tar"]);
  });

  test("deletes the partial file when it is interrupted", async () => {
    const url = environment["OVERDUE_DATABASE_URL"] ?? "";
    const holder = new pg.Client({ connectionString: url });
    await holder.connect();
    await holder.query("begin");
    // The backup waits for the table.
    await holder.query("lock table checks in access exclusive mode");
    const child = startOverdue(["backup", "--to", join(folder, "backup.tar")], environment);
    const ended = endOf(child);
    await vi.waitUntil(() => readdirSync(folder).length > 0, { timeout: 60_000 });
    child.kill("SIGTERM");
    await holder.end();
    expect(await ended).toMatchObject({ code: 1, err: "overdue: Interrupted. Nothing was changed.\n" });
    expect(readdirSync(folder)).toEqual([]);
  });

  test("includes secret settings only on request", async () => {
    const settings = {
      ...environment,
      OVERDUE_SITE_URL: "https://example.org",
      OVERDUE_SECRET_KEY: "x y#z".repeat(9),
    };
    const [plain, secret] = [join(folder, "plain.tar"), join(folder, "secret.tar")];
    expect((await callOverdue(["backup", "--to", plain], settings)).code).toBe(0);
    expect((await callOverdue(["backup", "--to", secret, "--with-secrets"], settings)).code).toBe(0);
    expect(extract(plain, "settings.env")).toContain("OVERDUE_SITE_URL=https://example.org\n");
    expect(extract(plain, "settings.env")).toContain("# OVERDUE_SECRET_KEY is a secret and is not included.");
    expect(readFileSync(plain).includes("x y#z")).toBe(false);
    expect(extract(secret, "settings.env")).toContain(`OVERDUE_SECRET_KEY='${"x y#z".repeat(9)}'\n`);
  });
});

describe("overdue restore", () => {
  test("restores into an empty database, in safe mode until it is confirmed", async () => {
    const file = join(folder, "backup.tar");
    await callOverdue(["backup", "--to", file], environment);
    const checked = await callOverdue(["restore", "--verify", file], {});
    expect(checked).toMatchObject({ code: 0, out: expect.stringContaining("complete and undamaged") });
    const target = await postgres.newDatabase();
    const there = { OVERDUE_DATABASE_URL: target };
    const { code, out, err } = await runOverdue(["restore", "--from", file], there);
    expect({ code, err, out }).toEqual({
      code: 0,
      err: "",
      out: expect.stringContaining("starts in safe mode"),
    });
    expect(await projectsIn(target)).toEqual([{ name: "Backups" }]);
    expect(await query(target, "select state from database_identity")).toEqual([{ state: "safe" }]);
    expect(await callOverdue(["migrate", "--plan"], there)).toMatchObject({
      out: "The database is up to date.\n",
    });
    expect(await callOverdue(["admin", "confirm-restore"], there)).toMatchObject({ code: 0 });
    const again = await callOverdue(["restore", "--from", file], there);
    expect(again).toMatchObject({ code: 1, err: expect.stringContaining("The database is not empty") });
  });

  test("explains what is wrong with its arguments and with the file", async () => {
    const there = { OVERDUE_DATABASE_URL: await postgres.newDatabase() };
    expect(await callOverdue(["restore"], there)).toMatchObject({
      code: 2,
      err: expect.stringContaining("--from or --verify"),
    });
    const missing = await callOverdue(["restore", "--from", join(folder, "none.tar")], there);
    expect(missing).toMatchObject({ code: 1, err: expect.stringContaining("does not exist") });
    writeFileSync(join(folder, "text.tar"), "hello");
    const text = await callOverdue(["restore", "--verify", join(folder, "text.tar")], there);
    expect(text).toMatchObject({
      code: 1,
      err: "overdue: The file is not a backup made by `overdue backup`, or it is damaged.\n",
    });
    const nowhere = await callOverdue(["backup", "--to", "s3://bucket/key"], environment);
    expect(nowhere).toMatchObject({ code: 2, err: expect.stringContaining("OVERDUE_S3_ENDPOINT") });
    const invalid = await callOverdue(["backup", "--to", "s3://bucket"], environment);
    expect(invalid).toMatchObject({ code: 2, err: expect.stringContaining("Use s3://bucket/key") });
  });

  test("moves data from a database to a trial and back", async () => {
    const [first, second] = [join(folder, "first.tar"), join(folder, "second.tar")];
    const data = join(folder, "trial");
    await callOverdue(["backup", "--to", first], environment);
    expect(await callOverdue(["restore", "--from", first, "--data", data], {})).toMatchObject({
      code: 0,
      err: "",
    });
    expect(await callOverdue(["backup", "--to", second, "--data", data], {})).toMatchObject({
      code: 0,
      err: "",
    });
    const target = await postgres.newDatabase();
    const restored = await callOverdue(["restore", "--from", second], { OVERDUE_DATABASE_URL: target });
    expect(restored).toMatchObject({ code: 0, err: "" });
    expect(await projectsIn(target)).toEqual([{ name: "Backups" }]);
    expect(existsSync(join(data, "postgres", "postmaster.pid"))).toBe(false);
  });
});

describe.skipIf(!isS3ServerInstalled)(`A backup in an object store${WHY_SKIPPED}`, () => {
  let store: S3Server;
  beforeAll(async () => {
    store = await S3Server.make();
    await store.start();
  });
  afterAll(() => store.remove());

  test("is written and read in parts, and is never overwritten", async () => {
    const settings = { ...environment, ...store.settings() };
    const place = `s3://${store.bucket}/daily/backup.tar`;
    // More than one part of an upload.
    await query(
      environment["OVERDUE_DATABASE_URL"] ?? "",
      `insert into ping_bodies select 1, n, now(), decode(string_agg(md5(random()::text), ''), 'hex')
        from generate_series(1, 20) n, generate_series(1, 65536) i group by n`,
    );
    const { code, out, err } = await callOverdue(["backup", "--to", place, "--quiet", "--json"], settings);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(JSON.parse(out).bytes).toBeGreaterThan(17 * 1024 * 1024);
    const again = await callOverdue(["backup", "--to", place], settings);
    expect(again).toMatchObject({ code: 1, err: expect.stringContaining("already exists") });
    const target = await postgres.newDatabase();
    const restored = await callOverdue(["restore", "--from", place, "--quiet"], {
      ...settings,
      OVERDUE_DATABASE_URL: target,
    });
    expect(restored).toMatchObject({ code: 0, out: "", err: "" });
    expect(await projectsIn(target)).toEqual([{ name: "Backups" }]);
    const none = await callOverdue(
      ["restore", "--verify", `s3://${store.bucket}/none.tar`],
      store.settings(),
    );
    expect(none).toMatchObject({ code: 1, err: expect.stringContaining("does not exist") });
  });
});
