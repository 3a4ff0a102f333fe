// The constants of the rules, copied from the documentation rather than imported from the product.

import type { NotifyRules, RunRules } from "./history.ts";

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/** The watermark lags behind the newest heartbeat by this much. */
export const WATERMARK_LAG_MS = SECOND_MS;
/** After a gap, no missed deadline is reported until heartbeats have been fresh for this long. */
export const SETTLE_MS = 60 * SECOND_MS;
/** After a blind interval, jobs have their grace period to retry, up to this limit. */
export const RETRY_MS_MAX = HOUR_MS;
/** A blind interval that begins later than this after the deadline does not extend it. */
export const CHAIN_MS_MAX = 6 * HOUR_MS;

/**
 * Heartbeats and sweeps run every second. For this long after a deadline, it may or may not have been detected;
 * both are correct.
 */
export const SLACK_MS = 3 * SECOND_MS;
/** An unblocked message that takes longer than this is late. */
export const LATE_AFTER_MS = 2 * MINUTE_MS;
/** What a silence or another rule has withheld is sent at most this long after it may be. */
export const RELEASE_MS_MAX = MINUTE_MS;
/** How long a notice may wait for other checks with the same blind interval. */
export const NOTICE_FOLD_MS = MINUTE_MS;
/** A delivery may be given up only after the receiver has refused for this long. */
export const TRIED_MS_MIN = 12 * HOUR_MS;

/** Without other rules, every bad outcome is a problem, and only the grace period limits a run. */
export const DEFAULT_RUN_RULES: RunRules = {
  failures: { count: 1, of: 1 },
  missed: 1,
  recovery: 1,
  startWithinSeconds: null,
  maxRunSeconds: null,
  minRunSeconds: null,
  minGapSeconds: null,
  earlySeconds: 0,
};

export const DEFAULT_NOTIFY_RULES: NotifyRules = {
  dependencyWaitSeconds: 120,
  isGrouped: false,
  groupWaitSeconds: 30,
  groupIntervalSeconds: 300,
  reopenWithinSeconds: 0,
  ackTimeoutSeconds: 0,
  repeatSeconds: null,
};
/** When a check has recovered on which others depend, those may wait this long for their next run. */
export const DEPENDENCY_MS_MAX = 10 * MINUTE_MS;
/** Reopenings within this time are flapping, from the third one. */
export const FLAPPING_MS = HOUR_MS;
export const FLAPPING_COUNT = 3;
