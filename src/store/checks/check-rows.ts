// Checks as the dashboard's list shows them: lean, many at once, each with the number of the transaction that wrote it
// last. What has changed is found by that number: no index and no trigger on what pings write. It only reads.
import type { Instant } from "../../core/instant.ts";
import type { FlipReason, StoredStatus } from "../../core/machine/state.ts";
import type { WatchedCheck } from "../../core/machine/status.ts";
import { type Db, statement } from "../db.ts";
import { toWatched, WATCHED_COLUMNS, type WatchedRow } from "./check-statuses.ts";
import { rank } from "./check-tallies.ts";
import {
  lowerHalf,
  readingOrder,
  readSnapshot,
  SEEN,
  type Snapshot,
  type SnapshotRow,
  toSnapshot,
  wholeXid,
} from "./snapshot.ts";
import { toNumberArray, toTextArray, toTimestamp } from "../values.ts";

export type LeanCheck = WatchedCheck & {
  id: number;
  uuid: string;
  projectId: number;
  name: string;
  slug: string;
  tags: string;
  lastDurationMs: number | null;
  /** The stored deadline. */
  downAt: Instant | null;
  /** The flip that made it down; null while it is not, or the flip is forgotten. */
  down: { since: Instant; reason: FlipReason; exitStatus: number | null } | null;
  channelCount: number;
  /** The larger of the numbers of the transactions that wrote its settings and its state. */
  lastXid: number;
  /** The sum of both: another number after every change, also where the one who wrote last had begun first. */
  change: number;
  /** When it was read: of two readings the one with the larger number is the later. */
  readingOrder: number;
};

/** Rows, and up to where changes are in them: whoever asks for changes since the cursor misses nothing. */
export type LeanPage = { checks: LeanCheck[]; cursor: number };

type LeanRow = WatchedRow & {
  id: number;
  uuid: string;
  project_id: number;
  name: string;
  slug: string;
  tags: string;
  last_duration_ms: number | null;
  down_at: Instant | null;
  channel_count: number;
  down_since: Instant | null;
  down_reason: FlipReason | null;
  exit_status: number | null;
  check_xmin: number;
  state_xmin: number;
};

const LEAN_COLUMNS = `c.id, c.uuid, c.project_id, c.name, c.slug, c.tags, ${WATCHED_COLUMNS}, s.last_duration_ms,
  s.down_at, (select count(*)::int from check_channels cc where cc.check_id = c.id) as channel_count,
  d.at as down_since, d.reason as down_reason, e.exit_status,
  c.xmin::text::bigint as check_xmin, s.xmin::text::bigint as state_xmin`;

/** Only for those that are down: of the others nothing is looked up. */
const DOWN_BECAUSE = `left join lateral (
      select f.at, f.reason from flips f
      where s.status = 'down' and f.check_id = c.id and f.to_status = 'down' and f.taken_back_at is null
      order by f.at desc, f.id desc limit 1
    ) as d on true
    left join lateral (
      select p.exit_status from pings p
      where d.reason = 'fail' and p.check_id = c.id and p.kind = 'f' and p.at = d.at limit 1
    ) as e on true`;

/** The rows of a selection of ids, in its order, with the snapshot that they are of. Without a row there is none. */
function leanStatement(name: string, { chosen, order }: { chosen: string; order: string }) {
  return statement<LeanRow & SnapshotRow>({
    name,
    text: `with chosen as materialized (${chosen})
      select ${SEEN}, ${LEAN_COLUMNS}
      from chosen
      join checks c on c.id = chosen.id join check_states s on s.check_id = c.id
      ${DOWN_BECAUSE}
      order by ${order}`,
  });
}

const THERE = "from checks c where c.deleted_at is null";
const WITH_STATE = "from checks c join check_states s on s.check_id = c.id where c.deleted_at is null";

const LIST = leanStatement("check_rows.list", {
  chosen: `select c.id ${THERE} and c.project_id = $1 and c.id > $2 order by c.id limit $3`,
  order: "c.id",
});

/** The checks of a project after `afterId`, oldest first, at most `limit`. */
export async function listLeanChecks(
  db: Db,
  { projectId, afterId, limit }: { projectId: number; afterId: number; limit: number },
): Promise<LeanCheck[]> {
  return toPage((await db.query(LIST, [projectId, afterId, limit])).rows).checks;
}

const LIST_URGENT = leanStatement("check_rows.list_urgent", {
  // Numbered after the limit: only the first hundred are sorted through.
  chosen: `select id, row_number() over () as place from (
      select c.id ${WITH_STATE} and c.project_id = $1
      order by ${rank("$2::timestamptz")},
        case when s.status = 'down' then coalesce(s.silence_deadline_at, s.last_ping_at) end desc,
        case when ${rank("$2::timestamptz")} = 1 then s.down_at end, lower(c.name), c.id
      limit $3
    ) as first`,
  order: "chosen.place",
});

/** The checks of a project that need somebody first: down, late, and then by name. */
export async function listUrgentChecks(
  db: Db,
  { projectId, now, limit }: { projectId: number; now: Instant; limit: number },
): Promise<LeanPage> {
  const { rows } = await db.query(LIST_URGENT, [projectId, toTimestamp(now), limit]);
  return rows.length > 0 ? toPage(rows) : { checks: [], cursor: (await readSnapshot(db)).xmin };
}

