// How long it takes from a missed deadline to the message about it, told from what was delivered.
import type { Instant } from "../../core/instant.ts";
import { type Db, statement } from "../db.ts";
import { toTimestamp } from "../values.ts";

/** So many of the newest deliveries are looked at: there is no index on their times, and needs to be none. */
const DELIVERIES_MAX = 1_000;

const MEDIAN = statement<{ delay_ms: number | null }>({
  name: "alert_delay.median",
  text: `select percentile_cont(0.5) within group (order by extract(epoch from d.settled_at - f.at) * 1000) as delay_ms
    from (select flip_id, settled_at, state from deliveries where kind = 'flip' order by id desc limit $2) as d
    join flips f on f.id = d.flip_id
    where d.state = 'sent' and d.settled_at >= $1 and f.reason = 'timeout' and f.to_status = 'down'`,
});

/** The median of the alerts about silence that were delivered since an instant, in milliseconds; null: none was. */
export async function medianAlertDelay(db: Db, { since }: { since: Instant }): Promise<number | null> {
  const delayMs = (await db.query(MEDIAN, [toTimestamp(since), DELIVERIES_MAX])).rows[0]?.delay_ms ?? null;
  return delayMs === null ? null : Math.round(delayMs);
}
