// The database's clock against the true one, and the time that intakes make of it: theirs never goes backwards.
import { intakeFaults, type WorldHead } from "./world.ts";

export type Clocks = {
  /** What the database's clock shows. */
  databaseAt(trueAt: number): number;
  /** The time that signals are given: the database's, but it waits where that was set back. */
  receiptAt(trueAt: number): number;
};

/** The clocks of a world. A step takes place right after the turn that it is planned for. */
export function clocksOf(head: WorldHead): Clocks {
  const steps = intakeFaults(head).filter((fault) => fault.kind === "clock-step");
  const databaseAt = (trueAt: number) => {
    let at = trueAt;
    for (const { from, byMs } of steps) if (from < trueAt) at += byMs;
    return at;
  };
  const receiptAt = (trueAt: number) => {
    let at = databaseAt(trueAt);
    // The highest that the clock had been before each time it was set back.
    for (const { from, byMs } of steps) {
      if (from < trueAt && byMs < 0) at = Math.max(at, databaseAt(from));
    }
    return at;
  };
  return { databaseAt, receiptAt };
}
