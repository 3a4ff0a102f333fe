// The settings that a ping can carry for the check that it creates (`create=1`). A value that cannot be used never loses
// the ping: the default applies, and a warning says so.
import { type CheckParams, isLongerThan, TEXT_RULES, type TextRule } from "./check.ts";
import { parseDuration, sentenceText } from "./duration-text.ts";
import {
  DEFAULT_GRACE_SECONDS,
  DESCRIPTION_LENGTH_MAX,
  EARLY_SECONDS_MAX,
  MAX_RUN_SECONDS_MAX,
  MAX_RUN_SECONDS_MIN,
  MIN_RUN_SECONDS_MAX,
  NAME_LENGTH_MAX,
  PERIOD_SECONDS_MAX,
  PERIOD_SECONDS_MIN,
  SCHEDULE_LENGTH_MAX,
  TAGS_LENGTH_MAX,
  TZ_LENGTH_MAX,
} from "./limits.ts";
import { type Policy, startLimitProblem } from "./policy.ts";

export type PingSettings = {
  params: CheckParams;
  policy: Policy;
  /** One sentence in ASCII, for a response header; null: all values are used. It contains no given text. */
  warning: string | null;
};

/** A ping without settings: all defaults. */
export const NO_PING_SETTINGS: PingSettings = { params: {}, policy: {}, warning: null };

type Read<T> = { value: T } | { problem: string };

type TextField = { key: "name" | "tags" | "desc" | "schedule" | "tz"; lengthMax: number; rule: TextRule };

const TEXTS: Readonly<Record<string, TextField>> = {
  name: { key: "name", lengthMax: NAME_LENGTH_MAX, rule: "storable" },
  tags: { key: "tags", lengthMax: TAGS_LENGTH_MAX, rule: "storable" },
  desc: { key: "desc", lengthMax: DESCRIPTION_LENGTH_MAX, rule: "storable" },
  schedule: { key: "schedule", lengthMax: SCHEDULE_LENGTH_MAX, rule: "schedule" },
  tz: { key: "tz", lengthMax: TZ_LENGTH_MAX, rule: "zone" },
};

type Range = { min: number; max: number; isZeroAllowed?: boolean };

const PERIOD: Range = { min: PERIOD_SECONDS_MIN, max: PERIOD_SECONDS_MAX };

const PERIODS: Readonly<Record<string, Range & { key: "timeoutSeconds" | "graceSeconds" }>> = {
  timeout: { key: "timeoutSeconds", ...PERIOD },
  grace: { key: "graceSeconds", ...PERIOD },
};

const LIMITS: Readonly<Record<string, Range & { key: "startWithin" | "maxRun" | "minRun" | "early" }>> = {
  start_within: { key: "startWithin", ...PERIOD },
  max_run: { key: "maxRun", min: MAX_RUN_SECONDS_MIN, max: MAX_RUN_SECONDS_MAX, isZeroAllowed: true },
  min_run: { key: "minRun", min: 1, max: MIN_RUN_SECONDS_MAX },
  early: { key: "early", min: 0, max: EARLY_SECONDS_MAX },
};

/** Parameters that somebody could expect to work. */
const UNSUPPORTED: Readonly<Record<string, string>> = {
  channels: "cannot be set by a ping",
  keep_alive: "is not supported",
};

/** Reads the settings of a query; null as a value: it could not be decoded. The last of repeated ones counts. */
export function readPingSettings(
  query: Iterable<readonly [name: string, value: string | null]>,
): PingSettings {
  const params: CheckParams = {};
  const policy: Policy = {};
  const problems: string[] = [];
  const take = <T>(name: string, read: Read<T>, use: (value: T) => void) => {
    if ("problem" in read) problems.push(`${name} ${read.problem}`);
    else use(read.value);
  };
  for (const [name, value] of new Map(query)) {
    const text = Object.hasOwn(TEXTS, name) ? TEXTS[name] : undefined;
    const period = Object.hasOwn(PERIODS, name) ? PERIODS[name] : undefined;
    const limit = Object.hasOwn(LIMITS, name) ? LIMITS[name] : undefined;
    if (text !== undefined) {
      // An empty variable of a script: the same as none.
      if (value === "" && text.rule === "storable") continue;
      take(name, readText(value, text), (read) => (params[text.key] = read));
    } else if (period !== undefined) {
      take(name, readSeconds(value, period), (read) => (params[period.key] = read));
    } else if (limit !== undefined) {
      take(name, readSeconds(value, limit), (read) => (policy[limit.key] = read));
    } else if (Object.hasOwn(UNSUPPORTED, name)) problems.push(`${name} ${UNSUPPORTED[name]}`);
  }
  const { startWithin = null, maxRun = null } = policy;
  const graceSeconds = params.graceSeconds ?? DEFAULT_GRACE_SECONDS;
  if (startLimitProblem({ startWithin, maxRun }, { graceSeconds }) !== null) {
    delete policy.startWithin;
    problems.push("start_within is longer than grace, which requires max_run");
  }
  return {
    params,
    policy,
    warning: problems.length === 0 ? null : `Ignored settings: ${problems.join("; ")}.`,
  };
}

const UNDECODABLE = { problem: "is not valid percent-encoded UTF-8" };

function readText(value: string | null, { lengthMax, rule }: TextField): Read<string> {
  if (value === null) return UNDECODABLE;
  if (isLongerThan(value, lengthMax)) return { problem: `is longer than ${lengthMax} characters` };
  const problem = TEXT_RULES.storable(value) ?? TEXT_RULES[rule](value);
  return problem === null ? { value } : { problem };
}

const WHOLE_SECONDS = /^[0-9]{1,9}$/;

/** Seconds as a number, or a duration such as `1h30m`. */
function readSeconds(value: string | null, { min, max, isZeroAllowed = false }: Range): Read<number> {
  if (value === null) return UNDECODABLE;
  const seconds = WHOLE_SECONDS.test(value) ? Number(value) : parseDuration(value);
  if (seconds === null) return { problem: "is not a duration such as 3600 or 1h" };
  if ((seconds >= min && seconds <= max) || (isZeroAllowed && seconds === 0)) return { value: seconds };
  const range = `${sentenceText(min)} to ${sentenceText(max)}`;
  return { problem: isZeroAllowed ? `is neither 0 nor ${range}` : `is not in the range of ${range}` };
}
