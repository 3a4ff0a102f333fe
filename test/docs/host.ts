// The host on which the samples of a page run: a folder with the programs that samples call, and a server of its own with
// the project, checks and keys that all pages use.
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { createAccount } from "../../src/operations/accounts.ts";
import { createProject } from "../../src/operations/projects.ts";
import { secretKeyOf } from "../../src/operations/secrets.ts";
import { createAccessToken } from "../../src/operations/tokens.ts";
import { withPingUrl } from "../../src/services/web/overdue-run.ts";
import { openDatabase } from "../../src/store/db.ts";
import { readDatabaseClock } from "../../src/store/instance.ts";
import { migrate } from "../../src/store/migrate.ts";
import { findProjectByUuid } from "../../src/store/projects.ts";
import { COMPILE_CACHE } from "../support/compile-cache.ts";
import { startPingProcess } from "../support/ping-process.ts";
import { freePort } from "../support/ports.ts";
import type { PostgresServer } from "../support/postgres.ts";
import { sampleCheck } from "../support/sample.ts";

const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url));
const WRAPPER = fileURLToPath(new URL("../../deploy/overdue-run", import.meta.url));
const CLIENT = new URL("../../src/client/client.ts", import.meta.url).href;

const SITE = "https://overdue.example.org";
const MAIL_SERVER = "smtp://ping.example.org:25";
const EMAIL = "you@example.org";
const PING_KEY = "fqOOd6-F4MMNuCEnzTU01w";
const CHECKS = [
  { uuid: "5bf66975-d4c7-4bf5-bcc8-b8d8a82ea278", name: "Nightly backup", slug: "nightly-backup" },
  { uuid: "a0ae4ff9-1a6c-4ac8-9f6c-2c7a1e6d0c11", name: "Invoices", slug: "invoices" },
];
const TOKEN_DAYS = 30;
const TEMPLATE = "docs_template";

/** Folders that samples name; on this host they are below its own folder. */
const FOLDERS = [
  "usr/local/bin",
  "etc",
  "srv",
  "backups",
  "opt",
  "run/secrets",
  "var/lib",
  "var/backups",
  "var/log",
];
const PATHS = new RegExp(String.raw`(?<![\w.$}~/-])/(?:${FOLDERS.join("|")})(?=/|\b)`, "g");

/** The database that each page gets a copy of, and the secrets in it. */
export type Template = { server: PostgresServer; secrets: Readonly<Record<string, string>> };

export type Host = {
  /** Where samples run. */
  folder: string;
  environment: Readonly<Record<string, string>>;
  site: string;
  /** The text of a sample, with the URLs and paths of this host. */
  localized(text: string): string;
  remove(): void;
};

export async function makeTemplate(server: PostgresServer): Promise<Template> {
  await query(server.url(), `create database ${TEMPLATE}`);
  const options = { url: server.url(TEMPLATE), applicationName: "overdue-docs", onError: () => {} };
  await migrate(options);
  const database = openDatabase(options);
  try {
    const now = await readDatabaseClock(database);
    const secretKey = await secretKeyOf(database, null);
    const account = await createAccount(database, {
      email: EMAIL,
      name: "",
      isAdmin: true,
      checkLimit: null,
      now,
    });
    const of = { ownerId: account.id, name: "Production", secretKey, now };
    const { uuid, apiKey, apiKeyReadonly } = await createProject(database, of);
    const token = { account, name: "Samples", scope: "admin", expiresInDays: TOKEN_DAYS } as const;
    const secrets = {
      OVERDUE_API_KEY: apiKey,
      OVERDUE_API_KEY_READ: apiKeyReadonly,
      OVERDUE_TOKEN: await createAccessToken(database, { ...token, secretKey, now }),
    };
    const project = await findProjectByUuid(database, uuid);
    for (const { uuid: checkUuid, ...settings } of CHECKS) {
      const { id } = await sampleCheck(database, { projectId: project?.id ?? 0, ...settings });
      await query(options.url, `update checks set uuid = '${checkUuid}' where id = ${id}`);
    }
    await query(options.url, `update projects set ping_key = '${PING_KEY}'`);
    return { server, secrets };
  } finally {
    await database.close();
  }
}

