// When to leave a store alone that keeps failing: a rule without a clock of its own. Whoever asks a store that
// is away makes its own caller wait for the full time limit, and the store no better.
import { type Instant, MINUTE_MS } from "../../core/instant.ts";

/** So many failures within the time make a store count as away. */
const FAILURES_MAX = 3;
const WITHIN_MS = MINUTE_MS;

/** The instants of the newest failures, oldest first; never more than the rule looks at. */
export type Breaker = readonly Instant[];

export const CLOSED_BREAKER: Breaker = [];

/** The breaker after one more failure. */
export function noteFailure(breaker: Breaker, at: Instant): Breaker {
  return [...breaker, at].slice(-FAILURES_MAX);
}

/** Whether the store is not to be asked now: its newest failures all lie within the last minute. */
export function isOpen(breaker: Breaker, now: Instant): boolean {
  const [oldest] = breaker;
  return breaker.length === FAILURES_MAX && oldest !== undefined && now - oldest < WITHIN_MS;
}
