// The event log of a check and of a project, newest first, and its download.
import type { ServerResponse } from "node:http";
import type {
  EventRow,
  EventsPage,
  EventType,
  ProjectEvent,
  ProjectEventsPage,
} from "../../contract/api/history.ts";
import { EVENTS_IN_FILE_MAX, eventSentence, formatCount } from "../../contract/api/words.ts";
import { csvLine } from "../../core/csv.ts";
import { type Instant, MINUTE_MS } from "../../core/instant.ts";
import { DEFAULT_TZ } from "../../core/limits.ts";
import { instantOfLocal } from "../../core/local-time.ts";
import { DATA_POLICY, SAFETY_HEADERS, writePieces } from "../../lib/http/response.ts";
import { findEmails } from "../../store/accounts.ts";
import { type CheckWithState, findCheckNames } from "../../store/checks.ts";
import type { Database } from "../../store/db.ts";
import { type CheckEvent, listEvents, listEventsOfProject } from "../../store/events.ts";
import { listFlips, listFlipsOfProject } from "../../store/flips.ts";
import { cursorText } from "./params.ts";
import type { ApiContext } from "./route.ts";
import { type HistoryContext, type KeptPing, presentFlip, readExcerpts, readLog } from "./runs.ts";

type EventsContext = Pick<ApiContext, "database" | "log">;

const EVENTS_PER_PAGE = 100;
/**
 * Events of one instant are not split between pages, so more than a page is read: this many may share the last instant.
 */
const READ_PER_PAGE = 2 * EVENTS_PER_PAGE;

/** Batches that one search request reads; the rest follows with the next page. */
const BATCHES_PER_SEARCH_MAX = 20;

export type EventsAsked = {
  before: number | null;
  types: readonly EventType[];
  /** Null: all kinds. */
  pingKinds: readonly string[] | null;
};

type Named = (accountId: number | null) => string | null;

/** A page of a check's log. */
export async function readEvents(
  context: HistoryContext,
  check: CheckWithState,
  { before, types, pingKinds }: EventsAsked,
): Promise<EventsPage> {
  const range = { checkId: check.id, ...(before !== null && { before }), limit: READ_PER_PAGE };
  const [log, flips, events] = await Promise.all([
    types.includes("ping") ? readLog(context, check) : [],
    types.includes("flip") ? listFlips(context.database, range) : [],
    types.includes("event") ? listEvents(context.database, range) : [],
  ]);
  const pings = log.filter(
    ({ at, kind }) => (before === null || at < before) && (pingKinds === null || pingKinds.includes(kind)),
  );
  const named = await namesOf(context.database, events);
  // What a ping caused is listed above the ping, even if both have the same time.
  const page = pageOf<EventRow>(
    [
      ...flips.map((flip): EventRow => ({ type: "flip", ...presentFlip(flip) })),
      ...events.map((event) => presentEvent(event, named)),
      ...pings.map(presentPing),
    ],
    EVENTS_PER_PAGE,
  );
  const shown = new Set(page.events.map((event) => (event.type === "ping" ? event.n : null)));
  const excerpts = await readExcerpts(context, {
    checkId: check.id,
    pings: pings.filter(({ n }) => shown.has(n)),
  });
  return { ...page, events: page.events.map((event) => withExcerpt(event, excerpts)) };
}

function presentPing(ping: KeptPing): EventRow {
  const { at, n, kind, exitStatus, durationMs, scheme, method, remoteAddr } = ping;
  const source = [scheme === "email" ? scheme : `${scheme} ${method}`, remoteAddr].filter(Boolean);
  return {
    type: "ping",
    at,
    n,
    kind,
    exitStatus,
    durationMs,
    source: source.join(" from "),
    excerpt: null,
  };
}

function withExcerpt(event: EventRow, excerpts: ReadonlyMap<number, string>): EventRow {
  return event.type === "ping" ? { ...event, excerpt: excerpts.get(event.n) ?? null } : event;
}

