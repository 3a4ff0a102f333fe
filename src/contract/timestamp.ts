// How instants look on the wire: ISO 8601 in UTC with the offset written out. Clients compare these as texts,
// so every answer uses one of the two forms here.
import type { Instant } from "../core/instant.ts";

const OFFSET = "+00:00";
/** Where `2026-11-16T12:00:00` ends in an ISO text, and where its milliseconds do. */
const SECONDS_END = 19;
const MILLISECONDS_END = 23;

/** `2026-11-16T12:00:00+00:00`: what is below the second is left out, not rounded. */
export function isoSeconds(at: Instant): string {
  return new Date(at).toISOString().slice(0, SECONDS_END) + OFFSET;
}

/** `2026-11-16T12:00:00.123000+00:00`: always six digits. We keep milliseconds, so the last three are zeros. */
export function isoMicroseconds(at: Instant): string {
  return `${new Date(at).toISOString().slice(0, MILLISECONDS_END)}000${OFFSET}`;
}
