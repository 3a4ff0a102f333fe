// The limits of running and reporting a job. Not in core/limits.ts: these files load nothing but built-in modules, so
// that a job starts as soon as Node does.

/** Time for one request. */
export const TRY_MS = 4_000;
/** Pauses before the second, third and fourth try. */
export const PAUSES_MS: readonly number[] = [1_000, 2_000, 4_000];
/** Pauses differ by up to this share, so that the jobs of many hosts do not retry at the same moment. */
export const PAUSE_JITTER = 0.2;
/** The longest pause that a server can ask for with Retry-After. */
export const RETRY_AFTER_MS_MAX = 10_000;
/** Redirects that one try follows. */
export const REDIRECTS_MAX = 3;
/** Time for reporting after the job has ended. */
export const REPORT_MS = 15_000;
export const REPORT_MS_MAX = 3_600_000;

/** Bytes of output that are sent if the server announces no limit. */
export const BODY_BYTES = 10_000;
export const BODY_BYTES_MAX = 10_000_000;
/** Time for the output to end after the job has: a process that the job has started may keep it open. */
export const OUTPUT_WAIT_MS = 2_000;
/** Time for creating the named pipes. */
export const MKFIFO_MS_MAX = 2_000;

/** Time between SIGTERM and SIGKILL for a job that exceeds its time limit. */
export const KILL_AFTER_MS = 30_000;

export const QUEUE_FILES_MAX = 1_000;
export const QUEUE_BYTES_MAX = 10_000_000;
export const QUEUE_AGE_MS_MAX = 7 * 86_400_000;
/** Bytes of output in one queued report. */
export const QUEUE_BODY_BYTES_MAX = 100_000;
/** What a successful report sends from the queue before the process ends. */
export const FLUSH_FILES_MAX = 20;
export const FLUSH_MS_MAX = 5_000;
/** After this time, a report that another process was sending is sent again. */
export const CLAIM_MS_MAX = 60_000;

/** Bytes that are read from a file such as that of a ping key. */
export const VALUE_FILE_BYTES_MAX = 4_096;
/** Characters of a message of the server that are shown. */
export const SERVER_TEXT_CHARS_MAX = 300;
/** The longest duration that a flag can give. */
export const DURATION_MS_MAX = 366 * 86_400_000;
/** The longest timer; Node fires one of more than 24.8 days at once. */
export const TIMER_MS_MAX = 24 * 86_400_000;
