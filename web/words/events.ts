// What the log of a project says: one sentence for each thing that happened.
import type { ProjectEvent } from "../../src/contract/web/history.ts";

export const eventsWords = {
  tab: "Events",
  title: (count: number) => (count === 0 ? "Nothing has happened yet" : "What happened"),
  filter: "Show",
  filters: { all: "everything", flip: "up and down", event: "changes and gaps" },
  search: "Search by check or text",
  searchLabel: "Search events",
  older: "Older events",
  noOlder: "That is everything that is kept.",
  nothing: {
    title: "This fills by itself",
    text: "Checks that go down or come up, pauses, edits and times we could not observe are listed here.",
  },
  noMatch: { title: "Nothing matches", text: "Try other words, or show everything." },
  columns: { when: "When", check: "Check", what: "What", by: "By" },
  download: "Download as CSV",
  takenBack: "taken back: a signal had been received in time",
  unnamed: "unnamed",
} as const;

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
