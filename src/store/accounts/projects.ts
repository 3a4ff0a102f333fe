// Accounts, projects, and who is a member of which. Limits and rights are judged in core.
import type { Role } from "../../core/access.ts";
import type { Instant } from "../../core/instant.ts";
import { type Db, statement } from "../db.ts";
import type { Tx } from "../transaction.ts";
import { toTimestamp } from "../values.ts";

export type Account = {
  id: number;
  uuid: string;
  email: string;
  name: string;
  /** May administer the installation. */
  isOperator: boolean;
  /** Null: the instance's own limit applies. */
  checkLimit: number | null;
  pingLogLimit: number | null;
  createdAt: Instant;
};

export type AccountRow = {
  id: number;
  uuid: string;
  email: string;
  name: string;
  is_operator: boolean;
  check_limit: number | null;
  ping_log_limit: number | null;
  created_at: Instant;
};

/** Of the table under the name `a`. */
export const ACCOUNT_COLUMNS =
  "a.id, a.uuid, a.email, a.name, a.is_operator, a.check_limit, a.ping_log_limit, a.created_at";

/** The account of a row with those columns. */
export function toAccount(row: AccountRow): Account {
  return {
    id: row.id,
    uuid: row.uuid,
    email: row.email,
    name: row.name,
    isOperator: row.is_operator,
    checkLimit: row.check_limit,
    pingLogLimit: row.ping_log_limit,
    createdAt: row.created_at,
  };
}

const INSERT_ACCOUNT = statement<{ id: number }>({
  name: "accounts.insert",
  text: `insert into accounts (uuid, email, name, is_operator, check_limit, ping_log_limit, created_at)
    values ($1, $2, $3, $4, $5, $6, $7) returning id`,
});

/** Adds an account and returns its id. An address that is taken already is a unique_violation. */
export async function insertAccount(tx: Tx, account: Omit<Account, "id">): Promise<number> {
  const { rows } = await tx.query(INSERT_ACCOUNT, [
    account.uuid,
    account.email,
    account.name,
    account.isOperator,
    account.checkLimit,
    account.pingLogLimit,
    toTimestamp(account.createdAt),
  ]);
  return onlyId(rows);
}

const FIND_ACCOUNT_BY_EMAIL = statement<AccountRow>({
  name: "accounts.find_by_email",
  text: `select ${ACCOUNT_COLUMNS} from accounts a where a.email = $1`,
});

/** The account with this address, given in lower case. */
export async function findAccountByEmail(db: Db, email: string): Promise<Account | null> {
  const { rows } = await db.query(FIND_ACCOUNT_BY_EMAIL, [email]);
  return rows[0] === undefined ? null : toAccount(rows[0]);
}

const FIND_ACCOUNT_BY_ID = statement<AccountRow>({
  name: "accounts.find_by_id",
  text: `select ${ACCOUNT_COLUMNS} from accounts a where a.id = $1`,
});

/** The account of a row that refers to one. */
export async function findAccountById(db: Db, accountId: number): Promise<Account | null> {
  const { rows } = await db.query(FIND_ACCOUNT_BY_ID, [accountId]);
  return rows[0] === undefined ? null : toAccount(rows[0]);
}

const FIND_ACCOUNT_BY_UUID = statement<AccountRow>({
  name: "accounts.find_by_uuid",
  text: `select ${ACCOUNT_COLUMNS} from accounts a where a.uuid = $1`,
});

/** The account that a link names. */
export async function findAccountByUuid(db: Db, uuid: string): Promise<Account | null> {
  const { rows } = await db.query(FIND_ACCOUNT_BY_UUID, [uuid]);
  return rows[0] === undefined ? null : toAccount(rows[0]);
}

const LIST_ACCOUNTS = statement<AccountRow & { check_count: number }>({
  name: "accounts.list",
  text: `select ${ACCOUNT_COLUMNS},
      (select count(*) from members m join checks c on c.project_id = m.project_id
        where m.account_id = a.id and m.role = 'owner' and c.deleted_at is null) as check_count
    from accounts a where a.id > $1 order by a.id limit $2`,
});

/** Accounts after `afterId`, oldest first, at most `limit`, each with the number of checks that it owns. */
export async function listAccounts(
  db: Db,
  { afterId, limit }: { afterId: number; limit: number },
): Promise<(Account & { checkCount: number })[]> {
  const { rows } = await db.query(LIST_ACCOUNTS, [afterId, limit]);
  return rows.map((row) => ({ ...toAccount(row), checkCount: row.check_count }));
}

const UPDATE_CHECK_LIMIT = statement({
  name: "accounts.update_check_limit",
  text: "update accounts set check_limit = $2 where id = $1",
});

/** Sets how many checks an account may own; null returns to the instance's limit. False: no such account. */
export async function updateCheckLimit(
  tx: Tx,
  { accountId, checkLimit }: { accountId: number; checkLimit: number | null },
): Promise<boolean> {
  return (await tx.query(UPDATE_CHECK_LIMIT, [accountId, checkLimit])).count === 1;
}

export type Project = {
  id: number;
  uuid: string;
  name: string;
  /** Null when the project takes no pings by key and slug. */
  pingKey: string | null;
  badgeKey: string;
  /** In which messages to chats name times. */
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

/** Adds a project together with its owner, since none may be without one, and returns its id. */
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

/** The projects that an account may enter, with what it is in each. */
export async function listProjectsOfAccount(
  db: Db,
  accountId: number,
): Promise<(Project & { role: Role })[]> {
  const { rows } = await db.query(LIST_PROJECTS_OF_ACCOUNT, [accountId]);
  return rows.map((row) => ({ ...toProject(row), role: row.role }));
}

const FIND_OWNER = statement<AccountRow>({
  name: "projects.find_owner",
  text: `select ${ACCOUNT_COLUMNS}
    from members m join accounts a on a.id = m.account_id
    where m.project_id = $1 and m.role = 'owner'`,
});

/** The owner of a project, whose limits apply to it. */
export async function findProjectOwner(db: Db, projectId: number): Promise<Account | null> {
  const { rows } = await db.query(FIND_OWNER, [projectId]);
  return rows[0] === undefined ? null : toAccount(rows[0]);
}

function onlyId(rows: { id: number }[]): number {
  const [row] = rows;
  if (row === undefined) throw new Error("an insert that must return an id returned none");
  return row.id;
}
