// Creating, changing, deleting and listing channels; confirming email addresses; connecting Telegram chats;
// disabling failing channels.
import { randomUUID } from "node:crypto";
import { auditDifference } from "../core/audit.ts";
import {
  type ChannelConfig,
  type ChannelRequest,
  type ChosenChecks,
  type ConfigRules,
  type Disabled,
  DISABLED_BY_OWNER,
  disabledAfter,
  groupProblem,
  groupsWithout,
  mayAddChannel,
  membersOf,
} from "../core/channel.ts";
import { disabledNoticeRecipients } from "../core/delivery.ts";
import {
  type ChannelAddress,
  isTokenFor,
  OWNER_NOTIFIED_EVERY_DAYS,
  type Signing,
  VERIFICATION_EVERY_MS,
} from "../core/email.ts";
import { AppError, type Checked } from "../core/errors.ts";
import { newUuidIn } from "../core/identity.ts";
import { DAY_MS, type Instant } from "../core/instant.ts";
import { CHANNEL_CONFIG_LENGTH_MAX, CHANNELS_PER_PROJECT_MAX } from "../core/limits.ts";
import type { DisabledMessage } from "../core/message.ts";
import { countedAddress } from "../core/sign-in.ts";
import {
  assignChecks,
  type AssignedCheck,
  assignToAllChecks,
  type Channel,
  type ChannelName,
  connectChat,
  type ConnectedChannel,
  countChannels,
  deleteChannel as removeChannel,
  disableChannel,
  findAssignableChecks,
  findChannelById,
  findChannelByUuid,
  findChannelsByIds,
  findManagedChannel,
  insertChannel,
  isAddressOfMember,
  isAnyChatWaiting,
  listAssignedChecks,
  listChannels,
  listManagedChannels,
  lockChannelsOfProject,
  type ManagedChannel,
  markVerified,
  writeChannel,
} from "../store/channels.ts";
import type { Database, Db } from "../store/db.ts";
import { insertMessages } from "../store/planning.ts";
import { findNewestEmail, insertEmail } from "../store/emails.ts";
import { removeFromTagRules } from "../store/policies.ts";
import { findProjectOwner } from "../store/projects.ts";
import { inTransaction, type Tx } from "../store/transaction.ts";
import { claimOnce, type Once } from "./idempotency.ts";
import { countAttemptsIn } from "./attempts.ts";
import { type Actor, audit } from "./audit.ts";
import { inRetriedTransaction } from "./retry.ts";

/** Parameters of every change of a channel. */
export type Changing = { by: Actor; at: Instant };

