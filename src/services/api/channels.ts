// Handlers of channels, channel kinds, and deliveries.
import { shownConfig } from "../../channels/channel-config.ts";
import type { AnyKind } from "../../channels/channel-kind.ts";
import { previewMessage } from "../../channels/preview.ts";
import { addressWarnings, CONFIG_RULES, kindNamed, KINDS } from "../../channels/registry.ts";
import type {
  Channel,
  ChannelKindInfo,
  channelRoutes,
  Delivery,
  SeenChannel,
} from "../../contract/api/channels.ts";
import { API_PATH } from "../../contract/api/route.ts";
import { messageCheckJson } from "../../contract/check.ts";
import { GROUP, membersOf } from "../../core/channel.ts";
import { channelHealth } from "../../core/channel-health.ts";
import { AppError } from "../../core/errors.ts";
import type { Instant } from "../../core/instant.ts";
import { PAGE_LENGTH_DEFAULT, RECENT_DELIVERIES_MAX } from "../../core/limits.ts";
import { sha1Hex } from "../../lib/secrets.ts";
import { listAudit } from "../../operations/audit.ts";
import {
  createChannel,
  deleteChannel,
  getChannel,
  isVerified,
  listChannelPage,
  listChecksOfChannel,
  type PageRequest,
  updateChannel,
} from "../../operations/channels.ts";
import { getDelivery, listDeliveries, retryDelivery, testChannel } from "../../operations/deliveries.ts";
import { type Channel as StoredChannel, listChannels, type ManagedChannel } from "../../store/channels.ts";
import { listRecentDeliveries, type LoggedDelivery } from "../../store/deliveries.ts";
import type { Project } from "../../store/projects.ts";
import {
  changedBy,
  cursorNumber,
  cursorText,
  entityTag,
  idempotencyKey,
  ifMatch,
  numberParam,
} from "./params.ts";
import { type Actor, type ApiContext, type ApiHandlers, ApiProblem } from "./route.ts";
import { presentFlipDelivery } from "./runs.ts";

function presentKind(kind: AnyKind): Omit<ChannelKindInfo, "unavailable"> {
  const { name, title, about, category, icon, guide, rate, schema } = kind;
  return {
    name,
    title,
    description: about,
    category,
    icon,
    guide: [...guide],
    rateLimit: rate === null ? null : { perMinute: rate.perMinute, burst: rate.burst },
    // Without the symbols that TypeBox adds.
    schema: JSON.parse(JSON.stringify(schema)) as ChannelKindInfo["schema"],
  };
}

/** Constant while the server runs. */
const CHANNEL_KINDS = KINDS.map((kind) => ({ kind, info: presentKind(kind) }));

/** Channels without their secrets. The configuration of a channel of an unknown kind is not shown. */
async function presentChannels(context: ApiContext, channels: readonly ManagedChannel[]): Promise<Channel[]> {
  const group = channels.find((channel) => channel.kind === GROUP);
  // Members of groups may be on other pages.
  const all = group === undefined ? channels : await listChannels(context.database, group.projectId);
  const notified = notifiedChannels(context, all);
  return channels.map((channel) => {
    const kind = kindNamed(channel.kind);
    return {
      id: channel.uuid,
      kind: channel.kind,
      name: channel.name,
      config: kind === null ? {} : { ...shownConfig(kind, channel.config) },
      isEnabled: channel.disabledAt === null,
      disabledAt: channel.disabledAt,
      disabledReason: channel.disabledReason,
      isVerified: channel.kind === "email" ? isVerified(channel) : null,
      notifies: notified.has(channel.uuid),
      checkCount: channel.checkCount,
      createdAt: channel.createdAt,
      lastNotifiedAt: channel.lastNotifyAt,
      lastDurationMs: channel.lastNotifyDurationMs,
      lastError: channel.lastError,
      failureCount: channel.failureCount,
      warnings: addressWarnings(channel, context.destinations),
      version: channel.revision,
    };
  });
}

