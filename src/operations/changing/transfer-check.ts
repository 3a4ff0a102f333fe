// Moves a check to another project. It keeps its address, its state and its history; its channels are those of the
// project that it comes into. Whether the person may do that in both has been decided before.
import { mayCreateCheck } from "../../core/check.ts";
import { ERROR_TEXT } from "../../core/errors.ts";
import { findProjectOwner } from "../../store/accounts/projects.ts";
import { assignChannels } from "../../store/alerts/check-channels.ts";
import { moveCheck } from "../../store/checks/checks.ts";
import type { Database } from "../../store/db.ts";
import type { Command } from "../change-check.ts";
import { auditCheck } from "./audit-check.ts";
import { chooseChannels } from "./chosen-channels.ts";
import { type LimitDefault, lockQuota } from "./creation.ts";
import { type Absent, lockCheck, type Refused } from "./locked-check.ts";
import { inRetriedTransaction } from "./retried.ts";

export type Transfer = Command & LimitDefault & { to: { id: number; name: string }; from: { name: string } };

/** Moves a check. Refused: the owner of the other project has as many checks as they may have. */
export function transferCheck(
  database: Database,
  request: Transfer,
): Promise<{ kind: "moved" } | Refused | Absent> {
  const { projectId, to, from, at } = request;
  return inRetriedTransaction(database, async (tx) => {
    const locked = await lockCheck(tx, request);
    if ("kind" in locked) return locked;
    if (projectId === to.id) return { kind: "moved" };
    const [giver, taker] = [await findProjectOwner(tx, projectId), await findProjectOwner(tx, to.id)];
    if (taker === null) return { kind: "not found" };
    if (giver?.id !== taker.id) {
      const quota = await lockQuota(tx, { ...request, projectId: to.id });
      if (quota === null || !mayCreateCheck(quota)) {
        return { kind: "refused", code: "forbidden", text: ERROR_TEXT.checkLimit };
      }
    }
    const { check } = locked;
    const channels = await chooseChannels(tx, { projectId: to.id, param: "*" });
    if (channels.kind === "refused") throw new Error(`all channels were rejected: ${channels.text}`);
    await moveCheck(tx, { checkId: check.id, projectId: to.id, at });
    await assignChannels(tx, { checkId: check.id, channelIds: channels.channelIds });
    const { uuid } = check;
    const moved = { before: { uuid, project: from.name }, after: { uuid, project: to.name } };
    // Both projects are told: one has lost it, and one has it now.
    for (const side of [projectId, to.id]) {
      await auditCheck(tx, {
        what: "check.moved",
        check: { ...check, projectId: side },
        by: request,
        at,
        ...moved,
      });
    }
    return { kind: "moved" };
  });
}
