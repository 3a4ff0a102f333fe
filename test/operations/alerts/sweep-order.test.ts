// The sweeper's timing changes nothing: however its sweeps fall between the signals of a check, flips, history,
// notices and state are the same as with a single sweep at the end.
import fc from "fast-check";
import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import type { Visibility } from "../../../src/core/deadline.ts";
import { MINUTE_MS, SECOND_MS } from "../../../src/core/instant.ts";
import type { AcceptedSignal } from "../../../src/core/signal.ts";
import { pauseCheck, resumeCheck } from "../../../src/operations/checks.ts";
import { recordSignals } from "../../../src/operations/record-signals.ts";
import { sweepDeadlines } from "../../../src/operations/sweep.ts";
import type { CheckWithState } from "../../../src/store/checks.ts";
import { registerIntake } from "../../../src/store/intakes.ts";
import { inTransaction } from "../../../src/store/transaction.ts";
import { useDatabase } from "../../support/database.ts";
import { MONDAY_NOON } from "../../support/sample.ts";
import { makeWatched, makeWorld, type World } from "../../support/sweeping.ts";

const RUNS = 40;
const TEST_MS_MAX = 120_000;
const database = useDatabase();

/** Times in minutes: a period of two and a grace period of one, so that deadlines fall between the steps. */
const SETTINGS = { timeoutSeconds: 120, graceSeconds: 60 };
const ACTIONS = ["success", "fail", "start", "log", "pause", "resume"] as const;
type Step = { minutes: number; what: (typeof ACTIONS)[number] | "sweep" };
type Blind = { from: number; length: number };
type Story = { steps: readonly Step[]; blind: readonly Blind[] };

const story: fc.Arbitrary<Story> = fc.record({
  steps: fc.array(
    fc.record({
      minutes: fc.integer({ min: 0, max: 5 }),
      what: fc.oneof(fc.constant("sweep" as const), fc.constantFrom(...ACTIONS)),
    }),
    { minLength: 1, maxLength: 14 },
  ),
  blind: fc.array(
    fc.record({ from: fc.integer({ min: 0, max: 30 }), length: fc.integer({ min: 1, max: 4 }) }),
    {
      maxLength: 2,
    },
  ),
});

/** Cases found in this way, which are always tried. */
const EXAMPLES: [Story][] = [
  [{ steps: [after(4, "sweep"), after(0, "pause"), after(0, "success")], blind: [] }],
  [{ steps: [after(4, "sweep"), after(1, "success"), after(5, "sweep"), after(0, "fail")], blind: [] }],
  [{ steps: [after(5, "sweep"), after(5, "sweep"), after(1, "success")], blind: [{ from: 2, length: 2 }] }],
];

function after(minutes: number, what: Step["what"]): Step {
  return { minutes, what };
}

/**
 * Everything before a time is visible, except blind intervals that have not begun; finished ones have been reported.
 */
function sightAt(now: number, blind: readonly Blind[]): Visibility {
  const times = blind
    // Between minutes, so that no step falls on an end.
    .map(({ from, length }) => ({
      from: MONDAY_NOON + from * MINUTE_MS + 20 * SECOND_MS,
      to: MONDAY_NOON + (from + length) * MINUTE_MS + 40 * SECOND_MS,
    }))
    .toSorted((one, other) => one.from - other.from);
  const current = times.filter(({ from, to }) => from <= now && now <= to).map(({ from }) => from);
  return {
    watermarkAt: Math.min(now, ...current) - SECOND_MS,
    blind: times.filter(({ to }) => to < now),
  };
}

type Player = { check: CheckWithState; intakeId: string; seq: number };

