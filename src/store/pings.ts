// The ping log, bodies of pings, and moving bodies to an object store. A row is found by its check alone, because
// only the newest few hundred of a check are kept; see docs/decisions.
import type { Instant } from "../core/instant.ts";
import { MOVABLE_BODY_BYTES_MIN } from "../core/limits.ts";
import type { SignalKind } from "../core/signal.ts";
import { type Db, statement } from "./db.ts";
import type { EndedRun } from "./runs.ts";
import type { Tx } from "./transaction.ts";
import { sqlInstant, toNumberArray, toTextArray, toTimestamp } from "./values.ts";

/** A logged signal. */
export type Ping = {
  checkId: number;
  /** Counts from 1 without gaps. */
  n: number;
  at: Instant;
  kind: SignalKind;
  /** Duration of the run that it ended, if known. */
  durationMs: number | null;
  scheme: string;
  method: string;
  remoteAddr: string | null;
  ua: string;
  rid: string | null;
  exitStatus: number | null;
  /** Stored bytes of its body; null if it had none. */
  bodySize: number | null;
};

type PingRow = {
  check_id: number;
  n: number;
  at: Instant;
  kind: string;
  duration_ms: number | null;
  scheme: string;
  method: string;
  remote_addr: string | null;
  ua: string;
  rid: string | null;
  exit_status: number | null;
  body_size: number | null;
};

export const PING_CODES = {
  success: "s",
  start: "b",
  fail: "f",
  log: "l",
  ign: "i",
} as const satisfies Record<SignalKind, string>;
const KINDS = new Map(Object.entries(PING_CODES).map(([kind, code]) => [code as string, kind as SignalKind]));

const PING_COLUMNS =
  "check_id, n, at, kind, duration_ms, scheme, method, remote_addr, ua, rid, exit_status, body_size";

function toPing(row: PingRow): Ping {
  return {
    checkId: row.check_id,
    n: row.n,
    at: row.at,
    kind: toKind(row.kind),
    durationMs: row.duration_ms,
    scheme: row.scheme,
    method: row.method,
    remoteAddr: row.remote_addr,
    ua: row.ua,
    rid: row.rid,
    exitStatus: row.exit_status,
    bodySize: row.body_size,
  };
}

function toKind(code: string): SignalKind {
  const kind = KINDS.get(code);
  if (kind === undefined) throw new Error(`a ping of unknown kind: ${code}`);
  return kind;
}

const INSERT_PINGS = statement({
  name: "pings.insert",
  text: `insert into pings (${PING_COLUMNS})
    select check_id, n, ${sqlInstant("at")}, kind, duration_ms, scheme, method, remote_addr, ua, rid,
      exit_status, body_size
    from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::"char"[], $5::bigint[], $6::text[], $7::text[],
      $8::text[], $9::text[], $10::uuid[], $11::smallint[], $12::int[]) as p (${PING_COLUMNS})`,
});

/** Inserts pings. The caller assigns their numbers under the lock of the state. */
export async function insertPings(tx: Tx, pings: readonly Ping[]): Promise<void> {
  const numbers = (value: (of: Ping) => number | null) => toNumberArray(pings.map(value));
  const texts = (value: (of: Ping) => string | null) => toTextArray(pings.map(value));
  await tx.query(INSERT_PINGS, [
    numbers((ping) => ping.checkId),
    numbers((ping) => ping.n),
    numbers((ping) => ping.at),
    texts((ping) => PING_CODES[ping.kind]),
    numbers((ping) => ping.durationMs),
    texts((ping) => ping.scheme),
    texts((ping) => ping.method),
    texts((ping) => ping.remoteAddr),
    texts((ping) => ping.ua),
    texts((ping) => ping.rid),
    numbers((ping) => ping.exitStatus),
    numbers((ping) => ping.bodySize),
  ]);
}

const LIST_PINGS = statement<PingRow>({
  name: "pings.list",
  text: `select ${PING_COLUMNS} from pings where check_id = $1 and n > $2 order by n desc limit $3`,
});

/** The newest pings of a check with numbers above `afterN`, newest first, at most `limit`. */
export async function listPings(
  db: Db,
  page: { checkId: number; afterN: number; limit: number },
): Promise<Ping[]> {
  return (await db.query(LIST_PINGS, [page.checkId, page.afterN, page.limit])).rows.map(toPing);
}

const FIND_PING = statement<PingRow>({
  name: "pings.find",
  text: `select ${PING_COLUMNS} from pings where check_id = $1 and n = $2`,
});

/** One ping by its number; null if it does not exist or has been trimmed. @internal Only tests use it. */
export async function findPing(db: Db, { checkId, n }: { checkId: number; n: number }): Promise<Ping | null> {
  const { rows } = await db.query(FIND_PING, [checkId, n]);
  return rows[0] === undefined ? null : toPing(rows[0]);
}

