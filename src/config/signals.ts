// The settings of receiving signals: where, how many, how long, what happens while the database is away, and
// where large bodies go.
import { type Composition, optionalSetting, setting } from "./setting.ts";
import {
  DEFAULT_PING_BODY_BYTES,
  DEFAULT_SIGNALS_PER_MINUTE,
  MOVABLE_BODY_BYTES_MIN,
  PAID_PING_LOG_ROWS,
  PING_READ_BYTES_MAX,
} from "../core/limits.ts";
import type { ListenAddress } from "../lib/address.ts";
import {
  addressRangeKind,
  booleanKind,
  folderOrOffKind,
  integerKind,
  listenKind,
  listKind,
  secondsKind,
  textKind,
  webAddressKind,
} from "../lib/setting-value.ts";

const TRUSTED_PROXIES_MAX = 100;
const PING_LOG_ROWS_MAX = 10_000;
const CONNECTIONS_MIN = 16;
const CONNECTIONS_MAX = 1_000_000;
const REQUEST_TIMEOUT_SECONDS_MAX = 600;
const SPOOL_BYTES_MIN = 1024 ** 2;
const SPOOL_BYTES_MAX = 1024 ** 4;
const LOST_AFTER_SECONDS_MIN = 10;
const LOST_AFTER_SECONDS_MAX = 86_400;
const SIGNALS_PER_MINUTE_MAX = 1_000_000;
const STORE_TIMEOUT_SECONDS_MAX = 600;

const DEFAULT_LISTEN: ListenAddress = { host: "127.0.0.1", port: 8000 };

/** The reference names a host, and says beside it whether to speak TLS. */
const storeAddress: Composition = {
  names: ["S3_ENDPOINT", "S3_SECURE"],
  secretNames: [],
  build: (part) => {
    const host = part("S3_ENDPOINT");
    if (host === null) return null;
    if (/^https?:/.test(host)) return { value: host };
    const isSecure = booleanKind.parse(part("S3_SECURE") ?? "true");
    if ("problem" in isSecure)
      return { problem: `is put together from S3_*, and S3_SECURE ${isSecure.problem}` };
    return { value: `${isSecure.value ? "https" : "http"}://${host}` };
  },
};

