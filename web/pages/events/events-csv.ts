// The shown events as a file that any spreadsheet opens.
import type { ProjectEvent } from "../../../src/contract/web/history.ts";
import { eventSentence, eventsWords } from "../../words/events.ts";

/** The address of the file: it is made in the browser, and nobody is asked. */
export function csvAddress(events: readonly ProjectEvent[]): string {
  return `data:text/csv;charset=utf-8,${encodeURIComponent(csvOf(events))}`;
}

export function csvOf(events: readonly ProjectEvent[]): string {
  const { when, check, what, by } = eventsWords.columns;
  const rows = events.map((event) => [
    new Date(event.at).toISOString(),
    event.check.name,
    eventSentence(event),
    event.type === "event" ? (event.by ?? "") : "",
  ]);
  return [[when, check, what, by], ...rows].map((row) => `${row.map(cellOf).join(",")}\r\n`).join("");
}

/** Quoted; and what a spreadsheet would take for a formula is made text. */
function cellOf(text: string): string {
  const plain = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return `"${plain.replaceAll('"', '""')}"`;
}
