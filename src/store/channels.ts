// Channels: their configuration and health, assignments to checks, email confirmation, token buckets and
// idempotency keys.
import type { Instant } from "../core/instant.ts";
import { type Db, statement } from "./db.ts";
import type { Tx } from "./transaction.ts";
import { sqlInstant, toNumberArray, toTextArray, toTimestamp } from "./values.ts";

export type Channel = {
  id: number;
  uuid: string;
  projectId: number;
  kind: string;
  name: string;
  /** The configuration of the kind. Contains secrets: never logged or shown. */
  config: Readonly<Record<string, unknown>>;
  createdAt: Instant;
  disabledAt: Instant | null;
  disabledReason: string | null;
  lastNotifyAt: Instant | null;
  lastNotifyDurationMs: number | null;
  lastError: string | null;
  /** Failures since the last success. */
  failureCount: number;
  /** Email channels: the confirmed address. */
  verifiedAddress: string | null;
};

export type ChannelRow = {
  id: number;
  uuid: string;
  project_id: number;
  kind: string;
  name: string;
  config: Record<string, unknown>;
  created_at: Instant;
  disabled_at: Instant | null;
  disabled_reason: string | null;
  last_notify_at: Instant | null;
  last_notify_duration_ms: number | null;
  last_error: string | null;
  failure_count: number;
  verified_address: string | null;
};

/** The columns of a channel, for every statement that returns one. */
const CHANNEL_COLUMNS = `ch.id, ch.uuid, ch.project_id, ch.kind, ch.name, ch.config, ch.created_at, ch.disabled_at,
  ch.disabled_reason, ch.last_notify_at, ch.last_notify_duration_ms, ch.last_error, ch.failure_count,
  ch.verified_address`;

/** A row of these columns as a domain value. */
function toChannel(row: ChannelRow): Channel {
  return {
    id: row.id,
    uuid: row.uuid,
    projectId: row.project_id,
    kind: row.kind,
    name: row.name,
    config: row.config,
    createdAt: row.created_at,
    disabledAt: row.disabled_at,
    disabledReason: row.disabled_reason,
    lastNotifyAt: row.last_notify_at,
    lastNotifyDurationMs: row.last_notify_duration_ms,
    lastError: row.last_error,
    failureCount: row.failure_count,
    verifiedAddress: row.verified_address,
  };
}

const INSERT_CHANNEL = statement<ChannelRow>({
  name: "channels.insert",
  text: `insert into channels as ch (uuid, project_id, kind, name, config, created_at)
    values ($1, $2, $3, $4, $5, $6) returning ${CHANNEL_COLUMNS}`,
});

export type NewChannel = Pick<Channel, "uuid" | "projectId" | "kind" | "name" | "config" | "createdAt">;

/** Inserts a channel without checks. */
export async function insertChannel(tx: Tx, channel: NewChannel): Promise<Channel> {
  const { rows } = await tx.query(INSERT_CHANNEL, [
    channel.uuid,
    channel.projectId,
    channel.kind,
    channel.name,
    JSON.stringify(channel.config),
    toTimestamp(channel.createdAt),
  ]);
  const [row] = rows;
  if (row === undefined) throw new Error("the insert returned no row");
  return toChannel(row);
}

const LIST_CHANNELS = statement<ChannelRow>({
  name: "channels.list",
  text: `select ${CHANNEL_COLUMNS} from channels ch where ch.project_id = $1 order by ch.id`,
});

/** All channels of a project, oldest first. */
export async function listChannels(db: Db, projectId: number): Promise<Channel[]> {
  return (await db.query(LIST_CHANNELS, [projectId])).rows.map(toChannel);
}

const FIND_CHANNEL_BY_UUID = statement<ChannelRow>({
  name: "channels.find_by_uuid",
  text: `select ${CHANNEL_COLUMNS} from channels ch where ch.uuid = $1`,
});

/** The channel with this UUID, in any project. */
export async function findChannelByUuid(db: Db, uuid: string): Promise<Channel | null> {
  const { rows } = await db.query(FIND_CHANNEL_BY_UUID, [uuid]);
  return rows[0] === undefined ? null : toChannel(rows[0]);
}

const FIND_CHANNEL_BY_ID = statement<ChannelRow>({
  name: "channels.find_by_id",
  text: `select ${CHANNEL_COLUMNS} from channels ch where ch.id = $1`,
});

