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

/** A state as it is drawn: running is not a state of its own, but a row with a run in progress is drawn as running. */
export type DrawnState = ShownState | "running";

/** In order of urgency. */
export const SHOWN_STATES: readonly ShownState[] = ["down", "late", "up", "new", "paused"];

/** Numbers are padded to this length, so that text order is number order. */
const DIGITS = 12;

/** The sort key of names: "job-9" before "job-10", case-insensitive. */
export function naturalKey(name: string): string {
  return name.toLowerCase().replaceAll(/\d+/g, (digits) => digits.padStart(DIGITS, "0"));
}

/** How a run, or a missing one, is drawn in the strip of a row. */
export type RunMark = "u" | "l" | "f" | "m" | "r" | "x" | "p";

type Timed = Pick<CheckRow, "state" | "fuse" | "runningSince">;

/** The state at an instant: a check that was up is late from its late instant on. */
export function stateAt({ state, fuse }: Pick<Timed, "state" | "fuse">, now: number): ShownState {
  return state === "up" && fuse !== null && now >= fuse.lateAt && fuse.lateAt < fuse.alertAt ? "late" : state;
}

/** The state that is drawn: a run in progress is shown unless the check is late or down. */
export function drawnAt(row: Timed, now: number): DrawnState {
  const state = stateAt(row, now);
  return row.runningSince !== null && state !== "down" && state !== "late" ? "running" : state;
}

/** The position of a row in a list; smaller values come first. */
export type Place = { rank: number; first: number; name: string; id: string };

/** By urgency: the latest failures, then the next alerts, then the others by name. */
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

/** Whether a row needs attention. */
export function isUrgent(state: ShownState): boolean {
  return state === "down" || state === "late";
}
