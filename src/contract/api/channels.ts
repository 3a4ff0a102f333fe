// Channels, channel kinds, and deliveries. Secrets are accepted and never returned.
import { type Static, Type } from "typebox";
import {
  CHANNEL_KIND_LENGTH_MAX,
  CHANNEL_NAME_LENGTH_MAX,
  NAMED_CHECKS_MAX,
  PAGE_LENGTH_DEFAULT,
  RECENT_DELIVERIES_MAX,
} from "../../core/limits.ts";
import { RULE } from "../check.ts";
import { FlipDelivery } from "./history.ts";
import { ROWS_PAGE_MAX } from "./limits.ts";
import { route } from "./route.ts";
import { Cursor, nullable, PageQuery, pageQuery, Time, UuidText } from "./types.ts";

const Kind = Type.Object({
  name: Type.String({ description: "The `kind` of channels of this kind." }),
  title: Type.String(),
  description: Type.String(),
  category: Type.Enum(["chat", "push", "phone", "incidents", "automation"], {
    description: "The category under which the kind is listed.",
  }),
  icon: nullable(Type.String(), "The name of its icon in the Simple Icons collection. Null if it has none."),
  guide: Type.Array(Type.String(), {
    description: "How to set up a channel, step by step: Markdown with links, bold text, and code.",
  }),
  unavailable: nullable(
    Type.String(),
    "Why channels of this kind cannot send until an admin changes the server's settings. Null if they can.",
  ),
  rateLimit: nullable(
    Type.Object({ perMinute: Type.Integer(), burst: Type.Integer() }),
    "Rate limit for messages to one channel of this kind. Null means no limit.",
  ),
  schema: Type.Object(
    {
      properties: Type.Record(Type.String(), Type.Record(Type.String(), Type.Unknown())),
      required: Type.Optional(Type.Array(Type.String())),
    },
    {
      additionalProperties: true,
      description: "JSON Schema of the configuration. Fields marked `writeOnly` are secrets.",
    },
  ),
});
export type ChannelKindInfo = Static<typeof Kind>;

const KindList = Type.Object({ kinds: Type.Array(Kind) });

const Warning = Type.Object({
  field: Type.String({ description: "Name of the configuration field." }),
  text: Type.String(),
});
export type ConfigWarning = Static<typeof Warning>;

export const Channel = Type.Object({
  id: UuidText,
  kind: Type.String({
    description: "The kind of channel, such as `email` or `slack`. See List channel kinds.",
  }),
  name: Type.String(),
  config: Type.Record(Type.String(), Type.Unknown(), {
    description: "The configuration. Secrets are masked as `********`.",
  }),
  isEnabled: Type.Boolean(),
  disabledAt: nullable(Time),
  disabledReason: nullable(Type.String()),
  isVerified: nullable(
    Type.Boolean(),
    "For email channels, whether the recipient has confirmed the address. Null for other kinds.",
  ),
  notifies: Type.Boolean({
    description:
      "Whether notifications can be sent to the channel: it is enabled, and an email address is confirmed. For a group, whether they can be sent to one of its members.",
  }),
  checkCount: Type.Integer({ description: "Number of checks that the channel notifies for." }),
  createdAt: Time,
  lastNotifiedAt: nullable(Time),
  lastDurationMs: nullable(Type.Integer(), "Duration of the last delivery attempt, in milliseconds."),
  lastError: nullable(Type.String()),
  failureCount: Type.Integer({ description: "Number of failed messages since the last successful one." }),
  warnings: Type.Array(Warning, {
    description:
      "Configuration problems that will prevent delivery, as far as they can be detected without sending a request. The channel is saved despite them.",
  }),
  version: Type.Integer({
    description: "Increases with every change of the settings. The `ETag` is this number in quotes.",
  }),
});
export type Channel = Static<typeof Channel>;

const { id, kind, name, ...details } = Channel.properties;

/** A read-only key sees no addresses, and nothing of what was sent to them. */
export const SeenChannel = Type.Object(
  { id, kind, name, ...Type.Partial(Type.Object(details)).properties },
  { description: "With a read-only API key, only `id`, `kind`, and `name` are present." },
);
export type SeenChannel = Static<typeof SeenChannel>;

