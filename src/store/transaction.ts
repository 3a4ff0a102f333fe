// The only place that opens transactions; only operations import it. A transaction is done when the server
// has answered COMMIT.
import type { Writable } from "node:stream";
import type pg from "pg";
import { type CopyIn, copyIn, copyOut, type CopySink } from "./copy.ts";
import { connectAlone, type Database, type DatabaseOptions, type Db, runStatement, statement } from "./db.ts";
import { CommitInDoubtError, OutOfTimeError, sqlStateOf } from "./errors.ts";

/**
 * If COMMIT is not confirmed within this time, the connection is dropped and the outcome is in doubt. A
 * checkpoint on a slow disk can delay a commit by seconds. Pings, which can go to the spool instead, wait
 * less.
 */
const COMMIT_TIMEOUT_MS = 10_000;

declare const transactionBrand: unique symbol;

/** A running transaction, required by functions that write. Only `inTransaction` creates one. */
export type Tx = Db & {
  readonly [transactionBrand]: true;
  /**
   * Sends the commit without waiting for these statements, whose results nothing depends on. If one of them fails, the
   * server rolls back, and the transaction fails with its error.
   */
  commitWith(writing: Promise<unknown>): void;
};

export type TransactionOptions = {
  commitTimeoutMs?: number;
  /** On `performance.now()`. After it, the connection is destroyed. */
  giveUpAtMs?: number;
};

/**
 * Runs `work` in one transaction and commits. If `work` throws, the transaction is rolled back and the error
 * is rethrown. Throws CommitInDoubtError if COMMIT was sent but not confirmed, and OutOfTimeError if the time
 * was over before that: then nothing was done.
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
  // Errors of a connection in use are reported by its query; without a listener they would end the process.
  const ignore = () => {};
  client.on("error", ignore);
  try {
    await limit.hold(client.query("begin"));
    let result: T;
    const writing: Promise<unknown>[] = [];
    const query: Db["query"] = (what, values) => {
      sendTogether(client);
      return runStatement(client, what, values);
    };
    const commitWith = (one: Promise<unknown>) => {
      // Nobody waits for it if the time is over by now.
      one.catch(() => {});
      writing.push(one);
    };
    const part = partOf({ slots: database.slots, query, commitWith });
    try {
      result = await limit.hold(work(part.tx));
    } catch (error) {
      part.end();
      // No rollback on a connection that did not answer in time.
      broken = error instanceof OutOfTimeError || !(await limit.hold(rolledBack(client)).catch(() => false));
      throw error;
    }
    part.end();
    const written = Promise.all(writing).then(
      () => null,
      (error: unknown) => ({ error }),
    );
    try {
      await commit(client, Math.min(commitMs, limit.leftMs()));
    } catch (error) {
      const failed = error instanceof CommitInDoubtError ? null : await written;
      broken = failed === null;
      throw failed === null ? error : failed.error;
    }
    broken = false;
    return result;
  } finally {
    client.off("error", ignore);
    client.release(broken);
  }
}

/** Statements that are sent in the same turn go to the server in one write, and wake it once. */
function sendTogether(client: pg.ClientBase): void {
  const { stream } = (client as pg.ClientBase & { connection: { stream: Writable } }).connection;
  stream.cork();
  process.nextTick(() => stream.uncork());
}

/** A time limit for promises. */
type TimeLimit = {
  /** Rejects with OutOfTimeError when the time is over; the promise itself is not cancelled. */
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
  // Avoids an unhandled rejection if nothing is waiting.
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
    // A connection that arrives too late goes back to the pool.
    connecting.then(
      (client) => client.release(),
      () => {},
    );
    throw error;
  }
}

/**
 * A transaction handle that is valid until `end`. If one of several pipelined statements fails, others may
 * still send their next one, which would take effect outside the transaction after the rollback.
 */
