// The text of a message, shared by all kinds: plain texts and lists without markup. Kinds format and shorten it.
import type { AlertCause } from "../core/alert.ts";
import type { CheckSettings } from "../core/check.ts";
import { periodText, runText, sentenceText } from "../core/duration-text.ts";
import { splitTags, uniqueKey } from "../core/identity.ts";
import type { Severity } from "../core/incident.ts";
import { type Instant, SECOND_MS } from "../core/instant.ts";
import type { FlipMessage, GroupKey, GroupMessage, MessageReason, NoticeMessage } from "../core/message.ts";
import { stretchAt, zoneOf } from "../core/schedule/zone.ts";
import { signalName } from "../core/signal.ts";
import type { Flip } from "../core/state.ts";
import { sha1Hex } from "../lib/secrets.ts";
import type { ChannelMessage, Site } from "./channel-kind.ts";

/** The color of a message. A notice is neither an alert nor a recovery. */
export type Tone = "bad" | "good" | "notice";

export type MessageText = {
  tone: Tone;
  isTest: boolean;
  /** `DOWN | nightly backup`: for subject lines and titles. */
  subject: string;
  /** `nightly backup is DOWN`. */
  headline: string;
  /** What was expected, what happened, and since when. */
  sentences: readonly string[];
  /** All changes since the last message, if there is more than one. */
  history: readonly string[];
  facts: readonly Fact[];
  /** The end of the last output of the job, longer than any kind shows. */
  output: string | null;
  /** The checks that a message about several of them is about. */
  lists: readonly CheckList[];
  /** The state of the other checks of the project. */
  others: { text: string; down: readonly Link[] } | null;
  /** The link. */
  link: Link;
  /** The link to acknowledge the incident. */
  ack: Link | null;
};

/** The first of the checks, and how many there are. */
export type CheckList = { title: string; checks: readonly Link[]; count: number };

export type Link = { text: string; url: string };

/** Every time in a message is in `zone`: the recipient's if known, otherwise the project's. */
export type MessageTextOptions = { site: Site; zone: string };

/** The text of a message. The same message always gets the same text. */
export function messageText(message: ChannelMessage, options: MessageTextOptions): MessageText {
  switch (message.kind) {
    case "down":
    case "up":
      return flipWords(message, options);
    case "group":
      return groupWords(message, options);
    case "notice":
      return noticeWords(message, options);
    case "disabled": {
      const { kind, name, uuid } = message.channel;
      const channel = name === "" ? `${kind} channel ${uuid}` : `channel "${oneLine(name)}" (${kind})`;
      if (message.isLimit === true) {
        return {
          ...plainWords(options),
          tone: "notice",
          subject: `NOTICE | ${channel} has reached its monthly limit`,
          headline: `The ${channel} has reached its monthly limit`,
          sentences: [`${message.reason}.`, "No messages are sent to this channel until then."],
          facts: [projectFact(message.projectName)],
        };
      }
      return {
        ...plainWords(options),
        tone: "notice",
        subject: `NOTICE | ${channel} was disabled`,
        headline: `The ${channel} was disabled`,
        sentences: [
          `The receiver permanently rejects messages: ${message.reason}`,
          "No messages are sent to this channel until it is changed or re-enabled.",
        ],
        facts: [projectFact(message.projectName)],
      };
    }
    case "operator":
      return {
        ...plainWords(options),
        tone: message.isOver ? "good" : "bad",
        subject: `${options.site.name} | ${message.title}`,
        headline: message.title,
        sentences: [message.text],
        facts: [{ label: "Since", value: instantText(message.since, options.zone), isShort: true }],
      };
  }
}

/** The common fields of a message that concerns no single check. */
function plainWords({
  site,
}: MessageTextOptions): Pick<
  MessageText,
  "isTest" | "history" | "output" | "lists" | "others" | "link" | "ack"
> {
  return {
    isTest: false,
    history: [],
    output: null,
    lists: [],
    others: null,
    link: siteLink(site),
    ack: null,
  };
}

function siteLink({ name, url }: Site): Link {
  return { text: `Open ${name}`, url: `${url}/` };
}

