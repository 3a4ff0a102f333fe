// How long a check was down within periods of time, from what is kept of its history. A downtime that crosses the end
// of a period counts in both.
import type { Instant } from "../instant.ts";
import type { StoredStatus } from "../machine/state.ts";

/** A stretch of time that statistics are made of: from its first instant up to, but without, its end. */
export type Period = { from: Instant; to: Instant };

/** A change of the stored status: a flip, a pause or a resume. */
export type StatusChange = {
  at: Instant;
  from: StoredStatus;
  to: StoredStatus;
  /** It was an alarm that proved wrong: it has changed nothing. */
  isTakenBack: boolean;
};

export type Downtime = { count: number; durationMs: number };

export type CheckHistory = {
  createdAt: Instant;
  /** Now. */
  status: StoredStatus;
  /** All since the beginning of the first period, oldest first. */
  changes: readonly StatusChange[];
};

/** The downtime in each of the periods; null where the check was not there yet. Nothing after `now` counts. */
export function downtimesOf(
  history: CheckHistory,
  { periods, now }: { periods: readonly Period[]; now: Instant },
): (Downtime | null)[] {
  const spells = downSpells(history, now);
  return periods.map(({ from, to }) => {
    if (history.createdAt >= to) return null;
    const inside = spells
      .map((spell) => Math.min(spell.to, to) - Math.max(spell.from, from))
      .filter((durationMs) => durationMs > 0);
    return { count: inside.length, durationMs: inside.reduce((sum, durationMs) => sum + durationMs, 0) };
  });
}

/** The stretches of being down, in their order; one that began before the first change has no beginning. */
function downSpells({ changes, status }: CheckHistory, now: Instant): Period[] {
  const spells: Period[] = [];
  let downSince: Instant | null = (changes[0]?.from ?? status) === "down" ? -Infinity : null;
  for (const { at, to, isTakenBack } of changes) {
    if (isTakenBack) continue;
    if (to === "down") downSince ??= at;
    else if (downSince !== null) {
      spells.push({ from: downSince, to: at });
      downSince = null;
    }
  }
  return downSince === null ? spells : [...spells, { from: downSince, to: now }];
}
