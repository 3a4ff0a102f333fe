// The layouts of the signal log that were considered. Each has its own table with the columns of the current one. The
// functions of the store write and read them all; only the table name differs.
import { FREE_PING_LOG_ROWS } from "../../src/core/limits.ts";
import { listPings } from "../../src/store/pings.ts";
import { type Aim, aimed } from "./aim.ts";
import { busyCount, NOON, type Scale } from "./scale.ts";

export type LogLayout = {
  about: string;
  table: string;
  /** Runs before the table is filled. Null: the migrations have created it. */
  create: string | null;
  /** Runs after the table is filled, as usual for bulk loading. */
  index: string;
  /** The maximum number of rows of a busy check. */
  rowsMax: number;
  /** The store's statements adapted to the layout, by the name that the store gives them. */
  texts?: Record<string, (shipped: string) => string>;
};

const LIKE_SHIPPED = "like pings including defaults including constraints";
/** A log that is trimmed at every hundredth ping holds up to 99 more than its limit. */
const TRIMMED_ROWS_MAX = FREE_PING_LOG_ROWS + 99;

const OVERWRITTEN = ["n", "at", "kind", "duration_ms", "scheme", "method", "remote_addr", "ua", "rid"]
  .concat(["exit_status", "body_size"])
  .map((column) => `${column} = excluded.${column}`)
  .join(", ");

export const LOG_LAYOUTS: readonly LogLayout[] = [
  {
    about: "one table, primary key (check, n)",
    table: "log_by_check_and_n",
    create: `create table log_by_check_and_n (${LIKE_SHIPPED})`,
    index: "alter table log_by_check_and_n add primary key (check_id, n)",
    rowsMax: TRIMMED_ROWS_MAX,
  },
  {
    about: "a ring: places by n modulo the limit, overwritten",
    table: "log_ring",
    create: `create table log_ring (${LIKE_SHIPPED},
      slot int generated always as (n % ${FREE_PING_LOG_ROWS}) stored) with (fillfactor = 85)`,
    index: "alter table log_ring add primary key (check_id, slot)",
    rowsMax: FREE_PING_LOG_ROWS,
    texts: {
      "pings.insert": (shipped) => `${shipped} on conflict (check_id, slot) do update set ${OVERWRITTEN}`,
      // Nothing to delete, but the runs of the last round must be read before the next one overwrites them.
      "pings.trim": () => `select p.check_id, p.n, p.at, p.kind, p.duration_ms
        from unnest($1::bigint[], $2::bigint[]) as t (check_id, through) join pings p using (check_id)`,
    },
  },
  {
    about: "one table, index on the check alone (shipped)",
    table: "pings",
    create: null,
    index: "create index pings_check on pings (check_id)",
    rowsMax: TRIMMED_ROWS_MAX,
  },
];

/** The aim that redirects the store's statements to a layout. */
export function aimAt({ table, texts = {} }: LogLayout): Aim {
  return { key: table, tables: { pings: table }, texts };
}

/** Reads the newest pings of a check, as many as a list shows, and returns their number. */
export async function listNewest(scale: Scale, layout: LogLayout, checkId: number): Promise<number> {
  const page = { checkId, afterN: 0, limit: FREE_PING_LOG_ROWS };
  return (await listPings(aimed(scale.database, aimAt(layout)), page)).length;
}

/** Creates the table and fills it in the order of arrival: the first ping of every check, the second … */
export async function fillLog(scale: Scale, layout: LogLayout, pingsPerCheck: number): Promise<void> {
  const { admin } = scale;
  if (layout.create === null) await admin.query(`truncate ${layout.table}; drop index if exists pings_check`);
  else await admin.query(layout.create);
  for (let k = 1; k <= pingsPerCheck; k++) {
    await admin.query(insertOf(layout, { k, checks: `generate_series(1, ${scale.checkCount}) i` }));
  }
  await admin.query(layout.index);
  await admin.query(`vacuum analyze ${layout.table}`);
}

/**
 * Brings the logs of the busy checks to where their counts say they are: at the limit, or to be trimmed soon.
 * What an earlier measurement has added is taken out first.
 */
export async function fillBusyLogs(scale: Scale, layout: LogLayout, pingsPerCheck: number): Promise<void> {
  const { admin, busyStep, checkCount } = scale;
  await admin.query(`delete from ${layout.table} where n > ${pingsPerCheck}`);
  const busy = `generate_series(${busyStep}, ${checkCount}, ${busyStep}) i`;
  for (let k = pingsPerCheck + 1; k <= layout.rowsMax; k++) {
    const reached = `${k} <= ${FREE_PING_LOG_ROWS} + ${busyCount(busyStep)}`;
    await admin.query(insertOf(layout, { k, checks: `${busy} where ${reached}` }));
  }
  await admin.query(`vacuum analyze ${layout.table}`);
}

function insertOf(layout: LogLayout, { k, checks }: { k: number; checks: string }): string {
  return `insert into ${layout.table} (at, check_id, n, duration_ms, kind, scheme, method, remote_addr, ua)
    select to_timestamp(${NOON / 1_000}) - interval '1 hour' * ${TRIMMED_ROWS_MAX - k}, i, ${k}, 5000, 's',
      'https', 'GET', '192.0.2.7', 'curl/8.5.0 (x86_64-pc-linux-gnu)'
    from ${checks}`;
}