function flipWords(
  message: FlipMessage & { isTest?: true },
  { site, zone }: MessageTextOptions,
): MessageText {
  const { check, kind, isRepeat } = message;
  const isTest = message.isTest === true;
  const name = shownName(check.settings);
  const status = kind === "down" ? "DOWN" : "UP";
  return {
    tone: kind === "down" ? "bad" : "good",
    isTest,
    subject: `${isRepeat ? "STILL " : ""}${status} | ${name}`,
    headline: `${name} is ${isRepeat ? "still " : ""}${status}`,
    sentences: [
      ...(isTest ? ["This is a test notification. No check changed status."] : []),
      ...(message.drill === undefined ? [] : [FIRE_DRILL_SENTENCE]),
      ...sentencesOf(message, zone),
    ],
    history: historyOf(message, zone),
    facts: factsOf(message),
    output: outputOf(message),
    lists: [],
    others: othersOf(message, site),
    link: isTest ? siteLink(site) : flipLink(message, site),
    ack: kind === "down" ? ackLink(message.incident?.ackUrl ?? null) : null,
  };
}

const FIRE_DRILL_SENTENCE = "This is a fire drill. No check changed status.";

function flipLink({ check, drill }: FlipMessage, site: Site): Link {
  return drill === undefined
    ? { text: "Show details", url: checkLink(site, check.uuid) }
    : { text: "Show fire drill", url: `${site.url}/projects/${drill.projectUuid}/fire-drill/` };
}

function ackLink(url: string | null): Link | null {
  return url === null ? null : { text: "Acknowledge", url };
}

/** A page that redirects members to the check without revealing the UUID of its ping URL. */
export function checkLink(site: Site, uuid: string): string {
  return `${site.url}/cloaked/${uniqueKey(uuid, sha1Hex)}/`;
}

/** Bodies may have megabytes; only the end is shown. */
const OUTPUT_LENGTH_MAX = 20_000;

function outputOf({ lastPing }: FlipMessage): string | null {
  const text = printable((lastPing?.body ?? "").slice(-OUTPUT_LENGTH_MAX)).trim();
  return text === "" ? null : text;
}

function othersOf({ otherChecks }: FlipMessage, site: Site): MessageText["others"] {
  if (otherChecks === null) return null;
  const { total, downCount, down } = otherChecks;
  if (downCount === 0) return { text: "No other checks are down.", down: [] };
  const what =
    downCount === 1 ? "1 other check is down" : `${downCount} of the ${total} other checks are down`;
  return {
    text: `${what}.`,
    down: down.map(({ uuid, name }) => ({ text: shownName({ name }), url: checkLink(site, uuid) })),
  };
}

function noticeWords(message: NoticeMessage, options: MessageTextOptions): MessageText {
  const { checks, checkCount, blind } = message;
  const zone = options.zone ?? "UTC";
  const names = checks.map(shownName);
  const [first = shownName({ name: "" })] = names;
  const what = checkCount > 1 ? `${first} and ${checkCount - 1} more` : first;
  const when =
    blind.to === null
      ? `Since ${instantText(blind.from, zone)}, we have been unable to receive pings.`
      : `Between ${readingText(blind.from, zone)} and ${instantText(blind.to, zone)}, we could not receive pings, and no ping has arrived since.`;
  const unnamed = checkCount - names.length;
  const list = unnamed > 0 ? `${names.join(", ")} and ${unnamed} more` : names.join(", ");
  return {
    ...plainWords(options),
    tone: "notice",
    subject: `NOTICE | monitoring gap: ${what}`,
    headline: `Monitoring gap: ${what}`,
    sentences: [
      when,
      "This is a notice, not an alert: the jobs may have run normally. Monitoring continues from now on.",
    ],
    facts: [
      projectFact(message.projectName),
      { label: checkCount === 1 ? "Check" : "Checks", value: list, isShort: false },
    ],
  };
}

function groupWords(message: GroupMessage, options: MessageTextOptions): MessageText {
  const { incident, state, severity } = message;
  const isOver = state === "up";
  const { subject, headline } = groupTitle(message);
  return {
    ...plainWords(options),
    tone: isOver ? "good" : "bad",
    subject,
    headline,
    sentences: [
      ...groupSentences(message, options.zone),
      ...(isOver ? ["All checks in this incident are up."] : []),
    ],
    facts: [
      projectFact(message.projectName),
      { label: "Incident", value: `#${incident.number}`, isShort: true },
      ...severityFacts(severity),
    ],
    lists: [
      ...checkList("Down", { checks: message.opened, count: message.openedCount, site: options.site }),
      ...checkList("Up", { checks: message.closed, count: message.closedCount, site: options.site }),
    ],
    link: {
      text: "Show incident",
      url: `${options.site.url}/projects/${message.projectUuid}/incidents/${incident.number}/`,
    },
    ack: isOver ? null : ackLink(incident.ackUrl),
  };
}

