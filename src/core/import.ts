// What becomes of the contents of another installation: each value as we store it, or the reason why it is changed or
// left out. Passwords and configurations of channels are checked by functions that the caller passes.
import type { Role } from "./access.ts";
import type { ChannelConfig, ConfigRules } from "./channel.ts";
import { GROUP, membersOf } from "./channel.ts";
import { type CheckSettings, DEFAULT_SETTINGS, isLongerThan, TEXT_RULES } from "./check.ts";
import { mapConfig } from "./import-channel.ts";
import type {
  SourceAccount,
  SourceChannel,
  SourceCheck,
  SourceFlip,
  SourceKey,
  SourcePing,
  SourceProject,
} from "./import-source.ts";
import { hasSlugCharacters, isUuid, KEY_PREFIX, type KeyKind, slugify, uuidOfAnyCase } from "./identity.ts";
import { HOUR_MS, type Instant, SECOND_MS } from "./instant.ts";
import {
  ACCOUNT_NAME_LENGTH_MAX,
  API_KEY_LENGTH,
  CHANNEL_NAME_LENGTH_MAX,
  CHECK_LIMIT_MAX,
  DEFAULT_SCHEDULE,
  DESCRIPTION_LENGTH_MAX,
  EMAIL_ADDRESS_LENGTH_MAX,
  EXIT_STATUS_MAX,
  KEYWORDS_LENGTH_MAX,
  NAME_LENGTH_MAX,
  PERIOD_SECONDS_MAX,
  PERIOD_SECONDS_MIN,
  PROJECT_NAME_LENGTH_MAX,
  RUN_PAIRING_HOURS_MAX,
  SCHEME_LENGTH_MAX,
  SILENCE_SECONDS_MAX,
  SLUG_LENGTH_MAX,
  TAGS_LENGTH_MAX,
  USER_AGENT_LENGTH_MAX,
} from "./limits.ts";
import { DEFAULT_REMINDERS, DEFAULT_REPORTS, type Reminders, REPORTS, type Reports } from "./report.ts";
import { countRun, type DayTotals, sumTotals } from "./run.ts";
import { detectKind } from "./schedule/schedule.ts";
import { isZone } from "./schedule/zone.ts";
import type { SignalKind } from "./signal.ts";
import { type CheckState, type Flip, NEW_STATE, type StoredStatus } from "./state.ts";

/** `collision`: something here has the same identifier. `edited`: changed here since the last import. */
export type FindingLevel = "adapted" | "impossible" | "collision" | "edited";

export type ItemKind = "account" | "project" | "key" | "member" | "channel" | "check" | "ping" | "flip";

/** Something that is not as it was, with a sentence that says why. */
export type Finding = { level: FindingLevel; kind: ItemKind; name: string; why: string };

export type Note = (finding: Finding) => void;

/** A text of at most so many characters. Characters that cannot be stored are replaced. */
function fitted(text: string, lengthMax: number): string {
  const storable = TEXT_RULES.storable(text) === null ? text : text.replaceAll("\0", "").toWellFormed();
  return isLongerThan(storable, lengthMax) ? Array.from(storable).slice(0, lengthMax).join("") : storable;
}

// Accounts.

export type MappedAccount = {
  email: string;
  name: string;
  createdAt: Instant | null;
  /** Argon2id in its usual form; null: sign in by link. */
  passwordHash: string | null;
  totpSecret: string | null;
  checkLimit: number | null;
  pingLogLimit: number | null;
  preferences: { tz: string | null; reports: Reports; reminders: Reminders };
};

const EMAIL = /^[^\s@]+@[^\s@]+$/;
const BASE32 = /^[A-Z2-7]{16,128}$/;
/** The name of the algorithm that the source puts in front. */
const ARGON2 = "argon2";

export type AccountRules = {
  /** Whether our sign-in can verify a password with this hash. */
  isUsableHash: (hash: string) => boolean;
  /** Whether limits of accounts are taken. */
  limits: boolean;
};

