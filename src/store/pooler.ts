// Finds out whether a connection pooler stands between us and PostgreSQL, and whether it swaps the server
// under an open connection. It only asks; why we refuse is written in docs/decisions/0007-pgbouncer.md.
import type pg from "pg";
import { connectBare, type DatabaseOptions } from "./db.ts";
import { UnusableDatabaseError } from "./errors.ts";

/** A pool with one server connection makes the second question wait for the first; that is an answer, too. */
const PROBE_TIMEOUT_MS = 2_000;

const ADVICE =
  "OVERDUE_DATABASE_URL points to a connection pooler in transaction mode (PgBouncer or similar). " +
  "Overdue uses prepared statements, timeouts, and advisory locks, which this mode " +
  "does not support. Connect to PostgreSQL directly, or to a pool with pool_mode = session.";

/** Throws UnusableDatabaseError when connections do not keep their server. Costs one connection if they do. */
export async function refuseTransactionPooling(options: DatabaseOptions): Promise<void> {
  const first = await connect(options);
  try {
    // PostgreSQL tells its process id when a connection starts; a pooler tells a number of its own.
    const ours = (first as unknown as { processID: number | null }).processID;
    if ((await backendPid(first)) === ours) return;
    if (!(await keepsItsServer(first, options))) throw new UnusableDatabaseError(ADVICE);
  } finally {
    await first.end();
  }
}

function connect(options: DatabaseOptions): Promise<pg.Client> {
  return connectBare(options, { connectionTimeoutMillis: PROBE_TIMEOUT_MS, query_timeout: PROBE_TIMEOUT_MS });
}

async function backendPid(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
  return rows[0]?.pid ?? 0;
}

/** A second connection takes a server and holds it in a transaction; in transaction mode it is the first one's. */
async function keepsItsServer(first: pg.Client, options: DatabaseOptions): Promise<boolean> {
  const second = await connect(options);
  try {
    const before = await backendPid(first);
    // A pooler that takes its servers in turn shows itself here, one that reuses the last one below.
    if ((await backendPid(first)) !== before) return false;
    await second.query("begin");
    const held = await backendPid(second);
    return held !== before && (await backendPid(first)) === before;
  } catch {
    return false;
  } finally {
    await second.end();
  }
}
