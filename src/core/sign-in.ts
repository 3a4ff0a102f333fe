import { isSigned, type Signer, type Signing } from "./email.ts";
import { DAY_MS, HOUR_MS, type Instant, MINUTE_MS } from "./instant.ts";

// Rules for signing in: sign-in methods, sessions, passwords, codes, links, attempts and known browsers.

/** Sign-in methods that the server offers. */
export type OfferedSignInMethods = {
  /** A proxy authenticates users. */
  proxy: boolean;
  /** Sign-in links by email. */
  mail: boolean;
  /** Passkeys work at the server's URL. */
  passkeys: boolean;
  /** The identity provider; null: there is none. */
  issuer: string | null;
};

/** What an account has set up. */
export type AccountSignInMethods = { hasPassword: boolean; passkeyCount: number; issuers: readonly string[] };

/**
 * Whether a sign-in method is left. A proxy and email links work for every account; passkeys and providers count only
 * if they can be used.
 */
export function hasSignInMethod(
  { proxy, mail, passkeys, issuer }: OfferedSignInMethods,
  { hasPassword, passkeyCount, issuers }: AccountSignInMethods,
): boolean {
  const isKnownThere =
    issuer !== null && issuers.some((one) => withoutTrailingSlash(one) === withoutTrailingSlash(issuer));
  return proxy || mail || hasPassword || (passkeys && passkeyCount > 0) || isKnownThere;
}

/** Issuers are written with or without a trailing slash. */
function withoutTrailingSlash(issuer: string): string {
  return issuer.replace(/\/$/, "");
}

/** How a session was created. */
export type SignInMethod = "link" | "password" | "passkey" | "oidc" | "proxy" | "setUp" | "admin";

export const SESSION_IDLE_DAYS = 30;
/** Maximum age of a session, however often it is used. */
export const SESSION_DAYS_MAX = 180;
/** Sessions per account; a further sign-in ends the one unused for longest. */
export const SESSIONS_PER_ACCOUNT_MAX = 50;
/** Recorded sign-ins per account, and how long they are kept. */
export const SIGN_INS_PER_ACCOUNT_MAX = 50;
export const SIGN_IN_DAYS = 180;
/** Sensitive actions require re-authentication after this time. */
export const REAUTHENTICATE_AFTER_MS = 30 * MINUTE_MS;
/** Minimum interval between updates of the last use. */
const SEEN_EVERY_MS = MINUTE_MS;
/** Tolerated clock difference between processes. */
const CLOCK_MS = HOUR_MS;

export type SessionTimes = { createdAt: Instant; seenAt: Instant };

/** Whether a session is valid. */
export function isSessionValid({ createdAt, seenAt }: SessionTimes, now: Instant): boolean {
  if (createdAt > now + CLOCK_MS) return false;
  return now - seenAt < SESSION_IDLE_DAYS * DAY_MS && now - createdAt < SESSION_DAYS_MAX * DAY_MS;
}

/** Whether a session may do sensitive actions. A proxy authenticates with every request. */
export function isRecentlyAuthenticated(
  { method, authenticatedAt }: { method: SignInMethod; authenticatedAt: Instant },
  now: Instant,
): boolean {
  return method === "proxy" || now - authenticatedAt < REAUTHENTICATE_AFTER_MS;
}

/** Tolerated clock difference to an identity provider. */
const PROVIDER_CLOCK_MS = MINUTE_MS;

/**
 * When a user of an identity provider authenticated, according to the provider; without that information never,
 * because the provider may not have asked them now.
 */
export function authenticatedByProvider(authenticatedAt: Instant | null, now: Instant): Instant {
  return authenticatedAt === null ? now - REAUTHENTICATE_AFTER_MS : Math.min(authenticatedAt, now);
}

/** Whether a user re-authenticated at the provider after being sent there. */
export function isReauthenticatedByProvider(
  authenticatedAt: Instant | null,
  { begunAt, now }: { begunAt: Instant; now: Instant },
): boolean {
  if (authenticatedAt === null) return false;
  return authenticatedAt >= begunAt - PROVIDER_CLOCK_MS && authenticatedAt <= now + PROVIDER_CLOCK_MS;
}

/** Whether the last use of a session has to be updated. */
export function isSeenUpdateDue({ seenAt }: SessionTimes, now: Instant): boolean {
  return now - seenAt >= SEEN_EVERY_MS;
}

export const PASSWORD_LENGTH_MIN = 8;
export const PASSWORD_LENGTH_MAX = 1_000;

/** Why a password is not acceptable, as a sentence; null if it is. Only the length counts, in code points. */
export function passwordProblem(password: string, { email }: { email: string }): string | null {
  const { length } = Array.from(password);
  if (length < PASSWORD_LENGTH_MIN)
    return `The password must have at least ${PASSWORD_LENGTH_MIN} characters.`;
  if (length > PASSWORD_LENGTH_MAX)
    return `The password must have at most ${PASSWORD_LENGTH_MAX} characters.`;
  if (password.toLowerCase() === email.toLowerCase()) return "The password must not be your email address.";
  return /^(.)\1*$/u.test(password) ? "The password must not be a single repeated character." : null;
}