/** Accounts with unique addresses in lower case. */
export function mapAccounts(
  accounts: readonly SourceAccount[],
  rules: AccountRules,
  note: Note,
): MappedAccount[] {
  const mapped = new Map<string, MappedAccount>();
  for (const account of accounts) {
    const email = normalAddress(account.email);
    const found = (level: FindingLevel, why: string) =>
      note({ level, kind: "account", name: account.email, why });
    if (email === null) found("impossible", "It has no valid email address.");
    else if (mapped.has(email)) {
      found(
        "impossible",
        "Another account has the same address in other letter case. Its projects get that account.",
      );
    } else
      mapped.set(
        email,
        mapAccount(account, { ...rules, email }, (why) => found("adapted", why)),
      );
  }
  return [...mapped.values()];
}

/** The form in which addresses are stored and compared; null: it is not one. */
function normalAddress(text: string): string | null {
  const email = text.trim().toLowerCase();
  const isValid = EMAIL.test(email) && email.length <= EMAIL_ADDRESS_LENGTH_MAX;
  return isValid && TEXT_RULES.storable(email) === null ? email : null;
}

function mapAccount(
  account: SourceAccount,
  { email, isUsableHash, limits }: AccountRules & { email: string },
  adapted: (why: string) => void,
): MappedAccount {
  const hash = account.passwordHash?.startsWith(`${ARGON2}$`)
    ? account.passwordHash.slice(ARGON2.length)
    : null;
  const isUsable = hash !== null && isUsableHash(hash);
  if (account.passwordHash !== null && !isUsable) {
    adapted("The password cannot be taken. The user signs in with a link by email and sets a new one.");
  }
  const totp =
    account.totpSecret
      ?.replaceAll(" ", "")
      .replace(/(?<!=)=+$/, "")
      .toUpperCase() ?? "";
  const hasTotp = BASE32.test(totp);
  if (totp !== "" && !hasTotp) adapted("The secret of the authenticator app is not valid and was left out.");
  if (hasTotp) adapted("The authenticator app works as before. The account has no recovery codes yet.");
  if (account.isAdmin) adapted("The account is not made a server admin. Use the Server admin page for that.");
  const tz = account.tz !== null && isZone(account.tz) ? account.tz : null;
  return {
    email,
    name: fitted(account.name.trim(), ACCOUNT_NAME_LENGTH_MAX),
    createdAt: account.createdAt,
    passwordHash: isUsable ? hash : null,
    totpSecret: hasTotp ? totp : null,
    checkLimit: limits ? limitOf(account.checkLimit, 0) : null,
    pingLogLimit: limits ? limitOf(account.pingLogLimit, 1) : null,
    preferences: {
      tz,
      reports: REPORTS.find((one) => one === account.reports) ?? DEFAULT_REPORTS,
      reminders: remindersOf(account.nagPeriodS),
    },
  };
}

function limitOf(limit: number | null, min: number): number | null {
  return limit === null ? null : Math.min(Math.max(limit, min), CHECK_LIMIT_MAX);
}

function remindersOf(nagPeriodS: number | null): Reminders {
  if (nagPeriodS === null) return DEFAULT_REMINDERS;
  if (nagPeriodS <= 0) return "off";
  return nagPeriodS * SECOND_MS <= HOUR_MS ? "hourly" : "daily";
}

// Projects.

export type MappedKey = {
  kind: KeyKind;
  prefix: string;
  /** The digest of the source, or the key itself, which is hashed with our secret. */
  stored: { digestHex: string } | { text: string };
};

export type MappedProject = {
  /** What identifies the project in later imports. */
  ref: string;
  /** Null: a new one is made. */
  uuid: string | null;
  name: string;
  badgeKey: string | null;
  pingKey: string | null;
  keys: MappedKey[];
  ownerEmail: string | null;
  members: { email: string; role: Role }[];
};

const UNNAMED_PROJECT = "Unnamed project";
const PING_KEY = /^[A-Za-z0-9_-]{22}$/;
const BADGE_KEY_LENGTH_MAX = 150;
const DIGEST = /^[0-9a-f]{64}$/;
/** Key prefixes of the source, by kind. */
const SOURCE_PREFIX: Readonly<Record<KeyKind, string>> = { readWrite: "hcw_", readOnly: "hcr_" };
const SHOWN_KEY_LENGTH = 12;

