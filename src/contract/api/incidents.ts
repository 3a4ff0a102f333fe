// Incidents: problems of checks that are handled together.
import { type Static, Type } from "typebox";
import { INCIDENT_NOTE_LENGTH_MAX, INCIDENTS_NAMED_MAX, NAMED_CHECKS_MAX } from "../../core/limits.ts";
import { RULE } from "../check.ts";
import { FlipDelivery } from "./history.ts";
import { route } from "./route.ts";
import { Cursor, nullable, PageQuery, Time, UuidText } from "./types.ts";

const Cause = Type.Enum(["failed", "missed", "overrun", "tooFast", "tooOften"], {
  description:
    "`failed`: the job reported a failure. `missed`: no ping before the deadline. `overrun`: a run took too long. `tooFast`: a run was too short. `tooOften`: a run started too soon after the previous one.",
});

const Severity = Type.Enum(["low", "normal", "high"]);

export const IncidentActor = Type.Object({
  kind: Type.Enum(["account", "channel", "key"], {
    description: "`channel`: with the link that was sent to a channel. `key`: with an API key.",
  }),
  name: nullable(
    Type.String(),
    "Name or email address of the account, or name of the channel. Null for API keys, for what was deleted, and in responses to read-only API keys.",
  ),
});
export type IncidentActor = Static<typeof IncidentActor>;

const IncidentCheck = Type.Object({ id: UuidText, name: Type.String() });

export const IncidentRow = Type.Object({
  number: Type.Integer({ description: "Number of the incident in its project." }),
  cause: nullable(Cause, "The cause of the first alert. Null if no alert is left."),
  checks: Type.Array(IncidentCheck, {
    description:
      "The first checks of the incident, at most 5, without deleted ones. Empty in responses to a read-only API key.",
  }),
  checkCount: Type.Integer({ description: "Number of checks, including recovered ones." }),
  openCount: Type.Integer({ description: "Number of checks that have not recovered." }),
  key: nullable(
    Type.Object({
      kind: Type.Enum(["source", "tag", "project", "parent"], {
        description:
          "`source`: the address that their pings came from. `tag`: a tag. `project`: the project. `parent`: the first check, which the others depend on.",
      }),
      value: Type.String({ description: "The address, the tag, or the name of the project or the check." }),
    }),
    "What the checks have in common. Null for an incident of one check.",
  ),
  state: Type.Enum(["open", "acknowledged", "resolved"]),
  severity: Severity,
  openedAt: Time,
  acknowledged: nullable(
    Type.Object({ at: Time, by: IncidentActor }),
    "Who acknowledged it last, also after it was resolved.",
  ),
  resolvedAt: nullable(Time),
  reopenCount: Type.Integer(),
  isFlapping: Type.Boolean({ description: "Whether it was reopened several times within an hour." }),
  nextStep: nullable(
    Type.Object({
      kind: Type.Enum(["repeat", "acknowledgementEnds"], {
        description:
          "`repeat`: the notification is repeated. `acknowledgementEnds`: repeats start again unless it is acknowledged once more.",
      }),
      at: Time,
    }),
    "What happens next if nothing changes.",
  ),
  tags: Type.Array(Type.String(), { description: "Tags of the first checks, at most 20." }),
});
export type IncidentRow = Static<typeof IncidentRow>;

const IncidentList = Type.Object({
  incidents: Type.Array(IncidentRow),
  counts: Type.Object({
    open: Type.Integer({ description: "Not acknowledged." }),
    acknowledged: Type.Integer(),
  }),
  next: Cursor,
});
export type IncidentList = Static<typeof IncidentList>;

export const IncidentAlert = Type.Object(
  {
    id: Type.Integer(),
    check: nullable(IncidentCheck, "Null if the check was deleted or moved to another project."),
    cause: Cause,
    openedAt: Time,
    closedAt: nullable(Time),
    closeCause: nullable(
      Type.Enum(["recovered", "paused", "takenBack", "resolved", "deleted", "moved"]),
      "`takenBack`: a ping turned out to have arrived in time. `resolved`: a user resolved the incident.",
    ),
    rule: nullable(
      Type.String(),
      "The rule that holds notifications about it, or because of which none were sent.",
    ),
  },
  { description: "A confirmed problem of one check." },
);
export type IncidentAlert = Static<typeof IncidentAlert>;

