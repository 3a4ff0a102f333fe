// Reads the same fixture from three real databases.
import { createHmac } from "node:crypto";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import pg from "pg";
import { IMPORT_BODY_BYTES_MAX, IMPORT_TEXT_LENGTH_MAX } from "../../src/core/limits.ts";
import { openDatabaseSource } from "../../src/import/healthchecks-database.ts";
import { isPassword } from "../../src/lib/password-hash.ts";
import { type Certificates, makeCertificates } from "../support/certificates.ts";
import { isMariadbInstalled, type MariadbServer, startMariadb, WHY_SKIPPED } from "../support/mariadb.ts";
import { buildFixture, openTarget } from "./fixtures/build.ts";
import {
  FIXTURE_KEYS,
  FIXTURE_PASSWORD,
  FIXTURE_SECRET,
  fixtureContent,
  type FixtureOptions,
} from "./fixtures/content.ts";
import { type FixtureSchema, olderSchema, type SchemaChanges, schemaWithout } from "./fixtures/schema.ts";
import { collect, type Everything, readAll } from "./read-all.ts";

const DIALECTS = (["postgres", "mysql", "sqlite"] as const).filter(
  (dialect) => dialect !== "mysql" || isMariadbInstalled,
);
type Dialect = (typeof DIALECTS)[number];

const folder = mkdtempSync(join(tmpdir(), "overdue-import-"));
let mariadb: MariadbServer | null = null;
let databaseCount = 0;
const created: string[] = [];

beforeAll(async () => {
  if (isMariadbInstalled) mariadb = await startMariadb();
});

afterAll(async () => {
  await mariadb?.stop();
  await onPostgres(async (admin) => {
    for (const name of created) await admin.query(`drop database ${name} with (force)`);
  });
  rmSync(folder, { recursive: true });
});

async function onPostgres(work: (admin: pg.Client) => Promise<void>): Promise<void> {
  const admin = new pg.Client({ connectionString: inject("postgresUrl") });
  await admin.connect();
  try {
    await work(admin);
  } finally {
    await admin.end();
  }
}

/** An empty database. */
async function emptyDatabase(dialect: Dialect): Promise<string> {
  databaseCount += 1;
  const name = `fixture_${process.pid}_${databaseCount}`;
  if (dialect === "sqlite") return join(folder, `${name}.sqlite`);
  if (dialect === "mysql") return (await mariadb?.create(name)) ?? "";
  await onPostgres(async (admin) => void (await admin.query(`create database ${name} template template0`)));
  created.push(name);
  return inject("postgresUrl").replace(/\/postgres$/, `/${name}`);
}

type Given = { options?: FixtureOptions; schema?: FixtureSchema; damage?: readonly string[] };

/** The URL of a fixture, with statements that damage it. */
async function fixtureIn(
  dialect: Dialect,
  { options = {}, schema, damage = [] }: Given = {},
): Promise<string> {
  const url = await emptyDatabase(dialect);
  await buildFixture(url, { content: fixtureContent(options), ...(schema !== undefined && { schema }) });
  const target = await openTarget(url);
  for (const statement of damage) await target.run(statement);
  await target.close();
  return url;
}

async function readFixture(dialect: Dialect, given: Given = {}): Promise<Everything> {
  return readAll(await openDatabaseSource(await fixtureIn(dialect, given)));
}

const NOT_WAL = /^The SQLite file is not in WAL mode/;

function withoutMode({ limitations, ...rest }: Everything): Everything {
  return { ...rest, limitations: limitations.filter((line) => !NOT_WAL.test(line)) };
}

function checkNumber(everything: Everything, id: number) {
  const found = [...everything.checks.values()].find(({ check }) => check.slug === `job-${id}`);
  if (found === undefined) throw new Error(`no check ${id}`);
  return found;
}