const ROLES: Readonly<Record<string, Role>> = { r: "readOnly", w: "member", m: "manager" };

export function mapProject(project: SourceProject, note: Note): MappedProject {
  const name = fitted(project.name.trim(), PROJECT_NAME_LENGTH_MAX) || UNNAMED_PROJECT;
  const found = (level: FindingLevel, kind: ItemKind, why: string) => note({ level, kind, name, why });
  if (project.name.trim() !== name) found("adapted", "project", "The name is empty or too long.");
  const uuid = project.uuid === null ? null : uuidOfAnyCase(project.uuid);
  const pingKey = project.pingKey === null || PING_KEY.test(project.pingKey) ? project.pingKey : null;
  if (pingKey !== project.pingKey) found("impossible", "key", "The ping key does not have 22 characters.");
  const owner = project.ownerEmail === null ? null : normalAddress(project.ownerEmail);
  const members = new Map<string, Role>();
  for (const member of project.members) {
    const email = normalAddress(member.email);
    if (email === null || email === owner) continue;
    const role = ROLES[member.role];
    if (role === undefined) found("adapted", "member", `${email} has an unknown role and can only read.`);
    members.set(email, role ?? "readOnly");
  }
  return {
    ref: uuid ?? project.ref,
    uuid,
    name,
    badgeKey: project.badgeKey === null ? null : fitted(project.badgeKey, BADGE_KEY_LENGTH_MAX) || null,
    pingKey,
    keys: (["readWrite", "readOnly"] as const).flatMap((kind) => mapKey(kind, project.keys[kind], found)),
    ownerEmail: owner,
    members: [...members].map(([email, role]) => ({ email, role })),
  };
}

function mapKey(
  kind: KeyKind,
  key: SourceKey | null,
  found: (level: FindingLevel, what: ItemKind, why: string) => void,
): MappedKey[] {
  if (key === null) return [];
  if ("text" in key) {
    if (key.text.length !== API_KEY_LENGTH) {
      found("impossible", "key", `An API key must have ${API_KEY_LENGTH} characters.`);
      return [];
    }
    return [{ kind, prefix: key.text.slice(0, SHOWN_KEY_LENGTH), stored: { text: key.text } }];
  }
  const digestHex = key.digestHex.toLowerCase();
  if (!DIGEST.test(digestHex)) {
    found("impossible", "key", "The digest of an API key is not valid.");
    return [];
  }
  const hasPrefix = [...Object.values(SOURCE_PREFIX), ...Object.values(KEY_PREFIX)].some((prefix) =>
    key.prefix.startsWith(prefix),
  );
  const prefix = hasPrefix ? key.prefix : SOURCE_PREFIX[kind] + key.prefix;
  return [{ kind, prefix: fitted(prefix, SHOWN_KEY_LENGTH), stored: { digestHex } }];
}

// Channels.

export type MappedChannel = {
  uuid: string;
  kind: string;
  name: string;
  config: ChannelConfig;
  isDisabled: boolean;
  verifiedAddress: string | null;
  createdAt: Instant | null;
};

/** The channels of a project that can be taken, groups last. Members of groups that cannot be taken are removed. */
export function mapChannels(
  channels: readonly SourceChannel[],
  rules: Pick<ConfigRules, "read">,
  note: Note,
): MappedChannel[] {
  const single = channels
    .filter(({ kind }) => kind !== GROUP)
    .flatMap((channel) => mapChannel(channel, rules, note));
  const taken = new Set(single.map(({ uuid }) => uuid));
  const groups = channels
    .filter(({ kind }) => kind === GROUP)
    .flatMap((channel) => mapChannel(channel, rules, note, taken));
  return [...single, ...groups];
}

