// Channels and deliveries for the browser. Secrets are accepted and never returned.
import { type Static, Type } from "typebox";
import { CHANNEL_KIND_LENGTH_MAX, CHANNEL_NAME_LENGTH_MAX, NAMED_CHECKS_MAX } from "../../core/limits.ts";
import { RULE } from "../check.ts";
import { Version } from "./checks.ts";
import type { FlipDelivery } from "./history.ts";

/** A field of a kind's configuration, as a form needs it. */
export type KindField = {
  name: string;
  about: string;
  type: "text" | "address" | "number" | "flag" | "choice" | "headers" | "channels";
  /** Longer than a line. */
  isLong: boolean;
  isSecret: boolean;
  /** Left empty, it is made, and shown once. */
  isMade: boolean;
  isRequired: boolean;
  /** Few need it: a form folds it away. */
  isRare: boolean;
  choices: string[];
  fallback: unknown;
};

/** A kind of channel in the gallery. */
export type KindCard = { name: string; title: string; about: string; fields: KindField[] };

export type ChannelCard = {
  id: string;
  kind: string;
  name: string;
  /** Without its secrets. */
  config: Record<string, unknown>;
  isEnabled: boolean;
  disabledReason: string | null;
  /** Something was set that few need, so that its form shows all of it. */
  isRareUsed: boolean;
  /** Of a mail channel: whether its address has agreed; null: nobody has to. */
  isVerified: boolean | null;
  /** A form sends it with its changes, so that nobody's are overwritten unseen. */
  version: number;
  createdAt: number;
  checkCount: number;
  lastNotifyAt: number | null;
  lastNotifyDurationMs: number | null;
  lastError: string | null;
  /** What will keep messages from arriving, as far as it can be seen without calling anybody. */
  warnings: ConfigWarning[];
};

/** A sentence about a field of a configuration that may be saved as it is, and will not work as it is. */
export type ConfigWarning = { field: string; text: string };

/** What the server has to say about a configuration that is being typed. */
export type ConfigWarnings = { warnings: ConfigWarning[] };

export type ChannelsPage = {
  channels: ChannelCard[];
  kinds: KindCard[];
  /** The ids of those by which somebody can be told as things stand. */
  told: string[];
};

/** A new channel, with the secrets that were made for it: they are shown now, or never. */
export type CreatedChannel = { channel: ChannelCard; made: Record<string, string> };

/** Of which checks a channel hears, by their UUIDs; `from` is what has to be asked for the rest, null: there is none. */
export type ChannelChecks = { ids: string[]; from: number | null };

/** A line of the delivery log. */
export type DeliveryRow = FlipDelivery & {
  kind: "flip" | "correction" | "notice" | "disabled" | "operator" | "test";
  check: { id: string; name: string } | null;
  /** Of a change: what the check changed to, as long as that is stored. */
  to: "up" | "down" | null;
  /** What was sent, and what came back, cleaned of secrets. */
  request: string | null;
  response: string | null;
};

export type DeliveriesPage = { deliveries: DeliveryRow[]; from: number | null };

const UuidText = Type.String({ pattern: "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$" });

const FIELDS = {
  name: Type.String({ maxLength: CHANNEL_NAME_LENGTH_MAX, [RULE]: "storable" }),
  /** Fields that are not given stay as they are. */
  config: Type.Record(Type.String(), Type.Unknown()),
  isEnabled: Type.Boolean(),
  checks: Type.Union([Type.Literal("*"), Type.Array(UuidText, { maxItems: NAMED_CHECKS_MAX })]),
};

export const ChannelChange = Type.Partial(Type.Object({ ...FIELDS, version: Version }), {
  additionalProperties: false,
});
export type ChannelChange = Static<typeof ChannelChange>;

export const NewChannel = Type.Object(
  {
    kind: Type.String({ maxLength: CHANNEL_KIND_LENGTH_MAX }),
    name: FIELDS.name,
    config: FIELDS.config,
    checks: Type.Optional(FIELDS.checks),
  },
  { additionalProperties: false },
);
export type NewChannel = Static<typeof NewChannel>;

/** A configuration that is being typed; of a channel that is there, the fields that were changed. */
export const TypedConfig = Type.Object(
  { kind: NewChannel.properties.kind, config: FIELDS.config },
  { additionalProperties: false },
);

/** A page of the delivery log, or of the checks of a channel; `from` is told by the page before it. */
export const ChannelPartQuery = Type.Object({ from: Type.Optional(Type.Integer({ minimum: 1 })) });
