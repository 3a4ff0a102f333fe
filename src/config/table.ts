// Every setting there is, declared once: key, kind, default, secret or not, meaning, example, aliases.
// Loading, printing and .env.example are all derived from this table. It reads nothing itself.
import { ACCOUNT_SETTINGS } from "./accounts.ts";
import { CHANNEL_SETTINGS } from "./channels.ts";
import { MAIL_SETTINGS } from "./mail.ts";
import { PING_MAIL_SETTINGS } from "./ping-mail.ts";
import { type Composition, optionalSetting, setting } from "./setting.ts";
import { SIGNAL_SETTINGS } from "./signals.ts";
import { WATCHING_SETTINGS } from "./watching.ts";
import { CHECK_LIMIT_MAX, DEFAULT_API_REQUESTS_PER_MINUTE, NAME_LENGTH_MAX } from "../core/limits.ts";
import type { ListenAddress } from "../lib/address.ts";
import {
  booleanKind,
  choiceKind,
  databaseUrlKind,
  integerKind,
  listenKind,
  listKind,
  nameKind,
  secondsKind,
  SSL_MODES,
  textKind,
  webAddressKind,
  wordKind,
} from "../lib/setting-value.ts";

const ROLES_MAX = 20;
/** Shorter secrets can be guessed from a stolen key hash. */
const SECRET_KEY_LENGTH_MIN = 32;
const API_REQUESTS_PER_MINUTE_MAX = 10_000_000;
const POOL_SIZE_MIN = 2;
const POOL_SIZE_MAX = 200;
/** Longer than any supervisor waits. */
const WAIT_SECONDS_MAX = 600;

/** The reference's DB_* names, put together into one address. */
const databaseParts: Composition = {
  names: ["DB_HOST", "DB_PORT", "DB_NAME", "DB_USER", "DB_PASSWORD", "DB_SSLMODE"],
  secretNames: ["DB_PASSWORD"],
  build: (part) => {
    const host = part("DB_HOST");
    const name = part("DB_NAME");
    if (host === null && name === null) return null;
    // Guessing the reference's own default here could lead us into its database.
    if (name === null) return { problem: "is derived from DB_*, but DB_NAME is not set" };
    const sslMode = part("DB_SSLMODE");
    if (sslMode !== null && !SSL_MODES.some((mode) => mode === sslMode)) {
      return { problem: `is derived from DB_*: DB_SSLMODE must be one of ${SSL_MODES.join(", ")}` };
    }
    const password = part("DB_PASSWORD");
    const user = encodeURIComponent(part("DB_USER") ?? "postgres");
    const login = password === null ? user : `${user}:${encodeURIComponent(password)}`;
    const query = sslMode === null ? "" : `?sslmode=${sslMode}`;
    const place = `${host ?? "localhost"}:${part("DB_PORT") ?? "5432"}/${encodeURIComponent(name)}`;
    return { value: `postgres://${login}@${place}${query}` };
  },
};

const DEFAULT_ADMIN_LISTEN: ListenAddress = { host: "127.0.0.1", port: 9464 };

