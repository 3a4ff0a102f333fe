// Lists of projects and checks: project cards, the overview of a project, rows, deleted and removed checks.
import { type Static, Type } from "typebox";
import { BULK_CHECKS_MAX, DETAIL_ROWS_MAX, ROWS_PAGE_MAX } from "./limits.ts";
import { route } from "./route.ts";
import { Cursor, nullable, Time, UuidText } from "./types.ts";

const ShownState = Type.Enum(["new", "up", "late", "down", "paused"], {
  description: "`late`: the ping is overdue, and the grace period has not ended yet.",
});
export type ShownState = Static<typeof ShownState>;

const Fuse = Type.Object(
  {
    fromAt: Type.Integer({ description: "When the check began to wait for the ping." }),
    lateAt: Type.Integer({ description: "When the check becomes late." }),
    alertAt: Type.Integer({ description: "When the check goes down." }),
  },
  { description: "The time until an alert." },
);
export type Fuse = Static<typeof Fuse>;

export const CheckRow = Type.Object({
  id: UuidText,
  name: Type.String(),
  slug: Type.String(),
  tags: Type.Array(Type.String()),
  state: ShownState,
  runningSince: nullable(Time, "When the run in progress began."),
  expected: Type.String({ description: "The schedule in a few words." }),
  lastPingAt: nullable(Time),
  lastDurationMs: nullable(Type.Integer()),
  fuse: nullable(Fuse, "Null if no ping is expected. During a run, `alertAt` is the deadline of the run."),
  downSince: nullable(Time, "Null unless the check is down."),
  downReason: nullable(Type.Enum(["fail", "timeout"]), "Null unless the check is down."),
  exitStatus: nullable(Type.Integer(), "The exit status of the failure, if the job reported one."),
  tolerance: nullable(
    Type.Object({
      kind: Type.Enum(["tolerated", "recovering"], {
        description:
          "`tolerated`: the check is down, but not enough runs failed to notify. `recovering`: the check is up, but not enough runs succeeded to report the recovery.",
      }),
      of: Type.Enum(["failures", "missed", "successes"], { description: "What is counted." }),
      count: Type.Integer({ description: "0 after an incident was resolved while the check was down." }),
      needed: Type.Integer(),
    }),
    "Null if notifications follow the status.",
  ),
  channelCount: Type.Integer({ description: "How many channels are notified." }),
  change: Type.Integer({ description: "Different after every change of the check." }),
  readingOrder: Type.Integer({ description: "The larger of two versions of a check is the newer." }),
});
export type CheckRow = Static<typeof CheckRow>;

/** A channel as a row shows it. */
const RowChannel = Type.Object({
  kind: Type.String(),
  name: Type.String(),
  isEnabled: Type.Boolean(),
});
export type RowChannel = Static<typeof RowChannel>;

export const RowDetail = Type.Object({
  id: UuidText,
  recentRuns: Type.String({
    description:
      "At most 30 letters, oldest first: `u` success, `l` late success, `f` failure, `m` missed, `r` running, `x` not monitored, `p` paused.",
  }),
  durationsMs: Type.Array(Type.Integer(), { description: "At most 28 durations, oldest first." }),
  p95Ms: nullable(Type.Integer(), "95th percentile of the durations."),
  channels: Type.Array(RowChannel, { description: "The first channels that are notified." }),
});
export type RowDetail = Static<typeof RowDetail>;

const ProjectHead = Type.Object({
  id: UuidText,
  name: Type.String(),
  role: Type.Enum(["owner", "manager", "member", "readOnly"]),
  may: Type.Array(
    Type.Enum([
      "view",
      "testChannel",
      "editChecks",
      "editChannels",
      "editPolicies",
      "startFireDrill",
      "sendFireDrill",
      "silence",
      "acknowledge",
      "renameProject",
      "manageKeys",
      "manageMembers",
      "editStatusPages",
      "transferProject",
      "removeProject",
      "leaveProject",
    ]),
    { description: "What you may do in the project." },
  ),
});
export type ProjectHead = Static<typeof ProjectHead>;