const FIND = leanStatement("check_rows.find", {
  chosen: `select c.id ${THERE} and c.uuid = any ($1::uuid[])`,
  order: "c.id",
});

/** The checks with these UUIDs, in whatever project; deleted ones are left out. */
export async function findLeanChecks(db: Db, uuids: readonly string[]): Promise<LeanCheck[]> {
  return toPage((await db.query(FIND, [toTextArray(uuids)])).rows).checks;
}

const LIST_CHANGED = leanStatement("check_rows.list_changed", {
  // Project by project, and ordered afterwards: nearly nothing has changed, and whoever looks for the first of it in the
  // order of ids goes through the checks of everybody. Of 400,000 that took 390 ms, this way 50.
  chosen: `select changed.id from unnest($1::bigint[]) as p (id) cross join lateral (
      select c.id ${WITH_STATE} and c.project_id = p.id
        and (age(c.xmin) <= age($2::text::xid) or age(s.xmin) <= age($2::text::xid)) offset 0
    ) as changed
    order by changed.id limit $3`,
  order: "c.id",
});

/** The checks of these projects that were written since a cursor, at most `limit`. Some may have been told before. */
export async function listChangedChecks(
  db: Db,
  { projectIds, since, limit }: { projectIds: readonly number[]; since: number; limit: number },
): Promise<LeanCheck[]> {
  const { rows } = await db.query(LIST_CHANGED, [toNumberArray(projectIds), String(lowerHalf(since)), limit]);
  return toPage(rows).checks;
}

function toPage(rows: readonly (LeanRow & SnapshotRow)[]): LeanPage {
  const [first] = rows;
  if (first === undefined) return { checks: [], cursor: 0 };
  const snapshot = toSnapshot(first);
  return { checks: rows.map((row) => toLean(row, snapshot)), cursor: snapshot.xmin };
}

function toLean(row: LeanRow, snapshot: Snapshot): LeanCheck {
  const { down_since: since, down_reason: reason } = row;
  const checkXid = wholeXid(row.check_xmin, snapshot.xmax);
  const stateXid = wholeXid(row.state_xmin, snapshot.xmax);
  return {
    id: row.id,
    uuid: row.uuid,
    projectId: row.project_id,
    name: row.name,
    slug: row.slug,
    tags: row.tags,
    ...toWatched(row),
    lastDurationMs: row.last_duration_ms,
    downAt: row.down_at,
    down: since === null || reason === null ? null : { since, reason, exitStatus: row.exit_status },
    channelCount: row.channel_count,
    lastXid: Math.max(checkXid, stateXid),
    change: checkXid + stateXid,
    readingOrder: readingOrder(snapshot),
  };
}

const COUNT = statement<{ project_id: number; count: number }>({
  name: "check_rows.count",
  text: `select project_id, count(*)::int as count from checks
    where project_id = any ($1::bigint[]) and deleted_at is null group by project_id`,
});

/** How many checks each of these projects has; one without checks is left out. */
export async function countChecks(db: Db, projectIds: readonly number[]): Promise<Map<number, number>> {
  const { rows } = await db.query(COUNT, [toNumberArray(projectIds)]);
  return new Map(rows.map(({ project_id, count }) => [project_id, count]));
}

const COUNT_DOWN = statement<{ project_id: number; count: number }>({
  name: "check_rows.count_down",
  text: `select c.project_id, count(*)::int as count from checks c join check_states s on s.check_id = c.id
    where c.project_id = any ($1::bigint[]) and c.deleted_at is null and s.status = 'down' group by c.project_id`,
});

/** How many checks of each of these projects are down; one with none is left out. */
export async function countDown(db: Db, projectIds: readonly number[]): Promise<Map<number, number>> {
  const { rows } = await db.query(COUNT_DOWN, [toNumberArray(projectIds)]);
  return new Map(rows.map(({ project_id, count }) => [project_id, count]));
}

const LIST_IDS = statement<{ project_id: number; uuid: string }>({
  name: "check_rows.list_ids",
  text: "select project_id, uuid from checks where project_id = any ($1::bigint[]) and deleted_at is null",
});

/** The UUIDs of all checks of projects. */
export async function listCheckNames(
  db: Db,
  projectIds: readonly number[],
): Promise<{ projectId: number; uuid: string }[]> {
  const { rows } = await db.query(LIST_IDS, [toNumberArray(projectIds)]);
  return rows.map(({ project_id, uuid }) => ({ projectId: project_id, uuid }));
}

/** What has to be known of a check to change it together with others. */
export type BulkCheck = { id: number; uuid: string; status: StoredStatus };

const FIND_BULK = statement<BulkCheck>({
  name: "check_rows.find_bulk",
  text: `select c.id, c.uuid, s.status from checks c join check_states s on s.check_id = c.id
    where c.uuid = any ($1::uuid[]) and c.project_id = $2`,
});

/** The checks of a project with these UUIDs, those that are marked as deleted, too. */
export async function findBulkChecks(
  db: Db,
  { uuids, projectId }: { uuids: readonly string[]; projectId: number },
): Promise<BulkCheck[]> {
  const { rows } = await db.query(FIND_BULK, [toTextArray(uuids), projectId]);
  return rows;
}
