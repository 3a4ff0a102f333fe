// All limits of the rules, with the unit in the name. Defaults of settings are taken from here. The browser
// bundle includes this file: keep it free of imports.

// Checks. Lengths are counted in Unicode code points.
export const PERIOD_SECONDS_MIN = 60;
export const PERIOD_SECONDS_MAX = 31_536_000;
export const DEFAULT_TIMEOUT_SECONDS = 86_400;
export const DEFAULT_GRACE_SECONDS = 3_600;
export const DEFAULT_SCHEDULE = "* * * * *";
export const DEFAULT_TZ = "UTC";
export const NAME_LENGTH_MAX = 100;
export const SLUG_LENGTH_MAX = 100;
export const TAGS_LENGTH_MAX = 500;
export const KEYWORDS_LENGTH_MAX = 200;
export const SCHEDULE_LENGTH_MAX = 100;
export const TZ_LENGTH_MAX = 36;
export const DESCRIPTION_LENGTH_MAX = 65_536;
/** Checks created from one crontab; the rest is reported and can be pasted afterwards. */
export const CRONTAB_JOBS_MAX = 200;
export const CRONTAB_LENGTH_MAX = 65_536;
/** Debian's cron rejects a crontab with a longer command. */
export const CRON_COMMAND_BYTES_MAX = 998;
/** Larger crontabs of a machine are not read. */
export const DISCOVERED_FILE_BYTES_MAX = 1024 * 1024;
/** Recorded changes of a machine; beyond it, the oldest cannot be undone. */
export const DISCOVERED_CHANGES_MAX = 1_000;

// Signals.
export const SCHEME_LENGTH_MAX = 10;
export const USER_AGENT_LENGTH_MAX = 200;
export const EXIT_STATUS_MAX = 255;
/** Above this many signals of a check per minute, successes and logs change the state without a log row. */
export const DEFAULT_SIGNALS_PER_MINUTE = 60;
/** A late end that is older than this is logged and changes nothing. */
export const LATE_END_DAYS_MAX = 7;
/** The longest run that a late end can report. */
export const LATE_END_RUN_SECONDS_MAX = 31_536_000;
/** An end of the same run that was logged up to this long before the reported time is the same end. */
export const LATE_END_SKEW_MINUTES_MAX = 5;
/** A start that is older than this is not paired with a later signal in the list of pings. */
export const RUN_PAIRING_HOURS_MAX = 72;

// Bodies.
/** Default of how much of a ping's body is stored. */
export const DEFAULT_PING_BODY_BYTES = 10_000;
/** A larger body is not read to the end: the ping counts, and the connection may be closed. */
export const PING_READ_BYTES_MAX = 64 * 1024 * 1024;
/** Smaller bodies stay in the database, in the page of their row. An index uses this number. */
export const MOVABLE_BODY_BYTES_MIN = 2_000;
export const API_BODY_BYTES_MAX = 2_621_440;

// Pings by email. What exceeds these limits is cut or deferred; no ping is lost.
/** A larger message is rejected permanently. */
export const EMAIL_BYTES_MAX = 33_554_432;
export const EMAIL_RECIPIENTS_MAX = 100;
/** Default of how much of a raw message is stored. */
export const DEFAULT_EMAIL_KEPT_BYTES = 1024 * 1024;
/** Stored and searched bytes of one message over all its recipients. */
export const EMAIL_WEIGHT_BYTES_MAX = 8 * 1024 * 1024;
/** Of so many bytes at the beginning and the end of a message, the text is decoded and searched. */
export const EMAIL_SEARCHED_BYTES_MAX = 256 * 1024;
/** Maximum lines decoded: the cost is per line and blocks receiving. */
export const EMAIL_SEARCHED_LINES_MAX = 2_000;
/** Raw messages stored per check and day. Of further ones, as much is stored as of an HTTP body. */
export const EMAIL_CHECK_BYTES_PER_DAY = 32 * 1024 * 1024;
/** Messages per check and minute; further ones are deferred. */
export const EMAIL_CHECK_MESSAGES_PER_MINUTE = 600;

