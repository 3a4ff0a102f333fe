// Channels, deliveries, pages and errors of the Overdue API, and integrations of the Management API.
import { type Static, Type } from "typebox";
import { type Checked, type ErrorCode, HTTP_STATUS, queryText } from "../core/errors.ts";
import type { Instant } from "../core/instant.ts";
import {
  CHANNEL_NAME_LENGTH_MAX,
  NAMED_CHECKS_MAX,
  PAGE_LENGTH_DEFAULT,
  PAGE_LENGTH_MAX,
} from "../core/limits.ts";
import type { QueryParameter } from "./route.ts";
import { isoMicroseconds } from "./timestamp.ts";

const MARK = "c";
const RADIX = 36;
/** Enough digits for every number that is exact. */
const CURSOR = /^c[0-9a-z]{1,11}$/;

/** The cursor that stands for what follows a row. */
export function cursorOf(next: number | null): string | null {
  return next === null ? null : MARK + next.toString(RADIX);
}

const NextCursor = Type.Union([Type.String(), Type.Null()], {
  description: "Send as `cursor` to get the next page. Null on the last page.",
});

export const PAGE_QUERY: readonly QueryParameter[] = [
  {
    name: "cursor",
    description: "The `next_cursor` of the previous page.",
    schema: Type.String({ pattern: CURSOR.source }),
    isRepeatable: false,
  },
  {
    name: "limit",
    description: `Maximum number of items on the page. Default: ${PAGE_LENGTH_DEFAULT}.`,
    schema: Type.Integer({ minimum: 1, maximum: PAGE_LENGTH_MAX }),
    isRepeatable: false,
  },
];

/** Which page a query asks for. */
export function readPage(query: URLSearchParams): Checked<{ from: number | null; limit: number }> {
  const cursor = query.get("cursor");
  const from = cursor === null ? null : CURSOR.test(cursor) ? Number.parseInt(cursor.slice(1), RADIX) : NaN;
  if (from !== null && !Number.isSafeInteger(from)) return { ok: false, text: queryText("cursor") };
  const given = query.get("limit");
  const limit = given === null ? PAGE_LENGTH_DEFAULT : /^\d{1,4}$/.test(given) ? Number(given) : 0;
  return limit >= 1 && limit <= PAGE_LENGTH_MAX
    ? { ok: true, value: { from, limit } }
    : { ok: false, text: queryText("limit") };
}

// Errors of the Overdue API, by RFC 9457: a type for programs, a sentence for people.

export const PROBLEM_TYPE = "application/problem+json";

export const ProblemSchema = Type.Object({
  type: Type.String({ description: "Identifies the type of problem. Stable across releases." }),
  title: Type.String({ description: "A short summary of the problem type." }),
  status: Type.Integer({ description: "The HTTP status code." }),
  detail: Type.String({
    description: "A description of this occurrence for people. The wording may change.",
  }),
});

export type Problem = Static<typeof ProblemSchema>;

const TITLES: Readonly<Record<ErrorCode, string>> = {
  invalid: "Invalid request",
  unauthenticated: "Missing or invalid API key",
  forbidden: "Forbidden",
  not_found: "Not found",
  method_not_allowed: "Method not allowed",
  conflict: "Conflict",
  precondition_failed: "Precondition failed",
  too_large: "Request body too large",
  unprocessable: "Idempotency-Key already used",
  rate_limited: "Too many requests",
  internal: "Internal server error",
  unavailable: "Service unavailable",
};

/** The problem that a refusal is. */
export function problemOf(code: ErrorCode, detail: string): Problem {
  return {
    type: `urn:overdue:problem:${code.replaceAll("_", "-")}`,
    title: TITLES[code],
    status: HTTP_STATUS[code],
    detail,
  };
}

// An integration of the Management API (ListedChannel): id, name and kind. Its configuration holds secrets and is not shown.

export const ListedChannelSchema = Type.Object(
  {
    id: Type.String({ format: "uuid", description: "Identifier of the integration." }),
    name: Type.String({ description: "The name given in the dashboard; may be empty." }),
    kind: Type.String({ description: "Kind of integration, such as `email` or `sms`." }),
  },
  { additionalProperties: false },
);

export type ListedChannel = Static<typeof ListedChannelSchema>;

export const ListedChannelListSchema = Type.Object(
  { channels: Type.Array(ListedChannelSchema) },
  { additionalProperties: false },
);

/** The integrations of a project as JSON, in the order in which they are given. */
export function presentChannels(
  channels: readonly { uuid: string; name: string; kind: string }[],
): Static<typeof ListedChannelListSchema> {
  return { channels: channels.map(({ uuid, name, kind }) => ({ id: uuid, name, kind })) };
}

// A channel of the Overdue API. Its configuration has been masked before.

const Uuid = Type.String({ format: "uuid" });

const Time = Type.String({ format: "date-time" });
const MaybeTime = Type.Union([Time, Type.Null()]);
const MaybeText = Type.Union([Type.String(), Type.Null()]);

