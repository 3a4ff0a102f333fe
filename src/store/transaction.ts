// The only place that opens a transaction, and only operations import it. Done means that the server
// answered COMMIT, nothing less.
import type pg from "pg";
import { type Database, type Db, runStatement, statement } from "./db.ts";
import { CommitInDoubtError, OutOfTimeError, sqlStateOf } from "./errors.ts";

/**
 * No confirmed COMMIT within this time: the connection is given up and the outcome is in doubt. A checkpoint on a slow
 * disk delays a commit by seconds. Pings, which can go to the spool instead, wait less.
 */
const COMMIT_TIMEOUT_MS = 10_000;

declare const transactionBrand: unique symbol;

/** A running transaction: what writing functions demand. Only `inTransaction` makes one. */
export type Tx = Db & { readonly [transactionBrand]: true };

export type TransactionOptions = {
  commitTimeoutMs?: number;
  /** On `performance.now()`. Past it the connection is destroyed, whatever it waits for. */
  giveUpAtMs?: number;
};

/**
 * Runs `work` in one transaction and commits. If `work` throws, everything is rolled back and its error is
 * thrown on. Throws CommitInDoubtError when COMMIT was sent and its durable end was not confirmed, and
 * OutOfTimeError when the time was over before: then nothing was done.
 */
export async function inTransaction<T>(
  database: Database,
  work: (tx: Tx) => Promise<T>,
  options: TransactionOptions = {},
): Promise<T> {
  const limit = timeLimit(options.giveUpAtMs);
  try {
    return await transact(database, work, { limit, commitMs: options.commitTimeoutMs ?? COMMIT_TIMEOUT_MS });
  } finally {
    limit.lift();
  }
}

async function transact<T>(
  database: Database,
  work: (tx: Tx) => Promise<T>,
  { limit, commitMs }: { limit: TimeLimit; commitMs: number },
): Promise<T> {
  const client = await connect(database, limit);
  let broken = true;
  // An error of a connection in use reaches us through its query; unheard it would end the process.
  const ignore = () => {};
  client.on("error", ignore);
  try {
    await limit.hold(client.query("begin"));
    let result: T;
    const part = partOf({ query: (what, values) => runStatement(client, what, values) });
    try {
      result = await limit.hold(work(part.tx));
    } catch (error) {
      part.end();
      // A connection that did not answer in time is not asked for one thing more.
      broken = error instanceof OutOfTimeError || !(await limit.hold(rolledBack(client)).catch(() => false));
      throw error;
    }
    part.end();
    await commit(client, Math.min(commitMs, limit.leftMs()));
    broken = false;
    return result;
  } finally {
    client.off("error", ignore);
    client.release(broken);
  }
}

/** An end to everything that is held by it. */
type TimeLimit = {
  /** Rejects with OutOfTimeError when the time is over; what was waited for is left to its fate. */
  hold<T>(work: Promise<T>): Promise<T>;
  leftMs(): number;
  lift(): void;
};

function timeLimit(giveUpAtMs: number | undefined): TimeLimit {
  if (giveUpAtMs === undefined) {
    return { hold: (work) => work, leftMs: () => Number.POSITIVE_INFINITY, lift: () => {} };
  }
  const leftMs = () => Math.max(0, giveUpAtMs - performance.now());
  const { promise: over, reject } = Promise.withResolvers<never>();
  // Nobody may be waiting at that moment.
  over.catch(() => {});
  const timer = setTimeout(
    () => reject(new OutOfTimeError("The database did not respond in time.")),
    leftMs(),
  );
  return { hold: (work) => Promise.race([work, over]), leftMs, lift: () => clearTimeout(timer) };
}

async function connect({ pool }: Database, limit: TimeLimit): Promise<pg.PoolClient> {
  const connecting = pool.connect();
  try {
    return await limit.hold(connecting);
  } catch (error) {
    // One that comes too late is for the next transaction.
    connecting.then(
      (client) => client.release(),
      () => {},
    );
    throw error;
  }
}

/**
 * A transaction for as long as its work goes on. Where statements are sent at once and one of them fails, others may
 * have a next one to send: behind the rollback it would take effect by itself.
 */
function partOf(on: Db): { tx: Tx; end(): void } {
  let isOver = false;
  const query: Db["query"] = async (what, values) => {
    if (isOver) throw new Error(`${what.name} was sent after the end of its transaction`);
    return on.query(what, values);
  };
  return {
    tx: { query } as Tx,
    end: () => {
      isOver = true;
    },
  };
}

async function rolledBack(client: pg.PoolClient): Promise<boolean> {
  try {
    await client.query("rollback");
    return true;
  } catch {
    // The connection is gone, and with it the transaction; the first error is the one to tell.
    return false;
  }
}

async function commit(client: pg.PoolClient, timeoutMs: number): Promise<void> {
  const warnings: string[] = [];
  const listen = (notice: { severity?: string | undefined; message?: string | undefined }) => {
    // A wait for a synchronous standby that was cut short commits with nothing but a warning.
    if (notice.severity === "WARNING") warnings.push(notice.message ?? "");
  };
  client.on("notice", listen);
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer to COMMIT within ${timeoutMs} ms`)), timeoutMs);
  });
  let tag: string;
  try {
    tag = (await Promise.race([client.query("commit"), timeout])).command;
  } catch (cause) {
    // A constraint or a conflict that shows at the end is a clear no; anything else leaves us without an answer.
    if (/^(23|40)/.test(sqlStateOf(cause) ?? "")) throw cause;
    throw new CommitInDoubtError("The commit was not confirmed.", { cause });
  } finally {
    clearTimeout(timer);
    client.off("notice", listen);
  }
  // A transaction in which a statement failed answers ROLLBACK to COMMIT, and that is no error to PostgreSQL.
  if (tag !== "COMMIT")
    throw new Error(`The transaction was rolled back: a statement in it had failed (${tag}).`);
  if (warnings.length > 0) throw new CommitInDoubtError(`Committed with a warning: ${warnings.join("; ")}`);
}

const SAVEPOINT = statement({ name: "transaction.savepoint", text: "savepoint part" });
const RELEASE = statement({ name: "transaction.release", text: "release savepoint part" });
const ROLL_BACK_TO = statement({ name: "transaction.roll_back_to", text: "rollback to savepoint part" });

/** Runs a part of a transaction that may fail without taking the rest with it. Its error is thrown on. */
export async function inSavepoint<T>(tx: Tx, work: (part: Tx) => Promise<T>): Promise<T> {
  await tx.query(SAVEPOINT, []);
  const part = partOf(tx);
  try {
    const result = await work(part.tx);
    part.end();
    await tx.query(RELEASE, []);
    return result;
  } catch (error) {
    part.end();
    await tx.query(ROLL_BACK_TO, []);
    throw error;
  }
}