function mapChannel(
  channel: SourceChannel,
  rules: Pick<ConfigRules, "read">,
  note: Note,
  members: ReadonlySet<string> = new Set(),
): MappedChannel[] {
  const uuid = uuidOfAnyCase(channel.uuid);
  const name = fitted(channel.name, CHANNEL_NAME_LENGTH_MAX);
  const found = (level: FindingLevel, why: string) =>
    note({ level, kind: "channel", name: `${channel.kind}: ${name || (uuid ?? channel.uuid)}`, why });
  if (uuid === null) {
    found("impossible", "It has no valid UUID.");
    return [];
  }
  const mapped = mapConfig(channel);
  if ("why" in mapped) {
    found("impossible", mapped.why);
    return [];
  }
  const kept = channel.kind === GROUP ? keptMembers(mapped.config, members, found) : mapped.config;
  if (kept === null) return [];
  const read = rules.read(channel.kind, kept);
  if (!read.ok) {
    found("impossible", read.text);
    return [];
  }
  if (mapped.note !== null) found("adapted", mapped.note);
  const address = channel.kind === "email" ? String(read.value["value"]) : null;
  if (address !== null && !channel.isEmailVerified) {
    found(
      "adapted",
      "The address was not confirmed, and has to be confirmed before messages are sent to it.",
    );
  }
  return [
    {
      uuid,
      kind: channel.kind,
      name,
      config: read.value,
      isDisabled: channel.isDisabled,
      verifiedAddress: channel.isEmailVerified ? address : null,
      createdAt: channel.createdAt,
    },
  ];
}

function keptMembers(
  config: ChannelConfig,
  taken: ReadonlySet<string>,
  found: (level: FindingLevel, why: string) => void,
): ChannelConfig | null {
  const members = membersOf({ kind: GROUP, config });
  const kept = members.filter((member) => taken.has(member));
  if (kept.length === 0) {
    found("impossible", "None of its members can be taken.");
    return null;
  }
  if (kept.length < members.length) {
    found("adapted", `${members.length - kept.length} of ${members.length} members cannot be taken.`);
  }
  return { ...config, members: kept };
}

// Checks.

export type MappedCheck = {
  uuid: string;
  /** Null: a new one is made. */
  badgeUuid: string | null;
  settings: CheckSettings;
  createdAt: Instant | null;
  channelUuids: readonly string[];
};

/** A check with valid settings; null if it cannot be taken. */
export function mapCheck(check: SourceCheck, note: Note): MappedCheck | null {
  const name = check.name || check.uuid;
  const found = (level: FindingLevel, why: string) => note({ level, kind: "check", name, why });
  const uuid = uuidOfAnyCase(check.uuid);
  if (uuid === null) {
    found("impossible", "It has no valid UUID.");
    return null;
  }
  const schedule = scheduleOf(check);
  if ("why" in schedule) {
    found("impossible", schedule.why);
    return null;
  }
  const text = (given: string, lengthMax: number, what: string) => {
    const value = fitted(given, lengthMax);
    if (value !== given) {
      found("adapted", `The ${what} has characters that cannot be stored, or more than ${lengthMax}.`);
    }
    return value;
  };
  const period = (seconds: number, what: string) => {
    const value = Math.min(Math.max(Math.round(seconds), PERIOD_SECONDS_MIN), PERIOD_SECONDS_MAX);
    if (value !== seconds) found("adapted", `The ${what} was ${seconds} s and is now ${value} s.`);
    return value;
  };
  const isSlug = hasSlugCharacters(check.slug) && check.slug.length <= SLUG_LENGTH_MAX;
  const slug = isSlug ? check.slug : slugify(check.slug);
  if (!isSlug) found("adapted", `The slug "${fitted(check.slug, SLUG_LENGTH_MAX)}" is now "${slug}".`);
  if (check.methods !== "" && check.methods !== "POST") {
    found("adapted", "The accepted methods are unknown; all are accepted.");
  }
  const badgeUuid = check.badgeKey === null ? null : uuidOfAnyCase(check.badgeKey);
  if (badgeUuid === null)
    found("adapted", "The URL of its badge is new: the source does not tell the old one.");
  const settings: CheckSettings = {
    ...DEFAULT_SETTINGS,
    ...schedule,
    name: text(check.name, NAME_LENGTH_MAX, "name"),
    slug,
    tags: text(check.tags, TAGS_LENGTH_MAX, "list of tags"),
    desc: text(check.desc, DESCRIPTION_LENGTH_MAX, "description"),
    timeoutSeconds: period(check.timeoutS, "period"),
    graceSeconds: period(check.graceS, "grace period"),
    manualResume: check.manualResume,
    methods: check.methods === "POST" ? "POST" : "",
    startKw: text(check.subject.start, KEYWORDS_LENGTH_MAX, "list of start keywords"),
    successKw: text(check.subject.success, KEYWORDS_LENGTH_MAX, "list of success keywords"),
    failureKw: text(check.subject.fail, KEYWORDS_LENGTH_MAX, "list of failure keywords"),
    filterSubject: check.filters.subject,
    filterBody: check.filters.body,
    filterHttpBody: check.filters.httpBody,
    filterDefaultFail: check.filters.defaultFail,
  };
  const channelUuids = check.channelUuids.flatMap((one) => uuidOfAnyCase(one) ?? []);
  return { uuid, badgeUuid, settings, createdAt: check.createdAt, channelUuids };
}

