import type { Signing } from "./email.ts";
import { DAY_MS, HOUR_MS, type Instant, MINUTE_MS } from "./instant.ts";

// Whether anybody can still come into an account: nobody takes the last way in away from themselves.

/** Which ways in an installation has at all. */
export type OfferedSignInMethods = {
  /** A proxy says who people are. */
  proxy: boolean;
  /** Links are mailed. */
  mail: boolean;
  /** Browsers use passkeys at its address. */
  passkeys: boolean;
  /** The identity provider; null: there is none. */
  issuer: string | null;
};

/** What an account has set up. */
export type AccountSignInMethods = { hasPassword: boolean; passkeyCount: number; issuers: readonly string[] };

/**
 * Whether one way is left. A proxy and a mailed link open every account; passkeys and providers count only where they can
 * be used.
 */
export function hasSignInMethod(
  { proxy, mail, passkeys, issuer }: OfferedSignInMethods,
  { hasPassword, passkeyCount, issuers }: AccountSignInMethods,
): boolean {
  const isKnownThere =
    issuer !== null && issuers.some((one) => withoutTrailingSlash(one) === withoutTrailingSlash(issuer));
  return proxy || mail || hasPassword || (passkeys && passkeyCount > 0) || isKnownThere;
}

/** Providers name themselves with or without a slash at the end, and operators type either. */
function withoutTrailingSlash(issuer: string): string {
  return issuer.replace(/\/$/, "");
}

// How long a browser stays signed in, and for how long it counts as proven that its owner sits in front of it.

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
export const REAUTHENTICATE_AFTER_MS = 30 * MINUTE_MS;
/** Use is written down this often at most. */
const SEEN_EVERY_MS = MINUTE_MS;
/** The clocks of our processes may differ by so much. */
const CLOCK_MS = HOUR_MS;

export type SessionTimes = { createdAt: Instant; seenAt: Instant };

/** Whether a session still lets its browser in. */
export function isSessionValid({ createdAt, seenAt }: SessionTimes, now: Instant): boolean {
  if (createdAt > now + CLOCK_MS) return false;
  return now - seenAt < SESSION_IDLE_DAYS * DAY_MS && now - createdAt < SESSION_DAYS_MAX * DAY_MS;
}

/** Whether a session may do what is dangerous. A proxy vouches for its people with every request. */
export function isRecentlyAuthenticated(
  { method, provenAt }: { method: SignInMethod; provenAt: Instant },
  now: Instant,
): boolean {
  return method === "proxy" || now - provenAt < REAUTHENTICATE_AFTER_MS;
}

/** The clock of an identity provider may differ from ours by so much. */
const PROVIDER_CLOCK_MS = MINUTE_MS;

/**
 * Since when it counts as proven who somebody is whom an identity provider has let in: since they last proved it there,
 * as the provider says. It may not have asked them now; if it does not say, nothing is proven.
 */
export function authenticatedByProvider(authenticatedAt: Instant | null, now: Instant): Instant {
  return authenticatedAt === null ? now - REAUTHENTICATE_AFTER_MS : Math.min(authenticatedAt, now);
}

/** Whether somebody has proven anew at the provider who they are, after we sent them there to do so. */
export function isReauthenticatedByProvider(
  authenticatedAt: Instant | null,
  { begunAt, now }: { begunAt: Instant; now: Instant },
): boolean {
  if (authenticatedAt === null) return false;
  return authenticatedAt >= begunAt - PROVIDER_CLOCK_MS && authenticatedAt <= now + PROVIDER_CLOCK_MS;
}

/** Whether it is time to write down that a session is in use. */
export function isSeenUpdateDue({ seenAt }: SessionTimes, now: Instant): boolean {
  return now - seenAt >= SEEN_EVERY_MS;
}

// What a password may be. Length is all that is asked for; what it is made of is its owner's choice.

export const PASSWORD_LENGTH_MIN = 8;
export const PASSWORD_LENGTH_MAX = 1_000;

/** What is wrong with a password, as a sentence; null: nothing. Lengths are in code points. */
export function passwordProblem(password: string, { email }: { email: string }): string | null {
  const { length } = Array.from(password);
  if (length < PASSWORD_LENGTH_MIN)
    return `The password must have at least ${PASSWORD_LENGTH_MIN} characters.`;
  if (length > PASSWORD_LENGTH_MAX)
    return `The password must have at most ${PASSWORD_LENGTH_MAX} characters.`;
  if (password.toLowerCase() === email.toLowerCase()) return "The password must not be your email address.";
  return /^(.)\1*$/u.test(password) ? "The password must not be a single repeated character." : null;
}

// Codes of authenticator apps and recovery codes: which step of time may be used, what a typed code is, and what proves
// once more who is there where such an app is set up.

