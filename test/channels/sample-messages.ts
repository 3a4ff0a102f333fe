// One message of each sort for the tests of channels, with names and outputs that try to pass for markup.
import { DEFAULT_SETTINGS } from "../../src/core/check.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from "../../src/core/instant.ts";
import {
  type AlertMessage,
  type CheckFacts,
  type FlipMessage,
  type GroupMessage,
  type LastPing,
  NO_POLICY,
} from "../../src/core/message.ts";
import { DEFAULT_RULES } from "../../src/core/rules.ts";
import { quotaReason } from "../../src/core/quota.ts";
import { NEW_STATE } from "../../src/core/state.ts";

/** A Sunday, four in the morning, UTC. */
export const NOW = Date.UTC(2026, 10, 15, 4, 0, 7);
const DEADLINE = Date.UTC(2026, 10, 15, 4, 0, 0);

export const CHECK: CheckFacts = {
  uuid: "31365bce-8da9-4729-8ff3-aaa71d56b712",
  badgeUuid: "c43c2b8d-1c2c-4d64-8bf1-1d2c3b4a5e6f",
  projectName: "Shop & Sons",
  settings: {
    ...DEFAULT_SETTINGS,
    name: "Nightly <backup> of *db_1*",
    slug: "nightly-backup",
    tags: "prod db_1 a*b",
    desc: "Dumps the shop's database.\nCall Ada if it fails.",
    kind: "cron",
    schedule: "0 5 * * *",
    tz: "Europe/Riga",
  },
  state: {
    ...NEW_STATE,
    status: "down",
    lastPingAt: DEADLINE - DAY_MS - HOUR_MS + 7 * SECOND_MS,
    newestAt: DEADLINE - DAY_MS - HOUR_MS + 7 * SECOND_MS,
    missed: { deadlineAt: DEADLINE, from: "up" },
    pingCount: 1_234,
  },
  channelUuids: ["0c8983c9-9d73-446f-adb5-0641fdacc9d4"],
  createdAt: Date.UTC(2026, 0, 1),
};

export const SIMPLE_CHECK: CheckFacts = {
  ...CHECK,
  settings: { ...DEFAULT_SETTINGS, name: "Queue worker", timeoutSeconds: 300, graceSeconds: 60 },
};

const LAST_PING: LastPing = {
  n: 1_234,
  kind: "success",
  at: DEADLINE - DAY_MS - HOUR_MS + 7 * SECOND_MS,
  exitStatus: 0,
  durationMs: 123_000,
  scheme: "https",
  remoteAddr: "192.0.2.7",
  ua: "curl/8.10",
  bodySize: 92,
  body: "starting\n\u001b[32mdone\u001b[0m: 3 tables, <b>1 234</b> rows & ```no``` @everyone\r\n",
};

const FLIP = {
  ...NO_POLICY,
  at: NOW,
  isRepeat: false,
  corrections: [],
  check: CHECK,
  downtimeMs: null,
  lastPing: LAST_PING,
  otherChecks: {
    total: 14,
    downCount: 2,
    down: [
      { uuid: "803f680d-e89b-492b-82ef-2be7b774a92d", name: "Invoices [weekly](x)" },
      { uuid: "f0c65a26-8b1c-4c4e-8d2b-1f0f6c9d7a55", name: "" },
    ],
  },
} as const;

export const DOWN: FlipMessage = {
  ...FLIP,
  kind: "down",
  flips: [{ at: DEADLINE, from: "up", to: "down", reason: "timeout" }],
  since: DEADLINE,
  reason: "timeout",
};

const CAME_BACK = DEADLINE + 12 * MINUTE_MS + 5 * SECOND_MS;
const UP_CHECK: CheckFacts = { ...CHECK, state: { ...CHECK.state, status: "up", missed: null } };

export const UP: FlipMessage = {
  ...FLIP,
  kind: "up",
  at: CAME_BACK + SECOND_MS,
  check: UP_CHECK,
  flips: [{ at: CAME_BACK, from: "down", to: "up", reason: "success" }],
  since: CAME_BACK,
  reason: "success",
  downtimeMs: CAME_BACK - DEADLINE,
  lastPing: { ...LAST_PING, at: CAME_BACK, n: 1_235 },
  otherChecks: { total: 14, downCount: 0, down: [] },
};

/** Down, up, failed and up again before anybody could be told. */
export const MERGED: FlipMessage = {
  ...UP,
  flips: [
    { at: DEADLINE, from: "up", to: "down", reason: "timeout" },
    { at: DEADLINE + 2 * MINUTE_MS, from: "down", to: "up", reason: "success" },
    { at: DEADLINE + 5 * MINUTE_MS, from: "up", to: "down", reason: "fail" },
    { at: CAME_BACK, from: "down", to: "up", reason: "success" },
  ],
  downtimeMs: CAME_BACK - DEADLINE - 5 * MINUTE_MS,
};

