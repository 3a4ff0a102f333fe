// Policies of checks, projects and tags, the rules derived from them, and which checks depend on which. What applies is
// decided in core.
import { splitTags } from "../core/identity.ts";
import { changedPolicy, type Policy, type TagRule } from "../core/policy.ts";
import type { Rules } from "../core/rules.ts";
import { type Db, statement } from "./db.ts";
import type { Tx } from "./transaction.ts";
import { toNumberArray, toTextArray } from "./values.ts";

export type ProjectPolicy = { policy: Policy; ackLinks: boolean };

/** With the ids of its channels. */
export type StoredTagRule = TagRule<number>;

/** What determines the policy of a check, without the rules of its tags. */
export type CheckPolicy = {
  checkId: number;
  projectId: number;
  tags: readonly string[];
  own: Policy;
  project: ProjectPolicy;
  /** Checks that it depends on, without deleted ones; by their ids. */
  parents: readonly { id: number; uuid: string }[];
};

const LOCK_POLICIES = statement({
  name: "policies.lock",
  text: "select pg_advisory_xact_lock(hashtextextended($1, 0))",
});

/**
 * Serializes changes of the policy, the tag rules and the dependencies of a project, until the transaction ends. A
 * transaction that also locks states of checks locks those first.
 */
export async function lockPolicies(tx: Tx, projectId: number): Promise<void> {
  await tx.query(LOCK_POLICIES, [lockName(projectId)]);
}

const HOLD_POLICIES = statement({
  name: "policies.hold",
  text: "select pg_advisory_xact_lock_shared(hashtextextended($1, 0))",
});

/**
 * Prevents changes of the policy and the tag rules of a project until the transaction ends: it derives the rules of a
 * check from them.
 */
export async function holdPolicies(tx: Tx, projectId: number): Promise<void> {
  await tx.query(HOLD_POLICIES, [lockName(projectId)]);
}

function lockName(projectId: number): string {
  return `policies:${projectId}`;
}

const FIND_PROJECT_POLICY = statement<{ policy: Policy | null; has_ack_links: boolean }>({
  name: "policies.find_of_project",
  text: "select policy, has_ack_links from projects where id = $1",
});

/** The policy of a project. Null: the project does not exist. */
export async function findProjectPolicy(db: Db, projectId: number): Promise<ProjectPolicy | null> {
  const [row] = (await db.query(FIND_PROJECT_POLICY, [projectId])).rows;
  return row === undefined ? null : { policy: toPolicy(row.policy), ackLinks: row.has_ack_links };
}

const WRITE_PROJECT_POLICY = statement({
  name: "policies.write_of_project",
  text: "update projects set policy = $2, has_ack_links = $3 where id = $1",
});

/** Writes the policy of a project that this transaction has locked. */
export async function writeProjectPolicy(
  tx: Tx,
  { projectId, policy, ackLinks }: ProjectPolicy & { projectId: number },
): Promise<void> {
  await tx.query(WRITE_PROJECT_POLICY, [projectId, toJson(policy), ackLinks]);
}

/** The database has its own order of fields. */
function toPolicy(policy: Policy | null): Policy {
  return changedPolicy(policy ?? {}, {});
}

/** An empty policy is stored as null, as it was before anything was set. */
function toJson(policy: Policy): string | null {
  return Object.keys(policy).length === 0 ? null : JSON.stringify(policy);
}

const LIST_TAG_RULES = statement<{
  project_id: number;
  tag: string;
  policy: Policy;
  channel_ids: number[];
}>({
  name: "policies.list_tag_rules",
  text: `select project_id, tag, policy, channel_ids from tag_rules
    where project_id = any ($1::bigint[]) order by project_id, position`,
});

/** The tag rules of these projects in their order. Projects without rules are left out. */
export async function listTagRules(
  db: Db,
  projectIds: readonly number[],
): Promise<ReadonlyMap<number, readonly StoredTagRule[]>> {
  const { rows } = await db.query(LIST_TAG_RULES, [toNumberArray(projectIds)]);
  const rules = new Map<number, StoredTagRule[]>();
  for (const { project_id: projectId, tag, policy, channel_ids: channels } of rows) {
    const known = rules.get(projectId) ?? [];
    rules.set(projectId, [...known, { tag, policy: toPolicy(policy), channels }]);
  }
  return rules;
}

