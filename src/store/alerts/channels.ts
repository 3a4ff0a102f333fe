// Channels, and which checks they hear of. What a kind needs in its config, and whom to tell of what, is
// decided elsewhere.
import type { Instant } from "../../core/instant.ts";
import { type Db, statement } from "../db.ts";
import type { Tx } from "../transaction.ts";
import { toTimestamp } from "../values.ts";

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
};

type ChannelRow = {
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
};

const COLUMNS = `ch.id, ch.uuid, ch.project_id, ch.kind, ch.name, ch.config, ch.created_at, ch.disabled_at,
  ch.disabled_reason, ch.last_notify_at, ch.last_notify_duration_ms, ch.last_error`;

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
  };
}

const INSERT = statement<ChannelRow>({
  name: "channels.insert",
  text: `insert into channels as ch (uuid, project_id, kind, name, config, created_at)
    values ($1, $2, $3, $4, $5, $6) returning ${COLUMNS}`,
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
  text: `select ${COLUMNS} from channels ch where ch.project_id = $1 order by ch.id`,
});

/** All channels of a project, oldest first. */
export async function listChannels(db: Db, projectId: number): Promise<Channel[]> {
  return (await db.query(LIST, [projectId])).rows.map(toChannel);
}

const FIND_BY_UUID = statement<ChannelRow>({
  name: "channels.find_by_uuid",
  text: `select ${COLUMNS} from channels ch where ch.uuid = $1`,
});

/** The channel with this UUID, in whatever project. */
export async function findChannelByUuid(db: Db, uuid: string): Promise<Channel | null> {
  const { rows } = await db.query(FIND_BY_UUID, [uuid]);
  return rows[0] === undefined ? null : toChannel(rows[0]);
}

const FIND_BY_ID = statement<ChannelRow>({
  name: "channels.find_by_id",
  text: `select ${COLUMNS} from channels ch where ch.id = $1`,
});

/** The channel of a delivery, as it is now. */
export async function findChannelById(db: Db, channelId: number): Promise<Channel | null> {
  const { rows } = await db.query(FIND_BY_ID, [channelId]);
  return rows[0] === undefined ? null : toChannel(rows[0]);
}

const UPDATE = statement({
  name: "channels.update",
  text: `update channels set name = coalesce($2, name), config = coalesce($3, config),
      disabled_at = null, disabled_reason = null
    where id = $1`,
});

/** Changes what is given. A changed channel gets a new chance if it was disabled. False: it is gone. */
export async function updateChannel(
  tx: Tx,
  change: { channelId: number; name?: string; config?: Channel["config"] },
): Promise<boolean> {
  const config = change.config === undefined ? null : JSON.stringify(change.config);
  return (await tx.query(UPDATE, [change.channelId, change.name ?? null, config])).count === 1;
}

const DISABLE = statement({
  name: "channels.disable",
  text: "update channels set disabled_at = $2, disabled_reason = $3 where id = $1 and disabled_at is null",
});

/** Stops using a channel after a permanent error. False: it is gone, or was disabled before. */
export async function disableChannel(
  tx: Tx,
  { channelId, at, reason }: { channelId: number; at: Instant; reason: string },
): Promise<boolean> {
  return (await tx.query(DISABLE, [channelId, toTimestamp(at), reason])).count === 1;
}

const NOTE_SENDING = statement({
  name: "channels.note_sending",
  text: `update channels set last_notify_at = $2, last_notify_duration_ms = $3, last_error = $4
    where id = $1`,
});

/** Writes down how the last sending went; `error` is null when it went well. */
export async function noteSending(
  tx: Tx,
  sending: { channelId: number; at: Instant; durationMs: number; error: string | null },
): Promise<void> {
  await tx.query(NOTE_SENDING, [
    sending.channelId,
    toTimestamp(sending.at),
    sending.durationMs,
    sending.error,
  ]);
}

const DELETE = statement({ name: "channels.delete", text: "delete from channels where id = $1" });

/** Removes a channel and its assignments. Its deliveries stay, as a record. False: it was gone already. */
export async function deleteChannel(tx: Tx, channelId: number): Promise<boolean> {
  return (await tx.query(DELETE, [channelId])).count === 1;
}