describe(`A fixture in PostgreSQL, MySQL and SQLite${WHY_SKIPPED}`, () => {
  test("contains the same in each of them", async () => {
    const options = { withUnknownChannels: true, withCollidingEmails: true, withObjects: true };
    const [first, ...others] = await Promise.all(
      DIALECTS.map((dialect) => readFixture(dialect, { options })),
    );
    if (first === undefined) throw new Error("nothing was read");
    expect(first.checks.size).toBe(200);
    for (const other of others) expect(withoutMode(other)).toEqual(withoutMode(first));
  });

  test("contains the same in each of them in an older schema", async () => {
    const [first, ...others] = await Promise.all(
      DIALECTS.map((dialect) => readFixture(dialect, { schema: olderSchema() })),
    );
    if (first === undefined) throw new Error("nothing was read");
    for (const other of others) expect(withoutMode(other)).toEqual(withoutMode(first));
    expect(withoutMode(first).limitations).toEqual([
      "The table accounts_profile has no column reports. Reports keep their default.",
      "The table accounts_profile has no column tz. The time zone of reports is UTC.",
      "The table accounts_profile has no column totp. Accounts are imported without authenticator apps.",
      "The table api_channel has no column disabled. All channels are enabled.",
      "The table api_check has no column badge_key. Badge URLs of checks change.",
      "The table api_check has no column methods. All checks accept HEAD, GET, and POST.",
      "The table api_check has no column start_kw. Checks are imported without these keywords.",
      "The table api_check has no column filter_subject. It is off for all checks.",
      "The table api_check has no column filter_body. It is off for all checks.",
      "The table api_check has no column filter_http_body. It is off for all checks.",
      "The table api_check has no column filter_default_fail. It is off for all checks.",
      "The table api_check has no column last_start_rid. Runs in progress are imported without their run IDs.",
      "The table api_ping has no column exitstatus. Pings are imported without exit statuses.",
      "The table api_ping has no column rid. Pings are imported without run IDs.",
      "The table api_flip has no column reason. Flips are imported without reasons.",
      "The table accounts_member has no column role. Members that may change checks become members, others read-only.",
    ]);
    const { pings } = checkNumber(first, 1);
    expect(pings.map(({ body }) => body && Buffer.from(body).toString())).toContain(
      "Backup 1 is complete: größer\n",
    );
    expect(first.projects[0]?.members.map(({ role }) => role)).toEqual(["w", "r", "w"]);
  });
});