// Names and errors.
export const CHANNEL_NAME_LENGTH_MAX = 100;
export const DELIVERY_ERROR_LENGTH_MAX = 200;
/** Deliveries that the health of a channel is calculated from. */
export const RECENT_DELIVERIES_MAX = 30;
/** Requests that the preview of a message shows, and characters of a URL, header or body in it. */
export const PREVIEW_REQUESTS_MAX = 5;
export const PREVIEW_LENGTH_MAX = 10_000;
export const PROJECT_NAME_LENGTH_MAX = 200;
export const ACCOUNT_NAME_LENGTH_MAX = 200;
export const API_KEY_NAME_LENGTH_MAX = 100;
export const PASSKEY_NAME_LENGTH_MAX = 100;
/** Email addresses of accounts and invitations. */
export const EMAIL_ADDRESS_LENGTH_MAX = 254;
/** A credential ID of WebAuthn has at most 1,023 bytes, stored as base64url. */
export const CREDENTIAL_ID_LENGTH_MAX = 1_364;
/** COSE keys. The longest signature algorithm registered for WebAuthn needs less than half of it. */
export const PUBLIC_KEY_BYTES_MAX = 8_192;
/** OpenID Connect limits `sub` to 255 characters; the issuer is a URL. Together they are an index key. */
export const OIDC_SUBJECT_LENGTH_MAX = 255;
export const OIDC_ISSUER_LENGTH_MAX = 1_000;
/** Names of channel kinds. */
export const CHANNEL_KIND_LENGTH_MAX = 40;
/** The configuration of a channel, in characters of its JSON. */
export const CHANNEL_CONFIG_LENGTH_MAX = 65_536;
/** How much of an error message is stored. */
export const ERROR_MESSAGE_LENGTH_MAX = 500;
/** The largest check limit of an account or the server. */
export const CHECK_LIMIT_MAX = 1_000_000_000;

// Channels.
/** One ping can write a delivery for each channel, in the transaction of its batch. */
export const CHANNELS_PER_PROJECT_MAX = 100;
/** Checks that one request may name; "*" means all. */
export const NAMED_CHECKS_MAX = 1_000;
/** Test messages per channel and minute. */
export const CHANNEL_TESTS_PER_MINUTE = 10;
/** Default and maximum page size of a list. */
export const PAGE_LENGTH_DEFAULT = 50;
export const PAGE_LENGTH_MAX = 100;
export const IDEMPOTENCY_KEY_LENGTH_MAX = 255;
/** Per project; beyond it, the oldest are deleted early. */
export const IDEMPOTENCY_KEYS_MAX = 1_000;

