// A check as the browser's list holds it: small enough for ten thousand of them, with every instant the list needs to
// update itself. The server decides what a state means.

/** Who changed something; null: the account no longer exists. */
export type ChangedBy = { kind: "you" } | { kind: "person"; email: string } | { kind: "key" } | null;

/** What a row reads. `late` is the grace time; whether a run is in progress stands beside it. */
export type ShownState = "new" | "up" | "late" | "down" | "paused";

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

/**
 * How the time until an alert is used up: expectation began at `fromAt`, from `lateAt` on the row reads late, and at
 * `alertAt` silence becomes down. From `lateAt` on the browser may show a row that is up as late; down is only ever
 * told by the server.
 */
export type Fuse = { fromAt: number; lateAt: number; alertAt: number };

export type CheckRow = {
  /** The UUID. */
  id: string;
  name: string;
  slug: string;
  tags: string[];
  state: ShownState;
  runningSince: number | null;
  /** A few words: "daily at 03:00, Riga". */
  expected: string;
  lastPingAt: number | null;
  lastDurationMs: number | null;
  /** Null: nothing is awaited. While a run is in progress `alertAt` is its deadline. */
  fuse: Fuse | null;
  /** Set exactly while the check is down, with the reason. */
  downSince: number | null;
  downReason: "fail" | "timeout" | null;
  /** Of the failure that made it down, if it told one. */
  exitStatus: number | null;
  /** How many channels hear of it. */
  channels: number;
  /** Another number after every change. */
  change: number;
  /** Of two versions of a row the one with the larger number counts. */
  readingOrder: number;
};

/** How a run, or its absence, is drawn in the strip of a row. */
export type RunMark = "u" | "l" | "f" | "m" | "r" | "x" | "p";

/** What is only fetched for rows that can be seen. */
export type RowDetail = {
  id: string;
  /**
   * At most 30 letters, oldest first: u success in time, l success after the expected time, f failure, m nothing
   * came, r running, x not observed, p paused.
   */
  beats: string;
  /** At most 28, oldest first. */
  durationsMs: number[];
  p95Ms: number | null;
  /** The first few of the channels that hear of it; how many there are stands in the row. */
  told: RowChannel[];
};

/** A channel as a row names it; `isOff`: it is not used at the moment. */
export type RowChannel = { kind: string; name: string; isOff: boolean };

/** A page of lean rows; `next` is what `after` has to be for the page that follows, null after the last. */
export type RowsPage = { rows: CheckRow[]; next: string | null };

/** A check that was deleted and can be taken back until an instant. */
export type DeletedRow = { id: string; name: string; deletedAt: number; goneAt: number };

/** GET /web/api/projects/:project/gone/:gone: how a check has left a project. */
export type GoneCheck = {
  how: "deleted" | "moved";
  at: number;
  /** Null: nobody who is still known, or the record does not go back to it. */
  by: ChangedBy;
  /** Until when it can be taken back; null: it is gone for good, or has only been moved. */
  goneAt: number | null;
  /** Whether whoever asks may take it back. */
  mayRestore: boolean;
};

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

// GET /web/api/projects/:project/silent: the checks that are down without any channel being notified.

export type SilentChecks = {
  /** How many are down and have no channel in use. */
  downCount: number;
  /** Their ids, at most a bulk change of them. */
  downIds: string[];
  /** The channels of the project that are in use, to be assigned to them. */
  channels: { id: string; name: string }[];
};
