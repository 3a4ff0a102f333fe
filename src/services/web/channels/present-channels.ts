// Kinds, channels and deliveries in the words of the contract.
import { type Field, fieldsOf, shownConfig } from "../../../channels/config/channel-config.ts";
import { addressWarnings, type Reach } from "../../../channels/config/address-warnings.ts";
import type { AnyKind } from "../../../channels/channel-kind.ts";
import { kindNamed } from "../../../channels/registry.ts";
import type { ChannelCard, DeliveryRow, KindCard, KindField } from "../../../contract/web/channels.ts";
import { GROUP, membersOf } from "../../../core/alerts/channel-request.ts";
import { isVerified } from "../../../operations/alerts/mail/verification.ts";
import type { LoggedDelivery } from "../../../store/alerts/delivery-log.ts";
import type { ManagedChannel } from "../../../store/alerts/managed-channels.ts";
import { toldDelivery } from "../history/told.ts";

/** Texts that may be longer than this get more than a line. In characters. */
const LINE_LENGTH_MAX = 1_000;

/** A kind with the fields of its form. */
export function presentKind(kind: AnyKind): KindCard {
  const fields = fieldsOf(kind).map(([name, field]) => presentField(name, field));
  return { name: kind.name, title: kind.title, about: kind.about, fields };
}

const TYPES: Readonly<Record<NonNullable<Field["type"]>, KindField["type"]>> = {
  string: "text",
  integer: "number",
  boolean: "flag",
  array: "channels",
  object: "headers",
};

function presentField(name: string, field: Field): KindField {
  const isChoice = field.enum !== undefined;
  const plain = field.format === "uri" ? "address" : TYPES[field.type ?? "string"];
  const isLong = (field.maxLength ?? 0) > LINE_LENGTH_MAX;
  return {
    name,
    about: field.description,
    type: isChoice ? "choice" : plain,
    isLong,
    isSecret: field.writeOnly === true,
    isMade: field["x-made"] !== undefined,
    isRequired: field.default === undefined,
    isRare: field.default !== undefined && (isLong || plain === "headers" || name.endsWith("_notice")),
    choices: field.enum?.map(String) ?? [],
    fallback: field.default ?? null,
  };
}

/** Whether a configuration has something else than the fallback in a field that few need. */
function isRareUsed(kind: AnyKind, config: ManagedChannel["config"]): boolean {
  return fieldsOf(kind).some(
    ([name, field]) =>
      presentField(name, field).isRare &&
      JSON.stringify(config[name] ?? field.default) !== JSON.stringify(field.default),
  );
}

/** A channel without its secrets. One of a kind that this release does not know shows nothing of its configuration. */
export function presentChannel(channel: ManagedChannel, reach: Reach): ChannelCard {
  const kind = kindNamed(channel.kind);
  return {
    id: channel.uuid,
    kind: channel.kind,
    name: channel.name,
    config: kind === null ? {} : { ...shownConfig(kind, channel.config) },
    isRareUsed: kind !== null && isRareUsed(kind, channel.config),
    isEnabled: channel.disabledAt === null,
    disabledReason: channel.disabledReason,
    isVerified: channel.kind === "email" ? isVerified(channel) : null,
    version: channel.revision,
    createdAt: channel.createdAt,
    checkCount: channel.checkCount,
    lastNotifyAt: channel.lastNotifyAt,
    lastNotifyDurationMs: channel.lastNotifyDurationMs,
    lastError: channel.lastError,
    warnings: addressWarnings(channel, reach),
  };
}

/** How mail goes here: whether addresses are asked before they are written to, and whether any is sent. */
type MailHabits = { asksFirst: boolean; sendsMail: boolean };

/**
 * The channels of a project by which somebody can be told: switched on, of a kind that we know, and a mail channel
 * only where mail leaves and its address has agreed. A group tells by its members, also by those that are switched
 * off by themselves.
 */
export function toldBy(channels: readonly ManagedChannel[], { asksFirst, sendsMail }: MailHabits): string[] {
  const reaches = (channel: ManagedChannel) =>
    kindNamed(channel.kind) !== null &&
    (channel.kind !== "email" || (sendsMail && (!asksFirst || isVerified(channel))));
  const reaching = new Set(
    channels.filter((one) => one.kind !== GROUP && reaches(one)).map(({ uuid }) => uuid),
  );
  return channels
    .filter(({ disabledAt }) => disabledAt === null)
    .filter((one) =>
      one.kind === GROUP ? membersOf(one).some((uuid) => reaching.has(uuid)) : reaching.has(one.uuid),
    )
    .map(({ uuid }) => uuid);
}

export function presentDelivery(delivery: LoggedDelivery): DeliveryRow {
  const { kind, channel, check, flipTo, requestSummary, responseExcerpt } = delivery;
  return {
    ...toldDelivery(delivery, channel),
    kind,
    to: flipTo,
    check: check && { id: check.uuid, name: check.name },
    request: requestSummary,
    response: responseExcerpt,
  };
}