// Policies. Durations that are not in this list use the limits of periods.
/** Outcomes that a threshold can look at. */
export const OUTCOMES_MAX = 20;
export const MAX_RUN_SECONDS_MIN = 60;
export const MAX_RUN_SECONDS_MAX = 30 * 86_400;
export const MIN_RUN_SECONDS_MAX = 86_400;
export const EARLY_SECONDS_MAX = 86_400;
/** Checks that one check can depend on. */
export const PARENTS_MAX = 10;
export const DEFAULT_DEPENDENCY_WAIT_SECONDS = 120;
export const DEPENDENCY_WAIT_SECONDS_MAX = 300;
/** Ways in which the checks of an incident are combined. */
export const GROUP_BY_MAX = 5;
export const DEFAULT_GROUP_WAIT_SECONDS = 30;
export const GROUP_WAIT_SECONDS_MAX = 300;
export const DEFAULT_GROUP_INTERVAL_SECONDS = 300;
export const GROUP_INTERVAL_SECONDS_MIN = 60;
export const GROUP_INTERVAL_SECONDS_MAX = 3_600;
export const REOPEN_WITHIN_SECONDS_MAX = 86_400;
export const ACK_TIMEOUT_SECONDS_MAX = 7 * 86_400;
export const REPEAT_SECONDS_MIN = 300;
export const REPEAT_SECONDS_MAX = 7 * 86_400;
/** Tag rules of a project. */
export const TAG_RULES_MAX = 100;
// Silences.
export const SILENCE_REASON_LENGTH_MAX = 200;
/** Silences of a project that have not ended. The planner reads all of them. */
export const SILENCES_MAX = 100;
/** Checks that one silence may name. For more, use a tag. */
export const SILENCE_CHECKS_MAX = 200;
/** Length of a window. */
export const SILENCE_SECONDS_MIN = 60;
export const SILENCE_WINDOW_SECONDS_MAX = 7 * 86_400;
/** A silence begins, and one that does not recur ends, at most this long after it was created or changed. */
export const SILENCE_SECONDS_MAX = 90 * 86_400;
export const SILENCE_HOLD_SECONDS_MAX = 86_400;
/** Default of recurring silences; of others it is 0. */
export const DEFAULT_RECURRING_HOLD_SECONDS = 3_600;
/** Firings of a schedule that are combined into one window. A silence whose windows need more is refused. */
export const SILENCE_FIRINGS_MAX = 1_000;
/** Checks and windows in the preview of a silence. */
export const SILENCE_CHECKS_SHOWN_MAX = 20;
export const SILENCE_WINDOWS_SHOWN_MAX = 5;
/** Expected runs of one check that the preview counts. */
export const SILENCED_RUNS_COUNTED_MAX = 100;

// Status pages.
/** Pages of a project, with those in the trash. */
export const STATUS_PAGES_MAX = 20;
export const STATUS_SLUG_LENGTH_MIN = 3;
export const STATUS_SLUG_LENGTH_MAX = 60;
export const STATUS_TITLE_LENGTH_MAX = 100;
export const STATUS_DESCRIPTION_LENGTH_MAX = 1_000;
export const STATUS_GROUPS_MAX = 20;
/** Entries of a page, over all groups. */
export const STATUS_ENTRIES_MAX = 100;
export const STATUS_ENTRY_NAME_LENGTH_MAX = 100;
export const STATUS_ENTRY_DESCRIPTION_LENGTH_MAX = 300;
/** Checks of a page whose state is read: those that are down first. */
export const STATUS_CHECKS_MAX = 20_000;
/** Checks of a page whose history is read. If tags have more, the strips leave out the last ones by ID; states do not. */
export const STATUS_CHECKS_READ_MAX = 500;
/** Newest status changes of each of them; with more, the days before the first are shown as not measured. */
export const STATUS_CHANGES_EACH_MAX = 400;
export const STATUS_DAYS = 90;
/** A day with less downtime is shown as a brief outage. */
export const STATUS_OUTAGE_MS_MIN = 3_600_000;
/** A view is never older than this. */
export const STATUS_VIEW_SECONDS_MAX = 60;
/** While a delay may end with any ping. */
export const STATUS_DELAYED_VIEW_SECONDS = 5;
export const STATUS_LOGO_BYTES_MAX = 256 * 1024;
/** Width and height of a logo in pixels. */
export const STATUS_LOGO_PIXELS_MAX = 2_000;
export const STATUS_PASSWORD_LENGTH_MIN = 8;
export const STATUS_PASSWORD_LENGTH_MAX = 200;
export const STATUS_DOMAIN_LENGTH_MAX = 253;
/** How often a proved domain is checked, and one that is not proved yet. */
export const STATUS_DOMAIN_CHECK_SECONDS = 86_400;
export const STATUS_DOMAIN_WAIT_SECONDS = 300;
/** Beyond this, a domain that was never proved is checked only on request. */
export const STATUS_DOMAIN_WAIT_DAYS = 7;
/** A proved domain is served for this long after its record has disappeared. */
export const STATUS_DOMAIN_KEPT_DAYS = 3;
/** Incidents and maintenance on a page. */
export const STATUS_POSTS_MAX = 200;
/** Those shown on the page, the newest. */
export const STATUS_POSTS_SHOWN_MAX = 50;
export const STATUS_POST_TITLE_LENGTH_MAX = 150;
export const STATUS_NOTES_MAX = 50;
export const STATUS_NOTE_LENGTH_MAX = 4_000;
/** From the end of an incident or maintenance on. */
export const STATUS_POST_DAYS = 365;
export const STATUS_MAINTENANCE_SECONDS_MIN = 60;
export const STATUS_MAINTENANCE_SECONDS_MAX = 30 * 86_400;
/** Maintenance begins at most this long after it is announced. */
export const STATUS_MAINTENANCE_AHEAD_SECONDS_MAX = 365 * 86_400;
export const STATUS_SUBSCRIBERS_MAX = 1_000;
export const STATUS_WEBHOOKS_MAX = 20;
export const STATUS_WEBHOOK_LENGTH_MAX = 2_000;
/** A subscription that was not confirmed is deleted after this time. */
export const STATUS_CONFIRM_DAYS = 2;
/** Newest changes of all projects in which changes of pages are searched. */
export const STATUS_CHANGES_SEARCHED_MAX = 2_000;
/** A state is announced after it has lasted this long, so that a short outage causes no messages. */
export const STATUS_ANNOUNCE_SECONDS = 60;
/** A subscription ends after this many failed messages in a row. */
export const STATUS_FAILURES_MAX = 10;
/** Attempts to send a message to a subscriber. */
export const STATUS_ATTEMPTS_MAX = 6;
export const STATUS_DELETED_DAYS = 7;
/** Status pages that a process keeps ready, in bytes. Beyond that, a page is rendered when it is requested. */
export const STATUS_KEPT_BYTES_MAX = 32 * 1024 * 1024;
/** How long caches show a status page without asking. */
export const STATUS_CACHE_SECONDS = 15;
/** How long a browser remembers that the password of a page was entered. */
export const STATUS_UNLOCK_DAYS = 30;

