// Monitors the watermarks: once they have passed an instant, nothing received before it may appear in the log
// afterwards, unless its time is in a blind interval.
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { type BlindRow, readBlind } from "./intake-rows.ts";
import type { Stage } from "./stage.ts";

const LOOK_EVERY_MS = 250;

/** The watermark, how many rows from before it existed, and which transactions were visible. */
type Look = { watermarkAt: Date; rows: number; snapshot: string };

export type WatchResult = { looks: number; tooLate: number };

export class WatermarkWatch {
  readonly #stage: Stage;
  readonly #looks: Look[] = [];
  #isOver = false;
  readonly #looking: Promise<void>;

  constructor(stage: Stage) {
    this.#stage = stage;
    this.#looking = this.#look();
  }

  /** Ends the monitoring; returns the number of readings and of late rows. */
  async end(): Promise<WatchResult> {
    this.#isOver = true;
    await this.#looking;
    return this.#stage.withClient(async (client) => ({
      looks: this.#looks.length,
      tooLate: await countLate(client, this.#looks),
    }));
  }

  async #look(): Promise<void> {
    let client: pg.Client | null = null;
    while (!this.#isOver) {
      try {
        client ??= await connected(this.#stage.url);
        const look = await lookOnce(client);
        if (look !== null) this.#looks.push(look);
      } catch {
        // The database is down, which is part of the test.
        await client?.end().catch(() => {});
        client = null;
      }
      await sleep(LOOK_EVERY_MS);
    }
    await client?.end().catch(() => {});
  }
}

async function connected(url: string): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: 2_000,
    query_timeout: 5_000,
  });
  client.on("error", () => {});
  await client.connect();
  return client;
}

/** One statement, and so one snapshot. */
async function lookOnce(client: pg.ClientBase): Promise<Look | null> {
  const { rows } = await client.query<{ watermark_at: Date | null; rows: string; snapshot: string }>(`
    with seen as (select min(watermark_at) as watermark_at from intakes where closed_at is null)
    select watermark_at, pg_current_snapshot()::text as snapshot,
      (select count(*) from pings where at < watermark_at) as rows
    from seen`);
  const [row] = rows;
  if (row === undefined || row.watermark_at === null) return null;
  return { watermarkAt: row.watermark_at, rows: Number(row.rows), snapshot: row.snapshot };
}

/** Rows that did not exist when the watermark passed their time, and whose time is not blind. */
async function countLate(client: pg.ClientBase, looks: readonly Look[]): Promise<number> {
  const blind = await readBlind(client);
  const { rows } = await client.query<{ at: Date }>("select at from pings order by at");
  const times = rows.map(({ at }) => at.getTime());
  const late = new Set<string>();
  for (const { watermarkAt, rows: seen, snapshot } of looks) {
    if (countBefore(times, watermarkAt.getTime()) <= seen) continue;
    const found = await client.query<{ at: Date; check_id: string; n: string }>(
      `select at, check_id, n from pings
       where at < $1 and not pg_visible_in_snapshot(xmin::text::xid8, $2::pg_snapshot)`,
      [watermarkAt, snapshot],
    );
    for (const row of found.rows) {
      if (!isBlind(row.at.getTime(), blind)) late.add(`${row.check_id} ${row.n}`);
    }
  }
  return late.size;
}

function isBlind(at: number, blind: readonly BlindRow[]): boolean {
  return blind.some(({ from, to }) => at >= from && (to === null || at <= to));
}

/** How many of the sorted times are before an instant. */
function countBefore(times: readonly number[], at: number): number {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((times[middle] ?? Infinity) < at) low = middle + 1;
    else high = middle;
  }
  return low;
}
