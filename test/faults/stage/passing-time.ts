// Simulates the passing of time: timestamps in the database are moved back, as if everything had happened earlier.
// Nothing else may run while all of them are moved, because processes have their own clocks.
import type pg from "pg";
import { demand } from "../waiting.ts";
import { databaseNow } from "./intake-rows.ts";
import type { Stage } from "./stage.ts";

/** Missing pings raise alerts when heartbeats have been fresh for this long; see src/core/watermark.ts. */
const SETTLE_MS = 60_000;
const SETTLED_MS_MAX = 180_000;

/** As if the processes had been stopped for this long. Only the database may be running. */
export async function letTimePass(stage: Stage, ms: number): Promise<void> {
  await stage.withClient(async (client) => {
    const { rows } = await client.query<{ text: string }>(`
      select format('update %I set %s', table_name,
        string_agg(format('%1$I = %1$I - make_interval(secs => ${ms / 1_000})', column_name), ', ')) as text
      from information_schema.columns join information_schema.tables using (table_schema, table_name)
      where table_schema = 'public' and table_type = 'BASE TABLE' and data_type = 'timestamp with time zone'
      group by table_name`);
    await client.query("begin");
    for (const { text } of rows) await client.query(text);
    await client.query("commit");
  });
}

/**
 * Waits until missing pings raise alerts. With `atOnce` the minute that this takes is skipped: the gap is moved back
 * in the database.
 */
export async function untilSettled(stage: Stage, { atOnce }: { atOnce: boolean }): Promise<void> {
  await stage.withClient((client) =>
    demand(
      async () => {
        if (await isSettled(client)) return true;
        if (atOnce) {
          await client.query(
            `update intakes set gap_ended_at = gap_ended_at - interval '61 seconds'
             where gap_ended_at > clock_timestamp() - interval '1 minute'`,
          );
        }
        return false;
      },
      { withinMs: SETTLED_MS_MAX, what: "silence is believed" },
    ),
  );
}

async function isSettled(client: pg.ClientBase): Promise<boolean> {
  const now = await databaseNow(client);
  const { rows } = await client.query<{ beat_at: Date | null; gap_ended_at: Date | null }>(
    `select (select max(beat_at) from intakes where closed_at is null) as beat_at,
       (select max(gap_ended_at) from intakes) as gap_ended_at`,
  );
  const [row] = rows;
  if (!row?.beat_at || !row.gap_ended_at) return false;
  return now - row.beat_at.getTime() < 3_000 && now - row.gap_ended_at.getTime() >= SETTLE_MS;
}

/** Skips the minute for which a notice waits for other checks. */
export async function skipFolding(stage: Stage): Promise<void> {
  await stage.withClient((client) =>
    client.query("update deliveries set next_try_at = now() where kind = 'notice' and state = 'pending'"),
  );
}

/** Skips the rest of the leases of messages that a killed process had claimed. */
export async function skipLeases(stage: Stage): Promise<void> {
  await stage.withClient((client) =>
    client.query("update deliveries set claimed_until_at = now() where claimed_until_at is not null"),
  );
}
