// Disables a channel whose receiver refuses for good, and lets its owner know by the channels that are left, or by
// mail.
import { whoHearsOfDisabled } from "../../core/alerts/channel-health.ts";
import type { DisabledMessage } from "../../core/alerts/message.ts";
import type { Instant } from "../../core/instant.ts";
import { disableChannel, findChannelsByIds, listChannels } from "../../store/alerts/channels.ts";
import { insertSayings } from "../../store/alerts/planning.ts";
import type { Tx } from "../../store/transaction.ts";
import { tellOwner } from "./mail/tell-owner.ts";

/** False: the channel is gone, or had been disabled before; then nobody is told. */
export async function giveUpChannel(
  tx: Tx,
  { channelId, reason, at }: { channelId: number; reason: string; at: Instant },
): Promise<boolean> {
  if (!(await disableChannel(tx, { channelId, at, reason }))) return false;
  const [channel] = await findChannelsByIds(tx, [channelId]);
  if (channel === undefined) return false;
  const { projectId, projectName, uuid, kind, name } = channel;
  const others = await listChannels(tx, projectId);
  const left = others.filter((other) => other.kind !== "group" && other.disabledAt === null);
  const about: DisabledMessage = { kind: "disabled", at, projectName, channel: { uuid, kind, name }, reason };
  const sayings = whoHearsOfDisabled(left).map((other) => ({
    channelId: other.id,
    kind: "disabled" as const,
    about,
  }));
  if (sayings.length > 0) await insertSayings(tx, { sayings, at });
  else await tellOwner(tx, { kind: "disabled", channelId, about: { reason }, at });
  return true;
}
