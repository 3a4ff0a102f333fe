// Rows of the history in the words of the contract.
import { channelName } from "../../../contract/web/list-words.ts";
import type { ToldDelivery, ToldFlip } from "../../../contract/web/history.ts";
import { type Channel, findChannelsByIds } from "../../../store/alerts/channels.ts";
import { type Delivery, listDeliveriesOfFlip } from "../../../store/alerts/deliveries.ts";
import type { Database } from "../../../store/db.ts";
import type { StoredFlip } from "../../../store/history/flips.ts";

export function toldFlip({ id, at, from, to, reason, takenBackAt }: StoredFlip): ToldFlip {
  return { id, at, from, to, reason, takenBackAt };
}

/** Who was told of a flip of a project's check and how that went, in the order in which it was owed. */
export async function readDeliveries(
  database: Database,
  { flipId, projectId }: { flipId: number; projectId: number },
): Promise<ToldDelivery[]> {
  const deliveries = await listDeliveriesOfFlip(database, flipId);
  if (deliveries.length === 0) return [];
  const ids = [...new Set(deliveries.map(({ channelId }) => channelId))];
  const channels = new Map((await findChannelsByIds(database, ids)).map((channel) => [channel.id, channel]));
  return deliveries.map((delivery) => {
    const channel = channels.get(delivery.channelId) ?? null;
    if (channel?.projectId === projectId) return toldDelivery(delivery, channel);
    return toldUnnamed(delivery, { isElsewhere: channel !== null });
  });
}

/**
 * A check that was moved keeps its history, and not the names and answers of channels that it has left behind. Of one
 * that is gone nobody knows whose it was, so that its answers are told to nobody.
 */
function toldUnnamed(delivery: Delivery, { isElsewhere }: { isElsewhere: boolean }): ToldDelivery {
  return { ...toldDelivery(delivery, null), code: null, reason: null, isElsewhere };
}

/** A delivery with the channel that it goes by; null: it is gone. */
export function toldDelivery(
  delivery: Delivery,
  channel: (Pick<Channel, "uuid" | "kind" | "name"> & Partial<Pick<Channel, "config">>) | null,
): ToldDelivery {
  return {
    id: delivery.id,
    channel: channel && { id: channel.uuid, kind: channel.kind, name: channelName(channel) },
    isElsewhere: false,
    state: delivery.state,
    createdAt: delivery.createdAt,
    attemptedAt: delivery.attemptedAt,
    settledAt: delivery.settledAt,
    attempts: delivery.attemptCount,
    nextTryAt: delivery.nextTryAt,
    code: delivery.responseCode,
    reason: delivery.reason,
  };
}
