// The state machine as data: every stored state, with and without a run in progress, and everything that can happen
// to it. state-table.test.ts runs each cell through the rules; docs/contribute/state-machine.md prints it.

/**
 * The state of a check before an event. "down" has two rows, because only a missed deadline can be retracted. All but
 * "tolerated" and "recovering" have the default rules; for these, an alert takes two failures or two missed runs in a
 * row, and two successes end it. Before the event there was one failure, or one success after it.
 */
export const SITUATIONS = [
  "new",
  "up",
  "down by failure",
  "down by missed deadline",
  "down, tolerated",
  "up, recovering",
  "paused",
  "paused, manual resume",
] as const;
export type Situation = (typeof SITUATIONS)[number];

export const SIGNALS = ["success", "fail", "start", "log", "ign"] as const;

/** When a signal arrives relative to the deadline of the check. */
export const SIGNAL_TIMINGS = {
  "in time": "at or before the deadline",
  "past, seen": "after the deadline, and everything before it has been applied",
  "past, unseen": "after the deadline, but pings received before it may not have been applied yet",
  late: "replayed, and older than the last success, failure, pause or resume (after a missed deadline: older than the deadline)",
} as const;
export type SignalTiming = keyof typeof SIGNAL_TIMINGS;

/** Events other than signals. */
export const OTHER_EVENTS = {
  deadline: "the deadline passes without a ping",
  "blind deadline": "the same, but pings could not be received for part of the time",
  pause: "a user pauses the check",
  resume: "a user resumes it",
} as const;
export type OtherEvent = keyof typeof OTHER_EVENTS;

/**
 * The notation of a cell: the stored status afterwards; `*` if a run is in progress afterwards; then the flips, in
 * order: `↑` up, `↓` down, with `!` if the alert opens or closes with it, and `!` alone if it does so without a flip.
 * `+` adds another missed run to the history. `⤺` retracts the flip of a missed deadline, `?` adds
 * "not observed" to the history, `✉` sends a notice instead of an alert, `✗` is rejected, `=` changes nothing but the
 * log, and `–` cannot happen because there is no deadline.
 */
export type Cell = string;

type Row = Record<SignalTiming, readonly [Cell, Cell, Cell, Cell, Cell]> & Record<OtherEvent, Cell>;

const NO_DEADLINE = ["–", "–", "–", "–", "–"] as const;
const UNCHANGED = ["=", "=", "=", "=", "="] as const;

