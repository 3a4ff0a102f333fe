// Reads and writes worlds as text.
import type { Expectation, RunRules, Settings, SilenceTimes } from "../model/history.ts";
import { DEFAULT_NOTIFY_RULES, DEFAULT_RUN_RULES } from "../model/rules.ts";
import {
  type Action,
  type CheckPlan,
  clockStep,
  type Fault,
  isSilencedBy,
  type SilencePlan,
  type World,
  type WorldHead,
} from "./world.ts";

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

const EXAMPLE = `world from 2026-03-28T00:00Z days 2 intakes 2 channels 1 turns 60s
fault database-away 0.03:00 0.03:20
check backup simple 1h grace 5m
  0.00:00 success
  0.01:00:30.250 start rid=a
  0.01:02 success rid=a`;

/** Days and time of day since the start of the world: `3.04:05:06.789`, without trailing zeros. */
export function describeTime(trueAt: number, from: number): string {
  const ms = trueAt - from;
  const time = new Date(ms % DAY_MS).toISOString().slice(11, 23);
  const short = time.endsWith(":00.000") ? time.slice(0, 5) : time.endsWith(".000") ? time.slice(0, 8) : time;
  return `${Math.floor(ms / DAY_MS)}.${short}`;
}

function readTime(text: string | undefined, from: number): number {
  const [, days, hours, minutes, seconds = "0", ms = "0"] =
    /^(\d+)\.(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{3}))?)?$/.exec(text ?? "") ?? fail(`invalid time: ${text}`);
  const inDay = (Number(hours) * 60 + Number(minutes)) * MINUTE_MS + Number(seconds) * SECOND_MS + Number(ms);
  return from + Number(days) * DAY_MS + inDay;
}

const UNITS = { d: 86_400, h: 3_600, m: 60, s: 1 };

function describeSeconds(seconds: number): string {
  for (const [unit, size] of Object.entries(UNITS)) {
    if (seconds % size === 0) return `${seconds / size}${unit}`;
  }
  return `${seconds}s`;
}

function readSeconds(text: string | undefined): number {
  const [, count, unit] = /^(\d+)([dhms])$/.exec(text ?? "") ?? fail(`invalid duration: ${text}`);
  return Number(count) * UNITS[unit as keyof typeof UNITS];
}

function describeSettings(settings: Settings): string {
  const expects =
    settings.kind === "simple"
      ? `simple ${describeSeconds(settings.periodSeconds)}`
      : `${settings.kind} "${settings.schedule}" ${settings.tz}`;
  const manual = settings.manualResume ? " manual" : "";
  return `${expects} grace ${describeSeconds(settings.graceSeconds)}${manual}${describeRules(settings.rules)}`;
}

const LIMITS = {
  "start-within": "startWithinSeconds",
  "max-run": "maxRunSeconds",
  "min-run": "minRunSeconds",
  "min-gap": "minGapSeconds",
  early: "earlySeconds",
} as const;

/** Only the rules that differ from the defaults. */
function describeRules(rules: RunRules | null): string {
  if (rules === null) return "";
  const { failures, missed, recovery } = rules;
  const words: string[] = [];
  if (failures.count > 1) words.push(`failures ${failures.count}/${failures.of}`);
  if (missed > 1) words.push(`missed ${missed}`);
  if (recovery > 1) words.push(`recovery ${recovery}`);
  for (const [word, field] of Object.entries(LIMITS)) {
    const seconds = rules[field];
    if (seconds !== null && seconds !== DEFAULT_RUN_RULES[field])
      words.push(`${word} ${describeSeconds(seconds)}`);
  }
  return words.map((word) => ` ${word}`).join("");
}

/** Consumes the rules at the start of `words`. */
function readRules(words: string[]): RunRules | null {
  const rules = { ...DEFAULT_RUN_RULES };
  let isDefault = true;
  for (let word = words[0] ?? ""; ; word = words[0] ?? "") {
    const limit = LIMITS[word as keyof typeof LIMITS];
    if (word === "failures") {
      const [, count, of] = /^(\d+)\/(\d+)$/.exec(words[1] ?? "") ?? fail(`invalid failures: ${words[1]}`);
      rules.failures = { count: Number(count), of: Number(of) };
    } else if (word === "missed" || word === "recovery") rules[word] = Number(words[1]);
    else if (limit !== undefined) rules[limit] = readSeconds(words[1]);
    else return isDefault ? null : rules;
    isDefault = false;
    words.splice(0, 2);
  }
}

