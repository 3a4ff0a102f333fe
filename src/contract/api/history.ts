// The history of a check: runs, events, durations, availability, explanations of alerts, and what other settings would
// have done. Also schedules and time zones.
import { type Static, Type } from "typebox";
import {
  PERIOD_SECONDS_MAX,
  PERIOD_SECONDS_MIN,
  SCHEDULE_LENGTH_MAX,
  TZ_LENGTH_MAX,
} from "../../core/limits.ts";
import { RULE } from "../check.ts";
import { FIELD_LENGTHS, LOCAL_MINUTE } from "./limits.ts";
import { RULE_CHANGES } from "./policies.ts";
import { route } from "./route.ts";
import { Cursor, CursorQuery, nullable, Time, UuidText } from "./types.ts";

const PingKind = Type.Enum(["success", "fail", "start", "log", "ign"], {
  description: "`ign` is a ping that was received and ignored, because of its method or by keyword filters.",
});
export type PingKind = Static<typeof PingKind>;

const FlipReason = Type.Enum(["success", "fail", "timeout", "tooFast", "tooOften"]);

export const Flip = Type.Object(
  {
    id: Type.Integer(),
    at: Time,
    from: Type.Enum(["new", "up", "down", "paused"]),
    to: Type.Enum(["up", "down"]),
    reason: FlipReason,
    retractedAt: nullable(
      Time,
      "When the change was retracted, because a ping turned out to have arrived in time.",
    ),
  },
  { description: "A status change of a check." },
);
export type Flip = Static<typeof Flip>;

const RunNumber = Type.Integer({ description: "The number of the ping." });
const DurationMs = nullable(Type.Integer(), "In milliseconds. Null if the start of the run is unknown.");
const ExitStatus = nullable(Type.Integer());

export const RunRow = Type.Object({
  n: nullable(Type.Integer(), "The number of the ping. Null if there was none."),
  outcome: Type.Enum(["success", "fail", "running", "missing", "unmonitored"], {
    description:
      "`missing`: no ping before the deadline. `unmonitored`: the server could not receive pings when one was expected.",
  }),
  at: Type.Integer({
    description:
      "When the run ended; for a running one, when it started; for a missing one, the deadline. Unix timestamp in milliseconds.",
  }),
  startAt: nullable(Time),
  durationMs: DurationMs,
  isLate: Type.Boolean({ description: "Whether it succeeded after the expected time." }),
  exitStatus: ExitStatus,
  excerpt: nullable(
    Type.String(),
    "Beginning of the output in one line. Null if there is none, or it is stored elsewhere.",
  ),
  bodySize: nullable(Type.Integer(), "Size of the output in bytes."),
});
export type RunRow = Static<typeof RunRow>;

const RunsPage = Type.Object({ runs: Type.Array(RunRow), next: Cursor });
export type RunsPage = Static<typeof RunsPage>;

export const DiffLine = Type.Object({
  mark: Type.Enum([" ", "+", "-"], { description: "Unchanged, added, or removed." }),
  text: Type.String(),
});
export type DiffLine = Static<typeof DiffLine>;

export const RunBody = Type.Object({
  text: nullable(Type.String(), "The output, if it is text and can be read now."),
  plain: nullable(Type.String(), "The text without terminal control sequences. Null if it has none."),
  size: Type.Integer({ description: "In bytes." }),
  isBinary: Type.Boolean(),
  error: nullable(Type.String(), "Why the output cannot be read now."),
  email: nullable(
    Type.Object({
      subject: Type.String(),
      from: Type.String(),
      text: Type.String(),
      html: nullable(Type.String()),
    }),
    "The decoded message of a ping by email.",
  ),
});
export type RunBody = Static<typeof RunBody>;