const IncidentDelivery = Type.Object({
  ...FlipDelivery.properties,
  kind: Type.Enum(["flip", "correction", "repeat", "group"]),
  check: nullable(IncidentCheck, "Null if the message is about several checks, or the check was deleted."),
});
export type IncidentDelivery = Static<typeof IncidentDelivery>;

export const IncidentEvent = Type.Object({
  id: Type.Integer(),
  at: Time,
  kind: Type.Enum(
    [
      "acknowledged",
      "unacknowledged",
      "acknowledgementEnded",
      "severityRaised",
      "flapping",
      "resolved",
      "reopened",
    ],
    { description: "`resolved` without `by`: all checks recovered." },
  ),
  by: nullable(IncidentActor, "Null if no user did it."),
});
export type IncidentEvent = Static<typeof IncidentEvent>;

export const IncidentNote = Type.Object({
  id: Type.Integer(),
  at: Time,
  by: IncidentActor,
  text: Type.String(),
});
export type IncidentNote = Static<typeof IncidentNote>;

export const Incident = Type.Object({
  ...IncidentRow.properties,
  alerts: Type.Array(IncidentAlert, { description: "Oldest first, at most 200." }),
  deliveries: Type.Array(IncidentDelivery, { description: "The newest 200, oldest first." }),
  events: Type.Array(IncidentEvent, { description: "The newest 200, oldest first." }),
  notes: Type.Array(IncidentNote, { description: "Oldest first, at most 100." }),
});
export type Incident = Static<typeof Incident>;

const ListQuery = Type.Object(
  {
    ...PageQuery.properties,
    state: Type.Optional(
      Type.Enum(["open", "resolved", "all"], {
        description: "`open` includes acknowledged incidents. Default: `open`.",
      }),
    ),
  },
  { additionalProperties: false },
);

const BulkAcknowledgement = Type.Object(
  {
    checks: Type.Optional(
      Type.Array(UuidText, {
        maxItems: NAMED_CHECKS_MAX,
        description: "Acknowledges the open incidents of these checks.",
      }),
    ),
    incidents: Type.Optional(
      Type.Array(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }), {
        maxItems: INCIDENTS_NAMED_MAX,
        description: "Numbers of incidents.",
      }),
    ),
  },
  { additionalProperties: false, description: "Either `checks` or `incidents`." },
);

const NewNote = Type.Object(
  { text: Type.String({ minLength: 1, maxLength: INCIDENT_NOTE_LENGTH_MAX, [RULE]: "storable" }) },
  { additionalProperties: false },
);

const EXAMPLE_CHECK = { id: "f618072a-7bde-4eee-af63-71a77c5723bc", name: "Nightly backup" };

const EXAMPLE_ROW: IncidentRow = {
  number: 217,
  cause: "missed",
  checks: [EXAMPLE_CHECK],
  checkCount: 1,
  openCount: 1,
  key: null,
  state: "open",
  severity: "normal",
  openedAt: 1_794_735_000_000,
  acknowledged: null,
  resolvedAt: null,
  reopenCount: 0,
  isFlapping: false,
  nextStep: { kind: "repeat", at: 1_794_738_601_430 },
  tags: ["prod", "backup"],
};

const EXAMPLE_NOTE: IncidentNote = {
  id: 92,
  at: 1_794_735_300_000,
  by: { kind: "account", name: "Ada Lovelace" },
  text: "The disk is full. Deleting old archives.",
};

const EXAMPLE_INCIDENT: Incident = {
  ...EXAMPLE_ROW,
  alerts: [
    {
      id: 318,
      check: EXAMPLE_CHECK,
      cause: "missed",
      openedAt: EXAMPLE_ROW.openedAt,
      closedAt: null,
      closeCause: null,
      rule: null,
    },
  ],
  deliveries: [
    {
      id: 4711,
      channel: { id: "5c2bbd30-6b2e-4a0f-9d3b-0f6f2f3c8a11", kind: "ntfy", name: "Phones" },
      isInOtherProject: false,
      state: "sent",
      attempts: 1,
      createdAt: 1_794_735_000_900,
      attemptedAt: 1_794_735_001_250,
      nextAttemptAt: null,
      settledAt: 1_794_735_001_430,
      responseCode: 200,
      reason: null,
      kind: "flip",
      check: EXAMPLE_CHECK,
    },
  ],
  events: [{ id: 91, at: EXAMPLE_ROW.openedAt, kind: "reopened", by: null }],
  notes: [EXAMPLE_NOTE],
};

