// The history of a check for the browser: runs, events, durations, the explanation of an alert, and replayed settings.
import { type Static, Type } from "typebox";
import {
  PERIOD_SECONDS_MAX,
  PERIOD_SECONDS_MIN,
  SCHEDULE_LENGTH_MAX,
  TZ_LENGTH_MAX,
} from "../../core/limits.ts";
import { RULE } from "../check.ts";
import { FIELD_LENGTHS, LOCAL_MINUTE } from "./limits.ts";

export type SignalWord = "success" | "fail" | "start" | "log" | "ign";

export type ShownFlip = {
  id: number;
  at: number;
  from: "new" | "up" | "down" | "paused";
  to: "up" | "down";
  reason: "success" | "fail" | "timeout";
  /** Set when it proved wrong. */
  takenBackAt: number | null;
};

/** A line of the table of runs. `missing`: nothing came until the deadline, so there is no signal and no number. */
export type RunRow = {
  n: number | null;
  outcome: "success" | "fail" | "running" | "missing" | "unseen";
  /** When it ended; of one that runs when it began; of a missing one the deadline. */
  at: number;
  startAt: number | null;
  durationMs: number | null;
  isLate: boolean;
  exitStatus: number | null;
  /** The beginning of its output, in one line; null: it had none, or it lies elsewhere. */
  excerpt: string | null;
  bodySize: number | null;
};

/** `before` of the next page; null: this was the last. */
export type RunsPage = { runs: RunRow[]; before: number | null };

/** How a line of the output compares with that of the last success: the same, new, or gone. */
export type DiffLine = { mark: " " | "+" | "-"; text: string };

export type RunBody = {
  /** As text; null: it cannot be read as text, or not at all just now. */
  text: string | null;
  /** The text as it is shown, without what colours a terminal or moves about on it; null: as it came. */
  plain: string | null;
  size: number;
  isBinary: boolean;
  /** Why it cannot be read. */
  trouble: string | null;
  /** Of a signal by mail: decoded. */
  mail: { subject: string; from: string; text: string; html: string | null } | null;
};

export type FlipDelivery = {
  id: number;
  /** Null: it is gone, or another project's. Its name is what it is called, and never empty. */
  channel: { id: string; kind: string; name: string } | null;
  /** The channel belongs to the project that the check was in then; of that nothing more is told here. */
  isElsewhere: boolean;
  state: "pending" | "sent" | "merged" | "withdrawn" | "skipped" | "dead";
  createdAt: number;
  attemptedAt: number | null;
  settledAt: number | null;
  attempts: number;
  nextTryAt: number | null;
  code: number | null;
  reason: string | null;
};

export type Run = {
  n: number;
  kind: SignalWord;
  at: number;
  startAt: number | null;
  durationMs: number | null;
  exitStatus: number | null;
  rid: string | null;
  scheme: string;
  method: string;
  remoteAddr: string | null;
  ua: string;
  body: RunBody | null;
  /** Against the last success before it; null: it is one of the two, or one of them has no text. */
  diff: { againstN: number; againstAt: number; lines: DiffLine[]; isCut: boolean } | null;
  /** The change that it caused, and who was told. */
  flip: ShownFlip | null;
  deliveries: FlipDelivery[];
  olderN: number | null;
  newerN: number | null;
};

/** A point of the chart of durations; the newest last. */
export type DurationPoint = { at: number; durationMs: number; outcome: "success" | "fail"; n: number | null };

/** Days are summed up, also where single runs are not kept any more. */
export type Durations = { points: DurationPoint[]; days: { day: string; meanMs: number; maxMs: number }[] };

/** A line of the log. */
export type EventRow =
  | {
      type: "signal";
      at: number;
      n: number;
      kind: SignalWord;
      exitStatus: number | null;
      durationMs: number | null;
      source: string;
      excerpt: string | null;
    }
  | ({ type: "flip" } & ShownFlip)
  | {
      type: "event";
      id: number;
      at: number;
      kind: string;
      by: string | null;
      detail: Record<string, unknown>;
    };

export type EventType = EventRow["type"];

/** `before` is what has to be asked for older ones; null: there are none. */
export type EventsPage = { events: EventRow[]; before: number | null };

/** A line of a project's log: the same, with the check that it is about. Signals are told by the checks themselves. */
export type ProjectEvent = Exclude<EventRow, { type: "signal" }> & {
  check: { id: string; name: string; zone: string };
};
/** `before` leads to older ones and is the server's to read: thousands of events can be dated alike. */
export type ProjectEventsPage = { events: ProjectEvent[]; before: string | null };