export const TOTP_STEP_SECONDS = 30;
export const TOTP_DIGITS = 6;
/** Tolerated clock difference of phones, in steps. */
export const TOTP_WINDOW = 1;
export const RECOVERY_CODES = 10;
/** Characters of a recovery code, without ambiguous ones. */
export const RECOVERY_ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789";
export const RECOVERY_LENGTH = 10;
const RECOVERY_CODE = new RegExp(`^[${RECOVERY_ALPHABET}]+$`);

/** Whether the code of a time step may be used: each step only once, and none before the last one used. */
export function isStepFresh(step: number, lastStep: number | null): boolean {
  return lastStep === null || step > lastStep;
}

/** Parses a typed code: digits of an app, a recovery code, or neither. */
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

/** Factors that an account has set up. */
export type SetUpFactors = { password: boolean; app: boolean };

/** Verified inputs. A recovery code replaces the code of the app. */
export type ShownFactors = { password: boolean; mailedCode: boolean; appCode: boolean };

/**
 * Whether a re-authentication is complete. If an app is set up, its code is required, plus the password or an emailed
 * code. Without a password, the app's code is enough.
 */
export function isReauthenticationComplete(
  factors: SetUpFactors,
  { password, mailedCode, appCode }: ShownFactors,
): boolean {
  const isFirstShown = password || mailedCode;
  return factors.app ? appCode && (isFirstShown || !factors.password) : isFirstShown;
}

export type TokenPurpose = "signIn" | "register" | "setUp" | "confirm" | "changeEmail";

export const TOKEN_MS: Readonly<Record<TokenPurpose, number>> = {
  signIn: HOUR_MS,
  register: HOUR_MS,
  /** Printed at the start of the process; the next start prints another. */
  setUp: DAY_MS,
  confirm: 15 * MINUTE_MS,
  changeEmail: 15 * MINUTE_MS,
};

export const INVITATION_DAYS = 14;
/** Time for the second factor after the password. */
export const SECOND_FACTOR_MS = 5 * MINUTE_MS;
/** Time until the answer of a passkey or identity provider. */
export const STEP_MS = 10 * MINUTE_MS;

const CODE_DIGITS = 6;
const CODE_SOURCE_DIGITS = 12;

/**
 * Token of an emailed link, derived from the stored row and the instance's secret, so that the database contains no
 * links.
 */
export function linkToken(
  signing: Signer,
  { purpose, uuid }: { purpose: TokenPurpose | "invite"; uuid: string },
) {
  return signing.sign(["token", purpose, uuid].join("\n"));
}

/** The digits of an emailed code. */
export function confirmCode(signing: Signer, uuid: string): string {
  const source = signing.sign(["code", uuid].join("\n")).slice(0, CODE_SOURCE_DIGITS);
  return String(Number.parseInt(source, 16) % 10 ** CODE_DIGITS).padStart(CODE_DIGITS, "0");
}

export type TokenTimes = { expiresAt: Instant; usedAt: Instant | null };

/** Whether a link or a code may still be used. */
export function isTokenValid({ expiresAt, usedAt }: TokenTimes, now: Instant): boolean {
  return usedAt === null && now < expiresAt;
}

