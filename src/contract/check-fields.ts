// The fields of a check as outsiders see them: name, schema and meaning, once. Which of them a version shows, to
// whom and in which order is said in versions.ts.
import { type Static, Type } from "typebox";
import { PERIOD_SECONDS_MAX, PERIOD_SECONDS_MIN } from "../core/limits.ts";

const UUID_PATTERN = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$";
const UNIQUE_KEY_PATTERN = "^[0-9a-f]{40}$";

/** Marks a field that is ours, beyond what compatible servers promise. */
export const EXTENSION = "x-extension";

/** An instant as it is printed without a fraction: always UTC, always with its offset. */
const Instant = Type.String({ format: "date-time", examples: ["2026-03-01T04:00:00+00:00"] });
const Url = (description: string) => Type.String({ format: "uri", description });

export const Uuid = Type.String({ format: "uuid", pattern: UUID_PATTERN });
export const UniqueKey = Type.String({ pattern: UNIQUE_KEY_PATTERN });

export const CHECK_FIELDS = {
  name: Type.String({ description: "Name of the check." }),
  slug: Type.String({ description: "Slug; empty when there is none." }),
  tags: Type.String({ description: "Tags, separated by spaces." }),
  desc: Type.String({ description: "Description." }),
  grace: Type.Integer({
    minimum: PERIOD_SECONDS_MIN,
    maximum: PERIOD_SECONDS_MAX,
    description: "Seconds after the expected time before the check counts as down.",
  }),
  n_pings: Type.Integer({ minimum: 0, description: "How many pings were logged." }),
  status: Type.Unsafe<"new" | "started" | "up" | "grace" | "down" | "paused">({
    type: "string",
    enum: ["new", "started", "up", "grace", "down", "paused"],
    description: "Status of the check. `started` is said by version 1 only.",
  }),
  started: Type.Boolean({ description: "Whether a run is in progress." }),
  last_ping: Type.Union([Instant, Type.Null()], { description: "Time of the last ping." }),
  next_ping: Type.Union([Instant, Type.Null()], { description: "When the next ping is expected." }),
  manual_resume: Type.Boolean({ description: "Whether a paused check ignores pings until it is resumed." }),
  methods: Type.Unsafe<"" | "POST">({
    type: "string",
    enum: ["", "POST"],
    description: "Empty: HEAD, GET and POST are signals. `POST`: only POST is.",
  }),
  subject: Type.String({
    deprecated: true,
    description: "Deprecated: `success_kw` while `filter_subject` is on, else empty.",
  }),
  subject_fail: Type.String({
    deprecated: true,
    description: "Deprecated: `failure_kw` while `filter_subject` is on, else empty.",
  }),
  start_kw: Type.String({ description: "Keywords of Start signals, separated by commas." }),
  success_kw: Type.String({ description: "Keywords of Success signals, separated by commas." }),
  failure_kw: Type.String({ description: "Keywords of Failure signals, separated by commas." }),
  filter_subject: Type.Boolean({ description: "Whether keywords are looked for in the subject of mails." }),
  filter_body: Type.Boolean({ description: "Whether keywords are looked for in the body of mails." }),
  filter_http_body: Type.Boolean({
    [EXTENSION]: true,
    description: "Extension: whether keywords are looked for in the body of HTTP pings.",
  }),
  filter_default_fail: Type.Boolean({
    [EXTENSION]: true,
    description: "Extension: whether a message without any keyword is a failure.",
  }),
  badge_url: Url("An SVG badge of the check."),
  last_duration: Type.Integer({
    [EXTENSION]: true,
    minimum: 0,
    description: "Seconds that the last completed run took.",
  }),
  uuid: Type.String({ format: "uuid", pattern: UUID_PATTERN, description: "Identifier of the check." }),
  ping_url: Url("Where the job sends its signals."),
  update_url: Url("Where the check is read, changed and deleted."),
  pause_url: Url("Where the check is paused."),
  resume_url: Url("Where the check is resumed."),
  channels: Type.String({ description: "UUIDs of the integrations of the check, separated by commas." }),
  unique_key: Type.String({
    pattern: UNIQUE_KEY_PATTERN,
    description: "Names the check where a read-only key may not see its UUID.",
  }),
  timeout: Type.Integer({
    minimum: PERIOD_SECONDS_MIN,
    maximum: PERIOD_SECONDS_MAX,
    description: "Expected period in seconds, of a check without a schedule.",
  }),
  schedule: Type.String({ description: "Cron or OnCalendar expression, of a check that has one." }),
  tz: Type.String({ description: "Time zone of the schedule." }),
} as const;

export type CheckField = keyof typeof CHECK_FIELDS;

/** The values that the fields have. */
export type CheckValues = { [Field in CheckField]: Static<(typeof CHECK_FIELDS)[Field]> };

/** These are shown by the kind of a check, after all others, in every version. */
export const TIMING_FIELDS = { simple: ["timeout"], scheduled: ["schedule", "tz"] } as const;