export const FlipDelivery = Type.Object({
  id: Type.Integer(),
  channel: nullable(
    Type.Object({
      id: UuidText,
      kind: Type.String(),
      name: Type.String({ description: "The name, or a description of a channel without a name." }),
    }),
    "Null if the channel was deleted or belongs to another project.",
  ),
  isInOtherProject: Type.Boolean({
    description: "Whether the channel belongs to the project that the check was in at that time.",
  }),
  state: Type.Enum(["pending", "sent", "merged", "withdrawn", "skipped", "dead"], {
    description:
      "`pending`: not sent yet. `sent`: accepted by the receiver. `merged`: sent as part of a later message. `withdrawn`: canceled because it no longer applied. `skipped`: the channel is not set up for this type of message. `dead`: failed permanently.",
  }),
  attempts: Type.Integer({ description: "Number of delivery attempts." }),
  createdAt: Time,
  attemptedAt: nullable(Time),
  nextAttemptAt: nullable(Time),
  settledAt: nullable(Time),
  responseCode: nullable(Type.Integer(), "Status code of the receiver's response."),
  reason: nullable(Type.String(), "Why the message was not sent, or has not been sent yet."),
});
export type FlipDelivery = Static<typeof FlipDelivery>;

export const Run = Type.Object({
  n: RunNumber,
  kind: PingKind,
  at: Time,
  startAt: nullable(Time),
  durationMs: DurationMs,
  exitStatus: ExitStatus,
  rid: nullable(Type.String(), "The run ID that was sent with the ping."),
  scheme: Type.String({ description: "`http`, `https`, or `email`." }),
  method: Type.String(),
  remoteAddr: nullable(Type.String()),
  ua: Type.String({ description: "The user agent." }),
  body: nullable(RunBody),
  diff: nullable(
    Type.Object({
      againstN: Type.Integer(),
      againstAt: Time,
      lines: Type.Array(DiffLine),
      isTruncated: Type.Boolean(),
    }),
    "Comparison of the output with that of the last success before it, if both are text.",
  ),
  flip: nullable(Flip, "The status change that the ping caused."),
  deliveries: Type.Array(FlipDelivery, { description: "The notifications about the status change." }),
  olderN: nullable(Type.Integer()),
  newerN: nullable(Type.Integer()),
});
export type Run = Static<typeof Run>;

const Durations = Type.Object({
  points: Type.Array(
    Type.Object({
      at: Time,
      durationMs: Type.Integer(),
      outcome: Type.Enum(["success", "fail"]),
      n: nullable(Type.Integer()),
    }),
    { description: "The latest runs, oldest first." },
  ),
  days: Type.Array(Type.Object({ day: Type.String(), meanMs: Type.Integer(), maxMs: Type.Integer() }), {
    description: "Totals per UTC day, also of days whose single runs are no longer stored.",
  }),
});
export type Durations = Static<typeof Durations>;
export type DurationPoint = Durations["points"][number];

export const PingEvent = Type.Object({
  type: Type.Literal("ping"),
  at: Time,
  n: Type.Integer(),
  kind: PingKind,
  exitStatus: ExitStatus,
  durationMs: DurationMs,
  source: Type.String({ description: "How the ping was sent, and from where." }),
  excerpt: nullable(Type.String()),
});
export const FlipEvent = Type.Object({ type: Type.Literal("flip"), ...Flip.properties });
export const OtherEvent = Type.Object({
  type: Type.Literal("event"),
  id: Type.Integer(),
  at: Time,
  kind: Type.String({ description: "Such as `paused`, `resumed`, `edited`, or `not_observed`." }),
  by: nullable(Type.String(), "Email address of the account that did it."),
  detail: Type.Record(Type.String(), Type.Unknown()),
});

export const EventRow = Type.Union([PingEvent, FlipEvent, OtherEvent]);
export type EventRow = Static<typeof EventRow>;
export type EventType = EventRow["type"];

const EventsPage = Type.Object({ events: Type.Array(EventRow), next: Cursor });
export type EventsPage = Static<typeof EventsPage>;