function partOf(on: Omit<Tx, typeof transactionBrand>): { tx: Tx; end(): void } {
  let isOver = false;
  const query: Db["query"] = async (what, values) => {
    if (isOver) throw new Error(`${what.name} was sent after the end of its transaction`);
    return on.query(what, values);
  };
  return {
    tx: { slots: on.slots, query, commitWith: (writing) => on.commitWith(writing) } as Tx,
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
    // The connection is lost, and with it the transaction; report the first error.
    return false;
  }
}

async function commit(client: pg.ClientBase, timeoutMs: number): Promise<void> {
  const warnings: string[] = [];
  const listen = (notice: { severity?: string | undefined; message?: string | undefined }) => {
    // A cancelled wait for a synchronous standby commits with only a warning.
    if (notice.severity === "WARNING") warnings.push(notice.message ?? "");
  };
  client.on("notice", listen);
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer to COMMIT within ${timeoutMs} ms`)), timeoutMs);
  });
  let tag: string;
  try {
    sendTogether(client);
    tag = (await Promise.race([client.query("commit"), timeout])).command;
  } catch (cause) {
    // A constraint violation or serialization conflict at commit is a definite failure; after any other error
    // the outcome is unknown.
    if (/^(23|40)/.test(sqlStateOf(cause) ?? "")) throw cause;
    throw new CommitInDoubtError("The commit was not confirmed.", { cause });
  } finally {
    clearTimeout(timer);
    client.off("notice", listen);
  }
  // PostgreSQL answers ROLLBACK, without an error, to the COMMIT of a failed transaction.
  if (tag !== "COMMIT")
    throw new Error(`The transaction was rolled back: a statement in it had failed (${tag}).`);
  if (warnings.length > 0) throw new CommitInDoubtError(`Committed with a warning: ${warnings.join("; ")}`);
}

const SAVEPOINT = statement({ name: "transaction.savepoint", text: "savepoint part" });
const RELEASE = statement({ name: "transaction.release", text: "release savepoint part" });
const ROLL_BACK_TO = statement({ name: "transaction.roll_back_to", text: "rollback to savepoint part" });

/**
 * Runs part of a transaction in a savepoint, so that its failure does not abort the rest. Its error is
 * rethrown.
 */
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

/** A flush of gigabytes can delay the commit by minutes. */
const BULK_COMMIT_TIMEOUT_MS = 10 * 60_000;
/** The server ends a bulk transaction whose process hangs, because it holds locks on all tables. */
const BULK_IDLE_TIMEOUT_MS = 10 * 60_000;

/** A transaction that moves whole tables. */
export type BulkTx = Tx & {
  /** Runs SQL text without parameters, possibly several statements. */
  run(text: string): Promise<void>;
  copyOut(text: string, sink: CopySink): Promise<void>;
  copyIn(text: string): Promise<CopyIn>;
};

/** `snapshot`: reads all tables as they were at one moment, and changes nothing. `load`: writes. */
export type BulkKind = "snapshot" | "load";

const BEGIN: Readonly<Record<BulkKind, string>> = {
  snapshot: "begin isolation level repeatable read read only",
  load: "begin isolation level read committed",
};

/** The same on a connection of its own, without limits on the duration of statements. */
export async function inBulkTransaction<T>(
  options: DatabaseOptions,
  { kind }: { kind: BulkKind },
  work: (tx: BulkTx) => Promise<T>,
): Promise<T> {
  const client = await connectAlone({ ...options, statementTimeoutMs: 0 });
  try {
    await client.query(`set idle_in_transaction_session_timeout = ${BULK_IDLE_TIMEOUT_MS}`);
    await client.query(BEGIN[kind]);
    const { tx } = partOf({
      slots: options.slots,
      query: (what, values) => runStatement(client, what, values),
      // One statement at a time.
      commitWith: () => {},
    });
    const bulk: BulkTx = Object.assign(tx, {
      run: async (text: string) => void (await client.query(text)),
      copyOut: (text: string, sink: CopySink) => copyOut(client, { text, sink }),
      copyIn: (text: string) => copyIn(client, { text }),
    });
    const result = await work(bulk);
    await commit(client, BULK_COMMIT_TIMEOUT_MS);
    return result;
  } finally {
    // Without a commit, ending the session rolls back.
    await client.end();
  }
}
