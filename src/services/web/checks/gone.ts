// How a check has left a project, for whoever still has its page open: deleted or moved, when, by whom, and whether it
// can be taken back. It tells of what has left this project and of nothing else; into which one it was moved is told to
// nobody, because not everybody may see that.
import type { GoneCheck } from "../../../contract/web/check-row.ts";
import { mayDo } from "../../../core/access.ts";
import { isUuid } from "../../../core/identity.ts";
import { DAY_MS } from "../../../core/instant.ts";
import { DAYS_KEPT, keptFrom } from "../../../core/retention.ts";
import { listAudit } from "../../../operations/accounts/audit.ts";
import type { AuditEntry } from "../../../store/accounts/audit.ts";
import { deletedAtOf, findDeletedCheck, findShownCheck } from "../../../store/checks/check-search.ts";
import { type ProjectAsk, WebRefusal } from "../route.ts";
import { changedBy } from "../serving/changed-by.ts";

const WAYS = { "check.deleted": "deleted", "check.moved": "moved" } as const;

/** How the check with a UUID has left the project. Refused with 404: it is still there, or nothing is known of it. */
export async function readGone(
  { house, account, project, role, now }: ProjectAsk,
  uuid: string,
): Promise<GoneCheck> {
  const { database: db } = house;
  const shown = isUuid(uuid) ? await findShownCheck(db, uuid) : null;
  if (!isUuid(uuid) || shown?.projectId === project.id) throw absent();
  const binned = await findDeletedCheck(db, uuid);
  const deletedAt = binned?.projectId === project.id ? await deletedAtOf(db, binned.id) : null;
  // It was there a moment ago, so that the newest page of the record has it.
  const { entries } = await listAudit(db, { projectId: project.id });
  const entry = entries.find(({ what, before }) => what in WAYS && uuidIn(before) === uuid);
  const how = deletedAt === null ? wayOf(entry) : "deleted";
  const at = deletedAt ?? entry?.at;
  if (how === null || at === undefined) throw absent();
  const isKept = deletedAt !== null && deletedAt >= keptFrom("deletedCheck", now);
  return {
    how,
    at,
    by: how === wayOf(entry) ? changedBy(entry, account.id) : null,
    goneAt: isKept ? deletedAt + DAYS_KEPT.deletedCheck * DAY_MS : null,
    mayRestore: isKept && mayDo(role, "editChecks"),
  };
}

function wayOf(entry: AuditEntry | undefined): GoneCheck["how"] | null {
  return entry === undefined ? null : (WAYS[entry.what as keyof typeof WAYS] ?? null);
}

function uuidIn(side: object | null): unknown {
  return side !== null && "uuid" in side ? side.uuid : null;
}

function absent(): WebRefusal {
  return new WebRefusal("not_found", "It doesn't exist, or you don't have access to it.");
}
