// Who is in a project, and projects that wait to be taken over. Rights are judged in core.
import type { Role } from "../../core/access.ts";
import type { Instant } from "../../core/instant.ts";
import { type Db, statement } from "../db.ts";
import type { Tx } from "../transaction.ts";
import { toTimestamp } from "../values.ts";

export type Member = {
  accountId: number;
  uuid: string;
  email: string;
  name: string;
  role: Role;
  since: Instant;
};

type Row = { account_id: number; uuid: string; email: string; name: string; role: Role; created_at: Instant };

const COLUMNS = "m.account_id, a.uuid, a.email, a.name, m.role, m.created_at";

function toMember(row: Row): Member {
  return {
    accountId: row.account_id,
    uuid: row.uuid,
    email: row.email,
    name: row.name,
    role: row.role,
    since: row.created_at,
  };
}

const LIST = statement<Row>({
  name: "members.list",
  text: `select ${COLUMNS} from members m join accounts a on a.id = m.account_id
    where m.project_id = $1 order by m.created_at, m.account_id`,
});

/** The members of a project, its owner too, in the order in which they came. */
export async function listMembers(db: Db, projectId: number): Promise<Member[]> {
  return (await db.query(LIST, [projectId])).rows.map(toMember);
}

const LOCK = statement<{ id: number }>({
  name: "projects.lock",
  text: "select id from projects where id = $1 for update",
});

/** Locks a project, and with it who is a member of it. False: it is gone. */
export async function lockProject(tx: Tx, projectId: number): Promise<boolean> {
  return (await tx.query(LOCK, [projectId])).count === 1;
}

const HOLD = statement({
  name: "projects.hold",
  text: "select from projects where id = $1 for key share",
});

/** Waits for whoever is removing a project just now, and lets nobody remove it until the transaction ends. */
export async function holdProject(tx: Tx, projectId: number): Promise<void> {
  await tx.query(HOLD, [projectId]);
}

const INSERT = statement({
  name: "members.insert",
  text: `insert into members (project_id, account_id, role, created_at) values ($1, $2, $3, $4)
    on conflict do nothing`,
});

/** Lets an account in. False: it was in before, and stays what it is. */
export async function insertMember(
  tx: Tx,
  { projectId, accountId, role, at }: { projectId: number; accountId: number; role: Role; at: Instant },
): Promise<boolean> {
  return (await tx.query(INSERT, [projectId, accountId, role, toTimestamp(at)])).count === 1;
}

const WRITE_ROLE = statement({
  name: "members.write_role",
  text: "update members set role = $3 where project_id = $1 and account_id = $2",
});

/** Makes a member something else. A second owner is a unique_violation. */
export async function writeRole(
  tx: Tx,
  { projectId, accountId, role }: { projectId: number; accountId: number; role: Role },
): Promise<void> {
  await tx.query(WRITE_ROLE, [projectId, accountId, role]);
}

const DELETE = statement({
  name: "members.delete",
  text: "delete from members where project_id = $1 and account_id = $2",
});

/** Lets an account out. False: it was not in. */
export async function deleteMember(
  tx: Tx,
  { projectId, accountId }: { projectId: number; accountId: number },
): Promise<boolean> {
  return (await tx.query(DELETE, [projectId, accountId])).count === 1;
}

const DELETE_ALL = statement({
  name: "members.delete_all",
  text: "delete from members where project_id = $1",
});

/** Lets everybody out, the owner too: the project is removed. */
export async function deleteMembersOfProject(tx: Tx, projectId: number): Promise<void> {
  await tx.query(DELETE_ALL, [projectId]);
}

export type Transfer = { projectId: number; toAccountId: number; createdAt: Instant };

const FIND_TRANSFER = statement<{ to_account_id: number; created_at: Instant }>({
  name: "transfers.find",
  text: "select to_account_id, created_at from transfers where project_id = $1",
});

/** Who was asked to take a project over. */
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

/** Asks somebody to take a project over; whoever was asked before is asked no more. */
export async function writeTransfer(tx: Tx, { projectId, toAccountId, createdAt }: Transfer): Promise<void> {
  await tx.query(WRITE_TRANSFER, [projectId, toAccountId, toTimestamp(createdAt)]);
}

const DELETE_TRANSFER = statement({
  name: "transfers.delete",
  text: "delete from transfers where project_id = $1",
});

/** Asks nobody any more. False: nobody was asked. */
export async function deleteTransfer(tx: Tx, projectId: number): Promise<boolean> {
  return (await tx.query(DELETE_TRANSFER, [projectId])).count === 1;
}

const LIST_TO = statement<{ uuid: string; name: string; email: string; created_at: Instant }>({
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
  const { rows } = await db.query(LIST_TO, [accountId]);
  return rows.map(({ uuid, name, email, created_at: since }) => ({ uuid, name, from: email, since }));
}
