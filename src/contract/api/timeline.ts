// The timeline: what all checks of a project did and will do, on one axis.
import { type Static, Type } from "typebox";
import {
  TAGS_LENGTH_MAX,
  TIMELINE_DAYS_MAX,
  TIMELINE_LANES_MAX,
  TIMELINE_ROWS_MAX,
  TZ_LENGTH_MAX,
} from "../../core/limits.ts";
import { RULE } from "../check.ts";
import { FIELD_LENGTHS } from "./limits.ts";
import { StateCounts } from "./overview.ts";
import { route } from "./route.ts";
import { Cursor, nullable, Time, UuidText } from "./types.ts";

const Range = Type.Enum(["6h", "24h", "7d", "30d", "90d"], {
  description: "How much to show around now. Default: `24h`.",
});
export type TimelineRange = Static<typeof Range>;

const State = Type.Enum(["down", "late", "running", "up", "new", "paused"], {
  description: "The state of a check now. A check that is late or down is not `running`.",
});
export type TimelineState = Static<typeof State>;

export const TimelineRow = Type.Object({
  id: UuidText,
  name: Type.String(),
  tags: Type.Array(Type.String()),
  state: State,
  expected: Type.String({ description: "The schedule in a few words." }),
  usualMs: nullable(Type.Integer(), "The usual duration of a run. Null if it is unknown."),
  downSince: nullable(Time, "Null unless the check is down."),
  marks: Type.Array(Type.Integer(), {
    description:
      "What is on the row, in order of its start. Six integers each: the kind (0 ran, 1 late, 2 failed, 3 missed, 4 running, 5 predicted, 6 silenced, 7 paused, 8 schedule changed), the start in seconds after the start of the previous mark (of the first one: after `from`), the length in seconds, the number of runs, the seconds between the expected time and the start, and the number of the run (for a silence: its index in `silences`). Runs that are too close to be drawn separately are one mark.",
  }),
});
export type TimelineRow = Static<typeof TimelineRow>;

const Group = Type.Object(
  {
    tag: nullable(Type.String(), "Null for checks without tags, and if the rows are not grouped."),
    count: Type.Integer({ description: "How many checks match." }),
    downCount: Type.Integer(),
    lateCount: Type.Integer(),
    stopped: nullable(
      Type.Object({ count: Type.Integer(), at: Time }),
      "Set if at least three checks are down because nothing has come since the same time: how many, and the last ping of any of them.",
    ),
    rows: Type.Array(TimelineRow, { description: "By name. Those of one group may be on several pages." }),
  },
  { description: "Checks with the same first tag." },
);
export type TimelineGroup = Static<typeof Group>;

const Lane = Type.Object(
  {
    tag: nullable(Type.String(), "Null for checks without tags, and if the rows are not grouped."),
    isRest: Type.Boolean({
      description: `Whether the lane contains the checks of all other tags: there are at most ${TIMELINE_LANES_MAX} lanes.`,
    }),
    count: Type.Integer({ description: "How many checks match." }),
    downCount: Type.Integer(),
    lateCount: Type.Integer(),
    stopped: Group.properties.stopped,
    ran: Type.Array(Type.Integer(), { description: "Runs that came, in each column up to now." }),
    failed: Type.Array(Type.Integer(), { description: "Runs that failed, in each column up to now." }),
    missed: Type.Array(Type.Integer(), { description: "Runs that did not come, in each column up to now." }),
    ahead: Type.Array(Type.Integer(), {
      description: "Predicted runs, in each column from the current one on.",
    }),
    rows: Type.Array(TimelineRow, { description: "The first checks that are down or late." }),
    moreCount: Type.Integer({ description: "How many others are down or late." }),
  },
  { description: "The checks of one tag, counted." },
);
export type TimelineLane = Static<typeof Lane>;

const Load = Type.Object(
  {
    from: Type.Integer({ description: "Unix timestamp in milliseconds. Where the first column begins." }),
    columnMs: Type.Integer({ description: "Length of a column." }),
    counts: Type.Array(Type.Integer(), {
      description: "Runs at once in each column. Columns after now are predicted.",
    }),
    measure: Type.Enum(["most", "mean"], {
      description: "Whether `counts` are the most runs at once or their mean.",
    }),
    isEstimate: Type.Boolean({
      description: "Whether the past is derived from schedules and usual durations, too.",
    }),
    peak: nullable(
      Type.Object({ at: Time, count: Type.Integer() }),
      "The first column with the most runs at once until now. Null if nothing ran.",
    ),
    peakAhead: nullable(Type.Object({ at: Time, count: Type.Integer() }), "The same for after now."),
  },
  { description: "How many checks run at once." },
);
export type TimelineLoad = Static<typeof Load>;

