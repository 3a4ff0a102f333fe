// Signals: pings by HTTP or email. How keywords determine their kind, and what is kept until they are
// recorded. What a signal does to a check is in transition.ts.
import type { SignalSettings } from "./check.ts";
import { hasSlugCharacters, uuidOfAnyCase } from "./identity.ts";
import { type Instant, MINUTE_MS, SECOND_MS } from "./instant.ts";
import {
  EXIT_STATUS_MAX,
  LATE_END_RUN_SECONDS_MAX,
  LATE_END_SKEW_MINUTES_MAX,
  PING_KEY_LENGTH,
  SLUG_LENGTH_MAX,
} from "./limits.ts";

/** The kind after methods and keyword filters are applied. */
export type SignalKind = "success" | "start" | "fail" | "log" | "ign";

/** The part of a signal that the state rules use. */
export type Signal = {
  kind: SignalKind;
  /** Receive time on the database's clock. */
  at: Instant;
  /** Run id, lower case, or null. */
  rid: string | null;
  /** Replayed from a spool: newer signals may have been applied before. */
  replayed: boolean;
  /** Of a success or failure that was sent later; absent or null: it was sent at once. */
  lateEnd?: LateEnd | null;
};

/** The end of a run that the sender could not report in time. */
export type LateEnd = {
  /** By the clock of the sender, never after the receive time. */
  endedAt: Instant;
  /** How long the run took; null: unknown. */
  ranMs: number | null;
};

const KIND_NAME: Readonly<Record<SignalKind, string>> = {
  success: "Success",
  start: "Start",
  fail: "Failure",
  log: "Log",
  ign: "Ignored",
};

/** The name of a kind in messages and on pages. */
export function signalName(kind: SignalKind, exitStatus: number | null): string {
  if (kind === "fail" && exitStatus !== null && exitStatus > 0) return `Exit status ${exitStatus}`;
  return KIND_NAME[kind];
}

/** The run id of a signal; null if it is invalid. */
export function parseRunId(text: string): string | null {
  return uuidOfAnyCase(text);
}

/**
 * The exit status in a path segment: null if it is not a number, "too large" beyond the range of a process.
 */
export function parseExitStatus(segment: string): number | "too large" | null {
  if (!/^[0-9]+$/.test(segment)) return null;
  const status = Number(segment);
  return status <= EXIT_STATUS_MAX ? status : "too large";
}