export const SIGNAL_SETTINGS = {
  listen: setting({
    key: "OVERDUE_LISTEN",
    group: "Addresses",
    kind: listenKind,
    fallback: DEFAULT_LISTEN,
    secret: false,
    meaning:
      "Where this process answers pings, the API and badges. Put a proxy that speaks HTTPS in front of it.",
    example: "0.0.0.0:8000",
  }),
  reusePort: setting({
    key: "OVERDUE_REUSE_PORT",
    group: "Addresses",
    kind: booleanKind,
    fallback: false,
    secret: false,
    meaning: "Let several processes on this machine listen on the same port; the system spreads connections.",
    example: "true",
  }),
  trustedProxies: setting({
    key: "OVERDUE_TRUSTED_PROXIES",
    group: "Addresses",
    kind: listKind(addressRangeKind, { countMax: TRUSTED_PROXIES_MAX }),
    fallback: ["127.0.0.0/8", "::1/128"],
    secret: false,
    meaning: "The proxies whose X-Forwarded-* headers are believed. From anyone else they are ignored.",
    example: "127.0.0.0/8, ::1/128, 10.0.0.0/8",
  }),
  connectionsMax: setting({
    key: "OVERDUE_CONNECTIONS_MAX",
    group: "Signals",
    kind: integerKind({ min: CONNECTIONS_MIN, max: CONNECTIONS_MAX, unit: "connections" }),
    fallback: 10_000,
    secret: false,
    meaning:
      "The most connections that clients may have open to one process; fewer where the system allows fewer. At the limit, idle and unfinished ones are closed for new ones, first those of the network that holds the most.",
    example: "20000",
  }),
  requestTimeoutSeconds: setting({
    key: "OVERDUE_REQUEST_TIMEOUT",
    group: "Signals",
    kind: secondsKind({ min: 1, max: REQUEST_TIMEOUT_SECONDS_MAX }),
    fallback: 60,
    secret: false,
    meaning:
      "Time limit for a client to send its request; after that it is answered 408. A client that reads nothing of its answer for as long is disconnected.",
    example: "30",
  }),
  signalsPerMinute: setting({
    key: "OVERDUE_SIGNALS_PER_MINUTE",
    group: "Signals",
    kind: integerKind({ min: 0, max: SIGNALS_PER_MINUTE_MAX, unit: "signals" }),
    fallback: DEFAULT_SIGNALS_PER_MINUTE,
    secret: false,
    meaning:
      "Above this many a minute, successes and log lines of a check move its state without being logged one by one. 0 logs all.",
    example: "120",
  }),
  spoolFolder: optionalSetting({
    key: "OVERDUE_SPOOL_FOLDER",
    group: "Signals",
    kind: folderOrOffKind,
    fallbackMeans:
      "the first of $STATE_DIRECTORY, /var/lib/overdue and $XDG_STATE_HOME/overdue (~/.local/state/overdue) that is writable",
    secret: false,
    meaning:
      "A folder on a local disk that survives restarts. While the database is away, pings of known checks are kept there and answered 200. Processes with the same database may share it; each other server on the machine needs its own. off: such pings are refused with 503.",
    example: "/var/lib/overdue",
  }),
  spoolBytesMax: setting({
    key: "OVERDUE_SPOOL_BYTES",
    group: "Signals",
    kind: integerKind({ min: SPOOL_BYTES_MIN, max: SPOOL_BYTES_MAX, unit: "bytes" }),
    fallback: 1024 ** 3,
    secret: false,
    meaning: "How much one process may keep in that folder. Beyond it, pings are refused with 503.",
    example: "10737418240",
  }),
  intakeLostAfterSeconds: setting({
    key: "OVERDUE_INTAKE_LOST_AFTER",
    group: "Signals",
    kind: secondsKind({ min: LOST_AFTER_SECONDS_MIN, max: LOST_AFTER_SECONDS_MAX }),
    fallback: 600,
    secret: false,
    meaning:
      "A receiving process with a spool that gives no sign of life for so long, while others do, counts as lost: silence alerts no longer wait for what it may hold. Without a spool it is 10 seconds.",
    example: "1800",
  }),
  pingLogLimit: setting({
    key: "OVERDUE_PING_LOG_LIMIT",
    group: "Signals",
    kind: integerKind({ min: 1, max: PING_LOG_ROWS_MAX, unit: "pings" }),
    fallback: PAID_PING_LOG_ROWS,
    secret: false,
    meaning: "How many of the newest pings of a check are kept and returned.",
    example: "100",
  }),
  pingBodyLimitBytes: setting({
    key: "OVERDUE_PING_BODY_LIMIT",
    group: "Signals",
    kind: integerKind({ min: 0, max: PING_READ_BYTES_MAX, unit: "bytes" }),
    fallback: DEFAULT_PING_BODY_BYTES,
    secret: false,
    meaning: "How much of a ping's body is kept. A longer one is cut, never refused.",
    example: "100000",
    aliases: ["PING_BODY_LIMIT"],
  }),
  s3Bucket: optionalSetting({
    key: "OVERDUE_S3_BUCKET",
    group: "Object storage",
    kind: textKind({ lengthMin: 3 }),
    fallbackMeans: "none; bodies stay in the database",
    secret: false,
    meaning:
      "A bucket of an S3-compatible store, for large bodies. They are moved there after the ping was recorded, and the database lets go of one when the store has confirmed it. Every process needs these settings to show them. Back the bucket up with the database.",
    example: "overdue-bodies",
    aliases: ["S3_BUCKET"],
  }),
  s3Endpoint: optionalSetting({
    key: "OVERDUE_S3_ENDPOINT",
    group: "Object storage",
    kind: webAddressKind,
    fallbackMeans: "none; must be set with a bucket",
    secret: false,
    meaning: "The address of that store, without the bucket.",
    example: "https://s3.eu-central-1.amazonaws.com",
    composedOf: storeAddress,
  }),
  s3Region: setting({
    key: "OVERDUE_S3_REGION",
    group: "Object storage",
    kind: textKind({ lengthMin: 1 }),
    fallback: "us-east-1",
    secret: false,
    meaning: "The region that requests are signed for. Most stores of one's own accept the default.",
    example: "eu-central-1",
    aliases: ["S3_REGION"],
  }),
  s3AccessKey: optionalSetting({
    key: "OVERDUE_S3_ACCESS_KEY",
    group: "Object storage",
    kind: textKind({ lengthMin: 1 }),
    fallbackMeans: "none; must be set with a bucket",
    secret: false,
    meaning: "The name of the key. It needs to put, get and delete objects of the bucket.",
    example: "overdue",
    aliases: ["S3_ACCESS_KEY"],
  }),
  s3SecretKey: optionalSetting({
    key: "OVERDUE_S3_SECRET_KEY",
    group: "Object storage",
    kind: textKind({ lengthMin: 1 }),
    fallbackMeans: "none; must be set with a bucket",
    secret: true,
    meaning: "The secret that belongs to it.",
    example: "secret-of-that-key",
    aliases: ["S3_SECRET_KEY"],
  }),
  s3TimeoutSeconds: setting({
    key: "OVERDUE_S3_TIMEOUT",
    group: "Object storage",
    kind: secondsKind({ min: 1, max: STORE_TIMEOUT_SECONDS_MAX }),
    fallback: 60,
    secret: false,
    meaning: "How long one call of the store may take, with its retries.",
    example: "30",
    aliases: ["S3_TIMEOUT"],
  }),
  s3BodyBytesMin: setting({
    key: "OVERDUE_S3_BODY_MIN",
    group: "Object storage",
    kind: integerKind({ min: MOVABLE_BODY_BYTES_MIN, max: PING_READ_BYTES_MAX, unit: "bytes" }),
    fallback: MOVABLE_BODY_BYTES_MIN,
    secret: false,
    meaning: "Bodies of at least this size are moved.",
    example: "10000",
  }),
} as const;
