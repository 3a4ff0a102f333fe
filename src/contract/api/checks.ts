// Requests and responses of the check pages: one check, changes, crontab import, badges.
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
import type { CheckRow } from "./check-row.ts";
import { ScheduleRequest } from "./history.ts";
import { BULK_CHECKS_MAX, DETAIL_ROWS_MAX, ROWS_PAGE_MAX } from "./limits.ts";

// Creating and changing checks. The rules are those of the API; errors are sentences for the user.

const storable = (maxLength: number) => Type.String({ maxLength, [RULE]: "storable" });
const seconds = () => Type.Integer({ minimum: PERIOD_SECONDS_MIN, maximum: PERIOD_SECONDS_MAX });
const UuidText = Type.String({ pattern: "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$" });

const FIELDS = {
  name: storable(NAME_LENGTH_MAX),
  slug: Type.String({ maxLength: SLUG_LENGTH_MAX, pattern: "^[a-z0-9_-]*$" }),
  tags: storable(TAGS_LENGTH_MAX),
  desc: storable(DESCRIPTION_LENGTH_MAX),
  kind: Type.Enum(["simple", "cron", "oncalendar"]),
  timeoutSeconds: seconds(),
  graceSeconds: seconds(),
  /** Judged by the server when it is read, so that the refusal says what is wrong with it. */
  schedule: Type.String({ maxLength: SCHEDULE_LENGTH_MAX, [RULE]: "storable" }),
  tz: Type.String({ maxLength: NAME_LENGTH_MAX, [RULE]: "zone" }),
  manualResume: Type.Boolean(),
  methods: Type.Enum(["", "POST"]),
  startKw: storable(KEYWORDS_LENGTH_MAX),
  successKw: storable(KEYWORDS_LENGTH_MAX),
  failureKw: storable(KEYWORDS_LENGTH_MAX),
  filterSubject: Type.Boolean(),
  filterBody: Type.Boolean(),
  filterHttpBody: Type.Boolean(),
  filterDefaultFail: Type.Boolean(),
  /** The UUIDs of the channels that hear of it; "*" means all. */
  channels: Type.Union([Type.Literal("*"), Type.Array(UuidText, { maxItems: BULK_CHECKS_MAX })]),
};

/** The version that a form was filled from; without one, whatever is there is overwritten. */
export const Version = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

/**
 * What a check shall be: every field is optional, and what is not given stays as it is, or is as for any new check.
 * `kind` says which of `timeoutSeconds` and `schedule` counts; without it a given schedule wins.
 */
export const CheckChange = Type.Partial(Type.Object({ ...FIELDS, version: Version }), {
  additionalProperties: false,
});
export type CheckChange = Static<typeof CheckChange>;

/** Into which project a check shall go. */
export const TransferRequest = Type.Object({ project: UuidText }, { additionalProperties: false });
export type TransferRequest = Static<typeof TransferRequest>;

const ids = Type.Array(UuidText, { minItems: 1, maxItems: BULK_CHECKS_MAX });