async function presentChannel(context: ApiContext, channel: ManagedChannel): Promise<Channel> {
  const [shown] = await presentChannels(context, [channel]);
  if (shown === undefined) throw new Error("a channel was not presented");
  return shown;
}

/**
 * The channels that notifications can be sent to: enabled, of a known kind, and an email channel only if the server
 * sends email and the address is confirmed. A group notifies through its members, even if they are disabled.
 */
function notifiedChannels(
  { mailVerification, destinations: { sendsMail } }: ApiContext,
  channels: readonly StoredChannel[],
): ReadonlySet<string> {
  const reaches = (channel: StoredChannel) =>
    kindNamed(channel.kind) !== null &&
    (channel.kind !== "email" || (sendsMail && (!mailVerification || isVerified(channel))));
  const reached = new Set(
    channels.filter((one) => one.kind !== GROUP && reaches(one)).map(({ uuid }) => uuid),
  );
  const notified = channels
    .filter(({ disabledAt }) => disabledAt === null)
    .filter((one) =>
      one.kind === GROUP ? membersOf(one).some((uuid) => reached.has(uuid)) : reached.has(one.uuid),
    );
  return new Set(notified.map(({ uuid }) => uuid));
}

function nameOnly({ uuid, kind, name }: ManagedChannel): SeenChannel {
  return { id: uuid, kind, name };
}

function presentDelivery(delivery: LoggedDelivery): Delivery {
  const { kind, channel, check, flipTo, groupUuid, requestSummary, responseExcerpt, messageId } = delivery;
  return {
    ...presentFlipDelivery(delivery, channel),
    group: groupUuid,
    kind,
    to: flipTo,
    check: check && { id: check.uuid, name: check.name },
    request: requestSummary,
    response: responseExcerpt,
    message: messageId,
  };
}

function pageOf({ cursor, limit = PAGE_LENGTH_DEFAULT }: { cursor?: string; limit?: number }): PageRequest {
  return { from: cursorNumber(cursor), limit };
}

function nameOf({ project, channel }: { project: Project; channel: StoredChannel }) {
  return { projectId: project.id, uuid: channel.uuid };
}

function changing({ actor, now }: { actor: Actor; now: Instant }) {
  return { by: actor, at: now };
}

function rulesOf({ mailVerification }: ApiContext) {
  return { rules: CONFIG_RULES, mailVerification };
}

/** The error for a request based on a version of the channel that is no longer the latest. */
async function versionConflict(
  { database }: ApiContext,
  {
    projectId,
    uuid,
    accountId,
    now,
  }: { projectId: number; uuid: string; accountId: number | null; now: Instant },
): Promise<ApiProblem> {
  const { name, kind, revision } = await getChannel(database, { projectId, uuid });
  const subject = name === "" ? kind : name;
  const { entries } = await listAudit(database, { projectId });
  // The change is recent, so it is on the newest page of the audit log.
  const entry = entries.find((one) => one.what.startsWith("channel.") && one.subject === subject);
  return new ApiProblem("conflict", "Someone else changed this channel while you were editing it.", {
    conflict: {
      by: changedBy(entry, accountId),
      at: entry?.at ?? now,
      before: { ...entry?.before },
      after: { ...entry?.after },
      version: revision,
    },
  });
}

