// A check as the browser's list holds it: small enough for ten thousand of them, with every instant the list needs to
// update itself. The server decides what a state means. The schemas are in overview.ts, which the browser does not load.
import type { CheckRow, ShownState } from "./overview.ts";

/** What a row shows. `late` is the grace period; whether a run is in progress is separate. */
export type {
  ChangedBy,
  CheckRow,
  Fuse,
  RowDetail,
  ShownState,
  SilentChecks,
} from "./overview.ts";

/** A state as it is drawn: running is no state of its own, but a row that runs reads so. */
export type DrawnState = ShownState | "running";

/** The worst first: what needs somebody. */
export const SHOWN_STATES: readonly ShownState[] = ["down", "late", "up", "new", "paused"];

/** Digits are filled up to this, so that text order is number order. */
const DIGITS = 12;

/** What names are ordered by: "job-9" before "job-10", and case does not matter. */
export function naturalKey(name: string): string {
  return name.toLowerCase().replaceAll(/\d+/g, (digits) => digits.padStart(DIGITS, "0"));
}

/** How a run, or its absence, is drawn in the strip of a row. */
export type RunMark = "u" | "l" | "f" | "m" | "r" | "x" | "p";

type Timed = Pick<CheckRow, "state" | "fuse" | "runningSince">;

/** The state at a moment: from its late instant on, what was up reads late. */
export function stateAt({ state, fuse }: Pick<Timed, "state" | "fuse">, now: number): ShownState {
  return state === "up" && fuse !== null && now >= fuse.lateAt && fuse.lateAt < fuse.alertAt ? "late" : state;
}

/** What is drawn: a run in progress is told unless there is something worse to tell. */
export function drawnAt(row: Timed, now: number): DrawnState {
  const state = stateAt(row, now);
  return row.runningSince !== null && state !== "down" && state !== "late" ? "running" : state;
}

/** Where a row stands in a list: the smaller, the further up. */
export type Place = { rank: number; first: number; name: string; id: string };

/** In the order of need: what broke last, then what alerts next, then the others by name. */
export function placeByNeed(row: CheckRow, state: ShownState, name: string): Place {
  const urgency = state === "down" ? -(row.downSince ?? 0) : state === "late" ? (row.fuse?.alertAt ?? 0) : 0;
  return { rank: SHOWN_STATES.indexOf(state), first: urgency, name, id: row.id };
}

export function comparePlaces(a: Place, b: Place): number {
  return a.rank - b.rank || compare(a.first, b.first) || compare(a.name, b.name) || compare(a.id, b.id);
}

function compare<T extends string | number>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Whether a row stands among those that need somebody. */
export function isUrgent(state: ShownState): boolean {
  return state === "down" || state === "late";
}
