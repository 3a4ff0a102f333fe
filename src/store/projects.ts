// Projects, their members, ownership transfers and visits. Limits and rights are decided in core.
import type { Role } from "../core/access.ts";
import type { Instant } from "../core/instant.ts";
import { type Account, ACCOUNT_COLUMNS, type AccountRow, onlyId, toAccount } from "./accounts.ts";
import { type Db, statement } from "./db.ts";
import type { Tx } from "./transaction.ts";
import { toTimestamp } from "./values.ts";

export type Project = {
  id: number;
  uuid: string;
  name: string;
  /** Null if the project accepts no pings by key and slug. */
  pingKey: string | null;
  badgeKey: string;
  /** Time zone of chat messages. */
  tz: string;
  createdAt: Instant;
};

export type ProjectRow = {
  id: number;
  uuid: string;
  name: string;
  ping_key: string | null;
  badge_key: string;
  tz: string;
  created_at: Instant;
};

/** The columns of a project, for every statement that returns one. */
export const PROJECT_COLUMNS = "p.id, p.uuid, p.name, p.ping_key, p.badge_key, p.tz, p.created_at";

/** A row of these columns as a domain value. */
export function toProject(row: ProjectRow): Project {
  return {
    id: row.id,
    uuid: row.uuid,
    name: row.name,
    pingKey: row.ping_key,
    badgeKey: row.badge_key,
    tz: row.tz,
    createdAt: row.created_at,
  };
}

const INSERT_PROJECT = statement<{ id: number }>({
  name: "projects.insert",
  text: `with project as (
      insert into projects (uuid, name, ping_key, badge_key, created_at)
      values ($2, $3, $4, $5, $6) returning id
    )
    insert into members (project_id, account_id, role, created_at)
    select id, $1, 'owner', $6 from project returning project_id as id`,
});

/** Inserts a project with its owner; returns its id. */
export async function insertProject(
  tx: Tx,
  project: Omit<Project, "id" | "tz"> & { ownerId: number },
): Promise<number> {
  const { rows } = await tx.query(INSERT_PROJECT, [
    project.ownerId,
    project.uuid,
    project.name,
    project.pingKey,
    project.badgeKey,
    toTimestamp(project.createdAt),
  ]);
  return onlyId(rows);
}

const FIND_PROJECT_BY_UUID = statement<ProjectRow>({
  name: "projects.find_by_uuid",
  text: `select ${PROJECT_COLUMNS} from projects p where p.uuid = $1`,
});

/** The project with this UUID. */
export async function findProjectByUuid(db: Db, uuid: string): Promise<Project | null> {
  const { rows } = await db.query(FIND_PROJECT_BY_UUID, [uuid]);
  return rows[0] === undefined ? null : toProject(rows[0]);
}

const FIND_PROJECT_BY_ID = statement<ProjectRow>({
  name: "projects.find_by_id",
  text: `select ${PROJECT_COLUMNS} from projects p where p.id = $1`,
});

/** The project with this ID. */
export async function findProjectById(db: Db, projectId: number): Promise<Project | null> {
  const { rows } = await db.query(FIND_PROJECT_BY_ID, [projectId]);
  return rows[0] === undefined ? null : toProject(rows[0]);
}

const FIND_PROJECT_BY_PING_KEY = statement<ProjectRow>({
  name: "projects.find_by_ping_key",
  text: `select ${PROJECT_COLUMNS} from projects p where p.ping_key = $1`,
});

/** The project that a ping by key and slug belongs to; a check may be created in it. */
export async function findProjectByPingKey(db: Db, pingKey: string): Promise<Project | null> {
  const { rows } = await db.query(FIND_PROJECT_BY_PING_KEY, [pingKey]);
  return rows[0] === undefined ? null : toProject(rows[0]);
}

const LIST_PROJECTS_OF_ACCOUNT = statement<ProjectRow & { role: Role }>({
  name: "projects.list_of_account",
  text: `select ${PROJECT_COLUMNS}, m.role
    from members m join projects p on p.id = m.project_id
    where m.account_id = $1 order by p.id`,
});

