// Which tests prove sections 0 to 3 of docs/spec.md: addresses, the service, resources, states. Data only.
import { type Proofs, recorded, tested } from "./proof.ts";

const ALL_FIELDS = recorded("create", "A Simple check with all its fields");
const DEFAULTS = recorded("create", "An empty object makes a check with all defaults");
const CRON = recorded("get", "A Cron check shows schedule and tz, no timeout");
const BY_UUID = recorded("get", "A check by its UUID");
const READ_ONLY = recorded("get", "A check by its unique key, with both kinds of key");
const SUBJECTS = recorded("create", "subject and subject_fail set the new fields");
const NEXT_PING = recorded("get", "next_ping is last_ping plus timeout");
const STATES = recorded("list", "The states of checks show in the list");
const PING_DETAILS = recorded("pings", "Method, user agent, run id and body URL");
const NEWEST_FIRST = recorded("pings", "Newest first, numbered from 1");
const FLIPS = recorded("flips", "new to up, up to down, down to up");
const CHANNELS = recorded("channels", "Two integrations");
const MANY_CHANNELS = recorded("channels", "Many kinds, an empty name and equal names");
const BADGES = recorded("badges", "One entry for each tag and the overall one");
const BADGE_SVG = recorded("badges", "The SVG document");
const BADGE_JSON = recorded("badges", "The JSON document of a tag");
const BADGE_SHIELDS = recorded("badges", "The shields document");
const PAUSE = recorded("pause-resume", "Pause and resume");
const MANUAL = recorded("pause-resume", "With manual_resume every signal is ignored while paused");

const BADGE_STATES = tested(
  "test/api/badge-documents.test.ts",
  "with late where there are three states, and up where there are two",
);
const ROLL_UP = tested("src/core/badge.test.ts", "of %j is %s in two states and %s in three");
const GRACE = tested(
  "src/core/machine/status.test.ts",
  "at minute %i of an hourly check is %s: down is stored, never computed",
);
const DEADLINE = tested(
  "src/core/machine/status.test.ts",
  "is a grace after the expected time or after the start, whichever is sooner",
);
const DEADLINE_FIRES = tested(
  "src/core/machine/deadline.test.ts",
  "fires only when the watermark has passed it",
);
const MAIL_SUBJECT = recorded("smtp", "Subject keywords: failure, success, start, none");
const MAIL_BODY = recorded("smtp", "Body keywords in plain text");

/** Addresses and the service. */
const SERVICE: Proofs = {
  "S0-api_url": [tested("test/api/promises.test.ts", "version 3 begins at /v3 on a host of its own")],
  "S0-base_url": [recorded("version-1", "An empty create: the fields of version 1 and no others")],
  "S0-ping_base": [
    tested("test/ping/answers.test.ts", "pings come to the root"),
    recorded("ping-uuid", "A GET of the ping URL is a success signal and takes a new check up"),
  ],
  "S0-badge_base": [BADGE_JSON],
  "S1-01": [recorded("create", "Two checks with the same name and slug are two checks")],
  "S1-02": [GRACE, DEADLINE_FIRES],
  "S1-03": [ALL_FIELDS, CRON],
  "S1-04": [NEXT_PING],
  "S1-05": [recorded("get", "next_ping of Cron checks")],
  "S1-06": [DEADLINE, DEADLINE_FIRES],
  "S1-07": [recorded("ping-uuid", "A GET of the ping URL is a success signal and takes a new check up")],
  "S1-08": [
    recorded("ping-uuid", "A GET of the ping URL is a success signal and takes a new check up"),
    recorded("ping-uuid", "POST and HEAD are success signals too, HEAD with an empty answer"),
  ],
  "S1-09": [
    recorded("ping-uuid", "With methods POST a GET or HEAD is recorded as ignored and changes nothing"),
  ],
  "S1-10": [recorded("smtp", "A message to the check's address is a success signal")],
  "S1-11": [MAIL_SUBJECT, MAIL_BODY, recorded("smtp", "The body is not searched with filter_subject alone")],
  "S1-12": [recorded("list", "All checks of the project and of no other")],
  "S1-13": [CHANNELS, recorded("channels", "An integration of another project")],
  "S1-14": [
    recorded("channels", "A new check has none"),
    recorded("channels", "By UUID, one and two, in any order, repeated"),
  ],
  "S1-15": [ALL_FIELDS, recorded("create-validation", "A body that is not JSON")],
  "S1-16": [CHANNELS, NEWEST_FIRST, FLIPS, BADGES],
};

