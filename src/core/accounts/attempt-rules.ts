// How often something may be tried that strangers would like to try without end: a bucket for each thing, refilled
// evenly. Whom a bucket counts is handed in; the caller keeps the instant at which it will be full again.
import { DAY_MS, HOUR_MS, type Instant } from "../instant.ts";

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