// Tags of a project. A check has up to 250, so a project can have millions.
/** Tags in the API's list of badges and on the metrics page, the first in the alphabet or the first found. */
export const TAGS_LISTED_MAX = 10_000;
/** Tags on the dashboard's page of badges. */
export const BADGE_TAGS_SHOWN_MAX = 1_000;

// Keys.
export const API_KEY_LENGTH = 32;
/** How much of a key is stored and may be shown: the prefix of its kind and eight more characters. */
export const API_KEY_PREFIX_LENGTH = 12;
export const PING_KEY_LENGTH = 22;
/** Random characters of a personal access token after its prefix: 256 bits in base64url. */
export const ACCESS_TOKEN_RANDOM_LENGTH = 43;
/** A unique key is made from this many leading hexadecimal digits of the UUID. */
export const UNIQUE_KEY_SOURCE_DIGITS = 16;
export const BADGE_SIGNATURE_LENGTH = 8;

// Accounts.
/** Checks created by pings may exceed the account's limit by this factor. */
export const PROVISIONING_FACTOR = 2;
export const FREE_PING_LOG_ROWS = 100;
export const PAID_PING_LOG_ROWS = 1_000;
/** Maximum number of pings in a list. */
export const PINGS_LISTED_MAX = 1_000;

// Requests of the Management API.
/** Per API key. A Terraform plan for 500 checks makes a thousand requests as fast as it can. */
export const DEFAULT_API_REQUESTS_PER_MINUTE = 6_000;

// Query filters of flips.
export const FLIP_FILTER_SECONDS_MAX = 31_536_000;
export const FLIP_FILTER_UNIX_SECONDS_MAX = 10_000_000_000;