describe("The default fixture", () => {
  test("has the values that were written", async () => {
    const read = withoutMode(await readFixture("postgres"));
    const { accounts, projects, checks, limitations } = read;
    expect(limitations).toEqual([]);
    expect(accounts.map(({ email, isAdmin, name }) => [email, isAdmin, name])).toEqual([
      ["alice@example.org", true, ""],
      ["Bob.Smith@Example.org", false, ""],
      ["carol@example.org", false, ""],
      ["dave@example.org", false, "Dave Ångström"],
    ]);
    expect(accounts.map(({ passwordHash }) => passwordHash?.split("$")[0])).toEqual([
      "argon2",
      "pbkdf2_sha256",
      undefined,
      "argon2",
    ]);
    expect(accounts[0]).toMatchObject({
      checkLimit: 10_000,
      pingLogLimit: 1_000,
      tz: "UTC",
      reports: "monthly",
      nagPeriodS: 0,
      totpSecret: "JBSWY3DPEHPK3PXP",
    });
    expect(projects.map(({ name, checkCount, ownerEmail }) => [name, checkCount, ownerEmail])).toEqual([
      ["Alices Project", 150, "alice@example.org"],
      ["Zweites Projekt – ü", 40, "alice@example.org"],
      ["", 10, "Bob.Smith@Example.org"],
    ]);
    expect(projects[0]?.keys.readWrite).toEqual({
      prefix: FIXTURE_KEYS.readWrite.slice(0, 12),
      digestHex: createHmac("sha256", FIXTURE_SECRET).update(FIXTURE_KEYS.readWrite).digest("hex"),
    });
    const { passwordHash } = accounts[0] ?? {};
    expect(await isPassword(FIXTURE_PASSWORD, passwordHash?.replace("argon2", "") ?? null)).toBe(true);
    expect(projects[1]?.keys).toEqual({
      readWrite: { text: FIXTURE_KEYS.plainReadWrite },
      readOnly: { text: FIXTURE_KEYS.plainReadOnly },
    });
    expect(projects[2]?.keys).toEqual({ readWrite: null, readOnly: null });
    expect(projects[0]?.members).toEqual([
      { email: "Bob.Smith@Example.org", role: "w" },
      { email: "carol@example.org", role: "r" },
      { email: "dave@example.org", role: "m" },
    ]);
    expect(projects.flatMap(({ channels }) => channels)).toHaveLength(7);
    expect([...checks.values()].reduce((total, { pings }) => total + pings.length, 0)).toBe(415);
    const flips = [...checks.values()].flatMap((one) => one.flips);
    expect(flips).toHaveLength(231);
    expect(flips.filter(({ to }) => to === "paused")).toHaveLength(11);
  });

  test("has the settings, the state and the history of a check", async () => {
    const everything = await readFixture("sqlite");
    const { check, pings, flips } = checkNumber(everything, 60);
    expect(check).toMatchObject({
      name: "Job 60",
      kind: "simple",
      timeoutS: 60 * 61,
      graceS: 3_660,
      desc: `Line 1 of 60\nLine 2 'quoted' "twice" \\ and $1 ?`,
      lastStartAt: Date.UTC(2026, 10, 16, 11, 59, 0, 500),
      lastDurationS: 61.5,
      pingCount: 5,
    });
    expect(check.lastStartRid).toBe(pings.at(-1)?.rid);
    expect(check.channelUuids.length).toBeGreaterThan(0);
    expect(pings.map(({ number, kind, exitStatus }) => [number, kind, exitStatus])).toEqual([
      [1, "success", null],
      [2, "start", null],
      [3, "success", null],
      [4, "fail", 61],
      [5, "start", null],
    ]);
    expect(pings[2]?.body).toEqual(Uint8Array.from([0, 1, 254, 255, 60]));
    expect(pings[3]?.body).toBeNull();
    expect(flips.map(({ from, to }) => `${from} ${to}`)).toEqual(["up down", "down up", "up paused"]);
    // A run ID of a run that has ended is not taken.
    expect(checkNumber(everything, 7).check).toMatchObject({ lastStartAt: null, lastStartRid: null });
    expect(checkNumber(everything, 3).pings[2]?.body).toEqual(Uint8Array.from(Buffer.alloc(20_000, "x")));
  });

  test("has the pings after a number", async () => {
    const source = await openDatabaseSource(await fixtureIn("sqlite"));
    const [project] = await source.projects();
    if (project === undefined) throw new Error("no project");
    const checks = await collect(source.checks(project));
    const check = checks.find(({ slug }) => slug === "job-4");
    if (check === undefined) throw new Error("no check");
    const numbers = async (after: number) =>
      (await collect(source.pings(check, after))).map(({ number }) => number);
    expect(await numbers(0)).toEqual([101, 102, 103, 104, 105]);
    expect(await numbers(103)).toEqual([104, 105]);
    expect(await numbers(105)).toEqual([]);
    await source.close();
  });
});