const ChannelList = Type.Object({ channels: Type.Array(SeenChannel), next: Cursor });

const CreatedChannel = Type.Object({
  channel: Channel,
  generated: Type.Record(Type.String(), Type.String(), {
    description:
      "Secrets generated for the channel, by configuration field. They are only returned once; a repeated request does not return them.",
  }),
});
export type CreatedChannel = Static<typeof CreatedChannel>;

const ChannelChecks = Type.Object({
  checks: Type.Array(Type.Object({ id: UuidText, name: Type.String() })),
  next: Cursor,
});

export const Delivery = Type.Object({
  ...FlipDelivery.properties,
  group: nullable(
    UuidText,
    "The group through which the channel was notified. Null if it was notified directly.",
  ),
  kind: Type.Enum(["flip", "correction", "repeat", "group", "notice", "disabled", "operator", "test"], {
    description:
      "The type of message: a status change of a check (`flip`), the correction of an earlier alert (`correction`), a reminder (`repeat`), several checks of an incident (`group`), a monitoring gap (`notice`), another channel that was disabled (`disabled`), a health problem of the server (`operator`), or a test (`test`).",
  }),
  check: nullable(
    Type.Object({ id: UuidText, name: Type.String() }),
    "Null if the message is not about a check, or the check was deleted.",
  ),
  to: nullable(Type.Enum(["up", "down"]), "The new status of the check, for a status change."),
  request: nullable(Type.String(), "Summary of the last request, without secrets."),
  response: nullable(Type.String(), "Beginning of the receiver's response, without secrets."),
  message: nullable(Type.Integer(), "ID of the oldest delivery in the message that included this one."),
});
export type Delivery = Static<typeof Delivery>;

const DeliveryList = Type.Object({ deliveries: Type.Array(Delivery), next: Cursor });

const FIELDS = {
  name: Type.String({ maxLength: CHANNEL_NAME_LENGTH_MAX, [RULE]: "storable" }),
  config: Type.Record(Type.String(), Type.Unknown(), {
    description: "The configuration by the schema of the kind. Omitted fields stay the same.",
  }),
  isEnabled: Type.Boolean(),
  checks: Type.Union([Type.Literal("*"), Type.Array(UuidText, { maxItems: NAMED_CHECKS_MAX })], {
    description:
      '`"*"` selects all existing checks of the project. A list selects exactly these checks. Channels for new checks are selected when a check is created.',
  }),
};

const KindName = Type.String({ maxLength: CHANNEL_KIND_LENGTH_MAX, [RULE]: "storable" });

const NewChannel = Type.Object(
  { kind: KindName, ...Type.Partial(Type.Object(FIELDS)).properties },
  { additionalProperties: false },
);
export type NewChannel = Static<typeof NewChannel>;

const ChannelChange = Type.Partial(
  Type.Object({
    ...FIELDS,
    kind: Type.String({
      maxLength: CHANNEL_KIND_LENGTH_MAX,
      description: "Must be the kind of the channel.",
    }),
    version: Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description:
        "If given and the channel has another version by now, the request is rejected with 409, and the response says what was changed. With `If-Match`, it is rejected with 412.",
    }),
  }),
  { additionalProperties: false },
);

const WarningsBody = Type.Object({ kind: KindName, config: FIELDS.config }, { additionalProperties: false });

const PreviewBody = Type.Object(
  {
    kind: KindName,
    config: Type.Record(Type.String(), Type.Unknown(), {
      description:
        "The configuration as far as it is known. Samples replace missing and invalid values. A masked secret is accepted.",
    }),
    event: Type.Enum(["down", "up", "notice", "group"], {
      description:
        "What the message is about: a check that goes down or comes back up, a monitoring gap (`notice`), or several checks of an incident (`group`).",
    }),
  },
  { additionalProperties: false },
);
export type PreviewEvent = Static<typeof PreviewBody>["event"];

