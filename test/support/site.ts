// The whole program as in a browser: built, with all roles, on its own database, with a signed-in user. For page
// tests, screenshots and the dashboard benchmark.
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { openSession } from "../../src/operations/sessions.ts";
import { type Database, openDatabase } from "../../src/store/db.ts";
import { readDatabaseClock } from "../../src/store/instance.ts";
import { migrate } from "../../src/store/migrate.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { type PingProcess, startPingProcess } from "./ping-process.ts";
import { freePort } from "./ports.ts";

const ROOT = join(import.meta.dirname, "../..");
const MANIFEST = join(ROOT, "dist/web/.vite/manifest.json");
const COOKIE = "overdue_session";

export type Site = {
  url: string;
  databaseUrl: string;
  database: Database;
  /** Its log, for debugging. */
  program: PingProcess;
  /** The cookie of a signed-in browser. */
  signIn(accountId: number): Promise<{ name: string; value: string; url: string }>;
  stop(): Promise<void>;
};

/** A migrated database of this name on a server. */
export async function createSiteDatabase(serverUrl: string, name: string): Promise<string> {
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  try {
    await client.query(`create database ${name}`);
  } finally {
    await client.end();
  }
  const url = serverUrl.replace(/\/postgres$/, `/${name}`);
  await migrate({ url, applicationName: "overdue-site", onError: () => {} });
  return url;
}

/** Starts the program on a migrated database, which may have been filled before. */
export async function startSite({
  databaseUrl,
  roles = "all",
  settings = {},
  isBuilt = false,
}: {
  databaseUrl: string;
  roles?: string;
  /** Runs the built program instead of the sources. */
  isBuilt?: boolean;
  settings?: Readonly<Record<string, string>>;
}): Promise<Site> {
  if (!existsSync(MANIFEST)) throw new Error("The browser's part is not built: npm run build -- --only web");
  const port = await freePort();
  const url = `http://localhost:${port}`;
  // With a spool, as in production: on a busy machine a ping is then accepted although the database is slow.
  const spool = await mkdtemp(join(tmpdir(), "overdue-site-spool-"));
  const program = await startPingProcess({
    databaseUrl,
    port,
    roles,
    isBuilt,
    settings: {
      OVERDUE_SITE_URL: url,
      OVERDUE_LOG_LEVEL: "info",
      OVERDUE_SPOOL_FOLDER: spool,
      ...settings,
    },
  });
  const database = openDatabase({ url: databaseUrl, applicationName: "overdue-site", onError: () => {} });
  return {
    url,
    databaseUrl,
    database,
    program,
    signIn: async (accountId) => ({ name: COOKIE, value: await tokenFor(database, accountId), url }),
    stop: async () => {
      await database.close();
      await program.stop();
      await rm(spool, { recursive: true });
    },
  };
}

async function tokenFor(database: Database, accountId: number): Promise<string> {
  const now = await readDatabaseClock(database);
  const visitor = { ua: "Chromium", remoteAddr: "127.0.0.1" };
  const { token } = await inTransaction(database, (tx) =>
    openSession(tx, { accountId, method: "password", now, ...visitor }),
  );
  return token;
}
