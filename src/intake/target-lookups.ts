// Finds the checks of targets that an edge does not know: all that are asked for at the same time in one query. Slugs are
// remembered for a moment, because every ping with a slug has to be resolved before it is appended.
import { setImmediate as nextTurn } from "node:timers/promises";
import { HOUR_MS, SECOND_MS } from "../core/instant.ts";
import { type SignalTarget, targetKey } from "../core/signal.ts";

export type FoundTarget = { uuid: string } | "unknown" | "ambiguous";

/** Targets in one query; the others follow in the next one. */
const BATCH_MAX = 500;
/** How long a slug is used without asking: as long as a deleted check may still be acknowledged. */
const SLUG_FRESH_MS = 2_000;
/** How long it is used while the database is unavailable. */
const SLUG_KEPT_MS = HOUR_MS;
const SLUGS_MAX = 100_000;
/** A query that takes longer has failed: senders wait for it. */
const QUERY_MS_MAX = 1_000;
/** After a failed query, slugs that are remembered are used without asking for this long. */
const FAILED_MS = SECOND_MS;
/** Targets that wait for a query; more are rejected. */
const ASKED_MAX = 2_000;

export type TargetLookupDeps = {
  /** In order. */
  find: (targets: readonly SignalTarget[]) => Promise<readonly FoundTarget[]>;
  monotonic: () => number;
};

type Asked = {
  target: SignalTarget;
  settle: { resolve: (found: FoundTarget) => void; reject: (error: unknown) => void };
};

type KnownSlug = { uuid: string; askedMs: number };

export class TargetLookups {
  readonly #deps: TargetLookupDeps;
  readonly #slugs = new Map<string, KnownSlug>();
  #asked: Asked[] = [];
  #isAsking = false;
  #failedMs = Number.NEGATIVE_INFINITY;

  constructor(deps: TargetLookupDeps) {
    this.#deps = deps;
  }

  /** Rejects if the database does not answer in time. */
  find(target: SignalTarget): Promise<FoundTarget> {
    const nowMs = this.#deps.monotonic();
    const hasFailed = nowMs - this.#failedMs < FAILED_MS;
    const known = this.#known(target, { ageMsMax: hasFailed ? SLUG_KEPT_MS : SLUG_FRESH_MS });
    if (known !== null) return Promise.resolve(known);
    if (this.#asked.length >= ASKED_MAX) return Promise.reject(new Error("too many lookups"));
    return new Promise((resolve, reject) => {
      this.#asked.push({ target, settle: { resolve, reject } });
      if (!this.#isAsking) void this.#ask();
    });
  }

  #known(target: SignalTarget, { ageMsMax }: { ageMsMax: number }): FoundTarget | null {
    const known = target.by === "slug" ? this.#slugs.get(targetKey(target)) : undefined;
    const isUsable = known !== undefined && this.#deps.monotonic() - known.askedMs < ageMsMax;
    return isUsable ? { uuid: known.uuid } : null;
  }

  async #ask(): Promise<void> {
    this.#isAsking = true;
    while (this.#asked.length > 0) {
      await nextTurn();
      const asked = this.#asked.splice(0, BATCH_MAX);
      try {
        const finding = this.#deps.find(asked.map(({ target }) => target));
        this.#settle(asked, await withinMs(finding, QUERY_MS_MAX));
      } catch (error) {
        this.#failedMs = this.#deps.monotonic();
        // Those that came meanwhile have waited, too.
        for (const one of [...asked, ...this.#asked.splice(0)]) this.#settleWithout(one, error);
      }
    }
    this.#isAsking = false;
  }

  #settle(asked: readonly Asked[], found: readonly FoundTarget[]): void {
    for (const [index, { target, settle }] of asked.entries()) {
      const one = found[index] ?? "unknown";
      if (target.by === "slug") this.#remember(targetKey(target), one);
      settle.resolve(one);
    }
  }

  #settleWithout({ target, settle }: Asked, error: unknown): void {
    const known = this.#known(target, { ageMsMax: SLUG_KEPT_MS });
    if (known === null) settle.reject(error);
    else settle.resolve(known);
  }

  #remember(key: string, found: FoundTarget): void {
    this.#slugs.delete(key);
    if (typeof found === "string") return;
    this.#slugs.set(key, { uuid: found.uuid, askedMs: this.#deps.monotonic() });
    if (this.#slugs.size <= SLUGS_MAX) return;
    const [oldest = ""] = this.#slugs.keys();
    this.#slugs.delete(oldest);
  }
}

/** Rejects after this time; the work itself goes on until its own limit. */
async function withinMs<T>(work: Promise<T>, ms: number): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error("the database did not answer in time")), ms);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