const ChannelPreview = Type.Object({
  title: Type.String(),
  text: Type.String({ description: "The text of the message without markup." }),
  isSent: Type.Boolean({
    description: "Whether a channel with this configuration is notified of the event.",
  }),
  requests: Type.Array(
    Type.Object({
      method: Type.String(),
      url: Type.String(),
      headers: Type.Record(Type.String(), Type.String()),
      body: Type.String(),
    }),
    {
      description:
        "The HTTP requests that would be sent, with secrets masked. Empty if none would be sent, for example by email.",
    },
  ),
});
export type ChannelPreview = Static<typeof ChannelPreview>;

const Health = Type.Object({
  id: UuidText,
  recent: Type.Array(Type.Enum(["delivered", "retried", "failed"]), {
    description:
      "Results of the newest messages, oldest first: accepted (`delivered`), accepted after failed attempts (`retried`), or failed or still being retried (`failed`).",
  }),
  failingSince: nullable(
    Time,
    "When the first message of the current series of failures was due. Null if the newest message was accepted.",
  ),
  medianMs: nullable(
    Type.Integer(),
    "Median duration of accepted attempts, in milliseconds. Null if there is none.",
  ),
});
export type ChannelHealth = Static<typeof Health>;

const EXAMPLE_CHANNEL: Channel = {
  id: "5c2bbd30-6b2e-4a0f-9d3b-0f6f2f3c8a11",
  kind: "ntfy",
  name: "Phones",
  config: {
    topic: "********",
    url: "https://ntfy.sh",
    token: "",
    priority: 5,
    priority_up: 3,
    priority_notice: 2,
  },
  isEnabled: true,
  disabledAt: null,
  disabledReason: null,
  isVerified: null,
  notifies: true,
  checkCount: 2,
  createdAt: 1_794_729_600_000,
  lastNotifiedAt: 1_794_735_001_250,
  lastDurationMs: 180,
  lastError: null,
  failureCount: 0,
  warnings: [],
  version: 1,
};

const EXAMPLE_DELIVERY: Delivery = {
  id: 4711,
  channel: { id: EXAMPLE_CHANNEL.id, kind: "ntfy", name: "Phones" },
  isInOtherProject: false,
  group: null,
  kind: "flip",
  check: { id: "f618072a-7bde-4eee-af63-71a77c5723bc", name: "Nightly backup" },
  to: "down",
  state: "sent",
  attempts: 1,
  createdAt: 1_794_735_000_900,
  attemptedAt: 1_794_735_001_250,
  nextAttemptAt: null,
  settledAt: 1_794_735_001_430,
  request: "POST ntfy.sh",
  responseCode: 200,
  response: '{"id":"sPs71M8A2T","event":"message"}',
  reason: null,
  message: 4711,
};

const EXAMPLE_TEST: Delivery = {
  ...EXAMPLE_DELIVERY,
  id: 4712,
  kind: "test",
  check: null,
  to: null,
  state: "pending",
  attempts: 0,
  attemptedAt: null,
  nextAttemptAt: EXAMPLE_DELIVERY.createdAt,
  settledAt: null,
  request: null,
  responseCode: null,
  response: null,
  message: null,
};

const CHANNELS = "/projects/{project}/channels";
const CHANNEL = "/channels/{channel}";
const DELIVERY = "/projects/{project}/deliveries/{delivery}";

