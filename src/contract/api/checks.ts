// Creating, changing, and deleting checks, one or many; crontab import; badge URLs.
import { type Static, Type } from "typebox";
import {
  CRONTAB_JOBS_MAX,
  CRONTAB_LENGTH_MAX,
  DESCRIPTION_LENGTH_MAX,
  KEYWORDS_LENGTH_MAX,
  NAME_LENGTH_MAX,
  PERIOD_SECONDS_MAX,
  PERIOD_SECONDS_MIN,
  SCHEDULE_LENGTH_MAX,
  SLUG_LENGTH_MAX,
  TAGS_LENGTH_MAX,
  TZ_LENGTH_MAX,
} from "../../core/limits.ts";
import { RULE } from "../check.ts";
import { BULK_CHECKS_MAX } from "./limits.ts";
import { CheckRow } from "./overview.ts";
import { route } from "./route.ts";
import { nullable, Time, UUID_PATTERN, UuidText } from "./types.ts";

// Creating and changing checks. The rules are those of the Management API.

const storable = (maxLength: number, description: string) =>
  Type.String({ maxLength, [RULE]: "storable", description });
const seconds = (description: string) =>
  Type.Integer({ minimum: PERIOD_SECONDS_MIN, maximum: PERIOD_SECONDS_MAX, description });

const TIMING = {
  kind: Type.Enum(["simple", "cron", "oncalendar"], {
    description:
      "`simple`: a ping is expected every `timeoutSeconds`. `cron`, `oncalendar`: by the expression in `schedule`.",
  }),
  timeoutSeconds: seconds("The interval between pings, for `simple`."),
  graceSeconds: seconds("How long after the expected time a check goes down."),
  schedule: Type.String({
    maxLength: SCHEDULE_LENGTH_MAX,
    [RULE]: "storable",
    description: "A cron or OnCalendar expression.",
  }),
  tz: Type.String({
    maxLength: NAME_LENGTH_MAX,
    [RULE]: "zone",
    description: "The time zone of `schedule`.",
  }),
};

const SETTINGS = {
  name: storable(NAME_LENGTH_MAX, "The name."),
  slug: Type.String({
    maxLength: SLUG_LENGTH_MAX,
    pattern: "^[a-z0-9_-]*$",
    description: "For ping URLs with the ping key of the project.",
  }),
  tags: storable(TAGS_LENGTH_MAX, "Tags, separated by spaces."),
  desc: storable(DESCRIPTION_LENGTH_MAX, "A description."),
  ...TIMING,
  manualResume: Type.Boolean({ description: "Whether a paused check ignores pings until it is resumed." }),
  methods: Type.Enum(["", "POST"], { description: "`POST`: only pings by POST are accepted." }),
  startKw: storable(KEYWORDS_LENGTH_MAX, "Keywords that mark a start ping, separated by commas."),
  successKw: storable(KEYWORDS_LENGTH_MAX, "Keywords that mark a success."),
  failureKw: storable(KEYWORDS_LENGTH_MAX, "Keywords that mark a failure."),
  filterSubject: Type.Boolean({ description: "Look for keywords in the subject of emails." }),
  filterBody: Type.Boolean({ description: "Look for keywords in the body of emails." }),
  filterHttpBody: Type.Boolean({ description: "Look for keywords in the body of HTTP requests." }),
  filterDefaultFail: Type.Boolean({ description: "Whether a ping without keywords is a failure." }),
};

export const CheckSettings = Type.Object(SETTINGS);
export type CheckSettings = Static<typeof CheckSettings>;

/** A check after a change: its row and all its settings. */
export const Check = Type.Object({
  ...CheckRow.properties,
  projectId: UuidText,
  settings: CheckSettings,
  channelIds: Type.Array(UuidText, { description: "The channels that are notified." }),
  version: Type.Integer({ description: "The version of the settings; also the ETag." }),
  createdAt: Time,
  pingAddresses: Type.Object({
    url: Type.String(),
    email: nullable(Type.String(), "Null if the server does not receive email."),
  }),
});
export type Check = Static<typeof Check>;

/**
 * Fields that are not given keep their values, or get the defaults of a new check. `kind` says which of
 * `timeoutSeconds` and `schedule` is used; without it, a given schedule takes precedence.
 */
export const CheckChange = Type.Partial(
  Type.Object({
    ...SETTINGS,
    channels: Type.Union([Type.Literal("*"), Type.Array(UuidText, { maxItems: BULK_CHECKS_MAX })], {
      description: "The ids of the channels to notify, or `*` for all. A new check uses all by default.",
    }),
  }),
  { additionalProperties: false },
);
export type CheckChange = Static<typeof CheckChange>;

