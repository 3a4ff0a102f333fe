// Sessions of signed-in browsers. Only digests of their tokens are stored; whether a session is valid is
// decided in core.
import type { Instant } from "../core/instant.ts";
import type { SignInMethod } from "../core/sign-in.ts";
import {
  type Account,
  ACCOUNT_COLUMNS,
  type AccountRow,
  type Density,
  type Theme,
  toAccount,
} from "./accounts.ts";
import { type Db, statement } from "./db.ts";
import type { Tx } from "./transaction.ts";
import { toNumberArray, toTimestamp } from "./values.ts";

export type Session = {
  id: number;
  method: SignInMethod;
  createdAt: Instant;
  seenAt: Instant;
  authenticatedAt: Instant;
  ua: string;
  remoteAddr: string | null;
};

/** An account with its display preferences; time zone null: that of the browser. */
export type Person = Account & { theme: Theme; density: Density; zone: string | null };

type SessionRow = {
  session_id: number;
  method: SignInMethod;
  session_created_at: Instant;
  seen_at: Instant;
  proven_at: Instant;
  ua: string;
  remote_addr: string | null;
};

const COLUMNS = `s.id as session_id, s.method, s.created_at as session_created_at, s.seen_at, s.proven_at, s.ua,
  s.remote_addr`;

function toSession(row: SessionRow): Session {
  return {
    id: row.session_id,
    method: row.method,
    createdAt: row.session_created_at,
    seenAt: row.seen_at,
    authenticatedAt: row.proven_at,
    ua: row.ua,
    remoteAddr: row.remote_addr,
  };
}

const INSERT = statement<{ id: number }>({
  name: "sessions.insert",
  text: `insert into sessions (digest, account_id, method, created_at, seen_at, proven_at, ua, remote_addr)
    values ($1, $2, $3, $4, $4, $5, $6, $7) returning id`,
});

export type NewSession = {
  digest: Buffer;
  accountId: number;
  method: SignInMethod;
  createdAt: Instant;
  authenticatedAt: Instant;
  ua: string;
  remoteAddr: string | null;
};

/** Inserts a session, and returns its ID. */
export async function insertSession(tx: Tx, session: NewSession): Promise<number> {
  const { digest, accountId, method, createdAt, authenticatedAt, ua, remoteAddr } = session;
  const { rows } = await tx.query(INSERT, [
    digest,
    accountId,
    method,
    toTimestamp(createdAt),
    toTimestamp(authenticatedAt),
    ua,
    remoteAddr,
  ]);
  return rows[0]?.id ?? Number.NaN;
}

const TRIM = statement({
  name: "sessions.trim",
  text: `delete from sessions where account_id = $1 and id not in (
      select id from sessions where account_id = $1 order by seen_at desc, id desc limit $2
    )`,
});

/** Deletes all but the most recently used sessions of an account. */
export async function trimSessions(
  tx: Tx,
  { accountId, keep }: { accountId: number; keep: number },
): Promise<number> {
  return (await tx.query(TRIM, [accountId, keep])).count;
}

type FoundRow = SessionRow & AccountRow & { theme: Theme; density: Density; tz: string | null };

const FIND = statement<FoundRow>({
  name: "sessions.find",
  text: `select ${COLUMNS}, ${ACCOUNT_COLUMNS}, a.theme, a.density, p.tz
    from sessions s join accounts a on a.id = s.account_id left join preferences p on p.account_id = a.id
    where s.digest = $1`,
});

/** The session with this digest, and its account. */
export async function findSessionByDigest(
  db: Db,
  digest: Buffer,
): Promise<{ session: Session; person: Person } | null> {
  const { rows } = await db.query(FIND, [digest]);
  const [row] = rows;
  if (row === undefined) return null;
  const person = { ...toAccount(row), theme: row.theme, density: row.density, zone: row.tz };
  return { session: toSession(row), person };
}

const LIST = statement<SessionRow>({
  name: "sessions.list",
  text: `select ${COLUMNS} from sessions s where s.account_id = $1 order by s.seen_at desc, s.id desc`,
});

