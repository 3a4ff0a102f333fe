// sslmode means what it means to libpq, in the database URL and in DB_SSLMODE, against a server with a certificate that
// no public authority has signed.
import { chmodSync, chownSync, copyFileSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { databaseOptionsOf } from "../../src/cli/command-context.ts";
import { type Environment, loadConfig } from "../../src/config/config.ts";
import { explainConnection } from "../../src/lib/postgres-error.ts";
import { connectAlone, openDatabase } from "../../src/store/db.ts";
import { refuseTransactionPooling } from "../../src/store/migrate.ts";
import { type Certificates, makeCertificates } from "../support/certificates.ts";
import { embeddedPostgres } from "../support/postgres-binaries.ts";
import { type PostgresServer, startPostgres } from "../support/postgres.ts";

const START_TIMEOUT_MS = 120_000;

const folder = mkdtempSync(join(tmpdir(), "overdue-tls-"));
let encrypted: PostgresServer;
let plain: PostgresServer;
let ours: Certificates;
let others: Certificates;

/** Puts a file where the server may read it, as its own. */
function give(server: PostgresServer, { from, name }: { from: string; name: string }): string {
  const path = join(server.dataDirectory, name);
  copyFileSync(from, path);
  const { uid, gid } = statSync(server.dataDirectory);
  chownSync(path, uid, gid);
  chmodSync(path, 0o600);
  return path;
}

async function change(server: PostgresServer, ...statements: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: server.socketUrl() });
  await client.connect();
  for (const statement of statements) await client.query(statement);
  await client.end();
}

/** Who may connect over TCP; the socket stays open to the test. */
async function admit(server: PostgresServer, rule: string): Promise<void> {
  writeFileSync(join(server.dataDirectory, "pg_hba.conf"), `local all all trust\n${rule}\n`);
  await change(server, "select pg_reload_conf()");
}

beforeAll(async () => {
  ours = makeCertificates(folder, { name: "ours", host: "localhost" });
  others = makeCertificates(folder, { name: "others", host: "localhost" });
  [encrypted, plain] = await Promise.all([
    startPostgres({ binaries: embeddedPostgres() }),
    startPostgres({ binaries: embeddedPostgres() }),
  ]);
  const certificate = give(encrypted, { from: ours.certificate, name: "server.crt" });
  const key = give(encrypted, { from: ours.key, name: "server.key" });
  await change(
    encrypted,
    `alter system set ssl_cert_file = '${certificate}'`,
    `alter system set ssl_key_file = '${key}'`,
    "alter system set ssl = on",
    "select pg_reload_conf()",
  );
}, START_TIMEOUT_MS);

afterAll(async () => {
  await Promise.all([encrypted.stop(), plain.stop()]);
  rmSync(folder, { recursive: true });
});

type Case = { mode: string | null; root?: string; host?: string };

function inUrl(server: PostgresServer, { mode, root, host = "127.0.0.1" }: Case): Environment {
  const url = new URL(server.url().replace("127.0.0.1", host));
  if (mode !== null) url.searchParams.set("sslmode", mode);
  if (root !== undefined) url.searchParams.set("sslrootcert", root);
  return { OVERDUE_DATABASE_URL: url.href };
}

function inParts(server: PostgresServer, { mode, root, host = "127.0.0.1" }: Case): Environment {
  return {
    DB_HOST: host,
    DB_PORT: String(server.port),
    DB_NAME: "postgres",
    DB_USER: "overdue",
    ...(mode !== null && { DB_SSLMODE: mode }),
    ...(root !== undefined && { PGSSLROOTCERT: root }),
  };
}

const IS_ENCRYPTED = "select ssl from pg_stat_ssl where pid = pg_backend_pid()";

/** "encrypted", "plain", or why there is no connection, as people read it. */
async function outcome(environment: Environment): Promise<string> {
  try {
    const client = await connectAlone(databaseOptionsOf(loadConfig(environment).config));
    const { rows } = await client.query<{ ssl: boolean }>(IS_ENCRYPTED);
    await client.end();
    return rows[0]?.ssl === true ? "encrypted" : "plain";
  } catch (error) {
    const { name, message } = error as Error;
    return name === "UnusableDatabaseError"
      ? message
      : (explainConnection(error) ?? `unexplained: ${message}`);
  }
}

const NOT_OFFERED = /does not support SSL.*sslmode/;
const UNKNOWN_AUTHORITY = /certificate.*sslrootcert/;