const UNIX_SECONDS = /^[0-9]{1,11}(?:\.[0-9]{1,9})?$/;
/** A `+` that was not encoded arrives as a space. */
const RFC_3339 =
  /^([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt]([0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?)([Zz]|[-+ ][0-9]{2}:[0-9]{2})$/;
const SECONDS = /^[0-9]{1,9}(?:\.[0-9]{1,9})?$/;

/**
 * The late end in the parameters `at` (RFC 3339 or Unix seconds) and `ran` (seconds) of a ping; null if `at` is
 * unreadable. An unreadable `ran` counts as unknown.
 */
export function parseLateEnd({ at, ran }: { at: string; ran: string | null }): LateEnd | null {
  const endedAt = UNIX_SECONDS.test(at) ? Math.floor(Number(at) * SECOND_MS) : parseRfc3339(at);
  if (endedAt === null) return null;
  const seconds = ran !== null && SECONDS.test(ran) ? Number(ran) : Infinity;
  const ranMs = seconds <= LATE_END_RUN_SECONDS_MAX ? Math.round(seconds * SECOND_MS) : null;
  return { endedAt, ranMs };
}

function parseRfc3339(text: string): Instant | null {
  const [, date, time, offset] = RFC_3339.exec(text) ?? [];
  if (date === undefined || time === undefined || offset === undefined) return null;
  const midnightAt = Date.parse(`${date}T00:00:00Z`);
  const at = Date.parse(`${date}T${time}${offset.toUpperCase().replace(" ", "+")}`);
  if (Number.isNaN(midnightAt) || Number.isNaN(at)) return null;
  // February 30 would be March 2.
  return new Date(midnightAt).toISOString().startsWith(date) ? at : null;
}

/** Whether an end of the same run that was logged at an instant is this late end, sent before. */
export function isSameEnd({ endedAt }: LateEnd, loggedAt: Instant): boolean {
  return loggedAt >= endedAt - LATE_END_SKEW_MINUTES_MAX * MINUTE_MS;
}

/** The keywords of a comma-separated field, trimmed; empty ones are none. */
export function splitKeywords(field: string): string[] {
  return field
    .split(",")
    .map((keyword) => keyword.trim())
    .filter((keyword) => keyword !== "");
}

type Keywords = Pick<SignalSettings, "startKw" | "successKw" | "failureKw">;

/** The kind that keywords find in a text; null if none occurs. Case-sensitive. */
export function matchKeywords(text: string, keywords: Keywords): "fail" | "success" | "start" | null {
  const occurs = (field: string) => splitKeywords(field).some((keyword) => text.includes(keyword));
  // With keywords of success and failure, it is a failure: the safe side is to alert.
  if (occurs(keywords.failureKw)) return "fail";
  if (occurs(keywords.successKw)) return "success";
  return occurs(keywords.startKw) ? "start" : null;
}

/** The action in the path of an HTTP request; an exit status means success or fail. */
export type HttpAction = "success" | "start" | "fail" | "log" | { exitStatus: number };

/**
 * The kind of an HTTP signal. `body` is the stored part of the body, decoded leniently, or empty. With a body filter,
 * the keywords replace the action in the path.
 */
export function classifyHttp(
  request: { action: HttpAction; method: string; body: string },
  settings: SignalSettings,
): SignalKind {
  if (settings.methods === "POST" && request.method !== "POST") return "ign";
  if (!settings.filterHttpBody) return kindOfAction(request.action);
  return matchKeywords(request.body, settings) ?? (settings.filterDefaultFail ? "fail" : "ign");
}

function kindOfAction(action: HttpAction): SignalKind {
  if (typeof action === "string") return action;
  return action.exitStatus === 0 ? "success" : "fail";
}

/**
 * The kind of an email signal. `subject` and `body` are decoded; `body` contains the plain and the HTML part as text.
 * If nothing matches and there are no success keywords, a message counts as success: with only failure keywords,
 * everything else is assumed to be fine.
 */
export function classifyEmail(
  message: { subject: string; body: string },
  settings: SignalSettings,
): SignalKind {
  if (!settings.filterSubject && !settings.filterBody) return "success";
  const searched: string[] = [];
  if (settings.filterSubject) searched.push(message.subject);
  if (settings.filterBody) searched.push(message.body);
  const matched = matchKeywords(searched.join("\n"), settings);
  if (matched !== null) return matched;
  if (settings.filterDefaultFail) return "fail";
  return splitKeywords(settings.successKw).length === 0 ? "success" : "ign";
}

/** The check as addressed by the signal. A slug is resolved when the signal is recorded. */
export type SignalTarget = { by: "uuid"; uuid: string } | { by: "slug"; pingKey: string; slug: string };

/** Equal for equal targets. */
export function targetKey(target: SignalTarget): string {
  return target.by === "uuid" ? target.uuid : `${target.pingKey}/${target.slug}`;
}

/** What determines the kind, once the settings of the check are known. */
export type SignalSource =
  | { by: "http"; action: HttpAction; method: string }
  /** The decoded subject, and the plain and the HTML part as one text. */
  | { by: "email"; subject: string; text: string };

export type AcceptedSignal = {
  target: SignalTarget;
  source: SignalSource;
  /** Run id, lower case, or null. */
  rid: string | null;
  exitStatus: number | null;
  scheme: string;
  remoteAddr: string | null;
  ua: string;
  /** The stored part of the body; null if there is none. */
  body: Uint8Array | null;
  /** Receive time on the database's clock. */
  at: Instant;
  /** See Signal. */
  lateEnd?: LateEnd | null;
};

/** The number of a batch: 1, 2, 3 … without a gap in each lane of an intake. */
export type BatchNumber = { intakeId: string; lane: number; seq: number };

/** Signals that are recorded together. A batch is frozen once it is numbered. */
export type Batch = BatchNumber & { signals: readonly AcceptedSignal[] };

/**
 * Batches that an intake records at a time. Each lane has its own numbers and connection, and records one batch after
 * the other.
 */
export const LANES = 2;

/** Signals with the same target take the same lane, so that they are recorded in the order in which they arrived. */
export function laneOf(target: SignalTarget): number {
  return hashOf(target.by === "uuid" ? target.uuid : target.slug) % LANES;
}

/** FNV-1a: spreads targets that differ little, such as slugs with a number. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}

/**
 * The result of a signal: recorded; unknown check; several checks with that slug; quarantined; or not
 * recorded because of an error in our code, so that it must not be acknowledged.
 */
export type SignalResult = "recorded" | "unknown" | "ambiguous" | "rejected" | "failed";

/** The position of the version digit in a UUID. */
const VERSION_AT = 14;
const PING_KEY = /^[-A-Za-z0-9_]+$/;

/**
 * The target of a local part of an email address; null if it cannot name a check. UUIDs are accepted in
 * either letter case.
 */
export function mailboxTarget(localPart: string): SignalTarget | null {
  const plusAt = localPart.indexOf("+");
  if (plusAt === -1) {
    const uuid = uuidOfAnyCase(localPart);
    return uuid !== null && uuid[VERSION_AT] === "4" ? { by: "uuid", uuid } : null;
  }
  const pingKey = localPart.slice(0, plusAt);
  const slug = localPart.slice(plusAt + 1);
  if (pingKey.length !== PING_KEY_LENGTH || !PING_KEY.test(pingKey)) return null;
  if (slug === "" || slug.length > SLUG_LENGTH_MAX || !hasSlugCharacters(slug)) return null;
  return { by: "slug", pingKey, slug };
}
