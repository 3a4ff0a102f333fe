// The intakes in the database: their watermarks, and blind intervals. Read only.
import type pg from "pg";
import { someOf } from "../signals/verdict.ts";
import { until } from "../waiting.ts";
import type { Stage } from "./stage.ts";

export type IntakeRow = {
  id: string;
  name: string;
  /** Recorded batches of all lanes. */
  batches: number;
  watermarkAt: number;
  heartbeatAt: number;
  closedAt: number | null;
  isLost: boolean;
};

export type BlindRow = { intakeId: string | null; from: number; to: number | null; reason: string };

/** The database's own clock. */
export async function databaseNow(client: pg.ClientBase): Promise<number> {
  const { rows } = await client.query<{ at: Date }>("select clock_timestamp() as at");
  return rows[0]?.at.getTime() ?? Number.NaN;
}

export async function readIntakes(client: pg.ClientBase): Promise<IntakeRow[]> {
  const { rows } = await client.query<{
    id: string;
    name: string;
    batches: string;
    watermark_at: Date;
    beat_at: Date;
    closed_at: Date | null;
    lost: boolean;
  }>(
    `select id, name, watermark_at, beat_at, closed_at, lost,
      (select sum(last_seq) from intake_lanes where intake_id = id) as batches
    from intakes order by started_at`,
  );
  return rows.map((row) => ({
    id: row.id,
    name: row.name,
    batches: Number(row.batches),
    watermarkAt: row.watermark_at.getTime(),
    heartbeatAt: row.beat_at.getTime(),
    closedAt: row.closed_at?.getTime() ?? null,
    isLost: row.lost,
  }));
}

export async function readBlind(client: pg.ClientBase): Promise<BlindRow[]> {
  const { rows } = await client.query<{
    intake_id: string | null;
    from_at: Date;
    to_at: Date | null;
    reason: string;
  }>("select intake_id, from_at, to_at, reason from blind_intervals order by from_at");
  return rows.map((row) => ({
    intakeId: row.intake_id,
    from: row.from_at.getTime(),
    to: row.to_at?.getTime() ?? null,
    reason: row.reason,
  }));
}

/**
 * Resolves when the watermark of every open intake has passed now; otherwise returns what holds it. The load must
 * have ended.
 */
export async function untilDrained(stage: Stage, { withinMs }: { withinMs: number }): Promise<string | null> {
  const endAt = await stage.withClient(databaseNow);
  let open: IntakeRow[] = [];
  const isDrained = await until(
    async () => {
      open = (await stage.withClient(readIntakes)).filter(({ closedAt }) => closedAt === null);
      return open.length > 0 && open.every(({ watermarkAt }) => watermarkAt > endAt);
    },
    { withinMs, pollMs: 250 },
  );
  if (isDrained) return null;
  if (open.length === 0) return "no intake is open";
  const holding = open.filter(({ watermarkAt }) => watermarkAt <= endAt);
  const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;
  const described = holding.map((row) => {
    const behind = seconds(endAt - row.watermarkAt);
    const silent = seconds(endAt + withinMs - row.heartbeatAt);
    return `${row.id} (${row.name}, ${row.batches} batches) by ${behind}, silent for ${silent}`;
  });
  const held = `${holding.length} of ${open.length} open intakes hold the watermark back`;
  return `${held}: ${someOf(described)}${await stage.withClient(describeBusy)}`;
}

/** Current activity of the database, and which sessions wait for which locks; for debugging. */
async function describeBusy(client: pg.ClientBase): Promise<string> {
  const { rows } = await client.query<{ what: string }>(`
    select format('%s %s %s/%s for %s s, waits for %s: %s', pid, state, wait_event_type, wait_event,
      round(extract(epoch from clock_timestamp() - state_change)), pg_blocking_pids(pid)::text,
      left(regexp_replace(query, '\\s+', ' ', 'g'), 60)) as what
    from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle'
    order by state_change`);
  return rows.length === 0 ? "" : `; in the database: ${someOf(rows.map(({ what }) => what))}`;
}