export const TOTP_STEP_SECONDS = 30;
export const TOTP_DIGITS = 6;
/** Clocks of phones may be off by so many steps either way. */
export const TOTP_WINDOW = 1;
export const RECOVERY_CODES = 10;
/** Letters of a recovery code; none that are mistaken for another. */
export const RECOVERY_ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789";
export const RECOVERY_LENGTH = 10;
const RECOVERY_CODE = new RegExp(`^[${RECOVERY_ALPHABET}]+$`);

/** Whether the code of a step may be used: no step is taken twice, nor one before it. */
export function isStepFresh(step: number, lastStep: number | null): boolean {
  return lastStep === null || step > lastStep;
}

/** What somebody typed: the digits of an app, a recovery code, or neither. */
export function readTypedCode(typed: string): { kind: "totp" | "recovery"; code: string } | null {
  const code = typed.toLowerCase().replaceAll(/[\s-]/g, "");
  if (/^\d{6}$/.test(code)) return { kind: "totp", code };
  const isRecovery = code.length === RECOVERY_LENGTH && RECOVERY_CODE.test(code);
  return isRecovery ? { kind: "recovery", code } : null;
}

/** A recovery code as it is shown. */
export function shownRecoveryCode(code: string): string {
  return `${code.slice(0, RECOVERY_LENGTH / 2)}-${code.slice(RECOVERY_LENGTH / 2)}`;
}

/** What an account can be asked for. */
export type SetUpFactors = { password: boolean; app: boolean };

/** What somebody has typed and was found to be right. A recovery code stands for one of the app. */
export type ShownFactors = { password: boolean; mailedCode: boolean; appCode: boolean };

/**
 * Whether somebody who is signed in has proven once more who it is. Where an app is set up, its code is needed, as it is
 * for signing in; beside it the password, or a mailed code in its place. Without a password the code is enough.
 */
export function isReauthenticationComplete(
  factors: SetUpFactors,
  { password, mailedCode, appCode }: ShownFactors,
): boolean {
  const isFirstShown = password || mailedCode;
  return factors.app ? appCode && (isFirstShown || !factors.password) : isFirstShown;
}

