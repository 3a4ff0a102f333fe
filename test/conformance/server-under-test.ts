// The real program with all its roles on a free loopback port, on a database of its own in a private PostgreSQL,
// and with nothing set but its addresses and the dialect.
import { randomBytes } from "node:crypto";
import pg from "pg";
import { openDatabase } from "../../src/store/db.ts";
import { startPingProcess } from "../support/ping-process.ts";
import { freePort } from "../support/ports.ts";
import type { PostgresServer } from "../support/postgres.ts";
import type { Setup } from "./case-file.ts";
import type { Dialect } from "./dialects.ts";
import { type CaseProject, makeProject } from "./projects.ts";

export type ServerUnderTest = {
  /** Its address, as it writes it into answers. */
  site: string;
  /** Where it listens; another address than the site's when something stands in front of it. */
  origin: string;
  /** Where it receives mail, on loopback, and for which domain. */
  mail: { port: number; domain: string };
  databaseUrl: string;
  makeProject(setup: Setup): Promise<CaseProject>;
  /** How it ended, if it did. */
  end(): string | null;
  /** Its last words. */
  said(): string;
  stop(): Promise<void>;
};

export type ServerUnderTestOptions = {
  postgres: PostgresServer;
  dialect: Dialect;
  /** A free one unless it is given. */
  port?: number;
  /** What it calls itself in its answers, when something stands in front of it. */
  siteUrl?: string;
  settings?: Readonly<Record<string, string>>;
};

const MAIL_DOMAIN = "ping.example.org";

/** Starts it on a database of its own and waits until it is ready. */
export async function startServerUnderTest(options: ServerUnderTestOptions): Promise<ServerUnderTest> {
  const databaseUrl = await newDatabase(options.postgres);
  const port = options.port ?? (await freePort());
  const origin = `http://127.0.0.1:${port}`;
  const site = options.siteUrl ?? origin;
  const mail = { port: await freePort(), domain: MAIL_DOMAIN };
  const settings = {
    OVERDUE_SITE_URL: site,
    OVERDUE_API_DIALECT: options.dialect,
    OVERDUE_PING_MAIL_LISTEN: `127.0.0.1:${mail.port}`,
    OVERDUE_PING_MAIL_DOMAIN: mail.domain,
    ...options.settings,
  };
  const program = await startPingProcess({ databaseUrl, port, settings, roles: "all", ownGroup: true });
  // A broken connection shows in the statement that needed it.
  const onError = () => {};
  const database = openDatabase({ url: databaseUrl, applicationName: "overdue-conformance", onError });
  return {
    site,
    origin,
    mail,
    databaseUrl,
    makeProject: (setup) => makeProject(database, setup),
    end: () => program.end(),
    said: () => program.said(),
    stop: async () => {
      await database.close();
      await program.stop();
    },
  };
}

async function newDatabase(postgres: PostgresServer): Promise<string> {
  const name = `conformance_${randomBytes(6).toString("hex")}`;
  const client = new pg.Client({ connectionString: postgres.url() });
  await client.connect();
  try {
    await client.query(`create database ${name}`);
  } finally {
    await client.end();
  }
  return postgres.url(name);
}