const Silence = Type.Object({
  id: UuidText,
  reason: Type.String(),
  tag: nullable(Type.String(), "Null if it is for single checks or for all checks."),
  isForAll: Type.Boolean({ description: "Whether all checks of the project are silenced." }),
  windows: Type.Array(Type.Object({ from: Time, until: Time }), { description: "Within the range." }),
});
export type TimelineSilence = Static<typeof Silence>;

const ClockChange = Type.Object(
  {
    at: Time,
    zone: Type.String({ description: "IANA name." }),
    offsetBefore: Type.Integer({ description: "UTC offset before it, in seconds." }),
    offsetAfter: Type.Integer({ description: "UTC offset after it, in seconds." }),
    isOwn: Type.Boolean({ description: "Whether it is the requested zone; otherwise, a check uses it." }),
    checkCount: Type.Integer({ description: "How many of the checks are scheduled in this zone." }),
  },
  { description: "The clocks go forward or back." },
);
export type TimelineClockChange = Static<typeof ClockChange>;

const Timeline = Type.Object({
  from: Time,
  to: Time,
  now: Time,
  mode: Type.Enum(["rows", "density"]),
  total: Type.Integer({ description: "How many checks match." }),
  counts: StateCounts,
  tags: Type.Array(Type.Object({ name: Type.String(), count: Type.Integer() }), {
    description: "Tags of the project with the number of checks, the most frequent first.",
  }),
  groups: Type.Array(Group, { description: "With `mode` rows: a page of rows. Empty otherwise." }),
  next: Cursor,
  columnMs: Type.Integer({ description: "Length of the columns of lanes." }),
  columnsFrom: Type.Integer({
    description:
      "Unix timestamp in milliseconds. Where the first column of lanes begins: at or before `from`.",
  }),
  lanesFrom: nullable(
    Type.Enum(["schedule", "days"]),
    "With `mode` density: where the numbers of past runs come from. `schedule`: a run counts as `ran` if one was expected and the check did not go down. `days`: daily totals, in UTC. Null otherwise.",
  ),
  lanes: Type.Array(Lane, { description: "With `mode` density. Empty otherwise." }),
  load: Load,
  gaps: Type.Array(Type.Object({ from: Time, to: Time }), {
    description: "Times in which the server could not receive pings.",
  }),
  silences: Type.Array(Silence),
  clockChanges: Type.Array(ClockChange),
});
export type Timeline = Static<typeof Timeline>;

const moment = (description: string) =>
  Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description });

const Query = Type.Object(
  {
    range: Type.Optional(Range),
    from: Type.Optional(
      moment(
        `Unix timestamp in milliseconds. With \`to\`, instead of \`range\`: at most ${TIMELINE_DAYS_MAX} days.`,
      ),
    ),
    to: Type.Optional(moment("Unix timestamp in milliseconds. At most 8 days from now.")),
    width: Type.Optional(
      Type.Integer({
        minimum: 200,
        maximum: 2_400,
        description: "Width of the drawing in pixels. Runs closer than 7 pixels are merged. Default: 1000.",
      }),
    ),
    mode: Type.Optional(
      Type.Enum(["rows", "density"], {
        description: `One row per check, or counts per tag. Default: density for more than ${TIMELINE_ROWS_MAX} checks, otherwise rows.`,
      }),
    ),
    group: Type.Optional(Type.Enum(["tag", "none"], { description: "Default: `tag`." })),
    tag: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: TAGS_LENGTH_MAX,
        pattern: "^[^ ]+$",
        [RULE]: "storable",
        description: "Only checks with this tag.",
      }),
    ),
    q: Type.Optional(
      Type.String({
        maxLength: FIELD_LENGTHS.eventSearch,
        [RULE]: "storable",
        description: "Only checks with this text in their name or tags.",
      }),
    ),
    state: Type.Optional(
      Type.Enum(["trouble", "down", "late", "running", "up", "new", "paused"], {
        description: "Only checks in this state. `trouble`: down or late.",
      }),
    ),
    zone: Type.Optional(
      Type.String({
        maxLength: TZ_LENGTH_MAX,
        [RULE]: "zone",
        description: "Your time zone, for clock changes.",
      }),
    ),
    cursor: Type.Optional(
      Type.String({ pattern: "^[0-9]{1,15}$", description: "The `next` of the previous page." }),
    ),
  },
  { additionalProperties: false },
);
export type TimelineQuery = Static<typeof Query>;

export const timelineRoutes = {
  getTimeline: route({
    method: "GET",
    path: "/projects/{project}/timeline",
    access: "view",
    keys: "readWrite",
    tag: "History",
    summary: "Get the timeline of a project",
    description: `Returns what the checks of a project did and when they are expected to run, ready to be drawn. Up to ${TIMELINE_ROWS_MAX} checks are returned as rows, more as counts per tag.`,
    query: Query,
    success: { status: 200, description: "The timeline.", schema: Timeline },
  }),
} as const;
