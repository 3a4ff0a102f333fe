// The channel pages: kinds, channels, and deliveries.
import { type Field, fieldsOf, shownConfig } from "../../channels/channel-config.ts";
import type { AnyKind } from "../../channels/channel-kind.ts";
import { addressWarnings, CONFIG_RULES, kindNamed, KINDS, type Reach } from "../../channels/registry.ts";
import {
  type ChannelCard,
  ChannelChange,
  type ChannelChecks,
  ChannelPartQuery,
  type DeliveryRow,
  type KindCard,
  type KindField,
  NewChannel,
  TypedConfig,
} from "../../contract/api/channels.ts";
import { ROWS_PAGE_MAX } from "../../contract/api/limits.ts";
import { GROUP, membersOf } from "../../core/channel.ts";
import { AppError } from "../../core/errors.ts";
import { CHANNELS_LISTED_MAX } from "../../core/limits.ts";
import { listAudit } from "../../operations/audit.ts";
import {
  createChannel,
  deleteChannel,
  getChannel,
  isVerified,
  listChannelPage,
  listChecksOfChannel,
  updateChannel,
} from "../../operations/channels.ts";
import { getDelivery, listDeliveries, retryDelivery, testChannel } from "../../operations/deliveries.ts";
import type { ManagedChannel } from "../../store/channels.ts";
import type { LoggedDelivery } from "../../store/deliveries.ts";
import {
  type AccountRequest,
  changedBy,
  channelRoute,
  pathNumber,
  projectRoute,
  type WebContext,
  WebRefusal,
  type WebRoute,
} from "../web/route.ts";
import { presentFlipDelivery } from "./runs.ts";

/** Texts that may be longer than this get more than a line. In characters. */
const LINE_LENGTH_MAX = 1_000;

