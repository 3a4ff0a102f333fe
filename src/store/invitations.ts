// Open invitations. Only digests of links are stored.
import type { GivenRole, Inviter, Role } from "../core/access.ts";
import type { Instant } from "../core/instant.ts";
import { type Db, statement } from "./db.ts";
import type { Tx } from "./transaction.ts";
import { toTimestamp } from "./values.ts";

export type Invitation = {
  id: number;
  uuid: string;
  /** The digest of the link. */
  digest: Buffer;
  email: string;
  /** Null: to the server, not to a project. */
  projectId: number | null;
  projectName: string | null;
  role: GivenRole | null;
  /** The inviter's address; null: the command line, or a closed account. */
  invitedBy: string | null;
  /** The current account of the inviter; null likewise. */
  inviter: Inviter | null;
  createdAt: Instant;
  expiresAt: Instant;
};

type Row = {
  id: number;
  uuid: string;
  digest: Buffer;
  email: string;
  project_id: number | null;
  project_name: string | null;
  role: GivenRole | null;
  inviter: string | null;
  inviter_role: Role | null;
  inviter_is_operator: boolean | null;
  created_at: Instant;
  expires_at: Instant;
};

const SELECT = `select i.id, i.uuid, i.digest, i.email, i.project_id, p.name as project_name, i.role, a.email as inviter,
    m.role as inviter_role, a.is_operator as inviter_is_operator, i.created_at, i.expires_at
  from invitations i left join projects p on p.id = i.project_id left join accounts a on a.id = i.invited_by
    left join members m on m.project_id = i.project_id and m.account_id = i.invited_by`;

function toInvitation(row: Row): Invitation {
  return {
    id: row.id,
    uuid: row.uuid,
    digest: row.digest,
    email: row.email,
    projectId: row.project_id,
    projectName: row.project_name,
    role: row.role,
    invitedBy: row.inviter,
    inviter:
      row.inviter_is_operator === null ? null : { role: row.inviter_role, isAdmin: row.inviter_is_operator },
    createdAt: row.created_at,
    expiresAt: row.expires_at,
  };
}

const INSERT = statement({
  name: "invitations.insert",
  text: `insert into invitations (uuid, digest, project_id, email, role, invited_by, created_at, expires_at)
    values ($1, $2, $3, $4, $5, $6, $7, $8)`,
});

export type NewInvitation = Pick<
  Invitation,
  "uuid" | "digest" | "email" | "projectId" | "role" | "createdAt" | "expiresAt"
> & {
  inviterId: number | null;
};

/** Inserts an invitation. A second one for the same address and project is a unique_violation. */
export async function insertInvitation(tx: Tx, invitation: NewInvitation): Promise<void> {
  await tx.query(INSERT, [
    invitation.uuid,
    invitation.digest,
    invitation.projectId,
    invitation.email,
    invitation.role,
    invitation.inviterId,
    toTimestamp(invitation.createdAt),
    toTimestamp(invitation.expiresAt),
  ]);
}

const FIND = statement<Row>({ name: "invitations.find", text: `${SELECT} where i.digest = $1` });

/** The invitation whose link has this digest. */
export async function findInvitation(db: Db, digest: Buffer): Promise<Invitation | null> {
  const [row] = (await db.query(FIND, [digest])).rows;
  return row === undefined ? null : toInvitation(row);
}

const FIND_BY_UUID = statement<Row>({
  name: "invitations.find_by_uuid",
  text: `${SELECT} where i.uuid = $1`,
});

/** The invitation with this UUID. */
export async function findInvitationByUuid(db: Db, uuid: string): Promise<Invitation | null> {
  const [row] = (await db.query(FIND_BY_UUID, [uuid])).rows;
  return row === undefined ? null : toInvitation(row);
}

const LIST = statement<Row>({
  name: "invitations.list",
  text: `${SELECT} where i.project_id = $1 order by i.email`,
});

/** The invitations to a project, by address. */
export async function listInvitations(db: Db, projectId: number): Promise<Invitation[]> {
  return (await db.query(LIST, [projectId])).rows.map(toInvitation);
}

const DELETE = statement({ name: "invitations.delete", text: "delete from invitations where id = $1" });

/** Deletes an invitation. False: it does not exist any more. */
export async function deleteInvitation(tx: Tx, invitationId: number): Promise<boolean> {
  return (await tx.query(DELETE, [invitationId])).count === 1;
}

const DELETE_OF_EMAIL = statement({
  name: "invitations.delete_of_email",
  text: "delete from invitations where project_id is not distinct from $1 and email = $2",
});

/** Deletes the invitations of an address to a project, or (null) the server. */
export async function deleteInvitationsOfEmail(
  tx: Tx,
  { projectId, email }: { projectId: number | null; email: string },
): Promise<void> {
  await tx.query(DELETE_OF_EMAIL, [projectId, email]);
}

const DELETE_BY = statement<{ email: string; role: GivenRole | null }>({
  name: "invitations.delete_by",
  text: "delete from invitations where invited_by = $2 and project_id is not distinct from $1 returning email, role",
});

/** Deletes the invitations to a project, or (null) the server, from one inviter; returns their addresses. */
export async function deleteInvitationsBy(
  tx: Tx,
  { projectId, inviterId }: { projectId: number | null; inviterId: number },
): Promise<{ email: string; role: GivenRole | null }[]> {
  return (await tx.query(DELETE_BY, [projectId, inviterId])).rows;
}

const FORGET = statement({ name: "invitations.forget", text: "delete from invitations where email = $1" });

/** Deletes every invitation of an address, because its account is closed. */
export async function deleteInvitationsTo(tx: Tx, email: string): Promise<void> {
  await tx.query(FORGET, [email]);
}

const PRUNE = statement({
  name: "invitations.prune",
  text: `delete from invitations
    where id in (select id from invitations where expires_at < $1 order by expires_at limit $2)`,
});

/** Deletes at most `limit` invitations that expired before an instant; returns how many. */
export async function pruneInvitations(
  tx: Tx,
  { before, limit }: { before: Instant; limit: number },
): Promise<number> {
  return (await tx.query(PRUNE, [toTimestamp(before), limit])).count;
}
