// Channels as their owners manage them: page by page, with the number of a change and how many checks use them. All
// changes of the channels of one project take turns here.
import { type Db, statement } from "../db.ts";
import type { Tx } from "../transaction.ts";
import { type Channel, CHANNEL_COLUMNS, type ChannelRow, toChannel } from "./channels.ts";

export type ManagedChannel = Channel & {
  /** Grows with every change of what its owner can see and set. */
  revision: number;
  /** How many checks it hears of; deleted ones are none. */
  checkCount: number;
};

type ManagedRow = ChannelRow & { revision: number; check_count: number };

const COLUMNS = `${CHANNEL_COLUMNS}, ch.revision,
  (select count(*) from check_channels cc join checks c on c.id = cc.check_id
    where cc.channel_id = ch.id and c.deleted_at is null) as check_count`;

function toManaged(row: ManagedRow): ManagedChannel {
  return { ...toChannel(row), revision: row.revision, checkCount: row.check_count };
}

const FIND = statement<ManagedRow>({
  name: "managed_channels.find",
  text: `select ${COLUMNS} from channels ch where ch.uuid = $1 and ch.project_id = $2`,
});

export type ChannelName = { projectId: number; uuid: string };

/** The channel of a project with this UUID; null when there is none, or it is another project's. */
export async function findManagedChannel(
  db: Db,
  { projectId, uuid }: ChannelName,
): Promise<ManagedChannel | null> {
  const { rows } = await db.query(FIND, [uuid, projectId]);
  return rows[0] === undefined ? null : toManaged(rows[0]);
}

const LIST = statement<ManagedRow>({
  name: "managed_channels.list",
  text: `select ${COLUMNS} from channels ch where ch.project_id = $1 and ch.id > $2 order by ch.id limit $3`,
});

/** Channels of a project, oldest first, after the one with the id `afterId`. */
export async function listManagedChannels(
  db: Db,
  { projectId, afterId, limit }: { projectId: number; afterId: number; limit: number },
): Promise<ManagedChannel[]> {
  return (await db.query(LIST, [projectId, afterId, limit])).rows.map(toManaged);
}

const LOCK = statement<{ id: number }>({
  name: "managed_channels.lock",
  text: "select id from projects where id = $1 for no key update",
});

/** From here to the end of the transaction nobody else changes the channels of a project. False: it is gone. */
export async function lockChannelsOfProject(tx: Tx, projectId: number): Promise<boolean> {
  return (await tx.query(LOCK, [projectId])).count === 1;
}

const COUNT = statement<{ count: number }>({
  name: "managed_channels.count",
  text: "select count(*) as count from channels where project_id = $1",
});

/** How many channels a project has. */
export async function countChannels(db: Db, projectId: number): Promise<number> {
  return (await db.query(COUNT, [projectId])).rows[0]?.count ?? 0;
}