const DELETE_TAG_RULES = statement({
  name: "policies.delete_tag_rules",
  text: "delete from tag_rules where project_id = $1",
});

/** Deletes all tag rules of a project. */
export async function deleteTagRules(tx: Tx, projectId: number): Promise<void> {
  await tx.query(DELETE_TAG_RULES, [projectId]);
}

const INSERT_TAG_RULES = statement({
  name: "policies.insert_tag_rules",
  text: `insert into tag_rules (project_id, position, tag, policy, channel_ids)
    select $1, n.position, n.tag, n.policy,
      array(select value::bigint from jsonb_array_elements_text(n.channel_ids) as value)
    from unnest($2::text[], $3::jsonb[], $4::jsonb[]) with ordinality
      as n (tag, policy, channel_ids, position)`,
});

/** Inserts the tag rules of a project that has none, in their order. */
export async function insertTagRules(
  tx: Tx,
  { projectId, rules }: { projectId: number; rules: readonly StoredTagRule[] },
): Promise<void> {
  await tx.query(INSERT_TAG_RULES, [
    projectId,
    toTextArray(rules.map(({ tag }) => tag)),
    toTextArray(rules.map(({ policy }) => JSON.stringify(policy))),
    toTextArray(rules.map(({ channels }) => JSON.stringify(channels))),
  ]);
}

const REMOVE_CHANNEL = statement({
  name: "policies.remove_channel",
  text: `update tag_rules set channel_ids = array_remove(channel_ids, $2)
    where project_id = $1 and $2 = any (channel_ids)`,
});

/** Removes a channel from the tag rules of its project. */
export async function removeFromTagRules(
  tx: Tx,
  { projectId, channelId }: { projectId: number; channelId: number },
): Promise<void> {
  await tx.query(REMOVE_CHANNEL, [projectId, channelId]);
}

const LIST_CHECK_POLICIES = statement<{
  id: number;
  project_id: number;
  tags: string;
  policy: Policy | null;
  project_policy: Policy | null;
  has_ack_links: boolean;
}>({
  name: "policies.list_of_checks",
  text: `select c.id, c.project_id, c.tags, c.policy, p.policy as project_policy, p.has_ack_links
    from checks c join projects p on p.id = c.project_id
    where c.id = any ($1::bigint[]) order by c.id`,
});

// Separate, and with a subquery: joined, the planner reads all checks of the project for each of them.
const LIST_PARENTS = statement<{ check_id: number; id: number; uuid: string }>({
  name: "policies.list_parents",
  text: `select l.check_id, parent.id, parent.uuid
    from check_parents l join checks parent on parent.id = l.parent_id
    where l.check_id = any ($1::bigint[]) and parent.deleted_at is null
      and parent.project_id = (select c.project_id from checks c where c.id = l.check_id)
    order by parent.id`,
});

/** What determines the policies of these checks, also of deleted ones, by their ids. */
export async function listCheckPolicies(db: Db, checkIds: readonly number[]): Promise<CheckPolicy[]> {
  const ids = toNumberArray(checkIds);
  const [{ rows }, parents] = await Promise.all([
    db.query(LIST_CHECK_POLICIES, [ids]),
    db.query(LIST_PARENTS, [ids]),
  ]);
  const parentsOf = Map.groupBy(parents.rows, (row) => row.check_id);
  return rows.map((row) => ({
    checkId: row.id,
    projectId: row.project_id,
    tags: splitTags(row.tags),
    own: toPolicy(row.policy),
    project: { policy: toPolicy(row.project_policy), ackLinks: row.has_ack_links },
    parents: (parentsOf.get(row.id) ?? []).map(({ id, uuid }) => ({ id, uuid })),
  }));
}

/** The same with tag rules; checks of one project share the list. */
export async function listPolicies(
  db: Db,
  checkIds: readonly number[],
): Promise<(CheckPolicy & { tagRules: readonly StoredTagRule[] })[]> {
  const checks = await listCheckPolicies(db, checkIds);
  const rules = await listTagRules(db, [...new Set(checks.map(({ projectId }) => projectId))]);
  const none: StoredTagRule[] = [];
  return checks.map((check) => ({ ...check, tagRules: rules.get(check.projectId) ?? none }));
}

