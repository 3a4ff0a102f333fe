// The check that a path names, as access is decided by it: by UUID in whatever project, by unique key only in the
// key's own.
import type { Target } from "../../core/access.ts";
import { isUniqueKey, isUuid } from "../../core/identity.ts";
import type { CheckNaming } from "../../contract/route.ts";
import { findByUniqueKey as findUuid } from "../../operations/find-by-unique-key.ts";
import { findShownCheck } from "../../store/checks/check-search.ts";
import type { Database, Db } from "../../store/db.ts";
import type { FoundCheck } from "./exchange.ts";

/** How a path segment names a check; null when it cannot. */
export function namingOf(segment: string): CheckNaming | null {
  if (isUuid(segment)) return "uuid";
  return isUniqueKey(segment) ? "uniqueKey" : null;
}

/** The check with a UUID, whosever it is. */
export function findByUuid(db: Db, uuid: string): Promise<FoundCheck | null> {
  return findShownCheck(db, uuid);
}

/** The check of a project that a unique key names. */
export async function findByUniqueKey(
  database: Database,
  { key, projectId }: { key: string; projectId: number },
): Promise<FoundCheck | null> {
  const uuid = await findUuid(database, { key, projectIds: [projectId] });
  return uuid === null ? null : findShownCheck(database, uuid);
}

/** What a found check is to the project of the key. */
export function targetOf(check: FoundCheck | null, projectId: number): Target {
  if (check === null) return "absent";
  return check.projectId === projectId ? "own" : "foreign";
}