// Links and codes that prove who somebody is: how long each is good for, and how those that are mailed are made from
// what is stored and the instance's secret, so that the mail can be written later and the database holds no link.

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
export function isTokenValid({ expiresAt, usedAt }: TokenTimes, now: Instant): boolean {
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

// How often something may be tried that strangers would like to try without end: a bucket for each thing, refilled
// evenly. Whom a bucket counts is handed in; the caller keeps the instant at which it will be full again.

/** What is counted, and how many a span allows. */
export const ATTEMPTS = {
  /** Links asked for, and accounts asked for, from one network. */
  linkByNetwork: { count: 20, spanMs: HOUR_MS },
  linkByAddress: { count: 10, spanMs: HOUR_MS },
  /** From a browser that was signed in before: see device-rules.ts. */
  linkByDevice: { count: 10, spanMs: HOUR_MS },
  /** From all such browsers of an account. */
  linkByDevices: { count: 20, spanMs: HOUR_MS },
  /** Wrong or right: a password costs us as much as it costs the other side. */
  passwordByNetwork: { count: 60, spanMs: HOUR_MS },
  /** For one address from one network. */
  passwordByAddressThere: { count: 20, spanMs: DAY_MS },
  /** For one address from anywhere, so that many networks together guess no faster. */
  passwordByAddress: { count: 100, spanMs: DAY_MS },
  passwordByDevice: { count: 20, spanMs: DAY_MS },
  passwordByDevices: { count: 100, spanMs: DAY_MS },
  /** Codes of an app and recovery codes. */
  secondFactor: { count: 96, spanMs: DAY_MS },
  secondFactorByDevice: { count: 20, spanMs: DAY_MS },
  secondFactorByDevices: { count: 100, spanMs: DAY_MS },
  /** Codes that are mailed to prove again who is there. */
  confirm: { count: 10, spanMs: DAY_MS },
  confirmMail: { count: 10, spanMs: DAY_MS },
  changeEmail: { count: 10, spanMs: DAY_MS },
  invite: { count: 20, spanMs: DAY_MS },
  /** Addresses that the mail channels of one account ask whether they want alerts. */
  verification: { count: 100, spanMs: DAY_MS },
  /** The same address for the same account: links must not become a way to annoy strangers. */
  verificationOfAddress: { count: 5, spanMs: DAY_MS },
  /** Beginnings of signing in that leave something behind: challenges, and ways to the identity provider. */
  beginByNetwork: { count: 300, spanMs: HOUR_MS },
  /** Links that were typed or guessed. */
  tokenByNetwork: { count: 120, spanMs: HOUR_MS },
} as const satisfies Record<string, { count: number; spanMs: number }>;

export type AttemptKind = keyof typeof ATTEMPTS;

export type AttemptVerdict = { allowed: true; fullAt: Instant } | { allowed: false; retryAt: Instant };

/** Whether one more may be tried now, and what to remember of it. */
export function takeAttempt(
  kind: AttemptKind,
  { fullAt, now }: { fullAt: Instant | null; now: Instant },
): AttemptVerdict {
  const { count, spanMs } = ATTEMPTS[kind];
  const eachMs = spanMs / count;
  // More than all cannot be missing: an instant further ahead is left from before the clock was set back.
  const missingMs = Math.min(spanMs, Math.max(0, (fullAt ?? now) - now));
  if (missingMs + eachMs > spanMs)
    return { allowed: false, retryAt: Math.ceil(now + missingMs + eachMs - spanMs) };
  return { allowed: true, fullAt: Math.ceil(now + missingMs + eachMs) };
}

/** The form of an address that attempts are counted by: the mail providers that people share take these as the same. */
export function countedAddress(email: string): string {
  const at = email.lastIndexOf("@");
  const local = email.slice(0, at).split("+", 1)[0] ?? "";
  return `${local.replaceAll(".", "")}${email.slice(at)}`;
}

// Browsers that somebody was signed in with before: how such a one is known again, and by what its tries are counted.
// Otherwise strangers who guess would use up the tries of whoever an address belongs to. It opens nothing by itself.

/** Clocks of ours may differ by so much. */
const EARLY_MS_MAX = DAY_MS;
const DEVICE = /^(?<id>[\w-]{16,64})\.(?<at>[0-9]{1,15})\.(?<signature>[0-9a-f]{64})$/;

type Device = { accountId: number; id: string; at: string };

function deviceSignature(signing: Signing, { accountId, id, at }: Device): string {
  return signing.sign(["device", accountId, id, at].join("\n"));
}

/** What a browser keeps when it was signed in to an account; `id` is random. */
export function deviceToken(
  signing: Signing,
  { accountId, id, at }: { accountId: number; id: string; at: Instant },
): string {
  return `${id}.${at}.${deviceSignature(signing, { accountId, id, at: String(at) })}`;
}

/** `knownFromAt`: since when browsers of the account are known; null: at whatever time they were signed in. */
export type DeviceReading = {
  signing: Signing;
  accountId: number;
  knownFromAt: Instant | null;
  now: Instant;
};

/**
 * Which browser of this account it is; null: none that we know, too long ago, or known only from before the password
 * was set, or all other sessions were ended. Whoever was in before that keeps nothing of it.
 */
export function readDevice(
  token: string,
  { signing, accountId, knownFromAt, now }: DeviceReading,
): string | null {
  const { id, at, signature } = DEVICE.exec(token)?.groups ?? {};
  if (id === undefined || at === undefined || signature === undefined) return null;
  if (!signing.isSame(signature, deviceSignature(signing, { accountId, id, at }))) return null;
  if (knownFromAt !== null && Number(at) < knownFromAt) return null;
  const ageMs = now - Number(at);
  return ageMs >= -EARLY_MS_MAX && ageMs < SESSION_DAYS_MAX * DAY_MS ? id : null;
}

export type CountedAttempt = { kind: AttemptKind; subject: string };

/** Who tries: with which address, from which network, and with which known browser of the account, if any. */
export type SignInAttempt = { email: string; network: string; deviceId: string | null };

/**
 * What a try of a password is counted by. A browser that is known has tries of its own, which no stranger can use up;
 * everybody else shares those of the network, those for the address from there, and slower ones for the address. All
 * known browsers of an account together are bounded, too: somebody may have signed in with many.
 */
export function passwordAttempts({ email, network, deviceId }: SignInAttempt): CountedAttempt[] {
  if (deviceId !== null) {
    return [
      { kind: "passwordByDevice", subject: deviceId },
      { kind: "passwordByDevices", subject: email },
    ];
  }
  const address = countedAddress(email);
  return [
    { kind: "passwordByNetwork", subject: network },
    { kind: "passwordByAddressThere", subject: `${address}\n${network}` },
    { kind: "passwordByAddress", subject: address },
  ];
}

/** What asking for a mailed link is counted by. */
export function linkAttempts({ email, network, deviceId }: SignInAttempt): CountedAttempt[] {
  if (deviceId !== null) {
    return [
      { kind: "linkByDevice", subject: deviceId },
      { kind: "linkByDevices", subject: email },
    ];
  }
  return [
    { kind: "linkByNetwork", subject: network },
    { kind: "linkByAddress", subject: countedAddress(email) },
  ];
}

/** What the code of the second step is counted by: whoever has learned the password must not use up its owner's tries. */
export function codeAttempts({
  accountId,
  deviceId,
}: {
  accountId: number;
  deviceId: string | null;
}): CountedAttempt[] {
  const account = String(accountId);
  if (deviceId === null) return [{ kind: "secondFactor", subject: account }];
  return [
    { kind: "secondFactorByDevice", subject: deviceId },
    { kind: "secondFactorByDevices", subject: account },
  ];
}