const ids = Type.Array(UuidText, { minItems: 1, maxItems: BULK_CHECKS_MAX });

const BulkRequest = Type.Object(
  {
    ids,
    action: Type.Enum([
      "pause",
      "resume",
      "delete",
      "restore",
      "addTag",
      "removeTag",
      "addChannel",
      "removeChannel",
      "move",
    ]),
    tag: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: NAME_LENGTH_MAX,
        pattern: "^\\S+$",
        [RULE]: "storable",
        description: "For `addTag` and `removeTag`.",
      }),
    ),
    channel: Type.Optional(
      Type.String({
        pattern: UUID_PATTERN,
        description: "A channel id, for `addChannel` and `removeChannel`.",
      }),
    ),
    project: Type.Optional(
      Type.String({
        pattern: UUID_PATTERN,
        description: "A project id, for `move`. Not available to API keys.",
      }),
    ),
  },
  { additionalProperties: false },
);
export type BulkRequest = Static<typeof BulkRequest>;

const BULK = {
  done: Type.Array(UuidText, { description: "Checks that are as requested now." }),
  unchanged: Type.Array(UuidText, { description: "Those of `done` that were so before." }),
  failed: Type.Array(Type.Object({ id: UuidText, error: Type.String() }), {
    description: "Checks that could not be changed, and why.",
  }),
};

const BulkResult = Type.Object(BULK);
export type BulkResult = Static<typeof BulkResult>;

export const ScheduleTiming = Type.Object(TIMING, { additionalProperties: false });
export const ScheduleGroup = Type.Object({ ids, timing: ScheduleTiming }, { additionalProperties: false });
export type ScheduleGroup = Static<typeof ScheduleGroup>;

/** A version of settings that a change is based on. */
export const Version = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

const SchedulesRequest = Type.Object(
  {
    groups: Type.Array(ScheduleGroup, { minItems: 1, maxItems: BULK_CHECKS_MAX }),
    version: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        description:
          "A Unix timestamp in milliseconds. If the settings of a check were changed after it, the request is rejected with 409.",
      }),
    ),
  },
  { additionalProperties: false },
);
export type SchedulesRequest = Static<typeof SchedulesRequest>;

const SchedulesResult = Type.Object({
  ...BULK,
  previous: Type.Array(ScheduleGroup, { description: "The schedules before. Send as `groups` to undo." }),
  version: Type.Integer({ description: "Send as `version` to undo only your change." }),
});
export type SchedulesResult = Static<typeof SchedulesResult>;

// Importing a crontab.

const CRONTAB = {
  text: Type.String({
    minLength: 1,
    maxLength: CRONTAB_LENGTH_MAX,
    [RULE]: "storable",
    description: "The crontab.",
  }),
  tz: Type.String({
    maxLength: TZ_LENGTH_MAX,
    [RULE]: "zone",
    description: "The time zone of the machine. A CRON_TZ in the crontab wins.",
  }),
};

const CrontabRequest = Type.Object(CRONTAB, { additionalProperties: false });
export type CrontabRequest = Static<typeof CrontabRequest>;

const CrontabImport = Type.Object(
  {
    ...CRONTAB,
    jobs: Type.Array(
      Type.Object(
        {
          line: Type.Integer({
            minimum: 1,
            maximum: CRONTAB_LENGTH_MAX,
            description: "The line of the job, counted from 1.",
          }),
          name: Type.Optional(SETTINGS.name),
          tags: Type.Optional(SETTINGS.tags),
          graceSeconds: Type.Optional(SETTINGS.graceSeconds),
        },
        { additionalProperties: false },
      ),
      {
        minItems: 1,
        maxItems: CRONTAB_JOBS_MAX,
        description: "The jobs to create checks for. By default, a check is as `readCrontab` proposes it.",
      },
    ),
  },
  { additionalProperties: false },
);
export type CrontabImport = Static<typeof CrontabImport>;

const FoundJob = Type.Object({
  line: Type.Integer(),
  name: Type.String(),
  schedule: Type.String(),
  tz: Type.String(),
  graceSeconds: Type.Integer({ description: "The proposed grace period." }),
  sentence: Type.String({ description: "The schedule as text." }),
  nextAt: nullable(Time, "When the job runs next."),
  warnings: Type.Array(Type.String(), {
    description:
      "About exit codes that are not those of the job, and schedules that run less often than they seem to.",
  }),
});
export type FoundJob = Static<typeof FoundJob>;

