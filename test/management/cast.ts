// The fixed cast of the API's tests: an owner, a team mate and a stranger, each with a project and its keys, and
// the real server in this process, on a free port and a database of its own.
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll } from "vitest";
import { loadConfig } from "../../src/config/config.ts";
import type { Dialect } from "../../src/core/access.ts";
import { createLog, type Log } from "../../src/lib/log.ts";
import { createMetrics } from "../../src/lib/metrics.ts";
import { createAccount } from "../../src/operations/accounts.ts";
import { secretKeyOf } from "../../src/operations/secrets.ts";
import { createProject } from "../../src/operations/projects.ts";
import { chooseRoles } from "../../src/roles/names.ts";
import { run, type RunningProcess } from "../../src/roles/roles.ts";
import type { Account } from "../../src/store/accounts.ts";
import { type Channel, insertChannel } from "../../src/store/channels.ts";
import { type Database, openDatabase } from "../../src/store/db.ts";
import { readDatabaseClock } from "../../src/store/instance.ts";
import { findProjectByUuid, type Project } from "../../src/store/projects.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { freePort } from "../support/ports.ts";
import { checkApiResponse } from "./api-response.ts";

/** Somebody with a project of their own. */
export type Player = { account: Account; project: Project; rw: string; ro: string; pingKey: string };

export type Asked = {
  method?: string;
  /** Sent as X-Api-Key. */
  key?: string;
  headers?: Readonly<Record<string, string>>;
  /** Bytes and texts are sent as they are, everything else as JSON. */
  body?: unknown;
};

export type Reply = { status: number; headers: Headers; bytes: Buffer; text: string; json: unknown };

export type Cast = {
  /** Where the server listens, which is also the address that it writes into its answers. */
  readonly site: string;
  /** A pool of the tests' own. */
  readonly db: Database;
  /** The pool that the server works with. */
  readonly serverDb: Database;
  /** What keys are hashed and badges are signed with. */
  readonly secretKey: string;
  /** Owns the project that tests are mostly about. */
  readonly owner: Player;
  /** Is a member of the owner's project; the keys are those of a project of their own. */
  readonly mate: Player;
  /** Has nothing to do with the others. */
  readonly stranger: Player;
  /**
   * Sends a request; the path begins with a slash. Fails if a response of the Overdue API does not match the
   * definition of its route.
   */
  ask(path: string, given?: Asked): Promise<Reply>;
  /** An integration of a project. */
  channel(player: Player, given: { name: string; kind: string }): Promise<Channel>;
  /** The database's clock, which the server goes by. */
  now(): Promise<number>;
};

export type CastOptions = {
  dialect?: Dialect;
  /** Which parts of the program run. */
  roles?: readonly string[];
  /** Further settings, by their names in the environment. */
  settings?: Readonly<Record<string, string>>;
  /** Where the server logs to; nowhere when absent. */
  log?: Log;
  /** The way on which the server reaches its database. */
  databaseUrl?: (url: string) => string;
};

type Stage = { site: string; serverDb: Database; secretKey: string; running: RunningProcess } & Record<
  "owner" | "mate" | "stranger",
  Player
>;

/** A key in the right form that nobody has. */
export const UNKNOWN_KEY = "x".repeat(32);
/** A UUID in the right form that no check has. */
export const UNKNOWN_UUID = "00000000-0000-4000-8000-000000000000";

