// Share links of wall boards. Only digests are stored.
import { timingSafeEqual } from "node:crypto";
import type { Instant } from "../core/instant.ts";
import { type Db, statement } from "./db.ts";
import { PROJECT_COLUMNS, type Project, type ProjectRow, toProject } from "./projects.ts";
import type { Tx } from "./transaction.ts";
import { toTimestamp } from "./values.ts";

export type BoardLink = {
  id: number;
  uuid: string;
  name: string;
  createdAt: Instant;
  lastUsedAt: Instant | null;
};

type LinkRow = {
  link_id: number;
  link_uuid: string;
  link_name: string;
  link_created_at: Instant;
  last_used_at: Instant | null;
};

/** Of the table under the name `l`; prefixed, because a project has some of the same names. */
const COLUMNS = `l.id as link_id, l.uuid as link_uuid, l.name as link_name, l.created_at as link_created_at,
  l.last_used_at`;

function toLink(row: LinkRow): BoardLink {
  return {
    id: row.link_id,
    uuid: row.link_uuid,
    name: row.link_name,
    createdAt: row.link_created_at,
    lastUsedAt: row.last_used_at,
  };
}

const INSERT = statement<LinkRow>({
  name: "board_links.insert",
  text: `insert into board_links as l (uuid, project_id, name, digest, created_at)
    values ($1, $2, $3, $4, $5) returning ${COLUMNS}`,
});

export type NewBoardLink = Pick<BoardLink, "uuid" | "name" | "createdAt"> & {
  projectId: number;
  digest: Buffer;
};

export async function insertBoardLink(tx: Tx, link: NewBoardLink): Promise<BoardLink> {
  const { uuid, projectId, name, digest, createdAt } = link;
  const { rows } = await tx.query(INSERT, [uuid, projectId, name, digest, toTimestamp(createdAt)]);
  const [row] = rows;
  if (row === undefined) throw new Error("a share link was not inserted");
  return toLink(row);
}

const LIST = statement<LinkRow>({
  name: "board_links.list",
  text: `select ${COLUMNS} from board_links l where l.project_id = $1 order by l.id desc`,
});

/** The links of a project, newest first. */
export async function listBoardLinks(db: Db, projectId: number): Promise<BoardLink[]> {
  return (await db.query(LIST, [projectId])).rows.map(toLink);
}

const FIND = statement<LinkRow & ProjectRow & { digest: Buffer }>({
  name: "board_links.find",
  text: `select ${COLUMNS}, l.digest, ${PROJECT_COLUMNS}
    from board_links l join projects p on p.id = l.project_id where l.digest = $1`,
});

/** The link with a digest, and its project. */
export async function findBoardLink(
  db: Db,
  digest: Buffer,
): Promise<{ link: BoardLink; project: Project } | null> {
  const [row] = (await db.query(FIND, [digest])).rows;
  if (row === undefined || !timingSafeEqual(row.digest, digest)) return null;
  return { link: toLink(row), project: toProject(row) };
}

const TOUCH = statement({
  name: "board_links.touch",
  text: "update board_links set last_used_at = $2 where id = $1 and (last_used_at is null or last_used_at < $2)",
});

/** Records when a link was last used. */
export async function touchBoardLink(tx: Tx, { id, at }: { id: number; at: Instant }): Promise<void> {
  await tx.query(TOUCH, [id, toTimestamp(at)]);
}

const DELETE = statement<LinkRow>({
  name: "board_links.delete",
  text: `delete from board_links l where l.uuid = $1 and l.project_id = $2 returning ${COLUMNS}`,
});

/** Deletes a link of a project and returns it; null if the project has no such link. */
export async function deleteBoardLink(
  tx: Tx,
  { uuid, projectId }: { uuid: string; projectId: number },
): Promise<BoardLink | null> {
  const [row] = (await tx.query(DELETE, [uuid, projectId])).rows;
  return row === undefined ? null : toLink(row);
}