/** Consumes the settings at the start of `words`. */
function readSettings(words: string[]): Settings {
  const kind = words.shift();
  if (kind !== "simple" && kind !== "cron" && kind !== "oncalendar") {
    return fail(`unknown kind of check: ${kind}`);
  }
  const expects: Expectation =
    kind === "simple"
      ? { kind, periodSeconds: readSeconds(words.shift()) }
      : { kind, schedule: words.shift() ?? "", tz: words.shift() ?? "" };
  if (words.shift() !== "grace") fail("settings have no grace period");
  const graceSeconds = readSeconds(words.shift());
  const manualResume = words[0] === "manual";
  if (manualResume) words.shift();
  return { ...expects, graceSeconds, manualResume, rules: readRules(words) };
}

function describeFault(fault: Fault, from: number): string {
  const time = (trueAt: number) => describeTime(trueAt, from);
  const words: string[] = [fault.kind];
  if ("intake" in fault) words.push(String(fault.intake));
  if ("channel" in fault) words.push(String(fault.channel));
  words.push(time(fault.from));
  if (fault.kind === "clock-step") words.push(`${fault.byMs}ms`);
  else if (fault.kind !== "receiver-gone") words.push(time(fault.to));
  if (fault.kind === "cut-crash") words.push(time(fault.crashesAt));
  if (fault.kind === "all-stopped" && fault.isClean) words.push("clean");
  if (fault.kind === "all-stopped" && fault.isSweeperFirst) words.push("sweeper-first");
  return words.join(" ");
}

function readFault(words: string[], head: Pick<WorldHead, "from" | "to">): Fault {
  const word = words.shift() ?? "";
  const kind = word as Fault["kind"];
  const time = () => readTime(words.shift(), head.from);
  switch (kind) {
    case "database-away":
    case "sweeper-down":
    case "notifier-down":
    case "planner-killed":
    case "twice":
      return { kind, from: time(), to: time() };
    case "intake-cut":
    case "intake-crash":
    case "refusing":
      return { kind, intake: Number(words.shift()), from: time(), to: time() };
    case "cut-crash":
      return { kind, intake: Number(words.shift()), from: time(), to: time(), crashesAt: time() };
    case "all-stopped": {
      const span = { from: time(), to: time() };
      return {
        kind,
        ...span,
        isClean: words.includes("clean"),
        isSweeperFirst: words.includes("sweeper-first"),
      };
    }
    case "clock-step": {
      const from = time();
      const [, byMs] = /^(-?\d+)ms$/.exec(words.shift() ?? "") ?? fail("a clock step has no milliseconds");
      return clockStep(from, Number(byMs));
    }
    case "receiver-failing":
      return { kind, channel: Number(words.shift()), from: time(), to: time() };
    case "receiver-gone":
      return { kind, channel: Number(words.shift()), from: time(), to: head.to };
    default:
      return fail(`unknown fault: ${word}`);
  }
}

function describeAction(action: Action, from: number): string {
  const words = [describeTime(action.trueAt, from), action.what as string];
  if (action.what === "edit") words.push(describeSettings(action.settings));
  if ("rid" in action && action.rid !== null) words.push(`rid=${action.rid}`);
  return words.join(" ");
}

function readAction(words: string[], from: number): Action {
  const trueAt = readTime(words.shift(), from);
  const what = words.shift();
  if (what === "edit") return { trueAt, what, settings: readSettings(words) };
  if (what === "pause" || what === "resume" || what === "delete" || what === "ack") return { trueAt, what };
  if (what !== "success" && what !== "fail" && what !== "start" && what !== "log") {
    return fail(`unknown action: ${what}`);
  }
  const rid = words.find((word) => word.startsWith("rid="))?.slice(4) ?? null;
  return { trueAt, what, rid };
}

