// Channels, and which checks they hear of. What a kind needs in its config, and whom to tell of what, is
// decided elsewhere.
import type { Instant } from "../../core/instant.ts";
import { type Db, statement } from "../db.ts";
import type { Tx } from "../transaction.ts";
import { sqlInstant, toNumberArray, toTextArray, toTimestamp } from "../values.ts";

export type Channel = {
  id: number;
  uuid: string;
  projectId: number;
  kind: string;
  name: string;
  /** What the kind needs to send. Holds secrets: never logged, never shown. */
  config: Readonly<Record<string, unknown>>;
  createdAt: Instant;
  disabledAt: Instant | null;
  disabledReason: string | null;
  lastNotifyAt: Instant | null;
  lastNotifyDurationMs: number | null;
  lastError: string | null;
  /** Messages that failed since the last good one. */
  failureCount: number;
  /** Of a mail channel: the address that has agreed to be written to. */
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
export const CHANNEL_COLUMNS = `ch.id, ch.uuid, ch.project_id, ch.kind, ch.name, ch.config, ch.created_at, ch.disabled_at,
  ch.disabled_reason, ch.last_notify_at, ch.last_notify_duration_ms, ch.last_error, ch.failure_count,
  ch.verified_address`;

/** A row of these columns as a domain value. */
export function toChannel(row: ChannelRow): Channel {
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

const INSERT = statement<ChannelRow>({
  name: "channels.insert",
  text: `insert into channels as ch (uuid, project_id, kind, name, config, created_at)
    values ($1, $2, $3, $4, $5, $6) returning ${CHANNEL_COLUMNS}`,
});

export type NewChannel = Pick<Channel, "uuid" | "projectId" | "kind" | "name" | "config" | "createdAt">;

/** Adds a channel to a project. It hears of nothing yet. */
export async function insertChannel(tx: Tx, channel: NewChannel): Promise<Channel> {
  const { rows } = await tx.query(INSERT, [
    channel.uuid,
    channel.projectId,
    channel.kind,
    channel.name,
    JSON.stringify(channel.config),
    toTimestamp(channel.createdAt),
  ]);
  const [row] = rows;
  if (row === undefined) throw new Error("an insert that must return its row returned none");
  return toChannel(row);
}

const LIST = statement<ChannelRow>({
  name: "channels.list",
  text: `select ${CHANNEL_COLUMNS} from channels ch where ch.project_id = $1 order by ch.id`,
});

/** All channels of a project, oldest first. */
export async function listChannels(db: Db, projectId: number): Promise<Channel[]> {
  return (await db.query(LIST, [projectId])).rows.map(toChannel);
}

const FIND_BY_UUID = statement<ChannelRow>({
  name: "channels.find_by_uuid",
  text: `select ${CHANNEL_COLUMNS} from channels ch where ch.uuid = $1`,
});

/** The channel with this UUID, in whatever project. */
export async function findChannelByUuid(db: Db, uuid: string): Promise<Channel | null> {
  const { rows } = await db.query(FIND_BY_UUID, [uuid]);
  return rows[0] === undefined ? null : toChannel(rows[0]);
}

const FIND_BY_ID = statement<ChannelRow>({
  name: "channels.find_by_id",
  text: `select ${CHANNEL_COLUMNS} from channels ch where ch.id = $1`,
});

/** The channel of a delivery, as it is now. */
export async function findChannelById(db: Db, channelId: number): Promise<Channel | null> {
  const { rows } = await db.query(FIND_BY_ID, [channelId]);
  return rows[0] === undefined ? null : toChannel(rows[0]);
}

export type ChannelInProject = Channel & { projectName: string; projectZone: string };

const FIND_BY_IDS = statement<ChannelRow & { project_name: string; project_tz: string }>({
  name: "channels.find_by_ids",
  text: `select ${CHANNEL_COLUMNS}, p.name as project_name, p.tz as project_tz
    from channels ch join projects p on p.id = ch.project_id where ch.id = any ($1::bigint[])`,
});

/** The channels of several deliveries, as they are now, with the names and time zones of their projects. */
export async function findChannelsByIds(db: Db, channelIds: readonly number[]): Promise<ChannelInProject[]> {
  const { rows } = await db.query(FIND_BY_IDS, [channelIds]);
  return rows.map((row) => ({
    ...toChannel(row),
    projectName: row.project_name,
    projectZone: row.project_tz,
  }));
}

const UPDATE = statement({
  name: "channels.update",
  text: `update channels set name = coalesce($2, name), config = coalesce($3, config),
      disabled_at = $4, disabled_reason = $5, failure_count = 0, hold_until_at = null, revision = revision + 1
    where id = $1`,
});

/** Changes what is given. A changed channel gets a new chance, unless it is to be `disabled`. False: it is gone. */
export async function updateChannel(
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
  return (await tx.query(UPDATE, values)).count === 1;
}

const DISABLE = statement({
  name: "channels.disable",
  text: `update channels set disabled_at = $2, disabled_reason = $3, revision = revision + 1
    where id = $1 and disabled_at is null`,
});

/** Stops using a channel after a permanent error. False: it is gone, or was disabled before. */
export async function disableChannel(
  tx: Tx,
  { channelId, at, reason }: { channelId: number; at: Instant; reason: string },
): Promise<boolean> {
  return (await tx.query(DISABLE, [channelId, toTimestamp(at), reason])).count === 1;
}

const LOCK = statement<ChannelRow>({
  name: "channels.lock",
  text: `select ${CHANNEL_COLUMNS} from channels ch where ch.id = any ($1::bigint[]) order by ch.id for no key update`,
});

/** Locks channels, in the order of their ids, whose messages are settled in this transaction. */
export async function lockChannels(tx: Tx, channelIds: readonly number[]): Promise<Channel[]> {
  return (await tx.query(LOCK, [channelIds])).rows.map(toChannel);
}

const NOTE_SENDINGS = statement({
  name: "channels.note_sendings",
  text: `update channels ch set last_notify_at = $2, last_notify_duration_ms = n.duration_ms, last_error = n.error,
      failure_count = n.failure_count, hold_until_at = ${sqlInstant("n.hold_until_at")}
    from unnest($1::bigint[], $3::int[], $4::text[], $5::int[], $6::bigint[])
      as n (id, duration_ms, error, failure_count, hold_until_at)
    where ch.id = n.id`,
});

/** How the last message to a channel went; `error` is null when it went well. */
export type Sending = {
  channelId: number;
  durationMs: number;
  error: string | null;
  failureCount: number;
  /** The receiver wants to be left alone until then. */
  holdUntilAt: Instant | null;
};

/** Writes down how the last sendings went, of channels that this transaction has locked. */
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

/** Changes a configuration at the receiver's wish, unless its owner has changed it meanwhile. */
export async function replaceConfig(
  tx: Tx,
  change: { channelId: number; before: Channel["config"]; after: Channel["config"] },
): Promise<boolean> {
  const { channelId, before, after } = change;
  const values = [channelId, JSON.stringify(before), JSON.stringify(after)];
  return (await tx.query(REPLACE_CONFIG, values)).count === 1;
}

const DELETE = statement({ name: "channels.delete", text: "delete from channels where id = $1" });

/** Removes a channel and its assignments. Its deliveries stay, as a record. False: it was gone already. */
export async function deleteChannel(tx: Tx, channelId: number): Promise<boolean> {
  return (await tx.query(DELETE, [channelId])).count === 1;
}
