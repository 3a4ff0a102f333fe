// Backups of a real database with random rows in every table, restored into another one and compared; and archives
// that were damaged or made by an attacker, which must leave the database empty.
import { createHash, randomBytes, randomInt, randomUUID } from "node:crypto";
import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { zstdCompressSync, zstdDecompressSync } from "node:zlib";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from "vitest";
import { type BackupTable, orderTables, parseHeader, renderManifest } from "../../src/core/backup.ts";
import { ObjectStoreError } from "../../src/lib/object-store.ts";
import { type ReadFile, readTar, tarEnd, tarFile } from "../../src/lib/tar.ts";
import { restoreBackup, verifyBackup, writeBackup } from "../../src/operations/backup.ts";
import { confirmRestore, readService } from "../../src/operations/database-identity.ts";
import { readCatalog } from "../../src/store/backup.ts";
import { UnusableDatabaseError } from "../../src/store/errors.ts";
import type { DatabaseOptions } from "../../src/store/db.ts";
import { findStoredIdentity } from "../../src/store/instance.ts";
import { openTestDatabase, useDatabase } from "../support/database.ts";

const ROWS = 12;
const ATTEMPTS_MAX = 4_000;
const NASTY = [
  "",
  "\\N",
  "\\.",
  "tab\there",
  "line\nbreak\r\n",
  "back\\slash\\",
  '"quoted"',
  "ünï 💥 \u2028",
  "null",
];

const source = useDatabase();
const made: string[] = [];

function optionsFor(url: string): DatabaseOptions {
  return { url, applicationName: "overdue-test", requireDurable: false, onError: () => {} };
}

async function onServer<T>(work: (admin: pg.Client) => Promise<T>): Promise<T> {
  const admin = new pg.Client({ connectionString: inject("postgresUrl") });
  await admin.connect();
  try {
    return await work(admin);
  } finally {
    await admin.end();
  }
}

/** An empty database, dropped at the end. */
async function emptyDatabase(): Promise<string> {
  const name = `test_${randomBytes(8).toString("hex")}`;
  made.push(name);
  await onServer((admin) => admin.query(`create database ${name} template template0`));
  return inject("postgresUrl").replace(/\/postgres$/, `/${name}`);
}

afterAll(async () => {
  for (const name of made) await onServer((admin) => admin.query(`drop database ${name} with (force)`));
});

