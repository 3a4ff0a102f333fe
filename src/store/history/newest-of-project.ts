// What happened last in a project, of a table that knows only checks: the newest of each of its checks by index, and
// of those the newest of all.
import type { Instant } from "../../core/instant.ts";
import { toTimestamp } from "../values.ts";

/**
 * In [from, before); an absent end is open. With `beforeId`, what happened at `before` itself is in it as far as its id
 * is smaller: thousands can be dated alike.
 */
export type ProjectPage = {
  projectId: number;
  from?: Instant;
  before?: Instant;
  beforeId?: number;
  limit: number;
};

/** SQL for such a page; the table is called `one`. Its parameters: `projectPage`. */
export function newestOfProject({ table, columns }: { table: string; columns: string }): string {
  return `select newest.* from checks c
    cross join lateral (
      select ${columns} from ${table} one
      where one.check_id = c.id and ($2::timestamptz is null or (one.at, one.id) < ($2, $5))
        and ($4::timestamptz is null or one.at >= $4)
      order by one.at desc, one.id desc limit $3
    ) as newest
    where c.project_id = $1 and c.deleted_at is null
    order by newest.at desc, newest.id desc limit $3`;
}

export function projectPage({ projectId, from, before, beforeId = 0, limit }: ProjectPage) {
  return [projectId, toTimestamp(before ?? null), limit, toTimestamp(from ?? null), beforeId];
}
