// Silences: times in which no notifications are sent, once or recurring.
import { type Static, Type } from "typebox";
import {
  DEFAULT_RECURRING_HOLD_SECONDS,
  DEFAULT_TZ,
  SCHEDULE_LENGTH_MAX,
  SILENCE_CHECKS_MAX,
  SILENCE_CHECKS_SHOWN_MAX,
  SILENCE_HOLD_SECONDS_MAX,
  SILENCE_REASON_LENGTH_MAX,
  SILENCE_SECONDS_MAX,
  SILENCE_SECONDS_MIN,
  SILENCE_WINDOWS_SHOWN_MAX,
  SILENCED_RUNS_COUNTED_MAX,
  TAGS_LENGTH_MAX,
  TZ_LENGTH_MAX,
} from "../../core/limits.ts";
import { RULE } from "../check.ts";
import { route } from "./route.ts";
import { Cursor, nullable, PageQuery, Time, UuidText } from "./types.ts";

const Window = Type.Object({ from: Time, until: Time });

export const Silence = Type.Object({
  id: UuidText,
  checks: nullable(
    Type.Array(
      Type.Object({
        id: nullable(UuidText, "Null in responses to a read-only API key: it would allow sending pings."),
        name: Type.String(),
      }),
    ),
    "The silenced checks. Deleted checks are left out. Null if the silence is for a tag or for all checks.",
  ),
  tag: nullable(
    Type.String(),
    "Checks with this tag are silenced, including those that get it later. With `checks` and `tag` null, all checks of the project are silenced.",
  ),
  reason: Type.String(),
  state: Type.Enum(["upcoming", "active", "ended"], {
    description:
      "`active`: notifications are held now. `upcoming`: it begins later, or its next window does. `ended`: it has no more windows.",
  }),
  window: nullable(Window, "The current window, or the next one. Null if there are no more."),
  from: Time,
  until: nullable(Time, "When it ends. Null if it recurs."),
  untilSuccess: Type.Boolean({
    description: "Whether it ends earlier for each check, with the next success.",
  }),
  schedule: nullable(
    Type.String(),
    "When the windows of a recurring silence begin. Null if it does not recur.",
  ),
  tz: nullable(Type.String(), "The time zone of `schedule`."),
  duration: nullable(Type.Integer(), "Length of each window in seconds. Null if it does not recur."),
  holdAfter: Type.Integer({
    description:
      "For up to this many seconds after a window, notifications about problems from before its end wait for the next run of the check.",
  }),
  createdAt: Time,
  createdBy: nullable(
    Type.String(),
    "Email address of the account that created it. Null if an API key did, if the account was closed, and in responses to a read-only API key.",
  ),
  endedAt: nullable(Time, "When a user ended it. Null if none did."),
  version: Type.Integer({ description: "Increases with every change. The `ETag` is this number in quotes." }),
});
export type Silence = Static<typeof Silence>;

const SilenceList = Type.Object({ silences: Type.Array(Silence), next: Cursor });

const ListQuery = Type.Object(
  {
    ...PageQuery.properties,
    state: Type.Optional(
      Type.Enum(["current", "ended"], {
        description:
          "`current`: only silences that have not ended. `ended`: only those that have. By default, both are returned.",
      }),
    ),
  },
  { additionalProperties: false },
);

const moment = (description: string) =>
  Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description });

const Checks = Type.Array(UuidText, { minItems: 1, maxItems: SILENCE_CHECKS_MAX });
const Tag = Type.String({ minLength: 1, maxLength: TAGS_LENGTH_MAX, pattern: "^[^ ]+$" });
const Schedule = Type.String({ minLength: 1, maxLength: SCHEDULE_LENGTH_MAX });

