// What an event is called, in one sentence: on the page of events as well as in the file that is taken along from it,
// so that both are searched by the same words.
import type { ProjectEvent } from "./history.ts";

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
  deleted: "was deleted",
  restored: "was taken back",
  transferred: "was moved from another project",
  cleared: "had its events cleared",
};

/** "went down: nothing came until the deadline". */
export function eventSentence(event: ProjectEvent): string {
  if (event.type === "flip") {
    return event.to === "up" ? "came up" : DOWN_REASONS[event.reason];
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