async function query(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

/** A server with a copy of the database. */
export type Server = {
  site: string;
  databaseUrl: string;
  mailPort: number;
  stop(): Promise<void>;
};

let serverCount = 0;

export async function startServer({ server }: Template): Promise<Server> {
  const name = `docs_${++serverCount}`;
  await query(server.url(), `create database ${name} template ${TEMPLATE}`);
  const databaseUrl = server.url(name);
  const spool = mkdtempSync(join(tmpdir(), "overdue-docs-spool-"));
  const [port, mailPort] = [await freePort(), await freePort()];
  const site = `http://127.0.0.1:${port}`;
  const program = await startPingProcess({
    databaseUrl,
    port,
    roles: "all",
    settings: {
      OVERDUE_SITE_URL: site,
      OVERDUE_SPOOL_FOLDER: spool,
      OVERDUE_API_RATE_LIMIT: "0",
      OVERDUE_PING_MAIL_DOMAIN: "ping.example.org",
      OVERDUE_PING_MAIL_LISTEN: `127.0.0.1:${mailPort}`,
    },
  });
  return {
    site,
    databaseUrl,
    mailPort,
    stop: async () => {
      await program.stop();
      rmSync(spool, { recursive: true, force: true });
      await query(server.url(), `drop database ${name} with (force)`);
    },
  };
}

/** A host without a server of its own. */
export async function makeHost(
  { secrets }: Template,
  { site, databaseUrl, mailPort }: Server,
): Promise<Host> {
  const root = mkdtempSync(join(tmpdir(), "overdue-docs-"));
  const folder = join(root, "samples");
  for (const one of [...FOLDERS, "samples"]) mkdirSync(join(root, one), { recursive: true });
  writePrograms(root, { site });
  return {
    folder,
    site,
    environment: {
      ...COMPILE_CACHE,
      PATH: `${join(root, "usr/local/bin")}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin`,
      HOME: root,
      LANG: "C.UTF-8",
      ...secrets,
      OVERDUE_SITE_URL: site,
      OVERDUE_DATABASE_URL: databaseUrl,
      DATABASE_URL: databaseUrl,
      // For samples that start a server.
      OVERDUE_LISTEN: `127.0.0.1:${await freePort()}`,
      OVERDUE_ADMIN_LISTEN: "127.0.0.1:0",
      OVERDUE_SPOOL_FOLDER: "off",
    },
    localized: (text) =>
      text
        .replaceAll(SITE, site)
        .replaceAll(MAIL_SERVER, `smtp://127.0.0.1:${mailPort}`)
        .replaceAll(PATHS, `${root}$&`),
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
}

/** `overdue`, the wrapper, the job, and the package of the client. */
function writePrograms(root: string, { site }: { site: string }): void {
  const bin = join(root, "usr/local/bin");
  const script = (path: string, text: string) => {
    writeFileSync(path, `#!/bin/sh\n${text}\n`);
    chmodSync(path, 0o755);
  };
  script(join(bin, "overdue"), `exec '${process.execPath}' '${MAIN}' "$@"`);
  writeFileSync(join(bin, "overdue-run"), withPingUrl(readFileSync(WRAPPER, "utf8"), `${site}/ping`), {
    mode: 0o755,
  });
  script(join(bin, "node"), `exec '${process.execPath}' "$@"`);
  script(join(bin, "sudo"), `while [ "$1" = -u ]; do shift 2; done; exec "$@"`);
  const job = `echo "Backup finished $*"`;
  for (const path of [join(bin, "backup"), join(bin, "backup.sh"), join(root, "samples/backup.sh")])
    script(path, job);
  // Without it, curl succeeds if the server answers with an error.
  writeFileSync(join(root, ".curlrc"), "fail\nshow-error\n");
  mkdirSync(join(root, "etc/overdue"));
  for (const path of ["etc/overdue-key", "etc/overdue/ping-key", ".ping-key"])
    writeFileSync(join(root, path), `${PING_KEY}\n`);
  const client = join(root, "samples/node_modules/overdue");
  mkdirSync(client, { recursive: true });
  writeFileSync(
    join(client, "package.json"),
    JSON.stringify({ name: "overdue", type: "module", exports: { "./client": "./client.js" } }),
  );
  writeFileSync(join(client, "client.js"), `export * from ${JSON.stringify(CLIENT)};\n`);
}
