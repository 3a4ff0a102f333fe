// The processes that receive signals: the number of the newest batch that each has applied, how far it has
// applied what it accepted, and until when it counts as alive. When a deadline may fire is decided in core.
import type { Instant } from "../../core/instant.ts";
import { type Db, statement } from "../db.ts";
import type { Tx } from "../transaction.ts";
import { toTimestamp } from "../values.ts";

export type Intake = {
  /** Random for each start of a process. */
  id: string;
  /** Where it runs, for the operator. */
  name: string;
  startedAt: Instant;
  lastSeq: number;
  watermarkAt: Instant;
  beatAt: Instant;
  leaseUntilAt: Instant;
  spoolEmpty: boolean;
  /** From 0 to 1, at its last beat. */
  spoolFill: number;
  /** Signals that it took in the minute before its last beat; null: it has not said. */
  signalsPerMinute: number | null;
};

type IntakeRow = {
  id: string;
  name: string;
  started_at: Instant;
  last_seq: number;
  watermark_at: Instant;
  beat_at: Instant;
  lease_until_at: Instant;
  spool_empty: boolean;
  spool_fill: number;
  signals_per_minute: number | null;
};

const COLUMNS = `id, name, started_at, last_seq, watermark_at, beat_at, lease_until_at, spool_empty, spool_fill,
  signals_per_minute`;

function toIntake(row: IntakeRow): Intake {
  return {
    id: row.id,
    name: row.name,
    startedAt: row.started_at,
    lastSeq: row.last_seq,
    watermarkAt: row.watermark_at,
    beatAt: row.beat_at,
    leaseUntilAt: row.lease_until_at,
    spoolEmpty: row.spool_empty,
    spoolFill: row.spool_fill,
    signalsPerMinute: row.signals_per_minute,
  };
}

const REGISTER = statement({
  name: "intakes.register",
  text: `insert into intakes (id, name, started_at, last_seq, watermark_at, beat_at, lease_until_at,
      spool_empty)
    values ($1, $2, $3, 0, $4, $7, $5, $6)
    on conflict (id) do nothing`,
});

export type NewIntake = Omit<Intake, "lastSeq" | "beatAt" | "spoolFill" | "signalsPerMinute"> & {
  /** Through when anybody is known to have received; without it, its start. */
  beatAt?: Instant;
};

/**
 * Makes an intake known: from now on no deadline fires beyond its watermark. Ids are random, so one that is known
 * already is the same intake, which did not hear the answer.
 */
export async function registerIntake(tx: Tx, intake: NewIntake): Promise<void> {
  await tx.query(REGISTER, [
    intake.id,
    intake.name,
    toTimestamp(intake.startedAt),
    toTimestamp(intake.watermarkAt),
    toTimestamp(intake.leaseUntilAt),
    intake.spoolEmpty,
    toTimestamp(intake.beatAt ?? intake.startedAt),
  ]);
}

const ADVANCE = statement({
  name: "intakes.advance",
  text: "update intakes set last_seq = $2 where id = $1 and last_seq = $2 - 1",
});

/** Claims a batch number, first thing in its transaction. False: that batch has been applied before. */
export async function advanceSequence(
  tx: Tx,
  { intakeId, seq }: { intakeId: string; seq: number },
): Promise<boolean> {
  return (await tx.query(ADVANCE, [intakeId, seq])).count === 1;
}

const FIND_SEQUENCE = statement<{ last_seq: number }>({
  name: "intakes.find_sequence",
  text: "select last_seq from intakes where id = $1",
});

/** The newest applied batch number of an intake; null when the database does not know the intake. */
export async function findSequence(db: Db, intakeId: string): Promise<number | null> {
  return (await db.query(FIND_SEQUENCE, [intakeId])).rows[0]?.last_seq ?? null;
}

const SKIP = statement<{ watermark_at: Instant }>({
  name: "intakes.skip",
  text: "update intakes set last_seq = $2 where id = $1 and last_seq < $2 returning watermark_at",
});

/**
 * Goes on after a batch number although batches up to it are missing for good. Returns the watermark, from
 * which on something may be missing; null when nothing is, or the intake is unknown.
 */
export async function skipSequence(
  tx: Tx,
  { intakeId, seq }: { intakeId: string; seq: number },
): Promise<Instant | null> {
  return (await tx.query(SKIP, [intakeId, seq])).rows[0]?.watermark_at ?? null;
}

const BEAT = statement({
  name: "intakes.beat",
  text: `update intakes set beat_at = $2, watermark_at = $3, lease_until_at = $4, spool_empty = $5,
      spool_fill = $6, gap_ended_at = $7, signals_per_minute = $8
    where id = $1 and closed_at is null`,
});

export type Beat = {
  intakeId: string;
  at: Instant;
  watermarkAt: Instant;
  leaseUntilAt: Instant;
  spoolEmpty: boolean;
  /** From 0 to 1. */
  spoolFill: number;
  signalsPerMinute: number;
  /** When anybody's beat last ended a gap in the beats of everybody. */
  gapEndedAt: Instant;
};

/**
 * A sign of life that moves the watermark. A blind interval that belongs before it goes into the same
 * transaction. False: the intake was closed or declared lost, and has to register again.
 */