const FoundJobs = Type.Object({
  jobs: Type.Array(FoundJob),
  reporting: Type.Array(
    Type.Object({
      line: Type.Integer(),
      name: Type.String(),
      by: Type.String({ description: "The program that sends the pings, or `URL`." }),
      check: nullable(Type.String(), "The UUID or slug of the check. Null if the line does not contain it."),
    }),
    { description: "Lines that already send pings." },
  ),
  skipped: Type.Array(Type.Object({ line: Type.Integer(), text: Type.String(), reason: Type.String() }), {
    description: "Lines that can't be monitored.",
  }),
});
export type FoundJobs = Static<typeof FoundJobs>;

const CrontabChecks = Type.Object({
  checks: Type.Array(CheckRow, { description: "The new checks." }),
  crontab: Type.String({ description: "The crontab with a ping added to each of these jobs." }),
  unchanged: Type.Array(Type.Object({ line: Type.Integer(), pingCommand: Type.String() }), {
    description: "Lines of `crontab` to which you have to add the ping yourself.",
  }),
  wrapped: Type.Object(
    {
      crontab: Type.String(),
      unchanged: Type.Array(Type.Object({ line: Type.Integer(), command: Type.String() }), {
        description: "Lines that you have to change yourself, and the command to put before the job.",
      }),
    },
    { description: "The crontab in which `overdue-run` runs each of these jobs." },
  ),
  error: nullable(Type.String(), "Why some checks were not created. Null if all were."),
});
export type CrontabChecks = Static<typeof CrontabChecks>;

// Badges.

const BADGE_URLS = {
  svg: Type.String(),
  svg3: Type.String({ description: "With a third state for late checks." }),
  json: Type.String(),
  json3: Type.String(),
  shields: Type.String({ description: "JSON for shields.io." }),
  shields3: Type.String(),
};

const BadgeList = Type.Object({
  badges: Type.Array(
    Type.Object({ tag: nullable(Type.String(), "Null for all checks of the project."), ...BADGE_URLS }),
  ),
  isTruncated: Type.Boolean({ description: "Whether the project has more tags." }),
});
export type BadgeList = Static<typeof BadgeList>;

const CheckBadge = Type.Object(BADGE_URLS);
export type CheckBadge = Static<typeof CheckBadge>;

const PROJECT = "/projects/{project}";
const CHECK = "/checks/{check}";
const EDIT = { access: "editChecks", keys: "readWrite", tag: "Checks" } as const;
const changed = { status: 200, description: "The check after the change.", schema: Check } as const;

