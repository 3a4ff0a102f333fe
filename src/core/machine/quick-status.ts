// The status of many checks at once. A schedule is read only for those whose stored deadline leaves it open: of
// ten thousand checks that are nearly none. It says exactly what status.ts says.
import type { Instant } from "../instant.ts";
import { graceMs, type ShownStatus, statusAt, type Timing, type WatchedCheck } from "./status.ts";

/**
 * Whether a check may show anything but its stored status: before grace begins nothing is late, and grace ends
 * with the deadline. The store asks the same in SQL.
 */
export function mayBeLate(
  { timing, downAt }: { timing: Timing; downAt: Instant | null },
  now: Instant,
): boolean {
  return downAt !== null && now >= downAt - graceMs(timing);
}

/** What `statusAt` says, for a check that comes with the stored copy of its deadline. */
export function quickStatusAt(check: WatchedCheck & { downAt: Instant | null }, now: Instant): ShownStatus {
  return mayBeLate(check, now) ? statusAt(check, now) : check.state.status;
}