/** Call at the top of a test file. The cast is on stage from the first test to the last. */
export function useCast(options: CastOptions = {}): Cast {
  const database = useDatabase();
  let set: Stage | null = null;
  const onStage = (): Stage => {
    if (set === null) throw new Error("the cast is there from the first test on, not before");
    return set;
  };
  beforeAll(async () => {
    const server = await startServer(options.databaseUrl?.(database.url) ?? database.url, options);
    const enter = (name: string) => makePlayer(database.db, { name, secretKey: server.secretKey });
    const [owner, mate, stranger] = [await enter("owner"), await enter("mate"), await enter("stranger")];
    await database.db.pool.query(
      "insert into members (project_id, account_id, role, created_at) values ($1, $2, 'member', now())",
      [owner.project.id, mate.account.id],
    );
    set = { ...server, owner, mate, stranger };
  });
  afterAll(async () => {
    await set?.running.stop();
  });
  return {
    get site() {
      return onStage().site;
    },
    get db() {
      return database.db;
    },
    get serverDb() {
      return onStage().serverDb;
    },
    get secretKey() {
      return onStage().secretKey;
    },
    get owner() {
      return onStage().owner;
    },
    get mate() {
      return onStage().mate;
    },
    get stranger() {
      return onStage().stranger;
    },
    ask: (path, given = {}) => ask(onStage().site + path, given),
    channel: ({ project }, { name, kind }) =>
      inTransaction(database.db, (tx) =>
        insertChannel(tx, {
          uuid: randomUUID(),
          projectId: project.id,
          kind,
          name,
          config: { token: "s3cret" },
          createdAt: project.createdAt,
        }),
      ),
    now: () => readDatabaseClock(database.db),
  };
}

/** Starts the program on a database; the caller stops it. */
export async function startServer(
  url: string,
  { dialect, roles = ["api"], settings = {}, log = createLog({ level: "fatal" }) }: CastOptions,
) {
  const port = await freePort();
  const site = `http://127.0.0.1:${port}`;
  const databaseOptions = { url, applicationName: "overdue-api", onError: () => {}, requireDurable: false };
  const serverDb = openDatabase(databaseOptions);
  const { config } = loadConfig({
    OVERDUE_ADMIN_LISTEN: "127.0.0.1:0",
    OVERDUE_LISTEN: `127.0.0.1:${port}`,
    OVERDUE_SITE_URL: site,
    ...(dialect === undefined ? {} : { OVERDUE_API_DIALECT: dialect }),
    ...settings,
  });
  const running = await run(
    chooseRoles(roles),
    {
      config,
      database: serverDb,
      databaseOptions,
      log,
      metrics: createMetrics({ version: "0" }),
    },
    { signal: new AbortController().signal },
  );
  return { site, serverDb, secretKey: await secretKeyOf(serverDb, config.secretKey), running };
}

/** An account with a project and keys. */
export async function makePlayer(
  db: Database,
  { name, secretKey }: { name: string; secretKey: string },
): Promise<Player> {
  const now = await readDatabaseClock(db);
  const account = await createAccount(db, {
    email: `${name}@example.org`,
    name,
    isAdmin: false,
    checkLimit: null,
    now,
  });
  const made = await createProject(db, {
    ownerId: account.id,
    name: `Project of the ${name}`,
    secretKey,
    now,
  });
  const project = await findProjectByUuid(db, made.uuid);
  if (project === null) throw new Error("the project that was just made is not there");
  return { account, project, rw: made.apiKey, ro: made.apiKeyReadonly, pingKey: made.pingKey };
}

async function ask(url: string, { method = "GET", key, headers = {}, body }: Asked): Promise<Reply> {
  const isRaw = typeof body === "string" || body instanceof Uint8Array;
  const response = await fetch(url, {
    method,
    headers: { ...(key === undefined ? {} : { "X-Api-Key": key }), ...headers },
    ...(body === undefined ? {} : { body: isRaw ? (body as string) : JSON.stringify(body) }),
    redirect: "manual",
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  const text = bytes.toString("utf8");
  const isJson = /^application\/(problem\+)?json\b/.test(response.headers.get("content-type") ?? "");
  const json: unknown = isJson && text !== "" ? JSON.parse(text) : null;
  const { pathname, search } = new URL(url);
  checkApiResponse(method, pathname + search, { status: response.status, headers: response.headers, text });
  return { status: response.status, headers: response.headers, bytes, text, json };
}
