// Whose key a request carries, and whether it may be tried at all: the digest is looked up, never the key, and
// networks that guess are slowed down. What the key may do is decided in core/access.ts.
import { timingSafeEqual } from "node:crypto";
import { type Credential, presentedKey } from "../../core/access.ts";
import { AppError, ERROR_TEXT } from "../../core/errors.ts";
import type { RateVerdict } from "../../core/request/rate-limit.ts";
import { digestOfKey } from "../../operations/api-key.ts";
import type { Db } from "../../store/db.ts";
import { findKeyWithProject, type KeyWithProject } from "../../store/keys.ts";
import type { RateLimiter } from "./rate-limiter.ts";

/** What a request shows of its sender. */
export type Presented = {
  /** The X-Api-Key header. */
  header: string | undefined;
  /** The `api_key` field of the body. */
  body: unknown;
  /** Where it comes from; see lib/http/client-address.ts. */
  network: string;
};

export type Identified<T> = {
  credential: Credential;
  /** The key that was found; null when there is none. */
  found: KeyWithProject | null;
  rate: RateVerdict | null;
  /** What was looked up beside the key; null when no key was looked up. */
  beside: T | null;
};

export type CredentialParts = { database: Db; secretKey: string; limiter: RateLimiter };

/** A key that has come too often, or one of too many that nobody knows. */
export class TooManyRequestsError extends AppError {
  readonly rate: RateVerdict | null;

  constructor(rate: RateVerdict | null) {
    super("rate_limited", ERROR_TEXT.tooManyRequests);
    this.rate = rate;
  }
}

/**
 * Finds out whose key this is. `beside` runs while the key is looked up: most requests are good ones, and wait only
 * once. Those that are turned away before cost the database nothing. Throws TooManyRequestsError.
 */
export async function identify<T>(
  { database, secretKey, limiter }: CredentialParts,
  { header, body, network }: Presented,
  beside: () => Promise<T | null>,
): Promise<Identified<T>> {
  const presented = presentedKey({ header, body });
  if (typeof presented === "string") return stranger(limiter, { network, credential: presented });
  const digest = digestOfKey({ key: presented.key, secretKey });
  const name = digest.toString("base64");
  if (!limiter.mayTry({ key: name, network })) throw tooMany(limiter.takeForNetwork(network));
  const [found, looked] = await Promise.all([findKeyWithProject(database, digest), beside()]);
  if (found === null || !timingSafeEqual(found.digest, digest)) {
    return stranger(limiter, { network, credential: "unknown" });
  }
  const rate = limiter.takeForKey(name);
  if (rate?.isAllowed === false) throw tooMany(rate);
  return { credential: found.key.kind, found, rate, beside: looked };
}

function stranger(
  limiter: RateLimiter,
  { network, credential }: { network: string; credential: Credential },
): Identified<never> {
  const rate = limiter.takeForNetwork(network);
  if (rate?.isAllowed === false) throw tooMany(rate);
  return { credential, found: null, rate, beside: null };
}

function tooMany(rate: RateVerdict | null): TooManyRequestsError {
  return new TooManyRequestsError(rate);
}
