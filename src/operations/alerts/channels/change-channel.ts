// Changes and deletes channels: each verb is one transaction, and leaves groups and their members in accord.
import {
  type ChannelRequest,
  DISABLED_BY_OWNER,
  type Disabled,
  disabledAfter,
  groupsWithout,
} from "../../../core/alerts/channel-request.ts";
import { AppError } from "../../../core/errors.ts";
import { type Channel, deleteChannel as removeChannel } from "../../../store/alerts/channels.ts";
import { listChannels, updateChannel as writeChannel } from "../../../store/alerts/channels.ts";
import type { ChannelName, ManagedChannel } from "../../../store/alerts/managed-channels.ts";
import type { Database } from "../../../store/db.ts";
import type { Tx } from "../../../store/transaction.ts";
import { inRetriedTransaction } from "../../changing/retried.ts";
import {
  askAddress,
  assignChosenChecks,
  auditChannel,
  type Changing,
  getChannel,
  judgedConfig,
  type KindsAndMail,
  lockChannel,
  permitMembers,
} from "./changing-channels.ts";

/** Which revisions of the channel the change was meant for; null: whatever it is now. */
type Expected = { expected: readonly number[] | null };

export type UpdateChannelRequest = ChannelName &
  Changing &
  KindsAndMail &
  Expected & { change: ChannelRequest };

/**
 * Changes what is given; of the configuration, too, fields that are not given stay as they are. AppError as
 * `createChannel`, and `precondition_failed` when somebody else was quicker.
 */
export function updateChannel(database: Database, request: UpdateChannelRequest): Promise<ManagedChannel> {
  return inRetriedTransaction(database, async (tx) => {
    const channel = await lockChannel(tx, request);
    const { kind = channel.kind, ...change } = request.change;
    if (kind !== channel.kind) throw new AppError("invalid", "kind cannot be changed.");
    if (Object.keys(change).length === 0) return channel;
    await applyChange(tx, { ...request, channel, change });
    const after = await getChannel(tx, request);
    await auditChannel(tx, { before: channel, after, by: request.by, at: request.at });
    return after;
  });
}

async function applyChange(
  tx: Tx,
  request: UpdateChannelRequest & { channel: ManagedChannel },
): Promise<void> {
  const { channel, change, rules, mailVerification, at } = request;
  const { id: channelId, kind } = channel;
  const given = change.config;
  const config =
    given === undefined
      ? channel.config
      : judgedConfig(rules, { kind, config: { ...channel.config, ...given } });
  if (given !== undefined) await permitMembers(tx, { ...channel, config });
  const before = disabledOf(channel);
  const disabled = disabledAfter(before, { ...change, at });
  await writeChannel(tx, {
    channelId,
    disabled,
    ...(change.name !== undefined && { name: change.name }),
    ...(given !== undefined && { config }),
  });
  if (change.checks !== undefined) await assignChosenChecks(tx, { channel, checks: change.checks });
  if (disabled !== null) return;
  // Whoever has unsubscribed, or could not be reached, is asked again before a mail goes there.
  const repeat = before !== null && before.reason !== DISABLED_BY_OWNER;
  await askAddress(tx, { channel: { ...channel, config }, mailVerification, repeat, at });
}

function disabledOf({ disabledAt, disabledReason }: Channel): Disabled | null {
  return disabledAt === null ? null : { at: disabledAt, reason: disabledReason ?? "" };
}

/**
 * Deletes a channel; its groups lose it, and what is still to be told through it is withdrawn by whoever comes to send
 * it. The answer has it as it was. AppError `conflict` for the last member of a group.
 */
export function deleteChannel(
  database: Database,
  request: ChannelName & Changing & Expected,
): Promise<ManagedChannel> {
  return inRetriedTransaction(database, async (tx) => {
    const channel = await lockChannel(tx, request);
    const left = groupsWithout(channel.uuid, await listChannels(tx, request.projectId));
    if (!left.ok) throw new AppError("conflict", left.text);
    for (const { group, config } of left.value) {
      await writeChannel(tx, { channelId: group.id, config, disabled: disabledOf(group) });
    }
    await removeChannel(tx, channel.id);
    await auditChannel(tx, { before: channel, after: null, by: request.by, at: request.at });
    return channel;
  });
}
