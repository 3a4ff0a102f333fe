// Mistakes in the settings and around the program: each ends with a sentence that says what to do, a code that is not
// zero, and no stack.
import { spawn } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { makeCertificates } from "../support/certificates.ts";
import { COMPILE_CACHE } from "../support/compile-cache.ts";
import {
  callOverdue,
  type Ended,
  endOf,
  type Environment,
  runOverdue,
  useDurablePostgres,
} from "./run-overdue.ts";

vi.setConfig({ testTimeout: 300_000 });

const postgres = useDurablePostgres();
const folder = mkdtempSync(join(tmpdir(), "overdue-mistakes-"));
chmodSync(folder, 0o755);
/** Owns nothing here. */
const STRANGER = 65_534;
const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url));

let web: Server;
beforeAll(async () => {
  web = createServer((_request, response) => response.end("hello"));
  await new Promise<void>((done) => void web.listen(0, "127.0.0.1", done));
});
afterAll(() => {
  web.close();
  web.closeAllConnections();
  rmSync(folder, { recursive: true, force: true });
});

function settings(changes: Environment): Environment {
  return {
    OVERDUE_ADMIN_LISTEN: "127.0.0.1:0",
    OVERDUE_LISTEN: "127.0.0.1:0",
    OVERDUE_DATABASE_WAIT: "0",
    ...changes,
  };
}

async function onServer(...statements: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: postgres.server().socketUrl() });
  await client.connect();
  for (const statement of statements) await client.query(statement);
  await client.end();
}

/** Who may connect, in the words of pg_hba.conf. */
async function admit(...rules: string[]): Promise<void> {
  const path = join(postgres.server().dataDirectory, "pg_hba.conf");
  writeFileSync(
    path,
    ["local all overdue trust", ...rules, "host all all 127.0.0.1/32 trust", ""].join("\n"),
  );
  await onServer("select pg_reload_conf()");
}

function as(user: string, url: string): string {
  return url.replace("overdue@", `${user}@`);
}

function expectSentence({ code, err }: Ended, text: RegExp): void {
  expect(err).toMatch(text);
  expect(err).not.toMatch(/bug in Overdue|^\s+at |node:internal/m);
  expect(err.trim().split("\n").length).toBeLessThanOrEqual(3);
  expect([1, 2]).toContain(code);
}

