// Which tests prove sections 4 to 8 of docs/spec.md: requests, keys, errors, limits. Data only.
import { type Proofs, recorded, tested } from "./proof.ts";

const PROMISES = "test/api/promises.test.ts";

const ALL_FIELDS = recorded("create", "A Simple check with all its fields");
const DEFAULTS = recorded("create", "An empty object makes a check with all defaults");
const CRON = recorded("create", "A Cron check");
const ONCALENDAR = recorded("create", "A systemd OnCalendar expression");
const SCHEDULE_WINS = recorded("create", "Schedule wins over timeout");
const SUBJECTS = recorded("create", "subject and subject_fail set the new fields");
const UNCHANGED = recorded("update", "An empty object changes nothing");
const BY_UUID = recorded("get", "A check by its UUID");
const READ_ONLY = recorded("get", "A check by its unique key, with both kinds of key");
const BY_SLUG = recorded("list", "Filtered by slug");
const BY_TAG = recorded("list", "Filtered by tag");
const FLIPS = recorded("flips", "new to up, up to down, down to up");
const FLIPS_BY_KEY = recorded("flips", "By unique key and with a read-only key");
const PAUSE = recorded("pause-resume", "Pause and resume");
const PAUSE_BODY = recorded("pause-resume", "The body of pause and resume");
const UPSERT = recorded("upsert", "By name: the first makes, the second updates");
const CHANNEL_NAMES = recorded("channels", "Names match exactly");
const ODD_CHANNEL_NAMES = recorded(
  "channels",
  "Equal names, an empty name, spaces, Unicode and a name like a UUID",
);
const KEY_IN_BODY = recorded("authentication", "The key in the body of a POST");
const NO_KEY = recorded("authentication", "Without a key every endpoint answers 401");
const UNKNOWN_KEY = recorded("authentication", "An unknown key of 32 characters is wrong");
const READ_ONLY_KEY = recorded(
  "authentication",
  "A read-only key reads checks, flips and badges and nothing else",
);
const FOREIGN_KEY = recorded("authentication", "The key of another project");
const NOT_JSON = recorded("create-validation", "A body that is not JSON");
const TIMEOUT_BOUNDS = recorded("create-validation", "timeout must be from 60 to 31536000");
const GRACE_BOUNDS = recorded("create-validation", "grace must be from 60 to 31536000");
const AT_BOUNDS = recorded("create", "timeout and grace at their limits");
const CHECK_LIMIT = recorded("create", "The check limit of the account");
const MAIL_SUBJECT = recorded("smtp", "Subject keywords: failure, success, start, none");
const MAIL_SUBJECT_ONLY = recorded("smtp", "The body is not searched with filter_subject alone");
const MAIL_BODY = recorded("smtp", "Body keywords in plain text");
const SUBJECT_ALONE = recorded("smtp", "subject alone: what does not match is ignored");
const SUBJECT_FAIL_ALONE = recorded("smtp", "subject_fail alone: what does not match is a success");
const CODES = tested(
  "src/core/errors.test.ts",
  "each code has its own HTTP status, and every one of them is a refusal",
);

const ENDPOINTS: Proofs = {
  "S4-01": [NOT_JSON],
  "S4-02": [tested(PROMISES, "multipart form data is not accepted")],
  "S4-03": [tested(PROMISES, "every answer is JSON, except that of the ping body")],
  "S4-04": [PAUSE_BODY, UNCHANGED],
  "S4-05": [KEY_IN_BODY],
  "S4.1-list": [recorded("list", "All checks of the project and of no other")],
  "S4.1-list.slug": [BY_SLUG],
  "S4.1-list.slug.none": [BY_SLUG],
  "S4.1-list.slug.several": [BY_SLUG],
  "S4.1-list.tag": [BY_TAG],
  "S4.1-list.tag.repeated": [BY_TAG],
  "S4.1-get": [BY_UUID],
  "S4.1-get.unique_key": [READ_ONLY],
  "S4.1-create": [ALL_FIELDS],
  "S4.1-create.optional": [DEFAULTS],
  "S4.1-create.ping_url": [DEFAULTS],
  "S4.1-update": [recorded("update", "name alone")],
  "S4.1-update.optional": [UNCHANGED],
  "S4.1-pause": [PAUSE],
  "S4.1-pause.parameters": [PAUSE_BODY],
  "S4.1-resume": [PAUSE],
  "S4.1-resume.parameters": [PAUSE_BODY],
  "S4.1-delete": [recorded("delete", "The answer is the check as it was")],
  "S4.1-delete.parameters": [recorded("delete", "A body is not looked at")],
  "S4.1-delete.permanent": [recorded("delete", "Afterwards nothing of it can be read or pinged")],
  "S4.1-pings": [recorded("pings", "Newest first, numbered from 1")],
  "S4.1-pings.order": [recorded("pings", "Newest first, numbered from 1")],
  "S4.1-body": [recorded("ping-body", "The body as it was sent, always text/plain")],
  "S4.1-body.content_type": [recorded("ping-body", "HTML is not turned into a page")],
  "S4.1-flips": [FLIPS],
  "S4.1-flips.unique_key": [FLIPS_BY_KEY],
  "S4.1-flips.bare": [FLIPS],
  "S4.1-flips.order": [FLIPS],
  "S4.1-channels": [recorded("channels", "Two integrations")],
  "S4.1-badges": [recorded("badges", "One entry for each tag and the overall one")],
  "S4.1-badges.star": [recorded("badges", "A project without tags has the overall badge only")],
  "S4.1-status": [recorded("status", "Answers 200 without a key")],
};

