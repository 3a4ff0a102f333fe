// `overdue doctor` on set-ups that are really broken: it names the problem and the fix. On a healthy server it finds
// nothing.
import { createServer as createHttpServer, request as httpRequest } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { AddressInfo, Server } from "node:net";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { beforeAll, describe, expect, inject, onTestFinished, test, vi } from "vitest";
import { DOCS } from "../../src/contract/api/docs.ts";
import type { Finding } from "../../src/core/doctor.ts";
import { temporaryFolder, tinyDisk } from "../intake/support/folders.ts";
import { startSmtp } from "../receivers/smtp.ts";
import { makeCertificates } from "../support/certificates.ts";
import { isPgbouncerInstalled, startPgbouncer } from "../support/pgbouncer.ts";
import { freePort } from "../support/ports.ts";
import {
  callOverdue,
  endOf,
  type Environment,
  runOverdue,
  startOverdue,
  useDurablePostgres,
} from "./run-overdue.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const postgres = useDurablePostgres();
const PASSWORD = "correct-horse-battery";
/** A migrated database, for set-ups whose problem is elsewhere. */
let migrated: string;

beforeAll(async () => {
  migrated = await newSchema();
});

async function newSchema(): Promise<string> {
  const url = await postgres.newDatabase();
  expect((await callOverdue(["migrate"], { OVERDUE_DATABASE_URL: url })).code).toBe(0);
  return url;
}

async function query(url: string, ...statements: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  for (const sql of statements) await client.query(sql);
  await client.end();
}

type Report = { code: number | null; problems: number; findings: Finding[] };

/** What the doctor finds; everything that a test does not set is as in a trial without a server. */
async function examine(environment: Environment): Promise<Report> {
  const { code, out, err } = await callOverdue(["doctor", "--json"], {
    OVERDUE_DATABASE_URL: migrated,
    OVERDUE_ADMIN_LISTEN: `127.0.0.1:${await freePort()}`,
    OVERDUE_SITE_URL: `http://127.0.0.1:${await freePort()}`,
    OVERDUE_SPOOL_FOLDER: "off",
    ...environment,
  });
  expect(err).toBe("");
  expect(out).not.toContain(PASSWORD);
  return { code, ...(JSON.parse(out) as Omit<Report, "code">) };
}

async function problemIn(about: Finding["about"], environment: Environment): Promise<Finding> {
  const { code, findings } = await examine(environment);
  const found = findings.find((one) => one.about === about && one.level === "problem");
  if (found === undefined) throw new Error(`no problem with ${about} in ${JSON.stringify(findings)}`);
  expect(code).toBe(1);
  expect(found.fix).not.toBeNull();
  return found;
}

/** A server on loopback that is closed after the test; returns its port. */
async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

describe("settings", () => {
  test("an unknown name, with the one that was meant", async () => {
    const found = await problemIn("settings", { OVERDUE_SITE_URI: "https://example.org" });
    expect(found.text).toBe("Unknown setting OVERDUE_SITE_URI.");
    expect(found.fix).toContain("OVERDUE_SITE_URL");
  });

  test("an invalid value", async () => {
    const found = await problemIn("settings", { OVERDUE_SMTP_PORT: "mail" });
    expect(found.text).toContain("OVERDUE_SMTP_PORT must be a port number");
  });
});

test("findings are followed by the URL of the page that explains them", async () => {
  const siteUrl = `http://127.0.0.1:${await freePort()}`;
  const { out } = await callOverdue(["doctor"], {
    OVERDUE_DATABASE_URL: migrated,
    OVERDUE_SITE_URL: siteUrl,
    OVERDUE_SPOOL_FOLDER: "off",
  });
  expect(out.endsWith(`\nHelp: ${siteUrl}${DOCS.doctor}\n`)).toBe(true);
});

