// Every setting: key, kind, default, meaning, aliases. Loading, `overdue config` and .env.example are derived from it.
import { AUDIT_DAYS } from "../core/audit.ts";
import {
  CHECK_LIMIT_MAX,
  DEFAULT_API_REQUESTS_PER_MINUTE,
  DEFAULT_CALLS_PER_MONTH,
  DEFAULT_EMAIL_KEPT_BYTES,
  DEFAULT_MESSAGES_PER_MONTH,
  DEFAULT_PING_BODY_BYTES,
  DEFAULT_SIGNALS_PER_MINUTE,
  DELIVERY_DAYS,
  EMAIL_WEIGHT_BYTES_MAX,
  EVENT_DAYS,
  FLIP_DAYS,
  HISTORY_DAYS_MIN,
  MONTHLY_LIMIT_MAX,
  MOVABLE_BODY_BYTES_MIN,
  NAME_LENGTH_MAX,
  PAID_PING_LOG_ROWS,
  PING_ALIASES_MAX,
  PING_READ_BYTES_MAX,
  SECRET_KEY_LENGTH_MIN,
} from "../core/limits.ts";
import { isHostName, type ListenAddress } from "../lib/address.ts";
import { kafkaKind } from "../lib/kafka-address.ts";
import {
  addressRangeKind,
  booleanKind,
  calledAddressKind,
  choiceKind,
  databaseUrlKind,
  folderOrOffKind,
  hostKind,
  integerKind,
  listenKind,
  listKind,
  nameKind,
  type Parsed,
  portKind,
  proxyUrlKind,
  returnPathKind,
  secondsKind,
  senderKind,
  SSL_MODES,
  textKind,
  tokenKind,
  uuidKind,
  type ValueKind,
  webAddressKind,
  wordKind,
} from "../lib/setting-value.ts";

/** Builds one value from several settings of the reference server; null if none of them is set. */
export type Composition = {
  names: readonly string[];
  secretNames: readonly string[];
  build(part: (name: string) => string | null): Parsed<string> | null;
};

export type Setting<T, Fallback extends T | null> = {
  key: `OVERDUE_${string}`;
  group:
    | "Database"
    | "Process"
    | "Network"
    | "Pings"
    | "Pings by email"
    | "Object storage"
    | "Channels"
    | "Email"
    | "Accounts"
    | "Monitoring Overdue"
    | "Keys and limits"
    | "Command line"
    | "Retention";
  kind: ValueKind<T>;
  fallback: Fallback;
  /** What the default means, if its value does not show it. */
  fallbackMeans?: string;
  /** Masked wherever it is shown, and readable from the file in KEY_FILE. */
  secret: boolean;
  meaning: string;
  example: string;
  /** Names of the same setting on the reference server. */
  aliases?: readonly string[];
  composedOf?: Composition;
  /** Query parameters of a URL, and the variables that supply missing ones. */
  parameters?: Readonly<Record<string, string>>;
};

/** A setting that always has a value. */
function setting<T>(given: Setting<T, NoInfer<T>>): Setting<T, T> {
  return given;
}

/** An optional setting: its value can be null. */
function optionalSetting<T>(given: Omit<Setting<T, null>, "fallback">): Setting<T, null> {
  return { ...given, fallback: null };
}

// Pings over HTTP.

const TRUSTED_PROXIES_MAX = 100;
const PING_LOG_ROWS_MAX = 10_000;
const PUBLIC_CONNECTIONS_MIN = 16;
const PUBLIC_CONNECTIONS_MAX = 1_000_000;
const REQUEST_TIMEOUT_SECONDS_MAX = 600;
const SPOOL_BYTES_MIN = 1024 ** 2;
const SPOOL_BYTES_MAX = 1024 ** 4;
const LOST_AFTER_SECONDS_MIN = 10;
const LOST_AFTER_SECONDS_MAX = 86_400;
const SIGNALS_PER_MINUTE_MAX = 1_000_000;
const STORE_TIMEOUT_SECONDS_MAX = 600;

const DEFAULT_LISTEN: ListenAddress = { host: "127.0.0.1", port: 8000 };

/** The reference server has a host name and a separate switch for TLS. */
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

