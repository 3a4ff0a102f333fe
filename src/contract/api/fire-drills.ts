// Fire drills: simulated outages that show who would be notified, and how fast.
import { type Static, Type } from "typebox";
import { FIRE_DRILLS_KEPT, TZ_LENGTH_MAX } from "../../core/limits.ts";
import { RULE } from "../check.ts";
import { route } from "./route.ts";
import { nullable, Time, UuidText } from "./types.ts";

const SUMMARY = {
  id: UuidText,
  check: nullable(
    Type.Object({
      id: nullable(UuidText, "Null if the check was deleted, and in responses to a read-only API key."),
      name: Type.String(),
    }),
    "The check that the drill simulates. Null: a check with all channels of the project.",
  ),
  isSent: Type.Boolean({ description: "Whether messages are sent. False: they are only rendered." }),
  isScheduled: Type.Boolean({ description: "Whether it is the weekly drill." }),
  startedBy: nullable(
    Type.String(),
    "Email address of the account that started or scheduled it. Null if an API key did, if the account was closed, and in responses to a read-only API key.",
  ),
  startedAt: Time,
  endedAt: nullable(Time, "Null while it runs."),
  outcome: nullable(
    Type.Enum(["ok", "failed", "held", "nobody", "timedOut"], {
      description:
        "`ok`: every channel got its message, or would have. `failed`: at least one did not. `held`: a silence applies. `nobody`: no channel is notified. `timedOut`: a step took too long.",
    }),
    "Null while it runs.",
  ),
  durationMs: nullable(
    Type.Integer(),
    "From the missed deadline until the last channel got its message, or would have. Null: no channel did.",
  ),
  channelCount: Type.Integer({ description: "How many channels got a message, or would have." }),
};

const FireDrillSummary = Type.Object(SUMMARY);
export type FireDrillSummary = Static<typeof FireDrillSummary>;

const MessageOutcome = Type.Enum(["notSent", "sent", "retrying", "failed", "skipped"], {
  description:
    "`notSent`: rendered, and not sent because of the drill. `skipped`: the channel gets no message. `failed`: it could not be sent, or could not have been.",
});

export const FireDrillRecipient = Type.Object({
  channel: Type.Object({ id: UuidText, kind: Type.String(), name: Type.String() }),
  outcome: MessageOutcome,
  reason: nullable(Type.String(), "Why it was not sent."),
  code: nullable(Type.Integer(), "Status code of the response."),
  claimedAt: nullable(Time),
  renderedAt: nullable(Time),
  answeredAt: nullable(Time, "When the receiver responded. Null: nothing was sent."),
  closing: nullable(
    Type.Object({ at: Time, outcome: MessageOutcome, reason: nullable(Type.String()) }),
    "The message that closed the problem again. Null: nothing was sent, or not yet.",
  ),
  title: nullable(Type.String()),
  text: nullable(Type.String()),
  requests: Type.Array(Type.Object({ method: Type.String(), url: Type.String(), body: Type.String() }), {
    description: "The requests, without secrets. Empty for email and programs, and for a read-only API key.",
  }),
});

export const FireDrill = Type.Object({
  ...SUMMARY,
  hops: Type.Array(
    Type.Object({
      name: Type.Enum(["deadline", "found", "written", "planned", "claimed", "rendered", "answered"]),
      at: Time,
    }),
    {
      description:
        "The steps so far, in order. `deadline`: the simulated deadline passed. `found`: by the sweeper. `written`: the alert. `planned`: the notifications. `claimed`, `rendered`, `answered`: by the last channel.",
    },
  ),
  held: nullable(
    Type.Object({ reason: Type.String(), until: nullable(Time) }),
    "What holds the notifications. Null: nothing does.",
  ),
  notes: Type.Array(Type.String(), {
    description: "What would be different for a real problem of the check.",
  }),
  recipients: Type.Array(FireDrillRecipient, {
    description: "All channels of the project, except groups. Their members are listed.",
  }),
});
export type FireDrill = Static<typeof FireDrill>;

const CheckId = nullable(UuidText, "The check to simulate. Null: a check with all channels of the project.");

const NewFireDrill = Type.Object(
  {
    check: Type.Optional(CheckId),
    send: Type.Optional(
      Type.Boolean({
        description:
          "Send the messages, marked as a fire drill, and close incidents again at once. Only owners and managers can. Default: false.",
      }),
    ),
  },
  { additionalProperties: false },
);

const SCHEDULE = {
  weekday: Type.Integer({ minimum: 0, maximum: 6, description: "The day. Monday is 0." }),
  minute: Type.Integer({ minimum: 0, maximum: 1_439, description: "Minutes after midnight." }),
  tz: Type.String({ maxLength: TZ_LENGTH_MAX, [RULE]: "zone", description: "The time zone of the time." }),
  send: Type.Boolean({ description: "Whether the messages are sent." }),
};

export const WeeklyFireDrill = Type.Object({
  ...SCHEDULE,
  check: nullable(Type.Object({ id: nullable(UuidText), name: Type.String() })),
  nextAt: Time,
});

const FireDrillSchedule = Type.Object({
  schedule: nullable(WeeklyFireDrill, "Null: there is no weekly drill."),
});
export type FireDrillSchedule = Static<typeof FireDrillSchedule>;

