// The log: the newest signals of each check. A row is found by its check alone, since only the newest few
// hundred of one are ever kept; see docs/decisions for the figures behind that.
import type { Instant } from "../../core/instant.ts";
import type { SignalKind } from "../../core/signal.ts";
import { type Db, statement } from "../db.ts";
import type { EndedRun } from "./run-packing.ts";
import type { Tx } from "../transaction.ts";
import { sqlInstant, toNumberArray, toTextArray, toTimestamp } from "../values.ts";

/** A logged signal. */
export type Ping = {
  checkId: number;
  /** Counts from 1, without gap or repeat. */
  n: number;
  at: Instant;
  kind: SignalKind;
  /** Of the run that it ended, when that is known. */
  durationMs: number | null;
  scheme: string;
  method: string;
  remoteAddr: string | null;
  ua: string;
  rid: string | null;
  exitStatus: number | null;
  /** Bytes that are kept of its body; null when it had none. */
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

const CODES = { success: "s", start: "b", fail: "f", log: "l", ign: "i" } as const satisfies Record<
  SignalKind,
  string
>;
const KINDS = new Map(Object.entries(CODES).map(([kind, code]) => [code as string, kind as SignalKind]));

const COLUMNS =
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

const INSERT = statement({
  name: "pings.insert",
  text: `insert into pings (${COLUMNS})
    select check_id, n, ${sqlInstant("at")}, kind, duration_ms, scheme, method, remote_addr, ua, rid,
      exit_status, body_size
    from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::"char"[], $5::bigint[], $6::text[], $7::text[],
      $8::text[], $9::text[], $10::uuid[], $11::smallint[], $12::int[]) as p (${COLUMNS})`,
});

/** Adds rows to the log. Their numbers are the caller's: it holds the locks on the states they count in. */
export async function insertPings(tx: Tx, pings: readonly Ping[]): Promise<void> {
  const numbers = (value: (of: Ping) => number | null) => toNumberArray(pings.map(value));
  const texts = (value: (of: Ping) => string | null) => toTextArray(pings.map(value));
  await tx.query(INSERT, [
    numbers((ping) => ping.checkId),
    numbers((ping) => ping.n),
    numbers((ping) => ping.at),
    texts((ping) => CODES[ping.kind]),
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

const LIST = statement<PingRow>({
  name: "pings.list",
  text: `select ${COLUMNS} from pings where check_id = $1 and n > $2 order by n desc limit $3`,
});

/** The newest pings of a check with numbers above `afterN`, newest first, at most `limit`. */
export async function listPings(
  db: Db,
  page: { checkId: number; afterN: number; limit: number },
): Promise<Ping[]> {
  return (await db.query(LIST, [page.checkId, page.afterN, page.limit])).rows.map(toPing);
}

const FIND = statement<PingRow>({
  name: "pings.find",
  text: `select ${COLUMNS} from pings where check_id = $1 and n = $2`,
});

/**
 * One ping by its number; null when it was never there or has been trimmed.
 *
 * @internal Only tests use it.
 */
export async function findPing(db: Db, { checkId, n }: { checkId: number; n: number }): Promise<Ping | null> {
  const { rows } = await db.query(FIND, [checkId, n]);
  return rows[0] === undefined ? null : toPing(rows[0]);
}

const FIND_LAST = statement<PingRow>({
  name: "pings.find_last",
  text: `select last.* from unnest($1::bigint[], $2::bigint[]) as wanted (check_id, at)
    cross join lateral (
      select ${COLUMNS} from pings p
      where p.check_id = wanted.check_id and p.at <= ${sqlInstant("wanted.at")} order by p.n desc limit 1
    ) as last`,
});

/** For each of these checks, given once, the newest logged ping at an instant; without one it is left out. */
export async function findLastPings(
  db: Db,
  moments: readonly { checkId: number; at: Instant }[],
): Promise<Ping[]> {
  const { rows } = await db.query(FIND_LAST, [
    toNumberArray(moments.map(({ checkId }) => checkId)),
    toNumberArray(moments.map(({ at }) => at)),
  ]);
  return rows.map(toPing);
}

type RunRow = Pick<PingRow, "check_id" | "n" | "at" | "kind" | "duration_ms">;

function toEndedRuns(rows: RunRow[]): (EndedRun & { checkId: number })[] {
  return rows
    .filter(({ kind }) => kind === CODES.success || kind === CODES.fail)
    .toSorted((a, b) => a.check_id - b.check_id || a.n - b.n)
    .map((row) => ({
      checkId: row.check_id,
      endAt: row.at,
      outcome: row.kind === CODES.success ? "success" : "fail",
      durationMs: row.duration_ms,
    }));
}

const LIST_RUNS = statement<RunRow>({
  name: "pings.list_runs",
  text: `select check_id, n, at, kind, duration_ms from pings
    where check_id = $1 and kind in ('s', 'f') and at >= $2`,
});

/** The runs of a check that ended since an instant and are still in the log, oldest first. */
export async function listLoggedRuns(
  db: Db,
  { checkId, from }: { checkId: number; from: Instant },
): Promise<EndedRun[]> {
  const runs = toEndedRuns((await db.query(LIST_RUNS, [checkId, toTimestamp(from)])).rows);
  return runs.map(({ endAt, outcome, durationMs }) => ({ endAt, outcome, durationMs }));
}

const TRIM = statement<RunRow>({
  name: "pings.trim",
  text: `delete from pings p using unnest($1::bigint[], $2::bigint[]) as t (check_id, through)
    where p.check_id = t.check_id and p.n <= t.through
    returning p.check_id, p.n, p.at, p.kind, p.duration_ms`,
});

/** Removes the pings up to a number, for several checks, and returns the runs that leave the log with them. */
export async function trimPings(
  tx: Tx,
  trims: readonly { checkId: number; through: number }[],
): Promise<(EndedRun & { checkId: number })[]> {
  const { rows } = await tx.query(TRIM, [
    trims.map((trim) => trim.checkId),
    trims.map((trim) => trim.through),
  ]);
  return toEndedRuns(rows);
}

const DELETE_OF_CHECK = statement({
  name: "pings.delete_of_check",
  text: "delete from pings where check_id = $1",
});

/** Removes the log of a check that is deleted for good, or whose history is cleared. */
export async function deletePingsOfCheck(tx: Tx, checkId: number): Promise<void> {
  await tx.query(DELETE_OF_CHECK, [checkId]);
}