const FIELDS = {
  from: moment("Unix timestamp in milliseconds. When it begins, at most 90 days from now. Default: now."),
  until: moment(
    "Unix timestamp in milliseconds. When it ends, at most 90 days from now. Not for a recurring silence.",
  ),
  duration: Type.Integer({
    minimum: SILENCE_SECONDS_MIN,
    maximum: SILENCE_SECONDS_MAX,
    description:
      "Length in seconds, instead of `until`. With `schedule`, the length of each window, at most 7 days.",
  }),
  untilSuccess: Type.Boolean({
    description:
      "End the silence for each check with its next success, at the latest at `until`. Without `until` and `duration`, it lasts at most 90 days. Not for a recurring silence.",
  }),
  tz: Type.String({
    maxLength: TZ_LENGTH_MAX,
    [RULE]: "zone",
    description: `The time zone of \`schedule\`. Default: ${DEFAULT_TZ}.`,
  }),
  holdAfter: Type.Integer({
    minimum: 0,
    maximum: SILENCE_HOLD_SECONDS_MAX,
    description: `For up to this many seconds after a window, notifications about problems from before its end wait for the next run of the check. Default: ${DEFAULT_RECURRING_HOLD_SECONDS} for a recurring silence, otherwise 0.`,
  }),
  reason: Type.String({
    maxLength: SILENCE_REASON_LENGTH_MAX,
    [RULE]: "storable",
    description: "Shown with the silence, and in notifications that it has delayed.",
  }),
};

export const NewSilence = Type.Partial(
  Type.Object({
    checks: Type.Array(UuidText, {
      minItems: 1,
      maxItems: SILENCE_CHECKS_MAX,
      description:
        "The checks to silence. Give either `checks` or `tag`. Without both, all checks of the project are silenced.",
    }),
    tag: Type.String({
      minLength: 1,
      maxLength: TAGS_LENGTH_MAX,
      pattern: "^[^ ]+$",
      [RULE]: "storable",
      description: "Silence checks with this tag, including those that get it later.",
    }),
    schedule: Type.String({
      minLength: 1,
      maxLength: SCHEDULE_LENGTH_MAX,
      [RULE]: "schedule",
      description:
        "A cron or OnCalendar expression: a window of length `duration` begins each time. Makes the silence recurring.",
    }),
    ...FIELDS,
  }),
  { additionalProperties: false },
);
export type NewSilence = Static<typeof NewSilence>;

const SilenceChange = Type.Partial(
  Type.Object({
    checks: nullable(
      Checks,
      "The checks to silence. Replaces `tag`. Null for both: all checks of the project.",
    ),
    tag: Type.Union([Tag, Type.Null()], {
      [RULE]: "storable",
      description: "The tag of the checks to silence. Replaces `checks`.",
    }),
    schedule: Type.Union([Schedule, Type.Null()], {
      [RULE]: "schedule",
      description: "A cron or OnCalendar expression. Null: the silence no longer recurs.",
    }),
    ...FIELDS,
    version: Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description:
        "If given and the silence has another version by now, the request is rejected with 409, and the response says what was changed. With `If-Match`, it is rejected with 412.",
    }),
  }),
  { additionalProperties: false },
);
export type SilenceChange = Static<typeof SilenceChange>;

export const SilencePreview = Type.Object({
  checkCount: Type.Integer({ description: "How many checks it would silence now." }),
  checks: Type.Array(
    Type.Object({
      id: UuidText,
      name: Type.String(),
      runCount: Type.Integer({
        description: `Runs expected in the first window, counted up to ${SILENCED_RUNS_COUNTED_MAX}.`,
      }),
      firstRunAt: nullable(Time, "When the first of these runs is expected."),
    }),
    { description: `The first ${SILENCE_CHECKS_SHOWN_MAX} of these checks, by name.` },
  ),
  windows: Type.Array(Window, {
    description: `The current window, if there is one, and the next, at most ${SILENCE_WINDOWS_SHOWN_MAX}.`,
  }),
  untilSuccess: Type.Boolean(),
  holdAfter: Type.Integer({ description: "As given, or the default." }),
});
export type SilencePreview = Static<typeof SilencePreview>;

const HOUR_MS = 3_600_000;

const EXAMPLE_SILENCE: Silence = {
  id: "1f0c6a7e-52d1-4f6b-8a53-6a1f6d0f7c21",
  checks: null,
  tag: "db",
  reason: "DB upgrade",
  state: "active",
  window: { from: 1_794_735_000_000, until: 1_794_735_000_000 + 2 * HOUR_MS },
  from: 1_794_735_000_000,
  until: 1_794_735_000_000 + 2 * HOUR_MS,
  untilSuccess: false,
  schedule: null,
  tz: null,
  duration: null,
  holdAfter: 0,
  createdAt: 1_794_735_000_000,
  createdBy: "ada@example.org",
  endedAt: null,
  version: 1,
};

