// The log of a check, and of a project: signals, changes to up and down, and what else happened, newest first.
import { eventSentence } from "../../../contract/web/event-sentence.ts";
import type {
  EventRow,
  EventsPage,
  EventType,
  ProjectEvent,
  ProjectEventsPage,
} from "../../../contract/web/history.ts";
import { instantOfLocal } from "../../../core/alerts/local-time.ts";
import { type Instant, MINUTE_MS } from "../../../core/instant.ts";
import { DEFAULT_TZ } from "../../../core/limits.ts";
import type { CheckWithState } from "../../../store/checks/checks.ts";
import { findCheckNames } from "../../../store/checks/checks.ts";
import type { Database } from "../../../store/db.ts";
import { type CheckEvent, listEvents, listEventsOfProject } from "../../../store/history/events.ts";
import { listFlips, listFlipsOfProject } from "../../../store/history/flips.ts";
import { findEmails } from "../../../store/accounts/accounts.ts";
import type { WebHouse } from "../house.ts";
import { type KeptPing, readExcerpts, readLog } from "./kept-log.ts";
import { toldFlip } from "./told.ts";

const EVENTS_PER_PAGE = 100;
/** What happened at one instant is not parted, so more than a page is read: so many may share its last instant. */
const READ_PER_PAGE = 2 * EVENTS_PER_PAGE;

/** While somebody waits for a word to be found, so many batches are looked through; the rest with the next page. */
const BATCHES_PER_SEARCH_MAX = 20;

export type EventsAsked = {
  before: number | null;
  types: readonly EventType[];
  /** Null, or not given: all kinds of them. */
  signals?: readonly string[] | null;
};

type Named = (accountId: number | null) => string | null;

/** A page of a check's log. */
export async function readEvents(
  house: WebHouse,
  check: CheckWithState,
  { before, types, signals: kinds = null }: EventsAsked,
): Promise<EventsPage> {
  const range = { checkId: check.id, ...(before !== null && { before }), limit: READ_PER_PAGE };
  const [log, flips, events] = await Promise.all([
    types.includes("signal") ? readLog(house, check) : [],
    types.includes("flip") ? listFlips(house.database, range) : [],
    types.includes("event") ? listEvents(house.database, range) : [],
  ]);
  const signals = log.filter(
    ({ at, kind }) => (before === null || at < before) && (kinds === null || kinds.includes(kind)),
  );
  const named = await namesOf(house.database, events);
  // What a signal caused is newer than the signal, if only by a blink.
  const page = pageOf<EventRow>(
    [
      ...flips.map((flip): EventRow => ({ type: "flip", ...toldFlip(flip) })),
      ...events.map((event) => toldEvent(event, named)),
      ...signals.map(toldSignal),
    ],
    EVENTS_PER_PAGE,
  );
  const shown = new Set(page.events.map((event) => (event.type === "signal" ? event.n : null)));
  const pings = signals.filter(({ n }) => shown.has(n));
  const excerpts = await readExcerpts(house, { checkId: check.id, pings });
  return { ...page, events: page.events.map((event) => withExcerpt(event, excerpts)) };
}

function toldSignal(ping: KeptPing): EventRow {
  const { at, n, kind, exitStatus, durationMs, scheme, method, remoteAddr } = ping;
  const source = [scheme === "email" ? scheme : `${scheme} ${method}`, remoteAddr].filter(Boolean);
  return {
    type: "signal",
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
  return event.type === "signal" ? { ...event, excerpt: excerpts.get(event.n) ?? null } : event;
}

/** Which events of a project are wanted. */
export type ChosenEvents = {
  projectId: number;
  types: readonly EventType[];
  /** Has to be in the name of the check or in the sentence; empty: anything. */
  text: string;
  from: Instant | null;
  /** The first instant that is not wanted any more. */
  to: Instant | null;
};

/** The first and the last wanted minute as instants. Both are wanted. */
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

/** "2026-11-15T03:00", as the schema has made sure of. */
function instantOfText(text: string, zone: string): Instant {
  const [year = 0, month = 1, day = 1, hour = 0, minute = 0] = text.split(/\D/).map(Number);
  return instantOfLocal({ year, month, day }, { minutes: hour * 60 + minute, zone });
}

/** A page of what happened to the checks of a project. Where a word is looked for, it may be shorter, and not the last. */
export async function readProjectEvents(
  house: WebHouse,
  { before, ...chosen }: ChosenEvents & { before: string | null },
): Promise<ProjectEventsPage> {
  const found: ProjectEvent[] = [];
  let next = before;
  for (let batch = 0; batch < BATCHES_PER_SEARCH_MAX; batch += 1) {
    const page = await readEventBatch(house, { ...chosen, before: next, limit: EVENTS_PER_PAGE });
    found.push(...page.events);
    next = page.before;
    if (next === null || found.length >= EVENTS_PER_PAGE) break;
  }
  return { events: found, before: next };
}

/** Reads so many events, newest first, and tells those of them that have the wanted words, and where to go on. */
export async function readEventBatch(
  { database }: WebHouse,
  asked: ChosenEvents & { before: string | null; limit: number },
): Promise<ProjectEventsPage> {
  const { projectId, types, from, to, limit } = asked;
  const told = asked.before === null ? null : readPlace(asked.before);
  const before = told?.at ?? to;
  const page = {
    projectId,
    limit: limit + 1,
    ...(from !== null && { from }),
    ...(before !== null && { before }),
  };
  const [flips, events] = await Promise.all([
    types.includes("flip") ? listFlipsOfProject(database, { ...page, beforeId: told?.flipId ?? 0 }) : [],
    types.includes("event") ? listEventsOfProject(database, { ...page, beforeId: told?.eventId ?? 0 }) : [],
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
    ...flips.map((flip) => ({ type: "flip" as const, ...toldFlip(flip), ...about(flip.checkId) })),
    ...events.map((event) => ({ ...toldEvent(event, named), ...about(event.checkId) })),
  ];
  const read = all.toSorted((one, other) => other.at - one.at).slice(0, limit);
  return {
    events: read.filter((event) => hasWords(event, asked.text)),
    before: all.length > limit ? placeAfter(read, told) : null,
  };
}

/**
 * How far somebody has read: everything after `at`, and of what happened at that very instant the flips and the events
 * from these ids on. A bulk act dates a thousand events alike, and so does a deadline that many checks share.
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

/** The newest of them, and where older ones begin. What happened at one instant is not parted. */
function pageOf<Row extends { at: number }>(
  rows: readonly Row[],
  limit: number,
): { events: Row[]; before: number | null } {
  const sorted = rows.toSorted((one, other) => other.at - one.at);
  const last = sorted[limit - 1];
  if (last === undefined || sorted.length === limit) return { events: sorted, before: null };
  return { events: sorted.filter(({ at }) => at >= last.at), before: last.at };
}

function toldEvent({ id, at, kind, accountId, detail }: CheckEvent, named: Named) {
  return { type: "event" as const, id, at, kind, by: named(accountId), detail: { ...detail } };
}

async function namesOf(database: Database, events: readonly CheckEvent[]): Promise<Named> {
  const ids = new Set(events.map(({ accountId }) => accountId).filter((id) => id !== null));
  const names = ids.size === 0 ? new Map<number, string>() : await findEmails(database, [...ids]);
  return (accountId) => (accountId === null ? null : (names.get(accountId) ?? null));
}