// Response times.
export const PING_ANSWER_MS_MAX = 2_000;
/** A commit that a ping waits for and that is not confirmed by then is given up: a batch goes to the spool instead. */
export const PING_COMMIT_MS_MAX = 1_000;
export const STATUS_QUERY_MS_MAX = 2_000;
/** From the last byte of a request; after that, the answer is 503. */
export const API_ANSWER_MS_MAX = 20_000;

// Health problems.
/** A spool filled to this share is reported. */
export const SPOOL_FILL_REPORTED = 0.5;

// Retention. The days cover three whole months.
export const PING_TRIM_EVERY = 100;
/** Jobs get this long for retries after a monitoring gap, or their grace if that is shorter. */
export const EXCUSE_MS_MAX = 3_600_000;
/** A monitoring gap that begins later than this after a deadline does not move it further. */
export const EXCUSE_CHAIN_MS_MAX = 6 * 3_600_000;
/** Three months are never longer; downtime is computed over the same days as runs. */
export const HISTORY_DAYS_MIN = 93;
export const FLIP_DAYS = 93;
export const DELETED_CHECK_DAYS = 7;
export const EVENT_DAYS = 93;
export const DELIVERY_DAYS = 93;
export const RUN_DAYS = 93;
/** From the end of a silence on. */
export const SILENCE_DAYS = 93;
export const BLIND_INTERVAL_DAYS = 93;
export const REFUSED_INTERVAL_DAYS = 30;
/** Newest status changes of a check read for its downtimes; with more, downtimes are not computed. */
export const STATUS_CHANGES_READ_MAX = 5_000;
/** A day with a monitoring gap of this length counts as not monitored, even if no ping was due. */
export const UNMONITORED_DAY_MS_MIN = 3_600_000;
/** Uptime is shown after this much monitored time: in less, one late run would weigh too much. */
export const UP_SHARE_MS_MIN = 24 * 3_600_000;
export const REJECTED_SIGNAL_DAYS = 30;
/** A request repeated later than this is a new one. */
export const IDEMPOTENCY_KEY_DAYS = 1;

// Messages that the provider bills, per account and calendar month.
export const DEFAULT_MESSAGES_PER_MONTH = 10_000;
export const DEFAULT_CALLS_PER_MONTH = 10_000;
export const MONTHLY_LIMIT_MAX = 1_000_000_000;

// Deliveries.
/** A send that takes longer has failed; whether it arrived is then in doubt. */
export const SEND_MS_MAX = 30_000;
/** A claim expires after this time. Longer than any send. */
export const DELIVERY_LEASE_MS = 60_000;
/** Minimum and maximum delay between attempts. */
export const RETRY_MS_MIN = 15_000;
export const RETRY_MS_MAX = 3_600_000;
/** Maximum wait that a receiver may request. */
export const RETRY_AFTER_MS_MAX = 3_600_000;
/**
 * A delivery is given up after this age and number of attempts; the maximum number is for messages that crash
 * the sender.
 */
export const GIVE_UP_AFTER_MS = 24 * 3_600_000;
export const TRIES_MIN = 12;
export const TRIES_MAX = 500;
/** Further pending changes of one check and channel go into the next message. */
export const MESSAGE_FLIPS_MAX = 100;
/** A notice waits this long for other checks of the same monitoring gap. */
export const NOTICE_FOLD_MS = 60_000;
export const NOTICE_CHECKS_LISTED_MAX = 20;
export const GROUP_CHECKS_LISTED_MAX = 20;
/** Checks of a group message that are compared with silences before it is sent. */
export const GROUP_MEMBERS_JUDGED_MAX = 1_000;
export const OTHER_CHECKS_LISTED_MAX = 10;
/** Stored part of a receiver's answer. */
export const RESPONSE_EXCERPT_LENGTH_MAX = 500;
/** Kept part of each output of a program that a channel runs. */
export const PROGRAM_OUTPUT_BYTES_MAX = 8_192;
/** Programs of channels that one process runs at the same time. */
export const PROGRAMS_MAX = 16;

