// People whom somebody else vouches for: an identity provider, or a proxy in front of us.
import { provenByProvider } from "../../../core/accounts/session-rules.ts";
import { STEP_MS } from "../../../core/accounts/token-rules.ts";
import { AppError } from "../../../core/errors.ts";
import type { Instant } from "../../../core/instant.ts";
import {
  OIDC_ISSUER_LENGTH_MAX,
  OIDC_SUBJECT_LENGTH_MAX,
  USER_AGENT_LENGTH_MAX,
} from "../../../core/limits.ts";
import { hmacSha256Hex } from "../../../lib/secrets/hashes.ts";
import { digestOfToken } from "../../../lib/secrets/secret-token.ts";
import { insertIdentity, useIdentity } from "../../../store/accounts/identities.ts";
import { findAccountByEmail } from "../../../store/accounts/projects.ts";
import { deleteSessionByDigest, insertSession } from "../../../store/accounts/sessions.ts";
import { insertStep, takeStep } from "../../../store/accounts/steps.ts";
import type { Database } from "../../../store/db.ts";
import { postgresErrorName } from "../../../store/errors.ts";
import { inTransaction } from "../../../store/transaction.ts";
import { againIfMadeMeanwhile, inRetriedTransaction } from "../../changing/retried.ts";
import { normalEmail } from "../../create-account.ts";
import { admit, type Admitted, type Visitor } from "./admit.ts";
import { countAttempts } from "./attempts.ts";
import { type FoundSession, findSession, noteSignIn } from "../sessions.ts";
import { addAccount, addFirstProject, findOrAddAccount } from "../set-up.ts";

/** What has to be remembered until the provider sends somebody back. */
export type ProviderStep = {
  codeVerifier: string;
  nonce: string;
  nextPath: string | null;
  /** Set when a session is to be proven, and nobody signed in. */
  sessionId: number | null;
};

/** Remembers that somebody was sent to the provider, under the state that comes back. AppError `rate_limited`. */
export async function openProviderStep(
  database: Database,
  { state, step, visitor }: { state: string; step: ProviderStep; visitor: Visitor },
): Promise<void> {
  const { now, network } = visitor;
  await countAttempts(database, [{ kind: "beginByNetwork", subject: network }], { now });
  await inTransaction(database, (tx) =>
    insertStep(tx, {
      digest: digestOfToken(state),
      kind: "oidc",
      accountId: null,
      about: step,
      createdAt: now,
      expiresAt: now + STEP_MS,
    }),
  );
}

/** What was remembered under a state; null when it is not ours, was used, or is too old. */
export async function takeProviderStep(
  database: Database,
  { state, now }: { state: string; now: Instant },
): Promise<(ProviderStep & { begunAt: Instant }) | null> {
  const step = await inTransaction(database, (tx) =>
    takeStep(tx, { digest: digestOfToken(state), kind: "oidc" }),
  );
  if (step === null || now >= step.expiresAt) return null;
  // Written above, in this shape.
  return { ...(step.about as ProviderStep), begunAt: step.createdAt };
}

/** Somebody as the provider describes them. */
export type Identified = {
  issuer: string;
  subject: string;
  email: string | null;
  isEmailVerified: boolean;
  name: string;
  /** When they have last proven there who they are; null: the provider does not say. */
  authenticatedAt: Instant | null;
};

export type VouchedRequest = {
  identified: Identified;
  /** Whether somebody whom nobody knows gets an account. */
  createsAccounts: boolean;
  visitor: Visitor;
  nextPath: string | null;
};

/**
 * Lets somebody in for whom the provider vouches: known by who they are there, or the first time by an address that the
 * provider has verified. AppError `forbidden` for everybody else, `invalid` for an identifier that is too long.
 */
export function signInVouched(database: Database, request: VouchedRequest): Promise<Admitted> {
  const { issuer, subject } = request.identified;
  if (issuer.length > OIDC_ISSUER_LENGTH_MAX || subject.length > OIDC_SUBJECT_LENGTH_MAX) {
    throw new AppError("invalid", "The identity provider sent an identifier that is too long.");
  }
  // Two windows of a new person may come back at once: one makes the account, and it is known to the other.
  return againIfMadeMeanwhile(() => letIn(database, request));
}

async function letIn(database: Database, request: VouchedRequest): Promise<Admitted> {
  const { identified, createsAccounts, visitor, nextPath } = request;
  const { issuer, subject } = identified;
  const { now } = visitor;
  const provenAt = provenByProvider(identified.authenticatedAt, now);
  const how = { method: "oidc", provenAt, visitor, nextPath } as const;
  return inRetriedTransaction(database, async (tx) => {
    const knownId = await useIdentity(tx, { issuer, subject, at: now });
    if (knownId !== null) return admit(tx, { ...how, accountId: knownId });
    const email = verifiedEmail(identified);
    const account = await findAccountByEmail(tx, email);
    if (account !== null)
      return admit(tx, { ...how, accountId: account.id, newIdentity: { issuer, subject } });
    if (!createsAccounts) {
      throw new AppError("forbidden", `No account found for ${email}. Ask an admin to invite you.`);
    }
    const { id: accountId } = await addAccount(tx, { email, name: identified.name, now });
    await insertIdentity(tx, { issuer, subject, accountId, at: now });
    await addFirstProject(tx, { accountId, now });
    return admit(tx, { ...how, accountId });
  });
}

/** An address that anybody could have typed there would open somebody else's account here. */
function verifiedEmail({ email, isEmailVerified }: Identified): string {
  if (email !== null && isEmailVerified) return normalEmail(email);
  throw new AppError(
    "forbidden",
    "The identity provider did not confirm that your email address is verified, so it cannot be matched to an account.",
  );
}

/** Whether the provider says that this is whom an account belongs to. */
export async function isIdentityOf(
  database: Database,
  { identified, accountId, now }: { identified: Identified; accountId: number; now: Instant },
): Promise<boolean> {
  const { issuer, subject } = identified;
  return (await inTransaction(database, (tx) => useIdentity(tx, { issuer, subject, at: now }))) === accountId;
}

/**
 * The session of somebody whom the proxy names, made the first time, like the account. There is one for each person,
 * and no cookie: the proxy says with every request who it is. Null for what is no address.
 */
export async function findProxySession(
  database: Database,
  { named, secretKey, visitor }: { named: string; secretKey: string; visitor: Visitor },
): Promise<FoundSession | null> {
  const { now, ua, remoteAddr } = visitor;
  let email: string;
  try {
    email = normalEmail(named);
  } catch {
    return null;
  }
  const token = hmacSha256Hex({ key: secretKey, message: `proxy\n${email}` });
  const found = await findSession(database, { token, now, remoteAddr });
  if (found !== null && found.account.email === email) return found;
  try {
    await inRetriedTransaction(database, async (tx) => {
      const account = await findOrAddAccount(tx, { email, name: "", now });
      await addFirstProject(tx, { accountId: account.id, now });
      const digest = digestOfToken(token);
      await deleteSessionByDigest(tx, digest);
      const accountId = account.id;
      const browser = { method: "proxy", ua: ua.slice(0, USER_AGENT_LENGTH_MAX), remoteAddr } as const;
      await insertSession(tx, { digest, accountId, ...browser, createdAt: now, provenAt: now });
      await noteSignIn(tx, { accountId, ...browser, at: now });
    });
  } catch (error) {
    // Two requests of a new person at once: the other one has made it.
    if (postgresErrorName(error) !== "unique_violation") throw error;
  }
  return findSession(database, { token, now, remoteAddr });
}