export const ChannelSchema = Type.Object({
  id: Type.String({ format: "uuid", description: "UUID of the channel." }),
  kind: Type.String({
    description: "The kind of channel, such as `email` or `slack`. See List channel kinds.",
  }),
  name: Type.String(),
  config: Type.Record(Type.String(), Type.Unknown(), {
    description: "The configuration. Secrets are masked as `********`.",
  }),
  enabled: Type.Boolean(),
  disabled_at: MaybeTime,
  disabled_reason: MaybeText,
  verified: Type.Union([Type.Boolean(), Type.Null()], {
    description: "For email channels, whether the recipient has confirmed the address. Null for other kinds.",
  }),
  check_count: Type.Integer({ description: "Number of checks that the channel notifies for." }),
  created_at: Time,
  last_notified_at: MaybeTime,
  last_duration_ms: Type.Union([Type.Integer(), Type.Null()], {
    description: "Duration of the last delivery attempt, in milliseconds.",
  }),
  last_error: MaybeText,
  failure_count: Type.Integer({ description: "Number of failed messages since the last successful one." }),
  warnings: Type.Array(Type.Object({ field: Type.String(), text: Type.String() }), {
    description:
      "Configuration problems that will prevent delivery, by configuration field, as far as they can be detected without sending a request. The channel is saved despite them.",
  }),
  revision: Type.Integer({
    description:
      "Increases with every change to the channel's settings. The `ETag` of the channel is this number in quotes.",
  }),
});

export type ChannelJson = Static<typeof ChannelSchema>;

const { id: ID, kind: KIND, name: NAME, ...forWriters } = ChannelSchema.properties;

/** A channel as it is read: a read-only key gets no more than its id, kind and name. */
export const SeenChannelSchema = Type.Object(
  { id: ID, kind: KIND, name: NAME, ...Type.Partial(Type.Object(forWriters)).properties },
  { description: "With a read-only key, only `id`, `kind`, and `name` are present." },
);

export const CreatedChannelSchema = Type.Object({
  ...ChannelSchema.properties,
  made: Type.Record(Type.String(), Type.String(), {
    description:
      "Secrets generated for the channel, by configuration field. They are returned only once; a repeated request does not return them.",
  }),
});

export const ChannelListSchema = Type.Object({
  channels: Type.Array(SeenChannelSchema),
  next_cursor: NextCursor,
});

/** What a channel has that can be seen. */
export type PresentableChannel = {
  uuid: string;
  kind: string;
  name: string;
  /** Without its secrets. */
  shownConfig: Readonly<Record<string, unknown>>;
  disabledAt: Instant | null;
  disabledReason: string | null;
  isVerified: boolean | null;
  checkCount: number;
  createdAt: Instant;
  lastNotifyAt: Instant | null;
  lastNotifyDurationMs: number | null;
  lastError: string | null;
  failureCount: number;
  warnings: readonly { field: string; text: string }[];
  revision: number;
};

function shownTime(at: Instant | null): string | null {
  return at === null ? null : isoMicroseconds(at);
}

export function presentChannel(channel: PresentableChannel): ChannelJson {
  return {
    id: channel.uuid,
    kind: channel.kind,
    name: channel.name,
    config: { ...channel.shownConfig },
    enabled: channel.disabledAt === null,
    disabled_at: shownTime(channel.disabledAt),
    disabled_reason: channel.disabledReason,
    verified: channel.isVerified,
    check_count: channel.checkCount,
    created_at: isoMicroseconds(channel.createdAt),
    last_notified_at: shownTime(channel.lastNotifyAt),
    last_duration_ms: channel.lastNotifyDurationMs,
    last_error: channel.lastError,
    failure_count: channel.failureCount,
    warnings: [...channel.warnings],
    revision: channel.revision,
  };
}

/** The entity tag of a channel at a revision. */
export function channelTag({ revision }: { revision: number }): string {
  return `"${revision}"`;
}

/** The revisions that an If-Match header names; null where any will do. A tag that is none of ours matches nothing. */
export function readIfMatch(header: string | undefined): readonly number[] | null {
  if (header === undefined || header.trim() === "*") return null;
  return header.split(",").flatMap((item) => {
    const revision = /^"(\d{1,10})"$/.exec(item.trim())?.[1];
    return revision === undefined ? [] : [Number(revision)];
  });
}

/** The fields of a request besides its kind and its configuration. */
export const REQUEST_FIELDS = {
  name: Type.String({ maxLength: CHANNEL_NAME_LENGTH_MAX, default: "" }),
  enabled: Type.Boolean({ default: true }),
  checks: Type.Union(
    [Type.Literal("*"), Type.Array(Uuid, { maxItems: NAMED_CHECKS_MAX, uniqueItems: true })],
    {
      description:
        '`"*"` selects all existing checks of the project. A list selects exactly these checks. Channels for new checks are selected when a check is created.',
    },
  ),
};

const ChannelCheckSchema = Type.Object({
  id: Type.String({
    description: "The UUID of the check.",
  }),
  name: Type.String(),
});