// Incidents.
export const INCIDENT_DAYS = 93;
export const INCIDENT_NOTE_LENGTH_MAX = 2_000;
export const INCIDENT_NOTES_MAX = 100;
/** Incidents that one request may name. */
export const INCIDENTS_NAMED_MAX = 1_000;
/** Checks that a row of the list names. */
export const INCIDENT_CHECKS_NAMED_MAX = 5;
export const INCIDENT_TAGS_SHOWN_MAX = 20;
/** Alerts, deliveries, and events that the page of an incident shows, each. */
export const INCIDENT_ROWS_SHOWN_MAX = 200;
/** A link to acknowledge stays valid this long after the incident was resolved. */
export const ACK_LINK_DAYS = 7;
/** The form on the page of such a link works this long. */
export const ACK_FORM_MINUTES = 60;
/** Requests to these pages, per network. */
export const ACK_REQUESTS_PER_MINUTE = 60;

// Near misses: requests to ping URLs that reached no check.
/** Per project; beyond it, those that were seen least and longest ago are deleted. */
export const NEAR_MISSES_MAX = 200;
/** From the last request on. They contain addresses of senders. */
export const NEAR_MISS_DAYS = 30;
/** Addresses that one process looks up in one round, a few seconds apart. */
export const NEAR_MISS_LOOKUPS_MAX = 256;
/** Addresses that one network can have in a round. */
export const NEAR_MISS_ADDRESSES_PER_NETWORK_MAX = 32;
/** A longer part of a URL is not considered. */
export const NEAR_MISS_ADDRESS_LENGTH_MAX = 150;
/** Requests whose times are kept, to guess the schedule. */
export const NEAR_MISS_ARRIVALS_MAX = 24;
/** Further addresses that count as a check. */
export const ALIASES_PER_CHECK_MAX = 20;
/** Malformed addresses that every process keeps in memory; the newest count. */
export const MALFORMED_ALIASES_MAX = 10_000;

/** Members of a project. */
export const MEMBERS_MAX = 500;

/** Projects that one account may own. */
export const PROJECTS_OWNED_MAX = 500;

export const API_KEYS_MAX = 50;

/** Characters of OVERDUE_SECRET_KEY. */
export const SECRET_KEY_LENGTH_MIN = 32;
/** Authenticator apps whose secrets are encrypted again in one transaction. */
export const RESEALED_AT_ONCE_MAX = 100;
/** Further URLs, and further mail domains, at which pings are accepted. */
export const PING_ALIASES_MAX = 10;

export const PASSKEYS_MAX = 20;

// Wall boards.
/** Share links of a project. Further ones are refused. */
export const BOARD_LINKS_MAX = 20;
export const BOARD_LINK_NAME_LENGTH_MAX = 100;
/** The last use of a share link is stored at most this often. */
export const BOARD_LINK_USE_MS_MIN = 60_000;
/** Checks that are drawn one by one. A larger project shows groups, and the checks that need attention. */
export const BOARD_CANDLES_MAX = 300;
/** Groups of checks; the others are counted together. */
export const BOARD_GROUPS_MAX = 16;
/** Problems with a card of their own; the others are counted. */
export const BOARD_CARDS_MAX = 3;
/** Open incidents that compete for a card, the newest. */
export const BOARD_INCIDENTS_READ_MAX = 50;
/** Expected runs that are announced. */
export const BOARD_NEXT_MAX = 3;
/** Screens with share links get data that is at most this old, so that many of them cost as much as one. */
export const BOARD_SHARED_MS_MAX = 2_000;