const PARAMETERS: Proofs = {
  "S4.2-name": [ALL_FIELDS, DEFAULTS],
  "S4.2-name.slug": [recorded("create", "The slug is not derived from the name in version 3")],
  "S4.2-slug": [ALL_FIELDS, DEFAULTS],
  "S4.2-slug.characters": [recorded("create-validation", "slug must match its pattern")],
  "S4.2-tags": [ALL_FIELDS, DEFAULTS, BY_TAG],
  "S4.2-desc": [ALL_FIELDS, DEFAULTS],
  "S4.2-timeout": [ALL_FIELDS, DEFAULTS, TIMEOUT_BOUNDS],
  "S4.2-grace": [ALL_FIELDS, DEFAULTS, GRACE_BOUNDS],
  "S4.2-schedule": [CRON, recorded("create", "Cron forms that are accepted")],
  "S4.2-schedule.oncalendar": [ONCALENDAR, recorded("create", "OnCalendar forms that are accepted")],
  "S4.2-schedule.detected": [CRON, ONCALENDAR],
  "S4.2-schedule.wins": [SCHEDULE_WINS],
  "S4.2-tz": [
    recorded("create", "Without tz a Cron check is in UTC"),
    recorded("create", "A current, a fixed-offset and an old time zone name"),
  ],
  "S4.2-tz.alone": [recorded("create", "tz without schedule is accepted and not shown")],
  "S4.2-manual_resume": [ALL_FIELDS, DEFAULTS],
  "S4.2-methods": [ALL_FIELDS, DEFAULTS, recorded("create-validation", "methods must be empty or POST")],
  "S4.2-channels": [recorded("channels", "A new check has none")],
  "S4.2-channels.all": [recorded("channels", "All with a star")],
  "S4.2-channels.uuids": [recorded("channels", "By UUID, one and two, in any order, repeated")],
  "S4.2-channels.names": [recorded("channels", "By name")],
  "S4.2-channels.names.filled": [CHANNEL_NAMES],
  "S4.2-channels.names.unique": [ODD_CHANNEL_NAMES],
  "S4.2-channels.names.comma": [tested(PROMISES, "an integration cannot be named by a name with a comma")],
  "S4.2-channels.names.exact": [CHANNEL_NAMES, ODD_CHANNEL_NAMES],
  "S4.2-channels.none": [recorded("channels", "On update: set, replace, clear, leave")],
  "S4.2-start_kw": [ALL_FIELDS, DEFAULTS, MAIL_SUBJECT, MAIL_BODY],
  "S4.2-success_kw": [ALL_FIELDS, DEFAULTS, MAIL_SUBJECT, MAIL_BODY],
  "S4.2-failure_kw": [ALL_FIELDS, DEFAULTS, MAIL_SUBJECT, MAIL_BODY],
  "S4.2-filter_subject": [ALL_FIELDS, DEFAULTS, MAIL_SUBJECT, MAIL_SUBJECT_ONLY],
  "S4.2-filter_body": [ALL_FIELDS, DEFAULTS, MAIL_BODY, MAIL_SUBJECT_ONLY],
  "S4.2-subject": [SUBJECTS, DEFAULTS, SUBJECT_ALONE],
  "S4.2-subject.empty": [SUBJECT_FAIL_ALONE],
  "S4.2-subject_fail": [SUBJECTS, DEFAULTS, SUBJECT_FAIL_ALONE],
  "S4.2-subject_fail.empty": [SUBJECT_ALONE],
  "S4.2-unique": [UPSERT, recorded("upsert", "An empty unique is a plain create")],
  "S4.2-unique.values": [
    recorded("upsert", "All five fields together"),
    recorded("create-validation", "unique must be an array of known names"),
  ],
  "S4.2-api_key": [KEY_IN_BODY],
};

