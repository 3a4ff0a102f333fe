// How long the runs of a check usually take, from the newest that were measured.

export type Usual = {
  /** How many runs it is told from. */
  count: number;
  /** Eight of ten runs took no less and no more than these. */
  lowMs: number;
  highMs: number;
  medianMs: number;
  p95Ms: number;
};

/** Fewer runs than these say nothing about what is usual. */
const USUAL_RUNS_MIN = 3;

/** What is usual; null: too few runs were measured. The order does not matter. */
export function usualOf(durationsMs: readonly number[]): Usual | null {
  if (durationsMs.length < USUAL_RUNS_MIN) return null;
  const sorted = durationsMs.toSorted((one, other) => one - other);
  const at = (share: number) => sorted[Math.ceil(share * sorted.length) - 1] ?? 0;
  return {
    count: sorted.length,
    lowMs: at(0.1),
    highMs: at(0.9),
    medianMs: at(0.5),
    p95Ms: at(0.95),
  };
}
