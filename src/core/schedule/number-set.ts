// A set of small whole numbers kept in two integers, the form in which every field of a schedule is
// stored and searched. Knows nothing about what the numbers mean.

/** Members 0 to 29 are bits of `low`, members 30 to 59 bits of `high`. */
export type NumberSet = { low: number; high: number };

/** From `from` in strides of `step`, as far as `to`. */
export type Span = { from: number; to: number; step: number };

/** What `nextIn` answers when no member is left. */
export const NO_MEMBER = 60;

const HALF = 30;

/** A new set holding the members of all spans; none gives the empty set. */
export function setOf(...spans: Span[]): NumberSet {
  const set = { low: 0, high: 0 };
  for (const span of spans) addSpan(set, span);
  return set;
}

/** Adds every member of the span; the span must lie within 0 to 59. */
export function addSpan(set: NumberSet, { from, to, step }: Span): void {
  for (let value = from; value <= to; value += step) addMember(set, value);
}

export function addMember(set: NumberSet, value: number): void {
  if (value < HALF) set.low |= 1 << value;
  else set.high |= 1 << (value - HALF);
}

export function has(set: NumberSet, value: number): boolean {
  const bits = value < HALF ? set.low >>> value : set.high >>> (value - HALF);
  return (bits & 1) === 1;
}

/** The smallest member that is not below `value` (0 to 60), or NO_MEMBER. */
export function nextIn(set: NumberSet, value: number): number {
  if (value < HALF) {
    const low = set.low >>> value;
    if (low !== 0) return value + lowestBit(low);
    return set.high === 0 ? NO_MEMBER : HALF + lowestBit(set.high);
  }
  // A shift by 30 of a set that never uses bit 30 leaves nothing, which is the answer for 60.
  const high = set.high >>> (value - HALF);
  return high === 0 ? NO_MEMBER : value + lowestBit(high);
}

/** The members in ascending order. */
export function members(set: NumberSet): number[] {
  const found: number[] = [];
  for (let value = nextIn(set, 0); value < NO_MEMBER; value = nextIn(set, value + 1)) found.push(value);
  return found;
}

/** The place of the lowest bit that is set; `bits` must not be 0. */
export function lowestBit(bits: number): number {
  return 31 - Math.clz32(bits & -bits);
}