/** `idle`: no run in progress; `running`: a start without its end. Signals in the order of SIGNALS. */
export const STATE_TABLE: Record<Situation, { idle: Row; running: Row }> = {
  new: {
    idle: {
      "in time": ["up ↑", "down ↓!", "new*", "=", "="],
      "past, seen": NO_DEADLINE,
      "past, unseen": NO_DEADLINE,
      late: UNCHANGED,
      deadline: "–",
      "blind deadline": "–",
      pause: "paused",
      resume: "✗",
    },
    running: {
      "in time": ["up ↑", "down ↓!", "new*", "=", "="],
      "past, seen": ["up ↓!↑!", "down ↓!", "down* ↓!", "=", "="],
      "past, unseen": ["up ↑ ?", "down ↓! ?", "new* ?", "=", "="],
      late: UNCHANGED,
      deadline: "down* ↓!",
      "blind deadline": "new ✉",
      pause: "paused",
      resume: "✗",
    },
  },
  up: {
    idle: {
      "in time": ["up", "down ↓!", "up*", "=", "="],
      "past, seen": ["up ↓!↑!", "down ↓!", "down* ↓!", "=", "="],
      "past, unseen": ["up ?", "down ↓! ?", "up*", "=", "="],
      late: UNCHANGED,
      deadline: "down ↓!",
      "blind deadline": "up ✉",
      pause: "paused",
      resume: "✗",
    },
    running: {
      "in time": ["up", "down ↓!", "up*", "=", "="],
      "past, seen": ["up ↓!↑!", "down ↓!", "down* ↓!", "=", "="],
      "past, unseen": ["up ?", "down ↓! ?", "up* ?", "=", "="],
      late: UNCHANGED,
      deadline: "down* ↓!",
      "blind deadline": "up ✉",
      pause: "paused",
      resume: "✗",
    },
  },
  "down by failure": {
    idle: {
      "in time": ["up ↑!", "down", "down*", "=", "="],
      "past, seen": NO_DEADLINE,
      "past, unseen": NO_DEADLINE,
      late: UNCHANGED,
      deadline: "–",
      "blind deadline": "–",
      pause: "paused",
      resume: "✗",
    },
    running: {
      "in time": ["up ↑!", "down", "down*", "=", "="],
      "past, seen": NO_DEADLINE,
      "past, unseen": NO_DEADLINE,
      late: UNCHANGED,
      deadline: "–",
      "blind deadline": "–",
      pause: "paused",
      resume: "✗",
    },
  },
  "down by missed deadline": {
    idle: {
      "in time": ["up ↑!", "down", "down*", "=", "="],
      "past, seen": NO_DEADLINE,
      "past, unseen": NO_DEADLINE,
      late: ["up ⤺", "down ↓! ⤺", "down*", "=", "="],
      deadline: "–",
      "blind deadline": "–",
      pause: "paused",
      resume: "✗",
    },
    running: {
      "in time": ["up ↑!", "down", "down*", "=", "="],
      "past, seen": NO_DEADLINE,
      "past, unseen": NO_DEADLINE,
      late: ["up ⤺", "down ↓! ⤺", "down*", "=", "="],
      deadline: "–",
      "blind deadline": "–",
      pause: "paused",
      resume: "✗",
    },
  },
  "down, tolerated": {
    idle: {
      "in time": ["up ↑", "down !", "down*", "=", "="],
      "past, seen": ["up ↑ +", "down ! +", "down* +", "=", "="],
      "past, unseen": ["up ↑ ?", "down ! ?", "down*", "=", "="],
      late: UNCHANGED,
      deadline: "down +",
      "blind deadline": "down ✉",
      pause: "paused",
      resume: "✗",
    },
    running: {
      "in time": ["up ↑", "down !", "down*", "=", "="],
      "past, seen": ["up ↑ +", "down ! +", "down* +", "=", "="],
      "past, unseen": ["up ↑ ?", "down ! ?", "down* ?", "=", "="],
      late: UNCHANGED,
      deadline: "down* +",
      "blind deadline": "down ✉",
      pause: "paused",
      resume: "✗",
    },
  },
  "up, recovering": {
    idle: {
      "in time": ["up !", "down ↓", "up*", "=", "="],
      "past, seen": ["up ↓↑", "down ↓", "down* ↓", "=", "="],
      "past, unseen": ["up ! ?", "down ↓ ?", "up*", "=", "="],
      late: UNCHANGED,
      deadline: "down ↓",
      "blind deadline": "up ✉",
      pause: "paused",
      resume: "✗",
    },
    running: {
      "in time": ["up !", "down ↓", "up*", "=", "="],
      "past, seen": ["up ↓↑", "down ↓", "down* ↓", "=", "="],
      "past, unseen": ["up ! ?", "down ↓ ?", "up* ?", "=", "="],
      late: UNCHANGED,
      deadline: "down* ↓",
      "blind deadline": "up ✉",
      pause: "paused",
      resume: "✗",
    },
  },
  paused: {
    idle: {
      "in time": ["up ↑", "down ↓!", "paused*", "=", "="],
      "past, seen": NO_DEADLINE,
      "past, unseen": NO_DEADLINE,
      late: UNCHANGED,
      deadline: "–",
      "blind deadline": "–",
      pause: "paused",
      resume: "new",
    },
    running: {
      "in time": ["up ↑", "down ↓!", "paused*", "=", "="],
      "past, seen": ["up ↓!↑!", "down ↓!", "down* ↓!", "=", "="],
      "past, unseen": ["up ↑ ?", "down ↓! ?", "paused* ?", "=", "="],
      late: UNCHANGED,
      deadline: "down* ↓!",
      "blind deadline": "paused ✉",
      pause: "paused*",
      resume: "new",
    },
  },
  "paused, manual resume": {
    idle: {
      "in time": UNCHANGED,
      "past, seen": NO_DEADLINE,
      "past, unseen": NO_DEADLINE,
      late: UNCHANGED,
      deadline: "–",
      "blind deadline": "–",
      pause: "paused",
      resume: "new",
    },
    running: {
      "in time": UNCHANGED,
      "past, seen": NO_DEADLINE,
      "past, unseen": NO_DEADLINE,
      late: UNCHANGED,
      deadline: "–",
      "blind deadline": "–",
      pause: "paused*",
      resume: "new",
    },
  },
};

const CELL = /^(=|–|✗|(new|up|down|paused)\*?( !| [↑↓]!?([↑↓]!?)?)?( [⤺+?✉])?)$/u;

/**
 * Whether a cell is written in the notation above.
 *
 * @internal Only tests use it.
 */
export function isCell(text: Cell): boolean {
  return CELL.test(text);
}

/** The table as Markdown: one part for each timing of a signal, one for all other events. */
export function renderStateTable(): string {
  const parts = Object.entries(SIGNAL_TIMINGS).map(([timing, meaning]) => {
    const rows = everyRow((row) => row[timing as SignalTiming]);
    return `**Ping ${timing}**: ${meaning}.\n\n${table([...SIGNALS], rows)}`;
  });
  const events = Object.keys(OTHER_EVENTS) as OtherEvent[];
  const rows = everyRow((row) => events.map((event) => row[event]));
  return [...parts, `**Without a ping**\n\n${table(events, rows)}`].join("\n\n");
}

const ROW_NAMES: Partial<Record<Situation, string>> = {
  "down by failure": "down (failure)",
  "down by missed deadline": "down (missed deadline)",
};

function everyRow(cellsOf: (row: Row) => readonly Cell[]): string[] {
  return SITUATIONS.flatMap((situation) => [
    tableRow(ROW_NAMES[situation] ?? situation, cellsOf(STATE_TABLE[situation].idle)),
    tableRow(`${ROW_NAMES[situation] ?? situation}, running`, cellsOf(STATE_TABLE[situation].running)),
  ]);
}

function table(columns: readonly string[], rows: readonly string[]): string {
  return [tableRow("before", columns), `|${"---|".repeat(columns.length + 1)}`, ...rows].join("\n");
}

function tableRow(head: string, cells: readonly Cell[]): string {
  return `| ${head} | ${cells.join(" | ")} |`;
}
