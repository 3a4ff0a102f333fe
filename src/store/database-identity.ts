// Which database the data was last in service in, which one it is in, and the random values that show who answers at
// the public URL. What follows from them is decided in core/machine/database-identity.ts.
import type { Instant } from "../core/instant.ts";
import type { DatabaseIdentity, ServiceState } from "../core/machine/database-identity.ts";
import { type Db, statement } from "./db.ts";
import type { Tx } from "./transaction.ts";
import { toTimestamp } from "./values.ts";

export type StoredIdentity = DatabaseIdentity & {
  siteUrl: string | null;
  state: ServiceState;
  stateSinceAt: Instant;
  gapFromAt: Instant | null;
  reason: string | null;
  noticeId: number | null;
};

type IdentityRow = {
  system_identifier: string | null;
  database_oid: number;
  site_url: string | null;
  state: ServiceState;
  state_since_at: Instant;
  gap_from_at: Instant | null;
  reason: string | null;
  notice_id: number | null;
};

const COLUMNS =
  "system_identifier, database_oid, site_url, state, state_since_at, gap_from_at, reason, notice_id";

const FIND = statement<IdentityRow>({
  name: "database_identity.find",
  text: `select ${COLUMNS} from database_identity`,
});

const LOCK = statement<IdentityRow>({
  name: "database_identity.lock",
  text: `select ${COLUMNS} from database_identity for update`,
});

/** What was stored; null before the first start of a server. */
export async function findStoredIdentity(db: Db): Promise<StoredIdentity | null> {
  return toStored((await db.query(FIND, [])).rows[0]);
}

/** The same, locked until the end of the transaction. */
export async function lockStoredIdentity(tx: Tx): Promise<StoredIdentity | null> {
  return toStored((await tx.query(LOCK, [])).rows[0]);
}

function toStored(row: IdentityRow | undefined): StoredIdentity | null {
  if (row === undefined) return null;
  return {
    systemIdentifier: row.system_identifier,
    databaseOid: row.database_oid,
    siteUrl: row.site_url,
    state: row.state,
    stateSinceAt: row.state_since_at,
    gapFromAt: row.gap_from_at,
    reason: row.reason,
    noticeId: row.notice_id,
  };
}

const MAY_READ_CONTROL = statement<{ may: boolean }>({
  name: "database_identity.may_read_control",
  text: "select has_function_privilege('pg_catalog.pg_control_system()', 'execute') as may",
});

const READ = statement<{ oid: number; system_identifier: string }>({
  name: "database_identity.read",
  text: `select d.oid::bigint as oid, c.system_identifier::text as system_identifier
    from pg_database d, pg_control_system() c where d.datname = current_database()`,
});

const READ_OID = statement<{ oid: number }>({
  name: "database_identity.read_oid",
  text: "select oid::bigint as oid from pg_database where datname = current_database()",
});

/** The database that this connection is to. Without the right to read the cluster's identifier, that is null. */
export async function readActualIdentity(db: Db): Promise<DatabaseIdentity> {
  // Asked first: a statement with a function that may not be called fails as a whole.
  const mayReadControl = (await db.query(MAY_READ_CONTROL, [])).rows[0]?.may ?? false;
  const [row] = (
    await db.query<{ oid: number; system_identifier?: string }>(mayReadControl ? READ : READ_OID, [])
  ).rows;
  if (row === undefined) throw new Error("the current database is not in pg_database");
  return { systemIdentifier: row.system_identifier ?? null, databaseOid: row.oid };
}

const INSERT = statement({
  name: "database_identity.insert",
  text: `insert into database_identity (system_identifier, database_oid, site_url, state, state_since_at)
    values ($1, $2, $3, 'normal', $4) on conflict do nothing`,
});

/** Stores where the data is, unless another process has. */
export async function insertIdentity(
  tx: Tx,
  { identity, siteUrl, now }: { identity: DatabaseIdentity; siteUrl: string | null; now: Instant },
): Promise<void> {
  const { systemIdentifier, databaseOid } = identity;
  await tx.query(INSERT, [systemIdentifier, databaseOid, siteUrl, toTimestamp(now)]);
}

const WRITE = statement({
  name: "database_identity.write",
  text: `update database_identity set system_identifier = $1, database_oid = $2, site_url = $3, state = $4,
    state_since_at = $5, gap_from_at = $6, reason = $7, notice_id = $8`,
});

/** Replaces what is stored. The caller has locked it. */
export async function writeIdentity(tx: Tx, identity: StoredIdentity): Promise<void> {
  await tx.query(WRITE, [
    identity.systemIdentifier,
    identity.databaseOid,
    identity.siteUrl,
    identity.state,
    toTimestamp(identity.stateSinceAt),
    toTimestamp(identity.gapFromAt),
    identity.reason,
    identity.noticeId,
  ]);
}

const INSERT_CHALLENGE = statement({
  name: "identity_challenges.insert",
  text: "insert into identity_challenges (id, answer, created_at) values ($1, $2, $3)",
});
const PRUNE_CHALLENGES = statement({
  name: "identity_challenges.prune",
  text: "delete from identity_challenges where created_at < $1 or created_at > $2",
});

/** Stores a random value. Those from before `keptFrom` are deleted, so that the table stays small. */
export async function insertChallenge(
  tx: Tx,
  challenge: { id: string; answer: string; now: Instant; keptFrom: Instant },
): Promise<void> {
  await tx.query(PRUNE_CHALLENGES, [toTimestamp(challenge.keptFrom), toTimestamp(challenge.now)]);
  await tx.query(INSERT_CHALLENGE, [challenge.id, challenge.answer, toTimestamp(challenge.now)]);
}

const FIND_CHALLENGE = statement<{ answer: string }>({
  name: "identity_challenges.find",
  text: "select answer from identity_challenges where id = $1",
});

/** The value that was stored under an id; null: none was, in this database. */
export async function findChallengeAnswer(db: Db, id: string): Promise<string | null> {
  return (await db.query(FIND_CHALLENGE, [id])).rows[0]?.answer ?? null;
}