export const channelRoutes = {
  listChannelKinds: route({
    method: "GET",
    path: "/channel-kinds",
    access: "account",
    keys: "readOnly",
    tag: "Channels",
    summary: "List channel kinds",
    description: "Lists the available kinds of channels with the schemas of their configurations.",
    success: {
      status: 200,
      description: "The channel kinds.",
      schema: KindList,
      example: {
        kinds: [
          {
            name: "slack",
            title: "Slack",
            description: "Sends messages to a Slack channel.",
            category: "chat",
            icon: null,
            guide: ["Copy the webhook URL and paste it into the form."],
            unavailable: null,
            rateLimit: { perMinute: 60, burst: 10 },
            schema: {
              type: "object",
              required: ["url"],
              properties: { url: { type: "string", writeOnly: true } },
            },
          },
        ],
      },
    },
  }),
  listChannels: route({
    method: "GET",
    path: CHANNELS,
    access: "view",
    keys: "readOnly",
    tag: "Channels",
    summary: "List channels",
    description:
      "Lists the channels of a project, oldest first. With a read-only API key, only `id`, `kind`, and `name` are returned. A page can contain fewer items than `limit` even if it is not the last one.",
    query: PageQuery,
    success: {
      status: 200,
      description: "A page of channels.",
      schema: ChannelList,
      example: { channels: [EXAMPLE_CHANNEL], next: null },
    },
  }),
  createChannel: route({
    method: "POST",
    path: CHANNELS,
    access: "editChannels",
    keys: "readWrite",
    tag: "Channels",
    summary: "Create a channel",
    description:
      "Creates a channel. Without `checks`, it notifies for all existing checks of the project. For email channels, the recipient must confirm the address before alerts are sent to it. If you repeat a request with the same `Idempotency-Key` within a day, only one channel is created. All responses are the same, except that only the first one contains generated secrets.",
    body: NewChannel,
    bodyExample: {
      kind: "ntfy",
      name: "Phones",
      config: { topic: "our-secret-topic", priority: 5 },
      checks: "*",
    },
    success: {
      status: 201,
      description: "The new channel.",
      schema: CreatedChannel,
      example: {
        channel: { ...EXAMPLE_CHANNEL, lastNotifiedAt: null, lastDurationMs: null },
        generated: {},
      },
    },
    etag: true,
    idempotencyKey: true,
  }),
  checkChannelConfig: route({
    method: "POST",
    path: `${CHANNELS}/warnings`,
    access: "editChannels",
    keys: "readWrite",
    tag: "Channels",
    summary: "Check a channel configuration",
    description:
      "Returns the warnings that a channel with this configuration would have. Nothing is saved or sent.",
    readsOnly: true,
    body: WarningsBody,
    bodyExample: { kind: "webhook", config: { url_down: "http://192.0.2.1/hook" } },
    success: {
      status: 200,
      description: "The warnings.",
      schema: Type.Object({ warnings: Type.Array(Warning) }),
      example: { warnings: [] },
    },
  }),
  previewChannel: route({
    method: "POST",
    path: `${CHANNELS}/preview`,
    access: "testChannel",
    keys: "readWrite",
    tag: "Channels",
    summary: "Preview a notification",
    description:
      "Renders a notification about a fictitious check as a channel with this configuration would send it. Nothing is saved or sent.",
    readsOnly: true,
    body: PreviewBody,
    bodyExample: { kind: "ntfy", config: { topic: "our-secret-topic", priority: 5 }, event: "down" },
    success: {
      status: 200,
      description: "The notification.",
      schema: ChannelPreview,
      example: {
        title: "Nightly backup is DOWN",
        text: "No ping was received by the deadline.",
        isSent: true,
        requests: [
          {
            method: "POST",
            url: "https://ntfy.sh",
            headers: { "Content-Type": "application/json" },
            body: '{"topic":"********","title":"Nightly backup is DOWN","priority":5}',
          },
        ],
      },
    },
  }),
  listChannelHealth: route({
    method: "GET",
    path: `${CHANNELS}/health`,
    access: "view",
    keys: "readWrite",
    tag: "Channels",
    summary: "List the health of channels",
    description: `Returns the results of the last ${RECENT_DELIVERIES_MAX} deliveries of each channel of a project. Channels that have sent nothing are not listed.`,
    success: {
      status: 200,
      description: "The health of the channels.",
      schema: Type.Object({ channels: Type.Array(Health) }),
      example: {
        channels: [
          { id: EXAMPLE_CHANNEL.id, recent: ["delivered", "retried"], failingSince: null, medianMs: 180 },
        ],
      },
    },
  }),
  getChannel: route({
    method: "GET",
    path: CHANNEL,
    access: "view",
    keys: "readOnly",
    tag: "Channels",
    summary: "Get a channel",
    description:
      "Returns a channel without its secrets. With a read-only API key, only `id`, `kind`, and `name` are returned.",
    success: {
      status: 200,
      description: "The channel.",
      schema: SeenChannel,
      example: EXAMPLE_CHANNEL,
    },
    etag: true,
  }),
  updateChannel: route({
    method: "PATCH",
    path: CHANNEL,
    access: "editChannels",
    keys: "readWrite",
    tag: "Channels",
    summary: "Update a channel",
    description:
      "Changes the given fields. Other fields, including those in `config`, stay the same. Changing `config` re-enables a channel that was disabled because its receiver rejected messages. A channel disabled with `isEnabled` stays disabled until you set `isEnabled` to true.",
    body: ChannelChange,
    bodyExample: { name: "Phones", config: { priority: 4 }, isEnabled: true },
    success: {
      status: 200,
      description: "The updated channel.",
      schema: Channel,
      example: EXAMPLE_CHANNEL,
    },
    errors: [409],
    etag: true,
  }),
  deleteChannel: route({
    method: "DELETE",
    path: CHANNEL,
    access: "editChannels",
    keys: "readWrite",
    tag: "Channels",
    summary: "Delete a channel",
    description:
      "Deletes a channel and its delivery log. Pending notifications to it are canceled. The channel is removed from its groups.",
    success: { status: 204, description: "The channel was deleted.", schema: null },
    errors: [409],
    etag: true,
  }),
  listChecksOfChannel: route({
    method: "GET",
    path: `${CHANNEL}/checks`,
    access: "view",
    keys: "readWrite",
    tag: "Channels",
    summary: "List the checks of a channel",
    description: "Lists the checks that a channel notifies for, oldest first.",
    query: pageQuery({ maximum: ROWS_PAGE_MAX, default: PAGE_LENGTH_DEFAULT }),
    success: {
      status: 200,
      description: "A page of checks.",
      schema: ChannelChecks,
      example: { checks: [EXAMPLE_DELIVERY.check], next: null },
    },
  }),
  testChannel: route({
    method: "POST",
    path: `${CHANNEL}/test`,
    access: "testChannel",
    keys: "readWrite",
    tag: "Deliveries",
    summary: "Send a test notification",
    description:
      "Sends a notification about a fictitious check named TEST, even if the channel is disabled. For a group, sends one to each member. It is sent within seconds; get the delivery to see the result.",
    success: {
      status: 202,
      description: "The test notification is queued.",
      schema: Type.Object({
        deliveries: Type.Array(Delivery, {
          description: "The test delivery; for a group, one for each member.",
        }),
      }),
      example: { deliveries: [EXAMPLE_TEST] },
    },
    errors: [409],
  }),
  listDeliveries: route({
    method: "GET",
    path: `${CHANNEL}/deliveries`,
    access: "view",
    keys: "readWrite",
    tag: "Deliveries",
    summary: "List deliveries",
    description:
      "Lists the deliveries of a channel, newest first, with attempts, request, response, time of the next attempt, and result. For a group, lists the deliveries of its members.",
    query: PageQuery,
    success: {
      status: 200,
      description: "A page of deliveries.",
      schema: DeliveryList,
      example: { deliveries: [EXAMPLE_DELIVERY], next: null },
    },
  }),
  getDelivery: route({
    method: "GET",
    path: DELIVERY,
    access: "view",
    keys: "readWrite",
    tag: "Deliveries",
    summary: "Get a delivery",
    description: "Returns a delivery, for example of a test notification.",
    success: { status: 200, description: "The delivery.", schema: Delivery, example: EXAMPLE_DELIVERY },
  }),
  retryDelivery: route({
    method: "POST",
    path: `${DELIVERY}/retry`,
    access: "editChannels",
    keys: "readWrite",
    tag: "Deliveries",
    summary: "Retry a delivery",
    description: "Immediately retries a delivery that is waiting for its next attempt or has failed.",
    success: { status: 202, description: "The delivery is queued.", schema: Delivery, example: EXAMPLE_TEST },
    errors: [409],
  }),
};