/** The check object. Where a row is a field, its first proof is a case that shows the field. */
const CHECK: Proofs = {
  "S2.1-name": [ALL_FIELDS],
  "S2.1-slug": [ALL_FIELDS],
  "S2.1-slug.empty": [DEFAULTS],
  "S2.1-tags": [ALL_FIELDS],
  "S2.1-desc": [ALL_FIELDS],
  "S2.1-grace": [ALL_FIELDS],
  "S2.1-n_pings": [recorded("ping-uuid", "Each kind of signal counts and is numbered in order")],
  "S2.1-status": [STATES, GRACE],
  "S2.1-started": [recorded("ping-uuid", "/start marks the check as started and leaves its status alone")],
  "S2.1-last_ping": [NEXT_PING],
  "S2.1-next_ping": [NEXT_PING, recorded("get", "next_ping of Cron checks")],
  "S2.1-next_ping.down": [recorded("get", "next_ping is null for a check that is down")],
  "S2.1-next_ping.never": [DEFAULTS],
  "S2.1-manual_resume": [ALL_FIELDS, MANUAL],
  "S2.1-methods": [ALL_FIELDS, recorded("create-validation", "methods must be empty or POST")],
  "S2.1-start_kw": [ALL_FIELDS],
  "S2.1-success_kw": [ALL_FIELDS],
  "S2.1-failure_kw": [ALL_FIELDS],
  "S2.1-filter_subject": [ALL_FIELDS, MAIL_SUBJECT],
  "S2.1-filter_body": [ALL_FIELDS, MAIL_BODY],
  "S2.1-filter_body.formats": [
    MAIL_BODY,
    recorded("smtp", "Body keywords in HTML, tags removed"),
    recorded("smtp", "Both parts of a multipart message are searched"),
  ],
  "S2.1-badge_url": [recorded("badges", "The badge of one check")],
  "S2.1-uuid": [BY_UUID],
  "S2.1-uuid.readonly": [READ_ONLY],
  "S2.1-ping_url": [BY_UUID],
  "S2.1-ping_url.readonly": [READ_ONLY],
  "S2.1-update_url": [BY_UUID],
  "S2.1-update_url.readonly": [READ_ONLY],
  "S2.1-pause_url": [BY_UUID],
  "S2.1-pause_url.readonly": [READ_ONLY],
  "S2.1-resume_url": [BY_UUID],
  "S2.1-resume_url.readonly": [READ_ONLY],
  "S2.1-channels": [recorded("channels", "By UUID, one and two, in any order, repeated")],
  "S2.1-channels.empty": [recorded("channels", "A new check has none")],
  "S2.1-channels.readonly": [recorded("channels", "The read-only form does not show them")],
  "S2.1-timeout": [ALL_FIELDS],
  "S2.1-schedule": [CRON, recorded("create", "A systemd OnCalendar expression")],
  "S2.1-tz": [CRON],
  "S2.1-unique_key": [READ_ONLY],
  "S2.1-unique_key.stable": [recorded("get", "The unique key is stable")],
  "S2.1-unique_key.derived": [
    tested("src/core/identity.test.ts", "the one of %s is the one that clients have stored"),
    READ_ONLY,
  ],
  "S2.1-unique_key.accepted": [READ_ONLY, recorded("flips", "By unique key and with a read-only key")],
  "S2.1-subject": [
    SUBJECTS,
    recorded("update", "subject and subject_fail on update"),
    PAUSE,
    recorded("delete", "The answer is the check as it was"),
    recorded("list", "The answers carry no subject and subject_fail"),
  ],
  "S2.1-subject_fail": [
    SUBJECTS,
    recorded("update", "subject and subject_fail on update"),
    PAUSE,
    recorded("delete", "The answer is the check as it was"),
    recorded("list", "The answers carry no subject and subject_fail"),
  ],
};

