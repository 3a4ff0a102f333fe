// The forecast: what will surprise the owners of schedules in the next 12 months.
import { type Static, Type } from "typebox";
import { FIX_KINDS, SURPRISE_KINDS } from "../../core/forecast.ts";
import {
  FORECAST_CHECKS_LISTED_MAX,
  FORECAST_ENTRIES_MAX,
  FORECAST_ID_LENGTH_MAX,
  SCHEDULE_LENGTH_MAX,
  TZ_LENGTH_MAX,
} from "../../core/limits.ts";
import { RULE } from "../check.ts";
import { ScheduleGroup } from "./checks.ts";
import { route } from "./route.ts";
import { nullable, Time, UUID_PATTERN, UuidText } from "./types.ts";

const CheckId = nullable(UuidText, "Null in responses to a read-only API key: it would allow sending pings.");

export const ForecastChange = Type.Object({
  check: CheckId,
  name: Type.String(),
  schedule: Type.String({ description: "The schedule now." }),
  tz: Type.String(),
  newSchedule: Type.String({ description: "The schedule after the fix." }),
  newTz: Type.String(),
});

export const ForecastEntry = Type.Object({
  id: Type.String({ description: "Identifies the entry. The same cause has the same ID on every day." }),
  kind: Type.Enum([...SURPRISE_KINDS, "crowded"], {
    description:
      "`missed`, `repeated`, `moved`: by a clock change, it does not run, runs more often, or runs later. `skipped`: a month does not have the day. `either`: it also runs on days that match only one of the two day fields. `last`: it runs for the last time. `ended`: it never runs again. `crowded`: more jobs than usual start in the same minute.",
  }),
  dates: Type.Array(Type.String(), {
    description: "The days in `zone`, such as `2027-03-28`. Empty if it is not about single days.",
  }),
  at: Time,
  zone: Type.String(),
  count: Type.Integer({
    description: "Runs on that day, or jobs at once. Of `either`, runs per month.",
  }),
  title: Type.String(),
  why: Type.String({ description: "The reason. Expressions are in backticks." }),
  checkCount: Type.Integer(),
  checks: Type.Array(
    Type.Object({ id: CheckId, name: Type.String(), schedule: Type.String(), tz: Type.String() }),
    { description: `The first ${FORECAST_CHECKS_LISTED_MAX} checks.` },
  ),
  fixes: Type.Array(
    Type.Object({
      kind: Type.Enum([...FIX_KINDS]),
      label: Type.String(),
      changes: Type.Array(ForecastChange, {
        description: "What the fix would change. Nothing is changed yet.",
      }),
    }),
  ),
  isIntended: Type.Boolean({ description: "Whether a user has marked it as intended." }),
});
export type ForecastEntry = Static<typeof ForecastEntry>;

const Crowd = Type.Object({
  time: Type.String({ description: "The minute of the day, such as `02:00`, in `zone`." }),
  zone: Type.String(),
  count: Type.Integer({ description: "Jobs that usually start in that minute." }),
  hours: Type.Array(Type.Integer(), {
    description: "The most jobs that usually run at once, by hour of the day.",
  }),
  spreadHours: Type.Array(Type.Integer(), { description: "The same after the changes." }),
  atOnce: Type.Integer({ description: "The most jobs that would run at once after the changes." }),
  spreadMinutes: Type.Integer(),
  endsAt: nullable(Type.String(), "When the last of them would end. Null if a duration is not known."),
  changes: Type.Array(ForecastChange),
  isIntended: Type.Boolean(),
});
export type ForecastCrowd = Static<typeof Crowd>;

export const Forecast = Type.Object({
  from: Time,
  until: Time,
  zone: Type.String({ description: "The time zone of the project." }),
  checkCount: Type.Integer({ description: "Checks with an expression that are not paused." }),
  total: Type.Integer({ description: "How many surprises there are, without those that are intended." }),
  entries: Type.Array(ForecastEntry, {
    description: `Surprises, nearest first, at most ${FORECAST_ENTRIES_MAX}. Checks with the same cause are one entry.`,
  }),
  intended: Type.Array(ForecastEntry),
  isTruncated: Type.Boolean({ description: "Whether there are more checks or entries than the limits." }),
  worst: nullable(Type.String(), "ID of the entry that matters most."),
  crowd: nullable(Crowd, "The minute of the day in which most jobs start. Null if none is crowded."),
  feedCreatedAt: nullable(Time, "When your calendar feed was created. Null if you have none."),
});
export type Forecast = Static<typeof Forecast>;

const CheckForecast = Type.Object({
  entries: Type.Array(ForecastEntry, { description: "Intended ones come last." }),
});
export type CheckForecast = Static<typeof CheckForecast>;

const EntryId = Type.String({
  minLength: 1,
  maxLength: FORECAST_ID_LENGTH_MAX,
  [RULE]: "storable",
  description: "The `id` of an entry, or `crowd` for the crowded minute.",
});

const IntendedRequest = Type.Object(
  {
    entry: EntryId,
    check: Type.Optional(
      Type.String({ pattern: UUID_PATTERN, description: "Only this check of the entry." }),
    ),
    isIntended: Type.Boolean(),
  },
  { additionalProperties: false },
);

const FixRequest = Type.Object(
  {
    entry: EntryId,
    fix: Type.Enum([...FIX_KINDS]),
    changes: Type.Array(
      Type.Object(
        {
          check: UuidText,
          newSchedule: Type.String({
            minLength: 1,
            maxLength: SCHEDULE_LENGTH_MAX,
            [RULE]: "storable",
          }),
          newTz: Type.String({ maxLength: TZ_LENGTH_MAX, [RULE]: "storable" }),
        },
        { additionalProperties: false },
      ),
      {
        minItems: 1,
        maxItems: FORECAST_CHECKS_LISTED_MAX,
        description: "The changes of the fix, as the forecast returned them.",
      },
    ),
  },
  { additionalProperties: false },
);