// Reports.
/** An alert that ended by itself within this time counts as noise. */
export const NOISE_MINUTES_MAX = 30;
/** Fewer of them are not noise yet. */
export const NOISE_ALERTS_MIN = 2;
export const NOISY_CHECKS_LISTED_MAX = 50;
/** Alerts of a report, the newest. */
export const REPORT_ALERTS_READ_MAX = 20_000;
/** Days with runs that a trend needs. */
export const TREND_DAYS_MIN = 14;
/** The smallest rise that is reported: as a share, and in milliseconds. */
export const TREND_RISE_MIN = 0.2;
export const TREND_RISE_MS_MIN = 1_000;
/** Standard deviations above a random order: by chance, one check in 200 gets there. */
export const TREND_Z_MIN = 2.58;
/** Checks whose trend is computed: those that rose most, by a line through the logarithms of their days. */
export const TREND_CHECKS_MAX = 200;
export const SLOWER_CHECKS_LISTED_MAX = 50;

// Personal access tokens.
/** Tokens of one account that have not expired. */
export const ACCESS_TOKENS_MAX = 50;
export const ACCESS_TOKEN_NAME_LENGTH_MAX = 100;
/** Every token expires: it can do what its owner can do. */
export const ACCESS_TOKEN_DAYS_MIN = 1;
export const ACCESS_TOKEN_DAYS_MAX = 365;
/** An expired token stays in the list this long, so that its owner sees why requests fail. */
export const EXPIRED_ACCESS_TOKEN_DAYS = 30;
/** The spool leaves some space on its disk for other programs on the machine. */
export const FREE_DISK_BYTES_MIN = 64 * 1024 * 1024;

// Import from another product.
/** Rows of a page, of checks and of pings. */
export const IMPORT_CHECKS_PER_PAGE = 500;
export const IMPORT_PINGS_PER_PAGE = 500;
/** Smaller bodies are read with their page of pings, larger ones one by one. */
export const IMPORT_PAGED_BODY_BYTES_MAX = 16_384;
/** A larger body is not read, and the report lists it. */
export const IMPORT_BODY_BYTES_MAX = 4 * 1024 * 1024;
/** Of a longer text, the beginning is read. */
export const IMPORT_TEXT_LENGTH_MAX = 65_536;
/** Accounts, projects, members or channels of a source; one with more is refused. */
export const IMPORT_ROWS_MAX = 100_000;
/** Newest flips of one check. */
export const IMPORT_FLIPS_MAX = 10_000;
/** Damaged values that the report lists; further ones are counted. */
export const IMPORT_DAMAGES_LISTED_MAX = 100;
/** Waiting for a source: to connect, for a statement of its database, and for a response of its API. */
export const IMPORT_CONNECT_MS_MAX = 10_000;
export const IMPORT_STATEMENT_MS_MAX = 120_000;
export const IMPORT_RESPONSE_MS_MAX = 120_000;
/** A list of an API, such as 10,000 checks in 12 MB. */
export const IMPORT_RESPONSE_BYTES_MAX = 32 * 1024 * 1024;
/** Bodies of pings requested from an API at the same time. */
export const IMPORT_REQUESTS_MAX = 4;
/** Rate limited attempts for one request: up to an hour. */
export const IMPORT_RATE_LIMITED_MAX = 60;
/** Failed attempts for one request. */
export const IMPORT_FAILURES_MAX = 5;
/** Waiting between two attempts. */
export const IMPORT_RETRY_MS_MIN = 1_000;
export const IMPORT_RETRY_MS_MAX = 60_000;

// Profiles of the command line.
export const PROFILES_MAX = 100;
export const PROFILE_NAME_LENGTH_MAX = 64;
export const PROFILES_FILE_BYTES_MAX = 1_048_576;
/** How long a command that prints an API key may take; it may ask for a password. */
export const KEY_COMMAND_SECONDS_MAX = 120;
export const KEY_SOURCE_LENGTH_MAX = 4_096;

// Lists of the command line.
export const RUNS_LISTED_DEFAULT = 20;
export const RUNS_LISTED_MAX = 1_000;

// `overdue tail`.
/** Failed connections in a row before it gives up. */
export const TAIL_RECONNECTS_MAX = 10;

