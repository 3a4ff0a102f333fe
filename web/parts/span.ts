// A duration as people type it: a number and its unit. Pure.

export const UNIT_SECONDS = { minutes: 60, hours: 3_600, days: 86_400, weeks: 604_800 } as const;
export type Unit = keyof typeof UNIT_SECONDS;
/** A duration as it is typed. */
export type Span = { count: string; unit: Unit };

/** The largest unit in which it is a whole number. */
export function spanOf(seconds: number): Span {
  const units = (Object.keys(UNIT_SECONDS) as Unit[]).toReversed();
  const unit = units.find((one) => seconds % UNIT_SECONDS[one] === 0 && seconds >= UNIT_SECONDS[one]);
  const chosen = unit ?? "minutes";
  return { count: String(Number((seconds / UNIT_SECONDS[chosen]).toFixed(4))), unit: chosen };
}

/** Whole seconds; 0 for what is no number. */
export function secondsOf({ count, unit }: Span): number {
  const number = Number(count.replace(",", "."));
  return Number.isFinite(number) && number > 0 ? Math.round(number * UNIT_SECONDS[unit]) : 0;
}