describe("More rows than a page", () => {
  const PINGS = 1_203;

  test.each(DIALECTS)("are all read, in their order, from %s", async (dialect) => {
    const options = { checkCount: 3, pingsPerCheck: PINGS };
    // Twice the same number, at the end of a page.
    const damage = ["update api_ping set n = 500 where owner_id = 1 and n = 501"];
    const { checks } = await readFixture(dialect, { options, damage });
    for (const { pings, check } of checks.values()) {
      expect(pings).toHaveLength(PINGS);
      const numbers = pings.map(({ number }) => number);
      expect(numbers).toEqual(numbers.toSorted((one, other) => one - other));
      expect(numbers.at(-1)).toBe(check.pingCount);
    }
  });

  test("are all read of checks, also if all of a page are damaged", async () => {
    const options = { checkCount: 1_100, pingsPerCheck: 0 };
    const damage = ["update api_check set code = 'none' where id between 100 and 650"];
    const { checks, limitations } = await readFixture("sqlite", { options, damage });
    expect(checks.size).toBe(1_100 - 551);
    expect(limitations).toContain("api_check, row 100: code is not a UUID. The row is left out.");
    expect(limitations.at(-1)).toBe("Further damaged values, not listed: 451.");
  });
});

/** What a missing column or table leads to. */
const MISSING: readonly [SchemaChanges, string][] = [
  [{ api_check: ["filter_http_body"] }, "no column filter_http_body. It is off for all checks."],
  [{ api_check: ["slug"] }, "no column slug. Checks are imported without slugs."],
  [{ api_check: ["schedule"] }, 'no column schedule. The schedule of all checks is "* * * * *".'],
  [{ api_check: ["tz"] }, "no column tz. The time zone of all checks is UTC."],
  [{ api_check: ["last_start"] }, "no column last_start. Runs in progress are not imported."],
  [{ api_check: ["alert_after"] }, "no column alert_after. Deadlines are calculated from the settings."],
  [{ accounts_project: ["ping_key"] }, "no column ping_key. Projects are imported without ping keys."],
  [{ accounts_project: ["code"] }, "no column code. Projects get new UUIDs."],
  [{ accounts_member: ["role"] }, "no column role. All members may change checks."],
  [{ api_channel: ["email_verified"] }, "Email addresses of channels must be confirmed again."],
  [{ auth_user: ["password"] }, "no column password. Accounts are imported without passwords."],
  [{ api_ping: ["kind"] }, "no column kind. All pings are imported as successes."],
  [{ api_ping: ["body_raw"] }, "no column body_raw. Pings are imported without bodies."],
  [{ api_flip: ["old_status"] }, "no column old_status. Flips are imported without the earlier status."],
];

describe("A missing column", () => {
  test.each(MISSING)("gets a default that the report lists: %o", async (changes, expected) => {
    const options = { checkCount: 10, pingsPerCheck: 2 };
    const { limitations, checks } = await readFixture("sqlite", { options, schema: schemaWithout(changes) });
    expect(checks.size).toBe(10);
    expect(limitations.join("\n")).toContain(expected);
  });

  test.each([
    [{ api_check: ["code"] }, "column code of the table api_check"],
    [{ api_check: ["n_pings"] }, "column n_pings of the table api_check"],
    [{ api_ping: ["n"] }, "column n of the table api_ping"],
    [{ api_channel: ["value"] }, "column value of the table api_channel"],
  ] satisfies [SchemaChanges, string][])(
    "that is required is an error that names it: %o",
    async (changes, expected) => {
      for (const dialect of DIALECTS) {
        const url = await fixtureIn(dialect, { options: { checkCount: 1 }, schema: schemaWithout(changes) });
        await expect(openDatabaseSource(url)).rejects.toThrow(
          `has no ${expected}. Check that it is the database`,
        );
      }
    },
  );

  test.each([
    "api_flip",
    "api_ping",
    "accounts_member",
    "accounts_profile",
    "auth_user",
    "api_channel_checks",
  ])("can be a whole table: %s", async (table) => {
    const { [table]: _left, ...schema } = schemaWithout({});
    const { limitations, checks } = await readFixture("sqlite", { options: { checkCount: 3 }, schema });
    expect(checks.size).toBe(3);
    expect(limitations.join("\n")).toContain(`There is no table ${table}. `);
  });

  test.each(["api_check", "accounts_project"])("can be a table that is required: %s", async (table) => {
    const { [table]: _left, ...schema } = schemaWithout({});
    const url = await fixtureIn("sqlite", { schema });
    await expect(openDatabaseSource(url)).rejects.toThrow(`has no table ${table}.`);
  });
});