/** The projects of an account, with its role in each. */
export async function listProjectsOfAccount(
  db: Db,
  accountId: number,
): Promise<(Project & { role: Role })[]> {
  const { rows } = await db.query(LIST_PROJECTS_OF_ACCOUNT, [accountId]);
  return rows.map((row) => ({ ...toProject(row), role: row.role }));
}

const FIND_PROJECT_OWNER = statement<AccountRow>({
  name: "projects.find_owner",
  text: `select ${ACCOUNT_COLUMNS}
    from members m join accounts a on a.id = m.account_id
    where m.project_id = $1 and m.role = 'owner'`,
});

/** The owner of a project, whose limits apply to it. */
export async function findProjectOwner(db: Db, projectId: number): Promise<Account | null> {
  const { rows } = await db.query(FIND_PROJECT_OWNER, [projectId]);
  return rows[0] === undefined ? null : toAccount(rows[0]);
}

const RENAME_PROJECT = statement({
  name: "projects.rename",
  text: "update projects set name = $2 where id = $1",
});

/** Renames a project. */
export async function renameProject(
  tx: Tx,
  { projectId, name }: { projectId: number; name: string },
): Promise<void> {
  await tx.query(RENAME_PROJECT, [projectId, name]);
}

const WRITE_PROJECT_ZONE = statement({
  name: "projects.write_zone",
  text: "update projects set tz = $2 where id = $1",
});

/** Sets the time zone of messages to the chats of a project. */
export async function writeProjectZone(
  tx: Tx,
  { projectId, zone }: { projectId: number; zone: string },
): Promise<void> {
  await tx.query(WRITE_PROJECT_ZONE, [projectId, zone]);
}

const WRITE_PING_KEY = statement({
  name: "projects.write_ping_key",
  text: "update projects set ping_key = $2 where id = $1",
});

/** Replaces the ping key of a project, or (null) removes it. */
export async function writePingKey(
  tx: Tx,
  { projectId, pingKey }: { projectId: number; pingKey: string | null },
): Promise<void> {
  await tx.query(WRITE_PING_KEY, [projectId, pingKey]);
}

const HIDE_PROJECT = statement({
  name: "projects.empty",
  text: "update projects set ping_key = null, badge_key = $2 where id = $1",
});

/** Deletes the keys of a project. */
export async function hideProject(
  tx: Tx,
  { projectId, badgeKey }: { projectId: number; badgeKey: string },
): Promise<void> {
  await tx.query(HIDE_PROJECT, [projectId, badgeKey]);
}

const PRUNE_REMOVED_PROJECTS = statement({
  name: "projects.prune",
  text: `delete from projects where id in (
      select p.id from projects p
      where not exists (select from members m where m.project_id = p.id)
        and not exists (select from checks c where c.project_id = p.id)
      order by p.id limit $1
    )`,
});

/** Deletes removed projects that have no checks left; returns how many. */
export async function pruneRemovedProjects(tx: Tx, { limit }: { limit: number }): Promise<number> {
  return (await tx.query(PRUNE_REMOVED_PROJECTS, [limit])).count;
}

const COUNT_OWNED_PROJECTS = statement<{ count: number }>({
  name: "projects.count_owned",
  text: "select count(*) as count from members where account_id = $1 and role = 'owner'",
});

/** How many projects an account owns. */
export async function countOwnedProjects(db: Db, accountId: number): Promise<number> {
  return (await db.query(COUNT_OWNED_PROJECTS, [accountId])).rows[0]?.count ?? 0;
}

type EntryRow = ProjectRow & { role: Role };

const FIND_ENTRY_BY_UUID = statement<EntryRow>({
  name: "projects.find_entered",
  text: `select ${PROJECT_COLUMNS}, m.role
    from projects p join members m on m.project_id = p.id
    where p.uuid = $2 and m.account_id = $1`,
});

const FIND_ENTRY_BY_ID = statement<EntryRow>({
  name: "projects.find_entered_by_id",
  text: `select ${PROJECT_COLUMNS}, m.role
    from projects p join members m on m.project_id = p.id
    where p.id = $2 and m.account_id = $1`,
});

