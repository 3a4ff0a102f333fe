// What the paths of pages stand for in the filled database.
import { statement } from "../../src/store/db.ts";
import { findProjectByUuid } from "../../src/store/projects.ts";
import type { Site } from "../support/site.ts";

const FIRST = statement<{ uuid: string; n: number }>({
  name: "e2e.first_check",
  text: `select c.uuid, max(p.n)::int as n from checks c join pings p on p.check_id = c.id
    where c.project_id = $1 group by c.id order by c.id limit 1`,
});

/** The first check of a project that has a past, and the number of its last ping. */
export async function firstCheckOf(site: Site, projectUuid: string): Promise<{ check: string; run: number }> {
  const project = await findProjectByUuid(site.database, projectUuid);
  const { rows } = await site.database.query(FIRST, [project?.id]);
  const [first] = rows;
  if (first === undefined) throw new Error("the project has no check with a past");
  return { check: first.uuid, run: first.n };
}