function describeTimes(times: SilenceTimes, from: number): string {
  const time = (at: number) => describeTime(at, from);
  const when =
    times.kind === "once"
      ? `from ${time(times.from)} until ${time(times.until)}`
      : `from ${time(times.from)} cron "${times.schedule}" ${times.tz} for ${describeSeconds(times.durationSeconds)}`;
  const hold = times.holdAfterSeconds > 0 ? ` hold ${describeSeconds(times.holdAfterSeconds)}` : "";
  return `${when}${hold}${times.isUntilSuccess ? " until-success" : ""}`;
}

function describeSilence({ project, scope, trueAt, times, changes }: SilencePlan, from: number): string[] {
  const whom =
    scope.kind === "all"
      ? "all"
      : scope.kind === "tag"
        ? `tag ${scope.tag}`
        : `checks ${scope.names.join(",")}`;
  return [
    `silence ${project} ${whom} at ${describeTime(trueAt, from)} ${describeTimes(times, from)}`,
    ...changes.map((change) => {
      const what = change.times === null ? "end" : `change ${describeTimes(change.times, from)}`;
      return `  ${describeTime(change.trueAt, from)} ${what}`;
    }),
  ];
}

function readTimes(words: string[], from: number): SilenceTimes {
  const value = (name: string) => (words.includes(name) ? words[words.indexOf(name) + 1] : undefined);
  const hold = value("hold");
  const common = {
    from: readTime(value("from"), from),
    isUntilSuccess: words.includes("until-success"),
    holdAfterSeconds: hold === undefined ? 0 : readSeconds(hold),
  };
  if (!words.includes("cron")) return { kind: "once", ...common, until: readTime(value("until"), from) };
  const [schedule = "", tz = ""] = words.slice(words.indexOf("cron") + 1);
  return { kind: "recurring", ...common, schedule, tz, durationSeconds: readSeconds(value("for")) };
}

function readSilence(words: string[], from: number): SilencePlan {
  const project = Number(words.shift());
  const kind = words.shift();
  const scope: SilencePlan["scope"] =
    kind === "all"
      ? { kind }
      : kind === "tag"
        ? { kind, tag: words.shift() ?? "" }
        : kind === "checks"
          ? { kind, names: (words.shift() ?? "").split(",") }
          : fail(`unknown scope of a silence: ${kind}`);
  if (words.shift() !== "at") fail("a silence has no time of creation");
  const trueAt = readTime(words.shift(), from);
  return { project, scope, trueAt, times: readTimes(words, from), changes: [] };
}

function readSilenceChange(words: string[], from: number): SilencePlan["changes"][number] {
  const trueAt = readTime(words.shift(), from);
  const what = words.shift();
  if (what === "end") return { trueAt, times: null };
  return what === "change" ? { trueAt, times: readTimes(words, from) } : fail(`unknown change: ${what}`);
}

const NOTIFY = {
  "dependency-wait": "dependencyWaitSeconds",
  "group-wait": "groupWaitSeconds",
  "group-interval": "groupIntervalSeconds",
  "reopen-within": "reopenWithinSeconds",
  "ack-timeout": "ackTimeoutSeconds",
  repeat: "repeatSeconds",
} as const;

function describeCheck(plan: CheckPlan, from: number): string[] {
  const words = [
    "check",
    plan.name,
    describeSettings(plan.settings),
    `channels ${plan.channels.join(",") || "none"}`,
  ];
  if (plan.tags.length > 0) words.push(`tags ${plan.tags.join(",")}`);
  if (plan.parents.length > 0) words.push(`depends ${plan.parents.join(",")}`);
  if (plan.notify.isGrouped) words.push("grouped");
  for (const [word, field] of Object.entries(NOTIFY)) {
    const seconds = plan.notify[field];
    if (seconds !== null && seconds !== DEFAULT_NOTIFY_RULES[field]) {
      words.push(`${word} ${describeSeconds(seconds)}`);
    }
  }
  if (plan.createdTrueAt !== from) words.push(`from ${describeTime(plan.createdTrueAt, from)}`);
  return [words.join(" "), ...plan.actions.map((action) => `  ${describeAction(action, from)}`)];
}