const EXAMPLE_ACKNOWLEDGED: Incident = {
  ...EXAMPLE_INCIDENT,
  state: "acknowledged",
  acknowledged: { at: 1_794_735_200_000, by: EXAMPLE_NOTE.by },
  nextStep: null,
};

const INCIDENTS = "/projects/{project}/incidents";
const INCIDENT = `${INCIDENTS}/{incident}`;

/** Common to the routes that change an incident. */
const change = { method: "POST", access: "acknowledge", keys: "readWrite", tag: "Incidents" } as const;

export const incidentRoutes = {
  listIncidents: route({
    method: "GET",
    path: INCIDENTS,
    access: "view",
    keys: "readOnly",
    tag: "Incidents",
    summary: "List incidents",
    description:
      "Lists the incidents of a project, newest first. Resolved incidents are stored for 93 days. With a read-only API key, the names of accounts and channels are omitted.",
    query: ListQuery,
    success: {
      status: 200,
      description: "A page of incidents.",
      schema: IncidentList,
      example: { incidents: [EXAMPLE_ROW], counts: { open: 1, acknowledged: 0 }, next: null },
    },
  }),
  acknowledgeIncidents: route({
    ...change,
    path: `${INCIDENTS}/acknowledge`,
    summary: "Acknowledge several incidents",
    description:
      "Acknowledges incidents by their numbers, or the open incidents of some checks. Unknown, acknowledged, and resolved ones are skipped.",
    body: BulkAcknowledgement,
    bodyExample: { incidents: [216, 217] },
    success: {
      status: 200,
      description: "The numbers of the incidents that are acknowledged now and were not before.",
      schema: Type.Object({ acknowledged: Type.Array(Type.Integer()) }),
      example: { acknowledged: [217] },
    },
  }),
  getIncident: route({
    method: "GET",
    path: INCIDENT,
    access: "view",
    keys: "readWrite",
    tag: "Incidents",
    summary: "Get an incident",
    description: "Returns an incident with its alerts, notifications, timeline, and notes.",
    success: { status: 200, description: "The incident.", schema: Incident, example: EXAMPLE_INCIDENT },
  }),
  acknowledgeIncident: route({
    ...change,
    path: `${INCIDENT}/acknowledge`,
    summary: "Acknowledge an incident",
    description:
      "Stops repeated notifications. Recoveries and checks that join later are still notified. Has no effect if the incident is acknowledged or resolved.",
    success: { status: 200, description: "The incident.", schema: Incident, example: EXAMPLE_ACKNOWLEDGED },
  }),
  unacknowledgeIncident: route({
    ...change,
    path: `${INCIDENT}/unacknowledge`,
    summary: "Take back an acknowledgement",
    description: "Notifications are repeated again. Has no effect if the incident is not acknowledged.",
    success: { status: 200, description: "The incident.", schema: Incident, example: EXAMPLE_INCIDENT },
  }),
  resolveIncident: route({
    ...change,
    path: `${INCIDENT}/resolve`,
    summary: "Resolve an incident",
    description:
      "Closes the open alerts of an incident without notifications. Checks that are down stay down until their next success; their next failed or missed run opens a new incident. Has no effect if the incident is resolved.",
    success: {
      status: 200,
      description: "The incident.",
      schema: Incident,
      example: {
        ...EXAMPLE_INCIDENT,
        state: "resolved",
        openCount: 0,
        resolvedAt: 1_794_736_000_000,
        nextStep: null,
      },
    },
  }),
  addIncidentNote: route({
    ...change,
    path: `${INCIDENT}/notes`,
    summary: "Add a note",
    description: "Adds a note to the timeline of an incident. An incident can have 100 notes.",
    body: NewNote,
    bodyExample: { text: EXAMPLE_NOTE.text },
    success: { status: 201, description: "The note.", schema: IncidentNote, example: EXAMPLE_NOTE },
    errors: [409],
  }),
};