const EventCheck = Type.Object({ id: UuidText, name: Type.String(), zone: Type.String() });
export const ProjectEvent = Type.Union([
  Type.Object({ ...FlipEvent.properties, check: EventCheck }),
  Type.Object({ ...OtherEvent.properties, check: EventCheck }),
]);
export type ProjectEvent = Static<typeof ProjectEvent>;

const ProjectEventsPage = Type.Object({ events: Type.Array(ProjectEvent), next: Cursor });
export type ProjectEventsPage = Static<typeof ProjectEventsPage>;

const step = <const Kind extends string>(kind: Kind) => ({ kind: Type.Literal(kind), at: Time });

export const ExplanationStep = Type.Union([
  Type.Object({ ...step("success"), n: nullable(Type.Integer()) }),
  Type.Object(step("started")),
  Type.Object({
    ...step("expected"),
    sentence: Type.String(),
    offsetMinutes: Type.Integer({ description: "UTC offset of the check's time zone at that time." }),
    clockChange: nullable(
      Type.Object({ at: Time, beforeMinutes: Type.Integer() }),
      "The last change of that offset, if it was recent.",
    ),
  }),
  Type.Object({ ...step("failed"), n: nullable(Type.Integer()), exitStatus: ExitStatus }),
  Type.Object({
    ...step("down"),
    rule: Type.Enum(["silence", "overrun", "failure"]),
    graceSeconds: Type.Integer(),
  }),
  Type.Object(step("up")),
  Type.Object(step("retracted")),
  Type.Object({ ...step("notified"), ...FlipDelivery.properties }),
]);
export type ExplanationStep = Static<typeof ExplanationStep>;

export const Explanation = Type.Object({
  flip: Flip,
  zone: Type.String(),
  steps: Type.Array(ExplanationStep),
  isEditedSince: Type.Boolean({
    description:
      "Whether the settings were changed since. The expected time is calculated with the current settings.",
  }),
});
export type Explanation = Static<typeof Explanation>;

const seconds = () => Type.Integer({ minimum: PERIOD_SECONDS_MIN, maximum: PERIOD_SECONDS_MAX });

export const ScheduleRequest = Type.Object(
  {
    kind: Type.Enum(["simple", "cron", "oncalendar"]),
    timeoutSeconds: seconds(),
    graceSeconds: seconds(),
    schedule: Type.String({ maxLength: SCHEDULE_LENGTH_MAX }),
    tz: Type.String({ maxLength: TZ_LENGTH_MAX, [RULE]: "zone" }),
  },
  { additionalProperties: false, description: "When a check expects pings." },
);
export type ScheduleRequest = Static<typeof ScheduleRequest>;

const ScheduleRemark = Type.Object({
  kind: Type.Enum(["warning", "note"], {
    description: "`warning`: the schedule most likely does not mean what was intended.",
  }),
  text: Type.String(),
});
export type ScheduleRemark = Static<typeof ScheduleRemark>;

const PREVIEW_FIELDS = {
  expanded: nullable(Type.String(), "The expression that replaces a macro such as `@daily`."),
  scheduleKind: nullable(
    Type.Enum(["cron", "oncalendar"]),
    "The syntax of the expression. Null if there is none.",
  ),
};
const SchedulePreview = Type.Union([
  Type.Object({
    sentence: Type.String(),
    nextAt: Type.Array(Time),
    tz: Type.String(),
    remarks: Type.Array(ScheduleRemark),
    ...PREVIEW_FIELDS,
  }),
  Type.Object({ error: Type.String(), ...PREVIEW_FIELDS }),
]);
export type SchedulePreview = Static<typeof SchedulePreview>;

const ReplayRequest = Type.Partial(Type.Object({ ...ScheduleRequest.properties, ...RULE_CHANGES }), {
  additionalProperties: false,
});
export type ReplayRequest = Static<typeof ReplayRequest>;

