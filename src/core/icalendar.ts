// Calendars as RFC 5545 defines them: all-day events with a summary and a description.
import type { Instant } from "./instant.ts";

export type CalendarEvent = {
  uid: string;
  /** "2027-03-28". */
  date: string;
  summary: string;
  description: string;
  url: string;
};

/** Bytes of a line without its end; longer ones are folded. */
const LINE_BYTES_MAX = 75;
const CRLF = "\r\n";

/** `stamp` is when the events were computed. */
export function calendarText(
  events: readonly CalendarEvent[],
  { name, stamp }: { name: string; stamp: Instant },
): string {
  const lines = [
    "BEGIN:VCALENDAR",
    "VERSION:2.0",
    "PRODID:-//Overdue//Forecast//EN",
    "CALSCALE:GREGORIAN",
    "METHOD:PUBLISH",
    `X-WR-CALNAME:${escaped(name)}`,
    "REFRESH-INTERVAL;VALUE=DURATION:P1D",
    ...events.flatMap((event) => eventLines(event, stamp)),
    "END:VCALENDAR",
  ];
  return lines.map((line) => folded(line) + CRLF).join("");
}

function eventLines({ uid, date, summary, description, url }: CalendarEvent, stamp: Instant): string[] {
  return [
    "BEGIN:VEVENT",
    `UID:${uid}`,
    `DTSTAMP:${new Date(stamp).toISOString().replace(/[-:]|\.\d+/g, "")}`,
    `DTSTART;VALUE=DATE:${date.replaceAll("-", "")}`,
    `SUMMARY:${escaped(summary)}`,
    `DESCRIPTION:${escaped(description)}`,
    `URL:${url}`,
    "TRANSP:TRANSPARENT",
    "END:VEVENT",
  ];
}

/** Control characters other than line breaks are not allowed in a text. */
function escaped(text: string): string {
  return text
    .replace(/\r\n?/g, "\n")
    .replace(/[^\P{Cc}\n\t]/gu, " ")
    .replace(/[\\;,]/g, (character) => `\\${character}`)
    .replaceAll("\n", "\\n");
}

/** Breaks a line between characters, so that no part is longer than 75 bytes in UTF-8. */
function folded(line: string): string {
  let text = "";
  let bytes = 0;
  for (const character of line) {
    const size = byteLength(character);
    if (bytes + size > LINE_BYTES_MAX) {
      text += `${CRLF} `;
      bytes = 1;
    }
    text += character;
    bytes += size;
  }
  return text;
}

function byteLength(character: string): number {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x80) return 1;
  if (code < 0x800) return 2;
  return code < 0x10000 ? 3 : 4;
}
