// Helpers that handlers of several resources use.
import type { ChangedBy } from "../../contract/api/check-row.ts";
import { AppError } from "../../core/errors.ts";
import { isUuid } from "../../core/identity.ts";
import { IDEMPOTENCY_KEY_LENGTH_MAX } from "../../core/limits.ts";
import type { AuditEntry } from "../../store/audit.ts";

type RequestHeaders = Readonly<Record<string, string | string[] | undefined>>;

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

/** "not paused" as "Not paused."; a sentence stays as it is. */
export function sentenceOf(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

/** Who made the change of an audit log entry, as seen by an account (null: an API key). */
export function changedBy(entry: AuditEntry | undefined, accountId: number | null): ChangedBy {
  if (entry === undefined) return null;
  if (accountId !== null && entry.accountId === accountId) return { kind: "you" };
  if (entry.email !== null) return { kind: "person", email: entry.email };
  return entry.keyId === null ? null : { kind: "key" };
}

/** The row of a numeric cursor; null: the list begins at its start. */
export function cursorNumber(cursor: string | undefined): number | null {
  return cursor === undefined ? null : Number(cursor);
}

/** The cursor of the next page. */
export function cursorText(next: number | null): string | null {
  return next === null ? null : String(next);
}

/** The entity tag of a resource at a version. */
export function entityTag({ version }: { version: number }): { ETag: string } {
  return { ETag: `"${version}"` };
}

/** The versions in an If-Match header; null: any. An unknown tag matches nothing. */
export function ifMatch(headers: RequestHeaders): readonly number[] | null {
  const header = headers["if-match"];
  if (header === undefined) return null;
  const text = typeof header === "string" ? header : header.join(",");
  if (text.trim() === "*") return null;
  return text.split(",").flatMap((item) => {
    const version = /^"(\d{1,15})"$/.exec(item.trim())?.[1];
    return version === undefined ? [] : [Number(version)];
  });
}

const IDEMPOTENCY_KEY = new RegExp(`^[\\x21-\\x7e]{1,${IDEMPOTENCY_KEY_LENGTH_MAX}}$`);

/** The Idempotency-Key of a request, if it has one. */
export function idempotencyKey(headers: RequestHeaders): string | null {
  const given = headers["idempotency-key"];
  if (given === undefined) return null;
  if (typeof given !== "string" || !IDEMPOTENCY_KEY.test(given)) {
    const text = `Idempotency-Key must be 1 to ${IDEMPOTENCY_KEY_LENGTH_MAX} printable ASCII characters without spaces.`;
    throw new AppError("invalid", text);
  }
  return given;
}
