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
  slug: Type.String({ description: "Slug. Empty if the check has none." }),
  tags: Type.String({ description: "Tags, separated by spaces." }),
  desc: Type.String({ description: "Description." }),
  grace: Type.Integer({
    minimum: PERIOD_SECONDS_MIN,
    maximum: PERIOD_SECONDS_MAX,
    description: "Grace period in seconds.",
  }),
  n_pings: Type.Integer({ minimum: 0, description: "Number of pings received." }),
  status: Type.Unsafe<"new" | "started" | "up" | "grace" | "down" | "paused">({
    type: "string",
    enum: ["new", "started", "up", "grace", "down", "paused"],
    description: "Status of the check. `started` is used only in version 1.",
  }),
  started: Type.Boolean({ description: "Whether a run is in progress." }),
  last_ping: Type.Union([Instant, Type.Null()], { description: "Time of the last ping." }),
  next_ping: Type.Union([Instant, Type.Null()], { description: "Time when the next ping is expected." }),
  manual_resume: Type.Boolean({ description: "Whether a paused check ignores pings until it is resumed." }),
  methods: Type.Unsafe<"" | "POST">({
    type: "string",
    enum: ["", "POST"],
    description: "Empty if HEAD, GET, and POST are accepted as pings; `POST` if only POST is accepted.",
  }),
  subject: Type.String({
    deprecated: true,
    description: "Deprecated: `success_kw` if `filter_subject` is true, otherwise empty.",
  }),
  subject_fail: Type.String({
    deprecated: true,
    description: "Deprecated: `failure_kw` if `filter_subject` is true, otherwise empty.",
  }),
  start_kw: Type.String({ description: "Comma-separated keywords for Start pings." }),
  success_kw: Type.String({ description: "Comma-separated keywords for Success pings." }),
  failure_kw: Type.String({ description: "Comma-separated keywords for Failure pings." }),
  filter_subject: Type.Boolean({ description: "Whether keywords are matched in the subject of emails." }),
  filter_body: Type.Boolean({ description: "Whether keywords are matched in the body of emails." }),
  filter_http_body: Type.Boolean({
    [EXTENSION]: true,
    description: "Extension: whether keywords are matched in the body of HTTP pings.",
  }),
  filter_default_fail: Type.Boolean({
    [EXTENSION]: true,
    description: "Extension: whether a message that matches no keyword is a failure.",
  }),
  badge_url: Url("URL of the SVG badge of the check."),
  last_duration: Type.Integer({
    [EXTENSION]: true,
    minimum: 0,
    description: "Duration of the last completed run in seconds.",
  }),
  uuid: Type.String({ format: "uuid", pattern: UUID_PATTERN, description: "Identifier of the check." }),
  ping_url: Url("URL to send pings to."),
  update_url: Url("URL to get, update, or delete the check."),
  pause_url: Url("URL to pause the check."),
  resume_url: Url("URL to resume the check."),
  channels: Type.String({ description: "Comma-separated UUIDs of the integrations of the check." }),
  unique_key: Type.String({
    pattern: UNIQUE_KEY_PATTERN,
    description: "Identifies the check for read-only keys, which cannot see its UUID.",
  }),
  timeout: Type.Integer({
    minimum: PERIOD_SECONDS_MIN,
    maximum: PERIOD_SECONDS_MAX,
    description: "Expected period in seconds. Only for checks without a schedule.",
  }),
  schedule: Type.String({ description: "Cron or OnCalendar expression. Only for checks with a schedule." }),
  tz: Type.String({ description: "Time zone of the schedule." }),
} as const;

export type CheckField = keyof typeof CHECK_FIELDS;

/** The values that the fields have. */
export type CheckValues = { [Field in CheckField]: Static<(typeof CHECK_FIELDS)[Field]> };

/** These are shown by the kind of a check, after all others, in every version. */
export const TIMING_FIELDS = { simple: ["timeout"], scheduled: ["schedule", "tz"] } as const;