/** `12 checks with the tag "db" are DOWN`, or the name if there is only one. */
function groupTitle({
  state,
  key,
  opened,
  openedCount,
  closed,
  closedCount,
  downCount,
}: GroupMessage): Pick<MessageText, "subject" | "headline"> {
  const common = commonText(key);
  if (state === "update" && openedCount + closedCount === 0) {
    const what = `${checksText(downCount)} ${common}`;
    return { subject: `STILL DOWN | ${what}`, headline: `${what} ${areText(downCount)} still DOWN` };
  }
  if (state === "update") {
    const changes = [
      ...(openedCount > 0 ? [`${openedCount} more DOWN`] : []),
      ...(closedCount > 0 ? [`${closedCount} UP`] : []),
    ].join(", ");
    return { subject: `UPDATE | checks ${common}: ${changes}`, headline: `Checks ${common}: ${changes}` };
  }
  const [status, checks, count] =
    state === "down" ? (["DOWN", opened, openedCount] as const) : (["UP", closed, closedCount] as const);
  const [only] = checks;
  const what = count === 1 && only !== undefined ? shownName(only) : `${checksText(count)} ${common}`;
  return { subject: `${status} | ${what}`, headline: `${what} ${areText(count)} ${status}` };
}

/** What the checks have in common, after "checks". */
function commonText({ kind, value }: GroupKey): string {
  switch (kind) {
    case "source":
      return `last pinged from ${oneLine(value)}`;
    case "tag":
      return `with the tag "${oneLine(value)}"`;
    case "project":
      return `in ${shownProject(value)}`;
    case "parent":
      return `that depend on "${shownName({ name: value })}"`;
  }
}

const GROUP_CAUSES: Readonly<Record<AlertCause, { one: string; many: string }>> = {
  failed: { one: "the job reported a failure", many: "The jobs reported failures." },
  missed: { one: "no ping arrived in time", many: "No pings arrived in time." },
  overrun: { one: "the run did not finish in time", many: "The runs did not finish in time." },
  tooFast: { one: "the run was too short", many: "The runs were too short." },
  tooOften: {
    one: "the run started too soon after the previous one",
    many: "The runs started too soon after the previous ones.",
  },
};

/** Since when the checks have been down, and why. */
function groupSentences(message: GroupMessage, zone: string): string[] {
  const { state, key, since, cause, openedCount, downCount } = message;
  if (state === "up") return [];
  const time = instantText(since, zone);
  const reason = cause === null ? null : GROUP_CAUSES[cause];
  if (state === "update") {
    return [
      `${checksText(downCount)} in this incident ${areText(downCount)} down.`,
      `The first check went down at ${time}.`,
    ];
  }
  const held = key.kind === "parent" ? [dependencyText(key.value, openedCount)] : [];
  return openedCount === 1
    ? [`Down since ${time}${reason === null ? "" : `: ${reason.one}`}.`, ...held]
    : [`The first check went down at ${time}.`, ...(reason === null ? [] : [reason.many]), ...held];
}

function dependencyText(parent: string, checkCount: number): string {
  const name = shownName({ name: parent });
  return checkCount === 1
    ? `This notification was held because the check depends on "${name}".`
    : `This notification was held because the checks depend on "${name}".`;
}

function checkList(
  title: string,
  { checks, count, site }: { checks: GroupMessage["opened"]; count: number; site: Site },
): CheckList[] {
  if (count === 0) return [];
  const links = checks.map(({ uuid, name }) => ({ text: shownName({ name }), url: checkLink(site, uuid) }));
  return [{ title, checks: links, count }];
}

export type ListFormat = { bullet: string; name: (check: Link) => string; lengthMax: number };

/** The title and the checks of a list, as many as fit; the last line counts the others. */
export function listLines({ title, checks, count }: CheckList, format: ListFormat): string[] {
  const { bullet, name, lengthMax } = format;
  const lines: string[] = [];
  let length = 0;
  for (const check of checks) {
    const line = `${bullet}${name(check)}`;
    length += line.length + 1;
    if (length > lengthMax) break;
    lines.push(line);
  }
  const left = count - lines.length;
  return [`${title}:`, ...lines, ...(left > 0 ? [`${bullet}and ${left} more`] : [])];
}

function checksText(count: number): string {
  return count === 1 ? "1 check" : `${count} checks`;
}

function areText(count: number): string {
  return count === 1 ? "is" : "are";
}

