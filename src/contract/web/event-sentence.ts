// Event descriptions for the events page and its downloads, so that search finds the same words in both.
import { FIELD_NAMES } from "./field-names.ts";
import type { EventRow } from "./history.ts";

const DOWN_REASONS = {
  timeout: "went down: no ping before the deadline",
  fail: "went down: the job reported a failure",
  success: "went down",
} as const;

const EVENT_SENTENCES: Readonly<Record<string, string>> = {
  paused: "was paused",
  resumed: "was resumed",
  edited: "was edited",
  not_observed: "monitoring gap: pings couldn't be received, so no alerts were sent",
};

const TAKEN_BACK = "corrected: a ping was received in time";

/** Events searched for one download; limits the load on the database. */
export const EVENTS_IN_FILE_MAX = 10_000;

/** "went down: no ping before the deadline", and whether it was corrected. */
export function eventSentence(event: Exclude<EventRow, { type: "signal" }>): string {
  if (event.type === "flip") {
    const change = event.to === "up" ? "came up" : DOWN_REASONS[event.reason];
    return event.takenBackAt === null ? change : `${change}; ${TAKEN_BACK}`;
  }
  const known = EVENT_SENTENCES[event.kind] ?? event.kind.replaceAll("_", " ");
  const fields = event.kind === "edited" ? editedFields(event.detail) : [];
  return fields.length === 0 ? known : `${known}: ${fields.join(", ")}`;
}

function editedFields(detail: Readonly<Record<string, unknown>>): string[] {
  const { after } = detail;
  if (typeof after !== "object" || after === null) return [];
  return Object.keys(after).map(
    (name) => FIELD_NAMES[name] ?? name.replaceAll(/([A-Z])/g, " $1").toLowerCase(),
  );
}