export const ChannelCheckListSchema = Type.Object({
  checks: Type.Array(ChannelCheckSchema),
  next_cursor: NextCursor,
});

const KindSchema = Type.Object({
  kind: Type.String(),
  title: Type.String(),
  about: Type.String(),
  rate: Type.Union([Type.Object({ per_minute: Type.Integer(), burst: Type.Integer() }), Type.Null()], {
    description: "Rate limit for messages to one channel of this kind. Null means no limit.",
  }),
  config: Type.Record(Type.String(), Type.Unknown(), {
    description: "JSON Schema of the configuration. Fields marked `writeOnly` are secrets.",
  }),
});

export const KindListSchema = Type.Object({ kinds: Type.Array(KindSchema) });

/** A kind as the contract is told of it. */
export type KindFacts = {
  name: string;
  title: string;
  about: string;
  rate: { perMinute: number; burst: number } | null;
  schema: object;
};

export function presentKind({ name, title, about, rate, schema }: KindFacts): Static<typeof KindSchema> {
  return {
    kind: name,
    title,
    about,
    rate: rate === null ? null : { per_minute: rate.perMinute, burst: rate.burst },
    config: JSON.parse(JSON.stringify(schema)) as Record<string, unknown>,
  };
}

export const DeliverySchema = Type.Object({
  id: Type.String(),
  channel: Uuid,
  group: Type.Union([Uuid, Type.Null()], {
    description: "The group through which the channel was notified. Null if it was notified directly.",
  }),
  kind: Type.Enum(["flip", "correction", "notice", "disabled", "operator", "test"], {
    description:
      "The type of message: a status change of a check (`flip`), the correction of an earlier alert (`correction`), a monitoring gap (`notice`), another channel that was disabled (`disabled`), a health problem of the server (`operator`), or a test (`test`).",
  }),
  check: Type.Union([Type.String(), Type.Null()], {
    description: "UUID of the check. Null if the message is not about a check, or the check was deleted.",
  }),
  check_name: MaybeText,
  state: Type.Enum(["pending", "sent", "merged", "withdrawn", "skipped", "dead"], {
    description:
      "`pending`: not sent yet. `sent`: accepted by the receiver. `merged`: sent as part of a later message. `withdrawn`: canceled because it no longer applied. `skipped`: the channel is not set up for this type of message. `dead`: failed permanently.",
  }),
  attempts: Type.Integer({ description: "Number of delivery attempts." }),
  created_at: Type.String({ format: "date-time" }),
  attempted_at: MaybeTime,
  next_try_at: MaybeTime,
  settled_at: MaybeTime,
  request: Type.Union([Type.String(), Type.Null()], {
    description: "Summary of the last request, without secrets.",
  }),
  response_code: Type.Union([Type.Integer(), Type.Null()]),
  response_excerpt: Type.Union([Type.String(), Type.Null()], {
    description: "Beginning of the receiver's response, without secrets.",
  }),
  reason: Type.Union([Type.String(), Type.Null()], {
    description: "Why the message was not sent, or has not been sent yet.",
  }),
  message: Type.Union([Type.String(), Type.Null()], {
    description: "ID of the oldest delivery in the message that included this one.",
  }),
});

export type DeliveryJson = Static<typeof DeliverySchema>;

export const DeliveryListSchema = Type.Object({
  deliveries: Type.Array(DeliverySchema),
  next_cursor: NextCursor,
});

export const PlannedTestSchema = Type.Object({
  deliveries: Type.Array(DeliverySchema, {
    description:
      "The test delivery; for a group, one for each member. To see the result, get each delivery by its ID.",
  }),
});

/** What a delivery has that can be seen. */
export type PresentableDelivery = {
  id: number;
  channel: { uuid: string };
  groupUuid: string | null;
  kind: DeliveryJson["kind"];
  check: { uuid: string; name: string } | null;
  state: DeliveryJson["state"];
  attemptCount: number;
  createdAt: Instant;
  attemptedAt: Instant | null;
  nextTryAt: Instant | null;
  settledAt: Instant | null;
  requestSummary: string | null;
  responseCode: number | null;
  responseExcerpt: string | null;
  reason: string | null;
  messageId: number | null;
};

export function presentDelivery(delivery: PresentableDelivery): DeliveryJson {
  const { check, messageId } = delivery;
  return {
    id: String(delivery.id),
    channel: delivery.channel.uuid,
    group: delivery.groupUuid,
    kind: delivery.kind,
    check: check?.uuid ?? null,
    check_name: check?.name ?? null,
    state: delivery.state,
    attempts: delivery.attemptCount,
    created_at: isoMicroseconds(delivery.createdAt),
    attempted_at: shownTime(delivery.attemptedAt),
    next_try_at: shownTime(delivery.nextTryAt),
    settled_at: shownTime(delivery.settledAt),
    request: delivery.requestSummary,
    response_code: delivery.responseCode,
    response_excerpt: delivery.responseExcerpt,
    reason: delivery.reason,
    message: messageId === null ? null : String(messageId),
  };
}
