// How an account stands to a project that a path names: what is asked before every request of the dashboard.
import type { Role } from "../../core/access.ts";
import { type Db, statement } from "../db.ts";
import { PROJECT_COLUMNS, type Project, type ProjectRow, toProject } from "./projects.ts";

type EntryRow = ProjectRow & { role: Role };

const BY_UUID = statement<EntryRow>({
  name: "projects.find_entered",
  text: `select ${PROJECT_COLUMNS}, m.role
    from projects p join members m on m.project_id = p.id
    where p.uuid = $2 and m.account_id = $1`,
});

const BY_ID = statement<EntryRow>({
  name: "projects.find_entered_by_id",
  text: `select ${PROJECT_COLUMNS}, m.role
    from projects p join members m on m.project_id = p.id
    where p.id = $2 and m.account_id = $1`,
});

export type ProjectEntry = { project: Project; role: Role };

/** The project, and what the account is in it; null when it is no member, or there is no such project. */
export async function findProjectEntry(
  db: Db,
  of: { accountId: number } & ({ projectUuid: string } | { projectId: number }),
): Promise<ProjectEntry | null> {
  const { rows } = await ("projectUuid" in of
    ? db.query(BY_UUID, [of.accountId, of.projectUuid])
    : db.query(BY_ID, [of.accountId, of.projectId]));
  const [row] = rows;
  return row === undefined ? null : { project: toProject(row), role: row.role };
}
