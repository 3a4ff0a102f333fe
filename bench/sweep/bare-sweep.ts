// The baseline of the sweep benchmark: the same updates and inserts in one statement for each batch, without reading a
// row, a schedule or a watermark.
import type pg from "pg";

const SWEEP = `
  with due as (
    select check_id, down_at, status from check_states
    where sweep_at <= $1 order by sweep_at limit $2 for update skip locked
  ), fired as (
    update check_states s set status = 'down', silence_deadline_at = due.down_at, silence_from = due.status,
      expect_from_at = null, down_at = null, sweep_at = null
    from due where s.check_id = due.check_id
    returning s.check_id, due.down_at, due.status
  ), flipped as (
    insert into flips (check_id, at, from_status, to_status, reason)
    select check_id, down_at, status, 'down', 'timeout' from fired
    returning id, check_id
  )
  insert into deliveries (kind, dedupe_key, channel_id, check_id, flip_id, state, created_at, attempt_count, next_try_at)
  select 'flip', gen_random_uuid(), cc.channel_id, f.check_id, f.id, 'pending', $1, 0, to_timestamp(0)
  from flipped f join check_channels cc on cc.check_id = f.check_id
    join channels ch on ch.id = cc.channel_id and ch.disabled_at is null`;

/** Sweeps everything that is due, one commit for each batch; returns the number of flips. */
export async function bareSweep(
  client: pg.Client,
  { through, limit }: { through: Date; limit: number },
): Promise<number> {
  let fired = 0;
  for (;;) {
    const { rowCount } = await client.query({ name: "bare", text: SWEEP, values: [through, limit] });
    fired += rowCount ?? 0;
    if ((rowCount ?? 0) < limit) return fired;
  }
}
