// How far can be seen, read in one statement and so in one snapshot: a watermark that was newer than the list of blind
// times would let a deadline fire that a missing one excuses. Whether it may be believed is decided in core.
import type { Instant } from "../../core/instant.ts";
import type { Sight } from "../../core/machine/deadline.ts";
import { type Db, statement } from "../db.ts";
import { toTimestamp } from "../values.ts";

export type StoredSight = {
  /** Of all open intakes; the watermark is null when there is none. */
  sight: Sight;
  /** Of the open intakes; null when there is none. */
  newestBeatAt: Instant | null;
  /** Of all intakes, open or not; null before the first start. */
  lastBeatAt: Instant | null;
  /** When a beat last ended a gap in the beats of everybody; null: nobody knows. */
  gapEndedAt: Instant | null;
  /** The intake that holds the watermark; null when nobody is open. */
  holder: { id: string; name: string } | null;
};

type SightRow = {
  watermark_at: Instant | null;
  beat_at: Instant | null;
  last_beat_at: Instant | null;
  gap_ended_at: Instant | null;
  holder_id: string | null;
  holder_name: string | null;
  blind_from: Instant[];
  blind_to: (Instant | null)[];
};

const READ = statement<SightRow>({
  name: "sight.read",
  text: `with
      open as (select id, name, watermark_at, beat_at from intakes where closed_at is null),
      holder as (select id, name from open order by watermark_at, id limit 1),
      blind as (
        select id, from_at, to_at from blind_intervals where (to_at >= $1 or to_at is null) and from_at <= $2
      )
    select (select min(watermark_at) from open) as watermark_at, (select max(beat_at) from open) as beat_at,
      (select max(beat_at) from intakes) as last_beat_at,
      (select max(gap_ended_at) from intakes where gap_ended_at <= $3) as gap_ended_at,
      (select id from holder) as holder_id, (select name from holder) as holder_name,
      array(select from_at from blind order by from_at, id) as blind_from,
      array(select to_at from blind order by from_at, id) as blind_to`,
});

/** Everything that was received and could not be, with the blind times that touch a stretch of time. */
export async function readSight(
  db: Db,
  { from, to, gapsThrough }: { from: Instant; to: Instant; gapsThrough: Instant },
): Promise<StoredSight> {
  const values = [toTimestamp(from), toTimestamp(to), toTimestamp(gapsThrough)];
  const [row] = (await db.query(READ, values)).rows;
  if (row === undefined) throw new Error("a statement that always has a row returned none");
  const { watermark_at: watermarkAt, blind_from, blind_to, holder_id, holder_name } = row;
  const blind = blind_from.map((begin, index) => ({ from: begin, to: blind_to[index] ?? null }));
  return {
    sight: { watermarkAt, blind },
    newestBeatAt: row.beat_at,
    lastBeatAt: row.last_beat_at,
    gapEndedAt: row.gap_ended_at,
    holder: holder_id === null || holder_name === null ? null : { id: holder_id, name: holder_name },
  };
}
