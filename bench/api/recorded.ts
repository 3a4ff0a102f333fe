// Records the statements that the API sends for a request, so that the bare SQL benchmark repeats exactly the same
// work.
import type pg from "pg";
import { publicUrls } from "../../src/contract/urls.ts";
import { httpListener } from "../../src/lib/http/listener.ts";
import { createLog } from "../../src/lib/log.ts";
import { apiHandler } from "../../src/services/management/server.ts";
import { type Database, openDatabase } from "../../src/store/db.ts";
import type { ApiStage } from "./stage.ts";
import type { Work } from "./work.ts";

/** One statement, its parameters, and its number of rows. */
export type RecordedStatement = {
  name: string | null;
  text: string;
  values: readonly unknown[];
  rowCount: number;
  /** The ID of the first returned row, if it has one. */
  returnedId: number | null;
};

export type RecordedWork = {
  statements: readonly RecordedStatement[];
  /** The response. */
  status: number;
  bytes: number;
};

/** The text that replaces COUNTER. */
export const COUNTER_TEXT = "1000000000-1-1";

type Sent = string | { name?: string; text: string; values?: unknown[] };
type Query = (sent: Sent, ...rest: unknown[]) => Promise<pg.QueryResult<{ id?: unknown }>>;

/** Sends one request of each kind, and returns its statements. */
export async function recordWorks(stage: ApiStage, works: readonly Work[]): Promise<RecordedWork[]> {
  const statements: RecordedStatement[] = [];
  const database = openDatabase({
    url: stage.url,
    applicationName: "overdue-bench",
    onError: () => {},
    connectionsMax: 3,
  });
  listenIn(database, statements);
  const siteUrl = new URL("http://localhost:8000");
  const log = createLog({ level: "warn" });
  const handler = await apiHandler({
    overdue: null,
    context: {
      database,
      urls: publicUrls({ siteUrl: siteUrl.href, pingUrl: null, apiUrl: null }),
      checkLimitDefault: null,
      pingLogLimit: 100,
      visibility: () => ({ watermarkAt: null, blind: [] }),
      secrets: { current: stage.secretKey, previous: null },
      objects: null,
      awaitLog: null,
      log,
    },
    siteUrl,
    apiUrl: null,
    dialect: "standard",
    requestsPerMinute: 0,
    trustedProxies: [],
    keyUsed: () => {},
    monotonic: () => performance.now(),
  });
  const listener = httpListener({
    name: "bench",
    listen: { host: "127.0.0.1", port: 0 },
    handlers: [handler],
    connectionsMax: 100,
    requestTimeoutMs: 60_000,
    log,
  });
  await listener.start();
  try {
    const recorded: RecordedWork[] = [];
    for (const work of works) {
      statements.length = 0;
      const answer = await ask(`http://127.0.0.1:${listener.address()?.port}`, { work, stage });
      recorded.push({ statements: [...statements], ...answer });
    }
    return recorded;
  } finally {
    await listener.stop();
    await handler.close();
    await database.close();
  }
}

async function ask(
  origin: string,
  { work, stage }: { work: Work; stage: ApiStage },
): Promise<{ status: number; bytes: number }> {
  const { method, path, namedBy = "uuid", body, project } = work;
  const response = await fetch(origin + path.replace("UUID", stage.sample[namedBy]), {
    method,
    headers: { "X-Api-Key": stage.keys[project] },
    ...(body === "" ? {} : { body: body.replace("COUNTER", COUNTER_TEXT) }),
  });
  const bytes = (await response.arrayBuffer()).byteLength;
  if (!response.ok) throw new Error(`${work.name} was answered ${response.status}`);
  return { status: response.status, bytes };
}

/** Records every statement of each connection of the pool; the session setup is done by then. */
function listenIn({ pool }: Database, statements: RecordedStatement[]): void {
  pool.on("connect", (client) => {
    const original = client.query.bind(client) as unknown as Query;
    const recordCall = async (sent: Sent, ...rest: unknown[]) => {
      // The pool itself uses a callback; it is notified by the event of the statement that it passes on.
      if (typeof rest.at(-1) === "function") return original(sent, ...rest);
      const result = await original(sent, ...rest);
      statements.push(statementOf(sent, result));
      return result;
    };
    Object.assign(client, { query: recordCall });
  });
  const original = pool.query.bind(pool) as unknown as Query;
  const recordStatement = async (sent: Sent) => {
    const result = await original(sent);
    statements.push(statementOf(sent, result));
    return result;
  };
  Object.assign(pool, { query: recordStatement });
}

function statementOf(sent: Sent, { rows, rowCount }: pg.QueryResult<{ id?: unknown }>): RecordedStatement {
  const { name = null, text, values = [] } = typeof sent === "string" ? { text: sent } : sent;
  const id = rows[0]?.id;
  return { name, text, values, rowCount: rowCount ?? 0, returnedId: id === undefined ? null : Number(id) };
}