export const channelHandlers: ApiHandlers<typeof channelRoutes> = {
  listChannelKinds: async ({ context }) => ({
    json: {
      kinds: CHANNEL_KINDS.map(({ kind, info }) => ({
        ...info,
        unavailable: kind.unavailable?.(context.accounts) ?? null,
      })),
    },
  }),
  listChannels: async ({ context, project, keyKind, query }) => {
    const page = { projectId: project.id, ...pageOf(query) };
    const { items, next } = await listChannelPage(context.database, page);
    const channels = keyKind === "readOnly" ? items.map(nameOnly) : await presentChannels(context, items);
    return { json: { channels, next: cursorText(next) } };
  },
  createChannel: async (request) => {
    const { context, project, body, headers } = request;
    const { kind, name = "", config = {}, isEnabled = true, checks = "*" } = body;
    const key = idempotencyKey(headers);
    const created = await createChannel(context.database, {
      projectId: project.id,
      kind,
      name,
      config,
      isEnabled,
      checks,
      once: key === null ? null : { key, request: JSON.stringify(body) },
      ...rulesOf(context),
      ...changing(request),
    });
    const channel = await presentChannel(context, created.channel);
    return {
      headers: {
        ...entityTag(channel),
        Location: `${context.urls.site}${API_PATH}/channels/${channel.id}`,
      },
      json: { channel, generated: { ...created.made } },
    };
  },
  checkChannelConfig: async ({ context, body }) => ({
    json: { warnings: addressWarnings(body, context.destinations) },
  }),
  listChannelHealth: async ({ context, project }) => {
    const given = { projectId: project.id, limit: RECENT_DELIVERIES_MAX };
    const recent = await listRecentDeliveries(context.database, given);
    return {
      json: { channels: [...recent].map(([id, deliveries]) => ({ id, ...channelHealth(deliveries) })) },
    };
  },
  previewChannel: async ({ context, project, body, now }) => {
    const { site, accounts, urls } = context;
    const checkJson = messageCheckJson({ urls, sha1Hex });
    return { json: await previewMessage(body, { site, project, checkJson, now, ...accounts }) };
  },
  getChannel: async (request) => {
    const { context, keyKind } = request;
    const channel = await getChannel(context.database, nameOf(request));
    return {
      headers: entityTag({ version: channel.revision }),
      json: keyKind === "readOnly" ? nameOnly(channel) : await presentChannel(context, channel),
    };
  },
  updateChannel: async (request) => {
    const { context, account, body, headers, now } = request;
    const { version, ...change } = body;
    const matched = ifMatch(headers);
    try {
      const changed = await updateChannel(context.database, {
        ...nameOf(request),
        change,
        expected: matched ?? (version === undefined ? null : [version]),
        ...rulesOf(context),
        ...changing(request),
      });
      const channel = await presentChannel(context, changed);
      return { headers: entityTag(channel), json: channel };
    } catch (error) {
      const isConflict = error instanceof AppError && error.code === "precondition_failed";
      if (!isConflict || matched !== null) throw error;
      throw await versionConflict(context, { ...nameOf(request), accountId: account?.id ?? null, now });
    }
  },
  deleteChannel: async (request) => {
    const expected = ifMatch(request.headers);
    await deleteChannel(request.context.database, { ...nameOf(request), expected, ...changing(request) });
    return { json: null };
  },
  listChecksOfChannel: async (request) => {
    const { items, next } = await listChecksOfChannel(request.context.database, {
      ...nameOf(request),
      ...pageOf(request.query),
    });
    return { json: { checks: items.map(({ uuid, name }) => ({ id: uuid, name })), next: cursorText(next) } };
  },
  testChannel: async (request) => {
    const planned = await testChannel(request.context.database, { ...nameOf(request), ...changing(request) });
    return { json: { deliveries: planned.map(presentDelivery) } };
  },
  listDeliveries: async (request) => {
    const { items, next } = await listDeliveries(request.context.database, {
      ...nameOf(request),
      ...pageOf(request.query),
    });
    return { json: { deliveries: items.map(presentDelivery), next: cursorText(next) } };
  },
  getDelivery: async ({ context, project, params }) => {
    const named = { projectId: project.id, deliveryId: numberParam(params.delivery) };
    return { json: presentDelivery(await getDelivery(context.database, named)) };
  },
  retryDelivery: async ({ context, project, params, now }) => {
    const named = { projectId: project.id, deliveryId: numberParam(params.delivery) };
    return { json: presentDelivery(await retryDelivery(context.database, { ...named, at: now })) };
  },
};
