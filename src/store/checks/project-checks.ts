// What happens to all checks of a project at once.
import type { Instant } from "../../core/instant.ts";
import { statement } from "../db.ts";
import type { Tx } from "../transaction.ts";
import { toTimestamp } from "../values.ts";

const MARK_DELETED = statement({
  name: "checks.mark_all_deleted",
  text: "update checks set deleted_at = $2 where project_id = $1 and deleted_at is null",
});

/** Hides all checks of a project from everyone; returns how many. */
export async function markChecksDeleted(
  tx: Tx,
  { projectId, at }: { projectId: number; at: Instant },
): Promise<number> {
  return (await tx.query(MARK_DELETED, [projectId, toTimestamp(at)])).count;
}
