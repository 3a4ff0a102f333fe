// The row of one check, read anew: what is told after it was changed, and on its own page.
import type { CheckRow } from "../../../contract/web/check-row.ts";
import type { Instant } from "../../../core/instant.ts";
import { findLeanChecks } from "../../../store/checks/check-rows.ts";
import type { WebHouse } from "../house.ts";
import { type CheckRecord, WebRefusal } from "../route.ts";
import { rowsOf } from "./rows.ts";

/** The row of one check as it is now. */
export async function presentRow(
  { database }: WebHouse,
  { check, now }: { check: Pick<CheckRecord, "uuid">; now: Instant },
): Promise<CheckRow> {
  const [row] = rowsOf(await findLeanChecks(database, [check.uuid]), now);
  if (row === undefined) throw new WebRefusal("not_found", "The check was deleted.");
  return row;
}