const CREATE_AND_UPDATE: Proofs = {
  "S4.3-01": [ALL_FIELDS],
  "S4.3-02": [CRON],
  "S4.3-03": [recorded("upsert", "All named fields must match")],
  "S4.3-04": [UPSERT],
  "S4.3-05": [UPSERT],
  "S4.3-06": [recorded("create", "Two checks with the same name and slug are two checks")],
  "S4.3-07": [DEFAULTS],
  "S4.4-01": [UNCHANGED],
  "S4.4-02": [UNCHANGED, recorded("update", "grace alone")],
  "S4.4-03": [UNCHANGED],
  "S4.4-04": [recorded("update", "Schedule wins over timeout, and the old timeout stays stored")],
  "S4.4-05": [recorded("update", "unique is checked and otherwise ignored")],
  "S4.5-seconds": [
    recorded("flips", "start is inclusive, end is exclusive, both combine"),
    recorded("flips", "seconds"),
  ],
  "S4.5-start": [recorded("flips", "start is inclusive, end is exclusive, both combine")],
  "S4.5-end": [recorded("flips", "start is inclusive, end is exclusive, both combine")],
  "S4.5-none": [FLIPS],
  "S4.5-invalid": [recorded("flips", "Filters that are refused")],
};

const KEYS: Proofs = {
  "S5-01": [NO_KEY],
  "S5-02": [FOREIGN_KEY],
  "S5-03": [tested(PROMISES, "no key is valid for a whole account")],
  "S5-04": [tested(PROMISES, "a project has no key until one is made")],
  "S5-05": [
    tested("test/operations/admin.test.ts", "makes only the kinds asked for, and replaces only those"),
  ],
  "S5-06": [
    tested("src/core/identity.test.ts", "a new API key has 32 characters, and its first four tell the kind"),
    READ_ONLY_KEY,
  ],
  "S5-07": [tested("src/core/access.test.ts", "a read-write key may call everything but the scrape address")],
  "S5-08": [READ_ONLY_KEY],
  "S5-09": [READ_ONLY, recorded("list", "With a read-only key")],
  "S5-10": [BY_UUID, recorded("authentication", "Other headers do not carry the key")],
  "S5-11": [KEY_IN_BODY],
  "S5-12": [NO_KEY],
  "S5-13": [UNKNOWN_KEY],
  "S5-14": [READ_ONLY_KEY, FOREIGN_KEY],
};

const ERRORS: Proofs = {
  "S7-2xx": [CODES, BY_UUID],
  "S7-4xx": [CODES, NOT_JSON],
  "S7-5xx": [
    CODES,
    tested("test/api/server.test.ts", "the caller hears no details"),
    tested("test/api/server.test.ts", "a database that is away is told as such, with a time to come back"),
  ],
  "S7-200": [BY_UUID],
  "S7-200.upsert": [UPSERT],
  "S7-201": [DEFAULTS],
  "S7-400.malformed": [NOT_JSON],
  "S7-400.schema": [
    recorded("create-validation", "JSON that is not an object"),
    recorded("create-validation", "name must be a string"),
  ],
  "S7-400.values": [recorded("create-validation", "methods must be empty or POST"), TIMEOUT_BOUNDS],
  "S7-400.flips": [recorded("flips", "Filters that are refused")],
  "S7-401": [NO_KEY, UNKNOWN_KEY],
  "S7-403": [READ_ONLY_KEY, FOREIGN_KEY],
  "S7-403.limit": [CHECK_LIMIT],
  "S7-404": [
    recorded("get", "A check that does not exist"),
    recorded("update", "A check that does not exist"),
    recorded("delete", "A check that does not exist"),
  ],
};

const LIMITS: Proofs = {
  "S8-timeout.min": [
    TIMEOUT_BOUNDS,
    AT_BOUNDS,
    recorded("update-validation", "A wrong timeout is refused and nothing is changed"),
  ],
  "S8-timeout.max": [
    TIMEOUT_BOUNDS,
    AT_BOUNDS,
    recorded("update-validation", "A wrong timeout is refused and nothing is changed"),
  ],
  "S8-grace.min": [
    GRACE_BOUNDS,
    AT_BOUNDS,
    recorded("update-validation", "A wrong grace is refused and nothing is changed"),
  ],
  "S8-grace.max": [
    GRACE_BOUNDS,
    AT_BOUNDS,
    recorded("update-validation", "A wrong grace is refused and nothing is changed"),
  ],
  "S8-checks": [tested(PROMISES, "a free account has 20 checks and no more")],
  "S8-checks.code": [CHECK_LIMIT],
  "S8-pings.free": [tested(PROMISES, "for a free account 100 pings are listed")],
  "S8-pings.paid": [tested(PROMISES, "for a paid account 1000 pings are listed")],
  "S8-flips": [
    tested(
      "src/core/retention.test.ts",
      "flips of the current month and of the two full ones before it are always kept",
    ),
    tested("test/operations/prune-history.test.ts", "flips and events"),
  ],
  "S8-flips.older": [
    tested(PROMISES, "an old flip is listed until somebody cleans up"),
    tested("test/operations/prune-history.test.ts", "flips and events"),
  ],
};

export const REQUEST_PROOFS: Proofs = {
  ...ENDPOINTS,
  ...PARAMETERS,
  ...CREATE_AND_UPDATE,
  ...KEYS,
  ...ERRORS,
  ...LIMITS,
};
