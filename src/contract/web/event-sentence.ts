// What is said of events, on their page as well as in the file that is taken along from it: what each is called, in one
// sentence, so that both are searched by the same words, and how far a file goes back.
import type { EventRow } from "./history.ts";

const DOWN_REASONS = {
  timeout: "went down: nothing came until the deadline",
  fail: "went down: the job said that it failed",
  success: "went down",
} as const;

const EVENT_SENTENCES: Readonly<Record<string, string>> = {
  paused: "was paused",
  resumed: "was resumed",
  edited: "was edited",
  not_observed: "was not observed: we could not receive signals, so nobody was alarmed",
};

const TAKEN_BACK = "taken back: a signal had been received in time";

/** Looked through for one file, so that nobody can keep the database busy with it. */
export const EVENTS_IN_FILE_MAX = 10_000;

/** "went down: nothing came until the deadline", and whether that proved wrong. */
export function eventSentence(event: Exclude<EventRow, { type: "signal" }>): string {
  if (event.type === "flip") {
    const change = event.to === "up" ? "came up" : DOWN_REASONS[event.reason];
    return event.takenBackAt === null ? change : `${change}; ${TAKEN_BACK}`;
  }
  const known = EVENT_SENTENCES[event.kind] ?? event.kind.replaceAll("_", " ");
  const fields = event.kind === "edited" ? editedFields(event.detail) : [];
  return fields.length === 0 ? known : `${known}: ${fields.join(", ")}`;
}

/** "graceSeconds" is "grace seconds" to a reader. */
function editedFields(detail: Readonly<Record<string, unknown>>): string[] {
  const { after } = detail;
  if (typeof after !== "object" || after === null) return [];
  return Object.keys(after).map((name) => name.replaceAll(/([A-Z])/g, " $1").toLowerCase());
}
