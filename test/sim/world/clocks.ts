// The database clock relative to the true clock, and the monotonic receipt time that intakes derive from it.
import { intakeFaults, type WorldHead } from "./world.ts";

export type Clocks = {
  /** The database time. */
  databaseAt(trueAt: number): number;
  /** The receipt time of pings: the database time, but it never goes back. */
  receiptAt(trueAt: number): number;
};

/** The clocks of a world. A clock step takes effect right after its turn. */
export function clocksOf(head: WorldHead): Clocks {
  const steps = intakeFaults(head).filter((fault) => fault.kind === "clock-step");
  const databaseAt = (trueAt: number) => {
    let at = trueAt;
    for (const { from, byMs } of steps) if (from < trueAt) at += byMs;
    return at;
  };
  const receiptAt = (trueAt: number) => {
    let at = databaseAt(trueAt);
    // The highest time before each backward step.
    for (const { from, byMs } of steps) {
      if (from < trueAt && byMs < 0) at = Math.max(at, databaseAt(from));
    }
    return at;
  };
  return { databaseAt, receiptAt };
}