describe("the database", () => {
  test("is not running", async () => {
    const url = `postgres://overdue:${PASSWORD}@127.0.0.1:${await freePort()}/overdue`;
    const found = await problemIn("database", { OVERDUE_DATABASE_URL: url });
    expect(found.text).toContain("ECONNREFUSED");
    expect(found.fix).toContain("Start PostgreSQL");
  });

  test("does not exist", async () => {
    const found = await problemIn("database", { OVERDUE_DATABASE_URL: postgres.server().url("nowhere") });
    expect(found.text).toContain('database "nowhere" does not exist');
    expect(found.fix).toContain("createdb");
  });

  test("runs with fsync off", async () => {
    // The server of the other tests, which trades safety for speed.
    const found = await problemIn("database", { OVERDUE_DATABASE_URL: inject("postgresUrl") });
    expect(found.text).toContain("fsync = off");
    expect(found.fix).toContain("Set fsync = on");
  });

  test("does not wait for commits", async () => {
    const url = await postgres.newDatabase();
    await query(url, `alter database ${new URL(url).pathname.slice(1)} set synchronous_commit = off`);
    const found = await problemIn("database", { OVERDUE_DATABASE_URL: url });
    expect(found.text).toContain("synchronous_commit = off");
  });

  test("has another encoding", async () => {
    const name = "doctor_ascii";
    await query(
      postgres.server().url(),
      `create database ${name} encoding 'SQL_ASCII' locale 'C' template template0`,
    );
    const found = await problemIn("database", { OVERDUE_DATABASE_URL: postgres.server().url(name) });
    expect(found.text).toContain("SQL_ASCII");
    expect(found.fix).toContain("--encoding=UTF8");
  });

  test("is read-only", async () => {
    const url = await newSchema();
    await query(
      url,
      `alter database ${new URL(url).pathname.slice(1)} set default_transaction_read_only = on`,
    );
    const found = await problemIn("database", { OVERDUE_DATABASE_URL: url });
    expect(found).toMatchObject({
      text: "The database is read-only.",
      fix: expect.stringContaining("default_transaction_read_only"),
    });
  });

  test.skipIf(!isPgbouncerInstalled)("is behind a pooler in transaction mode", async () => {
    const pooler = await startPgbouncer({ databaseUrl: migrated, poolMode: "transaction" });
    try {
      const found = await problemIn("database", { OVERDUE_DATABASE_URL: pooler.url });
      expect(found.text).toContain("transaction mode");
      expect(found.fix).toContain("pool_mode = session");
    } finally {
      await pooler.stop();
    }
  });

  test("allows too few connections", async () => {
    const url = await newSchema();
    const name = new URL(url).pathname.slice(1);
    await query(
      url,
      "create role doctor_few login connection limit 9",
      `grant all on database ${name} to doctor_few`,
      "grant all on all tables in schema public to doctor_few",
    );
    const found = await problemIn("connections", {
      OVERDUE_DATABASE_URL: url.replace("overdue@", "doctor_few@"),
    });
    expect(found.text).toBe(
      "The database allows at most 9 connections for Overdue, but one process can open 21.",
    );
    expect(found.fix).toContain("OVERDUE_DATABASE_POOL_SIZE");
  });

  test("was migrated by a newer version", async () => {
    const url = await newSchema();
    await query(url, "insert into migration_checksums values ('9999_future', 'x')");
    const found = await problemIn("schema", { OVERDUE_DATABASE_URL: url });
    expect(found.text).toContain("newer version of Overdue: 9999_future");
    expect(found.fix).toContain("restore a backup");
  });

  test("has no tables yet", async () => {
    const found = await problemIn("schema", { OVERDUE_DATABASE_URL: await postgres.newDatabase() });
    expect(found.fix).toContain("overdue migrate");
  });

  test("is a copy in safe mode", async () => {
    const url = await newSchema();
    await query(
      url,
      `insert into database_identity (system_identifier, database_oid, site_url, state, state_since_at, reason)
        values (null, 1, 'https://example.org', 'safe', now(), 'The public URL has changed.')`,
    );
    const found = await problemIn("service", { OVERDUE_DATABASE_URL: url });
    expect(found.text).toContain("safe mode");
    expect(found.fix).toContain("overdue admin restore confirm");
  });
});

describe("the secret keys", () => {
  const [current, previous] = [
    "the-current-secret-key-0123456789abc",
    "the-previous-secret-key-0123456789ab",
  ];
  const about = ({ findings }: Report) => findings.filter((one) => one.about === "secret key");

  test("what needs the previous key, and values of a key that is gone", async () => {
    const url = await newSchema();
    const keys = { OVERDUE_DATABASE_URL: url, OVERDUE_SECRET_KEY: previous };
    expect(about(await examine(keys))).toEqual([]);
    expect((await callOverdue(["admin", "create-account", "--email", "a@example.org"], keys)).code).toBe(0);
    expect(
      (await callOverdue(["admin", "create-project", "--account", "a@example.org", "--name", "P"], keys))
        .code,
    ).toBe(0);
    const changed = await examine({
      ...keys,
      OVERDUE_SECRET_KEY: current,
      OVERDUE_SECRET_KEY_PREVIOUS: previous,
    });
    expect(about(changed)).toMatchObject([
      { level: "ok", text: "OVERDUE_SECRET_KEY_PREVIOUS is needed for 2 API keys." },
    ]);
    for (const key of [current, previous]) expect(JSON.stringify(changed)).not.toContain(key);
    const lost = await examine({ ...keys, OVERDUE_SECRET_KEY: current });
    expect(about(lost)).toMatchObject([{ level: "warning", text: expect.stringContaining("2 API keys") }]);
    const same = await examine({ ...keys, OVERDUE_SECRET_KEY_PREVIOUS: previous });
    expect(about(same)).toMatchObject([{ level: "warning" }]);
  });
});