/** One step on the way to an alert, in the order in which they took place. */
export type ExplanationStep =
  | { kind: "success"; at: number; n: number | null }
  | { kind: "started"; at: number }
  | {
      kind: "expected";
      at: number;
      sentence: string;
      /** Of the check's zone at that instant, and when it changed if that was lately. */
      offsetMinutes: number;
      clockChange: { at: number; beforeMinutes: number } | null;
    }
  | { kind: "failed"; at: number; n: number | null; exitStatus: number | null }
  | { kind: "down"; at: number; rule: "silence" | "overrun" | "failure"; graceSeconds: number }
  | { kind: "up"; at: number }
  | { kind: "takenBack"; at: number }
  | ({ kind: "told"; at: number } & FlipDelivery);

export type Explanation = {
  flip: ShownFlip;
  zone: string;
  steps: ExplanationStep[];
  /** The settings have been changed since, so that what was expected is told as of now. */
  isEditedSince: boolean;
};

const seconds = () => Type.Integer({ minimum: PERIOD_SECONDS_MIN, maximum: PERIOD_SECONDS_MAX });

/** When a check shall expect signals: complete, as a form has it. */
export const ScheduleRequest = Type.Object(
  {
    kind: Type.Enum(["simple", "cron", "oncalendar"]),
    timeoutSeconds: seconds(),
    graceSeconds: seconds(),
    schedule: Type.String({ maxLength: SCHEDULE_LENGTH_MAX }),
    tz: Type.String({ maxLength: TZ_LENGTH_MAX, [RULE]: "zone" }),
  },
  { additionalProperties: false },
);
export type ScheduleRequest = Static<typeof ScheduleRequest>;

/** `warning`: it most likely means something else than was intended; `note`: worth knowing. */
export type ScheduleRemark = { kind: "warning" | "note"; text: string };

/** A schedule while it is being typed. `error` stands instead of sentence and times. */
export type SchedulePreview = (
  | { sentence: string; nextAt: number[]; tz: string; remarks: ScheduleRemark[] }
  | { error: string }
) & {
  /** The expression that stands for a macro such as @daily, and is to replace it; null: it is no macro. */
  expanded: string | null;
  /** Whose language the expression is in, whatever the kind that was asked about; null: nobody has written one. */
  scheduleKind: "cron" | "oncalendar" | null;
};

export type ReplayedAlert = { at: number; reason: "success" | "fail" | "timeout"; untilAt: number | null };

/** What a change of settings would have changed in the past. */
export type Replay = {
  fromAt: number;
  runCount: number;
  before: ReplayedAlert[];
  after: ReplayedAlert[];
  /** Alarms that were right, and those of them that the new settings would have kept to themselves. */
  realCount: number;
  missedCount: number;
  /** A better grace: the shortest under which only the right alarms are left; null: there is nothing to propose. */
  proposedGraceSeconds: number | null;
};

/** A page of a list that goes back in time; `before` is told by the page before it. */
export const PageQuery = Type.Object({
  before: Type.Optional(Type.Integer({ minimum: 0 })),
});
/** Some of these words, separated by commas; absent: all of them. */
const someOf = (words: string) =>
  Type.Optional(Type.String({ maxLength: 40, pattern: `^(${words})(,(${words}))*$` }));
export const EventsQuery = Type.Object({
  before: Type.Optional(Type.Integer({ minimum: 0 })),
  /** Which types to tell. */
  types: someOf("signal|flip|event"),
  /** Of signals, which kinds. */
  signals: someOf("success|fail|start|log|ign"),
});
/** The server knows what that is in a zone. */
const LocalTime = () => Type.Optional(Type.String({ pattern: LOCAL_MINUTE }));

/** Which events of a project: of a type, with some words in them, from a minute to a minute of a zone's clocks. */
const CHOSEN_EVENTS = {
  types: EventsQuery.properties.types,
  text: Type.Optional(Type.String({ maxLength: FIELD_LENGTHS.eventSearch })),
  from: LocalTime(),
  to: LocalTime(),
  zone: Type.Optional(Type.String({ maxLength: TZ_LENGTH_MAX, [RULE]: "zone" })),
};
export const ProjectEventsQuery = Type.Object({
  ...CHOSEN_EVENTS,
  before: Type.Optional(Type.String({ pattern: String.raw`^[0-9]{1,15}(\.[0-9]{1,16}){0,2}$` })),
});
export type ProjectEventsQuery = Static<typeof ProjectEventsQuery>;

/** The same events as a file. */
export const EventsFileQuery = Type.Object({ ...CHOSEN_EVENTS, as: Type.Enum(["csv", "json"]) });
export const ExplainQuery = Type.Object({ flip: Type.Optional(Type.Integer({ minimum: 1 })) });

export type ZoneChoice = {
  name: string;
  /** Older names of the same place: found by a search, accepted, and not offered. */
  formerly: string[];
};

export type Zones = {
  zones: ZoneChoice[];
  /** Accepted and found by a search, and not offered: names without a place, such as Etc/GMT+5. */
  others: string[];
};