const LIST_RULES = statement<{
  id: number;
  tags: string;
  grace_seconds: number;
  policy: Policy | null;
  rules: Rules | null;
}>({
  name: "policies.list_rules",
  text: `select id, tags, grace_seconds, policy, rules from checks
    where project_id = $1 and id > $2 and deleted_at is null order by id limit $3`,
});

/** A check with its rules and what they are derived from, without the policy and the tag rules of its project. */
export type JudgedCheck = {
  checkId: number;
  tags: readonly string[];
  graceSeconds: number;
  own: Policy;
  rules: Rules | null;
};

/** Checks of a project after an id. */
export async function listRules(
  db: Db,
  { projectId, afterId, limit }: { projectId: number; afterId: number; limit: number },
): Promise<JudgedCheck[]> {
  const { rows } = await db.query(LIST_RULES, [projectId, afterId, limit]);
  return rows.map((row) => ({
    checkId: row.id,
    tags: splitTags(row.tags),
    graceSeconds: row.grace_seconds,
    own: toPolicy(row.policy),
    rules: row.rules,
  }));
}

const WRITE_CHECK_POLICY = statement({
  name: "policies.write_of_check",
  text: "update checks set policy = $2 where id = $1",
});

/** Writes the policy of a check whose state is locked. */
export async function writeCheckPolicy(
  tx: Tx,
  { checkId, policy }: { checkId: number; policy: Policy },
): Promise<void> {
  await tx.query(WRITE_CHECK_POLICY, [checkId, toJson(policy)]);
}

const WRITE_RULES = statement({
  name: "policies.write_rules",
  text: `update checks c set rules = n.rules
    from unnest($1::bigint[], $2::jsonb[]) as n (id, rules) where c.id = n.id`,
});

/** Writes the rules of checks whose states are locked. */
export async function writeRules(
  tx: Tx,
  changes: readonly { checkId: number; rules: Rules | null }[],
): Promise<void> {
  await tx.query(WRITE_RULES, [
    toNumberArray(changes.map(({ checkId }) => checkId)),
    toTextArray(changes.map(({ rules }) => (rules === null ? null : JSON.stringify(rules)))),
  ]);
}

const FIND_PARENTS = statement<{ id: number; uuid: string }>({
  name: "policies.find_parents",
  text: `select id, uuid from checks
    where project_id = $1 and uuid = any ($2::uuid[]) and deleted_at is null order by id`,
});

/** The checks of a project with these UUIDs, by their ids. Missing ones are left out. */
export async function findParents(
  db: Db,
  { projectId, uuids }: { projectId: number; uuids: readonly string[] },
): Promise<{ id: number; uuid: string }[]> {
  return (await db.query(FIND_PARENTS, [projectId, toTextArray(uuids)])).rows;
}

const LIST_ANCESTORS = statement<{ id: number }>({
  name: "policies.list_ancestors",
  text: `with recursive ancestors (id) as (
      select unnest($1::bigint[])
      union
      select l.parent_id from ancestors a join check_parents l on l.check_id = a.id
    )
    select id from ancestors`,
});

/** These checks and all that they depend on, directly or not. */
export async function listAncestors(db: Db, checkIds: readonly number[]): Promise<number[]> {
  const { rows } = await db.query(LIST_ANCESTORS, [toNumberArray(checkIds)]);
  return rows.map(({ id }) => id);
}

const DELETE_PARENTS = statement({
  name: "policies.delete_parents",
  text: "delete from check_parents where check_id = $1",
});

/** Removes the parents of a check. */
export async function deleteParents(tx: Tx, checkId: number): Promise<void> {
  await tx.query(DELETE_PARENTS, [checkId]);
}

const INSERT_PARENTS = statement({
  name: "policies.insert_parents",
  text: "insert into check_parents (check_id, parent_id) select $1, unnest($2::bigint[])",
});

/** Adds parents of a check that has none. */
export async function insertParents(
  tx: Tx,
  { checkId, parentIds }: { checkId: number; parentIds: readonly number[] },
): Promise<void> {
  await tx.query(INSERT_PARENTS, [checkId, toNumberArray(parentIds)]);
}

const DELETE_LINKS = statement({
  name: "policies.delete_links",
  text: "delete from check_parents where check_id = $1 or parent_id = $1",
});

/** Removes a check from all dependencies, as child and as parent. */
export async function deleteLinksOfCheck(tx: Tx, checkId: number): Promise<void> {
  await tx.query(DELETE_LINKS, [checkId]);
}
