// API keys: rate limits by key and by network, authentication, and when each key was last used.
import { timingSafeEqual } from "node:crypto";
import { type Credential, isAccessTokenValid, presentedKey, type presentedToken } from "../../core/access.ts";
import { AppError, ERROR_TEXT } from "../../core/errors.ts";
import type { Instant } from "../../core/instant.ts";
import { type Bucket, isExhausted, type RateVerdict, takeRequest } from "../../core/rate-limit.ts";
import type { Secrets } from "../../core/secrets.ts";
import type { Log } from "../../lib/log.ts";
import { type Loop, loopService } from "../../lib/loop.ts";
import type { LoopMetrics } from "../../lib/metrics.ts";
import { secretIdOf } from "../../lib/secrets.ts";
import { type KeyUse, recordKeyUses } from "../../operations/api-keys.ts";
import { digestsOfKey } from "../../operations/secrets.ts";
import {
  type CheckLookup,
  type CheckNames,
  findKeysWithChecks,
  type KeyDigest,
  type KeyWithCheck,
  type KeyWithProject,
} from "../../store/api-keys.ts";
import type { Database, Db } from "../../store/db.ts";
import { findAccessToken, type FoundAccessToken } from "../../store/tokens.ts";

/** Buckets that are kept; beyond it, the one unused for longest is dropped. */
const BUCKETS_MAX = 100_000;
/** The limit of a network for wrong keys is this fraction of the limit of a valid key. */
const UNKNOWN_SHARE = 10;

export type RateLimiterOptions = {
  /** Requests per minute that a key may make; 0 means no limit. */
  perMinute: number;
  monotonic: () => number;
  bucketsMax?: number;
};

export class RateLimiter {
  readonly #perMinute: number;
  readonly #unknownPerMinute: number;
  readonly #monotonic: () => number;
  readonly #keys: Buckets;
  readonly #networks: Buckets;

  constructor({ perMinute, monotonic, bucketsMax = BUCKETS_MAX }: RateLimiterOptions) {
    this.#perMinute = perMinute;
    this.#unknownPerMinute = Math.ceil(perMinute / UNKNOWN_SHARE);
    this.#monotonic = monotonic;
    this.#keys = new Buckets(bucketsMax);
    this.#networks = new Buckets(bucketsMax);
  }

