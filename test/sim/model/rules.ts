// The numbers that the rules speak of, once more and by themselves: taken from the words of the rules, not from the
// code that keeps them.

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/** The watermark stays behind the newest sign of life by this much. */
export const WATERMARK_LAG_MS = SECOND_MS;
/** After a gap nothing is said about silence until signs of life have been fresh for this long. */
export const SETTLE_MS = 60 * SECOND_MS;
/** Retries get as long as grace, and at most this long, after we could receive again. */
export const RETRY_MS_MAX = HOUR_MS;
/** Blindness that begins later than this after the deadline moves it no further. */
export const CHAIN_MS_MAX = 6 * HOUR_MS;

/**
 * Signs of life come each second, and looks as often: so long after a deadline it may or may not have been noticed,
 * and both are right.
 */
export const SLACK_MS = 3 * SECOND_MS;
/** Nothing hinders a message, and it is still not there after this: it is late. */
export const LATE_AFTER_MS = 2 * MINUTE_MS;
/** A notice may wait this long for other checks that could not be watched at the same time. */
export const NOTICE_FOLD_MS = MINUTE_MS;
/** A delivery may be given up only after the receiver has refused for this long. */
export const TRIED_MS_MIN = 12 * HOUR_MS;
