// A clock that stops while this process is not scheduled: how long something took without the delays of a busy
// machine. For upper bounds; not for lower ones, and not for code that blocks this process.

const TICK_MS = 5;
/** Tolerated delay of a tick; the rest counts as time in which this process did not run. */
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
