// Recorded steps that are not followed, each with the reason: a decision says otherwise, and decisions are worth
// more than recordings. They count as not passed, wherever steps are counted.
import type { Failure } from "../replay.ts";

export type Disputed = { topic: string; case: string; step: number; why: string };

export const DISPUTED: readonly Disputed[] = [
  {
    topic: "flips",
    case: "Spaces, signs and leading zeros in start and end",
    step: 4,
    why: "D39: a sign before the digits of `start` is refused, as underscores between them are.",
  },
];

/** Why a step that failed may fail; null when it may not. */
export function disputeOf(failure: Pick<Failure, "topic" | "case" | "step">): Disputed | null {
  const { topic, case: name, step } = failure;
  const isSame = (one: Disputed) => one.topic === topic && one.case === name && one.step === step;
  return DISPUTED.find(isSame) ?? null;
}