describe.each([
  ["in OVERDUE_DATABASE_URL", inUrl],
  ["in DB_SSLMODE", inParts],
] as const)("%s", (_place, environment) => {
  test.each<[Case, string]>([
    [{ mode: null }, "encrypted"],
    [{ mode: "disable" }, "plain"],
    [{ mode: "allow" }, "plain"],
    [{ mode: "prefer" }, "encrypted"],
    [{ mode: "require" }, "encrypted"],
  ])("a server that offers TLS, %j: %s", async (given, expected) => {
    expect(await outcome(environment(encrypted, given))).toBe(expected);
  });

  test.each([null, "disable", "allow", "prefer"])("a server without TLS, %s: plain", async (mode) => {
    expect(await outcome(environment(plain, { mode }))).toBe("plain");
  });

  test.each(["require", "verify-full"])("a server without TLS, %s: refused", async (mode) => {
    expect(await outcome(environment(plain, { mode }))).toMatch(NOT_OFFERED);
  });

  test("with a root certificate, require and verify-ca check who signed, verify-full the name as well", async () => {
    const known = ours.authority;
    const unknown = others.authority;
    const results = [];
    for (const [mode, root, host] of [
      ["require", known, "127.0.0.1"],
      ["require", unknown, "127.0.0.1"],
      ["verify-ca", known, "127.0.0.1"],
      ["verify-ca", unknown, "127.0.0.1"],
      ["verify-full", known, "localhost"],
      ["verify-full", known, "127.0.0.1"],
      ["verify-full", unknown, "localhost"],
    ] as const) {
      results.push(await outcome(environment(encrypted, { mode, root, host })));
    }
    expect(results).toEqual([
      "encrypted",
      expect.stringMatching(UNKNOWN_AUTHORITY),
      "encrypted",
      expect.stringMatching(UNKNOWN_AUTHORITY),
      "encrypted",
      expect.stringMatching(/not valid for this host name|does not match.*sslmode=verify-ca/),
      expect.stringMatching(UNKNOWN_AUTHORITY),
    ]);
  });

  test("without one, verify-ca is refused, and verify-full trusts the public authorities only", async () => {
    expect(await outcome(environment(encrypted, { mode: "verify-ca" }))).toMatch(
      /requires a root certificate/,
    );
    expect(await outcome(environment(encrypted, { mode: "verify-full", host: "localhost" }))).toMatch(
      UNKNOWN_AUTHORITY,
    );
  });

  test("a root certificate that cannot be read is named", async () => {
    const root = join(folder, "missing.crt");
    expect(await outcome(environment(encrypted, { mode: "require", root }))).toMatch(
      /Cannot read .*missing\.crt/,
    );
  });
});

test("what the server refuses one way, allow and prefer try the other way", async () => {
  const tried = async (modes: string[]) =>
    Object.fromEntries(
      await Promise.all(modes.map(async (mode) => [mode, await outcome(inUrl(encrypted, { mode }))])),
    );
  await admit(encrypted, "hostssl all all 127.0.0.1/32 trust");
  expect(await tried(["allow", "prefer", "disable"])).toEqual({
    allow: "encrypted",
    prefer: "encrypted",
    disable: expect.stringContaining("pg_hba.conf"),
  });
  await admit(encrypted, "hostnossl all all 127.0.0.1/32 trust");
  expect(await tried(["allow", "prefer", "require"])).toEqual({
    allow: "plain",
    prefer: "plain",
    require: expect.stringContaining("pg_hba.conf"),
  });
  await admit(encrypted, "host all all 127.0.0.1/32 reject");
  expect(await tried(["allow", "prefer"])).toEqual({
    allow: expect.stringContaining("pg_hba.conf"),
    prefer: expect.stringContaining("pg_hba.conf"),
  });
  await admit(encrypted, "host all all 127.0.0.1/32 trust");
});

test("the pool and the look for a pooler connect in the same way", async () => {
  await admit(encrypted, "hostssl all all 127.0.0.1/32 trust");
  const options = databaseOptionsOf(loadConfig(inUrl(encrypted, { mode: "allow" })).config);
  await refuseTransactionPooling(options);
  const database = openDatabase(options);
  const { rows } = await database.query<{ ssl: boolean }>({ name: "tls", text: IS_ENCRYPTED }, []);
  await database.close();
  await admit(encrypted, "host all all 127.0.0.1/32 trust");
  expect(rows).toEqual([{ ssl: true }]);
});

test("on a Unix socket there is no TLS, whatever is asked for", async () => {
  const url = `${encrypted.socketUrl()}&sslmode=require`;
  expect(await outcome({ OVERDUE_DATABASE_URL: url })).toBe("plain");
});