export async function beatIntake(tx: Tx, beat: Beat): Promise<boolean> {
  const { count } = await tx.query(BEAT, [
    beat.intakeId,
    toTimestamp(beat.at),
    toTimestamp(beat.watermarkAt),
    toTimestamp(beat.leaseUntilAt),
    beat.spoolEmpty,
    beat.spoolFill,
    toTimestamp(beat.gapEndedAt),
    beat.signalsPerMinute,
  ]);
  return count === 1;
}

const LIST_OPEN = statement<IntakeRow>({
  name: "intakes.list_open",
  text: `select ${COLUMNS} from intakes where closed_at is null order by watermark_at limit $1`,
});

/** The open intakes, the one that holds the watermark first: all of them, or so many. */
export async function listOpenIntakes(
  db: Db,
  { limit = null }: { limit?: number | null } = {},
): Promise<Intake[]> {
  return (await db.query(LIST_OPEN, [limit])).rows.map(toIntake);
}

const LIST_FILLED = statement<{ name: string; spool_fill: number }>({
  name: "intakes.list_filled",
  text: `select name, spool_fill from intakes where closed_at is null and spool_fill >= $1
    order by spool_fill desc, name limit $2`,
});

/** Open intakes whose spool was filled to a part at their last beat, the fullest first. */
export async function listFilledSpools(
  db: Db,
  { fillMin, limit }: { fillMin: number; limit: number },
): Promise<{ name: string; fill: number }[]> {
  const { rows } = await db.query(LIST_FILLED, [fillMin, limit]);
  return rows.map(({ name, spool_fill }) => ({ name, fill: spool_fill }));
}

const LIST_LOST = statement<{ id: string; name: string; closed_at: Instant }>({
  name: "intakes.list_lost",
  text: `select id, name, closed_at from intakes where lost and closed_at >= $1
    order by closed_at desc, id limit $2`,
});

/** Intakes that were declared lost since an instant, the newest first. */
export async function listLostIntakes(
  db: Db,
  { from, limit }: { from: Instant; limit: number },
): Promise<{ intakeId: string; name: string; lostAt: Instant }[]> {
  const { rows } = await db.query(LIST_LOST, [toTimestamp(from), limit]);
  return rows.map(({ id, name, closed_at }) => ({ intakeId: id, name, lostAt: closed_at }));
}

export type Beats = {
  /** When any intake, open or not, gave its last sign of life; null before the first start. */
  newestBeatAt: Instant | null;
  /** When a beat last ended a gap in the beats of everybody; null: nobody knows. */
  gapEndedAt: Instant | null;
};

const FIND_BEATS = statement<{ beat_at: Instant | null; gap_ended_at: Instant | null }>({
  name: "intakes.find_beats",
  text: `select max(beat_at) as beat_at, max(gap_ended_at) filter (where gap_ended_at <= $1) as gap_ended_at
    from intakes`,
});

/** What is known of everybody's beats. Gaps after `through` are left from before the clock was set back. */
export async function findBeats(db: Db, { through }: { through: Instant }): Promise<Beats> {
  const [row] = (await db.query(FIND_BEATS, [toTimestamp(through)])).rows;
  return { newestBeatAt: row?.beat_at ?? null, gapEndedAt: row?.gap_ended_at ?? null };
}

const CLOSE = statement({
  name: "intakes.close",
  text: "update intakes set closed_at = $2, lost = $3 where id = $1 and closed_at is null",
});

/** Closes an intake that said goodbye, or that nobody else can know of. False: it was closed before. */
export async function closeIntake(
  tx: Tx,
  { intakeId, at, lost }: { intakeId: string; at: Instant; lost: boolean },
): Promise<boolean> {
  return (await tx.query(CLOSE, [intakeId, toTimestamp(at), lost])).count === 1;
}

const CLOSE_ALL = statement({
  name: "intakes.close_all",
  text: "update intakes set closed_at = $1, lost = false where closed_at is null",
});

/** Closes every intake. Those that are alive register again with their next heartbeat. */
export async function closeAllIntakes(tx: Tx, { at }: { at: Instant }): Promise<void> {
  await tx.query(CLOSE_ALL, [toTimestamp(at)]);
}

const CLOSE_IF_FREE = statement({
  name: "intakes.close_if_free",
  text: `update intakes set closed_at = $2, lost = $3
    where id in (select id from intakes where id = $1 and closed_at is null for update skip locked)`,
});

/**
 * Lets go of another intake, unless somebody works on its row just now: that is a sign of life, and whoever judges
 * others must not wait for them. False: it is still open, or was closed before.
 */
export async function closeIntakeIfFree(
  tx: Tx,
  { intakeId, at, lost }: { intakeId: string; at: Instant; lost: boolean },
): Promise<boolean> {
  return (await tx.query(CLOSE_IF_FREE, [intakeId, toTimestamp(at), lost])).count === 1;
}

const PRUNE = statement({
  name: "intakes.prune",
  text: `delete from intakes
    where id in (
      select id from intakes
      where closed_at < $1 and beat_at < (select max(beat_at) from intakes)
      order by closed_at limit $2
    )`,
});

/**
 * Forgets at most `limit` intakes closed before an instant; returns how many. The newest beat always stays:
 * the next start measures from it for how long nobody listened.
 */
export async function pruneIntakes(
  tx: Tx,
  { before, limit }: { before: Instant; limit: number },
): Promise<number> {
  return (await tx.query(PRUNE, [toTimestamp(before), limit])).count;
}
