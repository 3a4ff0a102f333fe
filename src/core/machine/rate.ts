// How often one check may be logged. Beyond the limit a plain success or log line still moves the state,
// but leaves no row: nothing that a client relies on is lost, and the log of a check that is called in a
// loop keeps its meaning.
import { type Instant, MINUTE_MS } from "../instant.ts";
import type { CheckState } from "./state.ts";

/** Counts a signal in the minute it was received in. */
export function countSignal(state: CheckState, at: Instant): CheckState {
  const minuteAt = Math.floor(at / MINUTE_MS) * MINUTE_MS;
  // A replayed signal of an older minute is not counted against the present one.
  if (state.rateMinuteAt !== null && minuteAt < state.rateMinuteAt) return state;
  const rateCount = state.rateMinuteAt === minuteAt ? state.rateCount + 1 : 1;
  return { ...state, rateMinuteAt: minuteAt, rateCount };
}

/** Whether the newest counted signal is beyond the limit; a limit of 0 means none. */
export function isOverRate({ rateCount }: CheckState, perMinute: number): boolean {
  return perMinute > 0 && rateCount > perMinute;
}