const EXAMPLE_WINDOW_SILENCE: Silence = {
  ...EXAMPLE_SILENCE,
  id: "1f09d2b4-08c5-4e0d-9a0c-2d0f4a6b9e55",
  tag: null,
  reason: "Patch night",
  state: "upcoming",
  // Saturday, 21 November 2026, 22:00 in Riga.
  window: { from: 1_795_291_200_000, until: 1_795_291_200_000 + 4 * HOUR_MS },
  until: null,
  schedule: "0 22 * * 6",
  tz: "Europe/Riga",
  duration: 14_400,
  holdAfter: 3_600,
};

const SILENCES = "/projects/{project}/silences";
const SILENCE = `${SILENCES}/{silence}`;

export const silenceRoutes = {
  listSilences: route({
    method: "GET",
    path: SILENCES,
    access: "view",
    keys: "readOnly",
    tag: "Silences",
    summary: "List silences",
    description: "Lists the silences of a project, newest first.",
    query: ListQuery,
    success: {
      status: 200,
      description: "A page of silences.",
      schema: SilenceList,
      example: { silences: [EXAMPLE_SILENCE, EXAMPLE_WINDOW_SILENCE], next: null },
    },
  }),
  createSilence: route({
    method: "POST",
    path: SILENCES,
    access: "silence",
    keys: "readWrite",
    tag: "Silences",
    summary: "Create a silence",
    description:
      "Holds notifications about problems of checks for a time. Checks are monitored as usual, and recoveries are sent. A problem that is still open at the end is notified then. One that is over by then is never notified. If you repeat a request with the same `Idempotency-Key` within a day, only one silence is created.",
    body: NewSilence,
    bodyExample: { tag: "db", duration: 7_200, reason: "DB upgrade" },
    success: { status: 201, description: "The new silence.", schema: Silence, example: EXAMPLE_SILENCE },
    etag: true,
    idempotencyKey: true,
  }),
  previewSilence: route({
    method: "POST",
    path: `${SILENCES}/preview`,
    access: "silence",
    keys: "readWrite",
    tag: "Silences",
    summary: "Preview a silence",
    description: "Returns what a silence would cover. Nothing is saved.",
    readsOnly: true,
    body: NewSilence,
    bodyExample: { schedule: "0 22 * * 6", tz: "Europe/Riga", duration: 14_400, reason: "Patch night" },
    success: {
      status: 200,
      description: "What the silence would cover.",
      schema: SilencePreview,
      example: {
        checkCount: 1,
        checks: [
          {
            id: "f618072a-7bde-4eee-af63-71a77c5723bc",
            name: "Nightly backup",
            runCount: 1,
            firstRunAt: 1_795_296_600_000,
          },
        ],
        windows: [EXAMPLE_WINDOW_SILENCE.window],
        untilSuccess: false,
        holdAfter: 3_600,
      },
    },
  }),
  getSilence: route({
    method: "GET",
    path: SILENCE,
    access: "view",
    keys: "readOnly",
    tag: "Silences",
    summary: "Get a silence",
    success: { status: 200, description: "The silence.", schema: Silence, example: EXAMPLE_SILENCE },
    etag: true,
  }),
  updateSilence: route({
    method: "PATCH",
    path: SILENCE,
    access: "silence",
    keys: "readWrite",
    tag: "Silences",
    summary: "Update a silence",
    description:
      "Changes the given fields of a silence that has not ended. Held notifications follow the new settings at once.",
    body: SilenceChange,
    bodyExample: { duration: 10_800, reason: "DB upgrade, takes longer" },
    success: {
      status: 200,
      description: "The updated silence.",
      schema: Silence,
      example: { ...EXAMPLE_SILENCE, version: 2 },
    },
    errors: [409],
    etag: true,
  }),
  endSilence: route({
    method: "DELETE",
    path: SILENCE,
    access: "silence",
    keys: "readWrite",
    tag: "Silences",
    summary: "End a silence",
    description:
      "Ends a silence now. Problems that are still open are notified, after `holdAfter` at the latest. Ended silences stay in the list for 93 days. Ending one again has no effect.",
    success: { status: 204, description: "The silence has ended.", schema: null },
    etag: true,
  }),
} as const;