const ReplayedAlert = Type.Object({ at: Time, reason: FlipReason, untilAt: nullable(Time) });
export type ReplayedAlert = Static<typeof ReplayedAlert>;

const Replay = Type.Object({
  fromAt: Time,
  runCount: Type.Integer(),
  before: Type.Array(ReplayedAlert, { description: "Alerts with the current settings." }),
  after: Type.Array(ReplayedAlert, { description: "Alerts with the given settings." }),
  realCount: Type.Integer({ description: "Number of alerts that were justified." }),
  missedCount: Type.Integer({
    description: "Number of justified alerts that the given settings would not have raised.",
  }),
  proposedGraceSeconds: nullable(
    Type.Integer(),
    "The shortest grace period with which only justified alerts are raised. Null if there is nothing to propose.",
  ),
});
export type Replay = Static<typeof Replay>;

const Zones = Type.Object({
  zones: Type.Array(
    Type.Object({
      name: Type.String(),
      aliases: Type.Array(Type.String(), { description: "Older names of the same zone." }),
    }),
  ),
  others: Type.Array(Type.String(), {
    description: "Other accepted names, which do not name a place, such as `Etc/GMT+5`.",
  }),
});
export type Zones = Static<typeof Zones>;
export type ZoneChoice = Zones["zones"][number];

// Availability.

export const DayMark = Type.Object({
  day: Type.String({ description: "UTC day, as YYYY-MM-DD." }),
  successCount: Type.Integer(),
  failCount: Type.Integer(),
  downMs: nullable(Type.Integer(), "Null if the check went down too often to be counted."),
  unmonitoredMs: Type.Integer({ description: "How long the server could not receive pings." }),
  isUnmonitored: Type.Boolean({
    description: "Whether the day counts as not monitored, because of an outage of the server.",
  }),
  isBeforeCreation: Type.Boolean(),
});
export type DayMark = Static<typeof DayMark>;

const UpShare = nullable(
  Type.Number({ minimum: 0, maximum: 1 }),
  "Share of the monitored time in which the check was not down, from 0 to 1. Null if it is unknown.",
);

export const MonthDowntime = Type.Object({
  month: Type.String({ description: "As YYYY-MM." }),
  count: nullable(Type.Integer(), "How often the check went down. Null if the check did not exist yet."),
  downMs: nullable(Type.Integer()),
  upShare: UpShare,
  isUncounted: Type.Boolean({ description: "Whether the check went down too often to be counted." }),
});
export type MonthDowntime = Static<typeof MonthDowntime>;

export const Availability = Type.Object({
  days: Type.Array(DayMark, { description: "The last 90 days, oldest first." }),
  last90Days: Type.Object({
    upShare: UpShare,
    downCount: nullable(Type.Integer(), "Null if the check went down too often to be counted."),
    downMs: nullable(Type.Integer(), "Null if the check went down too often to be counted."),
    unmonitoredDays: Type.Integer(),
  }),
  months: Type.Array(MonthDowntime, { description: "This month and the two before it, newest first." }),
});
export type Availability = Static<typeof Availability>;

// Waiting for the first ping.

export const SetupPing = Type.Object({
  n: Type.Integer(),
  at: Time,
  kind: Type.Enum(["success", "start", "fail", "log", "ignored"]),
  by: Type.Enum(["http", "email"]),
  method: Type.String(),
  remoteAddr: nullable(Type.String()),
  ua: Type.String({ description: "The user agent." }),
});
export type SetupPing = Static<typeof SetupPing>;

export const UnmatchedPing = Type.Object({
  at: Time,
  method: Type.String(),
  address: Type.String({ description: "Host and path of the request, truncated." }),
  remoteAddr: nullable(Type.String()),
  ua: Type.String({ description: "The user agent." }),
  text: Type.String({ description: "What is wrong with the request, and how to fix it." }),
});
export type UnmatchedPing = Static<typeof UnmatchedPing>;