describe("Damaged values", () => {
  const small = { checkCount: 4, pingsPerCheck: 3 };

  test("of SQLite are reported: impossible dates, texts for numbers, bytes that are not UTF-8", async () => {
    const damage = [
      "update api_check set last_ping = '2026-02-30 10:00:00' where id = 1",
      "update api_check set created = 'yesterday' where id = 2",
      "update api_check set name = cast(x'4a6f62ff' as text) where id = 2",
      "update api_check set desc = x'fffe' where id = 3",
      "update api_check set timeout = 'soon' where id = 4",
      "update api_check set kind = 'lunar' where id = 3",
      "update api_check set manual_resume = 'maybe' where id = 3",
      "update api_ping set created = '0000-00-00 00:00:00' where owner_id = 1 and n = 1",
      "update api_ping set exitstatus = 9223372036854775807 where owner_id = 1 and n = 2",
      "update api_ping set rid = 'short' where owner_id = 1 and n = 3",
      "update accounts_project set api_key = 'abc' where id = 1",
      "update auth_user set email = null where id = 4",
    ];
    const { limitations, checks } = await readFixture("sqlite", { options: small, damage });
    expect(limitations.filter((line) => !NOT_WAL.test(line))).toEqual([
      "auth_user, row 4: email is empty. The row is left out.",
      "accounts_project, row 1: an API key is neither plain text nor a hash, and is left out.",
      "api_check, row 1: last_ping is not a valid date and time.",
      "api_check, row 2: name contains characters that are not valid UTF-8.",
      "api_check, row 2: created is not a valid date and time.",
      "api_check, row 3: desc contains characters that are not valid UTF-8.",
      "api_check, row 3: manual_resume is neither true nor false.",
      'api_check, row 3: the kind "lunar" is unknown. It becomes simple.',
      "api_ping, row 1: created is not a valid date and time. The row is left out.",
      "api_ping, row 2: exitstatus is not a whole number.",
      "api_ping, row 3: rid is not a UUID.",
      // Of another project.
      "api_check, row 4: timeout is not a duration. The row is left out.",
    ]);
    expect(checks.size).toBe(3);
    expect([...checks.values()][0]?.pings.map(({ number }) => number)).toEqual([2, 3]);
  });

  test("of PostgreSQL are reported: infinite dates", async () => {
    const damage = [
      "update api_check set last_ping = 'infinity' where id = 1",
      "update api_check set created = '0044-03-15 BC' where id = 2",
    ];
    const { limitations } = await readFixture("postgres", { options: small, damage });
    expect(limitations).toEqual([
      "api_check, row 1: last_ping is not a valid date and time.",
      "api_check, row 2: created is not a valid date and time.",
    ]);
  });

  test.skipIf(!isMariadbInstalled)("of MySQL are reported: the zero date", async () => {
    const damage = ["set sql_mode = ''", "update api_check set last_ping = '0000-00-00' where id = 1"];
    const { limitations } = await readFixture("mysql", { options: small, damage });
    expect(limitations).toEqual(["api_check, row 1: last_ping is not a valid date and time."]);
  });

  test.each(DIALECTS)("of %s are reported: huge texts and bodies", async (dialect) => {
    const huge = IMPORT_BODY_BYTES_MAX + 1;
    const filled = {
      postgres: (length: number) => `convert_to(repeat('x', ${length}), 'UTF8')`,
      mysql: (length: number) => `repeat('x', ${length})`,
      sqlite: (length: number) => `zeroblob(${length})`,
    }[dialect];
    const text = {
      postgres: "repeat('ü', 1000000)",
      mysql: "repeat('ü', 1000000)",
      sqlite: "replace(hex(zeroblob(500000)), '0', 'ü')",
    };
    const desc = dialect === "mysql" ? "`desc`" : '"desc"';
    const damage = [
      `update api_check set ${desc} = ${text[dialect]} where id = 1`,
      `update api_ping set body_raw = ${filled(huge)} where owner_id = 1 and n = 2`,
      `update api_ping set body_raw = ${filled(huge - 1)} where owner_id = 1 and n = 3`,
    ];
    const { limitations, checks } = await readFixture(dialect, { options: small, damage });
    expect(limitations.filter((line) => !NOT_WAL.test(line))).toEqual([
      `api_check, row 1: desc is longer than ${IMPORT_TEXT_LENGTH_MAX} characters and was cut.`,
      `api_ping, row 2: the body has ${huge} bytes. Bodies of more than ${IMPORT_BODY_BYTES_MAX} bytes are left out.`,
    ]);
    const [first] = checks.values();
    expect(first?.check.desc).toBe("ü".repeat(IMPORT_TEXT_LENGTH_MAX));
    expect(first?.pings[1]).toMatchObject({ body: null, missingBodyBytes: huge });
    expect(first?.pings[2]?.body).toHaveLength(IMPORT_BODY_BYTES_MAX);
  });

  test("include bodies in the object store of the source", async () => {
    const { limitations, checks } = await readFixture("postgres", {
      options: { ...small, withObjects: true },
    });
    expect(limitations).toEqual([
      "Some ping bodies are in the object store of Healthchecks and are not imported. The report counts them.",
    ]);
    expect([...checks.values()][1]?.pings[2]).toMatchObject({ body: null, missingBodyBytes: 150_001 });
  });
});