/** The channel of a delivery, as it is now. */
export async function findChannelById(db: Db, channelId: number): Promise<Channel | null> {
  const { rows } = await db.query(FIND_CHANNEL_BY_ID, [channelId]);
  return rows[0] === undefined ? null : toChannel(rows[0]);
}

export type ChannelInProject = Channel & { projectName: string; projectZone: string };

const FIND_CHANNELS_BY_IDS = statement<ChannelRow & { project_name: string; project_tz: string }>({
  name: "channels.find_by_ids",
  text: `select ${CHANNEL_COLUMNS}, p.name as project_name, p.tz as project_tz
    from channels ch join projects p on p.id = ch.project_id where ch.id = any ($1::bigint[])`,
});

/** The channels of several deliveries, as they are now, with the names and time zones of their projects. */
export async function findChannelsByIds(db: Db, channelIds: readonly number[]): Promise<ChannelInProject[]> {
  const { rows } = await db.query(FIND_CHANNELS_BY_IDS, [channelIds]);
  return rows.map((row) => ({
    ...toChannel(row),
    projectName: row.project_name,
    projectZone: row.project_tz,
  }));
}

const WRITE_CHANNEL = statement({
  name: "channels.update",
  text: `update channels set name = coalesce($2, name), config = coalesce($3, config),
      disabled_at = $4, disabled_reason = $5, failure_count = 0, hold_until_at = null, revision = revision + 1
    where id = $1`,
});

/**
 * Changes the given fields. Enables the channel and resets its failures, unless `disabled` is given. False:
 * it does not exist.
 */
export async function writeChannel(
  tx: Tx,
  change: {
    channelId: number;
    name?: string;
    config?: Channel["config"];
    disabled?: { at: Instant; reason: string } | null;
  },
): Promise<boolean> {
  const { channelId, name = null, disabled = null } = change;
  const config = change.config === undefined ? null : JSON.stringify(change.config);
  const values = [channelId, name, config, toTimestamp(disabled?.at ?? null), disabled?.reason ?? null];
  return (await tx.query(WRITE_CHANNEL, values)).count === 1;
}

const DISABLE_CHANNEL = statement({
  name: "channels.disable",
  text: `update channels set disabled_at = $2, disabled_reason = $3, revision = revision + 1
    where id = $1 and disabled_at is null`,
});

/** Disables a channel after a permanent error. False: it does not exist or was disabled before. */
export async function disableChannel(
  tx: Tx,
  { channelId, at, reason }: { channelId: number; at: Instant; reason: string },
): Promise<boolean> {
  return (await tx.query(DISABLE_CHANNEL, [channelId, toTimestamp(at), reason])).count === 1;
}

const LOCK_CHANNELS = statement<ChannelRow>({
  name: "channels.lock",
  text: `select ${CHANNEL_COLUMNS} from channels ch where ch.id = any ($1::bigint[]) order by ch.id for no key update`,
});

/** Locks the channels whose messages are settled in this transaction, in ID order. */
export async function lockChannels(tx: Tx, channelIds: readonly number[]): Promise<Channel[]> {
  return (await tx.query(LOCK_CHANNELS, [channelIds])).rows.map(toChannel);
}

const NOTE_SENDINGS = statement({
  name: "channels.note_sendings",
  text: `update channels ch set last_notify_at = $2, last_notify_duration_ms = n.duration_ms, last_error = n.error,
      failure_count = n.failure_count, hold_until_at = ${sqlInstant("n.hold_until_at")}
    from unnest($1::bigint[], $3::int[], $4::text[], $5::int[], $6::bigint[])
      as n (id, duration_ms, error, failure_count, hold_until_at)
    where ch.id = n.id`,
});

/** The result of the last message to a channel; `error` is null on success. */
export type Sending = {
  channelId: number;
  durationMs: number;
  error: string | null;
  failureCount: number;
  /** The receiver asked to wait until then. */
  holdUntilAt: Instant | null;
};

/** Updates the health of channels that this transaction has locked. */
export async function noteSendings(
  tx: Tx,
  { sendings, at }: { sendings: readonly Sending[]; at: Instant },
): Promise<void> {
  await tx.query(NOTE_SENDINGS, [
    toNumberArray(sendings.map(({ channelId }) => channelId)),
    toTimestamp(at),
    toNumberArray(sendings.map(({ durationMs }) => durationMs)),
    toTextArray(sendings.map(({ error }) => error)),
    toNumberArray(sendings.map(({ failureCount }) => failureCount)),
    toNumberArray(sendings.map(({ holdUntilAt }) => holdUntilAt)),
  ]);
}