  /**
   * Whether a key may be looked up. A network that has sent too many wrong keys gets no result for the next one. Keys
   * that were used recently are not counted as guesses.
   */
  mayTry({ key, network }: { key: string; network: string }): boolean {
    if (this.#perMinute === 0 || this.#keys.get(key) !== null) return true;
    const rule = { perMinute: this.#unknownPerMinute, nowMs: this.#monotonic() };
    return !isExhausted(this.#networks.get(network), rule);
  }

  /** Counts a request with a valid key; null if there is no limit. */
  takeForKey(key: string): RateVerdict | null {
    return this.#take(this.#keys, key, this.#perMinute);
  }

  /** Counts a request without a valid key. */
  takeForNetwork(network: string): RateVerdict | null {
    return this.#take(this.#networks, network, this.#unknownPerMinute);
  }

  #take(buckets: Buckets, name: string, perMinute: number): RateVerdict | null {
    if (perMinute === 0) return null;
    const verdict = takeRequest(buckets.get(name), { perMinute, nowMs: this.#monotonic() });
    buckets.set(name, verdict.bucket);
    return verdict;
  }
}

/** Ordered by last use, the least recently used first. */
class Buckets {
  readonly #max: number;
  readonly #byName = new Map<string, Bucket>();

  constructor(max: number) {
    this.#max = max;
  }

  get(name: string): Bucket | null {
    return this.#byName.get(name) ?? null;
  }

  set(name: string, bucket: Bucket): void {
    this.#byName.delete(name);
    this.#byName.set(name, bucket);
    if (this.#byName.size <= this.#max) return;
    const { value: oldest } = this.#byName.keys().next();
    if (oldest !== undefined) this.#byName.delete(oldest);
  }
}

// The digest of a key is looked up, never the key, and networks that guess keys are slowed down. What a key may do is
// decided in core/access.ts.

/** The parts of a request that identify its sender. */
export type Presented = {
  /** The X-Api-Key header. */
  header: string | undefined;
  /** The `api_key` field of the body. */
  body: unknown;
  /** The client network; see lib/http/client-address.ts. */
  network: string;
};

/** `renewal` is the digest by the current secret key, if another one is stored; see KeyUse. */
export type Renewable<Found> = Found & { renewal: KeyDigest | null };

export type UsedKey = Renewable<KeyWithProject>;

export type Identified = {
  credential: Credential;
  /** The key that was found; null when there is none. */
  found: UsedKey | null;
  rate: RateVerdict | null;
  /** The check that the request is about; null if there is none, if it does not exist, or if there is no key. */
  check: KeyWithCheck["check"];
};

export type CredentialParts = { secrets: Secrets; limiter: RateLimiter };

/** When to try again after a request that could not be served. */
export const RETRY_AFTER_SECONDS = "5";

/** How many more requests are allowed. */
export function rateHeaders(rate: RateVerdict | null): Record<string, string> {
  if (rate === null) return {};
  return {
    "RateLimit-Limit": String(rate.limit),
    "RateLimit-Remaining": String(rate.remaining),
    "RateLimit-Reset": String(rate.resetSeconds),
    ...(!rate.isAllowed && { "Retry-After": String(rate.retryAfterSeconds) }),
  };
}

/** Too many requests with this key, or too many unknown keys from this network. */
export class TooManyRequestsError extends AppError {
  readonly rate: RateVerdict | null;

  constructor(rate: RateVerdict | null) {
    super("rate_limited", ERROR_TEXT.tooManyRequests);
    this.rate = rate;
  }
}

/** Looks up the key of a request by its possible digests, with the check that the request is about, if there is one. */
export type LookUp = (digests: readonly Buffer[]) => Promise<KeyWithCheck>;

/**
 * Finds the key of a request. Requests that are rejected before the lookup cause no query. Throws TooManyRequestsError.
 */
export async function identify(
  { secrets, limiter }: CredentialParts,
  { header, body, network }: Presented,
  lookUp: LookUp,
): Promise<Identified> {
  const presented = presentedKey({ header, body });
  if (typeof presented === "string") return unknownSender(limiter, { network, credential: presented });
  const digests = digestsOfKey(presented.key, secrets);
  const name = digests[0].toString("base64");
  requireTry(limiter, { key: name, network });
  const { found, check } = await lookUp(digests);
  if (found === null || !isOneOf(found.digest, digests)) {
    return unknownSender(limiter, { network, credential: "unknown" });
  }
  const rate = permitted(limiter.takeForKey(name));
  return { credential: found.key.kind, found: renewable(found, { digests, secrets }), rate, check };
}

/** Compares with all of them, so that time does not show which one it is. */
function isOneOf(digest: Buffer, digests: readonly Buffer[]): boolean {
  return digests.map((one) => timingSafeEqual(one, digest)).includes(true);
}

function renewable<Found extends { secretId: string | null }>(
  found: Found,
  { digests: [digest], secrets }: { digests: readonly [Buffer, ...Buffer[]]; secrets: Secrets },
): Renewable<Found> {
  const secretId = secretIdOf(secrets.current);
  return { ...found, renewal: found.secretId === secretId ? null : { digest, secretId } };
}

/** More lookups than this are sent in several statements. */
const LOOKUPS_AT_ONCE_MAX = 100;

type WaitingLookup = CheckLookup & {
  resolve: (result: KeyWithCheck) => void;
  reject: (error: unknown) => void;
};

/**
 * Looks up keys with checks. Requests that arrive in the same turn of the event loop share a statement: under load a
 * statement costs the driver and the database more than the rows that it returns.
 */
export class CheckLookups {
  readonly #database: Db;
  readonly #waiting: Record<CheckNames, WaitingLookup[]> = { uuid: [], uniqueKey: [] };

  constructor(database: Db) {
    this.#database = database;
  }

  find(namedBy: CheckNames, lookup: CheckLookup): Promise<KeyWithCheck> {
    const waiting = this.#waiting[namedBy];
    return new Promise((resolve, reject) => {
      waiting.push({ ...lookup, resolve, reject });
      if (waiting.length === 1) setImmediate(() => this.#send(namedBy));
    });
  }

  #send(namedBy: CheckNames): void {
    const waiting = this.#waiting[namedBy];
    this.#waiting[namedBy] = [];
    for (let from = 0; from < waiting.length; from += LOOKUPS_AT_ONCE_MAX) {
      const lookups = waiting.slice(from, from + LOOKUPS_AT_ONCE_MAX);
      void this.#sendSome(namedBy, lookups);
    }
  }

  async #sendSome(namedBy: CheckNames, lookups: readonly WaitingLookup[]): Promise<void> {
    try {
      const results = await findKeysWithChecks(this.#database, { namedBy, lookups });
      for (const [index, { resolve }] of lookups.entries()) resolve(results[index] ?? NOTHING_FOUND);
    } catch (error) {
      for (const { reject } of lookups) reject(error);
    }
  }
}

const NOTHING_FOUND: KeyWithCheck = { found: null, check: null };

function unknownSender(
  limiter: RateLimiter,
  { network, credential }: { network: string; credential: Credential },
): Identified {
  return { credential, found: null, rate: permitted(limiter.takeForNetwork(network)), check: null };
}

/** A valid personal access token, or why there is none. */
export type IdentifiedToken = {
  found: Renewable<FoundAccessToken> | "malformed" | "unknown";
  rate: RateVerdict | null;
};

export type TokenSource = { presented: ReturnType<typeof presentedToken>; network: string; now: Instant };

/** Finds the owner of a personal access token. The same limits apply as to API keys. Throws TooManyRequestsError. */
export async function identifyToken(
  { database, secrets, limiter }: CredentialParts & { database: Db },
  { presented, network, now }: TokenSource,
): Promise<IdentifiedToken> {
  const unknown = (found: "malformed" | "unknown") => ({
    found,
    rate: permitted(limiter.takeForNetwork(network)),
  });
  if (typeof presented === "string") return unknown("malformed");
  const digests = digestsOfKey(presented.token, secrets);
  const name = digests[0].toString("base64");
  requireTry(limiter, { key: name, network });
  const found = await findAccessToken(database, digests);
  if (found === null || !isOneOf(found.digest, digests) || !isAccessTokenValid(found.token, now)) {
    return unknown("unknown");
  }
  return { found: renewable(found, { digests, secrets }), rate: permitted(limiter.takeForKey(name)) };
}

function requireTry(limiter: RateLimiter, of: { key: string; network: string }): void {
  if (!limiter.mayTry(of)) throw new TooManyRequestsError(limiter.takeForNetwork(of.network));
}

function permitted(rate: RateVerdict | null): RateVerdict | null {
  if (rate?.isAllowed === false) throw new TooManyRequestsError(rate);
  return rate;
}

// The last use of a key or token is recorded in memory and written in batches, so that no request waits for it. If the
// process dies, unwritten uses are lost, which is acceptable.

/** If more keys than this are used between two writes, the last ones are not recorded. */
const KEYS_MAX = 10_000;
const WRITTEN_AT_ONCE_MAX = 1_000;
const IDLE_MS = 5_000;

/** The newest unwritten use of each key. */
export class KeyUses {
  readonly #uses = new Map<number, KeyUse>();
  readonly #keysMax: number;

  constructor({ keysMax = KEYS_MAX }: { keysMax?: number } = {}) {
    this.#keysMax = keysMax;
  }

  note(use: KeyUse): void {
    const known = this.#uses.get(use.keyId);
    if (known === undefined && this.#uses.size >= this.#keysMax) return;
    if (known === undefined || known.at < use.at) this.#uses.set(use.keyId, use);
  }

  /** Removes and returns the oldest entries, at most `limit`. */
  take(limit: number): KeyUse[] {
    const taken: KeyUse[] = [];
    for (const use of this.#uses.values()) {
      if (taken.length >= limit) break;
      taken.push(use);
    }
    for (const { keyId } of taken) this.#uses.delete(keyId);
    return taken;
  }
}

export type KeyUseWriting = {
  uses: KeyUses;
  database: Database;
  /** The default is the uses of API keys. */
  record?: typeof recordKeyUses;
};

/** Writes a batch of recorded uses; "again" if there are more. Uses that could not be written are recorded again. */
export async function writeKeyUses({
  uses,
  database,
  record = recordKeyUses,
}: KeyUseWriting): Promise<"again" | "idle"> {
  const taken = uses.take(WRITTEN_AT_ONCE_MAX);
  if (taken.length === 0) return "idle";
  try {
    await record(database, taken);
  } catch (error) {
    for (const use of taken) uses.note(use);
    throw error;
  }
  return taken.length < WRITTEN_AT_ONCE_MAX ? "idle" : "again";
}

/** Writes continuously, and once more when it is stopped. */
export function keyUseLoop({
  name = "key-uses",
  log,
  metrics,
  ...writing
}: KeyUseWriting & { name?: string; log: Log; metrics: LoopMetrics }): Loop {
  const loop = loopService(name, { idleMs: IDLE_MS, log, metrics, tick: () => writeKeyUses(writing) });
  return {
    ...loop,
    stop: async () => {
      await loop.stop();
      try {
        while ((await writeKeyUses(writing)) === "again");
      } catch (error) {
        log.warn({ err: error }, "could not save when some API keys or tokens were last used");
      }
    },
  };
}
