// What handlers of several resources need.
import type { ChangedBy } from "../../contract/api/check-row.ts";
import { AppError } from "../../core/errors.ts";
import { isUuid } from "../../core/identity.ts";
import type { AuditEntry } from "../../store/audit.ts";

export function notFound(): AppError {
  return new AppError("not_found", "It doesn't exist, or you don't have access to it.");
}

/** A UUID in a path; throws "not found" for anything else. */
export function uuidParam(text: string): string {
  if (!isUuid(text)) throw notFound();
  return text;
}

/** A positive number in a path; throws "not found" for anything else. */
export function numberParam(text: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text)) throw notFound();
  return Number(text);
}

/** Who made the change of an audit log entry, as seen by an account (null: an API key). */
export function changedBy(entry: AuditEntry | undefined, accountId: number | null): ChangedBy {
  if (entry === undefined) return null;
  if (accountId !== null && entry.accountId === accountId) return { kind: "you" };
  if (entry.email !== null) return { kind: "person", email: entry.email };
  return entry.keyId === null ? null : { kind: "key" };
}