/** The sessions of an account, most recently used first. */
export async function listSessionsOfAccount(db: Db, accountId: number): Promise<Session[]> {
  return (await db.query(LIST, [accountId])).rows.map(toSession);
}

/** A live connection: a session and its project. */
export type LiveViewer = { sessionId: number; projectId: number };

const LIST_LIVE_VIEWERS = statement<{ session_id: number; project_id: number }>({
  name: "sessions.list_watching",
  text: `select distinct s.id as session_id, m.project_id
    from unnest($1::bigint[], $2::bigint[]) as w (session_id, project_id)
      join sessions s on s.id = w.session_id
      join members m on m.project_id = w.project_id and m.account_id = s.account_id`,
});

/** Those connections whose users are still signed in and members. */
export async function listLiveViewers(db: Db, watching: readonly LiveViewer[]): Promise<LiveViewer[]> {
  const { rows } = await db.query(LIST_LIVE_VIEWERS, [
    toNumberArray(watching.map(({ sessionId }) => sessionId)),
    toNumberArray(watching.map(({ projectId }) => projectId)),
  ]);
  return rows.map((row) => ({ sessionId: row.session_id, projectId: row.project_id }));
}

const TOUCH = statement({
  name: "sessions.touch",
  text: `update sessions set seen_at = $2, remote_addr = coalesce($3, remote_addr)
    where id in (select id from sessions where id = $1 and seen_at < $2 for update skip locked)`,
});

/**
 * Records the use of a session, and its address if known. Skips the update if another request is writing it.
 */
export async function touchSession(
  tx: Tx,
  { sessionId, at, remoteAddr }: { sessionId: number; at: Instant; remoteAddr: string | null },
): Promise<void> {
  await tx.query(TOUCH, [sessionId, toTimestamp(at), remoteAddr]);
}

const MARK_REAUTHENTICATED = statement({
  name: "sessions.prove",
  text: "update sessions set proven_at = $2 where id = $1",
});

/** Records a re-authentication of a session. */
export async function markSessionReauthenticated(
  tx: Tx,
  { sessionId, at }: { sessionId: number; at: Instant },
): Promise<void> {
  await tx.query(MARK_REAUTHENTICATED, [sessionId, toTimestamp(at)]);
}

const DELETE = statement({
  name: "sessions.delete",
  text: "delete from sessions where account_id = $1 and id = $2",
});

/** Ends a session of an account. False: it has no such session. */
export async function deleteSession(
  tx: Tx,
  { accountId, sessionId }: { accountId: number; sessionId: number },
): Promise<boolean> {
  return (await tx.query(DELETE, [accountId, sessionId])).count === 1;
}

const DELETE_BY_DIGEST = statement({
  name: "sessions.delete_by_digest",
  text: "delete from sessions where digest = $1",
});

/** Ends the session with this digest. False: there is none. */
export async function deleteSessionByDigest(tx: Tx, digest: Buffer): Promise<boolean> {
  return (await tx.query(DELETE_BY_DIGEST, [digest])).count === 1;
}

const DELETE_OTHERS = statement({
  name: "sessions.delete_others",
  text: "delete from sessions where account_id = $1 and id is distinct from $2",
});

/** Ends all sessions of an account but one, or (null) all of them; returns how many. */
export async function deleteOtherSessions(
  tx: Tx,
  { accountId, keepId }: { accountId: number; keepId: number | null },
): Promise<number> {
  return (await tx.query(DELETE_OTHERS, [accountId, keepId])).count;
}

const PRUNE = statement({
  name: "sessions.prune",
  text: "delete from sessions where id in (select id from sessions where seen_at < $1 order by seen_at limit $2)",
});

/** Deletes at most `limit` sessions unused since an instant; returns how many. */
export async function pruneSessions(
  tx: Tx,
  { before, limit }: { before: Instant; limit: number },
): Promise<number> {
  return (await tx.query(PRUNE, [toTimestamp(before), limit])).count;
}
