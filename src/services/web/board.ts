// The shared wall board: a page and its data for screens without an account. The token in the path is the only
// credential, and gives access to nothing else.
import type { Board } from "../../contract/api/board.ts";
import type { Instant } from "../../core/instant.ts";
import { BOARD_SHARED_MS_MAX } from "../../core/limits.ts";
import { followBoardLink } from "../../operations/board-links.ts";
import type { Database } from "../../store/db.ts";
import type { Project } from "../../store/projects.ts";
import { readBoard } from "../api/board.ts";
import { boardAnswer } from "./pages.ts";
import { openRoute, type WebContext, WebRefusal, type WebRequest, type WebRoute } from "./route.ts";

type Taken = { at: Instant; board: Promise<Board> };

/** The newest board of each project, so that any number of screens costs as much as one. Old ones are dropped. */
const taken = new WeakMap<Database, Map<number, Taken>>();

function sharedBoard(
  context: WebContext,
  { project, now }: { project: Project; now: Instant },
): Promise<Board> {
  const { database } = context;
  const kept = taken.get(database) ?? new Map<number, Taken>();
  taken.set(database, kept);
  for (const [id, { at }] of kept) if (Math.abs(now - at) >= BOARD_SHARED_MS_MAX) kept.delete(id);
  const known = kept.get(project.id);
  if (known !== undefined) return known.board;
  const board = readBoard({ context, project, now });
  kept.set(project.id, { at: now, board });
  // A failed reading is not repeated to other screens.
  board.catch(() => kept.delete(project.id));
  return board;
}

async function projectOf({ context, params, now }: WebRequest): Promise<Project> {
  const project = await followBoardLink(context.database, { token: params["token"] ?? "", now });
  if (project !== null) return project;
  throw new WebRefusal(
    "not_found",
    "This link is invalid or was revoked. Ask a member of the project for a new one.",
  );
}

const page = openRoute({
  name: "shared board",
  method: "GET",
  path: "/board/:token/",
  access: "anyone",
  answer: async (request) => {
    await projectOf(request);
    return boardAnswer(request);
  },
});

const data = openRoute({
  name: "data of a shared board",
  method: "GET",
  path: "/web/board/:token",
  access: "anyone",
  answer: async (request) => {
    const { context, now } = request;
    return { json: await sharedBoard(context, { project: await projectOf(request), now }) };
  },
});

export const boardRoutes: readonly WebRoute[] = [page, data];
