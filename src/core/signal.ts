// What a job tells us, however it arrived (HTTP, email), and how keywords turn a text into a kind.
// Decoding bytes and mails is the caller's; what a signal does to a check is in transition.ts.
import type { SignalSettings } from "./check.ts";
import { hasSlugCharacters, uuidOfAnyCase } from "./identity.ts";
import type { Instant } from "./instant.ts";
import { EXIT_STATUS_MAX, PING_KEY_LENGTH, SLUG_LENGTH_MAX } from "./limits.ts";

/** What a signal says once methods and keyword filters have been applied. */
export type SignalKind = "success" | "start" | "fail" | "log" | "ign";

/** The part of a signal that the state machine looks at. */
export type Signal = {
  kind: SignalKind;
  /** Receive time on the database's clock. */
  at: Instant;
  /** Run id, lower case, or null. */
  rid: string | null;
  /** Replayed from a spool: it may be older than what has been applied since. */
  replayed: boolean;
};

const KIND_NAME: Readonly<Record<SignalKind, string>> = {
  success: "Success",
  start: "Start",
  fail: "Failure",
  log: "Log",
  ign: "Ignored",
};

/** How a signal is called in messages and on screens. */
export function signalName(kind: SignalKind, exitStatus: number | null): string {
  if (kind === "fail" && exitStatus !== null && exitStatus > 0) return `Exit status ${exitStatus}`;
  return KIND_NAME[kind];
}

/** The run id of a signal, or null when the text is none; an absent one must not be asked about. */
export function parseRunId(text: string): string | null {
  return uuidOfAnyCase(text);
}

/**
 * The exit status that a path segment spells: null when it is no number at all (the segment means
 * something else then), "too large" when no process can end with it.
 */
export function parseExitStatus(segment: string): number | "too large" | null {
  if (!/^[0-9]+$/.test(segment)) return null;
  const status = Number(segment);
  return status <= EXIT_STATUS_MAX ? status : "too large";
}

/** The keywords of a comma-separated field, trimmed; empty ones are none. */
export function splitKeywords(field: string): string[] {
  return field
    .split(",")
    .map((keyword) => keyword.trim())
    .filter((keyword) => keyword !== "");
}

type Keywords = Pick<SignalSettings, "startKw" | "successKw" | "failureKw">;

/** What the keywords make of a text, or null when none occurs in it. Letter case counts. */
export function matchKeywords(text: string, keywords: Keywords): "fail" | "success" | "start" | null {
  const occurs = (field: string) => splitKeywords(field).some((keyword) => text.includes(keyword));
  // A text that speaks of success and of failure is a failure: the safe side is to tell someone.
  if (occurs(keywords.failureKw)) return "fail";
  if (occurs(keywords.successKw)) return "success";
  return occurs(keywords.startKw) ? "start" : null;
}

/** What an HTTP request asks for by its path; an exit status stands for success or fail. */
export type HttpAction = "success" | "start" | "fail" | "log" | { exitStatus: number };

/**
 * The kind of an HTTP signal. `body` is the kept part of the body, decoded leniently, empty when there
 * was none. With a body filter the keywords replace whatever the path said.
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
 * The kind of an email signal. `subject` and `body` are decoded; `body` holds the plain and the HTML part
 * as text. Where nothing matches and no success keyword is set, a message counts as success: whoever only
 * named failures means that everything else is fine.
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

// A signal as a protocol accepted it, before anybody looked up its check or asked what it means. What is here
// is all that is kept of it until it is recorded, so it must be enough to record it hours later.

/** What the signal's address names. A slug is resolved when the signal is recorded, not when it came. */
export type SignalTarget = { by: "uuid"; uuid: string } | { by: "slug"; pingKey: string; slug: string };

/** What the signal's kind will be told from, once the settings of its check are known. */
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
  /** The kept part of the body as it came, or null when there was none. */
  body: Uint8Array | null;
  /** Receive time on the database's clock. */
  at: Instant;
};

/** Signals that are recorded together. A batch is frozen once it is numbered. */
export type Batch = {
  /** The start of an intake that numbered the batch. */
  intakeId: string;
  /** 1, 2, 3 … without a gap. */
  seq: number;
  signals: readonly AcceptedSignal[];
};

/**
 * What became of a signal: logged; no such check; several checks of that slug; quarantined; or an error of our own code
 * kept it from being recorded, so that nothing may be promised to its sender.
 */
export type SignalResult = "recorded" | "unknown" | "ambiguous" | "rejected" | "failed";

// Which check a mail address means: the part before the @, whose domain has been found to be ours. Only its
// syntax; whether there is such a check is told when the message is recorded.

/** Where the version of a UUID stands. */
const VERSION_AT = 14;
const PING_KEY = /^[-A-Za-z0-9_]+$/;

/** What a local part names, or null when it can name no check. A UUID may come in either letter case. */
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
