// How long a browser stays signed in, and for how long it counts as proven that its owner sits in front of it.
import { DAY_MS, HOUR_MS, type Instant, MINUTE_MS } from "../instant.ts";

/** How somebody came in. */
export type SignInMethod = "link" | "password" | "passkey" | "oidc" | "proxy" | "setUp" | "admin";

export const SESSION_IDLE_DAYS = 30;
/** However often it is used, everybody signs in again after so long. */
export const SESSION_DAYS_MAX = 180;
/** Signing in once more ends the one that was unused for longest. */
export const SESSIONS_PER_ACCOUNT_MAX = 50;
/** Sign-ins that an account keeps on record, and for how long: who looks rarely finds the last half year. */
export const SIGN_INS_PER_ACCOUNT_MAX = 50;
export const SIGN_IN_DAYS = 180;
/** Dangerous acts ask who is there, unless that was proven so recently. */
export const PROVEN_MS = 30 * MINUTE_MS;
/** Use is written down this often at most. */
const SEEN_EVERY_MS = MINUTE_MS;
/** The clocks of our processes may differ by so much. */
const CLOCK_MS = HOUR_MS;

export type SessionTimes = { createdAt: Instant; seenAt: Instant };

/** Whether a session still lets its browser in. */
export function isAlive({ createdAt, seenAt }: SessionTimes, now: Instant): boolean {
  if (createdAt > now + CLOCK_MS) return false;
  return now - seenAt < SESSION_IDLE_DAYS * DAY_MS && now - createdAt < SESSION_DAYS_MAX * DAY_MS;
}

/** Whether a session may do what is dangerous. A proxy vouches for its people with every request. */
export function isProven(
  { method, provenAt }: { method: SignInMethod; provenAt: Instant },
  now: Instant,
): boolean {
  return method === "proxy" || now - provenAt < PROVEN_MS;
}

/** The clock of an identity provider may differ from ours by so much. */
const PROVIDER_CLOCK_MS = MINUTE_MS;

/**
 * Since when it counts as proven who somebody is whom an identity provider has let in: since they last proved it there,
 * as the provider says. It may not have asked them now; if it does not say, nothing is proven.
 */
export function provenByProvider(authenticatedAt: Instant | null, now: Instant): Instant {
  return authenticatedAt === null ? now - PROVEN_MS : Math.min(authenticatedAt, now);
}

/** Whether somebody has proven anew at the provider who they are, after we sent them there to do so. */
export function isProvenAnew(
  authenticatedAt: Instant | null,
  { begunAt, now }: { begunAt: Instant; now: Instant },
): boolean {
  if (authenticatedAt === null) return false;
  return authenticatedAt >= begunAt - PROVIDER_CLOCK_MS && authenticatedAt <= now + PROVIDER_CLOCK_MS;
}

/** Whether it is time to write down that a session is in use. */
export function isSeenDue({ seenAt }: SessionTimes, now: Instant): boolean {
  return now - seenAt >= SEEN_EVERY_MS;
}