export const StateCounts = Type.Object(
  {
    new: Type.Integer(),
    up: Type.Integer(),
    late: Type.Integer(),
    down: Type.Integer(),
    paused: Type.Integer(),
    running: Type.Integer(),
  },
  { description: "The number of checks by state. Each check is counted once." },
);
export type StateCounts = Static<typeof StateCounts>;

const ProjectCard = Type.Object({
  ...ProjectHead.properties,
  counts: StateCounts,
  total: Type.Integer({ description: "The number of checks." }),
  worst: nullable(ShownState, "The worst state of a check. Null without checks."),
  lastFlip: nullable(
    Type.Object({
      checkId: UuidText,
      checkName: Type.String(),
      to: Type.Enum(["up", "down"]),
      at: Time,
    }),
    "The newest change of a check to up or down, if it is recent. Null for read-only API keys.",
  ),
});
export type ProjectCard = Static<typeof ProjectCard>;

export const MonitoringGap = Type.Object(
  { fromAt: Time, toAt: Time },
  { description: "A time during which the server could not receive pings." },
);
export type MonitoringGap = Static<typeof MonitoringGap>;

const ProjectList = Type.Object({
  projects: Type.Array(ProjectCard),
  monitoringGap: nullable(
    MonitoringGap,
    "The most recent monitoring gap, if it ended less than an hour ago.",
  ),
});
export type ProjectList = Static<typeof ProjectList>;

const TagCount = Type.Object({ name: Type.String(), state: ShownState, count: Type.Integer() });
export type TagCount = Static<typeof TagCount>;

const NamedCheck = Type.Object({ id: UuidText, name: Type.String() });

const SinceAway = Type.Object(
  {
    sinceAt: Time,
    wentDown: Type.Array(NamedCheck, { description: "Checks that went down and are still down." }),
    recovered: Type.Array(NamedCheck, { description: "Checks that were down and are not any more." }),
    createdCount: Type.Integer({ description: "The number of new checks." }),
  },
  { description: "What has happened since your last visit in the dashboard." },
);
export type SinceAway = Static<typeof SinceAway>;

const SilentChecks = Type.Object({
  downCount: Type.Integer({ description: "How many checks are down and have no enabled channel." }),
  downIds: Type.Array(UuidText, { description: `Their ids, at most ${BULK_CHECKS_MAX}.` }),
  channels: Type.Array(Type.Object({ id: UuidText, name: Type.String() }), {
    description: "Enabled channels of the project that could be assigned to them.",
  }),
});
export type SilentChecks = Static<typeof SilentChecks>;

const Overview = Type.Object({
  project: ProjectHead,
  counts: StateCounts,
  tags: Type.Array(TagCount),
  checks: Type.Array(CheckRow, {
    description: "The first 100 checks. Those that need attention come first.",
  }),
  details: Type.Array(RowDetail, { description: "Details of the first 30 checks." }),
  total: Type.Integer({ description: "The number of checks." }),
  cursor: Type.String({ description: "Where the changes begin that follow this response." }),
  flips: Type.Array(Type.Integer(), {
    description: "Ids of the newest changes to up or down that are part of this response.",
  }),
  since: nullable(SinceAway, "Null if nothing has happened, and for API keys and tokens."),
  monitoringGap: ProjectList.properties.monitoringGap,
  silent: SilentChecks,
});
export type Overview = Static<typeof Overview>;

const CheckList = Type.Object({ checks: Type.Array(CheckRow), next: Cursor });
export type CheckList = Static<typeof CheckList>;

const DeletedCheck = Type.Object({
  id: UuidText,
  name: Type.String(),
  deletedAt: Time,
  expiresAt: Type.Integer({ description: "Until when the check can be restored." }),
});
export type DeletedCheck = Static<typeof DeletedCheck>;

