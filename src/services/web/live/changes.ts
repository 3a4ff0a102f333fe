// What has happened in a project since a cursor, read once: for whoever resumes a stream, or asks again and again.
import type { ChangesPage, LiveMessage } from "../../../contract/web/live.ts";
import type { Instant } from "../../../core/instant.ts";
import { countChecks, countDown, listChangedChecks } from "../../../store/checks/check-rows.ts";
import { readSnapshot } from "../../../store/checks/snapshot.ts";
import type { Db } from "../../../store/db.ts";
import { listChangedFlips, type NamedFlip } from "../../../store/history/newest-flips.ts";
import { rowsOf } from "../checks/rows.ts";

/** With more changes than these it is cheaper to fetch the page anew. */
const CHANGES_MAX = 2_000;
/** So many of the newest flips are looked through. */
export const FLIPS_LOOKED_AT = 2_000;
/** So many flips are told to whoever comes back. */
export const FLIPS_TOLD_MAX = 50;

/** What to tell about a flip. */
export function flipMessage({ id, uuid, name, from, to, at, reason }: NamedFlip): LiveMessage {
  return { name: "flip", data: { id, check: uuid, name, from, to, at, reason } };
}

/** How many checks are down; undefined: none. */
export function downMessage(count = 0): LiveMessage {
  return { name: "down", data: { count } };
}

/** The events since a cursor, and where the next begin. */
export async function changesSince(
  db: Db,
  { projectId, since, now }: { projectId: number; since: number; now: Instant },
): Promise<ChangesPage> {
  // Before the changes: what comes in between is told twice, and never missed.
  const head = await readSnapshot(db);
  const cursor = String(head.xmin);
  const reload = (why: string): ChangesPage => ({ events: [{ name: "reload", data: { why } }], cursor });
  if (since > head.xmax) return reload("The database has changed.");
  const projectIds = [projectId];
  const [changed, flips, counts, down] = await Promise.all([
    listChangedChecks(db, { projectIds, since, limit: CHANGES_MAX + 1 }),
    listChangedFlips(db, { projectIds, since, limit: FLIPS_LOOKED_AT }),
    countChecks(db, projectIds),
    countDown(db, projectIds),
  ]);
  if (changed.length > CHANGES_MAX) return reload("Too many changes since the last update.");
  const rows: LiveMessage = {
    name: "rows",
    data: { rows: rowsOf(changed, now), removed: [], total: counts.get(projectId) ?? 0 },
  };
  const told = flips.slice(-FLIPS_TOLD_MAX).map(flipMessage);
  return { events: [rows, ...told, downMessage(down.get(projectId))], cursor };
}
