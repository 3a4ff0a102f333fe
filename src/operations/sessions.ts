// Sessions of signed-in browsers, and visits to projects. The token is only in the cookie; the database has
// its digest.
import { AppError } from "../core/errors.ts";
import type { Instant } from "../core/instant.ts";
import { USER_AGENT_LENGTH_MAX } from "../core/limits.ts";
import {
  isRecentlyAuthenticated,
  isSeenUpdateDue,
  isSessionValid,
  SESSIONS_PER_ACCOUNT_MAX,
  SIGN_INS_PER_ACCOUNT_MAX,
  type SignInMethod,
} from "../core/sign-in.ts";
import { digestOfToken, newToken } from "../lib/secrets.ts";
import { writeKnownFrom, writeSignedIn } from "../store/accounts.ts";
import type { Database } from "../store/db.ts";
import { findVisit, type Visitor, writeVisit } from "../store/projects.ts";
import {
  deleteOtherSessions,
  deleteSession,
  findSessionByDigest,
  insertSession,
  listSessionsOfAccount,
  type Person,
  type Session,
  touchSession,
  trimSessions,
} from "../store/sessions.ts";
import { deleteStepsOf, insertSignIn, type SignIn, trimSignIns } from "../store/sign-in.ts";
import { inTransaction, type Tx } from "../store/transaction.ts";

export type SessionRequest = {
  accountId: number;
  method: SignInMethod;
  /** When the user authenticated; default: now. */
  authenticatedAt?: Instant;
  now: Instant;
  ua: string;
  remoteAddr: string | null;
};

/** Creates a session and returns its token for the cookie. */
export async function openSession(tx: Tx, request: SessionRequest): Promise<{ token: string; id: number }> {
  const { accountId, method, now, authenticatedAt = now, ua, remoteAddr } = request;
  const token = newToken();
  await trimSessions(tx, { accountId, keep: SESSIONS_PER_ACCOUNT_MAX - 1 });
  const browser = { method, ua: ua.slice(0, USER_AGENT_LENGTH_MAX), remoteAddr };
  const digest = digestOfToken(token);
  const id = await insertSession(tx, { digest, accountId, ...browser, createdAt: now, authenticatedAt });
  await noteSignIn(tx, { accountId, ...browser, at: now });
  return { token, id };
}

/** Records a sign-in of an account, which keeps only the newest. */
export async function noteSignIn(
  tx: Tx,
  signIn: Omit<SignIn, "failedCount"> & { accountId: number },
): Promise<void> {
  const { accountId, at } = signIn;
  await trimSignIns(tx, { accountId, keep: SIGN_INS_PER_ACCOUNT_MAX - 1 });
  await insertSignIn(tx, signIn);
  await writeSignedIn(tx, { accountId, at });
}

export type FoundSession = Session & {
  account: Person;
  /** Whether sensitive actions are allowed without re-authentication. */
  isProven: boolean;
};

/** The session of a cookie's token; null if there is none or it has expired. */
export async function findSession(
  database: Database,
  { token, now, remoteAddr = null }: { token: string; now: Instant; remoteAddr?: string | null },
): Promise<FoundSession | null> {
  const found = await findSessionByDigest(database, digestOfToken(token));
  if (found === null || !isSessionValid(found.session, now)) return null;
  const { session, person } = found;
  if (isSeenUpdateDue(session, now)) {
    await inTransaction(database, (tx) => touchSession(tx, { sessionId: session.id, at: now, remoteAddr }));
  }
  return { ...session, account: person, isProven: isRecentlyAuthenticated(session, now) };
}

/** Ends one session of an account. AppError `not_found` when it has no such session. */
export async function endSession(
  database: Database,
  { accountId, sessionId }: { accountId: number; sessionId: number },
): Promise<void> {
  const ended = await inTransaction(database, (tx) => deleteSession(tx, { accountId, sessionId }));
  if (!ended) throw new AppError("not_found", "This session has already ended.");
}

/** Ends all sessions of an account except one, and invalidates its known browsers; returns how many ended. */
export function endOtherSessions(
  database: Database,
  { accountId, keepId, now }: { accountId: number; keepId: number | null; now: Instant },
): Promise<number> {
  return inTransaction(database, async (tx) => {
    await writeKnownFrom(tx, { accountId, at: now });
    await deleteStepsOf(tx, accountId);
    return deleteOtherSessions(tx, { accountId, keepId });
  });
}

/** The valid sessions of an account, last used first. */
export async function listSessions(
  database: Database,
  { accountId, now }: { accountId: number; now: Instant },
): Promise<Session[]> {
  return (await listSessionsOfAccount(database, accountId)).filter((session) => isSessionValid(session, now));
}

/** Visits closer together count as one. */
const SAME_VISIT_MS = 60_000;

/** Records a visit; returns the time of the previous one, null if there was none. */
export async function noteVisit(
  database: Database,
  { at, ...visitor }: Visitor & { at: Instant },
): Promise<Instant | null> {
  const before = await findVisit(database, visitor);
  if (before === null || at - before >= SAME_VISIT_MS) {
    await inTransaction(database, (tx) => writeVisit(tx, { ...visitor, at }));
  }
  return before;
}
