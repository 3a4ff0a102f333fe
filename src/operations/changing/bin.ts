// Deleting a check from the dashboard: it is hidden from everyone at once, and can be taken back for some days.
import { mayCreateCheck } from "../../core/check.ts";
import { ERROR_TEXT } from "../../core/errors.ts";
import { keptFrom } from "../../core/retention.ts";
import { findDeletedCheck } from "../../store/checks/check-search.ts";
import { lockStates } from "../../store/checks/check-states.ts";
import { findCheckByUuid, markCheckDeleted, restoreCheck as unmarkCheck } from "../../store/checks/checks.ts";
import type { Database } from "../../store/db.ts";
import { deletedAtOf } from "../../store/checks/check-search.ts";
import type { Command } from "../change-check.ts";
import { auditCheck } from "./audit-check.ts";
import { type LimitDefault, lockQuota } from "./creation.ts";
import { type Absent, lockCheck, type Refused } from "./locked-check.ts";
import { inRetriedTransaction } from "./retried.ts";
import { writeStateChange } from "./state-change.ts";

/** Puts a check into the bin. What was recorded about it stays until its days are over. */
export function binCheck(database: Database, request: Command): Promise<{ kind: "deleted" } | Absent> {
  return inRetriedTransaction(database, async (tx) => {
    const locked = await lockCheck(tx, request);
    if ("kind" in locked) return locked;
    const { check } = locked;
    await markCheckDeleted(tx, { checkId: check.id, at: request.at });
    const before = { uuid: check.uuid };
    await auditCheck(tx, { what: "check.deleted", check, by: request, before, at: request.at });
    return { kind: "deleted" };
  });
}

export type Restoring = Omit<Command, "checkId"> & LimitDefault & { uuid: string };

/**
 * Takes a check out of the bin. Its signals were refused meanwhile, which is no fault of the job: expectation starts
 * anew. Refused: its owner has as many checks as they may have. "not found": it is not there, or its days are over.
 */
export function restoreCheck(
  database: Database,
  request: Restoring,
): Promise<{ kind: "restored" } | Refused | Absent> {
  const { uuid, projectId, at } = request;
  return inRetriedTransaction(database, async (tx) => {
    const found = await findDeletedCheck(tx, uuid);
    if (found === null || found.projectId !== projectId) return { kind: "not found" };
    const quota = await lockQuota(tx, request);
    if (quota === null) return { kind: "not found" };
    if (!mayCreateCheck(quota)) return { kind: "refused", code: "forbidden", text: ERROR_TEXT.checkLimit };
    const [stored] = await lockStates(tx, [found.id]);
    const deletedAt = await deletedAtOf(tx, found.id);
    if (stored === undefined || deletedAt === null || deletedAt < keptFrom("deletedCheck", at)) {
      return { kind: "not found" };
    }
    await unmarkCheck(tx, found.id);
    const check = await findCheckByUuid(tx, uuid);
    if (check === null) return { kind: "not found" };
    const state = { ...stored.state, lastStartAt: null, lastStartRid: null, expectFromAt: at };
    const nothing = { flips: [], notices: [], unseen: null };
    const event = null;
    await writeStateChange(tx, { ...nothing, state, stored, timing: check.settings, event, at });
    await auditCheck(tx, { what: "check.restored", check, by: request, at });
    return { kind: "restored" };
  });
}