const REPLACE_CONFIG = statement({
  name: "channels.replace_config",
  text: "update channels set config = $3, revision = revision + 1 where id = $1 and config = $2",
});

/** Changes a configuration as the receiver requested, unless it was edited since. */
export async function replaceConfig(
  tx: Tx,
  change: { channelId: number; before: Channel["config"]; after: Channel["config"] },
): Promise<boolean> {
  const { channelId, before, after } = change;
  const values = [channelId, JSON.stringify(before), JSON.stringify(after)];
  return (await tx.query(REPLACE_CONFIG, values)).count === 1;
}

const DELETE_CHANNEL = statement({ name: "channels.delete", text: "delete from channels where id = $1" });

/** Deletes a channel and its assignments. Its deliveries stay. False: it did not exist. */
export async function deleteChannel(tx: Tx, channelId: number): Promise<boolean> {
  return (await tx.query(DELETE_CHANNEL, [channelId])).count === 1;
}

export type ManagedChannel = Channel & {
  /** Increases with every change of its settings. */
  revision: number;
  /** Number of its checks, without deleted ones. */
  checkCount: number;
};

type ManagedRow = ChannelRow & { revision: number; check_count: number };

const MANAGED_COLUMNS = `${CHANNEL_COLUMNS}, ch.revision,
  (select count(*) from check_channels cc join checks c on c.id = cc.check_id
    where cc.channel_id = ch.id and c.project_id = ch.project_id and c.deleted_at is null) as check_count`;

function toManaged(row: ManagedRow): ManagedChannel {
  return { ...toChannel(row), revision: row.revision, checkCount: row.check_count };
}

const FIND_MANAGED_CHANNEL = statement<ManagedRow>({
  name: "managed_channels.find",
  text: `select ${MANAGED_COLUMNS} from channels ch where ch.uuid = $1 and ch.project_id = $2`,
});

export type ChannelName = { projectId: number; uuid: string };

/** The channel of a project with this UUID; null if there is none, or it belongs to another project. */
export async function findManagedChannel(
  db: Db,
  { projectId, uuid }: ChannelName,
): Promise<ManagedChannel | null> {
  const { rows } = await db.query(FIND_MANAGED_CHANNEL, [uuid, projectId]);
  return rows[0] === undefined ? null : toManaged(rows[0]);
}

const LIST_MANAGED_CHANNELS = statement<ManagedRow>({
  name: "managed_channels.list",
  text: `select ${MANAGED_COLUMNS} from channels ch where ch.project_id = $1 and ch.id > $2 order by ch.id limit $3`,
});

/** Channels of a project, oldest first, after the ID `afterId`. */
export async function listManagedChannels(
  db: Db,
  { projectId, afterId, limit }: { projectId: number; afterId: number; limit: number },
): Promise<ManagedChannel[]> {
  return (await db.query(LIST_MANAGED_CHANNELS, [projectId, afterId, limit])).rows.map(toManaged);
}

const LOCK_CHANNELS_OF_PROJECT = statement<{ uuid: string }>({
  name: "managed_channels.lock",
  text: "select uuid from projects where id = $1 for no key update",
});

/**
 * Serializes changes to the channels of a project until the transaction ends. Returns the UUID of the project, or null
 * if it does not exist.
 */
export async function lockChannelsOfProject(tx: Tx, projectId: number): Promise<string | null> {
  return (await tx.query(LOCK_CHANNELS_OF_PROJECT, [projectId])).rows[0]?.uuid ?? null;
}

const COUNT_CHANNELS = statement<{ count: number }>({
  name: "managed_channels.count",
  text: "select count(*) as count from channels where project_id = $1",
});

/** How many channels a project has. */
export async function countChannels(db: Db, projectId: number): Promise<number> {
  return (await db.query(COUNT_CHANNELS, [projectId])).rows[0]?.count ?? 0;
}

/** A check and one of its channels. */
export type Assignment = { checkId: number; channelId: number; channelUuid: string };

type AssignmentRow = { check_id: number; channel_id: number; uuid: string };

function toAssignment(row: AssignmentRow): Assignment {
  return { checkId: row.check_id, channelId: row.channel_id, channelUuid: row.uuid };
}

// Which channels a check has is shown in the list of checks, whose entity tag follows from the rows of the checks and
// channels (see ListVersion): each transaction that changes an assignment also writes the row of the check or channel.

const REMOVE_OTHERS = statement({
  name: "check_channels.remove_others",
  text: "delete from check_channels where check_id = $1 and channel_id <> all ($2::bigint[])",
});