/** Changes that are listed individually; of older ones only failures are mentioned. */
const HISTORY_LINES_MAX = 12;

/** The sentences of a message about a flip, with times in `zone`. */
function sentencesOf(message: FlipMessage, zone: string): string[] {
  const corrected = message.corrections.map(
    ({ at }) =>
      `Correction: the alert from ${instantText(at, zone)} was wrong. The ping arrived in time, but we recorded it late. The job was not down.`,
  );
  if (message.reason === "retracted") return corrected;
  return [
    ...corrected,
    ...flipSentences(message, {
      time: (at) => instantText(at, zone),
      reading: (at) => readingText(at, zone),
    }),
    ...policySentences(message),
  ];
}

/** What the alert policy adds to a problem. */
function policySentences(message: FlipMessage): string[] {
  const { kind, at, since, isRepeat, tolerance, releasedFrom, dependentCount } = message;
  if (kind !== "down") return [];
  const downSeconds = Math.max(0, Math.floor((at - since) / SECOND_MS));
  return [
    ...(isRepeat
      ? [`It has been down for ${sentenceText(downSeconds)}.`]
      : [...toleranceSentences(tolerance), ...releaseSentences(releasedFrom)]),
    ...(dependentCount === 0
      ? []
      : [`${dependentCount} dependent ${dependentCount === 1 ? "check is" : "checks are"} down too.`]),
  ];
}

function toleranceSentences(tolerance: FlipMessage["tolerance"]): string[] {
  if (tolerance === null) return [];
  const { kind, count } = tolerance;
  if (kind === "missed") return [`Notified after ${count} missed runs in a row.`];
  return [
    tolerance.of === count
      ? `Notified after ${count} failed runs in a row.`
      : `Notified after ${count} of the last ${tolerance.of} runs failed.`,
  ];
}

function releaseSentences(releasedFrom: FlipMessage["releasedFrom"]): string[] {
  if (releasedFrom === null) return [];
  if (releasedFrom.kind === "dependency") return [dependencyText(releasedFrom.name, 1)];
  const reason = oneLine(releasedFrom.reason);
  return [`This notification was held by ${reason === "" ? "a silence" : `the silence "${reason}"`}.`];
}

/** `time` names the zone, `reading` follows it. */
type Clock = Readonly<Record<"time" | "reading", (at: Instant) => string>>;

function flipSentences(message: FlipMessage, clock: Clock): string[] {
  const { time } = clock;
  const { since, reason, downtimeMs } = message;
  switch (reason) {
    case "success":
      return [
        `Up since ${time(since)}: a success ping was received.`,
        ...(downtimeMs === null
          ? []
          : [`It was down for ${sentenceText(Math.floor(downtimeMs / SECOND_MS))}.`]),
      ];
    case "fail":
      return failureSentences(message, clock);
    case "timeout":
      return missedSentences(message, clock);
    case "tooFast":
      return [`Down since ${time(since)}: ${tooFastText(message)}.`];
    case "tooOften":
      return [`Down since ${time(since)}: ${tooOftenText(message)}.`];
    case "retracted":
      return [];
  }
}

function failureSentences({ since, lastPing }: FlipMessage, { time }: Clock): string[] {
  const failure = lastPing?.kind === "fail" ? lastPing : null;
  const status = failure?.exitStatus ?? null;
  const what = status !== null && status > 0 ? signalName("fail", status).toLowerCase() : "a failure";
  const ran = failure?.durationMs ?? null;
  return [
    `Down since ${time(since)}: the job reported ${what}.`,
    ...(ran === null ? [] : [`The run took ${runText(ran)}.`]),
  ];
}

function tooFastText({ lastPing, rules }: FlipMessage): string {
  const ran = lastPing?.durationMs ?? null;
  const run = ran === null ? "the run was too short" : `the run took only ${runText(ran)}`;
  const min = rules?.minRunSeconds ?? null;
  return min === null ? run : `${run}, but the minimum is ${sentenceText(min)}`;
}

function tooOftenText({ rules }: FlipMessage): string {
  const min = rules?.minGapSeconds ?? null;
  return min === null
    ? "the run started too soon after the previous one"
    : `the run started less than ${sentenceText(min)} after the previous one`;
}

