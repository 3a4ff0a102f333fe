// A check as its owner configured it: settings, their defaults, and what create and update do to them.
// The running state, which signals and silence change, is in state.ts.
import { slugify } from "./identity.ts";
import {
  DEFAULT_GRACE_SECONDS,
  DEFAULT_SCHEDULE,
  DEFAULT_TIMEOUT_SECONDS,
  DEFAULT_TZ,
  PROVISIONING_FACTOR,
} from "./limits.ts";
import { detectKind } from "./schedule/schedule.ts";

/** What a check waits for: a period, or the next time of a cron or OnCalendar expression. */
export type CheckKind = "simple" | "cron" | "oncalendar";

export type CheckSettings = {
  name: string;
  slug: string;
  tags: string;
  desc: string;
  kind: CheckKind;
  /** Kept when the check turns into a cron check, as `schedule` is kept the other way round. */
  timeoutSeconds: number;
  graceSeconds: number;
  schedule: string;
  tz: string;
  manualResume: boolean;
  /** Empty: HEAD, GET and POST are signals. "POST": anything else is recorded as ignored. */
  methods: "" | "POST";
  startKw: string;
  successKw: string;
  failureKw: string;
  filterSubject: boolean;
  filterBody: boolean;
  filterHttpBody: boolean;
  filterDefaultFail: boolean;
};

/** What decides about a signal. The texts, which may be long, are not part of it. */
export type SignalSettings = Omit<CheckSettings, "name" | "slug" | "tags" | "desc">;

/** What a check has that nobody said anything about. Never applied to a check that exists. */
export const DEFAULT_SETTINGS: Readonly<CheckSettings> = {
  name: "",
  slug: "",
  tags: "",
  desc: "",
  kind: "simple",
  timeoutSeconds: DEFAULT_TIMEOUT_SECONDS,
  graceSeconds: DEFAULT_GRACE_SECONDS,
  schedule: DEFAULT_SCHEDULE,
  tz: DEFAULT_TZ,
  manualResume: false,
  methods: "",
  startKw: "",
  successKw: "",
  failureKw: "",
  filterSubject: false,
  filterBody: false,
  filterHttpBody: false,
  filterDefaultFail: false,
};

/**
 * What a request says about a check, already validated. An absent field says nothing. `subject` and
 * `subjectFail` are the older way to set the keywords; the kind follows from what is given.
 */
export type CheckParams = Partial<Omit<CheckSettings, "kind"> & { subject: string; subjectFail: string }>;

/** Whether a given name makes the slug, as it does in versions 1 and 2. A slug given beside it wins. */
export type SlugRule = { deriveSlug: boolean };

/** The settings of a new check. */
export function newCheck(params: CheckParams, rule: SlugRule): CheckSettings {
  return patchCheck(DEFAULT_SETTINGS, params, rule);
}

/** The settings of a check that made itself by its first ping. */
export function provisionedCheck(slug: string): CheckSettings {
  return { ...DEFAULT_SETTINGS, name: slug, slug };
}

/** The settings after an update: what the request gives, and everything else as it was. */
export function patchCheck(
  settings: Readonly<CheckSettings>,
  params: CheckParams,
  { deriveSlug }: SlugRule,
): CheckSettings {
  const { subject, subjectFail, schedule, timeoutSeconds, ...given } = params;
  const derived = deriveSlug && given.name !== undefined ? { slug: slugify(given.name) } : {};
  const patched = {
    ...settings,
    ...derived,
    ...keywordsOfSubjects(settings, { subject, subjectFail }),
    ...given,
  };
  if (schedule !== undefined) return { ...patched, kind: detectKind(schedule), schedule };
  if (timeoutSeconds !== undefined) return { ...patched, kind: "simple", timeoutSeconds };
  return patched;
}

// The older fields filter by subject exactly while one of them is set; they cannot say it otherwise.
function keywordsOfSubjects(
  settings: Readonly<CheckSettings>,
  { subject, subjectFail }: { subject: string | undefined; subjectFail: string | undefined },
): Partial<CheckSettings> {
  if (subject === undefined && subjectFail === undefined) return {};
  const successKw = subject ?? settings.successKw;
  const failureKw = subjectFail ?? settings.failureKw;
  return { successKw, failureKw, filterSubject: successKw !== "" || failureKw !== "" };
}

/** The deprecated `subject`, as far as the keywords can be told in its words. */
export function subjectOf(settings: CheckSettings): string {
  return settings.filterSubject ? settings.successKw : "";
}

/** The deprecated `subject_fail`, likewise. */
export function subjectFailOf(settings: CheckSettings): string {
  return settings.filterSubject ? settings.failureKw : "";
}

/** How many checks the owner of a project has, and may have; null means without limit. */
export type CheckQuota = { checkCount: number; checkCountMax: number | null };

/** Whether another check may be made on request. */
export function mayCreateCheck({ checkCount, checkCountMax }: CheckQuota): boolean {
  return checkCountMax === null || checkCount < checkCountMax;
}

/** Whether another check may make itself: a job that is already sending is cut off later than its owner. */
export function mayProvisionCheck({ checkCount, checkCountMax }: CheckQuota): boolean {
  return checkCountMax === null || checkCount < checkCountMax * PROVISIONING_FACTOR;
}
