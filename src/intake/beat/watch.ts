// What an intake remembers of beats, its own and those of others: since when they follow on each other, how far
// can be seen, who else is there. Time is handed in.
import type { Instant } from "../../core/instant.ts";
import type { Sight } from "../../core/machine/deadline.ts";
import type { Beaten } from "../../core/machine/intake-beat.ts";
import { BEAT_GAP_MS_MAX, HOLD_TOLD_AFTER_MS, settledSight } from "../../core/machine/watermark.ts";
import { BlindTimes } from "./blind-times.ts";

/** Whoever holds the watermark back, and for how long. */
type Hold = { intakeId: string; name: string; behindMs: number };

const NOTHING_SEEN: Sight = { watermarkAt: null, blind: [] };

export class Watch {
  /** Of an instant on the database's clock: see BeatRequest. */
  watchingSinceAt: Instant | null = null;
  #lastAt: Instant | null = null;
  #sight = NOTHING_SEEN;
  #isAlone: boolean;
  readonly #blind = new BlindTimes();
  readonly #signs = new Map<string, { lastSeq: number; at: Instant }>();

  /** `isAlone`: as far as is known before the first beat. */
  constructor({ isAlone }: { isAlone: boolean }) {
    this.#isAlone = isAlone;
  }

  /** Whether nobody else was there at the last beat. */
  get isAlone(): boolean {
    return this.#isAlone;
  }

  /** The number of the blind time after which the next beat has to ask. */
  get blindAfterId(): number {
    return this.#blind.afterId;
  }

  /** As of the last beat. */
  get sight(): Sight {
    return this.#sight;
  }

  /** When others were last seen to record something. */
  signs(): Map<string, Instant> {
    return new Map([...this.#signs].map(([id, { at }]) => [id, at]));
  }

  /** The database is not the one it was, or has forgotten something: silence is not believed for a while. */
  startOver(): void {
    this.watchingSinceAt = null;
    this.#lastAt = null;
    this.#sight = NOTHING_SEEN;
    this.#blind.forgetAll();
  }

  /** Takes a beat into account. */
  note({ look, others, sight, freshSinceAt }: Beaten): void {
    const now = look.databaseAt;
    const isComplete = this.#blind.note(sight.blind, now);
    // The database has forgotten something: everything is asked for again.
    if (!isComplete) this.startOver();
    const isUnbroken = this.#lastAt !== null && now - this.#lastAt <= BEAT_GAP_MS_MAX;
    if (!isUnbroken) this.watchingSinceAt = now;
    this.#lastAt = now;
    this.#sight = isComplete
      ? settledSight({ lookedAt: now, freshSinceAt }, { ...sight, blind: this.#blind.all() })
      : NOTHING_SEEN;
    this.#isAlone = others.length === 0;
    const ids = new Set(others.map(({ id }) => id));
    for (const id of this.#signs.keys()) if (!ids.has(id)) this.#signs.delete(id);
    for (const { id, lastSeq, beatAt } of others) {
      const known = this.#signs.get(id);
      if (known?.lastSeq !== lastSeq)
        this.#signs.set(id, { lastSeq, at: known === undefined ? beatAt : now });
    }
  }
}

/** Who has been holding back the watermark for so long that the operator should know; null when nobody. */
export function holdOf({ look, others, sight }: Beaten, own: { id: string; name: string }): Hold | null {
  const behindMs = look.databaseAt - sight.watermarkAt;
  if (behindMs <= HOLD_TOLD_AFTER_MS) return null;
  const holder = others.find(({ watermarkAt }) => watermarkAt === sight.watermarkAt) ?? own;
  return { intakeId: holder.id, name: holder.name, behindMs };
}