export type KindsAndMail = {
  rules: ConfigRules;
  /** Whether email addresses must be confirmed before alerts are sent to them. */
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
 * Locks the channels of the project and returns the one to change. Throws AppError `not_found`, and
 * `precondition_failed` if it has none of the expected revisions.
 */
async function lockChannel(
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

/** The validated configuration. Throws AppError `invalid` with a text for the user. */
function judgedConfig(read: Checked<ChannelConfig>): ChannelConfig {
  if (!read.ok) throw new AppError("invalid", read.text);
  if (JSON.stringify(read.value).length > CHANNEL_CONFIG_LENGTH_MAX) {
    throw new AppError(
      "invalid",
      `The configuration can have at most ${CHANNEL_CONFIG_LENGTH_MAX} characters.`,
    );
  }
  return read.value;
}

/** Throws AppError `invalid` if a member of a group is not a channel of its project, or is a group. */
async function permitMembers(db: Db, channel: Pick<Channel, "projectId" | "kind" | "config">): Promise<void> {
  const members = membersOf(channel);
  if (members.length === 0) return;
  const problem = groupProblem(members, await listChannels(db, channel.projectId));
  if (problem !== null) throw new AppError("invalid", problem);
}

/**
 * Assigns the chosen checks to a channel. Throws AppError `invalid` for one that the project does not have.
 */
async function assignChosenChecks(
  tx: Tx,
  { channel, checks }: { channel: Pick<Channel, "id" | "projectId">; checks: ChosenChecks },
): Promise<void> {
  const { id: channelId, projectId } = channel;
  if (checks === "*") return assignToAllChecks(tx, { projectId, channelId });
  const found = await findAssignableChecks(tx, { projectId, uuids: checks });
  const known = new Set(found.map(({ uuid }) => uuid));
  const missing = checks.find((uuid) => !known.has(uuid));
  if (missing !== undefined) throw new AppError("invalid", `checks: the project has no check ${missing}.`);
  await assignChecks(tx, { channelId, checkIds: found.map(({ id }) => id) });
}

/** Asks for confirmation of the address of an email channel, if necessary. */
async function askAddress(
  tx: Tx,
  request: {
    channel: Pick<Channel, "id" | "kind" | "config">;
    mailVerification: boolean;
    /** Ask even if it was confirmed: the recipient has unsubscribed since. */
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

/** Adds an audit log entry for a channel; null means not created yet, or deleted. */
async function auditChannel(
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
    // Only the names of changed configuration fields: which ones are secret is not known here.
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

export type CreateChannelRequest = Changing &
  KindsAndMail & {
    projectId: number;
    kind: string;
    name: string;
    /** As it was sent. */
    config: unknown;
    isEnabled: boolean;
    checks: ChosenChecks;
    /** Null: every request creates a channel. */
    once: Once | null;
  };

/** `repeated`: the request was served before, and nothing was done. */
export type CreatedChannel = {
  kind: "created" | "repeated";
  channel: ManagedChannel;
  /** The generated secrets by field, to be shown once. */
  made: Readonly<Record<string, string>>;
};

/**
 * Creates a channel. AppError `invalid`; `forbidden` beyond the limit of the project; `unprocessable` if an
 * idempotency key was used for a different request; `conflict` if its channel was deleted; `rate_limited` if
 * too many addresses were asked for confirmation; `not_found` without the project.
 */
export function createChannel(database: Database, request: CreateChannelRequest): Promise<CreatedChannel> {
  const { rules, kind } = request;
  const { config, made } = rules.complete(kind, judgedConfig(rules.read(kind, request.config)));
  return inRetriedTransaction(database, async (tx) => {
    const { projectId } = request;
    const projectUuid = await lockChannelsOfProject(tx, projectId);
    if (projectUuid === null) throw new AppError("not_found", "Project not found.");
    const uuid = newUuidIn(projectUuid, randomUUID, tx.slots);
    const repeated = await repetitionOf(tx, { ...request, uuid });
    if (repeated !== null) return { kind: "repeated", channel: repeated, made: {} };
    await insert(tx, { ...request, uuid, config });
    const channel = await getChannel(tx, { projectId, uuid });
    await auditChannel(tx, { before: null, after: channel, by: request.by, at: request.at });
    return { kind: "created", channel, made };
  });
}

/** The result of the same request before; null if there is none. */
async function repetitionOf(
  tx: Tx,
  { projectId, once, uuid, at }: Pick<CreateChannelRequest, "projectId" | "once" | "at"> & { uuid: string },
): Promise<ManagedChannel | null> {
  const earlier = await claimOnce(tx, { projectId, once, uuid, at });
  if (earlier === null) return null;
  return getChannel(tx, { projectId, uuid: earlier }).catch((error: unknown) => {
    if (!(error instanceof AppError)) throw error;
    throw new AppError("conflict", "The channel created by this request has been deleted.");
  });
}

async function insert(
  tx: Tx,
  request: CreateChannelRequest & { uuid: string; config: ChannelConfig },
): Promise<void> {
  const { projectId, uuid, kind, name, config, isEnabled, checks, mailVerification, at } = request;
  if (!mayAddChannel(await countChannels(tx, projectId))) {
    throw new AppError("forbidden", `A project can have at most ${CHANNELS_PER_PROJECT_MAX} channels.`);
  }
  await permitMembers(tx, { projectId, kind, config });
  const channel = await insertChannel(tx, { uuid, projectId, kind, name, config, createdAt: at });
  if (!isEnabled) {
    await writeChannel(tx, { channelId: channel.id, disabled: { at, reason: DISABLED_BY_OWNER } });
  }
  await assignChosenChecks(tx, { channel, checks });
  await askAddress(tx, { channel, mailVerification, repeat: false, at });
}

/** The revisions that the change applies to; null: any. */
type Expected = { expected: readonly number[] | null };

export type UpdateChannelRequest = ChannelName &
  Changing &
  KindsAndMail &
  Expected & { change: ChannelRequest };

/**
 * Changes the given fields, also within the configuration. AppError as `createChannel`, and
 * `precondition_failed` after a concurrent change.
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
      : judgedConfig(rules.change(kind, { before: channel.config, given }));
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
  // An address that was unsubscribed or unreachable must be confirmed again.
  const repeat = before !== null && before.reason !== DISABLED_BY_OWNER;
  await askAddress(tx, { channel: { ...channel, config }, mailVerification, repeat, at });
}

function disabledOf({ disabledAt, disabledReason }: Channel): Disabled | null {
  return disabledAt === null ? null : { at: disabledAt, reason: disabledReason ?? "" };
}

/**
 * Deletes a channel and removes it from its groups; the notifier withdraws its pending deliveries. Returns it
 * as it was. AppError `conflict` for the last member of a group.
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
    await removeFromTagRules(tx, { projectId: request.projectId, channelId: channel.id });
    await removeChannel(tx, channel.id);
    await auditChannel(tx, { before: channel, after: null, by: request.by, at: request.at });
    return channel;
  });
}

/** A page of a list. `next` is where the next page begins; null: there is none. */
export type Page<Item> = { items: readonly Item[]; next: number | null };

/** Where a page begins (`next` of the previous one), and its length. */
export type PageRequest = { from: number | null; limit: number };

export function pageOf<Item extends { id: number }>(found: readonly Item[], limit: number): Page<Item> {
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

/** The checks of a channel, oldest first. Throws AppError `not_found`. */
export async function listChecksOfChannel(
  db: Db,
  { from, limit, ...name }: ChannelName & PageRequest,
): Promise<Page<AssignedCheck>> {
  const { id: channelId } = await getChannel(db, name);
  return pageOf(await listAssignedChecks(db, { channelId, afterId: from ?? 0, limit: limit + 1 }), limit);
}

/** The address of an email channel; null for any other. */
export function mailAddressOf({ kind, config }: Pick<Channel, "kind" | "config">): string | null {
  const value: unknown = config["value"];
  return kind === "email" && typeof value === "string" ? value : null;
}

/** Whether the current address of an email channel is confirmed. */
export function isVerified(channel: Pick<Channel, "kind" | "config" | "verifiedAddress">): boolean {
  return channel.verifiedAddress !== null && channel.verifiedAddress === mailAddressOf(channel);
}

export type VerificationRequest = {
  channelId: number;
  address: string;
  at: Instant;
  /** False: addresses need no confirmation. */
  isRequired: boolean;
  /** Ask even if asked recently or confirmed, for example after an unsubscribe. */
  repeat: boolean;
};

/**
 * Confirms the address of a new or changed email channel: at once if no confirmation is required, or by an
 * email. AppError `rate_limited` if the project's owner has requested too many.
 */
export async function askForVerification(
  tx: Tx,
  request: VerificationRequest,
): Promise<"verified" | "asked"> {
  const { channelId, address, at, isRequired, repeat } = request;
  const channel = await findChannelById(tx, channelId);
  if (channel === null) throw new AppError("not_found", "The channel does not exist.");
  if (!repeat && channel.verifiedAddress === address) return "verified";
  const { projectId } = channel;
  if (!isRequired || (await isAddressOfMember(tx, { projectId, address }))) {
    await markVerified(tx, { channelId, address });
    return "verified";
  }
  if (repeat) await markVerified(tx, { channelId, address: null });
  const asked = await findNewestEmail(tx, { channelId, kind: "verification" });
  const isFresh = asked?.about["address"] === address && asked.createdAt > at - VERIFICATION_EVERY_MS;
  if (!repeat && isFresh) return "asked";
  // Counted per account, not by its emails: those are deleted with their channels.
  const owner = String((await findProjectOwner(tx, projectId))?.id ?? 0);
  const attempts = [
    { kind: "verification", subject: owner },
    { kind: "verificationOfAddress", subject: `${owner} ${countedAddress(address)}` },
  ] as const;
  await countAttemptsIn(tx, attempts, { now: at });
  const about = { address };
  await insertEmail(tx, {
    uuid: randomUUID(),
    kind: "verification",
    accountId: null,
    channelId,
    about,
    createdAt: at,
  });
  return "asked";
}

/** The channel and address of a link. */
export type LinkedChannel = { channel: Channel; address: string; projectName: string };

export type ChannelLink = {
  channelUuid: string;
  token: string;
  purpose: "verify" | "unsubscribe";
  signing: Signing;
};

/** The channel of a link; null if there is none or the signature is invalid. */
export async function findLinkedChannel(db: Db, link: ChannelLink): Promise<LinkedChannel | null> {
  const found = await findChannelByUuid(db, link.channelUuid);
  const address = found === null ? null : mailAddressOf(found);
  // Computed even if there is no channel, so that the response time reveals nothing.
  const of: ChannelAddress = { channelUuid: link.channelUuid, address: address ?? "" };
  const isGood = isTokenFor(link.token, { signing: link.signing, purpose: link.purpose, of });
  if (found === null || address === null || !isGood) return null;
  const [channel] = await findChannelsByIds(db, [found.id]);
  return channel === undefined ? null : { channel, address, projectName: channel.projectName };
}

/** Confirms an address by its link. Null: the link is invalid. */
export function verifyChannel(
  database: Database,
  link: Omit<ChannelLink, "purpose">,
): Promise<LinkedChannel | null> {
  return inRetriedTransaction(database, async (tx) => {
    const linked = await findLinkedChannel(tx, { ...link, purpose: "verify" });
    if (linked !== null) await markVerified(tx, { channelId: linked.channel.id, address: linked.address });
    return linked;
  });
}

/**
 * Unsubscribes an address by its link: disables the channel, notifies its owner, and requires a new
 * confirmation. Null: the link is invalid.
 */
export function unsubscribeChannel(
  database: Database,
  { at, ...link }: Omit<ChannelLink, "purpose"> & { at: Instant },
): Promise<LinkedChannel | null> {
  return inRetriedTransaction(database, async (tx) => {
    const linked = await findLinkedChannel(tx, { ...link, purpose: "unsubscribe" });
    if (linked === null) return null;
    await disableFailingChannel(tx, {
      channelId: linked.channel.id,
      reason: "Unsubscribed by the recipient",
      at,
    });
    await markVerified(tx, { channelId: linked.channel.id, address: null });
    return linked;
  });
}

/**
 * Emails the owner of a channel that alerts are lost because the address is not confirmed; at most once per
 * interval.
 */
export function notifyUnverified(
  database: Database,
  { channelUuid, at }: { channelUuid: string; at: Instant },
): Promise<void> {
  return inRetriedTransaction(database, async (tx) => {
    const channel = await findChannelByUuid(tx, channelUuid);
    if (channel === null) return;
    const lastEmail = await findNewestEmail(tx, { channelId: channel.id, kind: "unverified" });
    if (lastEmail !== null && lastEmail.createdAt > at - OWNER_NOTIFIED_EVERY_DAYS * DAY_MS) return;
    const address = mailAddressOf(channel) ?? "";
    await queueOwnerEmail(tx, { kind: "unverified", channelId: channel.id, about: { address }, at });
  });
}

const CODE_MS_MAX = DAY_MS;

export type Chat = { id: string; type: string; name: string; threadId: number };

/** Whether a channel is waiting for its chat, so that messages need to be polled. */
export function isAnyChatWaitingNow(database: Database, now: Instant): Promise<boolean> {
  return isAnyChatWaiting(database, now - CODE_MS_MAX);
}

/** Connects the channel of a code to the chat; null if the code is invalid or expired. */
export function connectWaiting(
  database: Database,
  { code, chat, now }: { code: string; chat: Chat; now: Instant },
): Promise<ConnectedChannel | null> {
  const { id: chat_id, type: chat_type, name: chat_name, threadId: thread_id } = chat;
  const config = { chat_id, chat_type, chat_name, thread_id, setup_code: "" };
  return inTransaction(database, (tx) => connectChat(tx, { code, config, since: now - CODE_MS_MAX }));
}

/**
 * Disables a channel after a permanent failure and notifies its owner by the remaining channels or by email.
 * False: it does not exist or was disabled before.
 */
export async function disableFailingChannel(
  tx: Tx,
  { channelId, reason, at }: { channelId: number; reason: string; at: Instant },
): Promise<boolean> {
  if (!(await disableChannel(tx, { channelId, at, reason }))) return false;
  await notifyOthers(tx, { channelId, about: { reason }, at, isReachable: () => true });
  return true;
}

/**
 * Notifies the owner of a channel that a monthly limit stops its messages. `isReachable`: kinds that the limit does not
 * stop.
 */
export async function notifyLimit(
  tx: Tx,
  given: { channelId: number; reason: string; at: Instant; isReachable: (kind: string) => boolean },
): Promise<void> {
  const { reason, ...channel } = given;
  await notifyOthers(tx, { ...channel, about: { reason, isLimit: true } });
}

/** Notifies by the remaining channels of the project or, if there are none, by email. */
async function notifyOthers(
  tx: Tx,
  {
    channelId,
    about: said,
    at,
    isReachable,
  }: {
    channelId: number;
    about: Pick<DisabledMessage, "reason" | "isLimit">;
    at: Instant;
    isReachable: (kind: string) => boolean;
  },
): Promise<void> {
  const [channel] = await findChannelsByIds(tx, [channelId]);
  if (channel === undefined) return;
  const { projectId, projectName, uuid, kind, name } = channel;
  const others = await listChannels(tx, projectId);
  const left = others.filter(
    (other) => other.kind !== "group" && other.disabledAt === null && isReachable(other.kind),
  );
  const about: DisabledMessage = {
    kind: "disabled",
    at,
    projectName,
    channel: { uuid, kind, name },
    ...said,
  };
  const messages = disabledNoticeRecipients(left).map((other) => ({
    channelId: other.id,
    kind: "disabled" as const,
    about,
  }));
  if (messages.length > 0) await insertMessages(tx, { messages, at });
  else await queueOwnerEmail(tx, { kind: "disabled", channelId, about: said, at });
}

export type OwnerEmail = { channelId: number; at: Instant } & (
  | { kind: "unverified"; about: { address: string } }
  | { kind: "disabled"; about: Pick<DisabledMessage, "reason" | "isLimit"> }
);

/** Plans an email to the owner of a channel's project. */
async function queueOwnerEmail(tx: Tx, { kind, channelId, about, at }: OwnerEmail): Promise<void> {
  await insertEmail(tx, { uuid: randomUUID(), kind, accountId: null, channelId, about, createdAt: at });
}
