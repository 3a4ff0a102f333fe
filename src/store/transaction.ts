// The only place that opens a transaction, and only operations import it. Done means that the server
// answered COMMIT, nothing less.
import type pg from "pg";
import { type Database, type Db, runStatement, statement } from "./db.ts";
import { CommitInDoubtError, sqlStateOf } from "./errors.ts";

/** No confirmed COMMIT within this time: the connection is given up and the outcome is in doubt. */
const COMMIT_TIMEOUT_MS = 1_000;

declare const transactionBrand: unique symbol;

/** A running transaction: what writing functions demand. Only `inTransaction` makes one. */
export type Tx = Db & { readonly [transactionBrand]: true };

export type TransactionOptions = { commitTimeoutMs?: number };

/**
 * Runs `work` in one transaction and commits. If `work` throws, everything is rolled back and its error is
 * thrown on. Throws CommitInDoubtError when COMMIT was sent and its durable end was not confirmed.
 */
export async function inTransaction<T>(
  database: Database,
  work: (tx: Tx) => Promise<T>,
  options: TransactionOptions = {},
): Promise<T> {
  const client = await database.pool.connect();
  let broken = true;
  // An error of a connection in use reaches us through its query; unheard it would end the process.
  const ignore = () => {};
  client.on("error", ignore);
  try {
    await client.query("begin");
    let result: T;
    try {
      result = await work(transactionOn(client));
    } catch (error) {
      broken = !(await rolledBack(client));
      throw error;
    }
    await commit(client, options.commitTimeoutMs ?? COMMIT_TIMEOUT_MS);
    broken = false;
    return result;
  } finally {
    client.off("error", ignore);
    client.release(broken);
  }
}

function transactionOn(client: pg.PoolClient): Tx {
  const db: Db = { query: (what, values) => runStatement(client, what, values) };
  return db as Tx;
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
export async function inSavepoint<T>(tx: Tx, work: () => Promise<T>): Promise<T> {
  await tx.query(SAVEPOINT, []);
  try {
    const result = await work();
    await tx.query(RELEASE, []);
    return result;
  } catch (error) {
    await tx.query(ROLL_BACK_TO, []);
    throw error;
  }
}
