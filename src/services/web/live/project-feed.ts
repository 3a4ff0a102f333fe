// What the watchers of one project still have to be told: rows that have changed, newest version of each, in portions.
// It knows which checks the project has, so that one that has gone can be told.
import type { LiveMessage } from "../../../contract/web/live.ts";
import type { Instant } from "../../../core/instant.ts";
import type { LeanCheck } from "../../../store/checks/check-rows.ts";
import { rowsOf } from "../checks/rows.ts";

/** So many rows are told at once: a burst at the full hour is spread over a few seconds. */
const PORTION = 1_000;

export class ProjectFeed {
  /** Null until it is known which checks there are. */
  #known: Set<string> | null = null;
  readonly #pending = new Map<string, LeanCheck>();
  readonly #removed = new Set<string>();
  /** What went between the reading of a page and the first look is told by the number of checks alone. */
  #isCountDue = false;
  /** What was told, for as long as it may be read again. */
  readonly #told = new Map<string, Pick<LeanCheck, "change" | "lastXid">>();

  /** Takes rows that were read as changed; those that were told already are left out. */
  take(checks: readonly LeanCheck[]): void {
    for (const check of checks) {
      this.#known?.add(check.uuid);
      if (this.#told.get(check.uuid)?.change !== check.change) this.#pending.set(check.uuid, check);
    }
  }

  /** Whether the project has another number of checks than it should have by what is known. */
  isOff(count: number): boolean {
    return this.#known?.size !== count;
  }

  /** Compares with the names of all checks; returns those that nobody here has seen. */
  compare(names: ReadonlySet<string>): string[] {
    const known = this.#known;
    this.#known = new Set(names);
    if (known === null) {
      this.#isCountDue = true;
      return [];
    }
    for (const uuid of known) {
      if (names.has(uuid)) continue;
      this.#removed.add(uuid);
      this.#pending.delete(uuid);
    }
    return [...names].filter((uuid) => !known.has(uuid));
  }

  /** The next portion, those that need somebody first; null: there is nothing to tell. */
  next(total: number, now: Instant): LiveMessage | null {
    if (this.#pending.size === 0 && this.#removed.size === 0 && !this.#isCountDue) return null;
    this.#isCountDue = false;
    const urgent = [...this.#pending.values()].toSorted((one, other) => urgency(one) - urgency(other));
    const portion = urgent.slice(0, PORTION);
    for (const { uuid, change, lastXid } of portion) {
      this.#pending.delete(uuid);
      this.#told.set(uuid, { change, lastXid });
    }
    const removed = [...this.#removed];
    this.#removed.clear();
    return { name: "rows", data: { rows: rowsOf(portion, now), removed, total } };
  }

  /** Whether everything that was taken has been told. */
  get isDrained(): boolean {
    return this.#pending.size === 0;
  }

  /** Forgets what cannot be read again, because the cursor has passed it. */
  forgetBefore(cursor: number): void {
    for (const [uuid, { lastXid }] of this.#told) if (lastXid < cursor) this.#told.delete(uuid);
  }
}

function urgency({ state }: LeanCheck): number {
  return state.status === "down" ? 0 : 1;
}
