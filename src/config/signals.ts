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
    if ("problem" in isSecure) return { problem: `is derived from S3_*: S3_SECURE ${isSecure.problem}` };
    return { value: `${isSecure.value ? "https" : "http"}://${host}` };
  },
};

export const SIGNAL_SETTINGS = {
  listen: setting({
    key: "OVERDUE_LISTEN",
    group: "Network",
    kind: listenKind,
    fallback: DEFAULT_LISTEN,
    secret: false,
    meaning:
      "The address on which this process serves the dashboard, pings, the API, and badges. Put an HTTPS reverse proxy in front of it.",
    example: "0.0.0.0:8000",
  }),
  reusePort: setting({
    key: "OVERDUE_REUSE_PORT",
    group: "Network",
    kind: booleanKind,
    fallback: false,
    secret: false,
    meaning:
      "Let several processes on this machine listen on the same port (SO_REUSEPORT). The kernel distributes connections among them.",
    example: "true",
  }),
  trustedProxies: setting({
    key: "OVERDUE_TRUSTED_PROXIES",
    group: "Network",
    kind: listKind(addressRangeKind, { countMax: TRUSTED_PROXIES_MAX }),
    fallback: ["127.0.0.0/8", "::1/128"],
    secret: false,
    meaning:
      "The proxies whose X-Forwarded-* headers are trusted. From other clients, these headers are ignored.",
    example: "127.0.0.0/8, ::1/128, 10.0.0.0/8",
  }),
  connectionsMax: setting({
    key: "OVERDUE_CONNECTIONS_MAX",
    group: "Pings",
    kind: integerKind({ min: CONNECTIONS_MIN, max: CONNECTIONS_MAX, unit: "connections" }),
    fallback: 10_000,
    secret: false,
    meaning:
      "The maximum number of client connections per process. The open file limit of the system may lower it. At the limit, idle connections and connections with incomplete requests are closed to make room, starting with the network that has the most.",
    example: "20000",
  }),
  requestTimeoutSeconds: setting({
    key: "OVERDUE_REQUEST_TIMEOUT",
    group: "Pings",
    kind: secondsKind({ min: 1, max: REQUEST_TIMEOUT_SECONDS_MAX }),
    fallback: 60,
    secret: false,
    meaning:
      "The time limit for a client to send its request. After that, the response is 408. A client that reads none of its response for this long is disconnected.",
    example: "30",
  }),
  signalsPerMinute: setting({
    key: "OVERDUE_SIGNALS_PER_MINUTE",
    group: "Pings",
    kind: integerKind({ min: 0, max: SIGNALS_PER_MINUTE_MAX, unit: "signals" }),
    fallback: DEFAULT_SIGNALS_PER_MINUTE,
    secret: false,
    meaning:
      "The maximum number of success and log pings per minute that are logged individually for each check. Pings over the limit still update the status of the check. 0 means no limit.",
    example: "120",
  }),
  spoolFolder: optionalSetting({
    key: "OVERDUE_SPOOL_FOLDER",
    group: "Pings",
    kind: folderOrOffKind,
    fallbackMeans:
      "the first of $STATE_DIRECTORY, /var/lib/overdue and $XDG_STATE_HOME/overdue (~/.local/state/overdue) that is writable",
    secret: false,
    meaning:
      'A folder on a local, persistent disk. While the database is unavailable, pings for known checks are stored there and answered with 200. Processes that use the same database can share it; every other server on the machine needs its own. With "off", these pings are answered with 503.',
    example: "/var/lib/overdue",
  }),
  spoolBytesMax: setting({
    key: "OVERDUE_SPOOL_BYTES",
    group: "Pings",
    kind: integerKind({ min: SPOOL_BYTES_MIN, max: SPOOL_BYTES_MAX, unit: "bytes" }),
    fallback: 1024 ** 3,
    secret: false,
    meaning:
      "The maximum size of the spool of one process. When the spool is full, pings are answered with 503.",
    example: "10737418240",
  }),
  intakeLostAfterSeconds: setting({
    key: "OVERDUE_INTAKE_LOST_AFTER",
    group: "Pings",
    kind: secondsKind({ min: LOST_AFTER_SECONDS_MIN, max: LOST_AFTER_SECONDS_MAX }),
    fallback: 600,
    secret: false,
    meaning:
      "If a receiving process with a spool sends no heartbeat for this long while others do, it is considered lost, and alerts for missing pings no longer wait for pings that it may have received. For a process without a spool, the limit is 10 seconds.",
    example: "1800",
  }),
  pingLogLimit: setting({
    key: "OVERDUE_PING_LOG_LIMIT",
    group: "Pings",
    kind: integerKind({ min: 1, max: PING_LOG_ROWS_MAX, unit: "pings" }),
    fallback: PAID_PING_LOG_ROWS,
    secret: false,
    meaning: "The number of newest pings to keep for each check.",
    example: "100",
  }),
  pingBodyLimitBytes: setting({
    key: "OVERDUE_PING_BODY_LIMIT",
    group: "Pings",
    kind: integerKind({ min: 0, max: PING_READ_BYTES_MAX, unit: "bytes" }),
    fallback: DEFAULT_PING_BODY_BYTES,
    secret: false,
    meaning: "The maximum size of a stored ping body. Longer bodies are truncated, not rejected.",
    example: "100000",
    aliases: ["PING_BODY_LIMIT"],
  }),
  s3Bucket: optionalSetting({
    key: "OVERDUE_S3_BUCKET",
    group: "Object storage",
    kind: textKind({ lengthMin: 3 }),
    fallbackMeans: "none; ping bodies stay in the database",
    secret: false,
    meaning:
      "The bucket of an S3-compatible object store for large ping bodies. A body is moved there after the ping is recorded, and deleted from the database once the store confirms it. Every process that shows ping bodies needs these settings. Back up the bucket together with the database.",
    example: "overdue-bodies",
    aliases: ["S3_BUCKET"],
  }),
  s3Endpoint: optionalSetting({
    key: "OVERDUE_S3_ENDPOINT",
    group: "Object storage",
    kind: webAddressKind,
    fallbackMeans: "none; required with OVERDUE_S3_BUCKET",
    secret: false,
    meaning: "The URL of the object store, without the bucket.",
    example: "https://s3.eu-central-1.amazonaws.com",
    composedOf: storeAddress,
  }),
  s3Region: setting({
    key: "OVERDUE_S3_REGION",
    group: "Object storage",
    kind: textKind({ lengthMin: 1 }),
    fallback: "us-east-1",
    secret: false,
    meaning: "The region used to sign requests. Most self-hosted stores accept the default.",
    example: "eu-central-1",
    aliases: ["S3_REGION"],
  }),
  s3AccessKey: optionalSetting({
    key: "OVERDUE_S3_ACCESS_KEY",
    group: "Object storage",
    kind: textKind({ lengthMin: 1 }),
    fallbackMeans: "none; required with OVERDUE_S3_BUCKET",
    secret: false,
    meaning: "The access key ID. It needs permission to put, get, and delete objects in the bucket.",
    example: "overdue",
    aliases: ["S3_ACCESS_KEY"],
  }),
  s3SecretKey: optionalSetting({
    key: "OVERDUE_S3_SECRET_KEY",
    group: "Object storage",
    kind: textKind({ lengthMin: 1 }),
    fallbackMeans: "none; required with OVERDUE_S3_BUCKET",
    secret: true,
    meaning: "The secret access key.",
    example: "secret-of-that-key",
    aliases: ["S3_SECRET_KEY"],
  }),
  s3TimeoutSeconds: setting({
    key: "OVERDUE_S3_TIMEOUT",
    group: "Object storage",
    kind: secondsKind({ min: 1, max: STORE_TIMEOUT_SECONDS_MAX }),
    fallback: 60,
    secret: false,
    meaning: "The time limit for one operation of the object store, including retries.",
    example: "30",
    aliases: ["S3_TIMEOUT"],
  }),
  s3BodyBytesMin: setting({
    key: "OVERDUE_S3_BODY_MIN",
    group: "Object storage",
    kind: integerKind({ min: MOVABLE_BODY_BYTES_MIN, max: PING_READ_BYTES_MAX, unit: "bytes" }),
    fallback: MOVABLE_BODY_BYTES_MIN,
    secret: false,
    meaning: "The minimum size of ping bodies that are moved to the object store.",
    example: "10000",
  }),
} as const;
