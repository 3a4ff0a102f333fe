// When problems of a check become an alert, and when it has recovered: what an outcome does to the window of outcomes.
import type { AlertCause, AlertChange, CloseCause } from "./alert.ts";
import type { Instant } from "./instant.ts";
import { DEFAULT_RULES, type Rules } from "./rules.ts";
import { type CheckState, type Deadline, type Flip, isAlertOpen, type Judged } from "./state.ts";

/** Shared, because most signals change no alert. */
export const NO_ALERTS: readonly AlertChange[] = [];

const NOTHING: Judged = { outcomes: 0, missed: 0, problem: null, runBeganAt: null, chain: null };

/** What is remembered of a check. A check that went down without rules had one bad outcome. */
function rememberedOf({ status, missed, judged }: CheckState): Judged {
  if (judged !== null || status !== "down") return judged ?? NOTHING;
  return { ...NOTHING, outcomes: 1, missed: missed === null ? 0 : 1 };
}

/** Null instead of a value without content. */
function kept(judged: Judged): Judged | null {
  const { outcomes, missed, problem, runBeganAt } = judged;
  return outcomes === 0 && missed === 0 && problem === null && runBeganAt === null ? null : judged;
}

function pushed(outcomes: number, bit: 0 | 1): number {
  return ((outcomes << 1) | bit) >>> 0;
}

/** How many of the last `of` outcomes were bad. */
function badCount(outcomes: number, of: number): number {
  let count = 0;
  for (let place = 0; place < of; place += 1) count += (outcomes >>> place) & 1;
  return count;
}

/** How many successes the window ends with. */
function successCount(outcomes: number): number {
  return outcomes === 0 ? 32 : 31 - Math.clz32(outcomes & -outcomes);
}

/** Judges the success of a run that began at an instant. */
export function judgeSuccess(state: CheckState, rules: Rules | null, beganAt: Instant): Judged | null {
  if (rules === null) return null;
  const before = rememberedOf(state);
  const runBeganAt = rules.minGapSeconds === null ? null : beganAt;
  const outcomes = pushed(before.outcomes, 0);
  if (!isAlertOpen(state)) return kept({ ...NOTHING, outcomes, runBeganAt });
  if (successCount(outcomes) >= rules.recovery) return kept({ ...NOTHING, runBeganAt });
  return { ...NOTHING, outcomes, problem: "recovering", runBeganAt };
}

/** Judges a failed run that began at an instant. */
export function judgeFailure(state: CheckState, rules: Rules | null, beganAt: Instant): Judged | null {
  if (rules === null) return null;
  const outcomes = pushed(rememberedOf(state).outcomes, 1);
  const runBeganAt = rules.minGapSeconds === null ? null : beganAt;
  const opens = badCount(outcomes, rules.failures.of) >= rules.failures.count;
  const problem = isAlertOpen(state) || opens ? null : "tolerated";
  return { ...NOTHING, outcomes, problem, runBeganAt };
}

/** Judges a missed deadline. After a tolerated one, the next run is expected from `expectFromAt` on. */
export function judgeMissed(
  state: CheckState,
  rules: Rules | null,
  { deadline, expectFromAt }: { deadline: Deadline; expectFromAt: Instant },
): Judged | null {
  if (rules === null) return null;
  const before = rememberedOf(state);
  const missed = before.missed + 1;
  const isTolerated = !isAlertOpen(state) && missed < rules.missed;
  const chain = before.chain ?? { expectFromAt: state.expectFromAt, deadlines: [] };
  return {
    outcomes: pushed(before.outcomes, 1),
    missed,
    problem: isTolerated ? "tolerated" : before.problem === "recovering" ? "recovering" : null,
    runBeganAt: before.runBeganAt,
    chain: { ...chain, deadlines: [...chain.deadlines, { at: deadline.at, expectFromAt }] },
  };
}

/** What was remembered before the last `count` of the missed deadlines in a row. */
export function judgedBefore(
  judged: Judged | null,
  { count, problem }: { count: number; problem: Judged["problem"] },
): Judged | null {
  const { outcomes, missed, runBeganAt, chain } = judged ?? NOTHING;
  const left = Math.max(0, missed - count);
  return kept({
    outcomes: outcomes >>> count,
    missed: left,
    problem,
    runBeganAt,
    chain: left === 0 || chain === null ? null : { ...chain, deadlines: chain.deadlines.slice(0, left) },
  });
}

/** What is remembered when somebody resolves the alert of a check that is down: thresholds count from now on. */
export function judgedResolved({ judged }: CheckState): Judged {
  return { ...NOTHING, problem: "tolerated", runBeganAt: judged?.runBeganAt ?? null };
}

/** What is remembered under other rules: whether thresholds are reached is decided again. */
export function judgedUnder(state: CheckState, rules: Rules | null): Judged | null {
  const { status, judged } = state;
  if (judged === null) return null;
  const { failures, missed, recovery, minGapSeconds } = rules ?? DEFAULT_RULES;
  const runBeganAt = minGapSeconds === null ? null : judged.runBeganAt;
  if (status === "down" && judged.problem === "tolerated") {
    const isReached =
      judged.missed > 0
        ? judged.missed >= missed
        : judged.outcomes % 2 === 1 && badCount(judged.outcomes, failures.of) >= failures.count;
    if (!isReached) return { ...judged, runBeganAt };
    return rules === null ? null : { ...judged, problem: null, runBeganAt };
  }
  if (status === "up" && judged.problem === "recovering") {
    if (successCount(judged.outcomes) < recovery) return { ...judged, runBeganAt };
    return kept({ ...NOTHING, runBeganAt });
  }
  return rules === null ? null : kept({ ...judged, runBeganAt });
}

/** The change of the alert between two states, if any. */
export function alertChanges(
  { before, after }: Record<"before" | "after", Pick<CheckState, "status" | "judged">>,
  change: { at: Instant; flip: Flip | null; opens: AlertCause; closes: CloseCause },
): readonly AlertChange[] {
  const isOpen = isAlertOpen(after);
  if (isAlertOpen(before) === isOpen) return NO_ALERTS;
  const { at, flip } = change;
  return isOpen
    ? [{ kind: "opened", at, cause: change.opens, flip }]
    : [{ kind: "closed", at, cause: change.closes, flip }];
}