async function play(world: World, { steps, blind }: Story): Promise<Player> {
  const check = await makeWatched(database, world, { settings: SETTINGS });
  const player: Player = { check, intakeId: randomUUID(), seq: 0 };
  const clocks = { startedAt: MONDAY_NOON, watermarkAt: MONDAY_NOON, leaseUntilAt: MONDAY_NOON };
  await inTransaction(database.db, (tx) =>
    registerIntake(tx, { id: player.intakeId, name: "test", ...clocks, spoolEmpty: true }),
  );
  let now = MONDAY_NOON;
  for (const { minutes, what } of steps) {
    now += minutes * MINUTE_MS + SECOND_MS;
    await take(player, { what, now, visibility: sightAt(now, blind) });
  }
  now += 60 * MINUTE_MS;
  await take(player, { what: "sweep", now, visibility: sightAt(now, blind) });
  return player;
}

async function take(
  player: Player,
  step: { what: Step["what"]; now: number; visibility: Visibility },
): Promise<void> {
  const { what, now, visibility } = step;
  const { check } = player;
  if (what === "sweep") await sweepDeadlines(database.db, { now, visibility, limit: 3 });
  else if (what === "pause" || what === "resume") {
    const command = { projectId: check.projectId, checkId: check.id, at: now, accountId: null, visibility };
    await (what === "pause" ? pauseCheck : resumeCheck)(database.db, command);
  } else {
    player.seq += 1;
    const { intakeId, seq } = player;
    const signals = [signalOf(check.uuid, { action: what, at: now })];
    await recordSignals(
      database.db,
      { intakeId, lane: 0, seq, signals },
      {
        visibility,
        rules: { ratePerMinute: 0 },
        replayed: false,
        pingLogRows: 100,
        encode: () => Buffer.alloc(0),
      },
    );
  }
}

function signalOf(
  uuid: string,
  { action, at }: { action: "success" | "fail" | "start" | "log"; at: number },
): AcceptedSignal {
  return {
    target: { by: "uuid", uuid },
    source: { by: "http", action, method: "POST" },
    rid: null,
    exitStatus: null,
    scheme: "http",
    remoteAddr: null,
    ua: "",
    body: null,
    at,
  };
}

/** All stored data of a check that could depend on timing. */
async function recordOf({ check }: Player): Promise<Record<string, unknown>> {
  const rows = async (text: string) => (await database.db.pool.query(text, [check.id])).rows;
  return {
    flips: await rows(
      `select f.at, f.from_status, f.to_status, f.reason, f.taken_back_at, count(d.id)::int as owed
       from flips f left join deliveries d on d.flip_id = f.id where f.check_id = $1 group by f.id order by f.at, f.id`,
    ),
    events: await rows(
      "select at, kind, detail from events where check_id = $1 order by at, kind, detail::text",
    ),
    notices: await rows(
      `select d.blind_from_at, d.blind_to_at from notice_checks n join deliveries d on d.id = n.delivery_id
       where n.check_id = $1 order by 1, 2`,
    ),
    state: await rows(
      `select status, last_ping_at, last_start_at, expect_from_at, silence_deadline_at, silence_from, down_at
       from check_states where check_id = $1`,
    ),
  };
}

test(
  "with any sweeps in between, a story ends as without",
  async () => {
    let [withFlips, withNotices, withSweeps] = [0, 0, 0];
    await fc.assert(
      fc.asyncProperty(story, async (told) => {
        const world = await makeWorld(database);
        const swept = await recordOf(await play(world, told));
        // Swept checks have no deadline left within the story, so that later sweeps skip them.
        const steps = told.steps.map((step) =>
          step.what === "sweep" ? { ...step, what: "log" as const } : step,
        );
        const another = await makeWorld(database);
        const unswept = await recordOf(await play(another, { ...told, steps }));
        expect(swept).toEqual(unswept);
        withFlips += Number((swept["flips"] as unknown[]).length > 0);
        withNotices += Number((swept["notices"] as unknown[]).length > 0);
        withSweeps += Number(told.steps.some(({ what }) => what === "sweep"));
      }),
      { numRuns: RUNS, examples: EXAMPLES },
    );
    // Stories without any event would prove nothing.
    expect(withFlips).toBeGreaterThan(RUNS / 4);
    expect(withNotices).toBeGreaterThan(0);
    expect(withSweeps).toBeGreaterThan(RUNS / 4);
  },
  TEST_MS_MAX,
);
