// The events of a project as a file, for a spreadsheet or for a program. It is sent while it is read, in batches, so that
// it takes no memory to speak of, and it has an end.
import type { ServerResponse } from "node:http";
import { EVENTS_IN_FILE_MAX, eventSentence } from "../../../contract/web/event-sentence.ts";
import type { ProjectEvent } from "../../../contract/web/history.ts";
import { formatCount } from "../../../contract/web/list-words.ts";
import { SAFETY_HEADERS } from "../../../lib/http/answer.ts";
import { writePieces } from "../../../lib/http/write-pieces.ts";
import type { WebHouse } from "../house.ts";
import { type ChosenEvents, readEventBatch } from "./events.ts";

export type EventsFormat = "csv" | "json";

const BATCH = 1_000;

export type EventsFile = {
  format: EventsFormat;
  chosen: ChosenEvents;
  /** So many events are looked through; those of them that have the wanted words are sent. */
  readMax?: number;
};

type Format = {
  type: string;
  begin: string;
  row: (event: ProjectEvent) => string;
  between: string;
  /** `cutAfter`: so many events were looked through, and there are older ones; null: it is complete. */
  end: (cutAfter: number | null) => string;
};

const FORMATS: Readonly<Record<EventsFormat, Format>> = {
  csv: {
    type: "text/csv; charset=utf-8",
    begin: csvLine(["When", "Check", "Event", "By"]),
    row: (event) => csvLine([isoTime(event.at), event.check.name, eventSentence(event), byOf(event) ?? ""]),
    between: "",
    end: (cutAfter) => (cutAfter === null ? "" : csvLine(["", "", cutSentence(cutAfter), ""])),
  },
  json: {
    type: "application/json; charset=utf-8",
    begin: '{"events":[\n',
    row: (event) => JSON.stringify(jsonOf(event)),
    between: ",\n",
    end: (cutAfter) => `\n],"isComplete":${cutAfter === null}}\n`,
  },
};

/** Sends the file. When the database fails on the way, the connection is cut: half a file must not look whole. */
export async function sendEventsFile(
  house: WebHouse,
  response: ServerResponse,
  { format, chosen, readMax = EVENTS_IN_FILE_MAX }: EventsFile,
): Promise<void> {
  const { type } = FORMATS[format];
  response.writeHead(200, {
    ...SAFETY_HEADERS,
    "Content-Type": type,
    "Content-Disposition": `attachment; filename="events.${format}"`,
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
  });
  try {
    await writePieces(response, filePieces(house, { format, chosen, readMax }));
  } catch (error) {
    house.log.warn({ err: error }, "events download was cut short");
    response.destroy();
  }
}

async function* filePieces(
  house: WebHouse,
  { format, chosen, readMax }: Required<EventsFile>,
): AsyncGenerator<string> {
  const { begin, row, between, end } = FORMATS[format];
  yield begin;
  let before: string | null = null;
  let isFirst = true;
  const limit = Math.min(BATCH, readMax);
  for (let read = 0; read < readMax; read += limit) {
    const page = await readEventBatch(house, { ...chosen, before, limit });
    const text = page.events.map(row).join(between);
    if (text !== "") yield isFirst ? text : between + text;
    isFirst &&= text === "";
    ({ before } = page);
    if (before === null) return yield end(null);
  }
  yield end(readMax);
}

/** A spreadsheet has no other place for it than a line of its own. */
function cutSentence(readMax: number): string {
  return `Incomplete: only the latest ${formatCount(readMax)} events were searched. There are older ones.`;
}

function jsonOf({ at, check, ...event }: ProjectEvent): object {
  const what = eventSentence({ at, ...event });
  return event.type === "flip"
    ? {
        at: isoTime(at),
        check,
        what,
        type: event.type,
        to: event.to,
        reason: event.reason,
        takenBackAt: event.takenBackAt === null ? null : isoTime(event.takenBackAt),
      }
    : {
        at: isoTime(at),
        check,
        what,
        type: event.type,
        kind: event.kind,
        by: event.by,
        detail: event.detail,
      };
}

function byOf(event: ProjectEvent): string | null {
  return event.type === "event" ? event.by : null;
}

function isoTime(at: number): string {
  return new Date(at).toISOString();
}

function csvLine(cells: readonly string[]): string {
  return `${cells.map(csvCell).join(",")}\r\n`;
}

/** Quoted; and what a spreadsheet would take for a formula is made text. */
function csvCell(text: string): string {
  const plain = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return `"${plain.replaceAll('"', '""')}"`;
}
