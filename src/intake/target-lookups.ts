// Finds the checks of targets that an edge does not know: all that are asked for at the same time in one query. Slugs are
// remembered for a moment, because every ping with a slug has to be resolved before it is appended.
import { setImmediate as nextTurn } from "node:timers/promises";
import type { SignalTarget } from "../core/signal.ts";

export type FoundTarget = { uuid: string } | "unknown" | "ambiguous";

type SlugTarget = Extract<SignalTarget, { by: "slug" }>;

/** Targets in one query; the others follow in the next one. */
const BATCH_MAX = 500;
/** How long a slug is remembered: as long as a deleted check may still be acknowledged. */
const SLUG_KEPT_MS = 2_000;
const SLUGS_MAX = 100_000;

export type TargetLookupDeps = {
  /** In order. */
  find: (targets: readonly SignalTarget[]) => Promise<readonly FoundTarget[]>;
  monotonic: () => number;
};

type Asked = {
  target: SignalTarget;
  settle: { resolve: (found: FoundTarget) => void; reject: (error: unknown) => void };
};

export class TargetLookups {
  readonly #deps: TargetLookupDeps;
  readonly #slugs = new Map<string, { uuid: string; untilMs: number }>();
  #asked: Asked[] = [];
  #isAsking = false;

  constructor(deps: TargetLookupDeps) {
    this.#deps = deps;
  }

  find(target: SignalTarget): Promise<FoundTarget> {
    const known = target.by === "slug" ? this.#slugs.get(keyOf(target)) : undefined;
    if (known !== undefined && known.untilMs > this.#deps.monotonic())
      return Promise.resolve({ uuid: known.uuid });
    return new Promise((resolve, reject) => {
      this.#asked.push({ target, settle: { resolve, reject } });
      if (!this.#isAsking) void this.#ask();
    });
  }

  async #ask(): Promise<void> {
    this.#isAsking = true;
    while (this.#asked.length > 0) {
      await nextTurn();
      const asked = this.#asked.splice(0, BATCH_MAX);
      try {
        this.#settle(asked, await this.#deps.find(asked.map(({ target }) => target)));
      } catch (error) {
        for (const { settle } of asked) settle.reject(error);
      }
    }
    this.#isAsking = false;
  }

  #settle(asked: readonly Asked[], found: readonly FoundTarget[]): void {
    const untilMs = this.#deps.monotonic() + SLUG_KEPT_MS;
    for (const [index, { target, settle }] of asked.entries()) {
      const one = found[index] ?? "unknown";
      if (target.by === "slug" && typeof one !== "string")
        this.#remember(keyOf(target), { uuid: one.uuid, untilMs });
      settle.resolve(one);
    }
  }

  #remember(key: string, known: { uuid: string; untilMs: number }): void {
    this.#slugs.delete(key);
    this.#slugs.set(key, known);
    if (this.#slugs.size <= SLUGS_MAX) return;
    const [oldest = ""] = this.#slugs.keys();
    this.#slugs.delete(oldest);
  }
}

function keyOf({ pingKey, slug }: SlugTarget): string {
  return `${pingKey}/${slug}`;
}
