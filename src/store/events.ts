// Events of a check other than pings and flips: pauses, resumes, edits, monitoring gaps.
import type { Instant } from "../core/instant.ts";
import { amongOldest, type Db, statement } from "./db.ts";
import { newestOfProject, type ProjectPage, projectPage } from "./flips.ts";
import type { Tx } from "./transaction.ts";
import { toNumberArray, toTimestamp } from "./values.ts";

export type CheckEvent = {
  id: number;
  checkId: number;
  at: Instant;
  /** One word, for instance `paused` or `not_observed`. */
  kind: string;
  /** The account; null if none. */
  accountId: number | null;
  /** Details by kind, as JSON. */
  detail: Readonly<Record<string, unknown>>;
};

type EventRow = {
  id: number;
  check_id: number;
  at: Instant;
  kind: string;
  account_id: number | null;
  detail: Record<string, unknown>;
};

function toEvent(row: EventRow): CheckEvent {
  return {
    id: row.id,
    checkId: row.check_id,
    at: row.at,
    kind: row.kind,
    accountId: row.account_id,
    detail: row.detail,
  };
}

const INSERT = statement({
  name: "events.insert",
  text: `insert into events (check_id, at, kind, account_id, detail)
    select n.check_id, n.at, n.kind, n.account_id, n.detail
    from unnest($1::bigint[], $2::timestamptz[], $3::text[], $4::bigint[], $5::jsonb[])
      with ordinality as n (check_id, at, kind, account_id, detail, position)
    order by n.position`,
});

/** Adds events, in this order. */
export async function insertEvents(tx: Tx, events: readonly Omit<CheckEvent, "id">[]): Promise<void> {
  await tx.query(INSERT, [
    events.map((event) => event.checkId),
    events.map((event) => toTimestamp(event.at)),
    events.map((event) => event.kind),
    events.map((event) => event.accountId),
    events.map((event) => JSON.stringify(event.detail)),
  ]);
}

const LIST = statement<EventRow>({
  name: "events.list",
  text: `select id, check_id, at, kind, account_id, detail from events
    where check_id = $1 and ($2::timestamptz is null or at >= $2) and ($3::timestamptz is null or at < $3)
      and ($4::text is null or kind = $4)
    order by at desc, id desc limit $5`,
});

/** The newest events of a check in [from, before), at most `limit`; an absent end is open, an absent kind is any. */
export async function listEvents(
  db: Db,
  range: { checkId: number; from?: Instant; before?: Instant; kind?: string; limit: number },
): Promise<CheckEvent[]> {
  const { checkId, from = null, before = null, kind = null, limit } = range;
  const { rows } = await db.query(LIST, [checkId, toTimestamp(from), toTimestamp(before), kind, limit]);
  return rows.map(toEvent);
}

const LIST_EDITS = statement<EventRow>({
  name: "events.list_edits",
  text: `select id, check_id, at, kind, account_id, detail from events
    where check_id = any ($1::bigint[]) and at > $2 and kind = 'edited'
    order by at desc, id desc limit $3`,
});

/** The newest edits of these checks after an instant, at most `limit`. */
export async function listEdits(
  db: Db,
  { checkIds, after, limit }: { checkIds: readonly number[]; after: Instant; limit: number },
): Promise<CheckEvent[]> {
  const { rows } = await db.query(LIST_EDITS, [toNumberArray(checkIds), toTimestamp(after), limit]);
  return rows.map(toEvent);
}

const LIST_OF_PROJECT = statement<EventRow>({
  name: "events.list_of_project",
  text: newestOfProject({ table: "events", columns: "id, check_id, at, kind, account_id, detail" }),
});

/** The newest events of a project's checks, newest first, in [from, before); an absent end is open. */
export async function listEventsOfProject(db: Db, page: ProjectPage): Promise<CheckEvent[]> {
  return (await db.query(LIST_OF_PROJECT, projectPage(page))).rows.map(toEvent);
}

const PRUNE = statement({
  name: "events.prune",
  text: `delete from events where ${amongOldest("events")}`,
});

/** Deletes those of the `limit` oldest rows from before an instant; returns how many. */
export async function pruneEvents(
  tx: Tx,
  { before, limit }: { before: Instant; limit: number },
): Promise<number> {
  return (await tx.query(PRUNE, [toTimestamp(before), limit])).count;
}

const DELETE_OF_CHECK = statement({
  name: "events.delete_of_check",
  text: "delete from events where check_id = $1",
});

/** Deletes the events of a check. */
export async function deleteEventsOfCheck(tx: Tx, checkId: number): Promise<void> {
  await tx.query(DELETE_OF_CHECK, [checkId]);
}