const ADD_MISSING = statement({
  name: "check_channels.add_missing",
  text: `insert into check_channels (check_id, channel_id)
    select $1, id from unnest($2::bigint[]) as wanted (id)
    on conflict do nothing`,
});

/** Replaces the channels of a check. */
export async function assignChannels(
  tx: Tx,
  { checkId, channelIds }: { checkId: number; channelIds: readonly number[] },
): Promise<void> {
  await tx.query(REMOVE_OTHERS, [checkId, channelIds]);
  await tx.query(ADD_MISSING, [checkId, channelIds]);
}

const ASSIGN_TO_ALL_CHECKS = statement({
  name: "check_channels.assign_to_all",
  text: `insert into check_channels (check_id, channel_id)
    select id, $2 from checks where project_id = $1 and deleted_at is null
    on conflict do nothing`,
});

/** Assigns a channel to all checks of its project. */
export async function assignToAllChecks(
  tx: Tx,
  { projectId, channelId }: { projectId: number; channelId: number },
): Promise<void> {
  await tx.query(ASSIGN_TO_ALL_CHECKS, [projectId, channelId]);
}

const LIST_ASSIGNMENTS_OF_CHECKS = statement<AssignmentRow>({
  name: "check_channels.list_of_checks",
  text: `select cc.check_id, cc.channel_id, ch.uuid
    from check_channels cc join channels ch on ch.id = cc.channel_id
    where cc.check_id = any ($1::bigint[])
    order by cc.check_id, cc.channel_id`,
});

/** The channels of these checks, for the response about one check and for the deliveries of a batch of flips. */
export async function listAssignmentsOfChecks(db: Db, checkIds: readonly number[]): Promise<Assignment[]> {
  return (await db.query(LIST_ASSIGNMENTS_OF_CHECKS, [checkIds])).rows.map(toAssignment);
}

const FIND_CHANNEL_UUIDS = statement<{ id: number; uuid: string }>({
  name: "channels.find_uuids",
  text: "select id, uuid from channels where id = any ($1::bigint[])",
});

/** The UUIDs of these channels, without those that do not exist. */
export async function findChannelUuids(
  db: Db,
  channelIds: readonly number[],
): Promise<{ id: number; uuid: string }[]> {
  return (await db.query(FIND_CHANNEL_UUIDS, [toNumberArray(channelIds)])).rows;
}

const REMOVE_OTHER_CHECKS = statement({
  name: "check_channels.remove_other_checks",
  text: "delete from check_channels where channel_id = $1 and check_id <> all ($2::bigint[])",
});

const ADD_MISSING_CHECKS = statement({
  name: "check_channels.add_missing_checks",
  text: `insert into check_channels (check_id, channel_id)
    select id, $1 from unnest($2::bigint[]) as wanted (id) order by id
    on conflict do nothing`,
});

/** Replaces the checks of a channel. */
export async function assignChecks(
  tx: Tx,
  { channelId, checkIds }: { channelId: number; checkIds: readonly number[] },
): Promise<void> {
  await tx.query(REMOVE_OTHER_CHECKS, [channelId, checkIds]);
  await tx.query(ADD_MISSING_CHECKS, [channelId, checkIds]);
}

/** A check of a channel, as shown in lists. */
export type AssignedCheck = { id: number; uuid: string; name: string };

const FIND_ASSIGNABLE_CHECKS = statement<AssignedCheck>({
  name: "check_channels.find_checks",
  text: `select c.id, c.uuid, c.name from checks c
    where c.project_id = $1 and c.deleted_at is null and c.uuid = any ($2::uuid[])`,
});

/** Those of the named checks that belong to the project. */
export async function findAssignableChecks(
  db: Db,
  { projectId, uuids }: { projectId: number; uuids: readonly string[] },
): Promise<AssignedCheck[]> {
  return (await db.query(FIND_ASSIGNABLE_CHECKS, [projectId, uuids])).rows;
}

const LIST_ASSIGNED_CHECKS = statement<AssignedCheck>({
  name: "check_channels.list_checks",
  text: `select c.id, c.uuid, c.name
    from check_channels cc join checks c on c.id = cc.check_id join channels ch on ch.id = cc.channel_id
    where cc.channel_id = $1 and c.project_id = ch.project_id and c.deleted_at is null and c.id > $2 order by c.id limit $3`,
});

