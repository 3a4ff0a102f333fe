// A move in simulated time: two servers get the same pings, then the host name of the ping URLs changes. The sweeper and
// the planner of this server run all the time; every planned delivery is counted.
import { randomUUID } from "node:crypto";
import { MINUTE_MS, type Instant } from "../../src/core/instant.ts";
import type { AcceptedSignal } from "../../src/core/signal.ts";
import { compareImport, finishImport } from "../../src/operations/import-move.ts";
import { takeSteps } from "../../src/operations/incident-steps.ts";
import { planAlerts } from "../../src/operations/plan-alerts.ts";
import { recordSignals } from "../../src/operations/record-signals.ts";
import { sweepDeadlines } from "../../src/operations/sweep.ts";
import { registerIntake } from "../../src/store/intakes.ts";
import { readDatabaseClock } from "../../src/store/instance.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import type { TestDatabase } from "../support/database.ts";
import {
  addPing,
  type MemoryCheck,
  memorySource,
  missDeadline,
  pingedCheck,
  sourceAccount,
  sourceChannel,
  sourceProject,
  uuidOf,
} from "./memory-source.ts";
import { importInto } from "./run-import.ts";

export type MoveOptions = {
  checkCount: number;
  /** The number of the first check, so that several moves can share a database. */
  first?: number;
  /** Planted fault: the silence is lifted without recording the gap. */
  withoutGap?: boolean;
};

export type Move = {
  compared: number;
  differing: number;
  takenBack: number;
  /** Messages about checks whose jobs have always run. */
  alarms: number;
  /** Messages that a check is down which the other server has told already. */
  repeated: number;
  /** Of the checks that were down, how many recoveries were notified. */
  recoveries: number;
  /** Of the checks whose job stops after the move, how many were notified. */
  stopped: number;
  /** Monitoring gap notices: one for each channel at most. */
  notices: number;
};

const STEP_MS = 5 * MINUTE_MS;
/** Each check is pinged once an hour. */
const STEPS_PER_HOUR = 12;
/** Down at the source before the import; their jobs work again after the move. */
const DOWN_EVERY = 50;
/** Their jobs stop after the move. */
const STOPPED_EVERY = 40;

type Job = { one: MemoryCheck; phase: number; kind: "steady" | "down" | "stopped" };

const OPTIONS = {
  rules: { ratePerMinute: 0 },
  replayed: false,
  pingLogRows: 100,
  encode: () => Buffer.alloc(0),
};

/** Runs a move and counts what was sent. */
export async function simulateMove(
  database: Pick<TestDatabase, "db" | "url">,
  options: MoveOptions,
): Promise<Move> {
  const { checkCount, first = 100_000 } = options;
  const { db } = database;
  const startAt = await readDatabaseClock(db);
  const channelUuids = [uuidOf(first, 2)];
  const jobs = Array.from({ length: checkCount }, (_, index): Job => {
    const phase = index % STEPS_PER_HOUR;
    const kind = index % DOWN_EVERY === 7 ? "down" : index % STOPPED_EVERY === 11 ? "stopped" : "steady";
    // The last ping was in this phase of the hour before the start; jobs that are down stopped three hours earlier.
    const agoMs = (STEPS_PER_HOUR - phase) * STEP_MS + (kind === "down" ? 3 * 60 * MINUTE_MS : 0);
    const one = pingedCheck(first + index, { now: startAt, count: 3, agoMs, channelUuids });
    if (kind === "down") missDeadline(one);
    return { one, phase, kind };
  });
  const content = {
    name: `a move of ${first}`,
    accounts: [sourceAccount(`mover-${first}@example.org`)],
    projects: [
      {
        project: sourceProject(first, {
          ownerEmail: `mover-${first}@example.org`,
          channels: [sourceChannel(first)],
        }),
        checks: jobs.map(({ one }) => one),
      },
    ],
  };
  let now = startAt;
  const clock = async () => now;
  const intake = await newIntake(database, now);
  const step = async (to: { there: boolean; here: boolean; isMoved: boolean }) => {
    now += STEP_MS;
    const place = Math.round((now - startAt) / STEP_MS) % STEPS_PER_HOUR;
    const due = jobs.filter(({ phase, kind }) => {
      if (phase !== place) return false;
      return kind === "steady" || (kind === "down" ? to.isMoved : !to.isMoved);
    });
    if (to.there) for (const { one } of due) addPing(one, now);
    if (to.here)
      await intake.ping(
        due.map(({ one }) => one.check.uuid),
        now,
      );
    await turn(database, now);
  };
  const both = { there: true, here: true, isMoved: false };
  await importInto(database, memorySource(content), { clock });
  for (let count = 0; count < 3 * STEPS_PER_HOUR; count += 1) await step(both);
  const comparison = await compareImport(db, memorySource(content));
  // The last import; then some jobs still use the old address, which nobody copies any more.
  await importInto(database, memorySource(content), { clock });
  for (let count = 0; count < 6; count += 1) await step({ there: true, here: false, isMoved: false });
  const moved = { there: false, here: true, isMoved: true };
  for (let count = 0; count < 2; count += 1) await step(moved);
  const { rows } = await db.pool.query<{ id: number }>("select id from imports where source = $1", [
    content.name,
  ]);
  const importId = rows[0]?.id ?? 0;
  let takenBack = 0;
  if (options.withoutGap) await liftSilence(database, { importId, now });
  else ({ takenBack } = await finishImport(db, { importId, now }));
  for (let count = 0; count < 3 * STEPS_PER_HOUR; count += 1) await step(moved);
  return {
    compared: comparison.compared,
    differing: comparison.differenceCount,
    takenBack,
    ...(await countSent(database, jobs)),
  };
}