/** The filters of a project's events. */
export type ChosenEvents = {
  projectId: number;
  types: readonly EventType[];
  /** Text that must occur in the name of the check or in the sentence; empty: any. */
  text: string;
  from: Instant | null;
  /** The first instant after the requested range. */
  to: Instant | null;
};

/** The first and the last requested minute as instants. Both are included. */
export function rangeOf(range: {
  from?: string | undefined;
  to?: string | undefined;
  zone?: string | undefined;
}): Pick<ChosenEvents, "from" | "to"> {
  const { from, to, zone = DEFAULT_TZ } = range;
  return {
    from: from === undefined ? null : instantOfText(from, zone),
    to: to === undefined ? null : instantOfText(to, zone) + MINUTE_MS,
  };
}

/** "2026-11-15T03:00", as validated by the schema. */
function instantOfText(text: string, zone: string): Instant {
  const [year = 0, month = 1, day = 1, hour = 0, minute = 0] = text.split(/\D/).map(Number);
  return instantOfLocal({ year, month, day }, { minutes: hour * 60 + minute, zone });
}

/** A page of the events of a project. With a search text, a page may be shorter without being the last. */
export async function readProjectEvents(
  context: EventsContext,
  { before, ...chosen }: ChosenEvents & { before: string | null },
): Promise<ProjectEventsPage> {
  const found: ProjectEvent[] = [];
  let next = before;
  for (let batch = 0; batch < BATCHES_PER_SEARCH_MAX; batch += 1) {
    const page = await readEventBatch(context, { ...chosen, before: next, limit: EVENTS_PER_PAGE });
    found.push(...page.events);
    ({ next } = page);
    if (next === null || found.length >= EVENTS_PER_PAGE) break;
  }
  return { events: found, next };
}

/** Reads this many events, newest first, and returns those that match the search text, and where to continue. */
async function readEventBatch(
  { database }: EventsContext,
  asked: ChosenEvents & { before: string | null; limit: number },
): Promise<ProjectEventsPage> {
  const { projectId, types, from, to, limit } = asked;
  const cursor = asked.before === null ? null : readPlace(asked.before);
  const before = cursor?.at ?? to;
  const page = {
    projectId,
    limit: limit + 1,
    ...(from !== null && { from }),
    ...(before !== null && { before }),
  };
  const [flips, events] = await Promise.all([
    types.includes("flip") ? listFlipsOfProject(database, { ...page, beforeId: cursor?.flipId ?? 0 }) : [],
    types.includes("event") ? listEventsOfProject(database, { ...page, beforeId: cursor?.eventId ?? 0 }) : [],
  ]);
  const ids = [...new Set([...flips, ...events].map(({ checkId }) => checkId))];
  const checks = new Map((await findCheckNames(database, ids)).map((check) => [check.id, check]));
  const named = await namesOf(database, events);
  const about = (checkId: number) => {
    const check = checks.get(checkId);
    const { name = "", tz: zone = DEFAULT_TZ } = check ?? {};
    return { check: { id: check?.uuid ?? "", name, zone } };
  };
  const all: ProjectEvent[] = [
    ...flips.map((flip) => ({ type: "flip" as const, ...presentFlip(flip), ...about(flip.checkId) })),
    ...events.map((event) => ({ ...presentEvent(event, named), ...about(event.checkId) })),
  ];
  const read = all.toSorted((one, other) => other.at - one.at).slice(0, limit);
  return {
    // A check that was deleted in the meantime has no name.
    events: read.filter((event) => event.check.id !== "" && hasWords(event, asked.text)),
    next: all.length > limit ? placeAfter(read, cursor) : null,
  };
}

/**
 * A read position: everything after `at`, and of the events at that exact instant the flips and the events from these
 * ids on. A bulk action dates a thousand events alike, and so does a deadline that many checks share.
 */
type Place = { at: Instant; flipId: number; eventId: number };

function readPlace(text: string): Place {
  const [at = 0, flipId = 0, eventId = 0] = text.split(".").map(Number);
  return { at, flipId, eventId };
}

