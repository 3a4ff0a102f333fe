// Deliveries as their owners read them: with the names of channel and check, page by page, in one project; and the
// few things that they may do to them.
import type { Instant } from "../../core/instant.ts";
import { type Db, statement } from "../db.ts";
import type { Tx } from "../transaction.ts";
import { toNumberArray, toTimestamp } from "../values.ts";
import { type Delivery, DELIVERY_COLUMNS, type DeliveryRow, toDelivery } from "./deliveries.ts";

export type LoggedDelivery = Delivery & {
  channel: { uuid: string; kind: string; name: string };
  /** Null where it was told directly, or the group is gone. */
  groupUuid: string | null;
  /** Null where it is about no check, or the check is gone, if only to another project. */
  check: { uuid: string; name: string } | null;
  /** What the check changed to; null where it is about no change, or that is deleted. */
  flipTo: "up" | "down" | null;
};

type LoggedRow = DeliveryRow & {
  channel_uuid: string;
  channel_kind: string;
  channel_name: string;
  group_uuid: string | null;
  check_uuid: string | null;
  check_name: string | null;
  flip_to: "up" | "down" | null;
};

const COLUMNS = `${DELIVERY_COLUMNS}, ch.uuid as channel_uuid, ch.kind as channel_kind, ch.name as channel_name,
  g.uuid as group_uuid, c.uuid as check_uuid, c.name as check_name, f.to_status as flip_to`;

const NAMES = `join channels ch on ch.id = d.channel_id
  left join channels g on g.id = d.group_id
  left join checks c on c.id = d.check_id and c.project_id = ch.project_id and c.deleted_at is null
  left join flips f on f.id = d.flip_id`;

function toLogged(row: LoggedRow): LoggedDelivery {
  return {
    ...toDelivery(row),
    channel: { uuid: row.channel_uuid, kind: row.channel_kind, name: row.channel_name },
    groupUuid: row.group_uuid,
    check: row.check_uuid === null ? null : { uuid: row.check_uuid, name: row.check_name ?? "" },
    flipTo: row.flip_to,
  };
}

// Of each channel the newest few by the index, however long its log is.
const LIST = statement<LoggedRow>({
  name: "delivery_log.list",
  text: `select ${COLUMNS}
    from (
      select newest.* from unnest($1::bigint[]) as wanted (channel_id)
        cross join lateral (
          select one.* from deliveries one
          where one.channel_id = wanted.channel_id and ($2::bigint is null or one.id < $2)
          order by one.id desc limit $3
        ) as newest
      order by newest.id desc limit $3
    ) as d ${NAMES}
    order by d.id desc`,
});

/** The deliveries of these channels, newest first, from before `beforeId` if that is given. */
export async function listLoggedDeliveries(
  db: Db,
  page: { channelIds: readonly number[]; beforeId: number | null; limit: number },
): Promise<LoggedDelivery[]> {
  const { rows } = await db.query(LIST, [toNumberArray(page.channelIds), page.beforeId, page.limit]);
  return rows.map(toLogged);
}

const FIND = statement<LoggedRow>({
  name: "delivery_log.find",
  text: `select ${COLUMNS} from deliveries d ${NAMES}
    where d.id = any ($1::bigint[]) and ch.project_id = $2 order by d.id`,
});

/** Those of these deliveries that belong to a project, oldest first. With their channel they are gone. */
export async function findLoggedDeliveries(
  db: Db,
  { projectId, deliveryIds }: { projectId: number; deliveryIds: readonly number[] },
): Promise<LoggedDelivery[]> {
  return (await db.query(FIND, [toNumberArray(deliveryIds), projectId])).rows.map(toLogged);
}

// A message is tried again as a whole, so that what it has told together is not told twice apart.
const REOPEN = statement<{ id: number }>({
  name: "delivery_log.reopen",
  text: `with wanted as (
      select id from deliveries
      where channel_id = $2 and state in ('pending', 'dead') and claimed_by is null
        and (id = $1 or message_id = (select message_id from deliveries where id = $1 and state = 'dead'))
      order by id for update
    )
    update deliveries d set state = 'pending', next_try_at = to_timestamp(0), settled_at = null, reason = null,
      message_id = case when d.state = 'dead' then null else d.message_id end
    from wanted where d.id = wanted.id
    returning d.id`,
});

/** Makes an unsent delivery due at once, also one that was given up. False: it is being sent, or is settled. */
export async function reopenDelivery(
  tx: Tx,
  { deliveryId, channelId }: { deliveryId: number; channelId: number },
): Promise<boolean> {
  const { rows } = await tx.query(REOPEN, [deliveryId, channelId]);
  return rows.some(({ id }) => id === deliveryId);
}

/** Among so many of its newest deliveries the recent tests of a channel are looked for. */
const LOOKED_AT_MAX = 200;

const COUNT_TESTS = statement<{ count: number }>({
  name: "delivery_log.count_tests",
  text: `select count(*) as count
    from unnest($1::bigint[]) as wanted (channel_id)
      cross join lateral (
        select one.kind, one.created_at from deliveries one
        where one.channel_id = wanted.channel_id order by one.id desc limit ${LOOKED_AT_MAX}
      ) as newest
    where newest.kind = 'test' and newest.created_at > $2
    group by wanted.channel_id order by count desc limit 1`,
});

/** How many tests the most tested of these channels was given after an instant. */
export async function countRecentTests(
  db: Db,
  { channelIds, after }: { channelIds: readonly number[]; after: Instant },
): Promise<number> {
  const { rows } = await db.query(COUNT_TESTS, [toNumberArray(channelIds), toTimestamp(after)]);
  return rows[0]?.count ?? 0;
}
