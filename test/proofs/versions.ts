// Which tests prove sections 9 and 10 of docs/spec.md: how the versions differ, and version 1. Data only.
import { type Proofs, recorded, tested } from "./proof.ts";

const PROMISES = "test/api/promises.test.ts";

const V1_FIELDS = recorded("version-1", "An empty create: the fields of version 1 and no others");
const V1_KINDS = recorded("version-1", "A Simple and a Cron check");
const V1_READ_ONLY = recorded("version-1", "With a read-only key");
const V1_SUBJECTS = recorded("version-1", "subject and subject_fail");
const V1_STARTED = recorded("version-1", "Status started while a run is in progress");
const V1_ABSENT = recorded("version-1", "There is no resume, ping body or status endpoint");
const V1_PINGS = recorded("version-1", "Ping records");
const V1_SLUG = recorded("version-1", "The slug is made from the name");
const V1_NO_SLUG = recorded("version-1", "slug is an unknown field and ignored");
const V1_LIST = recorded("version-1", "The list knows only the tag filter");
const V1_UNIQUE = recorded("version-1", "unique does not allow slug");
const V1_CRON_ONLY = recorded("version-1", "schedule is a cron expression only");
const V1_NO_KEYWORDS = recorded("version-1", "The keyword fields of version 3 are unknown and ignored");
const V1_BADGES = recorded("version-1", "Badges");
const V3_FIELDS = recorded("create", "A Simple check with all its fields");
const V3_SUBJECTS = recorded("create", "subject and subject_fail set the new fields");
const V3_PINGS = recorded("pings", "Method, user agent, run id and body URL");

/** The codes of a call in version 1, each of them provoked. */
const codes = (call: string) => tested(PROMISES, `version 1, ${call}: every code that is promised`);

const DIFFERENCES: Proofs = {
  "S9-path": [V1_FIELDS, V3_FIELDS, tested(PROMISES, "version 3 begins at /v3 on a host of its own")],
  "S9-slug.create": [V3_FIELDS, V1_NO_SLUG],
  "S9-slug.update": [recorded("update", "slug alone"), V1_NO_SLUG],
  "S9-slug.name": [
    recorded("create", "The slug is not derived from the name in version 3"),
    recorded("update", "The name does not change the slug in version 3"),
  ],
  "S9-slug.filter": [recorded("list", "Filtered by slug"), V1_LIST],
  "S9-slug.unique": [recorded("upsert", "By slug"), V1_UNIQUE],
  "S9-resume": [recorded("pause-resume", "Pause and resume"), V1_ABSENT],
  "S9-body": [recorded("ping-body", "The body as it was sent, always text/plain"), V1_ABSENT],
  "S9-status_call": [recorded("status", "Answers 200 without a key"), V1_ABSENT],
  "S9-check.started": [V3_FIELDS, V1_FIELDS],
  "S9-check.start_kw": [V3_FIELDS, V1_FIELDS, V1_NO_KEYWORDS],
  "S9-check.success_kw": [V3_FIELDS, V1_FIELDS, V1_NO_KEYWORDS],
  "S9-check.failure_kw": [V3_FIELDS, V1_FIELDS, V1_NO_KEYWORDS],
  "S9-check.filter_subject": [V3_FIELDS, V1_FIELDS],
  "S9-check.filter_body": [V3_FIELDS, V1_FIELDS],
  "S9-check.badge_url": [V3_FIELDS, V1_FIELDS],
  "S9-check.uuid": [V3_FIELDS, V1_FIELDS],
  "S9-check.resume_url": [V3_FIELDS, V1_FIELDS],
  "S9-ping.rid": [V3_PINGS, V1_PINGS],
  "S9-ping.body_url": [V3_PINGS, V1_PINGS],
  "S9-oncalendar": [recorded("create", "A systemd OnCalendar expression"), V1_CRON_ONLY],
  "S9-deprecated.subject": [
    V3_SUBJECTS,
    recorded("create", "The new fields win over subject and subject_fail"),
    tested("test/docs-openapi.test.ts", "what is deprecated is marked so"),
  ],
  "S9-deprecated.subject_fail": [
    V3_SUBJECTS,
    recorded("create", "The new fields win over subject and subject_fail"),
    tested("test/docs-openapi.test.ts", "what is deprecated is marked so"),
  ],
  "S9-started": [V1_STARTED],
};