/** The checks of a channel, oldest first, after the id `afterId`. */
export async function listAssignedChecks(
  db: Db,
  { channelId, afterId, limit }: { channelId: number; afterId: number; limit: number },
): Promise<AssignedCheck[]> {
  return (await db.query(LIST_ASSIGNED_CHECKS, [channelId, afterId, limit])).rows;
}

const MARK_VERIFIED = statement({
  name: "channels.mark_verified",
  text: `update channels set verified_address = $2, revision = revision + 1
    where id = $1 and verified_address is distinct from $2`,
});

/**
 * Stores that an address was confirmed; null: it has to be confirmed again. False: unchanged, or the channel
 * does not exist.
 */
export async function markVerified(
  tx: Tx,
  { channelId, address }: { channelId: number; address: string | null },
): Promise<boolean> {
  return (await tx.query(MARK_VERIFIED, [channelId, address])).count === 1;
}

const FIND_RECIPIENT = statement<{ verified_address: string | null; tz: string | null }>({
  name: "channels.find_recipient",
  text: `select ch.verified_address, own.tz
    from channels ch
    left join accounts a on a.email = lower($2)
    left join preferences own on own.account_id = a.id
    where ch.uuid = $1`,
});

/** The confirmed address of a channel, and the time zone of the account with `address`, if any. */
export async function findRecipient(
  db: Db,
  { channelUuid, address }: { channelUuid: string; address: string },
): Promise<{ verifiedAddress: string | null; zone: string | null } | null> {
  const { rows } = await db.query(FIND_RECIPIENT, [channelUuid, address]);
  const [row] = rows;
  return row === undefined ? null : { verifiedAddress: row.verified_address, zone: row.tz };
}

const IS_ADDRESS_OF_MEMBER = statement({
  name: "channels.is_address_of_member",
  text: `select from members m join accounts a on a.id = m.account_id
    where m.project_id = $1 and a.email = lower($2)`,
});

/** Whether an address belongs to a member of the project. */
export async function isAddressOfMember(
  db: Db,
  { projectId, address }: { projectId: number; address: string },
): Promise<boolean> {
  return (await db.query(IS_ADDRESS_OF_MEMBER, [projectId, address])).count > 0;
}

const NOTE_CHANNEL_ERROR = statement({
  name: "channels.note_error",
  text: "update channels set last_error = $2 where id = $1",
});

/** An error after a message was sent; the channel stays enabled. */
export async function noteChannelError(
  tx: Tx,
  { channelId, error }: { channelId: number; error: string },
): Promise<void> {
  await tx.query(NOTE_CHANNEL_ERROR, [channelId, error]);
}

const IS_WAITING = "ch.kind = 'telegram' and ch.config ->> 'setup_code' <> ''";

const IS_ANY_CHAT_WAITING = statement<{ is_waiting: boolean }>({
  name: "chats.is_any_waiting",
  text: `select exists (select from channels ch where ${IS_WAITING} and ch.created_at > $1) as is_waiting`,
});

/** Whether a channel created after `since` still waits for its code. */
export async function isAnyChatWaiting(db: Db, since: Instant): Promise<boolean> {
  const { rows } = await db.query(IS_ANY_CHAT_WAITING, [toTimestamp(since)]);
  return rows[0]?.is_waiting === true;
}

// Resets the failures, as channels.update does.
const CONNECT_CHAT = statement<{ uuid: string; name: string; project_name: string }>({
  name: "chats.connect",
  text: `update channels ch set config = ch.config || $2::jsonb, disabled_at = null, disabled_reason = null,
      failure_count = 0, hold_until_at = null, revision = revision + 1
    from projects p
    where ${IS_WAITING} and ch.config ->> 'setup_code' = $1 and ch.created_at > $3 and p.id = ch.project_id
    returning ch.uuid, ch.name, p.name as project_name`,
});

export type ConnectedChannel = { uuid: string; name: string; projectName: string };

/**
 * Updates the channel of this code with the fields of `config`, which must end its code. Null: there is none.
 */
export async function connectChat(
  tx: Tx,
  { code, config, since }: { code: string; config: object; since: Instant },
): Promise<ConnectedChannel | null> {
  const { rows } = await tx.query(CONNECT_CHAT, [code, JSON.stringify(config), toTimestamp(since)]);
  const [row] = rows;
  return row === undefined ? null : { uuid: row.uuid, name: row.name, projectName: row.project_name };
}

const LOCK_BUCKETS = statement<{ id: number; bucket_full_at: Instant | null }>({
  name: "claims.lock_buckets",
  text: `select id, bucket_full_at from channels where id = any ($1::bigint[])
    order by id for no key update skip locked`,
});