const FIND_LAST_PINGS = statement<PingRow>({
  name: "pings.find_last",
  text: `select last.* from unnest($1::bigint[], $2::bigint[]) as wanted (check_id, at)
    cross join lateral (
      select ${PING_COLUMNS} from pings p
      where p.check_id = wanted.check_id and p.at <= ${sqlInstant("wanted.at")} order by p.n desc limit 1
    ) as last`,
});

/** For each of these checks, given once, the newest logged ping at an instant; checks without one are left out. */
export async function findLastPings(
  db: Db,
  moments: readonly { checkId: number; at: Instant }[],
): Promise<Ping[]> {
  const { rows } = await db.query(FIND_LAST_PINGS, [
    toNumberArray(moments.map(({ checkId }) => checkId)),
    toNumberArray(moments.map(({ at }) => at)),
  ]);
  return rows.map(toPing);
}

type RunRow = Pick<PingRow, "check_id" | "n" | "at" | "kind" | "duration_ms">;

function toEndedRuns(rows: RunRow[]): (EndedRun & { checkId: number })[] {
  return rows
    .filter(({ kind }) => kind === PING_CODES.success || kind === PING_CODES.fail)
    .toSorted((a, b) => a.check_id - b.check_id || a.n - b.n)
    .map((row) => ({
      checkId: row.check_id,
      endAt: row.at,
      outcome: row.kind === PING_CODES.success ? "success" : "fail",
      durationMs: row.duration_ms,
    }));
}

const LIST_LOGGED_RUNS = statement<RunRow>({
  name: "pings.list_runs",
  text: `select check_id, n, at, kind, duration_ms from pings
    where check_id = $1 and kind in ('s', 'f') and at >= $2`,
});

/** The runs of a check that ended since an instant and are still in the log, oldest first. */
export async function listLoggedRuns(
  db: Db,
  { checkId, from }: { checkId: number; from: Instant },
): Promise<EndedRun[]> {
  const runs = toEndedRuns((await db.query(LIST_LOGGED_RUNS, [checkId, toTimestamp(from)])).rows);
  return runs.map(({ endAt, outcome, durationMs }) => ({ endAt, outcome, durationMs }));
}

const TRIM_PINGS = statement<RunRow>({
  name: "pings.trim",
  text: `delete from pings p using unnest($1::bigint[], $2::bigint[]) as t (check_id, through)
    where p.check_id = t.check_id and p.n <= t.through
    returning p.check_id, p.n, p.at, p.kind, p.duration_ms`,
});

/** Deletes the pings up to a number, for several checks, and returns the runs that leave the log with them. */
export async function trimPings(
  tx: Tx,
  trims: readonly { checkId: number; through: number }[],
): Promise<(EndedRun & { checkId: number })[]> {
  const { rows } = await tx.query(TRIM_PINGS, [
    trims.map((trim) => trim.checkId),
    trims.map((trim) => trim.through),
  ]);
  return toEndedRuns(rows);
}

// The rows are found before any of them is locked: recording waits for a locked row, and finding them can take a while.
const PRUNE_PINGS = statement<RunRow>({
  name: "pings.prune",
  text: `delete from pings where ctid = any (array(
      select ctid from pings where ctid = any (array(
        select ctid from pings where check_id = any ($1::bigint[]) and at < $2 limit $3
      )) for update skip locked
    ))
    returning check_id, n, at, kind, duration_ms`,
});

/** Deletes at most `limit` pings of these checks from before an instant; returns how many, and the runs among them. */
export async function prunePings(
  tx: Tx,
  { checkIds, before, limit }: { checkIds: readonly number[]; before: Instant; limit: number },
): Promise<{ count: number; runs: (EndedRun & { checkId: number })[] }> {
  const { rows } = await tx.query(PRUNE_PINGS, [checkIds, toTimestamp(before), limit]);
  return { count: rows.length, runs: toEndedRuns(rows) };
}

const DELETE_PINGS_OF_CHECK = statement({
  name: "pings.delete_of_check",
  text: "delete from pings where check_id = $1",
});

/** Deletes the log of a check. */
export async function deletePingsOfCheck(tx: Tx, checkId: number): Promise<void> {
  await tx.query(DELETE_PINGS_OF_CHECK, [checkId]);
}

export type PingBody = { checkId: number; n: number; at: Instant; body: Buffer };

/** A stored body: its bytes or, after it was moved, the key of its object. */
export type KeptBody = { checkId: number; n: number; at: Instant } & (
  | { body: Buffer }
  | { body: null; objectKey: string }
);

type BodyRow = { check_id: number; n: number; at: Instant } & (
  | { body: Buffer; object_key: string | null }
  | { body: null; object_key: string }
);