function missedSentences(message: FlipMessage, clock: Clock): string[] {
  if (message.rules !== null && message.cause === "overrun") return overrunSentences(message, clock);
  const { since, check, lastPing, rules } = message;
  const { time, reading } = clock;
  const { settings, state } = check;
  const graceMs = settings.graceSeconds * SECOND_MS;
  const grace = periodText(settings.graceSeconds);
  // The current settings explain the missed deadline only if they have not changed since.
  const isCurrent = state.missed?.deadlineAt === since;
  if (isCurrent && state.lastStartAt !== null && state.lastStartAt + graceMs === since) {
    return [
      `Down since ${time(since)}: the run that started at ${reading(state.lastStartAt)} has not finished.`,
      `The job did not report success or failure within the grace period of ${grace}.`,
    ];
  }
  const startWithin = rules?.startWithinSeconds ?? null;
  // With these limits, the start of a run meets the deadline.
  const isStartEnough = startWithin !== null || (rules?.maxRunSeconds ?? null) !== null;
  const expectation =
    startWithin === null
      ? `A ping was expected by ${reading(since - graceMs)}${graceMs === 0 ? "" : `, plus a grace period of ${grace}`}.`
      : `A run was expected at ${reading(since - startWithin * SECOND_MS)} and had to start within ${periodText(startWithin)}.`;
  return [
    `Down since ${time(since)}: no ${isStartEnough ? "" : "success "}ping arrived in time.`,
    ...(isCurrent ? [expectation] : []),
    lastPing === null
      ? "No pings have been received yet."
      : `The last ping (${signalName(lastPing.kind, lastPing.exitStatus)}) was received at ${reading(lastPing.at)}.`,
  ];
}

function overrunSentences({ since, check, rules }: FlipMessage, { time, reading }: Clock): string[] {
  const { settings, state } = check;
  const isCurrent = state.missed?.deadlineAt === since;
  const run =
    isCurrent && state.lastStartAt !== null
      ? `the run that started at ${reading(state.lastStartAt)} has not finished`
      : "the run did not finish in time";
  const max = rules?.maxRunSeconds ?? 0;
  return [
    `Down since ${time(since)}: ${run}.`,
    max > 0
      ? `A run may take at most ${periodText(max)}.`
      : `The job did not report success or failure within the grace period of ${periodText(settings.graceSeconds)}.`,
  ];
}

/** What happened since the channel's last notification, oldest first; empty for a single change. */
function historyOf({ flips }: FlipMessage, zone: string): string[] {
  if (flips.length < 2) return [];
  const older = flips.slice(0, -HISTORY_LINES_MAX);
  const lines = flips
    .slice(-HISTORY_LINES_MAX)
    .map((flip) => `${readingText(flip.at, zone)}: ${flipText(flip)}`);
  if (older.length === 0) return lines;
  const failures = older.filter(({ reason }) => reason === "fail").map(({ at }) => readingText(at, zone));
  const named = failures.length === 0 ? "" : `, with failures at ${failures.join(", ")}`;
  return [`Before that: ${older.length} status changes${named}`, ...lines];
}

const FLIP_TEXTS: Readonly<Record<Exclude<MessageReason, "retracted">, string>> = {
  success: "up, success ping received",
  fail: "down, the job reported a failure",
  timeout: "down, no ping arrived in time",
  tooFast: "down, the run was too short",
  tooOften: "down, the run started too soon after the previous one",
};

function flipText({ reason }: Flip): string {
  return FLIP_TEXTS[reason];
}

export type Fact = {
  label: string;
  value: string;
  /** Two short ones fit next to each other. */
  isShort: boolean;
  /** Tags and schedules: shown in a monospace font. */
  isLiteral?: true;
  /** The parts of a value that has several. */
  parts?: readonly string[];
};

const UNNAMED = "unnamed check";

/** The name of a check. Never its UUID, which can be used to send pings. */
export function shownName({ name, slug = "" }: { name: string; slug?: string }): string {
  return oneLine(name) || slug || UNNAMED;
}

/** The name of the project. */
function projectFact(projectName: string): Fact {
  return { label: "Project", value: shownProject(projectName), isShort: true };
}

function shownProject(name: string): string {
  return oneLine(name) || "unnamed project";
}

/** Only a severity that is not the default. */
function severityFacts(severity: Severity): Fact[] {
  if (severity === "normal") return [];
  return [{ label: "Severity", value: severity === "high" ? "High" : "Low", isShort: true }];
}

