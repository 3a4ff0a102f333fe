// The environment of a scenario: its own durable PostgreSQL, a migrated database with checks, folders on a disk, and
// the processes under test. Everything is on loopback, and removed at the end.
import { randomBytes, randomUUID } from "node:crypto";
import { chmodSync, mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { DEFAULT_SETTINGS } from "../../../src/core/check.ts";
import { insertCheck, insertState } from "../../../src/store/checks.ts";
import { type Database, openDatabase } from "../../../src/store/db.ts";
import { migrate } from "../../../src/store/migrate.ts";
import { inTransaction } from "../../../src/store/transaction.ts";
import { freePort } from "../../support/ports.ts";
import { embeddedPostgres, type PostgresBinaries } from "../../support/postgres-binaries.ts";
import { type PostgresServer, startPostgres } from "../../support/postgres.ts";
import { sampleProject } from "../../support/sample.ts";
import type { Run } from "../scenario.ts";
import { Ledger } from "../signals/ledger.ts";
import type { Target } from "../signals/outgoing.ts";
import { type Guardian, startGuardian } from "./guardian.ts";
import { PingProcess } from "./ping-process.ts";
import { DatabaseProxy } from "./proxy.ts";

const DATABASE = "overdue";

export type StageOptions = {
  checks: number;
  /** A shared server, and the name of a database on it; without it, a separate server. */
  shared?: { postgres: PostgresServer; database: string };
  /** Other programs than those of the npm package. */
  binaries?: PostgresBinaries;
  /** Lines of postgresql.conf. */
  postgres?: Record<string, string>;
  /** Other programs need the processors, so that /healthz may take longer than the guaranteed time. */
  mayBeBusy?: boolean;
};

export type ProcessWish = {
  name: string;
  /** The database itself, unless there is a proxy in between. */
  databaseUrl?: string;
  /** A folder of the stage by name; null for a process without a spool. */
  spool?: string | null;
  environment?: Record<string, string>;
  /** Modules that only this process loads first, in addition to those of the run. */
  preloads?: readonly string[];
};

type StageParts = {
  run: Run;
  folder: string;
  postgres: PostgresServer;
  databaseName: string;
  /** The server is stopped elsewhere. */
  isShared: boolean;
  guardian: Guardian;
};

export class Stage {
  readonly run: Run;
  readonly folder: string;
  readonly guardian: Guardian;
  readonly ledger: Ledger;
  /** The run's own pool; its connections may break. */
  readonly database: Database;
  projectId = 0;
  pingKey = "";
  targets: Target[] = [];
  readonly #processes: PingProcess[] = [];
  readonly #servers: PostgresServer[];
  readonly #databaseName: string;
  readonly #isShared: boolean;
  readonly #proxies: DatabaseProxy[] = [];

  constructor(parts: StageParts) {
    this.run = parts.run;
    this.folder = parts.folder;
    this.#servers = [parts.postgres];
    this.#databaseName = parts.databaseName;
    this.#isShared = parts.isShared;
    this.guardian = parts.guardian;
    this.ledger = new Ledger({ folder: this.folder, guardian: this.guardian, seed: this.run.seed });
    this.database = openStageDatabase(this.url);
  }

  /** The current database server. */
  get postgres(): PostgresServer {
    const newest = this.#servers.at(-1);
    if (newest === undefined) throw new Error("there is always a server");
    return newest;
  }

  /** Replaces the server; queries go to it from now on, except through the pool. */
  moveTo(server: PostgresServer): void {
    this.#servers.push(server);
  }

  get url(): string {
    return this.postgres.url(this.#databaseName);
  }

  get databaseName(): string {
    return this.#databaseName;
  }

  get processes(): readonly PingProcess[] {
    return this.#processes;
  }

  /** A folder below the stage's, created if necessary. */
  subfolder(name: string): string {
    const path = join(this.folder, name);
    mkdirSync(path, { recursive: true, mode: 0o700 });
    return path;
  }

  /** A process that is not started yet. */
  async receiver(wish: ProcessWish): Promise<PingProcess> {
    const { name, databaseUrl = this.url, spool = "spool", environment = {} } = wish;
    const spoolSettings = { OVERDUE_SPOOL_FOLDER: spool === null ? "off" : this.subfolder(spool) };
    const made = new PingProcess({
      name,
      port: await freePort(),
      adminPort: await freePort(),
      logPath: join(this.folder, `${name}.log`),
      environment: { OVERDUE_DATABASE_URL: databaseUrl, ...spoolSettings, ...STEADY, ...environment },
      preloads: [...this.run.preloads, ...(wish.preloads ?? [])],
      guardian: this.guardian,
    });
    this.#processes.push(made);
    return made;
  }

  /** A link to the current database server that can be cut. */
  async proxy(): Promise<DatabaseProxy> {
    const proxy = await DatabaseProxy.open({ targetPort: this.postgres.port });
    this.#proxies.push(proxy);
    return proxy;
  }

  /** A connection to the database itself, for the duration of the work. */
  async withClient<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
    const client = new pg.Client({ connectionString: this.url });
    client.on("error", () => {});
    await client.connect();
    try {
      return await work(client);
    } finally {
      await client.end();
    }
  }

  /** Checks that expect nothing for a day. */
  addChecks(count: number): Promise<Target[]> {
    return this.addChecksTo({ projectId: this.projectId, pingKey: this.pingKey, count });
  }

  /** The same in another project. */
  async addChecksTo(to: { projectId: number; pingKey: string; count: number }): Promise<Target[]> {
    const { projectId, pingKey, count } = to;
    const added = await inTransaction(this.database, async (tx) => {
      const made: Target[] = [];
      for (let index = 0; index < count; index += 1) {
        const uuid = randomUUID();
        const slug = `job-${randomBytes(6).toString("hex")}`;
        const checkId = await insertCheck(tx, {
          uuid,
          badgeUuid: randomUUID(),
          projectId,
          settings: { ...DEFAULT_SETTINGS, name: slug, slug },
          createdAt: Date.now(),
        });
        await insertState(tx, checkId);
        made.push({ checkId, uuid, pingKey, slug });
      }
      return made;
    });
    this.targets.push(...added);
    return added;
  }

  async close(): Promise<void> {
    for (const one of this.#processes) one.stopProbe();
    this.ledger.close();
    await Promise.all(this.#processes.map((one) => one.kill()));
    await Promise.all(this.#proxies.map((one) => one.close()));
    await this.database.close().catch(() => {});
    if (!this.#isShared) for (const server of this.#servers.toReversed()) await server.stop();
    await this.guardian.dismiss();
    if (this.run.keepFiles) this.run.say(`files are left in ${this.folder}`);
  }
}

/** Nothing is trimmed or coalesced: the log must contain everything that was sent. */
const STEADY = {
  OVERDUE_PING_LOG_LIMIT: "10000",
  OVERDUE_SIGNALS_PER_MINUTE: "0",
  OVERDUE_LOG_LEVEL: "info",
};

/** Opens a stage for the work, and closes it in any case. */
export async function onStage<T>(
  run: Run,
  options: StageOptions,
  work: (stage: Stage) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "overdue-faults-"));
  // The database's user needs access to copies of its data.
  chmodSync(folder, 0o755);
  const guardian = startGuardian({ folder, keep: run.keepFiles });
  const { shared } = options;
  const postgres = shared?.postgres ?? (await startOwnPostgres(options));
  const databaseName = shared?.database ?? DATABASE;
  const stage = new Stage({ run, folder, postgres, databaseName, isShared: shared !== undefined, guardian });
  try {
    await prepare(stage, options);
    const result = await work(stage);
    if (hasComplaints(result) && options.mayBeBusy !== true) {
      result.complaints.push(...stage.processes.flatMap((one) => one.healthComplaints));
    }
    return result;
  } finally {
    await stage.close();
  }
}

/** The result of most scenarios; others report violations differently. */
function hasComplaints(result: unknown): result is { complaints: string[] } {
  return (
    typeof result === "object" &&
    result !== null &&
    "complaints" in result &&
    Array.isArray(result.complaints)
  );
}

async function startOwnPostgres({ binaries, postgres }: StageOptions): Promise<PostgresServer> {
  return startPostgres({
    binaries: binaries ?? embeddedPostgres(),
    port: await freePort(),
    settings: postgres ?? {},
  });
}

async function prepare(stage: Stage, { checks }: StageOptions): Promise<void> {
  const admin = new pg.Client({ connectionString: stage.postgres.url() });
  await admin.connect();
  await admin.query(`create database ${stage.databaseName}`);
  await admin.end();
  await migrate({ url: stage.url, applicationName: "overdue-faults", onError: () => {} });
  const project = await sampleProject(stage.database, { createdAt: Date.now() });
  stage.projectId = project.id;
  stage.pingKey = project.pingKey ?? "";
  await stage.addChecks(checks);
}

function openStageDatabase(url: string): Database {
  return openDatabase({ url, applicationName: "overdue-faults", connectionsMax: 4, onError: () => {} });
}
