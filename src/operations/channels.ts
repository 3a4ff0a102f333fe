// What making, changing and deleting channels have in common: who does it, which channel is meant, what has to hold
// of groups and checks, and asking the address of a mail channel.
import { createHash, randomUUID } from "node:crypto";
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
import { AppError } from "../core/errors.ts";
import { DAY_MS, type Instant } from "../core/instant.ts";
import { CHANNEL_CONFIG_LENGTH_MAX, CHANNELS_PER_PROJECT_MAX, IDEMPOTENCY_KEYS_MAX } from "../core/limits.ts";
import type { DisabledMessage } from "../core/message.ts";
import { keptFrom } from "../core/retention.ts";
import { countedAddress } from "../core/sign-in.ts";
import {
  assignChecks,
  type AssignedCheck,
  assignToAllChecks,
  type Channel,
  type ChannelName,
  claimIdempotencyKey,
  connectChat,
  type ConnectedChannel,
  countChannels,
  deleteChannel as removeChannel,
  disableChannel,
  findAssignableChecks,
  findChannelById,
  findChannelByUuid,
  findChannelsByIds,
  findIdempotencyKey,
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
  trimIdempotencyKeys,
  writeChannel,
} from "../store/channels.ts";
import type { Database, Db } from "../store/db.ts";
import { insertMessages } from "../store/deliveries.ts";
import { findNewestEmail, insertEmail } from "../store/emails.ts";
import { findProjectOwner } from "../store/projects.ts";
import { inTransaction, type Tx } from "../store/transaction.ts";
import { countAttemptsIn } from "./attempts.ts";
import { type Actor, audit } from "./audit.ts";
import { inRetriedTransaction } from "./retry.ts";

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