// The forecast.
/** How far it looks. */
export const FORECAST_DAYS = 366;
/** Surprises of one schedule: two clock changes, twelve months, and some to spare. */
export const FORECAST_PER_SCHEDULE_MAX = 40;
/** Entries of a project; the nearest are listed. */
export const FORECAST_ENTRIES_MAX = 200;
/** Checks listed with an entry, and changed by one fix. */
export const FORECAST_CHECKS_LISTED_MAX = 50;
/** Checks of a project that are read; the oldest count. */
export const FORECAST_CHECKS_MAX = 20_000;
/** Text that identifies an entry. */
export const FORECAST_ID_LENGTH_MAX = 250;
/** Runs per day, above which a check does not count for crowded minutes. */
export const CROWD_RUNS_PER_DAY_MAX = 12;
/** Jobs that start in the same minute, from which it counts as crowded. */
export const CROWD_JOBS_MIN = 5;
/** Jobs that usually end sooner do not count for crowded minutes. */
export const CROWD_JOB_MS_MIN = 10_000;
/** The assumed duration of a job that was never measured. */
export const CROWD_JOB_MS_DEFAULT = 600_000;
/** Crowded days that are listed. */
export const CROWD_DAYS_MAX = 12;
/** How far jobs are moved apart. */
export const CROWD_SPREAD_MINUTES_MAX = 180;
/** Marks of crowded minutes and days that are kept for each project; the oldest are deleted. */
export const CROWD_MARKS_MAX = 100;
/** Requests for calendar feeds from one network. */
export const FORECAST_FEED_REQUESTS_PER_MINUTE = 60;
// Fire drills.
/** Results kept for each project. */
export const FIRE_DRILLS_KEPT = 50;
/** A drill that has not ended by then has failed. Longer than a claim, so that it survives a crash of the notifier. */
export const FIRE_DRILL_MS_MAX = 180_000;
/** Between two drills of a project that send messages. */
export const FIRE_DRILL_SEND_EVERY_MS = 300_000;
/** A weekly drill that could not start in time is left out. */
export const FIRE_DRILL_LATE_MS_MAX = 3_600_000;
/** Notes about the policy of a check that a result lists. */
export const FIRE_DRILL_NOTES_MAX = 20;
// The timeline.
/** Checks that are drawn as rows, per page; with more, checks are counted per tag. */
export const TIMELINE_ROWS_MAX = 150;
/** Lanes in the density view; the last one contains all other tags. */
export const TIMELINE_LANES_MAX = 24;
/** Checks in trouble that are drawn below their lane, and in all lanes together. */
export const TIMELINE_LANE_ROWS_MAX = 3;
export const TIMELINE_PULLED_ROWS_MAX = 36;
/** Longest range. */
export const TIMELINE_DAYS_MAX = 98;
/** How far from now a range may reach. */
export const TIMELINE_AHEAD_DAYS_MAX = 8;
/** Packed runs that are read for one response, the newest of each check first. */
export const TIMELINE_RUNS_READ_MAX = 150_000;
/** Flips that are read for one response, the newest first. */
export const TIMELINE_FLIPS_READ_MAX = 20_000;
/** Of these, or of events, of one check. */
export const TIMELINE_FLIPS_EACH_MAX = 200;
/** Checks of a project that are considered, the oldest first. */
export const TIMELINE_CHECKS_MAX = 50_000;
/** Monitoring gaps in a response; with more, the newest. */
export const TIMELINE_GAPS_MAX = 500;
/** Separate marks of one kind of trouble on a row; with more, they are counted per column. */
export const TIMELINE_TROUBLE_MARKS_MAX = 60;
/** Firings of schedules that are computed for one response. */
export const TIMELINE_FIRINGS_MAX = 200_000;
/** Silences, windows of one silence, clock changes, and tags in a response. */
export const TIMELINE_SILENCES_MAX = 100;
export const TIMELINE_WINDOWS_MAX = 200;
export const TIMELINE_CLOCK_CHANGES_MAX = 50;
export const TIMELINE_TAGS_MAX = 200;