export const checkRoutes = {
  createCheck: route({
    ...EDIT,
    method: "POST",
    path: `${PROJECT}/checks`,
    summary: "Create a check",
    description:
      "All fields are optional. Without a slug, the name determines it. `kind` says which of `timeoutSeconds` and `schedule` is used; without it, a given schedule wins.",
    body: CheckChange,
    bodyExample: {
      name: "Nightly backup",
      tags: "db prod",
      kind: "cron",
      schedule: "0 3 * * *",
      tz: "Europe/Riga",
      graceSeconds: 1800,
    },
    success: { status: 201, description: "The new check.", schema: Check },
    etag: true,
    idempotencyKey: true,
  }),
  updateCheck: route({
    ...EDIT,
    method: "PATCH",
    path: CHECK,
    summary: "Update a check",
    description:
      "Changes the given settings. With `If-Match`, the request is rejected with 412 if settings were changed since that version, and the response says by whom.",
    body: CheckChange,
    bodyExample: { graceSeconds: 3600, channels: "*" },
    success: changed,
    etag: true,
  }),
  deleteCheck: route({
    ...EDIT,
    method: "DELETE",
    path: CHECK,
    summary: "Delete a check",
    description: "Stops monitoring. The check can be restored until `expiresAt`.",
    success: {
      status: 200,
      description: "The check was deleted.",
      schema: Type.Object({ id: UuidText, expiresAt: Time }),
    },
  }),
  restoreCheck: route({
    ...EDIT,
    method: "POST",
    path: `${CHECK}/restore`,
    summary: "Restore a deleted check",
    deleted: true,
    success: changed,
    etag: true,
  }),
  pauseCheck: route({
    ...EDIT,
    method: "POST",
    path: `${CHECK}/pause`,
    summary: "Pause a check",
    success: changed,
    etag: true,
  }),
  resumeCheck: route({
    ...EDIT,
    method: "POST",
    path: `${CHECK}/resume`,
    summary: "Resume a check",
    description: "The check waits for its first ping, like a new one.",
    success: changed,
    etag: true,
    errors: [409],
  }),
  pingCheck: route({
    ...EDIT,
    method: "POST",
    path: `${CHECK}/ping`,
    summary: "Record a success",
    description: "Records a success as if the job had sent a ping.",
    success: changed,
    etag: true,
  }),
  copyCheck: route({
    ...EDIT,
    method: "POST",
    path: `${CHECK}/copy`,
    summary: "Copy a check",
    description: "Creates a check with the same settings and channels.",
    success: { status: 201, description: "The copy.", schema: Check },
    etag: true,
  }),
  clearCheckHistory: route({
    ...EDIT,
    method: "POST",
    path: `${CHECK}/clear`,
    summary: "Delete the history of a check",
    description: "Deletes all pings, runs, and events. This cannot be undone.",
    success: changed,
    etag: true,
  }),
  transferCheck: route({
    ...EDIT,
    keys: null,
    method: "POST",
    path: `${CHECK}/transfer`,
    summary: "Move a check to another project",
    description:
      "You must be allowed to edit checks in both projects. Afterwards, all channels of the new project are notified.",
    body: Type.Object({ project: UuidText }, { additionalProperties: false }),
    bodyExample: { project: "5c2bbd30-6b2e-4a0f-9d3b-0f6f2f3c8a11" },
    success: changed,
    etag: true,
  }),
  changeChecks: route({
    ...EDIT,
    method: "POST",
    path: `${PROJECT}/checks/bulk`,
    summary: "Change many checks",
    description: `Does the same to at most ${BULK_CHECKS_MAX} checks. A check that can't be changed does not stop the others.`,
    body: BulkRequest,
    bodyExample: { ids: ["5c2bbd30-6b2e-4a0f-9d3b-0f6f2f3c8a11"], action: "addTag", tag: "prod" },
    success: { status: 200, description: "What was done.", schema: BulkResult },
  }),
  setSchedules: route({
    ...EDIT,
    method: "POST",
    path: `${PROJECT}/checks/schedules`,
    summary: "Set the schedules of many checks",
    description: `Changes all schedules or none, of at most ${BULK_CHECKS_MAX} checks. Of each schedule, only the fields of its kind are used.`,
    body: SchedulesRequest,
    bodyExample: {
      groups: [
        {
          ids: ["5c2bbd30-6b2e-4a0f-9d3b-0f6f2f3c8a11"],
          timing: {
            kind: "simple",
            timeoutSeconds: 3600,
            graceSeconds: 600,
            schedule: "* * * * *",
            tz: "UTC",
          },
        },
      ],
    },
    success: { status: 200, description: "What was done.", schema: SchedulesResult },
    errors: [409],
  }),
  readCrontab: route({
    ...EDIT,
    method: "POST",
    path: `${PROJECT}/crontab`,
    summary: "Find jobs in a crontab",
    description: "Changes nothing, and does not store the crontab.",
    readsOnly: true,
    body: CrontabRequest,
    bodyExample: { text: "0 3 * * * /usr/local/bin/backup", tz: "Europe/Riga" },
    success: { status: 200, description: "The jobs.", schema: FoundJobs },
  }),
  importCrontab: route({
    ...EDIT,
    method: "POST",
    path: `${PROJECT}/crontab/checks`,
    summary: "Create checks for jobs in a crontab",
    body: CrontabImport,
    bodyExample: {
      text: "0 3 * * * /usr/local/bin/backup",
      tz: "Europe/Riga",
      jobs: [{ line: 1, tags: "db prod", graceSeconds: 1800 }],
    },
    success: {
      status: 201,
      description: "The new checks, and the crontab to install.",
      schema: CrontabChecks,
    },
  }),
  listBadges: route({
    method: "GET",
    path: `${PROJECT}/badges`,
    access: "view",
    keys: "readOnly",
    tag: "Projects",
    summary: "List badges",
    description: "Lists the URLs of the badges of a project: one for all checks, and one for each tag.",
    success: { status: 200, description: "The badges.", schema: BadgeList },
  }),
  getCheckBadge: route({
    method: "GET",
    path: `${CHECK}/badge`,
    access: "view",
    keys: "readWrite",
    tag: "Checks",
    summary: "Get the badge of a check",
    success: { status: 200, description: "The URLs of the badge.", schema: CheckBadge },
  }),
} as const;
