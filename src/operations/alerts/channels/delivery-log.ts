// What was told through the channels of a project and how that went, to read; a test; and one more try.
import { GROUP, membersOf } from "../../../core/alerts/channel-request.ts";
import { AppError } from "../../../core/errors.ts";
import { type Instant, MINUTE_MS } from "../../../core/instant.ts";
import { CHANNEL_TESTS_PER_MINUTE } from "../../../core/limits.ts";
import { findChannelById, listChannels } from "../../../store/alerts/channels.ts";
import { type HeardCheck, listHeardChecks } from "../../../store/alerts/check-channels.ts";
import {
  countRecentTests,
  findLoggedDeliveries,
  listLoggedDeliveries,
  type LoggedDelivery,
  reopenDelivery,
} from "../../../store/alerts/delivery-log.ts";
import {
  type ChannelName,
  listManagedChannels,
  type ManagedChannel,
} from "../../../store/alerts/managed-channels.ts";
import type { Database, Db } from "../../../store/db.ts";
import { audit } from "../../accounts/audit.ts";
import { inRetriedTransaction } from "../../changing/retried.ts";
import { planTest } from "../plan-deliveries.ts";
import { type Changing, getChannel } from "./changing-channels.ts";

/** A part of a list. `next` stands for the rest; null: there is none. */
export type Page<Item> = { items: readonly Item[]; next: number | null };

/** Where a part begins, `next` of the one before it, and how long it may be. */
export type PageRequest = { from: number | null; limit: number };

function pageOf<Item extends { id: number }>(found: readonly Item[], limit: number): Page<Item> {
  const items = found.slice(0, limit);
  return { items, next: found.length > limit ? (items.at(-1)?.id ?? null) : null };
}

/** The channels of a project, oldest first. A page may be shorter than asked for without being the last. */
export async function listChannelPage(
  db: Db,
  { projectId, from, limit }: { projectId: number } & PageRequest,
): Promise<Page<ManagedChannel>> {
  const found = await listManagedChannels(db, { projectId, afterId: from ?? 0, limit: limit + 1 });
  return pageOf(found, Math.min(limit, countWithin(found, PAGE_CONFIGS_LENGTH_MAX)));
}

/** A page of channels ends early when their configurations are longer than this together. */
const PAGE_CONFIGS_LENGTH_MAX = 1024 * 1024;

/** How many of the first channels have configurations that fit; at least one. */
function countWithin(channels: readonly ManagedChannel[], lengthMax: number): number {
  let length = 0;
  const beyond = channels.findIndex(({ config }) => {
    length += JSON.stringify(config).length;
    return length > lengthMax;
  });
  return beyond === -1 ? channels.length : Math.max(1, beyond);
}

/** The checks that a channel hears of, oldest first. Throws AppError `not_found`. */
export async function listChecksOfChannel(
  db: Db,
  { from, limit, ...name }: ChannelName & PageRequest,
): Promise<Page<HeardCheck>> {
  const { id: channelId } = await getChannel(db, name);
  return pageOf(await listHeardChecks(db, { channelId, afterId: from ?? 0, limit: limit + 1 }), limit);
}

/** The delivery log of a channel, newest first; of a group, that of its members. Throws AppError `not_found`. */
export async function listDeliveries(
  db: Db,
  { from, limit, ...name }: ChannelName & PageRequest,
): Promise<Page<LoggedDelivery>> {
  const channel = await getChannel(db, name);
  const channelIds = channel.kind === GROUP ? await memberIds(db, channel) : [channel.id];
  const page = { channelIds, beforeId: from, limit: limit + 1 };
  return pageOf(await listLoggedDeliveries(db, page), limit);
}

async function memberIds(db: Db, group: ManagedChannel): Promise<number[]> {
  const members = membersOf(group);
  const channels = await listChannels(db, group.projectId);
  return channels.filter(({ uuid }) => members.includes(uuid)).map(({ id }) => id);
}

export type DeliveryName = { projectId: number; deliveryId: number };

/** One delivery of a project. Throws AppError `not_found`. */
export async function getDelivery(db: Db, { projectId, deliveryId }: DeliveryName): Promise<LoggedDelivery> {
  const [delivery] = await findLoggedDeliveries(db, { projectId, deliveryIds: [deliveryId] });
  if (delivery === undefined) throw new AppError("not_found", "Delivery not found.");
  return delivery;
}

/**
 * Owes a test to a channel, or to each member of a group, also to a disabled one; the notifier sends it within
 * seconds, and `getDelivery` tells how it went. AppError `not_found`, `rate_limited`, and `conflict` for a group
 * without members.
 */
export function testChannel(
  database: Database,
  { projectId, uuid, by, at }: ChannelName & Changing,
): Promise<LoggedDelivery[]> {
  return inRetriedTransaction(database, async (tx) => {
    const channel = await getChannel(tx, { projectId, uuid });
    const deliveryIds = await planTest(tx, { channelId: channel.id, at });
    if (deliveryIds.length === 0) throw new AppError("conflict", "The group has no members.");
    const planned = await findLoggedDeliveries(tx, { projectId, deliveryIds });
    const channelIds = planned.map(({ channelId }) => channelId);
    const recent = await countRecentTests(tx, { channelIds, after: at - MINUTE_MS });
    if (recent > CHANNEL_TESTS_PER_MINUTE) {
      const text = `You can send at most ${CHANNEL_TESTS_PER_MINUTE} test notifications per minute to a channel.`;
      throw new AppError("rate_limited", text);
    }
    const { name, kind } = channel;
    const subject = name === "" ? kind : name;
    await audit(tx, { ...by, projectId, what: "channel.tested", subject, before: null, after: { uuid }, at });
    return planned;
  });
}

/**
 * Tries a delivery once more, at once: one that waits for its next try, or that was given up. AppError `not_found`;
 * `conflict` when it is settled otherwise, is being sent now, or its channel is disabled.
 */
export function retryDelivery(
  database: Database,
  { projectId, deliveryId }: DeliveryName & { at: Instant },
): Promise<LoggedDelivery> {
  return inRetriedTransaction(database, async (tx) => {
    const { state, kind, groupId, channelId } = await getDelivery(tx, { projectId, deliveryId });
    if (state !== "pending" && state !== "dead")
      throw new AppError("conflict", `The delivery cannot be retried: its state is ${state}.`);
    const channel = await findChannelById(tx, channelId);
    if (channel?.disabledAt !== null && kind !== "test" && groupId === null) {
      throw new AppError("conflict", "The channel is disabled. Enable it first.");
    }
    if (!(await reopenDelivery(tx, { deliveryId, channelId }))) {
      throw new AppError("conflict", "The delivery is being sent.");
    }
    return getDelivery(tx, { projectId, deliveryId });
  });
}
