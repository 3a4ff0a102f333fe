// Share links of wall boards: creating, following and revoking them. The token of a link is stored as a digest.
import { randomUUID } from "node:crypto";
import { AppError } from "../core/errors.ts";
import { newUuidIn } from "../core/identity.ts";
import type { Instant } from "../core/instant.ts";
import { BOARD_LINK_NAME_LENGTH_MAX, BOARD_LINK_USE_MS_MIN, BOARD_LINKS_MAX } from "../core/limits.ts";
import { digestOfToken, newToken } from "../lib/secrets.ts";
import {
  type BoardLink,
  deleteBoardLink,
  findBoardLink,
  insertBoardLink,
  listBoardLinks,
  touchBoardLink,
} from "../store/board-links.ts";
import type { Database } from "../store/db.ts";
import { lockProject, type Project } from "../store/projects.ts";
import { inTransaction } from "../store/transaction.ts";
import { audit } from "./audit.ts";
import { inRetriedTransaction } from "./retry.ts";

type Actor = { accountId: number | null; keyId: number | null };

type LinkChange = { project: Pick<Project, "id" | "uuid">; by: Actor; at: Instant };

/**
 * Creates a link and returns its token, which is stored nowhere. AppError `invalid`, or `conflict` if the project has
 * too many.
 */
export function createBoardLink(
  database: Database,
  { project, name: given, by, at }: LinkChange & { name: string },
): Promise<{ link: BoardLink; token: string }> {
  const name = validName(given);
  return inRetriedTransaction(database, async (tx) => {
    if (!(await lockProject(tx, project.id))) throw new AppError("not_found", "Project not found.");
    if ((await listBoardLinks(tx, project.id)).length >= BOARD_LINKS_MAX) {
      throw new AppError(
        "conflict",
        `A project can have at most ${BOARD_LINKS_MAX} share links. Revoke one first.`,
      );
    }
    const token = newToken();
    const uuid = newUuidIn(project.uuid, randomUUID, tx.slots);
    const digest = digestOfToken(token);
    const link = await insertBoardLink(tx, { uuid, projectId: project.id, name, digest, createdAt: at });
    const entry = { projectId: project.id, what: "boardLink.created", subject: name } as const;
    await audit(tx, { ...by, ...entry, before: null, after: { name }, at });
    return { link, token };
  });
}

function validName(text: string): string {
  const name = text.trim();
  if (name === "") throw new AppError("invalid", "Enter a name for the link.", "name");
  if (Array.from(name).length <= BOARD_LINK_NAME_LENGTH_MAX) return name;
  const said = `The name of a link can have at most ${BOARD_LINK_NAME_LENGTH_MAX} characters.`;
  throw new AppError("invalid", said, "name");
}

/** Revokes a link: screens that show it stop at once. AppError `not_found`. */
export function revokeBoardLink(
  database: Database,
  { project, uuid, by, at }: LinkChange & { uuid: string },
): Promise<void> {
  return inTransaction(database, async (tx) => {
    const link = await deleteBoardLink(tx, { uuid, projectId: project.id });
    if (link === null) throw new AppError("not_found", "The link does not exist or is already revoked.");
    const entry = { projectId: project.id, what: "boardLink.revoked", subject: link.name } as const;
    await audit(tx, { ...by, ...entry, before: { name: link.name }, after: null, at });
  });
}

/** A token as `newToken` makes it. */
const TOKEN = /^[A-Za-z0-9_-]{43}$/;

/** The project whose board a link shows; null if the link is invalid or revoked. Records the use of the link. */
export async function followBoardLink(
  database: Database,
  { token, now }: { token: string; now: Instant },
): Promise<Project | null> {
  if (!TOKEN.test(token)) return null;
  const found = await findBoardLink(database, digestOfToken(token));
  if (found === null) return null;
  const { link, project } = found;
  if (link.lastUsedAt === null || now - link.lastUsedAt >= BOARD_LINK_USE_MS_MIN) {
    await inTransaction(database, (tx) => touchBoardLink(tx, { id: link.id, at: now }));
  }
  return project;
}