const ScheduleBody = Type.Object(
  {
    schedule: nullable(
      Type.Object({ ...SCHEDULE, check: Type.Optional(CheckId) }, { additionalProperties: false }),
      "Null ends the weekly drill.",
    ),
  },
  { additionalProperties: false },
);

const CHECK = { id: "f618072a-7bde-4eee-af63-71a77c5723bc", name: "Nightly backup" };
const EXAMPLE: FireDrill = {
  id: "1f0c6a7e-52d1-4f6b-8a53-6a1f6d0f7c21",
  check: CHECK,
  isSent: false,
  isScheduled: false,
  startedBy: "ada@example.org",
  startedAt: 1_794_735_000_000,
  endedAt: 1_794_735_003_100,
  outcome: "ok",
  durationMs: 1_642,
  channelCount: 1,
  hops: [
    { name: "deadline", at: 1_794_735_001_000 },
    { name: "found", at: 1_794_735_002_310 },
    { name: "written", at: 1_794_735_002_322 },
    { name: "planned", at: 1_794_735_002_540 },
    { name: "claimed", at: 1_794_735_002_561 },
    { name: "rendered", at: 1_794_735_002_642 },
  ],
  held: null,
  notes: [],
  recipients: [
    {
      channel: { id: "1f09d2b4-08c5-4e0d-9a0c-2d0f4a6b9e55", kind: "slack", name: "#ops" },
      outcome: "notSent",
      reason: "Not sent (fire drill)",
      code: null,
      claimedAt: 1_794_735_002_561,
      renderedAt: 1_794_735_002_642,
      answeredAt: null,
      closing: null,
      title: "[Fire drill] Nightly backup is DOWN",
      text: "[Fire drill] Nightly backup is DOWN\n\nThis is a fire drill. No check changed status.",
      requests: [{ method: "POST", url: "https://hooks.slack.com/********", body: "{}" }],
    },
  ],
};
const EXAMPLE_SCHEDULE: FireDrillSchedule = {
  schedule: {
    weekday: 0,
    minute: 540,
    tz: "Europe/Riga",
    send: false,
    check: CHECK,
    nextAt: 1_795_417_200_000,
  },
};

const { hops: _, held: __, notes: ___, recipients: ____, ...EXAMPLE_SUMMARY } = EXAMPLE;

const FIRE_DRILLS = "/projects/{project}/fire-drills";

export const fireDrillRoutes = {
  listFireDrills: route({
    method: "GET",
    path: FIRE_DRILLS,
    access: "view",
    keys: "readOnly",
    tag: "Fire drills",
    summary: "List fire drills",
    description: `Lists the last ${FIRE_DRILLS_KEPT} fire drills of a project, newest first. Older ones are deleted.`,
    success: {
      status: 200,
      description: "The fire drills.",
      schema: Type.Object({ fireDrills: Type.Array(FireDrillSummary) }),
      example: { fireDrills: [EXAMPLE_SUMMARY] },
    },
  }),
  startFireDrill: route({
    method: "POST",
    path: FIRE_DRILLS,
    access: "startFireDrill",
    keys: "readWrite",
    tag: "Fire drills",
    summary: "Start a fire drill",
    description:
      "Simulates a missed deadline. It takes the path of a real alert up to the request to each receiver. No check changes its status. One drill can run at a time. Drills that send messages can start every 5 minutes.",
    body: NewFireDrill,
    bodyExample: { check: CHECK.id },
    success: {
      status: 201,
      description: "The fire drill has started.",
      schema: FireDrill,
      example: {
        ...EXAMPLE,
        endedAt: null,
        outcome: null,
        durationMs: null,
        channelCount: 0,
        hops: EXAMPLE.hops.slice(0, 1),
        recipients: [],
      },
    },
    errors: [409],
  }),
  getFireDrill: route({
    method: "GET",
    path: `${FIRE_DRILLS}/{fireDrill}`,
    access: "view",
    keys: "readOnly",
    tag: "Fire drills",
    summary: "Get a fire drill",
    description: "Returns a fire drill with all steps and channels. While it runs, the result grows.",
    success: { status: 200, description: "The fire drill.", schema: FireDrill, example: EXAMPLE },
  }),
  getFireDrillSchedule: route({
    method: "GET",
    path: "/projects/{project}/fire-drill-schedule",
    access: "view",
    keys: "readOnly",
    tag: "Fire drills",
    summary: "Get the weekly fire drill",
    success: {
      status: 200,
      description: "The weekly fire drill.",
      schema: FireDrillSchedule,
      example: EXAMPLE_SCHEDULE,
    },
  }),
  setFireDrillSchedule: route({
    method: "PUT",
    path: "/projects/{project}/fire-drill-schedule",
    access: "sendFireDrill",
    keys: null,
    tag: "Fire drills",
    summary: "Set the weekly fire drill",
    description:
      "Starts a fire drill every week. It is left out if another one is running, or if the server was down at its time.",
    body: ScheduleBody,
    bodyExample: { schedule: { weekday: 0, minute: 540, tz: "Europe/Riga", send: false, check: CHECK.id } },
    success: {
      status: 200,
      description: "The weekly fire drill.",
      schema: FireDrillSchedule,
      example: EXAMPLE_SCHEDULE,
    },
  }),
} as const;
