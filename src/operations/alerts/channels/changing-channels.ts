// What making, changing and deleting channels have in common: who does it, which channel is meant, what has to hold
// of groups and checks, and asking the address of a mail channel.
import {
  type ChannelConfig,
  type ChosenChecks,
  type ConfigRules,
  groupProblem,
  membersOf,
} from "../../../core/alerts/channel-request.ts";
import { auditDifference } from "../../../core/accounts/audit-words.ts";
import { AppError } from "../../../core/errors.ts";
import type { Instant } from "../../../core/instant.ts";
import { CHANNEL_CONFIG_LENGTH_MAX } from "../../../core/limits.ts";
import { type Channel, listChannels } from "../../../store/alerts/channels.ts";
import { assignChecks, assignToAllChecks, findChecksToHear } from "../../../store/alerts/check-channels.ts";
import {
  type ChannelName,
  findManagedChannel,
  lockChannelsOfProject,
  type ManagedChannel,
} from "../../../store/alerts/managed-channels.ts";
import type { Db } from "../../../store/db.ts";
import type { Tx } from "../../../store/transaction.ts";
import { type Actor, audit } from "../../accounts/audit.ts";
import { askForVerification, mailAddressOf } from "../mail/verification.ts";

/** What every change of a channel comes with. */
export type Changing = { by: Actor; at: Instant };

export type KindsAndMail = {
  rules: ConfigRules;
  /** Whether this installation asks addresses before it writes to them. */
  mailVerification: boolean;
};

const NO_CHANNEL = "Channel not found.";

/** The channel of a project. Throws AppError `not_found`. */
export async function getChannel(db: Db, name: ChannelName): Promise<ManagedChannel> {
  const channel = await findManagedChannel(db, name);
  if (channel === null) throw new AppError("not_found", NO_CHANNEL);
  return channel;
}

/**
 * The channel that is to be changed; until the end of the transaction nobody else changes one of its project. Throws
 * AppError `not_found`, and `precondition_failed` when it is not at one of the expected revisions any more.
 */
export async function lockChannel(
  tx: Tx,
  { expected, ...name }: ChannelName & { expected: readonly number[] | null },
): Promise<ManagedChannel> {
  await lockChannelsOfProject(tx, name.projectId);
  const channel = await getChannel(tx, name);
  if (expected !== null && !expected.includes(channel.revision)) {
    throw new AppError("precondition_failed", "The channel was changed after you loaded it.");
  }
  return channel;
}

/** The configuration as it may be stored. Throws AppError `invalid` with a sentence for whoever wrote it. */
export function judgedConfig(rules: ConfigRules, given: { kind: string; config: unknown }): ChannelConfig {
  const read = rules.read(given.kind, given.config);
  if (!read.ok) throw new AppError("invalid", read.text);
  if (JSON.stringify(read.value).length > CHANNEL_CONFIG_LENGTH_MAX) {
    throw new AppError(
      "invalid",
      `The configuration can have at most ${CHANNEL_CONFIG_LENGTH_MAX} characters.`,
    );
  }
  return read.value;
}

/** Throws AppError `invalid` where a group names what is no channel of its project, or another group. */
export async function permitMembers(
  db: Db,
  channel: Pick<Channel, "projectId" | "kind" | "config">,
): Promise<void> {
  const members = membersOf(channel);
  if (members.length === 0) return;
  const problem = groupProblem(members, await listChannels(db, channel.projectId));
  if (problem !== null) throw new AppError("invalid", problem);
}

/** Lets a channel hear of the chosen checks. Throws AppError `invalid` for one that the project does not have. */
export async function assignChosenChecks(
  tx: Tx,
  { channel, checks }: { channel: Pick<Channel, "id" | "projectId">; checks: ChosenChecks },
): Promise<void> {
  const { id: channelId, projectId } = channel;
  if (checks === "*") return assignToAllChecks(tx, { projectId, channelId });
  const found = await findChecksToHear(tx, { projectId, uuids: checks });
  const known = new Set(found.map(({ uuid }) => uuid));
  const missing = checks.find((uuid) => !known.has(uuid));
  if (missing !== undefined) throw new AppError("invalid", `checks: the project has no check ${missing}.`);
  await assignChecks(tx, { channelId, checkIds: found.map(({ id }) => id) });
}

/** Sees to it that the address of a mail channel is asked, if it has to be. Other kinds have nobody to ask. */
export async function askAddress(
  tx: Tx,
  request: {
    channel: Pick<Channel, "id" | "kind" | "config">;
    mailVerification: boolean;
    /** Ask also who has agreed: it has said no since. */
    repeat: boolean;
    at: Instant;
  },
): Promise<void> {
  const { channel, mailVerification, repeat, at } = request;
  const address = mailAddressOf(channel);
  if (address === null) return;
  await askForVerification(tx, {
    channelId: channel.id,
    address,
    at,
    isRequired: mailVerification,
    repeat,
  });
}

/** Writes a change of a channel into the record; null stands for before it was made, and after it is gone. */
export async function auditChannel(
  tx: Tx,
  { before, after, by, at }: Changing & Record<"before" | "after", ManagedChannel | null>,
): Promise<void> {
  const channel = after ?? before;
  if (channel === null) return;
  const [was, is] = [sideOf(before), sideOf(after)];
  const shown = was === null || is === null ? { before: was, after: is } : auditDifference(was, is);
  const fields = before === null || after === null ? [] : changedFields(before.config, after.config);
  if (shown === null && fields.length === 0) return;
  await audit(tx, {
    ...by,
    projectId: channel.projectId,
    what: wordFor(before, after),
    subject: channel.name === "" ? channel.kind : channel.name,
    before: shown?.before ?? null,
    // Of a configuration only the names of its fields: nobody here knows which of them are secret.
    after: fields.length === 0 ? (shown?.after ?? null) : { ...shown?.after, changed: fields },
    at,
  });
}

function wordFor(before: ManagedChannel | null, after: ManagedChannel | null) {
  if (before === null) return "channel.created";
  if (after === null) return "channel.deleted";
  if ((before.disabledAt === null) === (after.disabledAt === null)) return "channel.changed";
  return after.disabledAt === null ? "channel.enabled" : "channel.disabled";
}

function sideOf(channel: ManagedChannel | null) {
  if (channel === null) return null;
  const { uuid, kind, name, disabledAt, checkCount } = channel;
  return { uuid, kind, name, enabled: disabledAt === null, checks: checkCount };
}

function changedFields(before: ChannelConfig, after: ChannelConfig): string[] {
  return Object.keys(after).filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
}