export const FAILED: FlipMessage = {
  ...FLIP,
  kind: "down",
  check: { ...SIMPLE_CHECK, state: { ...CHECK.state, missed: null } },
  flips: [{ at: DEADLINE, from: "up", to: "down", reason: "fail" }],
  since: DEADLINE,
  reason: "fail",
  lastPing: { ...LAST_PING, kind: "fail", exitStatus: 3, at: DEADLINE, body: "disk full\n" },
  otherChecks: null,
};

export const OVERRUN: FlipMessage = {
  ...DOWN,
  check: {
    ...SIMPLE_CHECK,
    state: { ...CHECK.state, lastStartAt: DEADLINE - MINUTE_MS },
  },
};

/** A signal that had come in time was recorded late. */
export const TAKEN_BACK: FlipMessage = {
  ...UP,
  flips: [],
  corrections: [{ at: DEADLINE, from: "up", to: "down", reason: "timeout", retractedAt: DEADLINE - HOUR_MS }],
  since: DEADLINE - HOUR_MS,
  reason: "retracted",
  downtimeMs: null,
};

export const ACK_URL = `https://overdue.example.org/ack/7.3.${"5e".repeat(32)}`;
const INCIDENT = { number: 42, ackUrl: ACK_URL };

/** A reminder, three hours later. */
export const REPEAT: FlipMessage = {
  ...DOWN,
  at: DEADLINE + 3 * HOUR_MS,
  isRepeat: true,
  flips: [],
  incident: INCIDENT,
  dependentCount: 39,
};

/** The third failure in a row. */
export const TOLERATED: FlipMessage = {
  ...FAILED,
  incident: INCIDENT,
  severity: "low",
  tolerance: { kind: "failures", count: 3, of: 3 },
};

/** A silence has ended. */
export const RELEASED: FlipMessage = {
  ...DOWN,
  incident: INCIDENT,
  severity: "high",
  tolerance: { kind: "missed", count: 2 },
  releasedFrom: { kind: "silence", reason: "DB <upgrade> *v2*" },
  dependentCount: 1,
};

export const TOO_FAST: FlipMessage = {
  ...DOWN,
  check: { ...CHECK, state: { ...CHECK.state, missed: null } },
  flips: [{ at: DEADLINE, from: "up", to: "down", reason: "timeout" }],
  reason: "tooFast",
  cause: "tooFast",
  rules: { ...DEFAULT_RULES, minRunSeconds: 300 },
};

const NAMES = [
  "Nightly <backup> of *db_1*",
  "Invoices [weekly](x)",
  "",
  ...Array.from({ length: 17 }, (_none, number) => `host-${number + 1}`),
];

function checksNamed(names: readonly string[]): GroupMessage["opened"] {
  return names.map((name, number) => ({
    uuid: `${String(number).padStart(8, "0")}-8da9-4729-8ff3-aaa71d56b712`,
    name,
  }));
}

/** A host is gone, and 25 checks with it. */
export const GROUP_DOWN: GroupMessage = {
  kind: "group",
  at: NOW,
  projectUuid: "5b1c7d9e-3f60-4c53-9a0b-7d1f2e3c4b5a",
  projectName: "Shop & Sons",
  incident: INCIDENT,
  severity: "normal",
  key: { kind: "source", value: "192.0.2.7" },
  state: "down",
  opened: checksNamed(NAMES),
  openedCount: 25,
  closed: [],
  closedCount: 0,
  downCount: 25,
  since: DEADLINE,
  cause: "missed",
};

export const GROUP_UPDATE: GroupMessage = {
  ...GROUP_DOWN,
  at: NOW + 5 * MINUTE_MS,
  key: { kind: "tag", value: "db_<1>" },
  state: "update",
  severity: "low",
  opened: checksNamed(NAMES.slice(0, 2)),
  openedCount: 2,
  closed: checksNamed(NAMES.slice(3, 4)),
  closedCount: 1,
  downCount: 26,
};

export const GROUP_UP: GroupMessage = {
  ...GROUP_DOWN,
  at: NOW + HOUR_MS,
  key: { kind: "parent", value: "Database *main*" },
  state: "up",
  opened: [],
  openedCount: 0,
  closed: checksNamed(NAMES.slice(0, 4)),
  closedCount: 4,
  downCount: 0,
};

export const NOTICE: AlertMessage = {
  kind: "notice",
  at: NOW,
  projectName: "Shop & Sons",
  blind: { from: DEADLINE - HOUR_MS - 2 * MINUTE_MS, to: DEADLINE - HOUR_MS + 5 * MINUTE_MS },
  checks: [
    { uuid: CHECK.uuid, name: CHECK.settings.name },
    { uuid: "803f680d-e89b-492b-82ef-2be7b774a92d", name: "Invoices [weekly](x)" },
  ],
  checkCount: 12,
};