/** In the order of display; empty facts are omitted. */
function factsOf(message: FlipMessage): Fact[] {
  const { check } = message;
  const { settings, state } = check;
  const facts: Fact[] = [];
  const desc = printable(settings.desc).trim();
  if (desc !== "") facts.push({ label: "Description", value: desc, isShort: false });
  facts.push(projectFact(check.projectName), ...severityFacts(message.severity));
  const tags = splitTags(settings.tags);
  if (tags.length > 0) {
    facts.push({ label: "Tags", value: tags.join(" "), parts: tags, isShort: true, isLiteral: true });
  }
  facts.push(...timingFacts(settings));
  facts.push({ label: "Total pings", value: String(state.pingCount), isShort: true });
  facts.push({ label: "Last ping", value: lastPingText(message), isShort: true });
  return facts;
}

function timingFacts({ kind, timeoutSeconds, schedule, tz, graceSeconds }: CheckSettings): Fact[] {
  const grace: Fact = { label: "Grace period", value: periodText(graceSeconds), isShort: true };
  if (kind === "simple")
    return [{ label: "Period", value: periodText(timeoutSeconds), isShort: true }, grace];
  const lines = schedule.split("\n");
  return [
    { label: "Schedule", value: schedule, parts: lines, isShort: true, isLiteral: true },
    { label: "Time zone", value: tz, isShort: true },
    grace,
  ];
}

function lastPingText({ lastPing, at }: FlipMessage): string {
  if (lastPing === null) return "Never";
  const ageSeconds = Math.max(0, Math.floor((at - lastPing.at) / SECOND_MS));
  return `${signalName(lastPing.kind, lastPing.exitStatus)}, ${sentenceText(ageSeconds)} ago`;
}

// Instants are shown in a time zone, to the minute. The first one of a message names the zone.

const UTC = "UTC";

/** `2026-11-15 05:00 Europe/Riga`. An unknown zone is shown as UTC. */
export function instantText(at: Instant, zoneName: string): string {
  return `${readingText(at, zoneName)} ${zoneOf(zoneName)?.name ?? UTC}`;
}

/** `2026-11-15 05:00`, if the zone was named before. */
export function readingText(at: Instant, zoneName: string): string {
  const zone = zoneOf(zoneName);
  const seconds = Math.floor(at / SECOND_MS);
  const offset = zone === null ? 0 : stretchAt(zone, seconds).offset;
  const reading = new Date((seconds + offset) * SECOND_MS).toISOString();
  return `${reading.slice(0, 10)} ${reading.slice(11, 16)}`;
}

/** `2026-11-15T03:00:00+00:00`: for programs, in UTC and without fractions. */
export function isoText(at: Instant): string {
  return `${new Date(at).toISOString().slice(0, 19)}+00:00`;
}

const LEFT_OUT = "…";

/** The beginning of a text, at most this many characters, with an ellipsis if it was truncated. */
export function clipStart(text: string, lengthMax: number): string {
  if (text.length <= lengthMax) return text;
  return `${text.slice(0, Math.max(0, lengthMax - LEFT_OUT.length)).replace(HALF_AT_END, "")}${LEFT_OUT}`;
}

/** The end of a text, because the last output of a job shows why it failed. Begins with a whole line if possible. */
export function clipEnd(text: string, lengthMax: number): string {
  if (text.length <= lengthMax) return text;
  const end = text
    .slice(text.length - Math.max(0, lengthMax - LEFT_OUT.length - 1))
    .replace(HALF_AT_START, "");
  const lineBreak = end.indexOf("\n");
  const whole = lineBreak !== -1 && lineBreak < end.length / 5 ? end.slice(lineBreak + 1) : end;
  return `${LEFT_OUT}\n${whole}`;
}

const HALF_AT_END = /[\ud800-\udbff]$/;
const HALF_AT_START = /^[\udc00-\udfff]/;

const [ESC, BELL] = [27, 7].map((code) => String.fromCharCode(code));

/**
 * Escape sequences for colors, cursor movement (also if the text ends within one), window titles, links and character
 * sets.
 */
const COLOURS = new RegExp(
  `${ESC}(?:\\[[0-?]*[ -/]*(?:[@-~]|$)|\\][^${BELL}${ESC}\n]*(?:${BELL}|${ESC}\\\\)|[ -/]+[0-~]|[=>78cDEM])`,
  "g",
);

/** Removes invisible characters: control characters other than line breaks and tabs, and unpaired surrogates. */
export function printable(text: string): string {
  return text
    .toWellFormed()
    .replace(COLOURS, "")
    .replace(/\r\n?/g, "\n")
    .replace(/(?![\n\t])\p{Cc}/gu, "");
}

/** A text in one line: line breaks and unusual spaces become single spaces. */
export function oneLine(text: string): string {
  return printable(text).replace(/\s+/g, " ").trim();
}