describe("this machine", () => {
  test("a full disk, in memory, for the spool", async ({ skip }) => {
    const folder = tinyDisk();
    if (folder === null) return skip("this user may not mount a file system");
    const { findings } = await examine({ OVERDUE_SPOOL_FOLDER: folder });
    const texts = findings.filter(({ about }) => about === "spool").map(({ text }) => text);
    expect(texts).toEqual([
      expect.stringMatching(/has \d MiB free, so pings are rejected/),
      expect.stringContaining("tmpfs, which is lost at a restart"),
    ]);
  });

  test("a spool folder with pings of another server", async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "server"), "another");
    writeFileSync(join(folder, "spool-6f1c9a52-8d0b-4f3e-9a57-2c4d6e8f0a1b.sqlite"), "");
    const found = await problemIn("spool", { OVERDUE_SPOOL_FOLDER: folder });
    expect(found.text).toContain("contains pings of another Overdue server");
    expect(found.fix).toContain("separate folder");
  });

  test("a spool folder that is not created by looking", async () => {
    const folder = join(temporaryFolder(), "a", "b");
    const { findings } = await examine({ OVERDUE_SPOOL_FOLDER: folder, OVERDUE_SPOOL_BYTES: "1048576" });
    expect(findings.filter(({ about }) => about === "spool")).toMatchObject([{ level: "ok" }]);
    expect(() => readFileSync(folder)).toThrow("ENOENT");
  });
});

describe("other servers", () => {
  const mail = (port: number): Environment => ({
    OVERDUE_SMTP_HOST: "127.0.0.1",
    OVERDUE_SMTP_PORT: String(port),
    OVERDUE_SMTP_TLS: "none",
  });

  test("a mail server that rejects the login", async () => {
    const smtp = await startSmtp({ login: { user: "overdue", password: "another" } });
    onTestFinished(() => smtp.close());
    const login = { OVERDUE_SMTP_USER: "overdue", OVERDUE_SMTP_PASSWORD: PASSWORD };
    const found = await problemIn("email", { ...mail(smtp.port), ...login });
    expect(found.text).toContain("rejected the login");
    expect(found.fix).toBe("Correct OVERDUE_SMTP_USER and OVERDUE_SMTP_PASSWORD.");
  });

  test("a mail server without the required encryption", async () => {
    const smtp = await startSmtp();
    onTestFinished(() => smtp.close());
    const found = await problemIn("email", { ...mail(smtp.port), OVERDUE_SMTP_TLS: "starttls" });
    expect(found.fix).toContain("OVERDUE_SMTP_TLS");
  });

  test("a mail server that works gets an email only if asked", async () => {
    const smtp = await startSmtp();
    onTestFinished(() => smtp.close());
    const environment = { ...mail(smtp.port), OVERDUE_DATABASE_URL: migrated, OVERDUE_SPOOL_FOLDER: "off" };
    await examine(environment);
    expect(smtp.received).toHaveLength(0);
    const { out } = await callOverdue(["doctor", "--send-mail", "ada@example.org"], environment);
    expect(out).toContain("accepted an email to ada@example.org");
    expect(smtp.received.map(({ to }) => to)).toEqual([["ada@example.org"]]);
    const wrong = await callOverdue(["doctor", "--send-mail", "ada"], environment);
    expect(wrong.code).toBe(2);
  });

  test("an object store that is down", async () => {
    const found = await problemIn("object store", {
      OVERDUE_S3_BUCKET: "bodies",
      OVERDUE_S3_ENDPOINT: `http://127.0.0.1:${await freePort()}`,
      OVERDUE_S3_ACCESS_KEY: "overdue",
      OVERDUE_S3_SECRET_KEY: PASSWORD,
    });
    expect(found.text).toContain("ECONNREFUSED");
    expect(found.fix).toContain("OVERDUE_S3_ENDPOINT");
  });

  test("another program at the public URL and on the admin port", async () => {
    const server = createHttpServer((_request, response) => void response.writeHead(404).end("no"));
    const port = await listening(server);
    const { code, findings } = await examine({
      OVERDUE_SITE_URL: `http://127.0.0.1:${port}`,
      OVERDUE_ADMIN_LISTEN: `127.0.0.1:${port}`,
    });
    expect(code).toBe(1);
    const texts = findings.filter(({ level }) => level === "problem").map(({ text }) => text);
    expect(texts).toContain("Another server answers at the public URL (HTTP 404).");
    expect(texts).toContain(`Another program answers on the admin port 127.0.0.1:${port}.`);
  });

  test("a server that never answers does not keep the command", async () => {
    const port = await listening(createHttpServer(() => {}));
    const begunMs = performance.now();
    await examine({
      ...mail(port),
      OVERDUE_DATABASE_URL: `postgres://overdue@127.0.0.1:${port}/overdue`,
      OVERDUE_SITE_URL: `http://127.0.0.1:${port}`,
      OVERDUE_ADMIN_LISTEN: `127.0.0.1:${port}`,
    });
    expect(performance.now() - begunMs).toBeLessThan(40_000);
  });
});

