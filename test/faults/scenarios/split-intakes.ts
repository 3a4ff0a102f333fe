// Two processes, one of which cannot reach the database: the signals of a check alternate between them, so that half
// of them are applied immediately and half much later. In the end the state of every check is as if all had arrived
// in order.
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { DEFAULT_SETTINGS } from "../../../src/core/check.ts";
import type { SignalKind } from "../../../src/core/signal.ts";
import { NEW_STATE } from "../../../src/core/state.ts";
import { applySignals } from "../../../src/core/transition.ts";
import { conclude } from "../conclusion.ts";
import { bySize, type Result, type Run, type Scenario } from "../scenario.ts";
import type { KindLetter, Target } from "../signals/outgoing.ts";
import { someOf } from "../signals/verdict.ts";
import type { PingProcess } from "../stage/ping-process.ts";
import { onStage, type Stage } from "../stage/stage.ts";
import { warmUp } from "../stage/warm-up.ts";

type Plan = { checks: number; rounds: number; stepsAway: number };

const PLANS: Record<Run["size"], Plan> = {
  full: { checks: 120, rounds: 5, stepsAway: 12 },
  quick: { checks: 60, rounds: 2, stepsAway: 12 },
  tiny: { checks: 24, rounds: 1, stepsAway: 8 },
};

/** More than the clocks of two processes may differ. */
const STEP_MS = 120;
/** Steps after the link is restored, while one process still replays. */
const STEPS_HEALED = 5;

/** The repeated steps of a check; which process gets which step depends on the check. */
const STORIES: readonly (readonly KindLetter[])[] = [
  ["b", "s"],
  ["f", "s"],
  ["b", "f", "s"],
  ["b", "b", "s", "f"],
];

export const splitIntakes: Scenario = {
  name: "split-intakes",
  about: "one of two processes cut off, start and success, fail and success alternate; end state as by time",
  run: (run) => {
    const plan = bySize(run, PLANS);
    return onStage(run, { checks: plan.checks }, (stage) => play(stage, plan));
  },
};

async function play(stage: Stage, plan: Plan): Promise<Result> {
  const proxy = await stage.proxy();
  const cutOff = await stage.receiver({ name: "cut-off", databaseUrl: proxy.urlFor(stage.url) });
  const direct = await stage.receiver({ name: "direct" });
  await Promise.all([cutOff.start(), direct.start()]);
  await warmUp(stage, [cutOff, direct]);
  for (let round = 1; round <= plan.rounds; round += 1) {
    proxy.cut();
    await tellStories(stage, { steps: plan.stepsAway + round, processes: [cutOff, direct] });
    proxy.heal();
    await tellStories(stage, { steps: STEPS_HEALED, processes: [direct, cutOff] });
    stage.run.say(`round ${round} of ${plan.rounds}`);
  }
  const result = await conclude(stage);
  const complaints = await stage.withClient((client) => compareWithModel(client, stage.targets));
  const figures = { ...result.figures, compared_checks: stage.targets.length };
  return { ...result, figures, complaints: [...result.complaints, ...complaints] };
}

/** The signals of each check one after the other, alternating between the two; all checks concurrently. */
async function tellStories(
  stage: Stage,
  { steps, processes }: { steps: number; processes: readonly PingProcess[] },
): Promise<void> {
  const rids = new Map<Target, string | null>();
  for (let step = 0; step < steps; step += 1) {
    const pause = sleep(STEP_MS);
    await Promise.all(
      stage.targets.map((target, index) => {
        const story = STORIES[index % STORIES.length] ?? ["s"];
        const kind = story[step % story.length] ?? "s";
        // One in two checks uses run IDs.
        if (kind === "b" || !rids.has(target)) rids.set(target, index % 2 === 0 ? randomUUID() : null);
        const port = processes[(step + Math.floor(index / STORIES.length)) % processes.length]?.port ?? 0;
        const signal = stage.ledger.maker.make(target, { kind, rid: rids.get(target) ?? null });
        return stage.ledger.send(signal, port);
      }),
    );
    await pause;
  }
}

type LogRow = { check_id: string; at: Date; kind: string; rid: string | null };
type StateRow = {
  check_id: string;
  status: string;
  last_ping_at: Date | null;
  last_start_at: Date | null;
  last_start_rid: string | null;
};

const KIND_OF: Record<string, SignalKind> = { s: "success", b: "start", f: "fail", l: "log" };

/** The stored state of every check, and the state that the rules derive from its log, sorted by receive time. */
async function compareWithModel(client: pg.ClientBase, targets: readonly Target[]): Promise<string[]> {
  const log = await client.query<LogRow>("select check_id, at, kind, rid from pings order by at, n");
  const states = await client.query<StateRow>(
    "select check_id, status, last_ping_at, last_start_at, last_start_rid from check_states",
  );
  const byCheck = Map.groupBy(log.rows, (row) => row.check_id);
  const different: string[] = [];
  for (const row of states.rows) {
    const signals = (byCheck.get(row.check_id) ?? []).map(({ at, kind, rid }) => ({
      kind: KIND_OF[kind] ?? "ign",
      at: at.getTime(),
      rid,
      replayed: false,
    }));
    const { state } = applySignals(
      { timing: DEFAULT_SETTINGS, state: NEW_STATE },
      { signals, visibility: { watermarkAt: null, blind: [] }, rules: { ratePerMinute: 0 } },
    );
    const model = [state.status, state.lastPingAt, state.lastStartAt, state.lastStartRid].join(" ");
    const { last_ping_at: pingAt, last_start_at: startAt } = row;
    const stored = [row.status, pingAt?.getTime(), startAt?.getTime(), row.last_start_rid].join(" ");
    if (model !== stored) different.push(`check ${row.check_id} is [${stored}], should be [${model}]`);
  }
  if (states.rows.length !== targets.length) different.push("not every check has a state");
  return different.length === 0
    ? []
    : [`${different.length} checks do not end as their signals by time: ${someOf(different)}`];
}