/** Something to be done with many checks of a project. */
export const BulkRequest = Type.Object(
  {
    ids,
    do: Type.Enum([
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
    /** For addTag and removeTag. */
    tag: Type.Optional(
      Type.String({ minLength: 1, maxLength: NAME_LENGTH_MAX, pattern: "^\\S+$", [RULE]: "storable" }),
    ),
    /** For addChannel and removeChannel. */
    channel: Type.Optional(UuidText),
    /** For move. */
    project: Type.Optional(UuidText),
  },
  { additionalProperties: false },
);
export type BulkRequest = Static<typeof BulkRequest>;

/**
 * What became of it: the ids of those that are as wanted now, which of them were so already (whoever takes it back
 * leaves them alone), and those that are not.
 */
export type BulkAnswer = { done: string[]; same: string[]; refused: { id: string; error: string }[] };

/**
 * When checks of a project shall expect signals: `when` for each of its `ids`. Of a schedule only what belongs to its
 * kind is taken over. A check stands in one group, and all groups together have at most as many as a bulk change.
 */
export const SchedulesRequest = Type.Object(
  {
    groups: Type.Array(Type.Object({ ids, when: ScheduleRequest }, { additionalProperties: false }), {
      minItems: 1,
      maxItems: BULK_CHECKS_MAX,
    }),
    version: Type.Optional(Version),
  },
  { additionalProperties: false },
);
export type SchedulesRequest = Static<typeof SchedulesRequest>;
export type ScheduleGroup = SchedulesRequest["groups"][number];

/** `back`: what those that were changed had before; asked for under this version, it takes the change back. */
export type SchedulesAnswer = BulkAnswer & { back: ScheduleGroup[]; version: number };

/** A page of lean rows. */
export const RowsQuery = Type.Object({
  after: Type.Optional(Type.String({ maxLength: 40, pattern: "^[0-9]{1,15}$" })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: ROWS_PAGE_MAX })),
});

/** The rows that can be seen: UUIDs, separated by commas. */
export const DetailsQuery = Type.Object({
  ids: Type.String({
    minLength: 36,
    maxLength: 37 * DETAIL_ROWS_MAX,
    pattern: "^[0-9a-f-]{36}(,[0-9a-f-]{36})*$",
  }),
});

/** Where a stream goes on, or changes begin. */
export const LiveQuery = Type.Object({
  after: Type.Optional(Type.String({ maxLength: 16, pattern: "^[0-9]{1,15}$" })),
});

// Importing a crontab.

const CRONTAB_FIELDS = {
  text: Type.String({ minLength: 1, maxLength: CRONTAB_LENGTH_MAX, [RULE]: "storable" }),
  /** The zone of the machine that the crontab is from; a zone in the text itself wins. */
  tz: Type.String({ maxLength: TZ_LENGTH_MAX, [RULE]: "zone" }),
};

export const CrontabRequest = Type.Object(CRONTAB_FIELDS, { additionalProperties: false });
export type CrontabRequest = Static<typeof CrontabRequest>;

/** The lines whose jobs become checks, counted from 1. */
export const CrontabChecksRequest = Type.Object(
  {
    ...CRONTAB_FIELDS,
    lines: Type.Array(Type.Integer({ minimum: 1, maximum: CRONTAB_LENGTH_MAX }), {
      minItems: 1,
      maxItems: CRONTAB_JOBS_MAX,
    }),
  },
  { additionalProperties: false },
);
export type CrontabChecksRequest = Static<typeof CrontabChecksRequest>;

export type FoundJob = {
  line: number;
  name: string;
  schedule: string;
  tz: string;
  /** When it runs, as a sentence. */
  sentence: string;
  nextAt: number | null;
  /** Sentences about an exit code that is not the job's, or a schedule that does less than it seems to. */
  warnings: string[];
};

export type FoundJobs = {
  jobs: FoundJob[];
  /** Lines that cannot be watched, each with a sentence that says why. */
  leftOut: { line: number; text: string; why: string }[];
};

export type CrontabChecks = {
  rows: CheckRow[];
  /** The crontab, in which each job that became a check reports. */
  crontab: string;
  /** Lines that would have to be changed by hand. */
  unchanged: { line: number; report: string }[];
  /** Why some were not made; null when all were. */
  refused: string | null;
};

type BadgeAddresses = {
  svg: string;
  svg3: string;
  json: string;
  json3: string;
  shields: string;
  shields3: string;
};

/** GET /web/api/projects/:project/badges */
export type BadgesPage = {
  /** `tag` null stands for all checks of the project. */
  badges: ({ tag: string | null } & BadgeAddresses)[];
  /** The project has more tags than these. */
  isCut: boolean;
};

/** GET /web/api/checks/:check/badge */
export type CheckBadge = BadgeAddresses;
