// The log of a check, and of a project: signals, changes to up and down, and what else happened, newest first.
import type {
  EventRow,
  EventsPage,
  EventType,
  ProjectEvent,
  ProjectEventsPage,
} from "../../../contract/web/history.ts";
import type { CheckWithState } from "../../../store/checks/checks.ts";
import { findChecksByIds } from "../../../store/checks/checks.ts";
import type { Database } from "../../../store/db.ts";
import { type CheckEvent, listEvents, listEventsOfProject } from "../../../store/history/events.ts";
import { listFlips, listFlipsOfProject } from "../../../store/history/flips.ts";
import { findAccountById } from "../../../store/accounts/projects.ts";
import type { WebHouse } from "../house.ts";
import { FLIPS_READ_MAX, readExcerpts, readLog } from "./kept-log.ts";
import { toldFlip } from "./told.ts";

const EVENTS_PER_PAGE = 100;

export type EventsAsked = { before: number | null; types: readonly EventType[] };

type Named = (accountId: number | null) => string | null;

/** A page of a check's log. */
export async function readEvents(
  house: WebHouse,
  check: CheckWithState,
  { before, types }: EventsAsked,
): Promise<EventsPage> {
  const range = before === null ? {} : { before };
  const [log, flips, events] = await Promise.all([
    types.includes("signal") ? readLog(house, check) : [],
    types.includes("flip")
      ? listFlips(house.database, { checkId: check.id, ...range, limit: FLIPS_READ_MAX })
      : [],
    types.includes("event")
      ? listEvents(house.database, { checkId: check.id, ...range, limit: EVENTS_PER_PAGE + 1 })
      : [],
  ]);
  const signals = log.filter(({ at }) => before === null || at < before).slice(0, EVENTS_PER_PAGE + 1);
  const excerpts = await readExcerpts(house, { checkId: check.id, pings: signals });
  const named = await namesOf(house.database, events);
  return pageOf([
    ...signals.map(
      ({ at, n, kind, exitStatus, durationMs, scheme, method, remoteAddr }): EventRow => ({
        type: "signal",
        at,
        n,
        kind,
        exitStatus,
        durationMs,
        source: [scheme === "email" ? scheme : `${scheme} ${method}`, remoteAddr]
          .filter(Boolean)
          .join(" from "),
        excerpt: excerpts.get(n) ?? null,
      }),
    ),
    ...flips.map((flip): EventRow => ({ type: "flip", ...toldFlip(flip) })),
    ...events.map((event) => toldEvent(event, named)),
  ]);
}

/** A page of what happened to the checks of a project. */
export async function readProjectEvents(
  { database }: WebHouse,
  { projectId, before, types }: EventsAsked & { projectId: number },
): Promise<ProjectEventsPage> {
  const page = { projectId, limit: EVENTS_PER_PAGE + 1, ...(before !== null && { before }) };
  const [flips, events] = await Promise.all([
    types.includes("flip") ? listFlipsOfProject(database, page) : [],
    types.includes("event") ? listEventsOfProject(database, page) : [],
  ]);
  const ids = [...new Set([...flips, ...events].map(({ checkId }) => checkId))];
  const checks = new Map((await findChecksByIds(database, ids)).map((check) => [check.id, check]));
  const named = await namesOf(database, events);
  const about = (checkId: number) => {
    const check = checks.get(checkId);
    return { check: { id: check?.uuid ?? "", name: check?.settings.name ?? "" } };
  };
  return pageOf<ProjectEvent>([
    ...flips.map((flip) => ({ type: "flip" as const, ...toldFlip(flip), ...about(flip.checkId) })),
    ...events.map((event) => ({ ...toldEvent(event, named), ...about(event.checkId) })),
  ]);
}

/** The newest of them, and where older ones begin. What happened at one instant is not parted. */
function pageOf<Row extends { at: number }>(rows: readonly Row[]): { events: Row[]; before: number | null } {
  const sorted = rows.toSorted((one, other) => other.at - one.at);
  const last = sorted[EVENTS_PER_PAGE - 1];
  if (last === undefined || sorted.length === EVENTS_PER_PAGE) return { events: sorted, before: null };
  return { events: sorted.filter(({ at }) => at >= last.at), before: last.at };
}

function toldEvent({ id, at, kind, accountId, detail }: CheckEvent, named: Named) {
  return { type: "event" as const, id, at, kind, by: named(accountId), detail: { ...detail } };
}

async function namesOf(database: Database, events: readonly CheckEvent[]): Promise<Named> {
  const ids = new Set(events.map(({ accountId }) => accountId).filter((id) => id !== null));
  const accounts = await Promise.all([...ids].map((id) => findAccountById(database, id)));
  const names = new Map(
    accounts.flatMap((account) => (account === null ? [] : [[account.id, account.email]])),
  );
  return (accountId) => (accountId === null ? null : (names.get(accountId) ?? null));
}
