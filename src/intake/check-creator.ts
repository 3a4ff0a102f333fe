// Creates checks for pings with `create=1`: a few at a time, so that one key leaves room for the others.
import type { PingSettings } from "../core/ping-settings.ts";
import type { SignalTarget } from "../core/signal.ts";
import { ConcurrencyByKey } from "../lib/concurrency-by-key.ts";

/** Concurrent creations of checks; one connection is left for lookups, and one key leaves room for the others. */
const CREATES_MAX = 3;
const CREATES_PER_KEY_MAX = 2;
/** Beyond this number per key, and after this time, the sender is asked to retry. */
const CREATES_WAITING_PER_KEY_MAX = 1_000;
const CREATE_WAIT_MS_MAX = 1_000;
/** Ping keys that are remembered as valid. All other keys share one quota, so that made-up keys gain nothing. */
const VALID_KEYS_MAX = 10_000;
/** The key of that shared quota. No ping key is empty. */
const UNVERIFIED = "";

export type CreateCheck = (
  target: SignalTarget,
  settings: PingSettings,
) => Promise<"created" | "exists" | "unknown">;

export type Created = "created" | "exists" | "unknown" | "busy";

export class CheckCreator {
  readonly #deps: { create: CreateCheck; onError: (error: unknown, what: string) => void };
  readonly #creates = new ConcurrencyByKey({
    runningMax: CREATES_MAX,
    perKeyMax: CREATES_PER_KEY_MAX,
    waitingPerKeyMax: CREATES_WAITING_PER_KEY_MAX,
  });
  /** Ping keys that this process has seen to be valid. The most recently used is last. */
  readonly #validKeys = new Set<string>();

  constructor(deps: { create: CreateCheck; onError: (error: unknown, what: string) => void }) {
    this.#deps = deps;
  }

  async create(target: SignalTarget, settings: PingSettings): Promise<Created> {
    const isValid = target.by === "slug" && this.#validKeys.has(target.pingKey);
    const end = await this.#creates.begin(isValid ? target.pingKey : UNVERIFIED, {
      withinMs: CREATE_WAIT_MS_MAX,
    });
    if (end === null) return "busy";
    try {
      const made = await this.#deps.create(target, settings);
      if (made !== "unknown") this.noteValidKey(target);
      return made;
    } catch (error) {
      this.#deps.onError(error, "creating a check");
      return "busy";
    } finally {
      end();
    }
  }

  /** The key of the target belongs to a project. */
  noteValidKey(target: SignalTarget): void {
    if (target.by !== "slug") return;
    this.#validKeys.delete(target.pingKey);
    this.#validKeys.add(target.pingKey);
    if (this.#validKeys.size <= VALID_KEYS_MAX) return;
    const [oldest = ""] = this.#validKeys;
    this.#validKeys.delete(oldest);
  }
}