const INSERT_BODIES = statement({
  name: "ping_bodies.insert",
  text: `insert into ping_bodies (check_id, n, at, body)
    select check_id, n, ${sqlInstant("at")}, substring($6::bytea from start for length)
    from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::int[], $5::int[])
      as b (check_id, n, at, start, length)`,
});

/** Inserts bodies of pings in the same transaction. An empty body is not stored. */
export async function insertBodies(tx: Tx, bodies: readonly PingBody[]): Promise<void> {
  // All bodies as one binary value; an array would be sent in hexadecimal.
  const starts: number[] = [];
  let end = 1;
  for (const { body } of bodies) {
    starts.push(end);
    end += body.length;
  }
  await tx.query(INSERT_BODIES, [
    toNumberArray(bodies.map((one) => one.checkId)),
    toNumberArray(bodies.map((one) => one.n)),
    toNumberArray(bodies.map((one) => one.at)),
    toNumberArray(starts),
    toNumberArray(bodies.map(({ body }) => body.length)),
    Buffer.concat(bodies.map(({ body }) => body)),
  ]);
}

const FIND_BODY = statement<BodyRow>({
  name: "ping_bodies.find",
  text: "select check_id, n, at, body, object_key from ping_bodies where check_id = $1 and n = $2",
});

/** The body of one ping or its object key; null if it had none or has been trimmed. */
export async function findBody(
  db: Db,
  { checkId, n }: { checkId: number; n: number },
): Promise<KeptBody | null> {
  const { rows } = await db.query(FIND_BODY, [checkId, n]);
  const [row] = rows;
  if (row === undefined) return null;
  const at = { checkId: row.check_id, n: row.n, at: row.at };
  return row.body === null ? { ...at, body: null, objectKey: row.object_key } : { ...at, body: row.body };
}

const LIST_BODY_STARTS = statement<{ n: number; start: Buffer }>({
  name: "ping_bodies.list_starts",
  text: `select n, substring(body from 1 for $3) as start from ping_bodies
    where check_id = $1 and n = any ($2::bigint[]) and body is not null`,
});

/** The beginnings of some bodies of a check, by ping number, without moved ones. */
export async function listBodyStarts(
  db: Db,
  { checkId, ns, bytes }: { checkId: number; ns: readonly number[]; bytes: number },
): Promise<Map<number, Buffer>> {
  const { rows } = await db.query(LIST_BODY_STARTS, [checkId, ns, bytes]);
  return new Map(rows.map(({ n, start }) => [n, start]));
}

// An object is not deleted while a mover may still be sending it.
const REMOVE_OBJECTS = `insert into object_removals (object_key, due_at)
  select object_key, moving_until from gone where object_key is not null`;

const TRIM_BODIES = statement({
  name: "ping_bodies.trim",
  text: `with gone as (
      delete from ping_bodies b
      using unnest($1::bigint[], $2::bigint[], $3::bigint[]) as t (check_id, through, keep_n)
      where b.check_id = t.check_id and b.n <= t.through and b.n is distinct from t.keep_n
      returning b.object_key, b.moving_until
    ) ${REMOVE_OBJECTS}`,
});

/**
 * Deletes the bodies up to a number, for several checks, except the one that each keeps. Their objects are
 * queued for deletion.
 */
export async function trimBodies(
  tx: Tx,
  trims: readonly { checkId: number; through: number; keepN: number | null }[],
): Promise<void> {
  await tx.query(TRIM_BODIES, [
    trims.map((trim) => trim.checkId),
    trims.map((trim) => trim.through),
    trims.map((trim) => trim.keepN),
  ]);
}

const PRUNE_BODIES = statement<{ count: number }>({
  name: "ping_bodies.prune",
  text: `with gone as (
      delete from ping_bodies where ctid = any (array(
        select ctid from ping_bodies where ctid = any (array(
          select ctid from ping_bodies where check_id = any ($1::bigint[]) and at < $2 limit $3
        )) for update skip locked
      ))
      returning object_key, moving_until
    ), removed as (${REMOVE_OBJECTS})
    select count(*) as count from gone`,
});

/** Deletes at most `limit` bodies of these checks from before an instant; returns how many. Their objects are queued. */
export async function pruneBodies(
  tx: Tx,
  { checkIds, before, limit }: { checkIds: readonly number[]; before: Instant; limit: number },
): Promise<number> {
  const { rows } = await tx.query(PRUNE_BODIES, [checkIds, toTimestamp(before), limit]);
  return rows[0]?.count ?? 0;
}

const DELETE_BODIES_OF_CHECK = statement({
  name: "ping_bodies.delete_of_check",
  text: `with gone as (
      delete from ping_bodies where check_id = $1 returning object_key, moving_until
    ) ${REMOVE_OBJECTS}`,
});

