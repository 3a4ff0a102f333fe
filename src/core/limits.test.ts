// Clients depend on limits, so each change of one must be repeated here.
import { expect, test } from "vitest";
import * as limits from "./limits.ts";

const PROMISED: [number | string, number | string][] = [
  [limits.PERIOD_SECONDS_MIN, 60],
  [limits.PERIOD_SECONDS_MAX, 365 * 24 * 60 * 60],
  [limits.DEFAULT_TIMEOUT_SECONDS, 24 * 60 * 60],
  [limits.DEFAULT_GRACE_SECONDS, 60 * 60],
  [limits.DEFAULT_SCHEDULE, "* * * * *"],
  [limits.DEFAULT_TZ, "UTC"],
  [limits.NAME_LENGTH_MAX, 100],
  [limits.SLUG_LENGTH_MAX, 100],
  [limits.TAGS_LENGTH_MAX, 500],
  [limits.KEYWORDS_LENGTH_MAX, 200],
  [limits.SCHEDULE_LENGTH_MAX, 100],
  [limits.TZ_LENGTH_MAX, 36],
  [limits.DESCRIPTION_LENGTH_MAX, 65_536],
  [limits.CRONTAB_JOBS_MAX, 200],
  [limits.CRONTAB_LENGTH_MAX, 65_536],
  [limits.SCHEME_LENGTH_MAX, 10],
  [limits.USER_AGENT_LENGTH_MAX, 200],
  [limits.EXIT_STATUS_MAX, 255],
  [limits.DEFAULT_SIGNALS_PER_MINUTE, 60],
  [limits.RUN_PAIRING_HOURS_MAX, 72],
  [limits.DEFAULT_PING_BODY_BYTES, 10_000],
  [limits.PING_READ_BYTES_MAX, 67_108_864],
  [limits.MOVABLE_BODY_BYTES_MIN, 2_000],
  [limits.API_BODY_BYTES_MAX, 2.5 * 1024 * 1024],
  [limits.EMAIL_BYTES_MAX, 32 * 1024 * 1024],
  [limits.EMAIL_RECIPIENTS_MAX, 100],
  [limits.DEFAULT_EMAIL_KEPT_BYTES, 1_048_576],
  [limits.EMAIL_WEIGHT_BYTES_MAX, 8_388_608],
  [limits.EMAIL_SEARCHED_BYTES_MAX, 262_144],
  [limits.EMAIL_SEARCHED_LINES_MAX, 2_000],
  [limits.EMAIL_CHECK_BYTES_PER_DAY, 33_554_432],
  [limits.EMAIL_CHECK_MESSAGES_PER_MINUTE, 600],
  [limits.STATUS_CHANGES_READ_MAX, 5_000],
  [limits.UNMONITORED_DAY_MS_MIN, 3_600_000],
  [limits.SPOOL_FILL_REPORTED, 0.5],
  [limits.CHANNEL_NAME_LENGTH_MAX, 100],
  [limits.DELIVERY_ERROR_LENGTH_MAX, 200],
  [limits.PROJECT_NAME_LENGTH_MAX, 200],
  [limits.ACCOUNT_NAME_LENGTH_MAX, 200],
  [limits.API_KEY_NAME_LENGTH_MAX, 100],
  [limits.PASSKEY_NAME_LENGTH_MAX, 100],
  [limits.EMAIL_ADDRESS_LENGTH_MAX, 254],
  [limits.CREDENTIAL_ID_LENGTH_MAX, 1_364],
  [limits.PUBLIC_KEY_BYTES_MAX, 8_192],
  [limits.OIDC_SUBJECT_LENGTH_MAX, 255],
  [limits.OIDC_ISSUER_LENGTH_MAX, 1_000],
  [limits.CHANNEL_KIND_LENGTH_MAX, 40],
  [limits.CHANNEL_CONFIG_LENGTH_MAX, 65_536],
  [limits.ERROR_MESSAGE_LENGTH_MAX, 500],
  [limits.CHECK_LIMIT_MAX, 1_000_000_000],
  [limits.CHANNELS_PER_PROJECT_MAX, 100],
  [limits.CHANNELS_LISTED_MAX, 500],
  [limits.TAGS_LISTED_MAX, 10_000],
  [limits.BADGE_TAGS_SHOWN_MAX, 1_000],
  [limits.NAMED_CHECKS_MAX, 1_000],
  [limits.CHANNEL_TESTS_PER_MINUTE, 10],
  [limits.PAGE_LENGTH_DEFAULT, 50],
  [limits.PAGE_LENGTH_MAX, 100],
  [limits.IDEMPOTENCY_KEY_LENGTH_MAX, 255],
  [limits.IDEMPOTENCY_KEYS_MAX, 1_000],
  [limits.IDEMPOTENCY_KEY_DAYS, 1],
  [limits.API_KEY_LENGTH, 32],
  [limits.PING_KEY_LENGTH, 22],
  [limits.UNIQUE_KEY_SOURCE_DIGITS, 16],
  [limits.BADGE_SIGNATURE_LENGTH, 8],
  [limits.PROVISIONING_FACTOR, 2],
  [limits.FREE_PING_LOG_ROWS, 100],
  [limits.PAID_PING_LOG_ROWS, 1000],
  [limits.PINGS_LISTED_MAX, 1000],
  [limits.DEFAULT_API_REQUESTS_PER_MINUTE, 6_000],
  [limits.FLIP_FILTER_SECONDS_MAX, 31_536_000],
  [limits.FLIP_FILTER_UNIX_SECONDS_MAX, 10_000_000_000],
  [limits.PING_ANSWER_MS_MAX, 2000],
  [limits.PING_COMMIT_MS_MAX, 1_000],
  [limits.API_ANSWER_MS_MAX, 20_000],
  [limits.STATUS_QUERY_MS_MAX, 2000],
  [limits.PING_TRIM_EVERY, 100],
  [limits.EXCUSE_MS_MAX, 3_600_000],
  [limits.EXCUSE_CHAIN_MS_MAX, 21_600_000],
  [limits.FLIP_DAYS, 93],
  [limits.DELETED_CHECK_DAYS, 7],
  [limits.EVENT_DAYS, 93],
  [limits.DELIVERY_DAYS, 93],
  [limits.RUN_DAYS, 93],
  [limits.UP_SHARE_MS_MIN, 86_400_000],
  [limits.BLIND_INTERVAL_DAYS, 93],
  [limits.REFUSED_INTERVAL_DAYS, 30],
  [limits.REJECTED_SIGNAL_DAYS, 30],
  [limits.SEND_MS_MAX, 30_000],
  [limits.DELIVERY_LEASE_MS, 60_000],
  [limits.RETRY_MS_MIN, 15_000],
  [limits.RETRY_MS_MAX, 3_600_000],
  [limits.RETRY_AFTER_MS_MAX, 3_600_000],
  [limits.GIVE_UP_AFTER_MS, 86_400_000],
  [limits.TRIES_MIN, 12],
  [limits.TRIES_MAX, 500],
  [limits.MESSAGE_FLIPS_MAX, 100],
  [limits.NOTICE_FOLD_MS, 60_000],
  [limits.NOTICE_CHECKS_LISTED_MAX, 20],
  [limits.OTHER_CHECKS_LISTED_MAX, 10],
  [limits.RESPONSE_EXCERPT_LENGTH_MAX, 500],
  [limits.MEMBERS_MAX, 500],
  [limits.PROJECTS_OWNED_MAX, 500],
  [limits.API_KEYS_MAX, 50],
  [limits.PASSKEYS_MAX, 20],
];

test("every limit has its documented value", () => {
  expect(PROMISED.map(([value]) => value)).toEqual(PROMISED.map(([, promised]) => promised));
});

test("no limit is missing above", () => {
  expect(PROMISED).toHaveLength(Object.keys(limits).length);
});

test("runs are remembered for at least the 90 days that the screens show", () => {
  expect(limits.RUN_DAYS).toBeGreaterThanOrEqual(90);
});

test("what the log of a paid account keeps can be listed whole", () => {
  expect(limits.PINGS_LISTED_MAX).toBeGreaterThanOrEqual(limits.PAID_PING_LOG_ROWS);
});

test("no other process takes over a message that may still be in flight", () => {
  expect(limits.DELIVERY_LEASE_MS).toBeGreaterThan(limits.SEND_MS_MAX);
});