describe("the database", () => {
  const nameOf = (url: string) => new URL(url).pathname.slice(1);

  test.each<[string, (url: string) => string, RegExp]>([
    [
      "TLS is required and not offered",
      (url) => `${url}?sslmode=require`,
      /does not support SSL.*sslmode=prefer/,
    ],
    [
      "an unknown sslmode",
      (url) => `${url}?sslmode=required`,
      /must have one of these sslmodes: disable, allow/,
    ],
    [
      "a root certificate that is not there",
      (url) => `${url}?sslmode=verify-full&sslrootcert=/nowhere.crt`,
      /Cannot read \/nowhere\.crt/,
    ],
    ["an unknown host", (url) => url.replace("127.0.0.1", "no-such-host.invalid"), /host name/],
    ["an unknown database", (url) => `${url}_not`, /does not exist.*createdb/],
    ["an unknown user", (url) => as("somebody", url), /role "somebody" does not exist|user name/],
    ["another port", (url) => url.replace(/:\d+\//, ":1/"), /ECONNREFUSED.*No server is listening there/],
  ])("%s", async (_mistake, change, text) => {
    const url = change(await postgres.newDatabase());
    expectSentence(await runOverdue(["serve"], settings({ OVERDUE_DATABASE_URL: url })), text);
    expectSentence(await callOverdue(["migrate"], settings({ OVERDUE_DATABASE_URL: url })), text);
  });

  test("a web server at the port", async () => {
    const { port } = web.address() as AddressInfo;
    const url = `postgres://overdue@127.0.0.1:${port}/overdue`;
    for (const query of ["", "?sslmode=disable", "?sslmode=require"]) {
      const ended = await runOverdue(["serve"], settings({ OVERDUE_DATABASE_URL: url + query }));
      expectSentence(ended, /PostgreSQL server/);
    }
  });

  test("a wrong password, and none", async () => {
    await onServer("create role locked login password 'right'");
    await admit("host all locked 127.0.0.1/32 scram-sha-256");
    const url = await postgres.newDatabase();
    const wrong = settings({ OVERDUE_DATABASE_URL: as("locked:wrong-one", url) });
    const none = settings({ OVERDUE_DATABASE_URL: as("locked", url) });
    expectSentence(
      await runOverdue(["serve"], wrong),
      /password authentication failed.*Correct the user name/,
    );
    expectSentence(await runOverdue(["serve"], none), /requires a password, but none is set/);
  });

  test("a user that no rule admits", async () => {
    await onServer("create role shut login");
    await admit("host all shut 127.0.0.1/32 reject");
    const url = as("shut", await postgres.newDatabase());
    expectSentence(await runOverdue(["serve"], settings({ OVERDUE_DATABASE_URL: url })), /pg_hba\.conf/);
  });

  test("no privilege on the schema, and tables of another user", async () => {
    await onServer("create role guest login");
    await admit();
    const empty = await postgres.newDatabase();
    const text = /"guest".*schema "?public"?.*OWNER TO/;
    const serve = await runOverdue(["serve"], settings({ OVERDUE_DATABASE_URL: as("guest", empty) }));
    expectSentence(serve, text);
    expectSentence(
      await runOverdue(["migrate"], settings({ OVERDUE_DATABASE_URL: as("guest", empty) })),
      text,
    );
    const filled = await postgres.newDatabase();
    await runOverdue(["migrate"], settings({ OVERDUE_DATABASE_URL: filled }));
    const foreign = await runOverdue(["serve"], settings({ OVERDUE_DATABASE_URL: as("guest", filled) }));
    expectSentence(foreign, /permission denied.*OWNER TO/);
  });

  test("no connection left", async () => {
    await onServer("create role crowded login connection limit 0");
    const url = as("crowded", await postgres.newDatabase());
    const ended = await runOverdue(["serve"], settings({ OVERDUE_DATABASE_URL: url }));
    expectSentence(ended, /too many connections.*max_connections/);
  });

  test("a database that takes no changes, with and without tables", async () => {
    for (const isFilled of [false, true]) {
      const url = await postgres.newDatabase();
      if (isFilled) await runOverdue(["migrate"], settings({ OVERDUE_DATABASE_URL: url }));
      await onServer(`alter database ${nameOf(url)} set default_transaction_read_only = on`);
      for (const migrates of ["true", "false"]) {
        const given = settings({ OVERDUE_DATABASE_URL: url, OVERDUE_MIGRATE_ON_START: migrates });
        const ended = await runOverdue(["serve"], given);
        if (isFilled || migrates === "true") expectSentence(ended, /read-only.*primary/);
        else expectSentence(ended, /Run `overdue migrate` first/);
      }
    }
  });

  test("a database that cannot store every character", async () => {
    await onServer("create database latin encoding 'LATIN1' locale 'C' template template0");
    const url = postgres.server().url("latin");
    expectSentence(await runOverdue(["serve"], settings({ OVERDUE_DATABASE_URL: url })), /LATIN1.*UTF8/);
  });
});

describe("files and folders", () => {
  /** As a user who owns nothing; null where the program cannot be read by one. */
  async function runAsStranger(environment: Environment): Promise<Ended | null> {
    const identity = process.getuid?.() === 0 ? { uid: STRANGER, gid: STRANGER } : {};
    const child = spawn(process.execPath, [MAIN, "serve"], {
      env: { ...COMPILE_CACHE, ...environment },
      cwd: "/",
      ...identity,
    });
    try {
      const ended = await endOf(child);
      return ended.err.includes("Cannot find module") ? null : ended;
    } catch {
      return null;
    }
  }

  test.each([0o755, 0o700])("a spool folder of another user, mode %o", async (mode) => {
    const spool = join(folder, `spool-${mode}`);
    mkdirSync(spool);
    chmodSync(spool, process.getuid?.() === 0 ? mode : mode & 0o500);
    const ended = await runAsStranger(
      settings({ OVERDUE_DATABASE_URL: await postgres.newDatabase(), OVERDUE_SPOOL_FOLDER: spool }),
    );
    if (ended === null) return;
    expect(ended.code).toBe(2);
    expectSentence(ended, /OVERDUE_SPOOL_FOLDER.*permission.*write/i);
  });

  test("a certificate and a key that are none, or belong to others", async () => {
    const one = makeCertificates(folder, { name: "one", host: "localhost" });
    const two = makeCertificates(folder, { name: "two", host: "localhost" });
    const garbage = join(folder, "garbage.pem");
    writeFileSync(garbage, "this is no certificate\n");
    const url = await postgres.newDatabase();
    for (const [certificate, key] of [
      [garbage, one.key],
      [one.certificate, garbage],
      [one.certificate, two.key],
    ]) {
      const ended = await runOverdue(
        ["serve"],
        settings({
          OVERDUE_DATABASE_URL: url,
          OVERDUE_PING_MAIL_LISTEN: "127.0.0.1:0",
          OVERDUE_PING_MAIL_DOMAIN: "ping.example.org",
          OVERDUE_PING_MAIL_CERTIFICATE: certificate ?? "",
          OVERDUE_PING_MAIL_CERTIFICATE_KEY: key ?? "",
        }),
      );
      expectSentence(ended, /OVERDUE_PING_MAIL_CERTIFICATE/);
    }
  });
});

test("an address that this machine does not have, and an unknown host name", async () => {
  const url = await postgres.newDatabase();
  const elsewhere = await runOverdue(
    ["serve"],
    settings({ OVERDUE_DATABASE_URL: url, OVERDUE_LISTEN: "192.0.2.1:8000" }),
  );
  expectSentence(elsewhere, /192\.0\.2\.1:8000.*OVERDUE_LISTEN/);
  const unknown = await runOverdue(
    ["serve"],
    settings({ OVERDUE_DATABASE_URL: url, OVERDUE_LISTEN: "no-such-host.invalid:8000" }),
  );
  expectSentence(unknown, /no-such-host\.invalid.*OVERDUE_LISTEN/);
});