export type ProjectEntry = { project: Project; role: Role };

/** The project and the account's role in it; null if it is not a member or the project does not exist. */
export async function findProjectEntry(
  db: Db,
  of: { accountId: number } & ({ projectUuid: string } | { projectId: number }),
): Promise<ProjectEntry | null> {
  const { rows } = await ("projectUuid" in of
    ? db.query(FIND_ENTRY_BY_UUID, [of.accountId, of.projectUuid])
    : db.query(FIND_ENTRY_BY_ID, [of.accountId, of.projectId]));
  const [row] = rows;
  return row === undefined ? null : { project: toProject(row), role: row.role };
}

export type Member = {
  accountId: number;
  uuid: string;
  email: string;
  name: string;
  role: Role;
  since: Instant;
};

type MemberRow = {
  account_id: number;
  uuid: string;
  email: string;
  name: string;
  role: Role;
  created_at: Instant;
};

const MEMBER_COLUMNS = "m.account_id, a.uuid, a.email, a.name, m.role, m.created_at";

function toMember(row: MemberRow): Member {
  return {
    accountId: row.account_id,
    uuid: row.uuid,
    email: row.email,
    name: row.name,
    role: row.role,
    since: row.created_at,
  };
}

const LIST_MEMBERS = statement<MemberRow>({
  name: "members.list",
  text: `select ${MEMBER_COLUMNS} from members m join accounts a on a.id = m.account_id
    where m.project_id = $1 order by m.created_at, m.account_id`,
});

/** The members of a project, including its owner, in the order in which they joined. */
export async function listMembers(db: Db, projectId: number): Promise<Member[]> {
  return (await db.query(LIST_MEMBERS, [projectId])).rows.map(toMember);
}

const LOCK_PROJECT = statement<{ id: number }>({
  name: "projects.lock",
  text: "select id from projects where id = $1 for update",
});

/** Locks a project, and with it its members. False: it does not exist any more. */
export async function lockProject(tx: Tx, projectId: number): Promise<boolean> {
  return (await tx.query(LOCK_PROJECT, [projectId])).count === 1;
}

const HOLD_PROJECT = statement({
  name: "projects.hold",
  text: "select from projects where id = $1 for key share",
});

/** Waits for a concurrent removal of the project, and prevents one until the transaction ends. */
export async function holdProject(tx: Tx, projectId: number): Promise<void> {
  await tx.query(HOLD_PROJECT, [projectId]);
}

const INSERT_MEMBER = statement({
  name: "members.insert",
  text: `insert into members (project_id, account_id, role, created_at) values ($1, $2, $3, $4)
    on conflict do nothing`,
});

/** Adds a member. False: it already was one, and its role is unchanged. */
export async function insertMember(
  tx: Tx,
  { projectId, accountId, role, at }: { projectId: number; accountId: number; role: Role; at: Instant },
): Promise<boolean> {
  return (await tx.query(INSERT_MEMBER, [projectId, accountId, role, toTimestamp(at)])).count === 1;
}

const WRITE_ROLE = statement({
  name: "members.write_role",
  text: "update members set role = $3 where project_id = $1 and account_id = $2",
});

/** Changes the role of a member. A second owner is a unique_violation. */
export async function writeRole(
  tx: Tx,
  { projectId, accountId, role }: { projectId: number; accountId: number; role: Role },
): Promise<void> {
  await tx.query(WRITE_ROLE, [projectId, accountId, role]);
}

const DELETE_MEMBER = statement({
  name: "members.delete",
  text: "delete from members where project_id = $1 and account_id = $2",
});

/** Removes a member. False: it was not one. */
export async function deleteMember(
  tx: Tx,
  { projectId, accountId }: { projectId: number; accountId: number },
): Promise<boolean> {
  return (await tx.query(DELETE_MEMBER, [projectId, accountId])).count === 1;
}

const DELETE_MEMBERS_OF_PROJECT = statement({
  name: "members.delete_all",
  text: "delete from members where project_id = $1",
});

