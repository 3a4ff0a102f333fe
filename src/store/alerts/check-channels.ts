// Which channels hear of which check, seen from either side.
import { type Db, statement } from "../db.ts";
import type { Tx } from "../transaction.ts";

/** One check and one channel that hears of it. */
export type Assignment = { checkId: number; channelId: number; channelUuid: string };

type AssignmentRow = { check_id: number; channel_id: number; uuid: string };

function toAssignment(row: AssignmentRow): Assignment {
  return { checkId: row.check_id, channelId: row.channel_id, channelUuid: row.uuid };
}

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

/** Makes these, and no others, the channels of a check. */
export async function assignChannels(
  tx: Tx,
  { checkId, channelIds }: { checkId: number; channelIds: readonly number[] },
): Promise<void> {
  await tx.query(REMOVE_OTHERS, [checkId, channelIds]);
  await tx.query(ADD_MISSING, [checkId, channelIds]);
}

const ASSIGN_TO_ALL = statement({
  name: "check_channels.assign_to_all",
  text: `insert into check_channels (check_id, channel_id)
    select id, $2 from checks where project_id = $1 and deleted_at is null
    on conflict do nothing`,
});

/** Lets a channel hear of every check that its project has now. */
export async function assignToAllChecks(
  tx: Tx,
  { projectId, channelId }: { projectId: number; channelId: number },
): Promise<void> {
  await tx.query(ASSIGN_TO_ALL, [projectId, channelId]);
}

const LIST_OF_CHECKS = statement<AssignmentRow>({
  name: "check_channels.list_of_checks",
  text: `select cc.check_id, cc.channel_id, ch.uuid
    from check_channels cc join channels ch on ch.id = cc.channel_id
    where cc.check_id = any ($1::bigint[])
    order by cc.check_id, cc.channel_id`,
});

/** The channels of these checks: for one check's answer, and for the deliveries of a batch of flips. */
export async function listAssignmentsOfChecks(db: Db, checkIds: readonly number[]): Promise<Assignment[]> {
  return (await db.query(LIST_OF_CHECKS, [checkIds])).rows.map(toAssignment);
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

/** Lets a channel hear of these checks, and of no others. */
export async function assignChecks(
  tx: Tx,
  { channelId, checkIds }: { channelId: number; checkIds: readonly number[] },
): Promise<void> {
  await tx.query(REMOVE_OTHER_CHECKS, [channelId, checkIds]);
  await tx.query(ADD_MISSING_CHECKS, [channelId, checkIds]);
}

/** A check that a channel hears of, as lists show it. */
export type HeardCheck = { id: number; uuid: string; name: string };

const FIND_CHECKS = statement<HeardCheck>({
  name: "check_channels.find_checks",
  text: `select c.id, c.uuid, c.name from checks c
    where c.project_id = $1 and c.deleted_at is null and c.uuid = any ($2::uuid[])`,
});

/** Those of the named checks that a project has. */
export async function findChecksToHear(
  db: Db,
  { projectId, uuids }: { projectId: number; uuids: readonly string[] },
): Promise<HeardCheck[]> {
  return (await db.query(FIND_CHECKS, [projectId, uuids])).rows;
}

const LIST_CHECKS = statement<HeardCheck>({
  name: "check_channels.list_checks",
  text: `select c.id, c.uuid, c.name from check_channels cc join checks c on c.id = cc.check_id
    where cc.channel_id = $1 and c.deleted_at is null and c.id > $2 order by c.id limit $3`,
});

/** The checks that a channel hears of, oldest first, after the one with the id `afterId`. */
export async function listHeardChecks(
  db: Db,
  { channelId, afterId, limit }: { channelId: number; afterId: number; limit: number },
): Promise<HeardCheck[]> {
  return (await db.query(LIST_CHECKS, [channelId, afterId, limit])).rows;
}
