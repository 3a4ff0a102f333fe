// Checks for tests of the sweeper: states as if their signals had arrived, with channels, and what the database
// contains afterwards.
import type { CheckSettings } from "../../src/core/check.ts";
import type { Visibility } from "../../src/core/deadline.ts";
import type { Instant, Interval } from "../../src/core/instant.ts";
import { planAlerts } from "../../src/operations/plan-alerts.ts";
import { type CheckState, downAtOf, NEW_STATE } from "../../src/core/state.ts";
import { assignChannels, type Channel } from "../../src/store/channels.ts";
import { type CheckWithState, writeStates } from "../../src/store/checks.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { sampleChannel } from "./checks-under-change.ts";
import type { TestDatabase } from "./database.ts";
import { MONDAY_NOON, sampleCheck, sampleProject } from "./sample.ts";

/** Pings of these checks are due every hour, with a grace period of ten minutes. */
const HOURLY = { timeoutSeconds: 3_600, graceSeconds: 600 } as const;
/** The deadline of such a check whose last ping was at noon. */
export const HOURLY_DOWN_AT = MONDAY_NOON + 4_200_000;

export function sightUntil(watermarkAt: Instant | null, blind: readonly Interval[] = []): Visibility {
  return { watermarkAt, blind };
}

export type World = { projectId: number; channels: readonly Channel[] };

/** A project with this many channels. */
export async function makeWorld({ db }: TestDatabase, { channels = 1 } = {}): Promise<World> {
  const { id: projectId } = await sampleProject(db);
  const made: Channel[] = [];
  for (let n = 0; n < channels; n += 1)
    made.push(await sampleChannel(db, { projectId, name: `channel ${n}` }));
  return { projectId, channels: made };
}

/** A check whose last ping was at noon, unless its state is given, with all channels of its project. */
export async function makeWatched(
  { db }: TestDatabase,
  { projectId, channels }: World,
  given: { settings?: Partial<CheckSettings>; state?: Partial<CheckState>; sweepAt?: Instant } = {},
): Promise<CheckWithState> {
  const check = await sampleCheck(db, { projectId, ...HOURLY, ...given.settings });
  const heard = { status: "up", lastPingAt: MONDAY_NOON, newestAt: MONDAY_NOON, pingCount: 1 } as const;
  const state = { ...NEW_STATE, ...heard, ...given.state };
  const deadline = downAtOf({ timing: check.settings, state });
  const mark = given.sweepAt ?? deadline;
  await inTransaction(db, async (tx) => {
    await assignChannels(tx, { checkId: check.id, channelIds: channels.map(({ id }) => id) });
    await writeStates(tx, [
      { checkId: check.id, state, downAt: deadline, sweepAt: mark, lastSuccessN: null, today: null },
    ]);
  });
  return { ...check, state, downAt: deadline, sweepAt: mark };
}

export async function makeManyWatched(
  database: TestDatabase,
  world: World,
  count: number,
): Promise<CheckWithState[]> {
  const made: CheckWithState[] = [];
  for (let n = 0; n < count; n += 1) made.push(await makeWatched(database, world));
  return made;
}

export type Row = {
  status: string;
  down_at: number | null;
  sweep_at: number | null;
  held_until_at: number | null;
};

/** The stored rows of a check, read without our own code. */
export async function storedRow({ db }: TestDatabase, checkId: number): Promise<Row> {
  const { rows } = await db.pool.query<Row>(
    "select status, down_at, sweep_at, held_until_at from check_states where check_id = $1",
    [checkId],
  );
  if (rows[0] === undefined) throw new Error("the check has no state");
  return rows[0];
}

/** The flips of all checks of a project with their number of deliveries, oldest first. */
export async function owedFlips(
  { db }: TestDatabase,
  { projectId }: World,
): Promise<{ checkId: number; at: Instant; to: string; reason: string; owed: number }[]> {
  await planAlerts(db, { now: Date.now() });
  const { rows } = await db.pool.query(
    `select f.check_id as "checkId", f.at, f.to_status as to, f.reason, count(d.id)::int as owed
     from flips f join checks c on c.id = f.check_id left join deliveries d on d.flip_id = f.id
     where c.project_id = $1 group by f.id order by f.at, f.check_id`,
    [projectId],
  );
  return rows;
}