/** The configuration as it may be stored. Throws AppError `invalid` with a sentence for whoever wrote it. */
function judgedConfig(rules: ConfigRules, given: { kind: string; config: unknown }): ChannelConfig {
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
async function permitMembers(db: Db, channel: Pick<Channel, "projectId" | "kind" | "config">): Promise<void> {
  const members = membersOf(channel);
  if (members.length === 0) return;
  const problem = groupProblem(members, await listChannels(db, channel.projectId));
  if (problem !== null) throw new AppError("invalid", problem);
}

/** Lets a channel hear of the chosen checks. Throws AppError `invalid` for one that the project does not have. */
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

/** Sees to it that the address of a mail channel is asked, if it has to be. Other kinds have nobody to ask. */
async function askAddress(
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

// Makes a channel, once for each name that a client gives to its request.

/** The name that a client gives to its request, and a text that is the same for the same request only. */
export type Once = { key: string; request: string };

export type CreateChannelRequest = Changing &
  KindsAndMail & {
    projectId: number;
    kind: string;
    name: string;
    /** As it was sent. */
    config: unknown;
    isEnabled: boolean;
    checks: ChosenChecks;
    /** Null: every request makes a channel. */
    once: Once | null;
  };

/** `repeated`: the request had been served before, and nothing was done. */
export type CreatedChannel = {
  kind: "created" | "repeated";
  channel: ManagedChannel;
  /** The secrets that were made for it, by their fields: to be shown now, since nobody can read them later. */
  made: Readonly<Record<string, string>>;
};

/**
 * Makes a channel. AppError `invalid` for what cannot be, `forbidden` beyond the limit of a project, `unprocessable`
 * where a name was given to two different requests, `conflict` where what it made is gone, `rate_limited` when too
 * many addresses were asked, `not_found` without the project.
 */
export function createChannel(database: Database, request: CreateChannelRequest): Promise<CreatedChannel> {
  const { rules, kind } = request;
  const { config, made } = rules.complete(kind, judgedConfig(rules, request));
  const uuid = randomUUID();
  return inRetriedTransaction(database, async (tx) => {
    const { projectId } = request;
    if (!(await lockChannelsOfProject(tx, projectId))) throw new AppError("not_found", "Project not found.");
    const repeated = await repetitionOf(tx, { ...request, uuid });
    if (repeated !== null) return { kind: "repeated", channel: repeated, made: {} };
    await insert(tx, { ...request, uuid, config });
    const channel = await getChannel(tx, { projectId, uuid });
    await auditChannel(tx, { before: null, after: channel, by: request.by, at: request.at });
    return { kind: "created", channel, made };
  });
}

/** What the same request has made before; null when it is served for the first time. */
async function repetitionOf(
  tx: Tx,
  { projectId, once, uuid, at }: Pick<CreateChannelRequest, "projectId" | "once" | "at"> & { uuid: string },
): Promise<ManagedChannel | null> {
  if (once === null) return null;
  const named = { projectId, keyDigest: sha256(once.key), requestDigest: sha256(once.request) };
  const claim = { ...named, channelUuid: uuid, at, keptFrom: keptFrom("idempotencyKey", at) };
  if (await claimIdempotencyKey(tx, claim)) {
    await trimIdempotencyKeys(tx, { projectId, keep: IDEMPOTENCY_KEYS_MAX });
    return null;
  }
  const earlier = await findIdempotencyKey(tx, named);
  if (earlier?.requestDigest.equals(named.requestDigest) !== true) {
    throw new AppError("unprocessable", "The Idempotency-Key was already used for a different request.");
  }
  return getChannel(tx, { projectId, uuid: earlier.channelUuid }).catch((error: unknown) => {
    if (!(error instanceof AppError)) throw error;
    throw new AppError("conflict", "The channel created by this request has been deleted.");
  });
}

function sha256(text: string): Buffer {
  return createHash("sha256").update(text).digest();
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

// Changes and deletes channels: each verb is one transaction, and leaves groups and their members in accord.

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

/** A part of a list. `next` stands for the rest; null: there is none. */
export type Page<Item> = { items: readonly Item[]; next: number | null };

/** Where a part begins, `next` of the one before it, and how long it may be. */
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

/** The checks that a channel hears of, oldest first. Throws AppError `not_found`. */
export async function listChecksOfChannel(
  db: Db,
  { from, limit, ...name }: ChannelName & PageRequest,
): Promise<Page<AssignedCheck>> {
  const { id: channelId } = await getChannel(db, name);
  return pageOf(await listAssignedChecks(db, { channelId, afterId: from ?? 0, limit: limit + 1 }), limit);
}

// Addresses that alerts are mailed to: asking them first, their answers, and telling the owner when there is none.
// A link is judged by whoever holds the instance's secret; see core/alerts/mail-tokens.ts.

/** The address of a mail channel; null of any other. */
export function mailAddressOf({ kind, config }: Pick<Channel, "kind" | "config">): string | null {
  const value: unknown = config["value"];
  return kind === "email" && typeof value === "string" ? value : null;
}

/** Whether the address that a mail channel has now has agreed to be written to. */
export function isVerified(channel: Pick<Channel, "kind" | "config" | "verifiedAddress">): boolean {
  return channel.verifiedAddress !== null && channel.verifiedAddress === mailAddressOf(channel);
}

export type VerificationRequest = {
  channelId: number;
  address: string;
  at: Instant;
  /** False: this installation asks nobody. */
  isRequired: boolean;
  /** Ask even who was asked a moment ago, or has agreed: whoever said no must say yes again. */
  repeat: boolean;
};

/**
 * Sees to it that the address of a new or changed mail channel is verified: at once where nobody has to be asked, or
 * by a letter. AppError `rate_limited` when the owner of the project has asked too many.
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
  // Of the account and not by its letters: those are deleted with their channels, which must not make room for more.
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

/** What a link in a mail stands for. */
export type LinkedChannel = { channel: Channel; address: string; projectName: string };

export type ChannelLink = {
  channelUuid: string;
  token: string;
  purpose: "verify" | "unsubscribe";
  signing: Signing;
};

/** The channel that a link names; null when there is none, or the link is not of our making. */
export async function findLinkedChannel(db: Db, link: ChannelLink): Promise<LinkedChannel | null> {
  const found = await findChannelByUuid(db, link.channelUuid);
  const address = found === null ? null : mailAddressOf(found);
  // Asked even where there is nothing to ask about, so that the time it takes tells nothing.
  const of: ChannelAddress = { channelUuid: link.channelUuid, address: address ?? "" };
  const isGood = isTokenFor(link.token, { signing: link.signing, purpose: link.purpose, of });
  if (found === null || address === null || !isGood) return null;
  const [channel] = await findChannelsByIds(db, [found.id]);
  return channel === undefined ? null : { channel, address, projectName: channel.projectName };
}

/** Whoever reads an address agrees to be written to. Null: the link is not good. */
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
 * Whoever reads an address wants no more of it: the channel is disabled, its owner told, and the address has to be
 * asked anew before it is ever used again. Null: the link is not good.
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

/** Tells the owner of a channel, by mail, that alerts are lost because nobody agreed to them; once in a while. */
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

// Connects a chat to the channel that waits for it. Whoever can write the channel's code into a chat may have it told
// there; the code is good for one chat, and for a day.

const CODE_MS_MAX = DAY_MS;

export type Chat = { id: string; type: string; name: string; threadId: number };

/** Whether anybody waits for a chat: otherwise nobody needs to be asked for codes. */
export function isAnyChatWaitingNow(database: Database, now: Instant): Promise<boolean> {
  return isAnyChatWaiting(database, now - CODE_MS_MAX);
}

/** The channel that the code has connected to the chat; null when the code is not, or no longer, good. */
export function connectWaiting(
  database: Database,
  { code, chat, now }: { code: string; chat: Chat; now: Instant },
): Promise<ConnectedChannel | null> {
  const { id: chat_id, type: chat_type, name: chat_name, threadId: thread_id } = chat;
  const config = { chat_id, chat_type, chat_name, thread_id, setup_code: "" };
  return inTransaction(database, (tx) => connectChat(tx, { code, config, since: now - CODE_MS_MAX }));
}

// Disables a channel whose receiver refuses for good, and lets its owner know by the channels that are left, or by
// mail.

/** False: the channel is gone, or had been disabled before; then nobody is told. */
export async function disableFailingChannel(
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
  const messages = disabledNoticeRecipients(left).map((other) => ({
    channelId: other.id,
    kind: "disabled" as const,
    about,
  }));
  if (messages.length > 0) await insertMessages(tx, { messages, at });
  else await queueOwnerEmail(tx, { kind: "disabled", channelId, about: { reason }, at });
  return true;
}

// Letters to the owner of a project about one of its channels, for news that no channel is left to carry.

export type OwnerEmail = { channelId: number; at: Instant } & (
  | { kind: "unverified"; about: { address: string } }
  | { kind: "disabled"; about: { reason: string } }
);

/** Owes the owner of a channel's project a letter. */
async function queueOwnerEmail(tx: Tx, { kind, channelId, about, at }: OwnerEmail): Promise<void> {
  await insertEmail(tx, { uuid: randomUUID(), kind, accountId: null, channelId, about, createdAt: at });
}