async function newIntake({ db }: Pick<TestDatabase, "db">, at: Instant) {
  const id = randomUUID();
  const times = { startedAt: at, watermarkAt: at, leaseUntilAt: at };
  await inTransaction(db, (tx) => registerIntake(tx, { id, name: "move", ...times, spoolEmpty: true }));
  let seq = 0;
  const batchMax = 500;
  return {
    ping: async (uuids: readonly string[], now: Instant) => {
      for (let from = 0; from < uuids.length; from += batchMax) {
        seq += 1;
        const signals = uuids.slice(from, from + batchMax).map(
          (uuid): AcceptedSignal => ({
            target: { by: "uuid", uuid },
            source: { by: "http", action: "success", method: "GET" },
            rid: null,
            exitStatus: null,
            scheme: "http",
            remoteAddr: "192.0.2.1",
            ua: "job",
            body: null,
            // The same ping reaches the other server a moment earlier.
            at: now + 40,
          }),
        );
        const visibility = { watermarkAt: now - 1, blind: [] };
        await recordSignals(db, { intakeId: id, lane: 0, seq, signals }, { ...OPTIONS, visibility });
      }
    },
  };
}

/** One turn of the sweeper and of the planner. */
async function turn({ db }: Pick<TestDatabase, "db">, now: Instant): Promise<void> {
  await sweepDeadlines(db, { now, visibility: { watermarkAt: now, blind: [] } });
  await takeSteps(db, { now });
  while ((await planAlerts(db, { now })) > 0);
}

/** What an admin would do without the command. */
async function liftSilence(
  { db }: Pick<TestDatabase, "db">,
  { importId, now }: { importId: number; now: Instant },
): Promise<void> {
  const at = new Date(now);
  await db.pool.query(
    `update silences set ended_at = $2, ends_at = $2
      where id in (select target_id from import_items where import_id = $1 and kind = 'silence')`,
    [importId, at],
  );
  await db.pool.query("update alerts set plan_at = to_timestamp(0) where planned_at is null");
}

async function countSent({ db }: Pick<TestDatabase, "db">, jobs: readonly Job[]) {
  const kinds = new Map(jobs.map(({ one, kind }) => [one.check.uuid, kind]));
  const { rows } = await db.pool.query<{ uuid: string; to_status: string }>(
    `select c.uuid, f.to_status from deliveries d join flips f on f.id = d.flip_id join checks c on c.id = d.check_id
      where d.kind in ('flip', 'repeat', 'correction')`,
  );
  const sent = rows.map(({ uuid, to_status }) => ({ kind: kinds.get(uuid), to: to_status }));
  const grouped = await db.pool.query<{ uuid: string }>(
    `select c.uuid from delivery_alerts da join alerts a on a.id = da.alert_id join checks c on c.id = a.check_id`,
  );
  const inGroups = grouped.rows.map(({ uuid }) => ({ kind: kinds.get(uuid), to: "down" }));
  const all = [...sent, ...inGroups].filter(({ kind }) => kind !== undefined);
  const count = (kind: Job["kind"], to: "up" | "down") =>
    all.filter((one) => one.kind === kind && one.to === to).length;
  const notices = await db.pool.query<{ count: number }>(
    `select count(*)::int as count from deliveries d join channels ch on ch.id = d.channel_id
      join check_channels cc on cc.channel_id = ch.id join checks c on c.id = cc.check_id
      where d.kind = 'notice' and c.uuid = $1`,
    [jobs[0]?.one.check.uuid],
  );
  return {
    alarms: count("steady", "down") + count("steady", "up"),
    repeated: count("down", "down"),
    recoveries: count("down", "up"),
    stopped: count("stopped", "down"),
    notices: notices.rows[0]?.count ?? 0,
  };
}

/** How many checks of a move are of each kind. */
export function expectedOf(checkCount: number): { down: number; stopped: number } {
  const indexes = Array.from({ length: checkCount }, (_, index) => index);
  const isDown = (index: number) => index % DOWN_EVERY === 7;
  return {
    down: indexes.filter(isDown).length,
    stopped: indexes.filter((index) => !isDown(index) && index % STOPPED_EVERY === 11).length,
  };
}
