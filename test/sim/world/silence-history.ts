// What users did with the silences of a world, on the database clock.
import type { SilenceHistory, SilenceTimes } from "../model/history.ts";
import type { Clocks } from "./clocks.ts";
import type { SilencePlan } from "./world.ts";

/** The versions of a silence. A silence cannot begin before it is created, nor end before it is changed. */
export function silenceHistory({ trueAt, times, changes }: SilencePlan, clocks: Clocks): SilenceHistory {
  const createdAt = clocks.receiptAt(trueAt);
  const shifted = (given: SilenceTimes, at: number): SilenceTimes => {
    const from = Math.max(given.from, createdAt);
    return given.kind === "once"
      ? { ...given, from, until: Math.max(given.until, at + 60_000) }
      : { ...given, from };
  };
  return [{ trueAt, times }, ...changes].map((change) => {
    const at = clocks.receiptAt(change.trueAt);
    return { at, times: change.times === null ? null : shifted(change.times, at) };
  });
}