/** Locks the token buckets of channels; returns those not locked by others. */
export async function lockBuckets(
  tx: Tx,
  channelIds: readonly number[],
): Promise<Map<number, Instant | null>> {
  const { rows } = await tx.query(LOCK_BUCKETS, [toNumberArray(channelIds)]);
  return new Map(rows.map((row) => [row.id, row.bucket_full_at]));
}

const WRITE_BUCKETS = statement({
  name: "claims.write_buckets",
  text: `update channels ch set bucket_full_at = ${sqlInstant("n.full_at")}
    from unnest($1::bigint[], $2::bigint[]) as n (channel_id, full_at) where ch.id = n.channel_id`,
});

/** Writes buckets that this transaction has locked. */
export async function writeBuckets(tx: Tx, fullAtById: ReadonlyMap<number, Instant>): Promise<void> {
  await tx.query(WRITE_BUCKETS, [
    toNumberArray([...fullAtById.keys()]),
    toNumberArray([...fullAtById.values()]),
  ]);
}

/** An idempotency key and its request; both as digests. */
export type NamedRequest = { projectId: number; keyDigest: Buffer; requestDigest: Buffer };

const CLAIM_IDEMPOTENCY_KEY = statement<{ channel_uuid: string }>({
  name: "idempotency_keys.claim",
  text: `insert into idempotency_keys (project_id, key_digest, request_digest, channel_uuid, created_at)
    values ($1, $2, $3, $4, $5)
    on conflict (project_id, key_digest) do update
      set request_digest = excluded.request_digest, channel_uuid = excluded.channel_uuid,
        created_at = excluded.created_at
      where idempotency_keys.created_at < $6
    returning channel_uuid`,
});

/**
 * Claims an idempotency key for a new channel or check. Its column is called channel_uuid for both. False: it was used after `keptFrom`. Concurrent requests with
 * the same key wait for this transaction.
 */
export async function claimIdempotencyKey(
  tx: Tx,
  claim: NamedRequest & { uuid: string; at: Instant; keptFrom: Instant },
): Promise<boolean> {
  const { projectId, keyDigest, requestDigest, uuid, at, keptFrom } = claim;
  const values = [projectId, keyDigest, requestDigest, uuid, toTimestamp(at), toTimestamp(keptFrom)];
  return (await tx.query(CLAIM_IDEMPOTENCY_KEY, values)).count === 1;
}

const FIND_IDEMPOTENCY_KEY = statement<{ request_digest: Buffer; channel_uuid: string }>({
  name: "idempotency_keys.find",
  text: `select request_digest, channel_uuid from idempotency_keys where project_id = $1 and key_digest = $2`,
});

/** The request with this idempotency key, and the UUID of what it created. */
export async function findIdempotencyKey(
  db: Db,
  { projectId, keyDigest }: Pick<NamedRequest, "projectId" | "keyDigest">,
): Promise<{ requestDigest: Buffer; uuid: string } | null> {
  const { rows } = await db.query(FIND_IDEMPOTENCY_KEY, [projectId, keyDigest]);
  const [row] = rows;
  return row === undefined ? null : { requestDigest: row.request_digest, uuid: row.channel_uuid };
}

const TRIM_IDEMPOTENCY_KEYS = statement({
  name: "idempotency_keys.trim",
  text: `delete from idempotency_keys where project_id = $1 and key_digest in (
      select key_digest from idempotency_keys where project_id = $1 order by created_at desc, key_digest offset $2
    )`,
});

/** Deletes all but the newest idempotency keys of a project. */
export async function trimIdempotencyKeys(
  tx: Tx,
  { projectId, keep }: { projectId: number; keep: number },
): Promise<number> {
  return (await tx.query(TRIM_IDEMPOTENCY_KEYS, [projectId, keep])).count;
}

const PRUNE_IDEMPOTENCY_KEYS = statement({
  name: "idempotency_keys.prune",
  text: `delete from idempotency_keys where (project_id, key_digest) in (
      select project_id, key_digest from idempotency_keys where created_at < $1 order by created_at limit $2
    )`,
});

/** Deletes at most `limit` idempotency keys from before an instant; returns how many. */
export async function pruneIdempotencyKeys(
  tx: Tx,
  { before, limit }: { before: Instant; limit: number },
): Promise<number> {
  return (await tx.query(PRUNE_IDEMPOTENCY_KEYS, [toTimestamp(before), limit])).count;
}