type ScheduleSettings = Pick<CheckSettings, "kind" | "schedule" | "tz">;

/** A check with an interval keeps its schedule if that is valid; otherwise the schedule has to be. */
function scheduleOf({ kind, schedule, tz }: SourceCheck): ScheduleSettings | { why: string } {
  const isValid = TEXT_RULES.schedule(schedule) === null;
  if (kind === "simple") {
    return { kind, schedule: isValid ? schedule : DEFAULT_SCHEDULE, tz: isZone(tz) ? tz : "UTC" };
  }
  if (!isValid) return { why: `The schedule "${fitted(schedule, 100)}" is not valid in Overdue.` };
  if (detectKind(schedule) !== kind) return { why: `The schedule "${schedule}" is not of the kind ${kind}.` };
  if (!isZone(tz)) return { why: `The time zone "${fitted(tz, 40)}" is unknown.` };
  return { kind, schedule, tz };
}

/** The stored status. Being late follows from the times. */
export function mapStatus(status: string): StoredStatus {
  if (status === "down" || status === "paused" || status === "up") return status;
  return status === "grace" || status === "started" ? "up" : "new";
}

// History.

export type MappedPing = {
  n: number;
  at: Instant;
  kind: SignalKind;
  durationMs: number | null;
  scheme: string;
  method: string;
  remoteAddr: string | null;
  ua: string;
  rid: string | null;
  exitStatus: number | null;
  body: Uint8Array | null;
};

const KINDS: Readonly<Record<string, SignalKind>> = {
  "": "success",
  success: "success",
  start: "start",
  fail: "fail",
  log: "log",
  ign: "ign",
};

/** Starts without an end that are remembered while a log is read. */
const OPEN_RUNS_MAX = 1_000;
/** As many as the state of a check has. */
const ENDED_RIDS_MAX = 8;

/** What follows from the log of a check, while its pings are read in order. */
export type History = {
  newestAt: Instant | null;
  lastN: number;
  lastSuccessN: number | null;
  /** The newest success, failure or start. */
  lastEnd: { kind: "success" | "fail"; at: Instant } | null;
  endedRids: readonly string[];
  today: DayTotals | null;
};

export const NO_HISTORY: History = {
  newestAt: null,
  lastN: 0,
  lastSuccessN: null,
  lastEnd: null,
  endedRids: [],
  today: null,
};

export type HistoryReader = {
  /** Maps the next ping; null if it cannot be taken. */
  add(ping: SourcePing): MappedPing | null;
  history(): History;
  /** Totals of days that are over, to be added to the stored ones. */
  settled(): readonly DayTotals[];
};

