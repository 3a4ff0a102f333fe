// Forgets what was recorded about a check, which goes on as if nobody had heard of it yet.
import { NEW_STATE } from "../../core/machine/state.ts";
import { writeStates } from "../../store/checks/check-states.ts";
import type { Database } from "../../store/db.ts";
import type { Command } from "../change-check.ts";
import { forgetHistory } from "../remove-check.ts";
import { auditCheck } from "./audit-check.ts";
import { type Absent, lockCheck } from "./locked-check.ts";
import { inRetriedTransaction } from "./retried.ts";

/** Clears the history of a check. Its pings go on being numbered from where they were. */
export function clearHistory(database: Database, request: Command): Promise<{ kind: "cleared" } | Absent> {
  const { at } = request;
  return inRetriedTransaction(database, async (tx) => {
    const locked = await lockCheck(tx, request);
    if ("kind" in locked) return locked;
    const { check, stored } = locked;
    await forgetHistory(tx, check.id);
    const { pingCount, coalescedCount, rateMinuteAt, rateCount, newestAt } = stored.state;
    // What is still on its way was sent before the clearing, and changes nothing.
    const kept = { pingCount, coalescedCount, rateMinuteAt, rateCount, newestAt, commandAt: at };
    const cleared = {
      ...stored,
      state: { ...NEW_STATE, ...kept },
      downAt: null,
      lastSuccessN: null,
      today: null,
    };
    await writeStates(tx, [cleared]);
    await auditCheck(tx, { what: "check.cleared", check, by: request, at });
    return { kind: "cleared" };
  });
}
