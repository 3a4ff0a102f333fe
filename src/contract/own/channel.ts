// Channels in our own API: their schema, and a channel as JSON. What of a configuration may be shown is decided
// before; here it is shown as it comes.
import { type Static, Type } from "typebox";
import type { Instant } from "../../core/instant.ts";
import { CHANNEL_NAME_LENGTH_MAX, NAMED_CHECKS_MAX } from "../../core/limits.ts";
import { isoMicroseconds } from "../timestamp.ts";
import { NextCursor } from "./page.ts";

export const Uuid = Type.String({ format: "uuid" });

const Time = Type.String({ format: "date-time" });
export const MaybeTime = Type.Union([Time, Type.Null()]);
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

export function shownTime(at: Instant | null): string | null {
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

const HeardCheckSchema = Type.Object({
  id: Type.String({
    description: "The UUID of the check.",
  }),
  name: Type.String(),
});

export const HeardCheckListSchema = Type.Object({
  checks: Type.Array(HeardCheckSchema),
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