function readCheck(words: string[], from: number): CheckPlan {
  const name = words.shift() ?? fail("a check has no name");
  const settings = readSettings(words);
  let channels = [0];
  let tags: string[] = [];
  let parents: string[] = [];
  const notify = { ...DEFAULT_NOTIFY_RULES };
  let createdTrueAt = from;
  while (words.length > 0) {
    const word = words.shift();
    if (word === "channels") {
      const list = words.shift() ?? "none";
      channels = list === "none" ? [] : list.split(",").map(Number);
    } else if (word === "tags") tags = (words.shift() ?? "").split(",").filter(Boolean);
    else if (word === "depends") parents = (words.shift() ?? "").split(",");
    else if (word === "grouped") notify.isGrouped = true;
    else if (word !== undefined && word in NOTIFY) {
      notify[NOTIFY[word as keyof typeof NOTIFY]] = readSeconds(words.shift());
    } else if (word === "from") createdTrueAt = readTime(words.shift(), from);
    else fail(`unexpected word in a check: ${word}`);
  }
  return { name, settings, channels, tags, parents, notify, createdTrueAt, actions: [] };
}

/** Formats a world, or some of its checks. */
export function describeWorld(world: World, indexes = Array.from({ length: world.checkCount }, (_, i) => i)) {
  const { from, to, intakeCount, channelCount, turnSeconds, faults } = world.head;
  const plans = indexes.map((index) => world.check(index));
  const silences = world.head.silences.filter((one) => plans.some((plan) => isSilencedBy(one, plan)));
  const lines = [
    `world from ${new Date(from).toISOString().slice(0, 16)}Z days ${(to - from) / DAY_MS} ` +
      `intakes ${intakeCount} channels ${channelCount} turns ${describeSeconds(turnSeconds)}`,
    ...faults.map((fault) => `fault ${describeFault(fault, from)}`),
    ...silences.flatMap((silence) => describeSilence(silence, from)),
    ...plans.flatMap((plan) => describeCheck(plan, from)),
  ];
  return `${lines.join("\n")}\n`;
}

/** Parses a world; `#` starts a comment. Errors name the invalid line. */
export function readWorld(text: string): World {
  let head: WorldHead | null = null;
  const faults: Fault[] = [];
  const silences: (SilencePlan & { changes: SilencePlan["changes"][number][] })[] = [];
  const plans: (CheckPlan & { actions: Action[] })[] = [];
  for (const [index, line] of text.split("\n").entries()) {
    const words = wordsOf(line);
    if (words.length === 0) continue;
    try {
      if (head === null) head = readHead(words);
      else if (line.startsWith(" ") && plans.length > 0)
        plans.at(-1)?.actions.push(readAction(words, head.from));
      else if (line.startsWith(" ")) silences.at(-1)?.changes.push(readSilenceChange(words, head.from));
      else if (words[0] === "silence")
        silences.push({ ...readSilence(words.slice(1), head.from), changes: [] });
      else if (words[0] === "fault") faults.push(readFault(words.slice(1), head));
      else if (words[0] === "check") plans.push({ ...readCheck(words.slice(1), head.from), actions: [] });
      else fail("expected a fault, a silence or a check");
    } catch (cause) {
      throw new Error(`line ${index + 1} of the world: ${line}`, { cause });
    }
  }
  if (head === null) throw new Error(`The world is empty. Example:\n${EXAMPLE}`);
  for (const { actions } of plans) actions.sort((one, other) => one.trueAt - other.trueAt);
  return {
    head: { ...head, faults, silences },
    checkCount: plans.length,
    check: (index) => plans[index] ?? fail(`no check with index ${index}`),
  };
}

function readHead(words: string[]): WorldHead {
  const value = (name: string) => words[words.indexOf(name) + 1];
  const from = Date.parse(value("from") ?? "");
  if (words[0] !== "world" || Number.isNaN(from)) fail("a world starts with `world from TIME`");
  return {
    from,
    to: from + Math.round(Number(value("days")) * DAY_MS),
    intakeCount: Number(value("intakes")),
    channelCount: Number(value("channels")),
    turnSeconds: readSeconds(value("turns")),
    faults: [],
    silences: [],
  };
}

/** Splits a line into words; a quoted text is one word. */
function wordsOf(line: string): string[] {
  const bare = line.replace(/#.*$/, "");
  return [...bare.matchAll(/"([^"]*)"|\S+/g)].map(([word, quoted]) => quoted ?? word);
}

function fail(why: string): never {
  throw new Error(why);
}
