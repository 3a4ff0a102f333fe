// Every number the rules depend on, once, with its unit in its name. Whoever needs one of them imports it
// from here; what an operator may change is a setting whose default is taken from here.

// A check's own numbers and texts. Lengths are counted in Unicode code points.
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
/** Checks that are made from a crontab at once; what is beyond is told, and can be pasted afterwards. */
export const CRONTAB_JOBS_MAX = 200;
export const CRONTAB_LENGTH_MAX = 65_536;

// What is kept of a signal besides its body.
export const SCHEME_LENGTH_MAX = 10;
export const USER_AGENT_LENGTH_MAX = 200;
export const EXIT_STATUS_MAX = 255;
/** Above this many signals a minute of one check, successes and logs move the state without a log row. */
export const DEFAULT_SIGNALS_PER_MINUTE = 60;
/** A start that is older than this is not paired with a later signal in the list of pings. */
export const RUN_PAIRING_HOURS_MAX = 72;

// Bodies.
/** How much of a ping's body is kept, unless the operator says otherwise. */
export const DEFAULT_PING_BODY_BYTES = 10_000;
/** A larger ping is read no further: the signal counts, and the connection may be closed. */
export const PING_READ_BYTES_MAX = 64 * 1024 * 1024;
/** Smaller bodies never leave the database: they lie in their row's own page. An index is built on this number. */
export const MOVABLE_BODY_BYTES_MIN = 2_000;
export const API_BODY_BYTES_MAX = 2_621_440;

// Signals by email. What is beyond these is cut or put off, never a reason to lose a signal.
/** A larger message is refused for good. */
export const EMAIL_BYTES_MAX = 33_554_432;
export const EMAIL_RECIPIENTS_MAX = 100;
/** How much of a message is kept as it came, unless the operator says otherwise. */
export const DEFAULT_EMAIL_KEPT_BYTES = 1024 * 1024;
/** What one message may weigh over all its recipients: what is kept, and what keywords are looked for in. */
export const EMAIL_WEIGHT_BYTES_MAX = 8 * 1024 * 1024;
/** Of this much of a message, its beginning and its end, the text is decoded and searched. */
export const EMAIL_SEARCHED_BYTES_MAX = 256 * 1024;
/** And of no more lines than these: decoding costs by the line, and receives nothing meanwhile. */
export const EMAIL_SEARCHED_LINES_MAX = 2_000;
/** Raw messages of one check in a day. Of those beyond it as much is kept as of a body that came by HTTP. */
export const EMAIL_CHECK_BYTES_PER_DAY = 32 * 1024 * 1024;
/** Messages of one check in a minute; a sender that goes on is asked to come back. */
export const EMAIL_CHECK_MESSAGES_PER_MINUTE = 600;

// Names and errors beside the checks.
export const CHANNEL_NAME_LENGTH_MAX = 100;
export const DELIVERY_ERROR_LENGTH_MAX = 200;
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
/** The largest limit of checks that an account, or the installation, can be given. */
export const CHECK_LIMIT_MAX = 1_000_000_000;

// Channels that are managed by API, commands or the dashboard.
/** One ping can write a delivery for each channel, in the transaction of the batch that it shares with other pings. */
export const CHANNELS_PER_PROJECT_MAX = 100;
/** Channels on the dashboard's page. Projects from before the limit was lowered have up to 500. */
export const CHANNELS_LISTED_MAX = 500;
/** Checks that one request may name; "*" stands for all that there are. */
export const NAMED_CHECKS_MAX = 1_000;
/** Tests of one channel in a minute: each of them makes us write to somebody. */
export const CHANNEL_TESTS_PER_MINUTE = 10;
/** How long a page of a list is, unless its reader says otherwise, and at most. */
export const PAGE_LENGTH_DEFAULT = 50;
export const PAGE_LENGTH_MAX = 100;
export const IDEMPOTENCY_KEY_LENGTH_MAX = 255;
/** Of one project; beyond it the oldest are forgotten before their time. */
export const IDEMPOTENCY_KEYS_MAX = 1_000;

// Tags of a project. A check has up to 250, so a project can have millions; these bounds keep what is made of them small.
/** Tags in the API's list of badges and on the metrics page, the first in the alphabet or the first found. */
export const TAGS_LISTED_MAX = 10_000;
/** Tags on the dashboard's page of badges. */
export const BADGE_TAGS_SHOWN_MAX = 1_000;

