// Which channels hear of which check.
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

const LIST_OF_PROJECT = statement<AssignmentRow>({
  name: "check_channels.list_of_project",
  text: `select cc.check_id, cc.channel_id, ch.uuid
    from channels ch join check_channels cc on cc.channel_id = ch.id
    where ch.project_id = $1`,
});

/** Every assignment in a project, in one question, for lists of checks. In no particular order. */
export async function listAssignmentsOfProject(db: Db, projectId: number): Promise<Assignment[]> {
  return (await db.query(LIST_OF_PROJECT, [projectId])).rows.map(toAssignment);
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
