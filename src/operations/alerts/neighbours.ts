// How the other checks of a project are, remembered for a moment: in a storm many messages ask the same, and counting
// ten thousand checks for each of them would be most of the work.
import type { OtherChecks } from "../../core/alerts/message.ts";
import type { Instant } from "../../core/instant.ts";
import { OTHER_CHECKS_LISTED_MAX } from "../../core/limits.ts";
import { findProjectHealth } from "../../store/alerts/message-facts.ts";
import type { Db } from "../../store/db.ts";

const PROJECTS_MAX = 10_000;

export class Neighbours {
  readonly #maxAgeMs: number;
  readonly #known = new Map<number, { at: Instant; health: OtherChecks | null }>();

  /** What was read so long ago is read again; 0 remembers nothing. */
  constructor({ maxAgeMs }: { maxAgeMs: number }) {
    this.#maxAgeMs = maxAgeMs;
  }

  /** The checks of these projects as they were at `now`, or a moment before. */
  async of(db: Db, projectIds: readonly number[], now: Instant): Promise<ReadonlyMap<number, OtherChecks>> {
    const stale = projectIds.filter(
      (id) => Math.abs(now - (this.#known.get(id)?.at ?? -Infinity)) >= this.#maxAgeMs,
    );
    if (stale.length > 0) await this.#read(db, stale, now);
    return new Map(
      projectIds.flatMap((id) => {
        const health = this.#known.get(id)?.health ?? null;
        return health === null ? [] : [[id, health]];
      }),
    );
  }

  async #read(db: Db, projectIds: readonly number[], now: Instant): Promise<void> {
    // One more than is listed, since the check that a message is about may be among them.
    const found = await findProjectHealth(db, { projectIds, listedMax: OTHER_CHECKS_LISTED_MAX + 1 });
    if (this.#known.size + projectIds.length > PROJECTS_MAX) this.#known.clear();
    for (const id of projectIds) this.#known.set(id, { at: now, health: found.get(id) ?? null });
  }
}