/** Pings, flips, integrations and badges. */
const HISTORY: Proofs = {
  "S2.2-type": [recorded("pings", "Every type of ping")],
  "S2.2-date": [NEWEST_FIRST],
  "S2.2-n": [NEWEST_FIRST],
  "S2.2-n.ascending": [NEWEST_FIRST, recorded("pings", "The numbers go on after a resume")],
  "S2.2-scheme": [PING_DETAILS],
  "S2.2-remote_addr": [
    recorded("ping-uuid", "The first address of X-Forwarded-For and X-Forwarded-Proto are recorded"),
  ],
  "S2.2-method": [PING_DETAILS],
  "S2.2-ua": [PING_DETAILS],
  "S2.2-rid": [PING_DETAILS],
  "S2.2-duration": [
    recorded("ping-uuid", "/start then success gives a duration and ends the run"),
    recorded("pings", "A duration needs a start with the same run id"),
  ],
  "S2.2-body_url": [PING_DETAILS],
  "S2.3-timestamp": [FLIPS],
  "S2.3-up": [FLIPS],
  "S2.3-up.zero": [FLIPS],
  "S2.4-id": [CHANNELS],
  "S2.4-name": [CHANNELS, MANY_CHANNELS],
  "S2.4-kind": [CHANNELS, MANY_CHANNELS],
  "S2.5-map": [BADGES],
  "S2.5-svg": [BADGE_SVG, tested("test/api/badge-documents.test.ts", "with a picture"), ROLL_UP],
  "S2.5-svg3": [BADGE_SVG, tested("test/api/badge-documents.test.ts", "with a picture"), ROLL_UP],
  "S2.5-json": [BADGE_JSON, BADGE_STATES],
  "S2.5-json3": [BADGE_JSON, BADGE_STATES],
  "S2.5-shields": [
    BADGE_SHIELDS,
    tested("test/api/badge-documents.test.ts", "in the form that shields reads"),
  ],
  "S2.5-shields3": [
    BADGE_SHIELDS,
    tested("test/api/badge-documents.test.ts", "in the form that shields reads"),
  ],
  "S2.5-two_states": [ROLL_UP, BADGE_JSON],
  "S2.5-two_states.grace": [BADGE_STATES],
  "S2.5-three_states": [BADGE_STATES, ROLL_UP],
  "S2.5-star": [BADGE_JSON],
  "S2.5-url": [BADGES],
  "S2.5-url.star": [BADGES],
};

const STATE_CHANGES: Proofs = {
  "S3-01": [STATES, GRACE],
  "S3-02": [recorded("ping-uuid", "/start marks the check as started and leaves its status alone")],
  "S3-03": [DEFAULTS],
  "S3-create": [DEFAULTS],
  "S3-create.ping_url": [DEFAULTS],
  "S3-create.n_pings": [DEFAULTS],
  "S3-create.last_ping": [DEFAULTS],
  "S3-create.next_ping": [DEFAULTS],
  "S3-pause": [
    PAUSE,
    recorded("pause-resume", "Pause of a check that is down"),
    recorded("pause-resume", "Pause keeps last_ping and clears next_ping"),
  ],
  "S3-pause.silent": [tested("src/core/machine/deadline.test.ts", "does not exist for a check that is %s")],
  "S3-pause.kept": [recorded("pause-resume", "Pause keeps last_ping and clears next_ping")],
  "S3-resume": [PAUSE, MANUAL],
  "S3-ping.leaves": [recorded("pause-resume", "A success takes a paused check up")],
  "S3-ping.ignored": [MANUAL],
  "S3-ping.resumed": [MANUAL],
  "S3-flip": [FLIPS],
  "S3-flip.recorded": [FLIPS],
  "S3-flip.listed": [FLIPS],
};

export const RESOURCE_PROOFS: Proofs = { ...SERVICE, ...CHECK, ...HISTORY, ...STATE_CHANGES };
