// The last step of every way in: a session, or first the second factor. Every way in ends here, so that none of them
// forgets it.
import { codeTries } from "../../../core/accounts/device-rules.ts";
import { readTypedCode } from "../../../core/accounts/second-factor-rules.ts";
import type { SignInMethod } from "../../../core/accounts/session-rules.ts";
import { SECOND_FACTOR_MS } from "../../../core/accounts/token-rules.ts";
import { AppError } from "../../../core/errors.ts";
import type { Instant } from "../../../core/instant.ts";
import { digestOfToken, newToken } from "../../../lib/secrets/secret-token.ts";
import { findAuthenticator } from "../../../store/accounts/authenticators.ts";
import type { IdentityName } from "../../../store/accounts/identities.ts";
import { findStep, insertStep, takeStep } from "../../../store/accounts/steps.ts";
import type { Database } from "../../../store/db.ts";
import type { Tx } from "../../../store/transaction.ts";
import { inRetriedTransaction } from "../../changing/retried.ts";
import { countAttempts, countFailure, deviceOf, type Known } from "./attempts.ts";
import { useTypedCode } from "./authenticator.ts";
import { linkIdentity } from "./identities.ts";
import { openSession } from "../sessions.ts";

/** The browser that somebody comes in with. */
export type Visitor = {
  ua: string;
  remoteAddr: string | null;
  /** What tries are counted by. */
  network: string;
  now: Instant;
};

export type Admitted =
  | { kind: "signedIn"; token: string; sessionId: number; accountId: number; nextPath: string | null }
  /** Something else has to be proven first; the token belongs into a cookie for a few minutes. */
  | { kind: "secondFactor"; token: string };

/** Ways in that prove one thing only. The others are vouched for by a device, a provider, or whoever owns the server. */
const NEEDS_SECOND: readonly SignInMethod[] = ["password", "link"];

export type Admission = {
  accountId: number;
  method: SignInMethod;
  /** When they have proven it; not given: now. */
  provenAt?: Instant;
  visitor: Visitor;
  nextPath: string | null;
  /**
   * Somebody of the provider who comes for the first time, and is this account from then on. So far only an address
   * speaks for them, as in a mailed link: it must not be a way around the app.
   */
  newIdentity?: IdentityName;
};

/** Lets somebody in who has proven to be the owner of an account by one way. */
export async function admit(tx: Tx, admission: Admission): Promise<Admitted> {
  const { accountId, method, visitor, nextPath } = admission;
  const { now, ua, remoteAddr } = visitor;
  const { provenAt = now, newIdentity = null } = admission;
  const needsSecond = NEEDS_SECOND.includes(method) || newIdentity !== null;
  const app = needsSecond ? await findAuthenticator(tx, accountId) : null;
  if (app !== null && app.confirmedAt !== null) {
    const token = newToken();
    await insertStep(tx, {
      digest: digestOfToken(token),
      kind: "secondFactor",
      accountId,
      about: { method, nextPath, newIdentity },
      createdAt: now,
      expiresAt: now + SECOND_FACTOR_MS,
    });
    return { kind: "secondFactor", token };
  }
  if (newIdentity !== null) await linkIdentity(tx, { identity: newIdentity, accountId, now });
  const session = await openSession(tx, { accountId, method, provenAt, now, ua, remoteAddr });
  return { kind: "signedIn", token: session.token, sessionId: session.id, accountId, nextPath };
}

type Waiting = {
  accountId: number;
  method: SignInMethod;
  nextPath: string | null;
  newIdentity: IdentityName | null;
};

type About = Pick<Waiting, "method" | "nextPath"> & Partial<Pick<Waiting, "newIdentity">>;

/** Who waits at the second step; null: nobody, or the time is over. */
export async function findWaiting(
  database: Database,
  { token, now }: { token: string; now: Instant },
): Promise<Waiting | null> {
  const step = await findStep(database, { digest: digestOfToken(token), kind: "secondFactor" });
  if (step === null || step.accountId === null || now >= step.expiresAt) return null;
  // Written above, in this shape, or by the release before, which knew no identities there.
  const { method, nextPath, newIdentity = null } = step.about as About;
  return { accountId: step.accountId, method, nextPath, newIdentity };
}

export type SecondFactorRequest = Known & {
  token: string;
  code: string;
  visitor: Visitor;
  secretKey: string;
};

/** Takes the code of an app, or a recovery code. AppError `invalid` for a wrong one, `unauthenticated` when it is late. */
export async function passSecondFactor(database: Database, request: SecondFactorRequest): Promise<Admitted> {
  const { token, code, visitor, secretKey } = request;
  const { now, ua, remoteAddr } = visitor;
  const waiting = await findWaiting(database, { token, now });
  if (waiting === null) throw new AppError("unauthenticated", "Your sign-in attempt expired. Sign in again.");
  const { accountId, method, nextPath, newIdentity } = waiting;
  const deviceId = await deviceOf(database, request, { accountId, now });
  await countAttempts(database, codeTries({ accountId, deviceId }), { now });
  const typed = readTypedCode(code);
  const admitted = await inRetriedTransaction(database, async (tx): Promise<Admitted | null> => {
    const isRight = typed !== null && (await useTypedCode(tx, { accountId, typed, now, secretKey }));
    if (!isRight) return null;
    const taken = await takeStep(tx, { digest: digestOfToken(token), kind: "secondFactor" });
    if (taken === null) throw new AppError("unauthenticated", "Your sign-in attempt expired. Sign in again.");
    if (newIdentity !== null) await linkIdentity(tx, { identity: newIdentity, accountId, now });
    const session = await openSession(tx, { accountId, method, now, ua, remoteAddr });
    return { kind: "signedIn", token: session.token, sessionId: session.id, accountId, nextPath };
  });
  if (admitted !== null) return admitted;
  await countFailure(database, { accountId, at: now });
  throw new AppError("invalid", "The code is incorrect or was already used.");
}