/** Reads the pings of one check, oldest first, after a part that was read before. */
export function readHistory(
  before: History,
  start: { at: Instant; rid: string | null } | null,
): HistoryReader {
  let history = before;
  const settled = new Map<string, DayTotals>();
  const settle = (totals: DayTotals) => {
    const known = settled.get(totals.day);
    settled.set(totals.day, known === undefined ? totals : sumTotals(known, totals));
  };
  const open = new Map<string | null, Instant>(start === null ? [] : [[start.rid, start.at]]);
  const durationOf = (kind: SignalKind, rid: string | null, at: Instant): number | null => {
    if (kind === "start") {
      open.set(rid, at);
      const [oldest] = open.keys();
      if (open.size > OPEN_RUNS_MAX && oldest !== undefined) open.delete(oldest);
      return null;
    }
    const startAt = open.get(rid);
    open.delete(rid);
    if (startAt === undefined || startAt > at) return null;
    return at - startAt <= RUN_PAIRING_HOURS_MAX * HOUR_MS ? at - startAt : null;
  };
  return {
    add: (ping) => {
      const kind = KINDS[ping.kind] ?? "log";
      const rid = ping.rid === null ? null : uuidOfAnyCase(ping.rid);
      if (!Number.isSafeInteger(ping.number) || ping.number <= history.lastN) return null;
      const isSilent = kind === "log" || kind === "ign";
      const durationMs = isSilent ? null : durationOf(kind, rid, ping.at);
      history = { ...history, lastN: ping.number, newestAt: Math.max(history.newestAt ?? ping.at, ping.at) };
      if (kind === "success" || kind === "fail") {
        const counted = countRun(history.today, { endAt: ping.at, outcome: kind, durationMs });
        if (counted.settled !== null) settle(counted.settled);
        history = {
          ...history,
          today: counted.today,
          lastEnd: { kind, at: ping.at },
          lastSuccessN: kind === "success" ? ping.number : history.lastSuccessN,
          endedRids: rid === null ? history.endedRids : endedAfter(history.endedRids, rid),
        };
      }
      return {
        n: ping.number,
        at: ping.at,
        kind,
        durationMs,
        scheme: fitted(ping.scheme, SCHEME_LENGTH_MAX),
        method: fitted(ping.method, SCHEME_LENGTH_MAX),
        remoteAddr: ping.remoteAddress,
        ua: fitted(ping.userAgent, USER_AGENT_LENGTH_MAX),
        rid,
        exitStatus: exitStatusOf(ping.exitStatus),
        body: ping.body === null || ping.body.length === 0 ? null : ping.body,
      };
    },
    history: () => history,
    settled: () => [...settled.values()],
  };
}

function endedAfter(endedRids: readonly string[], rid: string): readonly string[] {
  return endedRids.includes(rid) ? endedRids : [...endedRids, rid].slice(-ENDED_RIDS_MAX);
}

function exitStatusOf(status: number | null): number | null {
  return status !== null && Number.isInteger(status) && status >= 0 && status <= EXIT_STATUS_MAX
    ? status
    : null;
}

/** A change of status: a flip, or an event of the history for pauses and resumes. */
export type MappedChange =
  | { kind: "flip"; flip: Flip }
  | { kind: "event"; at: Instant; event: "paused" | "resumed"; from: StoredStatus };

const STATUSES: readonly StoredStatus[] = ["new", "up", "down", "paused"];
/** A failure that is so close to a change to down is its cause. */
const SAME_MOMENT_MS = SECOND_MS;

/** Changes of status, oldest first. `fails` are the times of failures in the log, for sources that tell no reasons. */
export function mapFlips(flips: readonly SourceFlip[], fails: readonly Instant[]): MappedChange[] {
  let last: StoredStatus = "new";
  const changes: MappedChange[] = [];
  for (const flip of flips.toSorted((one, other) => one.at - other.at)) {
    const from: StoredStatus = STATUSES.find((status) => status === flip.from) ?? last;
    const to = mapStatus(flip.to);
    if (to === "paused") changes.push({ kind: "event", at: flip.at, event: "paused", from });
    else if (to === "new") changes.push({ kind: "event", at: flip.at, event: "resumed", from });
    else changes.push({ kind: "flip", flip: { at: flip.at, from, to, reason: reasonOf(flip, to, fails) } });
    last = to;
  }
  return changes;
}

function reasonOf(flip: SourceFlip, to: "up" | "down", fails: readonly Instant[]): Flip["reason"] {
  if (to === "up") return "success";
  if (flip.reason === "fail" || flip.reason === "timeout") return flip.reason;
  return fails.some((at) => Math.abs(at - flip.at) <= SAME_MOMENT_MS) ? "fail" : "timeout";
}