/** Deletes all bodies of a check. Their objects are queued for deletion. */
export async function deleteBodiesOfCheck(tx: Tx, checkId: number): Promise<void> {
  await tx.query(DELETE_BODIES_OF_CHECK, [checkId]);
}

export type MovableBody = {
  checkId: number;
  checkUuid: string;
  n: number;
  at: Instant;
  /** Set by an earlier attempt. */
  objectKey: string | null;
};

export type ClaimedBody = { checkId: number; n: number; objectKey: string };

type MovableRow = { check_id: number; uuid: string; n: number; at: Instant; object_key: string | null };

// The first condition makes the index usable, whatever the second one is.
const FIND_MOVABLE_BODIES = statement<MovableRow>({
  name: "ping_bodies.find_movable",
  text: `select b.check_id, c.uuid, b.n, b.at, b.object_key
    from ping_bodies b join checks c on c.id = b.check_id
    where octet_length(b.body) >= ${MOVABLE_BODY_BYTES_MIN} and octet_length(b.body) >= $1
      and (b.moving_until is null or b.moving_until <= $2)
    limit $3 for update of b skip locked`,
});

/**
 * Locks at most `limit` bodies of at least `bytesMin` bytes that no other mover holds. Nothing here waits for
 * a lock.
 */
export async function findMovableBodies(
  tx: Tx,
  { bytesMin, now, limit }: { bytesMin: number; now: Instant; limit: number },
): Promise<MovableBody[]> {
  const { rows } = await tx.query(FIND_MOVABLE_BODIES, [bytesMin, toTimestamp(now), limit]);
  return rows.map((row) => {
    return { checkId: row.check_id, checkUuid: row.uuid, n: row.n, at: row.at, objectKey: row.object_key };
  });
}

const CLAIMED_BODIES = `mine as (
    select b.check_id, b.n, t.object_key
    from ping_bodies b
    join unnest($1::bigint[], $2::bigint[], $3::text[]) as t (check_id, n, object_key)
      on b.check_id = t.check_id and b.n = t.n
    where b.body is not null and coalesce(b.object_key, t.object_key) = t.object_key
    for update of b skip locked
  )`;

const CLAIM_BODIES = statement({
  name: "ping_bodies.claim",
  text: `with ${CLAIMED_BODIES}
    update ping_bodies b set object_key = mine.object_key, moving_until = $4::timestamptz
    from mine where b.check_id = mine.check_id and b.n = mine.n`,
});

/**
 * Stores the object keys of bodies before they are sent, and until when the claim lasts. An instant in the
 * past releases it.
 */
export async function claimBodies(
  tx: Tx,
  { bodies, until }: { bodies: readonly ClaimedBody[]; until: Instant },
): Promise<number> {
  return (await tx.query(CLAIM_BODIES, [...bodyColumnsOf(bodies), toTimestamp(until)])).count;
}

const MARK_BODIES_MOVED = statement({
  name: "ping_bodies.mark_moved",
  text: `with ${CLAIMED_BODIES}
    update ping_bodies b set body = null
    from mine where b.check_id = mine.check_id and b.n = mine.n and b.object_key = mine.object_key`,
});

/** Deletes the bytes of bodies whose objects were confirmed; returns how many. */
export async function markBodiesMoved(tx: Tx, bodies: readonly ClaimedBody[]): Promise<number> {
  return (await tx.query(MARK_BODIES_MOVED, bodyColumnsOf(bodies))).count;
}

function bodyColumnsOf(bodies: readonly ClaimedBody[]): unknown[] {
  return [
    bodies.map(({ checkId }) => checkId),
    bodies.map(({ n }) => n),
    bodies.map(({ objectKey }) => objectKey),
  ];
}

export type ObjectRemoval = { id: number; objectKey: string };

type RemovalRow = { id: number; object_key: string };

const FIND_OBJECT_REMOVALS = statement<RemovalRow>({
  name: "object_removals.find_due",
  text: "select id, object_key from object_removals where due_at <= $1 order by id limit $2",
});

/** Objects without a body, longest known first. */
export async function findObjectRemovals(
  db: Db,
  { now, limit }: { now: Instant; limit: number },
): Promise<ObjectRemoval[]> {
  const { rows } = await db.query(FIND_OBJECT_REMOVALS, [toTimestamp(now), limit]);
  return rows.map(({ id, object_key: objectKey }) => ({ id, objectKey }));
}

const DELETE_OBJECT_REMOVALS = statement({
  name: "object_removals.forget",
  text: "delete from object_removals where id = any ($1::bigint[])",
});

/** Removes deleted objects from the queue; returns how many. */
export async function deleteObjectRemovals(tx: Tx, ids: readonly number[]): Promise<number> {
  return (await tx.query(DELETE_OBJECT_REMOVALS, [ids])).count;
}
