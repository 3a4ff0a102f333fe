// Settles what has been sent: whatever ends while a transaction is under way is settled by the next one, so that
// thousands of messages do not need thousands of commits. What cannot be settled is sent again when its claim ends.
import { setTimeout as sleep } from "node:timers/promises";
import { type Instant, SECOND_MS } from "../../core/instant.ts";
import { DELIVERY_LEASE_MS } from "../../core/limits.ts";
import type { Log } from "../../lib/log.ts";
import { type Ended, settleClaims, type Settled } from "../../operations/alerts/settle-deliveries.ts";
import type { Database } from "../../store/db.ts";

/** Messages that one transaction settles. */
const BATCH_MAX = 100;
const PAUSE_MS = SECOND_MS;

type Waiting = { ended: Ended; sinceMs: number; done: (settled: Settled | null) => void };

export class Settling {
  readonly #database: Database;
  readonly #log: Log;
  readonly #now: () => Instant;
  #waiting: Waiting[] = [];
  #isRunning = false;

  constructor({ database, log, now }: { database: Database; log: Log; now: () => Instant }) {
    this.#database = database;
    this.#log = log;
    this.#now = now;
  }

  /** Resolves when it is settled; null: it could not be, and whoever finds it sends it again. */
  settle(ended: Ended): Promise<Settled | null> {
    return new Promise((done) => {
      this.#waiting.push({ ended, sinceMs: performance.now(), done });
      if (!this.#isRunning) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, BATCH_MAX);
      if (await this.#settled(batch)) continue;
      // One that the database refuses must not keep the others from being settled.
      for (const one of batch) if (!(await this.#settled([one]))) this.#putBack(one);
      if (this.#waiting.length > 0) await sleep(PAUSE_MS);
    }
    this.#isRunning = false;
  }

  async #settled(batch: readonly Waiting[]): Promise<boolean> {
    try {
      const ended = batch.map((one) => one.ended);
      const settled = await settleClaims(this.#database, ended, { now: this.#now() });
      for (const [index, { done }] of batch.entries()) done(settled[index] ?? null);
      return true;
    } catch (error) {
      this.#log.error(
        { err: error, count: batch.length },
        "could not save the results of sent notifications",
      );
      return false;
    }
  }

  #putBack(one: Waiting): void {
    if (performance.now() - one.sinceMs < DELIVERY_LEASE_MS) this.#waiting.push(one);
    else one.done(null);
  }
}