/** A kind with the fields of its form. */
function presentKind(kind: AnyKind): KindCard {
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
function presentChannel(channel: ManagedChannel, reach: Reach): ChannelCard {
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
function notifiesFor(channels: readonly ManagedChannel[], { asksFirst, sendsMail }: MailHabits): string[] {
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

function presentDelivery(delivery: LoggedDelivery): DeliveryRow {
  const { kind, channel, check, flipTo, requestSummary, responseExcerpt } = delivery;
  return {
    ...presentFlipDelivery(delivery, channel),
    kind,
    to: flipTo,
    check: check && { id: check.uuid, name: check.name },
    request: requestSummary,
    response: responseExcerpt,
  };
}

const DELIVERIES_PER_PAGE = 50;

export const channelRoutes: readonly WebRoute[] = [
  projectRoute({
    name: "channels.list",
    method: "GET",
    path: "/web/api/projects/:project/channels",
    access: "view",
    answer: async ({ context, project }) => {
      const page = await listChannelPage(context.database, {
        projectId: project.id,
        from: null,
        limit: CHANNELS_LISTED_MAX,
      });
      return {
        json: {
          channels: page.items.map((channel) => presentChannel(channel, context.destinations)),
          kinds: KINDS.map(presentKind),
          told: notifiesFor(page.items, {
            asksFirst: context.mailVerification,
            sendsMail: context.destinations.sendsMail,
          }),
        },
      };
    },
  }),
  projectRoute({
    name: "channels.create",
    method: "POST",
    path: "/web/api/projects/:project/channels",
    access: "editChannels",
    body: NewChannel,
    answer: async ({ context, project, body, ...request }) => {
      const { channel, made } = await createChannel(context.database, {
        projectId: project.id,
        ...body,
        isEnabled: true,
        checks: body.checks ?? [],
        once: null,
        ...rulesOf(context),
        ...changingBy(request),
      });
      return { status: 201, json: { channel: presentChannel(channel, context.destinations), made } };
    },
  }),
  projectRoute({
    name: "channels.warnings",
    method: "POST",
    path: "/web/api/projects/:project/channels/warnings",
    access: "editChannels",
    body: TypedConfig,
    answer: async ({ context, body }) => ({
      json: { warnings: addressWarnings(body, context.destinations) },
    }),
  }),
  channelRoute({
    name: "channel.change",
    method: "PATCH",
    path: "/web/api/channels/:channel",
    access: "editChannels",
    body: ChannelChange,
    answer: async ({ context, project, channel, body, ...request }) => {
      const { version, ...change } = body;
      const which = { projectId: project.id, uuid: channel.uuid };
      try {
        const changed = await updateChannel(context.database, {
          ...which,
          change,
          expected: version === undefined ? null : [version],
          ...rulesOf(context),
          ...changingBy(request),
        });
        return { json: presentChannel(changed, context.destinations) };
      } catch (error) {
        if (!(error instanceof AppError) || error.code !== "precondition_failed") throw error;
        throw await overtakenChannel(context, { ...which, accountId: request.account.id, now: request.now });
      }
    },
  }),
  channelRoute({
    name: "channel.delete",
    method: "DELETE",
    path: "/web/api/channels/:channel",
    access: "editChannels",
    answer: async ({ context, project, channel, ...request }) => {
      const which = { projectId: project.id, uuid: channel.uuid };
      await deleteChannel(context.database, { ...which, expected: null, ...changingBy(request) });
      return { json: {} };
    },
  }),
  channelRoute({
    name: "channel.test",
    method: "POST",
    path: "/web/api/channels/:channel/test",
    access: "testChannel",
    answer: async ({ context, project, channel, ...request }) => {
      const which = { projectId: project.id, uuid: channel.uuid };
      const planned = await testChannel(context.database, { ...which, ...changingBy(request) });
      return { status: 202, json: { deliveries: planned.map(presentDelivery) } };
    },
  }),
  channelRoute({
    name: "channel.deliveries",
    method: "GET",
    path: "/web/api/channels/:channel/deliveries",
    access: "view",
    query: ChannelPartQuery,
    answer: async ({ context, project, channel, query }) => {
      const which = { projectId: project.id, uuid: channel.uuid };
      const range = { from: query.from ?? null, limit: DELIVERIES_PER_PAGE };
      const { items, next } = await listDeliveries(context.database, { ...which, ...range });
      return { json: { deliveries: items.map(presentDelivery), from: next } };
    },
  }),
  channelRoute({
    name: "channel.checks",
    method: "GET",
    path: "/web/api/channels/:channel/checks",
    access: "view",
    query: ChannelPartQuery,
    answer: async ({ context, project, channel, query }) => {
      const which = { projectId: project.id, uuid: channel.uuid };
      const range = { from: query.from ?? null, limit: ROWS_PAGE_MAX };
      const { items, next } = await listChecksOfChannel(context.database, { ...which, ...range });
      const checks: ChannelChecks = { ids: items.map(({ uuid }) => uuid), from: next };
      return { json: checks };
    },
  }),
  channelRoute({
    name: "channel.get",
    method: "GET",
    path: "/web/api/channels/:channel",
    access: "view",
    answer: async ({ context, project, channel }) => ({
      json: presentChannel(
        await getChannel(context.database, { projectId: project.id, uuid: channel.uuid }),
        context.destinations,
      ),
    }),
  }),
  projectRoute({
    name: "delivery.get",
    method: "GET",
    path: "/web/api/projects/:project/deliveries/:delivery",
    access: "view",
    answer: async ({ context, project, params }) => ({
      json: presentDelivery(
        await getDelivery(context.database, {
          projectId: project.id,
          deliveryId: pathNumber(params["delivery"]),
        }),
      ),
    }),
  }),
  projectRoute({
    name: "delivery.retry",
    method: "POST",
    path: "/web/api/projects/:project/deliveries/:delivery/retry",
    access: "editChannels",
    answer: async ({ context, project, params, now }) => ({
      json: presentDelivery(
        await retryDelivery(context.database, {
          projectId: project.id,
          deliveryId: pathNumber(params["delivery"]),
          at: now,
        }),
      ),
    }),
  }),
];

function rulesOf({ mailVerification }: WebContext) {
  return { rules: CONFIG_RULES, mailVerification };
}

function changingBy({ account, now }: Pick<AccountRequest, "account" | "now">) {
  return { by: { accountId: account.id, keyId: null }, at: now };
}

/** The answer to a form that was opened before another user changed the same channel. */
async function overtakenChannel(
  { database }: WebContext,
  { projectId, uuid, accountId, now }: { projectId: number; uuid: string; accountId: number; now: number },
): Promise<WebRefusal> {
  const { name, kind, revision } = await getChannel(database, { projectId, uuid });
  const called = name === "" ? kind : name;
  const { entries } = await listAudit(database, { projectId });
  // It was changed a moment ago, so that the newest page of the record has it.
  const entry = entries.find(({ what, subject }) => what.startsWith("channel.") && subject === called);
  return new WebRefusal("conflict", "Someone else changed this channel while you were editing it.", null, {
    by: changedBy(entry, accountId),
    at: entry?.at ?? now,
    before: { ...entry?.before },
    after: { ...entry?.after },
    version: revision,
  });
}