/** Removes all members including the owner: the project is deleted. */
export async function deleteMembersOfProject(tx: Tx, projectId: number): Promise<void> {
  await tx.query(DELETE_MEMBERS_OF_PROJECT, [projectId]);
}

export type Transfer = { projectId: number; toAccountId: number; createdAt: Instant };

const FIND_TRANSFER = statement<{ to_account_id: number; created_at: Instant }>({
  name: "transfers.find",
  text: "select to_account_id, created_at from transfers where project_id = $1",
});

/** The account that was asked to take over a project. */
export async function findTransfer(db: Db, projectId: number): Promise<Transfer | null> {
  const [row] = (await db.query(FIND_TRANSFER, [projectId])).rows;
  return row === undefined ? null : { projectId, toAccountId: row.to_account_id, createdAt: row.created_at };
}

const WRITE_TRANSFER = statement({
  name: "transfers.write",
  text: `insert into transfers (project_id, to_account_id, created_at) values ($1, $2, $3)
    on conflict (project_id) do update
      set to_account_id = excluded.to_account_id, created_at = excluded.created_at`,
});

/** Stores a transfer request; replaces an earlier one. */
export async function writeTransfer(tx: Tx, { projectId, toAccountId, createdAt }: Transfer): Promise<void> {
  await tx.query(WRITE_TRANSFER, [projectId, toAccountId, toTimestamp(createdAt)]);
}

const DELETE_TRANSFER = statement({
  name: "transfers.delete",
  text: "delete from transfers where project_id = $1",
});

/** Deletes the transfer request. False: there was none. */
export async function deleteTransfer(tx: Tx, projectId: number): Promise<boolean> {
  return (await tx.query(DELETE_TRANSFER, [projectId])).count === 1;
}

const LIST_TRANSFERS_TO = statement<{ uuid: string; name: string; email: string; created_at: Instant }>({
  name: "transfers.list_to",
  text: `select p.uuid, p.name, a.email, t.created_at
    from transfers t join projects p on p.id = t.project_id
      join members m on m.project_id = p.id and m.role = 'owner' join accounts a on a.id = m.account_id
    where t.to_account_id = $1 order by t.created_at`,
});

/** The projects that an account was asked to take over, and by whom. */
export async function listTransfersTo(
  db: Db,
  accountId: number,
): Promise<{ uuid: string; name: string; from: string; since: Instant }[]> {
  const { rows } = await db.query(LIST_TRANSFERS_TO, [accountId]);
  return rows.map(({ uuid, name, email, created_at: since }) => ({ uuid, name, from: email, since }));
}

export type Visitor = { projectId: number; accountId: number };

const FIND_VISIT = statement<{ seen_at: Instant | null }>({
  name: "visits.find",
  text: "select seen_at from members where project_id = $1 and account_id = $2",
});

/** When an account last visited a project; null: never. */
export async function findVisit(db: Db, { projectId, accountId }: Visitor): Promise<Instant | null> {
  return (await db.query(FIND_VISIT, [projectId, accountId])).rows[0]?.seen_at ?? null;
}

const WRITE_VISIT = statement({
  name: "visits.write",
  text: `update members set seen_at = $3
    where project_id = $1 and account_id = $2 and (seen_at is null or seen_at < $3)`,
});

/** Records a visit. */
export async function writeVisit(tx: Tx, visit: Visitor & { at: Instant }): Promise<void> {
  await tx.query(WRITE_VISIT, [visit.projectId, visit.accountId, toTimestamp(visit.at)]);
}

const COUNT_CHECKS_MADE_SINCE = statement<{ count: number }>({
  name: "visits.count_made",
  text: `select count(*)::int as count from checks
    where project_id = $1 and deleted_at is null and created_at > $2`,
});

/** Number of checks created in a project since an instant. */
export async function countChecksMadeSince(
  db: Db,
  { projectId, since }: { projectId: number; since: Instant },
): Promise<number> {
  return (await db.query(COUNT_CHECKS_MADE_SINCE, [projectId, toTimestamp(since)])).rows[0]?.count ?? 0;
}