async function rowsOf(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

// Random rows: values that fit the type of a column, or one that a constraint lists; a row that a constraint refuses is
// made again.

type Column = { name: string; type: string; isNullable: boolean; choices: string[]; bytes: number | null };

async function columnsOf(client: pg.Client, table: string): Promise<Column[]> {
  const { rows } = await client.query<{ name: string; type: string; nullable: boolean; checks: string[] }>(
    `select a.attname::text as name, format_type(a.atttypid, a.atttypmod) as type, not a.attnotnull as nullable,
        array(select pg_get_constraintdef(k.oid) from pg_constraint k
          where k.conrelid = a.attrelid and k.contype = 'c' and a.attnum = any (k.conkey)) as checks
      from pg_attribute a where a.attrelid = $1::regclass and a.attnum > 0 and not a.attisdropped
      order by a.attnum`,
    [table],
  );
  return rows.map(({ name, type, nullable, checks }) => {
    const listed = checks.find((check) => new RegExp(`\\(\\(?${name} = ANY`).test(check)) ?? "";
    const choices = [...listed.matchAll(/'([^']*)'::/g)].map(([, choice = ""]) => choice);
    const bytes = checks.some((check) => check.includes(`octet_length(${name}) = 32`)) ? 32 : null;
    return { name, type, isNullable: nullable, choices, bytes };
  });
}

const pick = <T>(from: readonly T[]): T => from[randomInt(from.length)] as T;

function randomValue(column: Column, parents: readonly unknown[] | undefined): unknown {
  const { name, type, isNullable, choices, bytes } = column;
  if (isNullable && randomInt(2) === 0) return null;
  if (parents !== undefined) return parents.length === 0 ? null : pick(parents);
  if (choices.length > 0) return pick(choices);
  if (type === "boolean") return name === "is_only" || randomInt(2) === 0;
  if (type === "uuid") return randomUUID();
  if (type === "bytea") return randomBytes(bytes ?? randomInt(5_000));
  if (type === "jsonb") return JSON.stringify({ text: pick(NASTY), number: randomInt(1_000) });
  if (type === "bigint[]") return [randomInt(1_000), randomInt(1_000)];
  if (type === "text[]") return [pick(NASTY), pick(NASTY)];
  if (type === "date") return new Date(Date.UTC(2026, 0, randomInt(1, 300)));
  if (type === "timestamp with time zone") return new Date(Date.UTC(2026, 0, 1) + randomInt(10 ** 10));
  if (type === "real") return randomInt(1_000) / 7;
  if (type === '"char"') return "s";
  if (type === "text")
    return `${pick(NASTY)}${name === "email" ? randomInt(10 ** 9) : randomUUID()}`.toLowerCase();
  return randomInt(1, 30_000);
}

async function fill(client: pg.Client, table: BackupTable): Promise<void> {
  const columns = await columnsOf(client, table.name);
  const { rows: keys } = await client.query<{ name: string; to: string; key: string }>(
    `select a.attname::text as name, k.confrelid::regclass::text as to, f.attname::text as key
      from pg_constraint k join pg_attribute a on a.attrelid = k.conrelid and a.attnum = k.conkey[1]
        join pg_attribute f on f.attrelid = k.confrelid and f.attnum = k.confkey[1]
      where k.contype = 'f' and k.conrelid = $1::regclass`,
    [table.name],
  );
  const parents = new Map<string, unknown[]>();
  for (const { name, to, key } of keys) {
    const { rows } = await client.query<{ key: unknown }>(`select ${key} as key from ${to}`);
    parents.set(
      name,
      rows.map((row) => row.key),
    );
  }
  const given = columns.filter(({ name }) => name !== table.identity?.column);
  const sql = `insert into ${table.name} (${given.map(({ name }) => name).join(", ")})
    values (${given.map((_, index) => `$${index + 1}`).join(", ")})`;
  let count = 0;
  for (let attempt = 0; count < ROWS && attempt < ATTEMPTS_MAX; attempt += 1) {
    try {
      await client.query({
        name: table.name,
        text: sql,
        values: given.map((one) => randomValue(one, parents.get(one.name))),
      });
      count += 1;
    } catch (error) {
      if (!String((error as { code?: string }).code).startsWith("23")) throw error;
    }
  }
  expect(count, `no row fits ${table.name}`).toBeGreaterThan(0);
}

/** Bodies in the object store, by key. */
const stored = new Map<string, Buffer>();
const objects = {
  get: async (key: string) => {
    const body = stored.get(key);
    if (body === undefined) throw new ObjectStoreError("missing", "GET: HTTP 404 NoSuchKey");
    return body;
  },
};
const NO_NOTICE = { channelUuid: null, host: "here" };
const quiet = { onProgress: () => {} };

async function backUp(store: typeof objects | null = objects): Promise<Buffer> {
  const written: Buffer[] = [];
  await writeBackup({
    database: source.db,
    databaseOptions: optionsFor(source.url),
    sink: { write: async (bytes) => void written.push(bytes) },
    objects: store,
    version: "1.0.0",
    settings: { text: "# none\n", hasSecrets: false },
    ...quiet,
  });
  return Buffer.concat(written);
}

const sourceOf = (archive: Buffer, chunkBytes = 65_536) =>
  async function* chunks() {
    for (let at = 0; at < archive.length; at += chunkBytes) yield archive.subarray(at, at + chunkBytes);
  };

const restore = (
  archive: Buffer,
  url: string,
  changes: { hasObjectStore?: boolean; directory?: string } = {},
) =>
  restoreBackup({
    databaseOptions: optionsFor(url),
    source: sourceOf(archive),
    hasObjectStore: true,
    notice: NO_NOTICE,
    ...quiet,
    ...changes,
  });

let tables: BackupTable[];
let archive: Buffer;

beforeAll(async () => {
  const catalog = await readCatalog(source.db);
  tables = orderTables(catalog.tables, catalog.references);
  const client = new pg.Client({ connectionString: source.url });
  await client.connect();
  for (const table of tables) await fill(client, table);
  // Some bodies are in the object store, one of them was deleted there.
  await client.query(
    `update ping_bodies set body = null, object_key = check_id || '-' || n, moving_until = now()
      where ctid in (select ctid from ping_bodies order by check_id, n limit 3)`,
  );
  const { rows } = await client.query<{ object_key: string }>(
    "select object_key from ping_bodies where body is null",
  );
  for (const { object_key: key } of rows.slice(1)) stored.set(key, randomBytes(randomInt(1, 9_000)));
  await client.query("select setval('flips_id_seq', 5000)");
  // It was in service, so the monitoring gap of a restore begins with its last heartbeat.
  await client.query(
    "update database_identity set state = 'normal', gap_from_at = null, reason = null, notice_id = null",
  );
  await client.end();
  archive = await backUp();
});

/** Changed by a restore on purpose, and compared by themselves. */
const CHANGED = ["database_identity", "intakes", "ping_bodies"];

const allRows = async (url: string, table: string) =>
  (await rowsOf(url, `select t::text as row from ${table} t order by 1`)).map(({ row }) => row);

describe("A backup", () => {
  test("restores every row of every table", async () => {
    const url = await emptyDatabase();
    const restored = await restore(archive, url);
    expect(restored.migrated).toEqual([]);
    let compared = 0;
    for (const { name } of tables) {
      if (CHANGED.includes(name)) continue;
      const before = await allRows(source.url, name);
      expect(await allRows(url, name), name).toEqual(before);
      compared += before.length;
    }
    expect(compared).toBeGreaterThan(tables.length);
    const left = ["sessions", "sign_in_steps", "identity_challenges"];
    for (const name of left) expect(tables.map((table) => table.name)).not.toContain(name);
  });

  test("keeps the numbers of deleted rows used", async () => {
    const url = await emptyDatabase();
    await restore(archive, url);
    const [flip] = await rowsOf(
      url,
      "insert into flips (check_id, at, from_status, to_status, reason) values (1, now(), 'up', 'down', 'fail') returning id",
    );
    expect(Number(flip?.["id"])).toBe(5_001);
  });

  test("puts bodies from the object store into the database, where the mover finds them", async () => {
    const url = await emptyDatabase();
    const { bodiesMissing, bodies } = await restore(archive, url);
    const before = await rowsOf(
      source.url,
      "select check_id, n, body, object_key from ping_bodies order by 1, 2",
    );
    const expected = before
      .map((row) => ({
        ...row,
        body: row["body"] ?? stored.get(String(row["object_key"])) ?? null,
        object_key: null,
      }))
      .filter(({ body }) => body !== null);
    expect(await rowsOf(url, "select check_id, n, body, object_key from ping_bodies order by 1, 2")).toEqual(
      expected,
    );
    expect({ bodiesMissing, bodies }).toEqual({
      bodiesMissing: before.length - expected.length,
      bodies: stored.size,
    });
    expect(stored.size).toBeGreaterThan(0);
  });

  test("is refused without the object store that the bodies are in", async () => {
    await expect(backUp(null)).rejects.toThrow("OVERDUE_S3_BUCKET");
  });

  test("without an object store forgets objects that are to be deleted", async () => {
    const url = await emptyDatabase();
    await restore(archive, url, { hasObjectStore: false });
    expect(await rowsOf(url, "select 1 from object_removals")).toEqual([]);
  });

  test("is in safe mode until it is confirmed", async () => {
    const url = await emptyDatabase();
    await restore(archive, url);
    const database = openTestDatabase(url);
    try {
      expect(await readService(database)).toEqual({ isInService: false, noticeId: null });
      expect(await findStoredIdentity(database)).toMatchObject({
        state: "safe",
        reason: expect.stringContaining("restored from the backup of 20"),
        gapFromAt: expect.any(Number),
      });
      expect(await rowsOf(url, "select 1 from intakes where closed_at is null")).toEqual([]);
      await confirmRestore(database, { accountId: null });
      expect((await readService(database)).isInService).toBe(true);
    } finally {
      await database.close();
    }
  });

  test("is restored once if two restores begin at the same time, and the other one says why not", async () => {
    const url = await emptyDatabase();
    const ended = await Promise.allSettled([restore(archive, url), restore(archive, url)]);
    expect(ended.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    const [failed] = ended.filter((one) => one.status === "rejected");
    expect(failed?.reason).toBeInstanceOf(UnusableDatabaseError);
  });

  test("of an older version is migrated after it was loaded", async () => {
    const directory = mkdtempSync(join(tmpdir(), "overdue-migrations-"));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    cpSync(join(import.meta.dirname, "../../migrations"), directory, { recursive: true });
    const later = "alter table projects add column shout text; update projects set shout = upper(name);";
    const lastNumber = Math.max(...readdirSync(directory).map((file) => Number.parseInt(file, 10) || 0));
    const added = `${String(lastNumber + 1).padStart(4, "0")}_later`;
    writeFileSync(join(directory, `${added}.sql`), later);
    const url = await emptyDatabase();
    const { migrated } = await restore(archive, url, { directory });
    expect(migrated).toEqual([added]);
    const names = (await rowsOf(source.url, "select upper(name) as name from projects order by id")).map(
      ({ name: project }) => project,
    );
    expect((await rowsOf(url, "select shout from projects order by id")).map(({ shout }) => shout)).toEqual(
      names,
    );
  });

  test("does not wait for pings, and pings do not wait for it", async () => {
    const writer = new pg.Client({ connectionString: source.url });
    await writer.connect();
    await writer.query("begin");
    await writer.query("update check_states set ping_count = ping_count");
    await expect(backUp()).resolves.toBeInstanceOf(Buffer);
    await writer.query("rollback");
    await writer.end();
  });
});

describe("A database that is not empty", () => {
  test("is refused and stays as it is", async () => {
    const url = await emptyDatabase();
    await rowsOf(url, "create table notes (id int)");
    await expect(restore(archive, url)).rejects.toThrow(
      "The database is not empty: it has the table public.notes.",
    );
    const again = await emptyDatabase();
    await restore(archive, again);
    await expect(restore(archive, again)).rejects.toThrow("The database is not empty");
  });
});

// Altered archives.

async function filesOf(given: Buffer): Promise<{ name: string; bytes: Buffer }[]> {
  const found: ReadFile[] = [];
  for await (const file of readTar(sourceOf(given)(), { sizeMax: () => 10 ** 8 })) found.push(file);
  return found;
}

/** An archive of these files with a manifest that fits them, as an attacker would make it. */
function forged(files: readonly { name: string; bytes: Buffer }[]): Buffer {
  const contents = files.filter(({ name }) => name !== "manifest.json");
  const header = parseHeader(contents[0]?.bytes.toString("utf8") ?? "");
  const sections = [...header.tables.map(({ name }) => `tables/${name}`), "bodies"];
  const tallies = new Map(
    sections.map((section) => {
      const parts = contents.filter(({ name }) => name.startsWith(`${section}/`));
      const data = Buffer.concat(parts.map(({ bytes }) => zstdDecompressSync(bytes)));
      const rows = data.filter((byte) => byte === 10).length;
      return [section, { rows, bytes: data.length, sha256: createHash("sha256").update(data).digest("hex") }];
    }),
  );
  const body = Buffer.concat(contents.map((file) => tarFile(file, { modifiedAt: 0 })));
  const digest = createHash("sha256").update(body).digest("hex");
  const manifest = { name: "manifest.json", bytes: Buffer.from(renderManifest(tallies, { digest })) };
  return Buffer.concat([body, tarFile(manifest, { modifiedAt: 0 }), tarEnd()]);
}

async function expectRefused(given: Buffer, message: string | RegExp): Promise<void> {
  const url = await emptyDatabase();
  await expect(restore(given, url)).rejects.toThrow(message);
  expect(await rowsOf(url, "select 1 from pg_class where relnamespace = 'public'::regnamespace")).toEqual([]);
}

const partOf = (table: string) => `tables/${table}/000001.copy.zst`;

describe("An altered archive", () => {
  test("with one changed byte is refused, wherever it is", async () => {
    await expect(verifyBackup(sourceOf(archive), quiet)).resolves.toMatchObject({
      header: { version: "1.0.0" },
    });
    for (let count = 0; count < 300; count += 1) {
      const altered = Buffer.from(archive);
      const at = randomInt(altered.length);
      altered[at] = (altered[at] ?? 0) ^ (1 << randomInt(8));
      await expect(verifyBackup(sourceOf(altered), quiet), `byte ${at}`).rejects.toThrow(/backup|damaged/i);
    }
  });

  test("that was cut off is refused, wherever it ends", async () => {
    const ends = [
      0,
      511,
      1_024,
      archive.length - 1,
      ...Array.from({ length: 100 }, () => randomInt(archive.length)),
    ];
    for (const end of ends) {
      await expect(verifyBackup(sourceOf(archive.subarray(0, end)), quiet)).rejects.toThrow(
        /backup|damaged/i,
      );
    }
    await expectRefused(archive.subarray(0, archive.length - 2_000), "The backup is damaged or was altered");
  });

  test("that another program made is refused", async () => {
    await expectRefused(randomBytes(100_000), "is not a backup");
    const other = Buffer.concat([
      tarFile({ name: "etc/passwd", bytes: Buffer.alloc(9) }, { modifiedAt: 0 }),
      tarEnd(),
    ]);
    await expectRefused(other, "is not a backup");
  });

  test("forged without a change is accepted, so that the next tests mean something", async () => {
    const restored = await restore(forged(await filesOf(archive)), await emptyDatabase());
    expect(restored.rows).toBeGreaterThan(0);
  });

  test("with files in another order, or under another name, is refused", async () => {
    const files = await filesOf(archive);
    const at = (name: string) => files.findIndex((file) => file.name === name);
    const [checks, states] = [at(partOf("checks")), at(partOf("check_states"))];
    const order = files.map((_, index) => (index === checks ? states : index === states ? checks : index));
    const swapped = order.flatMap((index) => files.slice(index, index + 1));
    await expectRefused(forged(swapped), "does not belong there");
    const named = (name: string) => files.map((file, index) => (index === checks ? { ...file, name } : file));
    for (const name of [
      "../../etc/passwd",
      "/etc/passwd",
      "tables/checks/000002.copy.zst",
      "tables/checks",
    ]) {
      await expectRefused(forged(named(name)), "does not belong there");
    }
  });

  test("whose tables are listed in another order, or are not those of the schema, is refused", async () => {
    const [header, ...others] = await filesOf(archive);
    const given = JSON.parse(header?.bytes.toString("utf8") ?? "") as { tables: unknown[] };
    const withTables = (list: unknown[]) =>
      forged([
        { name: "header.json", bytes: Buffer.from(JSON.stringify({ ...given, tables: list })) },
        ...others,
      ]);
    const settings = others.slice(0, 1);
    const reversed = { ...given, tables: given.tables.toReversed() };
    await expectRefused(
      forged([{ name: "header.json", bytes: Buffer.from(JSON.stringify(reversed)) }, ...settings]),
      "do not match its schema version",
    );
    await expectRefused(
      withTables([...given.tables, { name: "pg_shadow", columns: ["usename"], identity: null }]),
      "do not match",
    );
  });

  test("of a newer schema is refused", async () => {
    const [header, ...others] = await filesOf(archive);
    const given = JSON.parse(header?.bytes.toString("utf8") ?? "") as { migrations: unknown[] };
    const migrations = [...given.migrations, { name: "9999_later", checksum: "c".repeat(64) }];
    const bytes = Buffer.from(JSON.stringify({ ...given, migrations }));
    await expectRefused(forged([{ name: "header.json", bytes }, ...others]), "newer version of Overdue");
  });

  test("that decompresses to more than a part is refused", async () => {
    const files = await filesOf(archive);
    const bomb = zstdCompressSync(Buffer.alloc(16 * 1024 * 1024));
    expect(bomb.length).toBeLessThan(64 * 1024);
    const bombed = files.map((file) => (file.name === partOf("checks") ? { ...file, bytes: bomb } : file));
    await expectRefused(forged(bombed), "cannot be decompressed");
  });

  test("with rows that the database refuses leaves it empty", async () => {
    const files = await filesOf(archive);
    const add = (table: string, row: string) =>
      files.map((file) =>
        file.name === partOf(table)
          ? {
              ...file,
              bytes: zstdCompressSync(Buffer.concat([zstdDecompressSync(file.bytes), Buffer.from(row)])),
            }
          : file,
      );
    await expectRefused(
      forged(add("passwords", "x\ty\tz\n")),
      "The database refused the data of tables/passwords",
    );
    await expectRefused(
      forged(add("check_channels", "1\n")),
      "The database refused the data of tables/check_channels",
    );
    await expectRefused(forged(add("check_channels", "999999\t999999\n")), "The database refused the data");
  });
});