const CheckSetup = Type.Object({
  now: Time,
  channelCount: Type.Integer({ description: "Number of channels that the check notifies." }),
  pings: Type.Array(SetupPing, { description: "The latest pings, newest first." }),
  unmatched: Type.Array(UnmatchedPing, {
    description: "Recent requests that look like failed attempts to ping this check, newest first.",
  }),
  curl: Type.String({ description: "A command that sends a ping." }),
  hints: Type.Array(Type.String()),
});
export type CheckSetup = Static<typeof CheckSetup>;

// Queries.

/** Some of these words, separated by commas. */
const someOf = (words: string, description: string) =>
  Type.Optional(Type.String({ maxLength: 40, pattern: `^(${words})(,(${words}))*$`, description }));

const EventsQuery = Type.Object(
  {
    ...CursorQuery.properties,
    types: someOf("ping|flip|event", "Types of events, separated by commas. Default: all."),
    pingKinds: someOf("success|fail|start|log|ign", "Kinds of pings, separated by commas. Default: all."),
  },
  { additionalProperties: false },
);

const localTime = (description: string) =>
  Type.Optional(
    Type.String({ pattern: LOCAL_MINUTE, description: `${description}, such as 2026-11-16T12:00.` }),
  );

const CHOSEN_EVENTS = {
  types: EventsQuery.properties.types,
  text: Type.Optional(
    Type.String({
      maxLength: FIELD_LENGTHS.eventSearch,
      description: "Only events whose check name or text contains this.",
    }),
  ),
  from: localTime("The first minute"),
  to: localTime("The last minute"),
  zone: Type.Optional(
    Type.String({
      maxLength: TZ_LENGTH_MAX,
      [RULE]: "zone",
      description: "Time zone of `from` and `to`. Default: UTC.",
    }),
  ),
};
const EventsFileQuery = Type.Object(CHOSEN_EVENTS, { additionalProperties: false });
export type EventsFileQuery = Static<typeof EventsFileQuery>;
const ProjectEventsQuery = Type.Object(
  {
    ...CHOSEN_EVENTS,
    cursor: Type.Optional(
      Type.String({
        pattern: String.raw`^[0-9]{1,15}(\.[0-9]{1,16}){0,2}$`,
        description: "The `next` of the previous page.",
      }),
    ),
  },
  { additionalProperties: false },
);

const ExplainQuery = Type.Object(
  {
    flip: Type.Optional(
      Type.Integer({
        minimum: 1,
        description: "ID of the status change. Default: the latest change to down, or else the latest.",
      }),
    ),
  },
  { additionalProperties: false },
);

const CHECK = "/checks/{check}";
const EVENTS = "/projects/{project}/events";
const SCHEDULE_EXAMPLE = {
  kind: "cron",
  timeoutSeconds: 86_400,
  graceSeconds: 3_600,
  schedule: "0 3 * * *",
  tz: "Europe/Riga",
};

/** Common to all routes of a check's history. */
const read = { method: "GET", access: "view", keys: "readWrite", tag: "History" } as const;