const SIGNAL_SETTINGS = {
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
  cell: optionalSetting({
    key: "OVERDUE_CELL",
    group: "Network",
    kind: textKind({ lengthMin: 1 }),
    fallbackMeans: "none; this server is the only one",
    secret: false,
    meaning:
      "The name of this cell in the file of OVERDUE_CELLS. Cells are several complete servers behind one router, for more checks than one database can handle.",
    example: "a",
  }),
  cellsFile: optionalSetting({
    key: "OVERDUE_CELLS",
    group: "Network",
    kind: textKind({ lengthMin: 1 }),
    fallbackMeans: "none; this server is the only one",
    secret: false,
    meaning:
      "A JSON file that describes all cells: their names, URLs and slots. The same file in every cell. Read at startup.",
    example: "/etc/overdue/cells.json",
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
    kind: integerKind({ min: PUBLIC_CONNECTIONS_MIN, max: PUBLIC_CONNECTIONS_MAX, unit: "connections" }),
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
  logTopic: optionalSetting({
    key: "OVERDUE_LOG",
    group: "Pings",
    kind: kafkaKind,
    fallbackMeans: "none; pings are recorded in the database before they are answered",
    secret: true,
    meaning:
      "A Kafka topic between the processes that receive pings and the database. Pings are answered when the topic has them; processes with the role recorder apply them. For bursts of pings that exceed what one database can record. kafkas:// uses TLS; user and password are for SASL (?sasl=plain, scram-sha-256 or scram-sha-512). To trust a private CA, set NODE_EXTRA_CA_CERTS.",
    example: "kafka://kafka-1:9092,kafka-2:9092,kafka-3:9092/overdue",
  }),
  logRouterRepeats: setting({
    key: "OVERDUE_LOG_ROUTER_REPEATS",
    group: "Pings",
    kind: booleanKind,
    fallback: false,
    secret: false,
    meaning:
      "With OVERDUE_LOG: whether a router in front of several receiving processes sends a ping to another one if it gets no answer. If so, the loss of one of them is not a monitoring gap.",
    example: "true",
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
    meaning: "The time limit for one object store operation, including retries.",
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

// Pings by email.

const PING_MAIL_CONNECTIONS_MIN = 1;
const PING_MAIL_CONNECTIONS_MAX = 100_000;
const MESSAGES_PER_MINUTE_MAX = 10_000_000;

/** The domain of an address. */
const domainKind: ValueKind<string> = {
  describe: "domain",
  parse: (text) =>
    isHostName(text)
      ? { value: text.toLowerCase() }
      : { problem: "must be a domain such as ping.example.org" },
  print: (value) => value,
};

/** The reference server has a port, and listens on all interfaces. */
const everywhere: Composition = {
  names: ["SMTPD_PORT"],
  secretNames: [],
  build: (part) => {
    const port = part("SMTPD_PORT");
    return port === null ? null : { value: `0.0.0.0:${port}` };
  },
};

const PING_MAIL_SETTINGS = {
  pingMailListen: optionalSetting({
    key: "OVERDUE_PING_MAIL_LISTEN",
    group: "Pings by email",
    kind: listenKind,
    fallbackMeans: "none; no email is received",
    secret: false,
    meaning: "The address on which the role smtp receives pings by email. Requires OVERDUE_PING_MAIL_DOMAIN.",
    example: "0.0.0.0:25",
    composedOf: everywhere,
  }),
  pingMailDomain: optionalSetting({
    key: "OVERDUE_PING_MAIL_DOMAIN",
    group: "Pings by email",
    kind: domainKind,
    fallbackMeans: "none; no email is received",
    secret: false,
    meaning:
      "The domain of the email addresses of checks: <uuid>@domain and <ping key>+<slug>@domain. Its MX record must point to this server. No email is sent from it.",
    example: "ping.overdue.example.org",
    aliases: ["PING_EMAIL_DOMAIN"],
  }),
  pingMailAliases: optionalSetting({
    key: "OVERDUE_PING_MAIL_ALIASES",
    group: "Pings by email",
    kind: listKind(domainKind, { countMax: PING_ALIASES_MAX }),
    fallbackMeans: "none",
    secret: false,
    meaning:
      "Further domains of the email addresses of checks, for example of the server that you moved from. Email for them is accepted as for OVERDUE_PING_MAIL_DOMAIN. They are never shown.",
    example: "hc-ping.example.org",
  }),
  pingMailCertificate: optionalSetting({
    key: "OVERDUE_PING_MAIL_CERTIFICATE",
    group: "Pings by email",
    kind: textKind({ lengthMin: 1 }),
    fallbackMeans: "none; STARTTLS is not offered",
    secret: false,
    meaning: "A PEM file with the STARTTLS certificate and its intermediate certificates. Read at startup.",
    example: "/etc/overdue/mail.pem",
  }),
  pingMailCertificateKey: optionalSetting({
    key: "OVERDUE_PING_MAIL_CERTIFICATE_KEY",
    group: "Pings by email",
    kind: textKind({ lengthMin: 1 }),
    fallbackMeans: "none; required with OVERDUE_PING_MAIL_CERTIFICATE",
    secret: false,
    meaning: "A PEM file with the private key of the certificate.",
    example: "/etc/overdue/mail.key",
  }),
  pingMailProxy: setting({
    key: "OVERDUE_PING_MAIL_PROXY",
    group: "Pings by email",
    kind: booleanKind,
    fallback: false,
    secret: false,
    meaning:
      "Expect a PROXY protocol (version 1) header with the client address on every connection. Enable this only behind a load balancer that adds the header, because clients could otherwise forge their address.",
    example: "true",
  }),
  pingMailConnectionsMax: setting({
    key: "OVERDUE_PING_MAIL_CONNECTIONS_MAX",
    group: "Pings by email",
    kind: integerKind({
      min: PING_MAIL_CONNECTIONS_MIN,
      max: PING_MAIL_CONNECTIONS_MAX,
      unit: "connections",
    }),
    fallback: 1_000,
    secret: false,
    meaning:
      "The maximum number of SMTP connections per process. At the limit, the connections that have been idle the longest are closed.",
    example: "5000",
  }),
  pingMailPeerConnectionsMax: setting({
    key: "OVERDUE_PING_MAIL_PEER_CONNECTIONS_MAX",
    group: "Pings by email",
    kind: integerKind({
      min: PING_MAIL_CONNECTIONS_MIN,
      max: PING_MAIL_CONNECTIONS_MAX,
      unit: "connections",
    }),
    fallback: 100,
    secret: false,
    meaning:
      "The maximum number of SMTP connections per process from one network. If all email arrives through your own relay, the relay counts as one network.",
    example: "500",
  }),
  pingMailPeerRate: setting({
    key: "OVERDUE_PING_MAIL_PEER_RATE",
    group: "Pings by email",
    kind: integerKind({ min: 0, max: MESSAGES_PER_MINUTE_MAX, unit: "messages" }),
    fallback: 6_000,
    secret: false,
    meaning:
      "The maximum number of messages per minute that one network can send to one process. Messages over the limit are deferred with 450. 0 means no limit.",
    example: "0",
  }),
  pingMailKeptBytes: setting({
    key: "OVERDUE_PING_MAIL_BODY_LIMIT",
    group: "Pings by email",
    kind: integerKind({ min: 0, max: EMAIL_WEIGHT_BYTES_MAX / 2, unit: "bytes" }),
    fallback: DEFAULT_EMAIL_KEPT_BYTES,
    secret: false,
    meaning:
      "The maximum size of the stored message. Longer messages are truncated, not rejected. Keywords are matched before truncation.",
    example: "100000",
  }),
} as const;

// Accounts and sign-in.

/** A header by its own name, or by its CGI name: HTTP_X_USER is X-User. */
const headerKind: ValueKind<string> = {
  describe: "header",
  parse: (text) => {
    const name = /^HTTP_[A-Z0-9_]+$/.test(text) ? text.slice("HTTP_".length).replaceAll("_", "-") : text;
    return /^[A-Za-z0-9-]{1,100}$/.test(name)
      ? { value: name.toLowerCase() }
      : { problem: "must be a header name such as X-Authenticated-User" };
  },
  print: (value) => value,
};

const ACCOUNT_SETTINGS = {
  registrationOpen: setting({
    key: "OVERDUE_REGISTRATION_OPEN",
    group: "Accounts",
    kind: booleanKind,
    fallback: false,
    secret: false,
    meaning:
      "Allow anyone with an email address to create an account. If false, accounts are created by invitation or with `overdue admin`.",
    example: "true",
    aliases: ["REGISTRATION_OPEN"],
  }),
  remoteUserHeader: optionalSetting({
    key: "OVERDUE_REMOTE_USER_HEADER",
    group: "Accounts",
    kind: headerKind,
    fallbackMeans: "none; users sign in to Overdue",
    secret: false,
    meaning:
      "The header in which your authenticating proxy sends the user's email address. It is accepted only from OVERDUE_TRUSTED_PROXIES, and only the proxy should be able to reach the port. Accounts are created on first use, and all other sign-in methods are disabled.",
    example: "X-Authenticated-User",
    aliases: ["REMOTE_USER_HEADER"],
  }),
  oidcIssuer: optionalSetting({
    key: "OVERDUE_OIDC_ISSUER",
    group: "Accounts",
    kind: calledAddressKind,
    fallbackMeans: "none",
    secret: false,
    meaning:
      "The issuer URL of an OpenID Connect provider for single sign-on. The redirect URI is /accounts/oidc/ under OVERDUE_SITE_URL.",
    example: "https://id.example.org/realms/main",
  }),
  oidcClientId: optionalSetting({
    key: "OVERDUE_OIDC_CLIENT_ID",
    group: "Accounts",
    kind: textKind({ lengthMin: 1 }),
    fallbackMeans: "none; required with OVERDUE_OIDC_ISSUER",
    secret: false,
    meaning: "The client ID of this server at the provider.",
    example: "overdue",
  }),
  oidcClientSecret: optionalSetting({
    key: "OVERDUE_OIDC_CLIENT_SECRET",
    group: "Accounts",
    kind: textKind({ lengthMin: 1 }),
    fallbackMeans: "none; public client with PKCE",
    secret: true,
    meaning: "The client secret.",
    example: "secret-of-the-client",
  }),
  oidcName: setting({
    key: "OVERDUE_OIDC_NAME",
    group: "Accounts",
    kind: nameKind({ lengthMax: NAME_LENGTH_MAX }),
    fallback: "single sign-on",
    secret: false,
    meaning: "The provider name on the “Sign in with” button.",
    example: "Example ID",
  }),
  oidcCreatesAccounts: setting({
    key: "OVERDUE_OIDC_CREATE_ACCOUNTS",
    group: "Accounts",
    kind: booleanKind,
    fallback: false,
    secret: false,
    meaning:
      "Create an account for every user who signs in through the provider. If false, an account with the user's verified email address must already exist.",
    example: "true",
  }),
} as const;

// Outgoing email and bounces.

const SMTP_PORT_DEFAULT = 587;
const SMTP_CONNECTIONS_MAX = 50;
/** Sending a message may take half a minute; an email must end before that. */
const SMTP_TIMEOUT_SECONDS_MAX = 25;

/** The reference server has two switches, of which at most one may be on. */
const security: Composition = {
  names: ["EMAIL_USE_TLS", "EMAIL_USE_SSL"],
  secretNames: [],
  build: (part) => {
    const [starttls, tls] = ["EMAIL_USE_TLS", "EMAIL_USE_SSL"].map(part);
    if (typeof starttls !== "string" && typeof tls !== "string") return null;
    const asked = booleanKind.parse(tls ?? "false");
    const usual = booleanKind.parse(starttls ?? "true");
    if ("problem" in asked) return { problem: `is derived from EMAIL_*: EMAIL_USE_SSL ${asked.problem}` };
    if ("problem" in usual) return { problem: `is derived from EMAIL_*: EMAIL_USE_TLS ${usual.problem}` };
    if (asked.value) return { value: "tls" };
    return { value: usual.value ? "starttls" : "none" };
  },
};

const MAIL_SETTINGS = {
  smtpHost: optionalSetting({
    key: "OVERDUE_SMTP_HOST",
    group: "Email",
    kind: hostKind,
    fallbackMeans: "none; no email is sent",
    secret: false,
    meaning:
      "The SMTP server for outgoing email. Without it, email channels, account emails, reports, and reminders are not sent.",
    example: "smtp.example.org",
    aliases: ["EMAIL_HOST"],
  }),
  smtpPort: setting({
    key: "OVERDUE_SMTP_PORT",
    group: "Email",
    kind: portKind,
    fallback: SMTP_PORT_DEFAULT,
    secret: false,
    meaning: "The port of the SMTP server: 587 for starttls, 465 for tls, 25 for your own relay.",
    example: "465",
    aliases: ["EMAIL_PORT"],
  }),
  smtpSecurity: setting({
    key: "OVERDUE_SMTP_TLS",
    group: "Email",
    kind: choiceKind(["starttls", "tls", "opportunistic", "none"]),
    fallback: "starttls",
    secret: false,
    meaning:
      "The encryption of the SMTP connection. starttls and tls require encryption and a valid certificate. opportunistic uses encryption if the server offers it and does not verify the certificate. none is for a relay on the same machine. To trust a private CA, set NODE_EXTRA_CA_CERTS.",
    example: "tls",
    composedOf: security,
  }),
  smtpUser: optionalSetting({
    key: "OVERDUE_SMTP_USER",
    group: "Email",
    kind: textKind({ lengthMin: 1 }),
    fallbackMeans: "none; no authentication",
    secret: false,
    meaning: "The SMTP user name.",
    example: "overdue@example.org",
    aliases: ["EMAIL_HOST_USER"],
  }),
  smtpPassword: optionalSetting({
    key: "OVERDUE_SMTP_PASSWORD",
    group: "Email",
    kind: textKind({ lengthMin: 1 }),
    fallbackMeans: "none; required with OVERDUE_SMTP_USER",
    secret: true,
    meaning: "The SMTP password.",
    example: "password-of-that-user",
    aliases: ["EMAIL_HOST_PASSWORD"],
  }),
  smtpConnections: setting({
    key: "OVERDUE_SMTP_CONNECTIONS",
    group: "Email",
    kind: integerKind({ min: 1, max: SMTP_CONNECTIONS_MAX, unit: "connections" }),
    fallback: 5,
    secret: false,
    meaning: "The maximum number of concurrent SMTP connections per process.",
    example: "2",
  }),
  smtpTimeoutSeconds: setting({
    key: "OVERDUE_SMTP_TIMEOUT",
    group: "Email",
    kind: secondsKind({ min: 1, max: SMTP_TIMEOUT_SECONDS_MAX }),
    fallback: 20,
    secret: false,
    meaning: "The time limit for sending one email. After that, the attempt fails and is retried later.",
    example: "25",
  }),
  mailFrom: optionalSetting({
    key: "OVERDUE_MAIL_FROM",
    group: "Email",
    kind: senderKind,
    fallbackMeans: "overdue@ followed by the host of OVERDUE_SITE_URL",
    secret: false,
    meaning: "The From address of outgoing email. Most SMTP servers accept only certain sender addresses.",
    example: "Overdue <overdue@example.org>",
    aliases: ["DEFAULT_FROM_EMAIL"],
  }),
  mailVerification: setting({
    key: "OVERDUE_MAIL_VERIFICATION",
    group: "Email",
    kind: booleanKind,
    fallback: true,
    secret: false,
    meaning:
      "Require recipients to confirm their email address before alerts are sent to it. Project members don't need to confirm.",
    example: "false",
    aliases: ["EMAIL_USE_VERIFICATION"],
  }),
  mailReturnPath: optionalSetting({
    key: "OVERDUE_MAIL_RETURN_PATH",
    group: "Email",
    kind: returnPathKind,
    fallbackMeans: "none; bounces go to the From address",
    secret: false,
    meaning:
      "The return path for bounces. %s is replaced with a signed identifier of the email. The mail server for this address must POST each received message unmodified to /api/v3/bounces/. Overdue then stops sending to addresses that don't exist.",
    example: "%s@bounces.example.org",
    aliases: ["EMAIL_MAIL_FROM_TMPL"],
  }),
} as const;

// Channels: outgoing connections and provider keys.

const CHANNEL_SETTINGS = {
  allowPrivateAddresses: setting({
    key: "OVERDUE_CHANNELS_ALLOW_PRIVATE_IPS",
    group: "Channels",
    kind: booleanKind,
    fallback: false,
    secret: false,
    meaning:
      "Allow channels to send requests to private IP addresses, such as a chat server on your network. Anyone who can create a channel can then send requests to any host that this process can reach, except link-local addresses and cloud metadata services.",
    example: "true",
    aliases: ["INTEGRATIONS_ALLOW_PRIVATE_IPS"],
  }),
  outgoingProxy: optionalSetting({
    key: "OVERDUE_OUTGOING_PROXY",
    group: "Channels",
    kind: proxyUrlKind,
    fallbackMeans: "none; requests are sent directly",
    secret: true,
    meaning:
      "An HTTP proxy for requests to channels. Destinations are checked before a request is sent to the proxy, so this process must be able to resolve their host names.",
    example: "http://proxy.example.org:3128",
  }),
  telegramToken: optionalSetting({
    key: "OVERDUE_TELEGRAM_TOKEN",
    group: "Channels",
    kind: tokenKind,
    fallbackMeans: "none; Telegram channels are disabled",
    secret: true,
    meaning: "The token of the Telegram bot that sends messages. Create a bot with @BotFather.",
    example: "123456789:token-of-the-bot",
    aliases: ["TELEGRAM_TOKEN"],
  }),
  ntfyShToken: optionalSetting({
    key: "OVERDUE_NTFY_SH_TOKEN",
    group: "Channels",
    kind: tokenKind,
    fallbackMeans: "none; requests to ntfy.sh are anonymous",
    secret: true,
    meaning: "The access token for https://ntfy.sh, used by channels without their own token.",
    example: "tk_secret-of-ntfy",
    aliases: ["NTFY_SH_TOKEN"],
  }),
  pushoverToken: optionalSetting({
    key: "OVERDUE_PUSHOVER_TOKEN",
    group: "Channels",
    kind: tokenKind,
    fallbackMeans: "none; each Pushover channel needs its own",
    secret: true,
    meaning: "The API token of the Pushover application used by channels without their own token.",
    example: "azGDORePK8gMaC0QOYAMyEEuzJnyUi",
    aliases: ["PUSHOVER_API_TOKEN"],
  }),
  matrixHomeserver: optionalSetting({
    key: "OVERDUE_MATRIX_HOMESERVER",
    group: "Channels",
    kind: webAddressKind,
    fallbackMeans: "none; each Matrix channel needs its own",
    secret: false,
    meaning: "The homeserver URL of the Matrix account used by channels without their own account.",
    example: "https://matrix.example.org",
    aliases: ["MATRIX_HOMESERVER"],
  }),
  matrixToken: optionalSetting({
    key: "OVERDUE_MATRIX_TOKEN",
    group: "Channels",
    kind: tokenKind,
    fallbackMeans: "none; each Matrix channel needs its own",
    secret: true,
    meaning: "The access token of the Matrix account used by channels without their own account.",
    example: "syt_token-of-the-account",
    aliases: ["MATRIX_ACCESS_TOKEN"],
  }),
  twilioAccountSid: optionalSetting({
    key: "OVERDUE_TWILIO_ACCOUNT_SID",
    group: "Channels",
    kind: tokenKind,
    fallbackMeans: "none; text messages, phone calls, and WhatsApp are disabled",
    secret: false,
    meaning:
      "The Account SID of the Twilio account used for text messages, phone calls, and WhatsApp messages.",
    example: "ACaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    aliases: ["TWILIO_ACCOUNT"],
  }),
  twilioAuthToken: optionalSetting({
    key: "OVERDUE_TWILIO_AUTH_TOKEN",
    group: "Channels",
    kind: tokenKind,
    fallbackMeans: "none; text messages, phone calls, and WhatsApp are disabled",
    secret: true,
    meaning: "The Auth Token of the Twilio account. It is also used to verify status callbacks from Twilio.",
    example: "token-of-the-account",
    aliases: ["TWILIO_AUTH"],
  }),
  twilioFrom: optionalSetting({
    key: "OVERDUE_TWILIO_FROM",
    group: "Channels",
    kind: textKind({ lengthMin: 1 }),
    fallbackMeans: "none; phone calls are disabled",
    secret: false,
    meaning: "The Twilio phone number used to send text messages and make phone calls.",
    example: "+14155550100",
    aliases: ["TWILIO_FROM"],
  }),
  twilioMessagingServiceSid: optionalSetting({
    key: "OVERDUE_TWILIO_MESSAGING_SERVICE_SID",
    group: "Channels",
    kind: tokenKind,
    fallbackMeans: "none; text messages are sent from OVERDUE_TWILIO_FROM",
    secret: false,
    meaning: "The SID of a Twilio Messaging Service used to send text and WhatsApp messages.",
    example: "MGaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    aliases: ["TWILIO_MESSAGING_SERVICE_SID"],
  }),
  twilioWhatsappFrom: optionalSetting({
    key: "OVERDUE_TWILIO_WHATSAPP_FROM",
    group: "Channels",
    kind: textKind({ lengthMin: 1 }),
    fallbackMeans: "none; WhatsApp is disabled",
    secret: false,
    meaning: "The Twilio phone number used to send WhatsApp messages.",
    example: "+14155550100",
  }),
  twilioWhatsappDownSid: optionalSetting({
    key: "OVERDUE_TWILIO_WHATSAPP_DOWN_SID",
    group: "Channels",
    kind: tokenKind,
    fallbackMeans: "none; WhatsApp is disabled",
    secret: false,
    meaning:
      "The Content SID of the approved WhatsApp template for checks that go down. Variable 1 of the template is the name of the check.",
    example: "HXaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    aliases: ["WHATSAPP_DOWN_CONTENT_SID"],
  }),
  twilioWhatsappUpSid: optionalSetting({
    key: "OVERDUE_TWILIO_WHATSAPP_UP_SID",
    group: "Channels",
    kind: tokenKind,
    fallbackMeans: "none; WhatsApp is disabled",
    secret: false,
    meaning:
      "The Content SID of the approved WhatsApp template for checks that come back up. Variable 1 of the template is the name of the check.",
    example: "HXbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
    aliases: ["WHATSAPP_UP_CONTENT_SID"],
  }),
  messageLimit: setting({
    key: "OVERDUE_SMS_LIMIT",
    group: "Channels",
    kind: integerKind({ min: 0, max: MONTHLY_LIMIT_MAX, unit: "messages" }),
    fallback: DEFAULT_MESSAGES_PER_MONTH,
    secret: false,
    meaning:
      "The maximum number of text and WhatsApp messages per account and calendar month (UTC). Further messages are not sent until the next month.",
    example: "500",
  }),
  callLimit: setting({
    key: "OVERDUE_CALL_LIMIT",
    group: "Channels",
    kind: integerKind({ min: 0, max: MONTHLY_LIMIT_MAX, unit: "calls" }),
    fallback: DEFAULT_CALLS_PER_MONTH,
    secret: false,
    meaning:
      "The maximum number of phone calls per account and calendar month (UTC). Further calls are not made until the next month.",
    example: "100",
  }),
  signalUrl: optionalSetting({
    key: "OVERDUE_SIGNAL_CLI_URL",
    group: "Channels",
    kind: webAddressKind,
    fallbackMeans: "none; Signal is disabled",
    secret: false,
    meaning:
      "The URL of a signal-cli daemon started with --http. It may be on a private network, even without OVERDUE_CHANNELS_ALLOW_PRIVATE_IPS.",
    example: "http://127.0.0.1:8080",
  }),
  signalAccount: optionalSetting({
    key: "OVERDUE_SIGNAL_CLI_ACCOUNT",
    group: "Channels",
    kind: textKind({ lengthMin: 1 }),
    fallbackMeans: "the only account of signal-cli",
    secret: false,
    meaning:
      "The phone number of the Signal account that sends messages. Required if signal-cli has several accounts.",
    example: "+14155550100",
  }),
  appriseUrl: optionalSetting({
    key: "OVERDUE_APPRISE_URL",
    group: "Channels",
    kind: webAddressKind,
    fallbackMeans: "none; Apprise is disabled",
    secret: false,
    meaning:
      "The URL of an Apprise API server. It may be on a private network, even without OVERDUE_CHANNELS_ALLOW_PRIVATE_IPS.",
    example: "http://127.0.0.1:8000",
  }),
  appriseAllowUrls: setting({
    key: "OVERDUE_APPRISE_ALLOW_URLS",
    group: "Channels",
    kind: booleanKind,
    fallback: false,
    secret: false,
    meaning:
      "Allow Apprise channels to use any Apprise URL instead of a configuration stored on the Apprise API server. Anyone who can create a channel can then make that server send requests to any host it can reach.",
    example: "true",
  }),
  shellFolder: optionalSetting({
    key: "OVERDUE_SHELL_FOLDER",
    group: "Channels",
    kind: textKind({ lengthMin: 1 }),
    fallbackMeans: "none; channels cannot run programs",
    secret: false,
    meaning:
      "A folder with programs that channels can run. A channel selects a program by its file name. Anyone who can create a channel can run these programs.",
    example: "/etc/overdue/programs",
  }),
} as const;

// Monitoring of this server.

const WATCHING_SETTINGS = {
  heartbeatUrl: optionalSetting({
    key: "OVERDUE_HEARTBEAT_URL",
    group: "Monitoring Overdue",
    kind: calledAddressKind,
    fallbackMeans: "none; no external service detects when this server stops working",
    secret: true,
    meaning:
      "A URL that the sweeper requests every minute while deadlines are checked, pings are recorded, and notifications are sent. Use the ping URL of a check on another Overdue server or another monitoring service. It may be on a private network. Requests go through OVERDUE_OUTGOING_PROXY if it is set.",
    example: "https://ping.example.org/the-id-of-a-check-there",
  }),
  adminChannel: optionalSetting({
    key: "OVERDUE_ADMIN_CHANNEL",
    group: "Monitoring Overdue",
    kind: uuidKind,
    fallbackMeans: "none; health problems appear only in the log, the metrics, and the dashboard",
    secret: false,
    meaning:
      "The UUID of a channel, in any project, that is notified when the server has a health problem, and again when the problem is resolved.",
    example: "6f1c9a52-8d0b-4f3e-9a57-2c4d6e8f0a1b",
    aliases: ["OVERDUE_OPERATOR_CHANNEL"],
  }),
} as const;

// Retention.

/** Ten years. */
const RETENTION_DAYS_MAX = 3650;
/** Emails to a channel owner are limited per week by the stored ones; a month leaves room for the reader of the log. */
const DELIVERY_DAYS_MIN = 30;
const AUDIT_DAYS_MIN = 30;

const RETENTION_SETTINGS = {
  pingRetentionDays: optionalSetting({
    key: "OVERDUE_PING_RETENTION_DAYS",
    group: "Retention",
    kind: integerKind({ min: 1, max: RETENTION_DAYS_MAX, unit: "days" }),
    fallbackMeans: "none; only OVERDUE_PING_LOG_LIMIT applies",
    secret: false,
    meaning:
      "Delete pings and their bodies after this many days, in addition to OVERDUE_PING_LOG_LIMIT. The time, outcome and duration of a run stay in the run history for 93 days.",
    example: "30",
  }),
  flipRetentionDays: setting({
    key: "OVERDUE_FLIP_RETENTION_DAYS",
    group: "Retention",
    kind: integerKind({ min: HISTORY_DAYS_MIN, max: RETENTION_DAYS_MAX, unit: "days" }),
    fallback: FLIP_DAYS,
    secret: false,
    meaning:
      "Delete status changes (flips) after this many days. Downtime is computed from the last three months, so the minimum is 93.",
    example: "365",
  }),
  eventRetentionDays: setting({
    key: "OVERDUE_EVENT_RETENTION_DAYS",
    group: "Retention",
    kind: integerKind({ min: HISTORY_DAYS_MIN, max: RETENTION_DAYS_MAX, unit: "days" }),
    fallback: EVENT_DAYS,
    secret: false,
    meaning:
      "Delete check events (pauses, resumes, edits, monitoring gaps) and revoked API keys after this many days. The check page shows monitoring gaps of the last three months, so the minimum is 93.",
    example: "365",
  }),
  deliveryRetentionDays: setting({
    key: "OVERDUE_DELIVERY_RETENTION_DAYS",
    group: "Retention",
    kind: integerKind({ min: DELIVERY_DAYS_MIN, max: RETENTION_DAYS_MAX, unit: "days" }),
    fallback: DELIVERY_DAYS,
    secret: false,
    meaning:
      "Delete notifications and account emails that were sent or have failed after this many days. At most OVERDUE_FLIP_RETENTION_DAYS, because a notification refers to a status change.",
    example: "60",
  }),
  auditRetentionDays: setting({
    key: "OVERDUE_AUDIT_RETENTION_DAYS",
    group: "Retention",
    kind: integerKind({ min: AUDIT_DAYS_MIN, max: RETENTION_DAYS_MAX, unit: "days" }),
    fallback: AUDIT_DAYS,
    secret: false,
    meaning: "Delete audit log entries after this many days.",
    example: "730",
  }),
} as const;

const ROLES_MAX = 20;
/** Shorter secrets can be guessed from a stolen key hash. */
const API_REQUESTS_PER_MINUTE_MAX = 10_000_000;
const POOL_SIZE_MIN = 2;
const POOL_SIZE_MAX = 200;
/** Longer than any supervisor waits. */
const WAIT_SECONDS_MAX = 600;

/** The DB_* settings of the reference server, combined into one URL. */
const databaseParts: Composition = {
  names: ["DB_HOST", "DB_PORT", "DB_NAME", "DB_USER", "DB_PASSWORD", "DB_SSLMODE"],
  secretNames: ["DB_PASSWORD"],
  build: (part) => {
    const host = part("DB_HOST");
    const name = part("DB_NAME");
    if (host === null && name === null) return null;
    // Using the reference server's default here could open its database by mistake.
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
      "The size of the connection pool of each process. The roles ping and smtp together open up to 8 more connections, and the role sweeper up to 3. With the default, a process that runs all roles opens up to 21 connections.",
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
  pingAliases: optionalSetting({
    key: "OVERDUE_PING_ALIASES",
    group: "Network",
    kind: listKind(webAddressKind, { countMax: PING_ALIASES_MAX }),
    fallbackMeans: "none",
    secret: false,
    meaning:
      "Further URLs at which pings are accepted, as at OVERDUE_PING_URL, for example the ping URL of the server that you moved from. They are never shown.",
    example: "https://hc-ping.example.org, https://old.example.org/ping",
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
      "The secret used to hash API keys. The first migration generates one and stores it in the database; set this to store it elsewhere. To change it, set OVERDUE_SECRET_KEY_PREVIOUS to the old one; otherwise all API keys, badge URLs, links in emails, authenticator apps, and browser notifications become invalid. Generate one with `openssl rand -hex 32`.",
    // Too short on purpose: a working example would be used as it is.
    example: "output-of-openssl-rand",
    aliases: ["SECRET_KEY"],
  }),
  secretKeyPrevious: optionalSetting({
    key: "OVERDUE_SECRET_KEY_PREVIOUS",
    group: "Keys and limits",
    kind: textKind({ lengthMin: 1 }),
    fallbackMeans: "none",
    secret: true,
    meaning:
      "A second secret key: the earlier OVERDUE_SECRET_KEY after you changed it, or the SECRET_KEY of the Healthchecks server that you imported. API keys and badge URLs made with it keep working. If it has at least 32 characters, links in emails and authenticator apps do, too. `overdue doctor` reports when it is no longer needed.",
    example: "the-earlier-secret-key",
  }),
  checkLimit: optionalSetting({
    key: "OVERDUE_CHECK_LIMIT",
    group: "Keys and limits",
    kind: integerKind({ min: 0, max: CHECK_LIMIT_MAX, unit: "checks" }),
    fallbackMeans: "unlimited",
    secret: false,
    meaning:
      "The maximum number of checks per account. To change it for one account, use `overdue admin account set-limit`.",
    example: "1000",
  }),
  apiRequestsPerMinute: setting({
    key: "OVERDUE_API_RATE_LIMIT",
    group: "Keys and limits",
    kind: integerKind({ min: 0, max: API_REQUESTS_PER_MINUTE_MAX, unit: "requests" }),
    fallback: DEFAULT_API_REQUESTS_PER_MINUTE,
    secret: false,
    meaning:
      "The maximum number of requests per minute that one process accepts for each API key, including metrics scrapes. Requests over the limit are answered with 429. For requests with invalid API keys, the limit per network is one tenth of this. 0 means no limit.",
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
  apiKey: optionalSetting({
    key: "OVERDUE_API_KEY",
    group: "Command line",
    kind: textKind({ lengthMin: 1 }),
    fallbackMeans: "none; required by these commands",
    secret: true,
    meaning:
      "The API key of a project, for commands that use the API of a running server, such as `overdue silence`. They connect to OVERDUE_SITE_URL. The server does not use this setting.",
    example: "api-key-of-your-project",
  }),
  queueFolder: optionalSetting({
    key: "OVERDUE_QUEUE",
    group: "Command line",
    kind: textKind({ lengthMin: 1 }),
    fallbackMeans: "/var/lib/overdue/queue for root, otherwise ~/.local/state/overdue/queue",
    secret: false,
    meaning:
      "Where `overdue exec` and `overdue ping` keep reports that could not be sent; `off` to keep none. The server does not use this setting.",
    example: "/var/spool/overdue",
  }),
  profile: optionalSetting({
    key: "OVERDUE_PROFILE",
    group: "Command line",
    kind: textKind({ lengthMin: 1 }),
    fallbackMeans: "the default profile",
    secret: false,
    meaning:
      "The profile of `overdue login` that these commands use if OVERDUE_API_KEY is not set. The server does not use this setting.",
    example: "production",
  }),
  ...RETENTION_SETTINGS,
} as const;