export const ChangedBy = Type.Union(
  [
    Type.Object({ kind: Type.Literal("you") }),
    Type.Object({ kind: Type.Literal("person"), email: Type.String() }),
    Type.Object({ kind: Type.Literal("key") }),
    Type.Null(),
  ],
  { description: "Who did it. Null if that is unknown." },
);
export type ChangedBy = Static<typeof ChangedBy>;

const RemovedCheck = Type.Object({
  how: Type.Enum(["deleted", "moved"]),
  at: Time,
  by: ChangedBy,
  expiresAt: nullable(Time, "Until when the check can be restored. Null if it can't be."),
  mayRestore: Type.Boolean({ description: "Whether you may restore the check." }),
});
export type RemovedCheck = Static<typeof RemovedCheck>;

const PROJECT = "/projects/{project}";

export const overviewRoutes = {
  listProjects: route({
    method: "GET",
    path: "/projects",
    access: "account",
    keys: "readOnly",
    tag: "Projects",
    summary: "List projects",
    description:
      "Lists your projects with the number of checks in each state. With an API key, returns the project of the key.",
    success: { status: 200, description: "The projects.", schema: ProjectList },
  }),
  getOverview: route({
    method: "GET",
    path: `${PROJECT}/overview`,
    access: "view",
    keys: "readWrite",
    tag: "Checks",
    summary: "Get an overview of a project",
    description:
      "Returns the state of a project at a glance: the number of checks by state and tag, and the checks that need attention.",
    success: { status: 200, description: "The overview.", schema: Overview },
  }),
  listChecks: route({
    method: "GET",
    path: `${PROJECT}/checks`,
    access: "view",
    keys: "readWrite",
    tag: "Checks",
    summary: "List checks",
    description: "Lists the checks of a project in the order in which they were created.",
    query: Type.Object({
      cursor: Type.Optional(
        Type.String({ pattern: "^[0-9]{1,15}$", description: "The `next` of the previous page." }),
      ),
      limit: Type.Optional(
        Type.Integer({ minimum: 1, maximum: ROWS_PAGE_MAX, description: "Checks per page." }),
      ),
    }),
    success: { status: 200, description: "A page of checks.", schema: CheckList },
  }),
  listCheckDetails: route({
    method: "GET",
    path: `${PROJECT}/checks/details`,
    access: "view",
    keys: "readWrite",
    tag: "Checks",
    summary: "List recent runs of several checks",
    description: `Returns the recent runs, durations, and channels of at most ${DETAIL_ROWS_MAX} checks. Checks that are not in the project are left out.`,
    query: Type.Object({
      ids: Type.String({
        minLength: 36,
        maxLength: 37 * DETAIL_ROWS_MAX,
        pattern: "^[0-9a-f-]{36}(,[0-9a-f-]{36})*$",
        description: "Ids of checks, separated by commas.",
      }),
    }),
    success: {
      status: 200,
      description: "The details.",
      schema: Type.Object({ checks: Type.Array(RowDetail) }),
    },
  }),
  listSilentChecks: route({
    method: "GET",
    path: `${PROJECT}/silent-checks`,
    access: "view",
    keys: "readWrite",
    tag: "Checks",
    summary: "List checks that are down without notifications",
    description: "Lists checks that are down and have no enabled channel.",
    success: { status: 200, description: "The checks, and channels for them.", schema: SilentChecks },
  }),
  listDeletedChecks: route({
    method: "GET",
    path: `${PROJECT}/deleted-checks`,
    access: "view",
    keys: "readWrite",
    tag: "Checks",
    summary: "List deleted checks",
    description: "Lists the 100 most recently deleted checks that can still be restored.",
    success: {
      status: 200,
      description: "The deleted checks.",
      schema: Type.Object({ checks: Type.Array(DeletedCheck) }),
    },
  }),
  getRemovedCheck: route({
    method: "GET",
    path: `${PROJECT}/removed-checks/{id}`,
    access: "view",
    keys: "readWrite",
    tag: "Checks",
    summary: "Find out how a check left the project",
    description: "Returns who deleted or moved a check, when, and whether it can be restored.",
    success: { status: 200, description: "How the check left the project.", schema: RemovedCheck },
  }),
} as const;