function placeAfter(read: readonly ProjectEvent[], before: Place | null): string {
  const at = read.at(-1)?.at ?? 0;
  const reached = before?.at === at ? before : null;
  const idOf = (type: ProjectEvent["type"]) => read.findLast((one) => one.type === type && one.at === at)?.id;
  const flipId = idOf("flip") ?? reached?.flipId ?? Number.MAX_SAFE_INTEGER;
  const eventId = idOf("event") ?? reached?.eventId ?? Number.MAX_SAFE_INTEGER;
  return `${at}.${flipId}.${eventId}`;
}

function hasWords(event: ProjectEvent, text: string): boolean {
  const wanted = text.trim().toLowerCase();
  return wanted === "" || `${event.check.name} ${eventSentence(event)}`.toLowerCase().includes(wanted);
}

/** The newest events, and where older ones begin. Events of one instant are not split between pages. */
function pageOf<Row extends { at: number }>(
  rows: readonly Row[],
  limit: number,
): { events: Row[]; next: string | null } {
  const sorted = rows.toSorted((one, other) => other.at - one.at);
  const last = sorted[limit - 1];
  if (last === undefined || sorted.length === limit) return { events: sorted, next: null };
  return { events: sorted.filter(({ at }) => at >= last.at), next: cursorText(last.at) };
}

function presentEvent({ id, at, kind, accountId, detail }: CheckEvent, named: Named) {
  return { type: "event" as const, id, at, kind, by: named(accountId), detail: { ...detail } };
}

async function namesOf(database: Database, events: readonly CheckEvent[]): Promise<Named> {
  const ids = new Set(events.map(({ accountId }) => accountId).filter((id) => id !== null));
  const names = ids.size === 0 ? new Map<number, string>() : await findEmails(database, [...ids]);
  return (accountId) => (accountId === null ? null : (names.get(accountId) ?? null));
}

// The download is streamed while it is read, in batches, which bounds its memory.

export type EventsFormat = "csv" | "json";

const BATCH = 1_000;

export type EventsFile = {
  format: EventsFormat;
  chosen: ChosenEvents;
  /** Maximum number of events that are searched; those that match the search text are sent. */
  readMax?: number;
};

type Format = {
  type: string;
  begin: string;
  row: (event: ProjectEvent) => string;
  between: string;
  /** `cutAfter`: the number of events searched if there are older ones; null: it is complete. */
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

/**
 * Sends the file. If the database fails in the middle, the connection is closed: a partial file must not look complete.
 */
export async function sendEventsFile(
  context: EventsContext,
  response: ServerResponse,
  { format, chosen, readMax = EVENTS_IN_FILE_MAX }: EventsFile,
): Promise<void> {
  const { type } = FORMATS[format];
  response.writeHead(200, {
    ...SAFETY_HEADERS,
    "Content-Type": type,
    "Content-Disposition": `attachment; filename="events.${format}"`,
    "Cache-Control": "no-store",
    "Content-Security-Policy": DATA_POLICY,
  });
  try {
    await writePieces(response, filePieces(context, { format, chosen, readMax }));
  } catch (error) {
    context.log.warn({ err: error }, "events download was cut short");
    response.destroy();
  }
}

async function* filePieces(
  context: EventsContext,
  { format, chosen, readMax }: Required<EventsFile>,
): AsyncGenerator<string> {
  const { begin, row, between, end } = FORMATS[format];
  yield begin;
  let before: string | null = null;
  let isFirst = true;
  const limit = Math.min(BATCH, readMax);
  for (let read = 0; read < readMax; read += limit) {
    const page = await readEventBatch(context, { ...chosen, before, limit });
    const text = page.events.map(row).join(between);
    if (text !== "") yield isFirst ? text : between + text;
    isFirst &&= text === "";
    before = page.next;
    if (before === null) return yield end(null);
  }
  yield end(readMax);
}

/** A spreadsheet has no other place for this note than a line of its own. */
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
        retractedAt: event.retractedAt === null ? null : isoTime(event.retractedAt),
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