describe("A source that is in use", () => {
  test.each(["wal", "delete"])("can be written while a SQLite file in mode %s is read", async (mode) => {
    const url = await fixtureIn("sqlite", { damage: [`pragma journal_mode = ${mode}`] });
    const writer = new DatabaseSync(url, { timeout: 0 });
    const source = await openDatabaseSource(`sqlite://${url}`);
    const [project] = await source.projects();
    if (project === undefined) throw new Error("no project");
    writer.exec("delete from api_check where id > 10");
    const checks = await collect(source.checks(project));
    // With WAL the source is read as it was when it was opened.
    expect(checks).toHaveLength(mode === "wal" ? 150 : 10);
    expect(source.limitations.some((line) => NOT_WAL.test(line))).toBe(mode !== "wal");
    await source.close();
    writer.close();
  });

  test.each(DIALECTS.filter((dialect) => dialect !== "sqlite"))(
    "is read from %s as it was at the beginning",
    async (dialect) => {
      const url = await fixtureIn(dialect);
      const writer = await openTarget(url);
      const source = await openDatabaseSource(url);
      const [project] = await source.projects();
      if (project === undefined) throw new Error("no project");
      await writer.run("delete from api_check where id > 10");
      expect(await collect(source.checks(project))).toHaveLength(150);
      await source.close();
      await writer.close();
    },
  );
});

describe("Opening a database", () => {
  test.each([
    ["oracle://db/hc", 'Unknown database type "oracle".'],
    ["/nowhere/hc.sqlite", "There is no file /nowhere/hc.sqlite."],
    ["sqlite:///nowhere/hc%20x.sqlite", "There is no file /nowhere/hc x.sqlite."],
    ["mysql://hc:secret@127.0.0.1:1", "must look like mysql://"],
    [
      "mysql://hc:secret@127.0.0.1:1/hc",
      "Cannot read the MySQL database hc on 127.0.0.1:1: connect ECONNREFUSED",
    ],
    ["mysql://hc@127.0.0.1:1/hc?ssl-mode=some", "ssl-mode in the database URL must be one of disabled"],
    ["mysql://hc@127.0.0.1:1/hc?ssl-mode=required&ssl-ca=/nowhere/ca.pem", "Cannot read /nowhere/ca.pem"],
    ["postgres://hc:secret@127.0.0.1:1/hc", "Cannot read the PostgreSQL database hc on 127.0.0.1:1: connect"],
  ])("explains what is wrong with %s", async (url, expected) => {
    const error: unknown = await openDatabaseSource(url).catch((thrown: unknown) => thrown);
    expect(String(error)).toContain(expected);
    expect(String(error)).not.toContain("secret");
  });

  test("explains that a file is not a database", async () => {
    await expect(openDatabaseSource(import.meta.filename)).rejects.toThrow("file is not a database");
  });

  test.skipIf(!isMariadbInstalled)("connects to MySQL by its Unix socket", async () => {
    const url = new URL(await fixtureIn("mysql", { options: { checkCount: 3 } }));
    url.searchParams.set("socket", mariadb?.socketPath ?? "");
    url.port = "1";
    const { checks } = await readAll(await openDatabaseSource(url.href));
    expect(checks.size).toBe(3);
  });
});

