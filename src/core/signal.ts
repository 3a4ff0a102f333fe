// What a job tells us, however it arrived (HTTP, email), and how keywords turn a text into a kind.
// Decoding bytes and mails is the caller's; what a signal does to a check is in transition.ts.
import type { SignalSettings } from "./check.ts";
import { uuidOfAnyCase } from "./identity.ts";
import type { Instant } from "./instant.ts";
import { EXIT_STATUS_MAX } from "./limits.ts";

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
