// What the installation itself remembers: its secret, made by the first migration; and whether it is there at all.
import { within } from "../lib/service.ts";
import { type Database, type Db, statement } from "./db.ts";

const FIND_SETTING = statement<{ value: string }>({
  name: "instance.find_setting",
  text: "select value from instance_settings where name = $1",
});

/** A random text that the first migration made: the same in a restored database, another in every other one. */
export async function findStoredSecret(db: Db): Promise<string | null> {
  return (await db.query(FIND_SETTING, ["secret_key"])).rows[0]?.value ?? null;
}

/** The secret that digests and signatures are made with, unless the configuration names another. */
export async function findSecretKey(db: Db): Promise<string> {
  const secret = await findStoredSecret(db);
  if (secret === null)
    throw new Error("The secret key created by migration 0001 is missing from the database.");
  return secret;
}

const ASK = statement<{ at: number }>({ name: "instance.ask", text: "select clock_timestamp() as at" });

/** Asks the database something it can always answer: its own clock. For health and for measuring the offset. */
export async function readDatabaseClock(db: Db): Promise<number> {
  const { rows } = await db.query(ASK, []);
  return rows[0]?.at ?? Number.NaN;
}

const ASK_READ_ONLY = statement<{ is_read_only: boolean }>({
  name: "instance.ask_read_only",
  text: "select current_setting('transaction_read_only') = 'on' as is_read_only",
});

/** Whether the database refuses changes, as a standby does, or a server with default_transaction_read_only. */
export async function isReadOnly(db: Db): Promise<boolean> {
  return (await db.query(ASK_READ_ONLY, [])).rows[0]?.is_read_only ?? false;
}

/**
 * Asks the same and throws unless the answer comes in time, the wait for a free connection included. A connection
 * that owes the answer is given up, so that nobody waits for it again.
 */
export async function askDatabase(database: Database, { limitMs }: { limitMs: number }): Promise<void> {
  const question = { ...ASK, query_timeout: limitMs };
  await within(database.pool.query(question), limitMs);
}