// Keys.
export const API_KEY_LENGTH = 32;
export const PING_KEY_LENGTH = 22;
/** A unique key is made from this many leading hexadecimal digits of the UUID. */
export const UNIQUE_KEY_SOURCE_DIGITS = 16;
export const BADGE_SIGNATURE_LENGTH = 8;

// How much an account may have, and may see.
/** Checks that make themselves by a first ping may go this many times beyond the account's limit. */
export const PROVISIONING_FACTOR = 2;
export const FREE_PING_LOG_ROWS = 100;
export const PAID_PING_LOG_ROWS = 1_000;
/** However long the log of a check is, no list shows more. */
export const PINGS_LISTED_MAX = 1_000;

// Requests of the Management API.
/** Of one key. A plan of Terraform over 500 checks lists and reads a thousand times as fast as it can. */
export const DEFAULT_API_REQUESTS_PER_MINUTE = 6_000;

// Query filters of flips.
export const FLIP_FILTER_SECONDS_MAX = 31_536_000;
export const FLIP_FILTER_UNIX_SECONDS_MAX = 10_000_000_000;

// Answer times we promise.
export const PING_ANSWER_MS_MAX = 2_000;
export const STATUS_QUERY_MS_MAX = 2_000;
/** From the last byte of a request; whoever has heard nothing by then is told to come back. */
export const API_ANSWER_MS_MAX = 20_000;

// What whoever runs the installation is told of.
/** A spool that is filled to this part. */
export const SPOOL_FILL_REPORTED = 0.5;

// What is kept, and for how long. The days cover three whole months, whichever they are.
export const PING_TRIM_EVERY = 100;
/** Jobs get this long for retries after we could not receive, or their grace if that is shorter. */
export const EXCUSE_MS_MAX = 3_600_000;
/** Blindness that begins later than this after a deadline moves it no further. */
export const EXCUSE_CHAIN_MS_MAX = 6 * 3_600_000;
/** Three months are never longer, and downtime is told over the same days as runs. */
export const FLIP_DAYS = 93;
export const DELETED_CHECK_DAYS = 7;
export const EVENT_DAYS = 93;
export const DELIVERY_DAYS = 93;
export const RUN_DAYS = 93;
export const BLIND_INTERVAL_DAYS = 93;
export const REFUSED_INTERVAL_DAYS = 30;
/** Of the changes of a check, so many are read for its downtimes, the newest; beyond them downtimes are not told. */
export const STATUS_CHANGES_READ_MAX = 5_000;
/** A day of which we missed so much was not observed, even where no signal was due in it. */
export const UNMONITORED_DAY_MS_MIN = 3_600_000;
/** A share of time up is shown after so much time that was observed: in less, one late run would weigh too much. */
export const UP_SHARE_MS_MIN = 24 * 3_600_000;
export const REJECTED_SIGNAL_DAYS = 30;
/** A request that is repeated later than this is a new one. */
export const IDEMPOTENCY_KEY_DAYS = 1;

// Messages that are owed.
/** A send that takes longer has failed; whether it arrived is then in doubt. */
export const SEND_MS_MAX = 30_000;
/** A delivery that nobody has settled by then belongs to whoever finds it. Longer than any send. */
export const DELIVERY_LEASE_MS = 60_000;
/** Tries come at most so close together, and after hours at least so often. */
export const RETRY_MS_MIN = 15_000;
export const RETRY_MS_MAX = 3_600_000;
/** A receiver may ask to be left alone, but not for longer than this. */
export const RETRY_AFTER_MS_MAX = 3_600_000;
/** A delivery is given up when it is so old and was tried so often; the most tries are for what kills its sender. */
export const GIVE_UP_AFTER_MS = 24 * 3_600_000;
export const TRIES_MIN = 12;
export const TRIES_MAX = 500;
/** What has gathered for one check and channel beyond this is told in the next message. */
export const MESSAGE_FLIPS_MAX = 100;
/** A notice waits so long for other checks that could not be watched in the same time. */
export const NOTICE_FOLD_MS = 60_000;
export const NOTICE_CHECKS_LISTED_MAX = 20;
export const OTHER_CHECKS_LISTED_MAX = 10;
/** What is kept of a receiver's answer. */
export const RESPONSE_EXCERPT_LENGTH_MAX = 500;

/** Members of a project; beyond it nobody can be invited. */
export const MEMBERS_MAX = 500;

/** Projects that one account may own. */
export const PROJECTS_OWNED_MAX = 500;

export const API_KEYS_MAX = 50;

export const PASSKEYS_MAX = 20;