/** The state of a check as the source has it. The deadline follows from it by our own rules. */
export function mapState(
  check: SourceCheck,
  { history, changes }: { history: History; changes: readonly MappedChange[] },
): CheckState {
  const status = mapStatus(check.status);
  const { lastPingAt } = check;
  const rid = check.lastStartRid === null ? null : uuidOfAnyCase(check.lastStartRid);
  const times = [lastPingAt, check.lastStartAt, history.newestAt].filter((at) => at !== null);
  const paused = changes.findLast((change) => change.kind === "event");
  const down = changes.findLast((change) => change.kind === "flip" && change.flip.to === "down");
  const isMissed = down?.kind === "flip" && down.flip.reason === "timeout";
  return {
    ...NEW_STATE,
    status,
    lastPingAt,
    lastStartAt: check.lastStartAt,
    lastStartRid: check.lastStartAt === null ? null : rid,
    lastDurationMs: check.lastDurationS === null ? null : Math.round(check.lastDurationS * SECOND_MS),
    endedRids: history.endedRids,
    newestAt: times.length === 0 ? null : Math.max(...times),
    commandAt: paused?.kind === "event" ? paused.at : null,
    missed: status === "down" && isMissed ? { deadlineAt: down.flip.at, from: down.flip.from } : null,
    pingCount: Math.max(check.pingCount, history.lastN),
  };
}

// Repeated imports.

/** A ping that was mirrored to both servers has nearly the same time on both. */
const MIRRORED_WITHIN_MS = 10 * SECOND_MS;

/** What an import has written of a check, and what has happened here since. */
export type Known = {
  /** Pings counted at the last import, and now. */
  importedCount: number;
  pingCount: number;
  newestAt: Instant | null;
};

/** Whether pings were received here since the last import: the source and this server get the same pings. */
function isMirrored({ importedCount, pingCount }: Known): boolean {
  return pingCount > importedCount;
}

/** Whether a ping of the source is new here. One that was received by both servers is not. */
export function isNewPing(ping: { number: number; at: Instant }, known: Known): boolean {
  if (ping.number <= known.pingCount) return false;
  return !isMirrored(known) || ping.at > (known.newestAt ?? -Infinity) + MIRRORED_WITHIN_MS;
}

/** Whether the source knows more about a check than we do, so that its status and times are taken. */
export function isSourceNewer(check: SourceCheck, known: Known): boolean {
  if (!isMirrored(known)) return true;
  const newestAt = Math.max(check.lastPingAt ?? -Infinity, check.lastStartAt ?? -Infinity);
  return newestAt > (known.newestAt ?? -Infinity) + MIRRORED_WITHIN_MS;
}

/** The text that a fingerprint is made of: the same for equal values, whatever the order of their fields. */
export function canonicalText(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([one], [other]) => (one < other ? -1 : 1)))
      : inner,
  );
}

/** The settings that an import writes; rules are derived, and change without an edit. */
export function fingerprintOf(settings: CheckSettings, channelUuids: readonly string[]): string {
  const { rules: _, ...own } = settings;
  return canonicalText({ ...own, channels: channelUuids.toSorted() });
}

// Comparing both servers while pings are mirrored.

export type StatusDifference = { uuid: string; name: string; source: StoredStatus; here: StoredStatus };

/** The checks whose status differs. Both servers decide on their own clock, so a late check may differ for a moment. */
export function statusDifference(
  check: Pick<SourceCheck, "uuid" | "name" | "status">,
  here: StoredStatus,
): StatusDifference | null {
  const source = mapStatus(check.status);
  return source === here ? null : { uuid: check.uuid, name: check.name, source, here };
}

/** The longest time that the silence of an import lasts. A later run extends it. */
export const IMPORT_SILENCE_MS = SILENCE_SECONDS_MAX * SECOND_MS;
/** Report files and summaries list so many findings; the others are counted. */
export const FINDINGS_LISTED_MAX = 10_000;

/** Whether a text can be a UUID of the source, for the choice of projects on the command line. */
export function isProjectChosen(
  { uuid, name }: Pick<SourceProject, "uuid" | "name">,
  chosen: readonly string[],
): boolean {
  if (chosen.length === 0) return true;
  return chosen.some((one) => (isUuid(one.toLowerCase()) ? one.toLowerCase() === uuid : one === name));
}