export const historyRoutes = {
  listRuns: route({
    ...read,
    path: `${CHECK}/runs`,
    summary: "List runs",
    description:
      "Lists the runs of a check, newest first, including the current run and missed runs. Runs are stored as long as their pings are.",
    query: CursorQuery,
    success: { status: 200, description: "A page of runs.", schema: RunsPage },
  }),
  getRun: route({
    ...read,
    path: `${CHECK}/runs/{run}`,
    summary: "Get a run",
    description:
      "Returns a ping with its output, a comparison with the output of the last success, and the status change and notifications it caused.",
    success: { status: 200, description: "The run.", schema: Run },
  }),
  getRunBody: route({
    ...read,
    path: `${CHECK}/runs/{run}/body`,
    summary: "Download the output of a run",
    description: "Returns the request body, or the email message, as it was received.",
    success: {
      status: 200,
      description: "The output.",
      schema: Type.String({ format: "binary" }),
      type: "application/octet-stream",
    },
  }),
  listDurations: route({
    ...read,
    path: `${CHECK}/durations`,
    summary: "List durations",
    success: { status: 200, description: "Durations of runs in the last 90 days.", schema: Durations },
  }),
  getAvailability: route({
    ...read,
    path: `${CHECK}/availability`,
    summary: "Get availability",
    success: {
      status: 200,
      description: "Availability per day and month.",
      schema: Availability,
    },
  }),
  listEvents: route({
    ...read,
    path: `${CHECK}/events`,
    summary: "List events of a check",
    description: "Lists pings, status changes, and other events of a check, newest first.",
    query: EventsQuery,
    success: { status: 200, description: "A page of events.", schema: EventsPage },
  }),
  explainAlert: route({
    ...read,
    path: `${CHECK}/explanation`,
    summary: "Explain an alert",
    description: "Returns the steps that led to a status change, and the notifications about it.",
    query: ExplainQuery,
    success: { status: 200, description: "The explanation.", schema: Explanation },
  }),
  replayCheck: route({
    ...read,
    method: "POST",
    path: `${CHECK}/replay`,
    summary: "Try out settings",
    description:
      "Returns the alerts that a check would have raised in the last 90 days with another schedule or policy. Fields that are not given stay the same; a field of the policy that is null is inherited. Nothing is changed.",
    readsOnly: true,
    body: ReplayRequest,
    bodyExample: { ...SCHEDULE_EXAMPLE, failures: { count: 2, of: 3 } },
    success: { status: 200, description: "The alerts.", schema: Replay },
  }),
  getCheckSetup: route({
    ...read,
    path: `${CHECK}/setup`,
    summary: "Get the setup status of a check",
    description:
      "Returns the latest pings of a check, and recent requests that look like failed attempts to ping it.",
    success: { status: 200, description: "The setup status.", schema: CheckSetup },
  }),
  listProjectEvents: route({
    ...read,
    path: EVENTS,
    summary: "List events of a project",
    description:
      "Lists status changes and other events of the checks of a project, newest first. With `text`, a page can be short or empty even if it is not the last one.",
    query: ProjectEventsQuery,
    success: { status: 200, description: "A page of events.", schema: ProjectEventsPage },
  }),
  exportEventsCsv: route({
    ...read,
    path: `${EVENTS}.csv`,
    summary: "Export events as CSV",
    query: EventsFileQuery,
    success: {
      status: 200,
      description: "The events, newest first.",
      schema: Type.String(),
      type: "text/csv; charset=utf-8",
    },
  }),
  exportEventsJson: route({
    ...read,
    path: `${EVENTS}.json`,
    summary: "Export events as JSON",
    query: EventsFileQuery,
    success: {
      status: 200,
      description: "The events, newest first.",
      schema: Type.Object({
        events: Type.Array(Type.Record(Type.String(), Type.Unknown())),
        isComplete: Type.Boolean({ description: "False if there are older events that were not searched." }),
      }),
    },
  }),
  previewSchedule: route({
    method: "POST",
    path: "/schedules/preview",
    access: "account",
    keys: "readOnly",
    tag: "Checks",
    summary: "Preview a schedule",
    description: "Describes a schedule and returns the next times, or what is wrong with it.",
    readsOnly: true,
    body: ScheduleRequest,
    bodyExample: SCHEDULE_EXAMPLE,
    success: { status: 200, description: "The preview.", schema: SchedulePreview },
  }),
  listTimeZones: route({
    method: "GET",
    path: "/time-zones",
    access: "account",
    keys: "readOnly",
    tag: "Checks",
    summary: "List time zones",
    success: { status: 200, description: "The time zones.", schema: Zones },
  }),
};