describe.skipIf(!isMariadbInstalled)("MySQL with TLS", () => {
  let server: MariadbServer | null = null;
  let certificates: Certificates | null = null;
  let url = "";

  beforeAll(async () => {
    certificates = makeCertificates(folder, { name: "mysql", host: "localhost" });
    const { certificate, key } = certificates;
    server = await startMariadb([`--ssl-cert=${certificate}`, `--ssl-key=${key}`]);
    const base = await server.create("hc");
    await buildFixture(base, { content: fixtureContent({ checkCount: 1 }) });
    const admin = await openTarget(base);
    await admin.run("create user encrypted@'127.0.0.1' identified by 'p@ss/word' require ssl");
    await admin.run("grant select on hc.* to encrypted@'127.0.0.1'");
    await admin.close();
    url = base.replace("root@", "encrypted:p%40ss%2Fword@");
  });

  afterAll(async () => {
    await server?.stop();
  });

  test.each(["", "?ssl-mode=PREFERRED", "?ssl-mode=REQUIRED"])(
    "is used by default, without a certificate: %j",
    async (query) => {
      const { checks } = await readAll(await openDatabaseSource(url + query));
      expect(checks.size).toBe(1);
    },
  );

  test("is not used if it is disabled", async () => {
    await expect(openDatabaseSource(`${url}?ssl-mode=disabled`)).rejects.toThrow("Access denied");
  });

  test("verifies the certificate and the name of the server", async () => {
    const ca = `ssl-ca=${certificates?.authority}`;
    const named = url.replace("127.0.0.1", "localhost");
    await expect(openDatabaseSource(`${url}?ssl-mode=VERIFY_CA`)).rejects.toThrow(/certificate/);
    await (await openDatabaseSource(`${url}?ssl-mode=VERIFY_CA&${ca}`)).close();
    await (await openDatabaseSource(`${named}?ssl-mode=VERIFY_IDENTITY&${ca}`)).close();
    await expect(openDatabaseSource(`${url}?ssl-mode=VERIFY_IDENTITY&${ca}`)).rejects.toThrow(
      "requires a host name",
    );

    const other = makeCertificates(folder, { name: "other", host: "db.example.org" });
    if (certificates === null || server === null) throw new Error("there is no server");
    copyFileSync(other.certificate, certificates.certificate);
    copyFileSync(other.key, certificates.key);
    const admin = await openTarget(server.url("hc"));
    await admin.run("flush ssl");
    await admin.close();
    const query = `ssl-ca=${other.authority}`;
    await (await openDatabaseSource(`${named}?ssl-mode=VERIFY_CA&${query}`)).close();
    await expect(openDatabaseSource(`${named}?ssl-mode=VERIFY_IDENTITY&${query}`)).rejects.toThrow(
      /altnames/,
    );
  });

  test("is required by a server that has none", async () => {
    const plain = await fixtureIn("mysql", { options: { checkCount: 1 } });
    await expect(openDatabaseSource(`${plain}?ssl-mode=required`)).rejects.toThrow(
      "does not support secure connection",
    );
  });
});
