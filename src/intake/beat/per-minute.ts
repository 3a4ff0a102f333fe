// How many of something came in the last minute, told from a total that only grows and is looked at with every beat.
import { MINUTE_MS } from "../../core/instant.ts";

type Look = { ms: number; total: number };

export class PerMinute {
  /** The first one is the newest that is a minute old, if any is: what came since then is counted. */
  #looks: Look[];

  constructor(start: Look) {
    this.#looks = [start];
  }

  /** How many came in the minute before this look; after a longer time without one, as many as came in a minute of it. */
  look(now: Look): number {
    while ((this.#looks[1]?.ms ?? Infinity) <= now.ms - MINUTE_MS) this.#looks.shift();
    const [first = now] = this.#looks;
    this.#looks.push(now);
    const came = now.total - first.total;
    return Math.round((came * MINUTE_MS) / Math.max(MINUTE_MS, now.ms - first.ms));
  }
}
