// The newest things that happened to many checks at once, one short list for each: what the strip in a row of the
// dashboard is drawn from. It only reads.
import type { Instant } from "../../core/instant.ts";
import { type Db, statement } from "../db.ts";
import { toNumberArray } from "../values.ts";

export type RecentMark = {
  checkId: number;
  at: Instant;
  /** A run that ended, a deadline that passed in silence, time that was not observed, a pause. */
  kind: "success" | "fail" | "missed" | "unseen" | "paused";
  durationMs: number | null;
};

// A check's pings are found by the check alone and are as many as its owner's log holds.
const LIST = statement<{
  check_id: number;
  at: Instant;
  kind: RecentMark["kind"];
  duration_ms: number | null;
}>({
  name: "recent_marks.list",
  text: `select c.id as check_id, m.at, m.kind, m.duration_ms
    from unnest($1::bigint[]) as c (id)
    cross join lateral (
      (select p.at, case p.kind when 's' then 'success' else 'fail' end as kind, p.duration_ms
        from pings p where p.check_id = c.id and p.kind in ('s', 'f') order by p.n desc limit $2)
      union all
      (select f.at, 'missed', null from flips f
        where f.check_id = c.id and f.to_status = 'down' and f.reason = 'timeout' and f.taken_back_at is null
        order by f.at desc, f.id desc limit $2)
      union all
      (select e.at, case e.kind when 'paused' then 'paused' else 'unseen' end, null from events e
        where e.check_id = c.id and e.kind in ('not_observed', 'paused')
        order by e.at desc, e.id desc limit $2)
    ) as m
    order by c.id, m.at`,
});

/** For each of these checks the newest of each sort, at most `limit`, all in the order of time. */
export async function listRecentMarks(
  db: Db,
  { checkIds, limit }: { checkIds: readonly number[]; limit: number },
): Promise<RecentMark[]> {
  if (checkIds.length === 0) return [];
  const { rows } = await db.query(LIST, [toNumberArray(checkIds), limit]);
  return rows.map((row) => ({
    checkId: row.check_id,
    at: row.at,
    kind: row.kind,
    durationMs: row.duration_ms,
  }));
}