const VERSION_1_CALLS: Proofs = {
  "S10-list": [V1_LIST, codes("list")],
  "S10-list.tag": [V1_LIST],
  "S10-get": [V1_FIELDS, codes("get")],
  "S10-create": [V1_FIELDS, codes("create")],
  "S10-update": [
    recorded("version-1", "An update of the name makes a new slug, other updates do not"),
    codes("update"),
  ],
  "S10-pause": [recorded("version-1", "Pause"), codes("pause")],
  "S10-delete": [recorded("version-1", "Delete"), codes("delete")],
  "S10-pings": [V1_PINGS, codes("pings")],
  "S10-pings.order": [V1_PINGS],
  "S10-pings.limit": [
    tested(PROMISES, "for a free account 100 pings are listed"),
    tested(PROMISES, "for a paid account 1000 pings are listed"),
  ],
  "S10-flips": [recorded("version-1", "Flips"), codes("flips")],
  "S10-channels": [recorded("version-1", "Integrations"), codes("channels")],
  "S10-badges": [V1_BADGES, codes("badges")],
  "S10-absent.resume": [V1_ABSENT],
  "S10-absent.body": [V1_ABSENT],
  "S10-absent.status": [V1_ABSENT],
  "S10-host.badges": [V1_BADGES],
  "S10-host.pings": [V1_FIELDS],
  "S10-slug": [V1_SLUG],
  "S10-slug.parameter": [V1_NO_SLUG],
  "S10-email": [
    V1_SUBJECTS,
    V1_NO_KEYWORDS,
    tested(
      "src/core/signal.test.ts",
      "with subject alone is ignored unless the subject holds a success keyword",
    ),
    tested(
      "src/core/signal.test.ts",
      "with subject_fail alone is a success unless the subject holds a failure keyword",
    ),
  ],
  "S10-schedule.default": [tested("src/core/check.test.ts", "of which nothing was said has the defaults")],
  "S10-schedule.cron": [V1_CRON_ONLY],
  "S10-schedule.wins": [V1_KINDS],
  "S10-unique": [V1_UNIQUE],
};

/** The objects of version 1. The first proof is a case that shows the field. */
const VERSION_1_FIELDS: Proofs = {
  "S10-check.name": [V1_KINDS],
  "S10-check.slug": [V1_KINDS],
  "S10-check.tags": [V1_KINDS],
  "S10-check.desc": [V1_KINDS],
  "S10-check.grace": [V1_KINDS],
  "S10-check.n_pings": [V1_STARTED],
  "S10-check.status": [
    V1_STARTED,
    tested(
      "src/core/machine/status.test.ts",
      "at minute %i of an hourly check is %s: down is stored, never computed",
    ),
    recorded("version-1", "Pause"),
  ],
  "S10-check.last_ping": [V1_STARTED],
  "S10-check.next_ping": [V1_STARTED],
  "S10-check.manual_resume": [V1_KINDS],
  "S10-check.methods": [V1_KINDS],
  "S10-check.subject": [V1_SUBJECTS],
  "S10-check.subject_fail": [V1_SUBJECTS],
  "S10-check.ping_url": [V1_FIELDS],
  "S10-check.ping_url.readonly": [V1_READ_ONLY],
  "S10-check.update_url": [V1_FIELDS],
  "S10-check.update_url.readonly": [V1_READ_ONLY],
  "S10-check.pause_url": [V1_FIELDS],
  "S10-check.pause_url.readonly": [V1_READ_ONLY],
  "S10-check.channels": [recorded("version-1", "Integrations")],
  "S10-check.channels.readonly": [V1_READ_ONLY],
  "S10-check.unique_key": [V1_READ_ONLY],
  "S10-check.timeout": [V1_KINDS],
  "S10-check.schedule": [V1_KINDS],
  "S10-check.tz": [V1_KINDS],
  "S10-ping.type": [V1_PINGS],
  "S10-ping.date": [V1_PINGS],
  "S10-ping.n": [V1_PINGS],
  "S10-ping.scheme": [V1_PINGS],
  "S10-ping.remote_addr": [V1_PINGS],
  "S10-ping.method": [V1_PINGS],
  "S10-ping.ua": [V1_PINGS],
  "S10-ping.duration": [V1_PINGS],
};

export const VERSION_PROOFS: Proofs = { ...DIFFERENCES, ...VERSION_1_CALLS, ...VERSION_1_FIELDS };