export const SETTINGS = {
  databaseUrl: optionalSetting({
    key: "OVERDUE_DATABASE_URL",
    group: "Database",
    kind: databaseUrlKind,
    secret: true,
    meaning:
      "The URL of the PostgreSQL database (15 to 18). The parameters sslmode and sslrootcert work as in libpq. Their defaults come from PGSSLMODE and PGSSLROOTCERT; otherwise, sslmode is prefer.",
    example: "postgres://overdue:secret@127.0.0.1:5432/overdue",
    composedOf: databaseParts,
    parameters: { sslmode: "PGSSLMODE", sslrootcert: "PGSSLROOTCERT" },
  }),
  databasePoolSize: setting({
    key: "OVERDUE_DATABASE_POOL_SIZE",
    group: "Database",
    kind: integerKind({ min: POOL_SIZE_MIN, max: POOL_SIZE_MAX, unit: "connections" }),
    fallback: 10,
    secret: false,
    meaning:
      "The size of the connection pool of each process. The roles ping and smtp together open up to 7 more connections, and the role sweeper up to 3. With the default, a process that runs all roles opens up to 20 connections.",
    example: "20",
  }),
  databaseWaitSeconds: setting({
    key: "OVERDUE_DATABASE_WAIT",
    group: "Database",
    kind: secondsKind({ min: 0, max: WAIT_SECONDS_MAX }),
    fallback: 30,
    secret: false,
    meaning: "How long to wait for the database at startup.",
    example: "60",
  }),
  migrateOnStart: setting({
    key: "OVERDUE_MIGRATE_ON_START",
    group: "Database",
    kind: booleanKind,
    fallback: true,
    secret: false,
    meaning:
      "Apply pending database migrations at startup. If false, a process does not start until you run `overdue migrate`.",
    example: "false",
  }),
  roles: optionalSetting({
    key: "OVERDUE_ROLES",
    group: "Process",
    kind: listKind(wordKind, { countMax: ROLES_MAX }),
    fallbackMeans: "all",
    secret: false,
    meaning: "The roles that this process runs. `overdue serve --roles` overrides it.",
    example: "all",
  }),
  adminListen: setting({
    key: "OVERDUE_ADMIN_LISTEN",
    group: "Process",
    kind: listenKind,
    fallback: DEFAULT_ADMIN_LISTEN,
    secret: false,
    meaning:
      "The address on which this process serves /healthz, /readyz, and /metrics. Do not expose it to the public.",
    example: "0.0.0.0:9464",
  }),
  logLevel: setting({
    key: "OVERDUE_LOG_LEVEL",
    group: "Process",
    kind: choiceKind(["fatal", "error", "warn", "info", "debug", "trace"]),
    fallback: "info",
    secret: false,
    meaning: "The minimum severity of log messages.",
    example: "debug",
  }),
  stopTimeoutSeconds: setting({
    key: "OVERDUE_STOP_TIMEOUT",
    group: "Process",
    kind: secondsKind({ min: 1, max: WAIT_SECONDS_MAX }),
    fallback: 20,
    secret: false,
    meaning:
      "The time limit for a graceful shutdown. Keep it shorter than the stop timeout of your process supervisor.",
    example: "20",
  }),
  siteUrl: setting({
    key: "OVERDUE_SITE_URL",
    group: "Network",
    kind: webAddressKind,
    fallback: "http://localhost:8000",
    secret: false,
    meaning: "The public URL of this server, as users and jobs reach it. It may include a path.",
    example: "https://overdue.example.org",
    aliases: ["SITE_ROOT"],
  }),
  siteName: setting({
    key: "OVERDUE_SITE_NAME",
    group: "Network",
    kind: nameKind({ lengthMax: NAME_LENGTH_MAX }),
    fallback: "Overdue",
    secret: false,
    meaning: "The name of this server, shown in the dashboard, in notifications, and on project badges.",
    example: "Acme Overdue",
    aliases: ["SITE_NAME"],
  }),
  apiUrl: optionalSetting({
    key: "OVERDUE_API_URL",
    group: "Network",
    kind: webAddressKind,
    fallbackMeans: "OVERDUE_SITE_URL followed by /api",
    secret: false,
    meaning:
      "A separate URL for version 3 of the Management API. The API is then also served at /v3 under this URL, and URLs in responses use it.",
    example: "https://api.overdue.example.org",
  }),
  pingUrl: optionalSetting({
    key: "OVERDUE_PING_URL",
    group: "Network",
    kind: webAddressKind,
    fallbackMeans: "OVERDUE_SITE_URL followed by /ping",
    secret: false,
    meaning:
      "A separate URL for pings. Pings are then also accepted at /<uuid> under this URL, and ping URLs use it.",
    example: "https://ping.overdue.example.org",
    aliases: ["PING_ENDPOINT"],
  }),
  ...SIGNAL_SETTINGS,
  ...PING_MAIL_SETTINGS,
  ...CHANNEL_SETTINGS,
  ...MAIL_SETTINGS,
  ...ACCOUNT_SETTINGS,
  ...WATCHING_SETTINGS,
  secretKey: optionalSetting({
    key: "OVERDUE_SECRET_KEY",
    group: "Keys and limits",
    kind: textKind({ lengthMin: SECRET_KEY_LENGTH_MIN }),
    fallbackMeans: "the one stored in the database",
    secret: true,
    meaning:
      "The secret used to hash API keys. The first migration generates one and stores it in the database; set this to store it elsewhere. Changing it invalidates all API keys, badge URLs, links in emails, and authenticator apps. Generate one with `openssl rand -hex 32`.",
    // Too short on purpose: an example that worked would be in use somewhere.
    example: "output-of-openssl-rand",
    aliases: ["SECRET_KEY"],
  }),
  checkLimit: optionalSetting({
    key: "OVERDUE_CHECK_LIMIT",
    group: "Keys and limits",
    kind: integerKind({ min: 0, max: CHECK_LIMIT_MAX, unit: "checks" }),
    fallbackMeans: "unlimited",
    secret: false,
    meaning:
      "The maximum number of checks per account. To change it for one account, use `overdue admin set-check-limit`.",
    example: "1000",
  }),
  apiRequestsPerMinute: setting({
    key: "OVERDUE_API_RATE_LIMIT",
    group: "Keys and limits",
    kind: integerKind({ min: 0, max: API_REQUESTS_PER_MINUTE_MAX, unit: "requests" }),
    fallback: DEFAULT_API_REQUESTS_PER_MINUTE,
    secret: false,
    meaning:
      "The maximum number of requests per minute and API key to one process, including metrics scrapes. Requests over the limit are answered with 429. For requests with invalid API keys, the limit per network is one tenth of this. 0 means no limit.",
    example: "600",
  }),
  apiDialect: setting({
    key: "OVERDUE_API_DIALECT",
    group: "Keys and limits",
    kind: choiceKind(["standard", "healthchecks"]),
    fallback: "standard",
    secret: false,
    meaning:
      "With `healthchecks`, responses match those of Healthchecks where existing clients depend on it.",
    example: "healthchecks",
  }),
} as const;
