// The page of one check: what is expected of it, how it has been, and who hears of it.
import type { CheckChange } from "./requests/checks.ts";
import type { CheckRow } from "./check-row.ts";
import type { ToldFlip } from "./history.ts";

/** What a job is expected to do, in a sentence and in instants. */
export type Expectation = {
  /** "At 03:00 every day, Europe/Riga time." */
  sentence: string;
  /** The next times it is expected, at most ten; of a period there is none until a signal has come. */
  nextAt: number[];
};

/** One UTC day of the strip. */
export type DayMark = {
  /** YYYY-MM-DD */
  day: string;
  successCount: number;
  failCount: number;
  /** How long the check was down on that day; null: it went down and up too often since to tell. */
  downMs: number | null;
  /** How long we could not receive: that is not the job's fault, and counts as nothing. */
  unseenMs: number;
  /** It was so long, or at such a time, that the day counts as not observed. */
  isUnseen: boolean;
  /** The check was not there yet. */
  isBefore: boolean;
};

/** A month, or what has passed of it; null: the check was not there, or cannot be told. */
export type MonthDowntime = {
  month: string;
  count: number | null;
  downMs: number | null;
  upShare: number | null;
  /** The check went down and up too often to be counted. */
  isUncounted: boolean;
};

export type UsualDuration = { count: number; lowMs: number; highMs: number; medianMs: number; p95Ms: number };

export type CheckChannel = {
  id: string;
  kind: string;
  /** What it is called; never empty. */
  name: string;
  /** Whether it hears of this check. */
  isOn: boolean;
  /** Why it is not used at the moment; null: it is. */
  disabledReason: string | null;
};

export type CheckPage = {
  /** The UUID of its project. */
  projectId: string;
  row: CheckRow;
  settings: Required<Omit<CheckChange, "channels" | "version">>;
  /** Of the settings; a form sends it with its changes, so that nobody's are overwritten unseen. */
  version: number;
  /** When this was read. The version of a form for several checks, which begins with one of them. */
  readAt: number;
  createdAt: number;
  pingCount: number;
  /** Pings that were received and could not be recorded; they raise no alert. */
  quarantinedCount: number;
  /** Null: there was none, or the log does not go back to it. */
  lastSuccessAt: number | null;
  /** Whether one has ever come. */
  hasSucceeded: boolean;
  addresses: {
    url: string;
    /** By key and slug; null: the project has no key, the check no slug, or another has the same. */
    slugUrl: string | null;
    mail: string | null;
  };
  expectation: Expectation;
  /** The last 90 days, oldest first. */
  days: DayMark[];
  /** Of these days: the share of the time we could see in which it was not down, how often and how long it was. */
  /** The figures are null where the check went down and up too often to be counted, the share also for too little time. */
  ninety: { upShare: number | null; downCount: number | null; downMs: number | null; unseenDays: number };
  /** This month and the two before it, newest first. */
  months: MonthDowntime[];
  usual: UsualDuration | null;
  /** All channels of the project. */
  channels: CheckChannel[];
  /** The newest change to up or down. */
  lastFlip: ToldFlip | null;
  /** When the signal was expected whose absence made it down last; null: it is not down, or for another reason. */
  missedAt: number | null;
};