const FixResult = Type.Object({
  changed: Type.Integer({ description: "How many schedules were changed." }),
  previous: Type.Array(ScheduleGroup, {
    description: "The schedules before. To undo, send them as `groups` to `setSchedules`.",
  }),
  version: Type.Integer({ description: "Send as `version` to undo only your change." }),
});

const Feed = Type.Object({
  url: Type.String({ description: "The URL of the feed. It contains a secret, and is returned only once." }),
});

const EXAMPLE_CHECK = {
  id: "f618072a-7bde-4eee-af63-71a77c5723bc",
  name: "Nightly backup",
  schedule: "30 3 * * *",
  tz: "Europe/Riga",
};

const EXAMPLE_ENTRY: ForecastEntry = {
  id: "moved|2027-03-28|Europe/Riga",
  kind: "moved",
  dates: ["2027-03-28"],
  // Sunday, 28 March 2027, 01:00 UTC.
  at: 1_806_195_600_000,
  zone: "Europe/Riga",
  count: 1,
  title: "Nightly backup runs at 04:00 instead of 03:30",
  why: "03:00 to 04:00 does not exist that night in Riga: clocks go forward. Cron catches up at 04:00, and Overdue expects the ping then.",
  checkCount: 1,
  checks: [EXAMPLE_CHECK],
  fixes: [
    {
      kind: "later",
      label: "Move to 04:30",
      changes: [
        {
          check: EXAMPLE_CHECK.id,
          name: EXAMPLE_CHECK.name,
          schedule: EXAMPLE_CHECK.schedule,
          tz: EXAMPLE_CHECK.tz,
          newSchedule: "30 4 * * *",
          newTz: "Europe/Riga",
        },
      ],
    },
  ],
  isIntended: false,
};

const FORECAST = "/projects/{project}/forecast";
const EDIT = { access: "editChecks", keys: "readWrite", tag: "Forecast" } as const;

export const forecastRoutes = {
  getForecast: route({
    method: "GET",
    path: FORECAST,
    access: "view",
    keys: "readOnly",
    tag: "Forecast",
    summary: "Get the forecast of a project",
    description:
      "Returns what will be different from usual in the next 12 months, by the schedules of the checks: clock changes, months that are too short, ambiguous expressions, schedules that end, and crowded minutes.",
    success: {
      status: 200,
      description: "The forecast.",
      schema: Forecast,
      example: {
        from: 1_794_960_000_000,
        until: 1_826_582_400_000,
        zone: "Europe/Riga",
        checkCount: 1,
        total: 1,
        entries: [EXAMPLE_ENTRY],
        intended: [],
        isTruncated: false,
        worst: EXAMPLE_ENTRY.id,
        crowd: null,
        feedCreatedAt: null,
      },
    },
  }),
  getCheckForecast: route({
    method: "GET",
    path: "/checks/{check}/forecast",
    access: "view",
    keys: "readWrite",
    tag: "Forecast",
    summary: "Get the forecast of a check",
    description: "Returns the surprises of the schedule of one check. Crowded minutes are left out.",
    success: {
      status: 200,
      description: "The forecast.",
      schema: CheckForecast,
      example: { entries: [EXAMPLE_ENTRY] },
    },
  }),
  setForecastIntended: route({
    ...EDIT,
    method: "PUT",
    path: `${FORECAST}/intended`,
    summary: "Mark a surprise as intended",
    description:
      "Marks an entry as intended, or removes the mark. The mark of a check lasts until its schedule changes. Repeating a request has no effect.",
    body: IntendedRequest,
    bodyExample: { entry: EXAMPLE_ENTRY.id, isIntended: true },
    success: { status: 204, description: "Done.", schema: null },
    errors: [409],
  }),
  fixForecast: route({
    ...EDIT,
    method: "POST",
    path: `${FORECAST}/fix`,
    summary: "Apply a fix",
    description:
      "Changes the schedules of checks to those that the forecast offers, all or none. If a check already has the new schedule, it stays as it is. If a schedule was changed to something else, the request is rejected with 409. Overdue only monitors: change the schedule of the job as well.",
    body: FixRequest,
    bodyExample: {
      entry: EXAMPLE_ENTRY.id,
      fix: "later",
      changes: [{ check: EXAMPLE_CHECK.id, newSchedule: "30 4 * * *", newTz: "Europe/Riga" }],
    },
    success: { status: 200, description: "What was changed.", schema: FixResult },
    errors: [409],
  }),
  createForecastFeed: route({
    method: "POST",
    path: `${FORECAST}/feed`,
    access: "view",
    keys: null,
    tag: "Forecast",
    summary: "Create your calendar feed",
    description:
      "Creates an iCalendar feed of the forecast. If you already have one for this project, it is replaced and the old URL stops working. The feed also stops when you leave the project.",
    success: {
      status: 201,
      description: "The feed.",
      schema: Feed,
      example: {
        url: "https://overdue.example.org/calendar/9hNn0mJX3GkT1dq0Q6pV7s2eY4uRb8zWcAfLxKiOjHM.ics",
      },
    },
  }),
  deleteForecastFeed: route({
    method: "DELETE",
    path: `${FORECAST}/feed`,
    access: "view",
    keys: null,
    tag: "Forecast",
    summary: "Revoke your calendar feed",
    success: { status: 204, description: "The feed is gone.", schema: null },
  }),
} as const;
