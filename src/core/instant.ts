// Instants: whole milliseconds since 1970, UTC. Core never reads a clock; every instant is passed in.

/** Whole milliseconds since 1970-01-01T00:00:00Z. */
export type Instant = number;

/** A closed interval of time; `to` null means that it has not ended yet. */
export type Interval = { from: Instant; to: Instant | null };

export const SECOND_MS = 1_000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;
