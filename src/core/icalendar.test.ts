import { expect, test } from "vitest";
import { calendarText } from "./icalendar.ts";

const STAMP = Date.UTC(2026, 10, 18);
const event = {
  uid: "a@overdue",
  date: "2027-03-28",
  summary: "backup, ledger; 100% \\ done",
  description: "One\nTwo",
  url: "https://overdue.example.org/",
};

test("an event has the required properties, with escaped texts", () => {
  const text = calendarText([event], { name: "Nordlight", stamp: STAMP });
  expect(text.split("\r\n")).toEqual([
    "BEGIN:VCALENDAR",
    "VERSION:2.0",
    "PRODID:-//Overdue//Forecast//EN",
    "CALSCALE:GREGORIAN",
    "METHOD:PUBLISH",
    "X-WR-CALNAME:Nordlight",
    "REFRESH-INTERVAL;VALUE=DURATION:P1D",
    "BEGIN:VEVENT",
    "UID:a@overdue",
    "DTSTAMP:20261118T000000Z",
    "DTSTART;VALUE=DATE:20270328",
    "SUMMARY:backup\\, ledger\\; 100% \\\\ done",
    "DESCRIPTION:One\\nTwo",
    "URL:https://overdue.example.org/",
    "TRANSP:TRANSPARENT",
    "END:VEVENT",
    "END:VCALENDAR",
    "",
  ]);
});

test("long lines are folded between characters, at 75 bytes", () => {
  const summary = "🦉ä".repeat(60);
  const text = calendarText([{ ...event, summary }], { name: "", stamp: STAMP });
  for (const line of text.split("\r\n")) expect(Buffer.byteLength(line)).toBeLessThanOrEqual(75);
  expect(text.replaceAll("\r\n ", "")).toContain(`SUMMARY:${summary}\r\n`);
});

test("names cannot add lines or control characters", () => {
  const text = calendarText([{ ...event, summary: "a\r\nEND:VCALENDAR\u0007\rb" }], {
    name: "",
    stamp: STAMP,
  });
  expect(text).toContain("SUMMARY:a\\nEND:VCALENDAR \\nb\r\n");
});
