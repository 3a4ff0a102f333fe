// Links and codes that prove who somebody is: how long each is good for, and how those that are mailed are made from
// what is stored and the instance's secret, so that the mail can be written later and the database holds no link.
import type { Signing } from "../alerts/mail-tokens.ts";
import { DAY_MS, HOUR_MS, type Instant, MINUTE_MS } from "../instant.ts";

export type TokenPurpose = "signIn" | "register" | "setUp" | "confirm" | "changeEmail";

export const TOKEN_MS: Readonly<Record<TokenPurpose, number>> = {
  signIn: HOUR_MS,
  register: HOUR_MS,
  /** Printed when the process starts; the next start prints another. */
  setUp: DAY_MS,
  confirm: 15 * MINUTE_MS,
  changeEmail: 15 * MINUTE_MS,
};

export const INVITATION_DAYS = 14;
/** Whoever has given a password has so long for the second step. */
export const SECOND_FACTOR_MS = 5 * MINUTE_MS;
/** From the first click to the answer of a passkey, or of the identity provider. */
export const STEP_MS = 10 * MINUTE_MS;

const CODE_DIGITS = 6;
const CODE_SOURCE_DIGITS = 12;

/** The end of a mailed link. */
export function linkToken(
  signing: Signing,
  { purpose, uuid }: { purpose: TokenPurpose | "invite"; uuid: string },
) {
  return signing.sign(["token", purpose, uuid].join("\n"));
}

/** The digits of a mailed code. */
export function confirmCode(signing: Signing, uuid: string): string {
  const source = signing.sign(["code", uuid].join("\n")).slice(0, CODE_SOURCE_DIGITS);
  return String(Number.parseInt(source, 16) % 10 ** CODE_DIGITS).padStart(CODE_DIGITS, "0");
}

export type TokenTimes = { expiresAt: Instant; usedAt: Instant | null };

/** Whether a link or a code may still be used. */
export function isTokenGood({ expiresAt, usedAt }: TokenTimes, now: Instant): boolean {
  return usedAt === null && now < expiresAt;
}

/** Paths that a link may lead on to: pages of ours, and nothing that a stranger could put there. */
const NEXT_PATH = /^\/(?![/\\])[A-Za-z0-9\-._~!$&'()*+,;=:@%/?]*$/;
export const NEXT_PATH_LENGTH_MAX = 500;

/** Where to go after signing in: a path below the site, or (null) wherever the person is at home. */
export function safeNext(next: string | null | undefined): string | null {
  if (next === null || next === undefined || next.length > NEXT_PATH_LENGTH_MAX || !NEXT_PATH.test(next))
    return null;
  return /^\/(accounts\/(login|logout|confirm|oidc|link|setup)|web\/)/.test(next) ? null : next;
}