describe("a running server", () => {
  /** `overdue serve` behind a proxy with TLS, as in production. */
  async function serve({ forwarded, more = {} }: { forwarded: Record<string, string>; more?: Environment }) {
    const folder = temporaryFolder();
    const { authority, certificate, key } = makeCertificates(folder, { name: "doctor", host: "localhost" });
    const smtp = await startSmtp({ login: { user: "overdue", password: PASSWORD } });
    onTestFinished(() => smtp.close());
    const [port, adminPort] = [await freePort(), await freePort()];
    const tls = { cert: readFileSync(certificate), key: readFileSync(key) };
    const proxy = createHttpsServer(tls, (request, response) => {
      const headers = { ...request.headers, ...forwarded };
      const options = { port, host: "127.0.0.1", path: request.url, method: request.method, headers };
      const passed = httpRequest(options, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      });
      passed.on("error", () => void response.writeHead(502).end());
      request.pipe(passed);
    });
    const environment: Environment = {
      OVERDUE_DATABASE_URL: (await newSchema()).replace("overdue@", `overdue:${PASSWORD}@`),
      OVERDUE_SITE_URL: `https://localhost:${await listening(proxy)}`,
      OVERDUE_LISTEN: `127.0.0.1:${port}`,
      OVERDUE_ADMIN_LISTEN: `127.0.0.1:${adminPort}`,
      OVERDUE_SPOOL_FOLDER: join(folder, "spool"),
      OVERDUE_SPOOL_BYTES: "1048576",
      OVERDUE_SMTP_HOST: "127.0.0.1",
      OVERDUE_SMTP_PORT: String(smtp.port),
      OVERDUE_SMTP_TLS: "none",
      OVERDUE_SMTP_USER: "overdue",
      OVERDUE_SMTP_PASSWORD: PASSWORD,
      NODE_EXTRA_CA_CERTS: authority,
      ...more,
    };
    const child = startOverdue(["serve"], environment);
    const ended = endOf(child);
    onTestFinished(async () => {
      child.kill("SIGTERM");
      await ended;
    });
    const isReady = () =>
      fetch(`http://127.0.0.1:${adminPort}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      );
    await expect.poll(isReady, { timeout: 60_000 }).toBe(true);
    return environment;
  }

  const forwarded = { "x-forwarded-proto": "https", "x-forwarded-for": "192.0.2.7" };

  test("that is healthy has no finding, and another database at its URL is noticed", async () => {
    const environment = await serve({ forwarded });
    const healthy = await runOverdue(["doctor"], environment);
    expect(healthy.out).not.toMatch(/^(warning|problem) /m);
    expect(healthy.out).toMatch(/\nNo problems found\.\n$/);
    expect(healthy.code).toBe(0);
    expect(healthy.out).not.toContain(PASSWORD);

    const other = await runOverdue(["doctor", "--json"], { ...environment, OVERDUE_DATABASE_URL: migrated });
    const { findings } = JSON.parse(other.out) as Report;
    expect(findings.find(({ about }) => about === "public URL")?.text).toContain(
      "Another Overdue server, with another database, answers at",
    );
    expect(findings.find(({ about }) => about === "spool")?.text).toContain(
      "pings of another Overdue server",
    );
    expect(other.code).toBe(1);
  });

  test("behind a proxy that is not trusted and hides the scheme", async () => {
    const { "x-forwarded-for": client } = forwarded;
    const more = { OVERDUE_TRUSTED_PROXIES: "10.0.0.0/8" };
    const environment = await serve({ forwarded: { "x-forwarded-for": client }, more });
    const { out, code } = await runOverdue(["doctor"], environment);
    expect(out).toContain("X-Forwarded-Proto header is missing");
    expect(out).toContain("Add the address of the proxy to OVERDUE_TRUSTED_PROXIES");
    expect(code).toBe(0);
  });
});
