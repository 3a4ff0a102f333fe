// A clock that stands still while this process does: how long something took, without what a busy machine adds to
// it. For bounds that a machine which stutters must not break; not for lower ones, and not for what blocks us.

const TICK_MS = 5;
/** What a tick may be late by before the rest counts as time in which we were not there. */
const TICK_MS_MAX = 25;

let awake = 0;
let tickedAt = performance.now();

const sinceTick = () => Math.min(performance.now() - tickedAt, TICK_MS_MAX);

setInterval(() => {
  awake += sinceTick();
  tickedAt = performance.now();
}, TICK_MS).unref();

/** Milliseconds of a monotonic clock in which this process could run. */
export function awakeMs(): number {
  return awake + sinceTick();
}
