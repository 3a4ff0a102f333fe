// What an intake remembers of beats, its own and those of others: since when they follow on each other, how far
// can be seen, who else is there. Time is handed in.
import type { Instant } from "../../core/instant.ts";
import type { Sight } from "../../core/machine/deadline.ts";
import type { Beaten, OpenIntake } from "../../core/machine/intake-beat.ts";
import {
  BEAT_GAP_MS_MAX,
  HOLD_TOLD_AFTER_MS,
  settle,
  settledSight,
  type Settling,
} from "../../core/machine/watermark.ts";

/** Whoever holds the watermark back, and for how long. */
type Hold = { intakeId: string; name: string; behindMs: number };

export class Watch {
  /** Of an instant on the database's clock: see BeatRequest. */
  watchingSinceAt: Instant | null = null;
  #lastAt: Instant | null = null;
  #settling: Settling | null = null;
  #sight: Sight = { watermarkAt: null, blind: [] };
  #others: readonly OpenIntake[] = [];
  readonly #signs = new Map<string, { lastSeq: number; at: Instant }>();

  /** Whether nobody else was there at the last beat. */
  get isAlone(): boolean {
    return this.#others.length === 0;
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
    this.#settling = null;
    this.#sight = { watermarkAt: null, blind: [] };
  }

  /** Takes a beat into account. */
  note({ look, others, sight }: Beaten): void {
    const now = look.databaseAt;
    const isUnbroken = this.#lastAt !== null && now - this.#lastAt <= BEAT_GAP_MS_MAX;
    if (!isUnbroken) this.watchingSinceAt = now;
    this.#lastAt = now;
    this.#settling = settle(this.#settling, { now, newestBeatAt: now });
    this.#sight = settledSight(this.#settling, sight);
    this.#others = others;
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
  const behindMs = look.databaseAt - (sight.watermarkAt ?? look.databaseAt);
  if (behindMs <= HOLD_TOLD_AFTER_MS) return null;
  const holder = others.find(({ watermarkAt }) => watermarkAt === sight.watermarkAt) ?? own;
  return { intakeId: holder.id, name: holder.name, behindMs };
}
