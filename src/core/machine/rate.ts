// How often one check may be logged. Beyond the limit a plain success or log line still moves the state,
// but leaves no row: nothing that a client relies on is lost, and the log of a check that is called in a
// loop keeps its meaning.
import { type Instant, MINUTE_MS } from "../instant.ts";
import type { CheckState } from "./state.ts";

/** Counts a signal in the minute it was received in, and says whether it is beyond the limit; 0 means none. */
export function countSignal(
  state: CheckState,
  { at, perMinute }: { at: Instant; perMinute: number },
): { state: CheckState; isOver: boolean } {
  const minuteAt = Math.floor(at / MINUTE_MS) * MINUTE_MS;
  // A replayed signal of an older minute neither counts against the present one nor is judged by it.
  if (state.rateMinuteAt !== null && minuteAt < state.rateMinuteAt) return { state, isOver: false };
  const rateCount = state.rateMinuteAt === minuteAt ? state.rateCount + 1 : 1;
  return {
    state: { ...state, rateMinuteAt: minuteAt, rateCount },
    isOver: perMinute > 0 && rateCount > perMinute,
  };
}