/** Paths that a link may redirect to. */
const NEXT_PATH = /^\/(?![/\\])[A-Za-z0-9\-._~!$&'()*+,;=:@%/?]*$/;
export const NEXT_PATH_LENGTH_MAX = 500;

/** The path to redirect to after signing in; null: the default page. */
export function safeNext(next: string | null | undefined): string | null {
  if (next === null || next === undefined || next.length > NEXT_PATH_LENGTH_MAX || !NEXT_PATH.test(next))
    return null;
  return /^\/(accounts\/(login|logout|confirm|oidc|link|setup)|web\/)/.test(next) ? null : next;
}

/** Limits of attempts by what is counted. */
export const ATTEMPTS = {
  /** Requested links and accounts from one network. */
  linkByNetwork: { count: 20, spanMs: HOUR_MS },
  linkByAddress: { count: 10, spanMs: HOUR_MS },
  /** From a known browser: see passwordAttempts below. */
  linkByDevice: { count: 10, spanMs: HOUR_MS },
  /** From all such browsers of an account. */
  linkByDevices: { count: 20, spanMs: HOUR_MS },
  /** Right or wrong: checking a password is expensive. */
  passwordByNetwork: { count: 60, spanMs: HOUR_MS },
  /** For one address from one network. */
  passwordByAddressThere: { count: 20, spanMs: DAY_MS },
  /** For one address from any network, so that many networks together cannot guess faster. */
  passwordByAddress: { count: 100, spanMs: DAY_MS },
  passwordByDevice: { count: 20, spanMs: DAY_MS },
  passwordByDevices: { count: 100, spanMs: DAY_MS },
  /** Codes of an app and recovery codes. */
  secondFactor: { count: 96, spanMs: DAY_MS },
  secondFactorByDevice: { count: 20, spanMs: DAY_MS },
  secondFactorByDevices: { count: 100, spanMs: DAY_MS },
  /** Emailed codes for re-authentication. */
  confirm: { count: 10, spanMs: DAY_MS },
  confirmMail: { count: 10, spanMs: DAY_MS },
  changeEmail: { count: 10, spanMs: DAY_MS },
  invite: { count: 20, spanMs: DAY_MS },
  /** Confirmation requests by the email channels of one account. */
  verification: { count: 100, spanMs: DAY_MS },
  /** The same address for the same account, so that links cannot be used to annoy others. */
  verificationOfAddress: { count: 5, spanMs: DAY_MS },
  /** Passwords of status pages: for one page from one network, from one network, and for one page. */
  statusUnlockThere: { count: 20, spanMs: HOUR_MS },
  statusUnlockByNetwork: { count: 60, spanMs: HOUR_MS },
  statusUnlockByPage: { count: 1_000, spanMs: HOUR_MS },
  /** Subscriptions to status pages: likewise, and the same address on the server. */
  statusSubscribeThere: { count: 10, spanMs: HOUR_MS },
  statusSubscribeByNetwork: { count: 20, spanMs: HOUR_MS },
  statusSubscribeByPage: { count: 500, spanMs: HOUR_MS },
  statusSubscribeByAddress: { count: 5, spanMs: DAY_MS },
  /** Started sign-ins that store something: challenges, and redirects to the provider. */
  beginByNetwork: { count: 300, spanMs: HOUR_MS },
  /** Links that were typed or guessed. */
  tokenByNetwork: { count: 120, spanMs: HOUR_MS },
} as const satisfies Record<string, { count: number; spanMs: number }>;

export type AttemptKind = keyof typeof ATTEMPTS;

export type AttemptVerdict = { allowed: true; fullAt: Instant } | { allowed: false; retryAt: Instant };

/** Counts one attempt: whether it is allowed, and the new state of the bucket. */
export function takeAttempt(
  kind: AttemptKind,
  { fullAt, now }: { fullAt: Instant | null; now: Instant },
): AttemptVerdict {
  const { count, spanMs } = ATTEMPTS[kind];
  const eachMs = spanMs / count;
  // An instant further ahead is left from before the clock was set back.
  const missingMs = Math.min(spanMs, Math.max(0, (fullAt ?? now) - now));
  if (missingMs + eachMs > spanMs)
    return { allowed: false, retryAt: Math.ceil(now + missingMs + eachMs - spanMs) };
  return { allowed: true, fullAt: Math.ceil(now + missingMs + eachMs) };
}

/** The normalized address for counting attempts: large providers treat these as the same. */
export function countedAddress(email: string): string {
  const at = email.lastIndexOf("@");
  const local = email.slice(0, at).split("+", 1)[0] ?? "";
  return `${local.replaceAll(".", "")}${email.slice(at)}`;
}

/** Tolerated clock difference. */
const EARLY_MS_MAX = DAY_MS;
const DEVICE = /^(?<id>[\w-]{16,64})\.(?<at>[0-9]{1,15})\.(?<signature>[0-9a-f]{64})$/;

type Device = { accountId: number; id: string; at: string };

function deviceSignature(signing: Signer, { accountId, id, at }: Device): string {
  return signing.sign(["device", accountId, id, at].join("\n"));
}

/** Stored in a browser that was signed in to an account; `id` is random. */
export function deviceToken(
  signing: Signer,
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
 * The known browser of this account; null if it is unknown, too old, or from before the password was set or
 * all other sessions were ended.
 */
export function readDevice(
  token: string,
  { signing, accountId, knownFromAt, now }: DeviceReading,
): string | null {
  const { id, at, signature } = DEVICE.exec(token)?.groups ?? {};
  if (id === undefined || at === undefined || signature === undefined) return null;
  if (!isSigned(signature, signing, (signer) => deviceSignature(signer, { accountId, id, at }))) return null;
  if (knownFromAt !== null && Number(at) < knownFromAt) return null;
  const ageMs = now - Number(at);
  return ageMs >= -EARLY_MS_MAX && ageMs < SESSION_DAYS_MAX * DAY_MS ? id : null;
}

export type CountedAttempt = { kind: AttemptKind; subject: string };

/** The origin of an attempt: address, network, and known browser of the account, if any. */
export type SignInAttempt = { email: string; network: string; deviceId: string | null };

/**
 * What a password attempt is counted by. A known browser has its own limit, which others cannot use up; all
 * others share the limits of the network and the address. All known browsers of an account together are
 * limited, too.
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

/** What a request for an email link is counted by. */
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

/**
 * What a second-factor attempt is counted by: someone who knows the password must not use up the owner's
 * attempts.
 */
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
