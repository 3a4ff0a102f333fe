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
};

const COLUMNS = "id, name, started_at, last_seq, watermark_at, beat_at, lease_until_at, spool_empty";

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
  };
}

const REGISTER = statement({
  name: "intakes.register",
  text: `insert into intakes (id, name, started_at, last_seq, watermark_at, beat_at, lease_until_at,
      spool_empty)
    values ($1, $2, $3, 0, $4, $7, $5, $6)`,
});

export type NewIntake = Omit<Intake, "lastSeq" | "beatAt"> & {
  /** Through when anybody is known to have received; without it, its start. */
  beatAt?: Instant;
};

/** Makes an intake known, before it listens: from now on no deadline fires beyond its watermark. */
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
  text: `update intakes set beat_at = $2, watermark_at = $3, lease_until_at = $4, spool_empty = $5
    where id = $1 and closed_at is null`,
});

export type Beat = {
  intakeId: string;
  at: Instant;
  watermarkAt: Instant;
  leaseUntilAt: Instant;
  spoolEmpty: boolean;
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
  ]);
  return count === 1;
}

const LIST_OPEN = statement<IntakeRow>({
  name: "intakes.list_open",
  text: `select ${COLUMNS} from intakes where closed_at is null order by watermark_at`,
});

/** The open intakes, the one that holds the watermark first. */
export async function listOpenIntakes(db: Db): Promise<Intake[]> {
  return (await db.query(LIST_OPEN, [])).rows.map(toIntake);
}

const FIND_WATERMARK = statement<{ watermark_at: Instant | null }>({
  name: "intakes.find_watermark",
  text: "select min(watermark_at) as watermark_at from intakes where closed_at is null",
});

/** Everything received before this instant is applied, whoever received it; null when nobody is open. */
export async function findWatermark(db: Db): Promise<Instant | null> {
  return (await db.query(FIND_WATERMARK, [])).rows[0]?.watermark_at ?? null;
}

const FIND_NEWEST_BEAT = statement<{ beat_at: Instant | null }>({
  name: "intakes.find_newest_beat",
  text: "select max(beat_at) as beat_at from intakes",
});

/** When any intake, open or not, gave its last sign of life; null before the first start. */
export async function findNewestBeatAt(db: Db): Promise<Instant | null> {
  return (await db.query(FIND_NEWEST_BEAT, [])).rows[0]?.beat_at ?? null;
}

const CLOSE = statement({
  name: "intakes.close",
  text: "update intakes set closed_at = $2, lost = $3 where id = $1 and closed_at is null",
});

/** Lets go of an intake: it said goodbye, or it is lost. False: it was closed before. */
export async function closeIntake(
  tx: Tx,
  { intakeId, at, lost }: { intakeId: string; at: Instant; lost: boolean },
): Promise<boolean> {
  return (await tx.query(CLOSE, [intakeId, toTimestamp(at), lost])).count === 1;
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
