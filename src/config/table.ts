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
    if (name === null)
      return { problem: "is put together from DB_HOST and the rest, but DB_NAME is not set" };
    const sslMode = part("DB_SSLMODE");
    if (sslMode !== null && !SSL_MODES.some((mode) => mode === sslMode)) {
      return { problem: `is put together from DB_*, and DB_SSLMODE must be one of ${SSL_MODES.join(", ")}` };
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
      "The PostgreSQL database (15 to 18) that holds everything. sslmode and sslrootcert in it mean what they mean to libpq; without them, PGSSLMODE and PGSSLROOTCERT are used, and prefer without those.",
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
      "The size of the shared connection pool of a process. The roles ping and smtp open up to 7 more connections together, and the role sweeper up to 3: 20 in a process that runs all roles with the default.",
    example: "20",
  }),
  databaseWaitSeconds: setting({
    key: "OVERDUE_DATABASE_WAIT",
    group: "Database",
    kind: secondsKind({ min: 0, max: WAIT_SECONDS_MAX }),
    fallback: 30,
    secret: false,
    meaning: "How long a starting process waits for a database that does not answer yet.",
    example: "60",
  }),
  migrateOnStart: setting({
    key: "OVERDUE_MIGRATE_ON_START",
    group: "Database",
    kind: booleanKind,
    fallback: true,
    secret: false,
    meaning:
      "Bring the schema up to date when a process starts. With false, a process refuses to start until `overdue migrate` was run.",
    example: "false",
  }),
  roles: optionalSetting({
    key: "OVERDUE_ROLES",
    group: "Process",
    kind: listKind(wordKind, { countMax: ROLES_MAX }),
    fallbackMeans: "all",
    secret: false,
    meaning: "Which parts this process runs; `overdue serve --roles` wins over it.",
    example: "all",
  }),
  adminListen: setting({
    key: "OVERDUE_ADMIN_LISTEN",
    group: "Process",
    kind: listenKind,
    fallback: DEFAULT_ADMIN_LISTEN,
    secret: false,
    meaning: "Where this process answers /healthz, /readyz and /metrics. Keep it away from the public.",
    example: "0.0.0.0:9464",
  }),
  logLevel: setting({
    key: "OVERDUE_LOG_LEVEL",
    group: "Process",
    kind: choiceKind(["fatal", "error", "warn", "info", "debug", "trace"]),
    fallback: "info",
    secret: false,
    meaning: "The least serious event that is still logged.",
    example: "debug",
  }),
  stopTimeoutSeconds: setting({
    key: "OVERDUE_STOP_TIMEOUT",
    group: "Process",
    kind: secondsKind({ min: 1, max: WAIT_SECONDS_MAX }),
    fallback: 20,
    secret: false,
    meaning:
      "How long a stopping process may take to finish what it began. Keep it below your supervisor's patience.",
    example: "20",
  }),
  siteUrl: setting({
    key: "OVERDUE_SITE_URL",
    group: "Addresses",
    kind: webAddressKind,
    fallback: "http://localhost:8000",
    secret: false,
    meaning: "The public address, as people and jobs reach it. A path in it is honoured.",
    example: "https://overdue.example.org",
    aliases: ["SITE_ROOT"],
  }),
  siteName: setting({
    key: "OVERDUE_SITE_NAME",
    group: "Addresses",
    kind: nameKind({ lengthMax: NAME_LENGTH_MAX }),
    fallback: "Overdue",
    secret: false,
    meaning: "What this installation calls itself, for instance on the badge of a whole project.",
    example: "Cron watch",
    aliases: ["SITE_NAME"],
  }),
  apiUrl: optionalSetting({
    key: "OVERDUE_API_URL",
    group: "Addresses",
    kind: webAddressKind,
    fallbackMeans: "the site, under /api/",
    secret: false,
    meaning:
      "A host of its own for version 3 of the Management API, which then lives at /v3 there as well, and is named so in answers.",
    example: "https://api.overdue.example.org",
  }),
  pingUrl: optionalSetting({
    key: "OVERDUE_PING_URL",
    group: "Addresses",
    kind: webAddressKind,
    fallbackMeans: "the site, under /ping/",
    secret: false,
    meaning: "A host of its own for pings, which then arrive at /<uuid> there as well.",
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
    fallbackMeans: "the one kept in the database",
    secret: true,
    meaning:
      "The secret that API keys are hashed with. The first migration makes one and keeps it in the database; set this to keep it elsewhere. Changing it makes every API key, badge address, mailed link and authenticator app invalid. `openssl rand -hex 32` makes one.",
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
      "How many checks an account may have, unless `overdue admin set-check-limit` gave it a limit of its own.",
    example: "1000",
  }),
  apiRequestsPerMinute: setting({
    key: "OVERDUE_API_RATE_LIMIT",
    group: "Keys and limits",
    kind: integerKind({ min: 0, max: API_REQUESTS_PER_MINUTE_MAX, unit: "requests" }),
    fallback: DEFAULT_API_REQUESTS_PER_MINUTE,
    secret: false,
    meaning:
      "How many requests a minute one API key may make of one process, scrapes included; beyond it the answer is 429. A network that comes with wrong keys is allowed a tenth of it. 0 means without limit.",
    example: "600",
  }),
  apiDialect: setting({
    key: "OVERDUE_API_DIALECT",
    group: "Keys and limits",
    kind: choiceKind(["standard", "healthchecks"]),
    fallback: "standard",
    secret: false,
    meaning:
      "`healthchecks` answers as the reference server does where clients written against it need that.",
    example: "healthchecks",
  }),
} as const;