export const DISABLED: AlertMessage = {
  kind: "disabled",
  at: NOW,
  projectName: "Shop & Sons",
  channel: { uuid: "0c8983c9-9d73-446f-adb5-0641fdacc9d4", kind: "slack", name: "#ops" },
  reason: "The webhook no longer exists (HTTP 404)",
};

/** A channel of the project has reached a monthly limit. */
export const LIMIT: AlertMessage = {
  kind: "disabled",
  at: NOW,
  projectName: "Shop & Sons",
  channel: { uuid: "0c8983c9-9d73-446f-adb5-0641fdacc9d4", kind: "sms", name: "On call" },
  reason: quotaReason({ quota: "messages", limit: 500 }, NOW),
  isLimit: true,
};

export const OPERATOR: AlertMessage = {
  kind: "operator",
  at: NOW,
  isOver: false,
  trouble: "watermarkHeld",
  since: DEADLINE,
  title: "Alerts for missing pings are delayed",
  text: "A receiving process has stopped sending heartbeats. Alerts for missing pings are delayed.",
};

export const TEST: AlertMessage = {
  kind: "test",
  at: NOW,
  projectName: "Shop & Sons",
  channel: { uuid: "0c8983c9-9d73-446f-adb5-0641fdacc9d4", kind: "slack", name: "#ops" },
};

/** Those that every kind has a golden file for. */
export const GOLDEN: Readonly<Record<string, AlertMessage>> = {
  down: DOWN,
  up: UP,
  test: TEST,
  notice: NOTICE,
  correction: TAKEN_BACK,
  merged: MERGED,
  repeat: REPEAT,
  tolerated: TOLERATED,
  released: RELEASED,
  groupDown: GROUP_DOWN,
  groupUpdate: GROUP_UPDATE,
  groupUp: GROUP_UP,
};

/** Texts as long and as strange as anybody may send them. */
export const EXTREME: FlipMessage = {
  ...DOWN,
  check: {
    ...CHECK,
    projectName: "p".repeat(300),
    settings: {
      ...CHECK.settings,
      name: "\u202e<&>*_`~|@everyone <!channel> \n".repeat(4),
      tags: Array.from({ length: 100 }, (_none, number) => `tag${number}`).join(" "),
      desc: "<script>\u0000\ud800 👩‍👩‍👧 ".repeat(500),
      kind: "oncalendar",
      schedule: "*-*-* 00:00:00\n*-*-* 12:00:00",
    },
  },
  flips: Array.from({ length: 100 }, (_none, number) => ({
    at: DEADLINE + number * MINUTE_MS,
    from: number % 2 === 0 ? ("up" as const) : ("down" as const),
    to: number % 2 === 0 ? ("down" as const) : ("up" as const),
    reason: number % 2 === 0 ? ("fail" as const) : ("success" as const),
  })),
  lastPing: { ...LAST_PING, body: "ļoti </pre> ``` 漢字 \u0007 garš\n".repeat(5_000) },
  otherChecks: {
    total: 5_000,
    downCount: 10,
    down: Array.from({ length: 10 }, (_none, number) => ({
      uuid: CHECK.uuid,
      name: `${number}${"*[x](y)|".repeat(12)}`,
    })),
  },
};

/** As many and as long names as there can be. */
export const GROUP_EXTREME: GroupMessage = {
  ...GROUP_UPDATE,
  projectName: EXTREME.check.projectName,
  key: { kind: "parent", value: EXTREME.check.settings.name },
  opened: checksNamed(
    Array.from({ length: 20 }, () => "\u202e<&>*_`~|[x](y)@everyone\n漢\0\ud800".repeat(4)),
  ),
  openedCount: 10_000,
  closed: checksNamed(Array.from({ length: 20 }, () => "*".repeat(100))),
  closedCount: 10_000,
};

export const ALL: Readonly<Record<string, AlertMessage>> = {
  ...GOLDEN,
  failed: FAILED,
  overrun: OVERRUN,
  tooFast: TOO_FAST,
  disabled: DISABLED,
  limit: LIMIT,
  operator: OPERATOR,
  operatorOver: { ...OPERATOR, isOver: true },
  extreme: EXTREME,
  groupExtreme: GROUP_EXTREME,
};

/** Names that mean something to some receiver, and must not. */
export const HOSTILE_NAMES: readonly string[] = [
  "@channel @here @all @everyone @**all**",
  "<!everyone> <!channel> <@U123>",
  "```\ncode\n```",
  "](https://evil.example/) [x](https://evil.example/)",
  "0 5 * * *",
  '<b>bold</b> <script>alert(1)</script> &amp; "quoted"',
  "*bold* _italic_ ~struck~ #heading |table|",
  "x".repeat(500),
  "\u202eمرحبا بالعالم\u202c שלום",
  "👩‍👩‍👧‍👦 🔥 \u0000 \ud800",
];

/** A message about a check with this name. */
export function downNamed(name: string): FlipMessage {
  return { ...DOWN, check: { ...CHECK, settings: { ...CHECK.settings, name } } };
}
