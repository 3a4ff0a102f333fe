// Server administration: accounts, invitations, health, retention, audit log, and the tests of the setup page.
import { type Static, Type } from "typebox";
import { CHECK_LIMIT_MAX, EMAIL_ADDRESS_LENGTH_MAX } from "../../core/limits.ts";
import { AuditPage } from "./projects.ts";
import { route } from "./route.ts";
import { Cursor, CursorQuery, nullable, Time, UuidText } from "./types.ts";

const AdminAccount = Type.Object({
  id: UuidText,
  email: Type.String(),
  name: Type.String(),
  isAdmin: Type.Boolean(),
  checkCount: Type.Integer(),
  checkLimit: nullable(Type.Integer(), "Null: unlimited."),
  hasOwnLimit: Type.Boolean({ description: "Whether the limit differs from the default of the server." }),
  createdAt: Time,
  signedInAt: nullable(Time),
  hasTotp: Type.Boolean({ description: "Whether an authenticator app is set up." }),
});
export type AdminAccount = Static<typeof AdminAccount>;

const AdminAccounts = Type.Object({
  accounts: Type.Array(AdminAccount),
  next: Cursor,
  invitesBy: Type.Enum(["mail", "link"], { description: "How invitations to the server are delivered." }),
});
export type AdminAccounts = Static<typeof AdminAccounts>;

const AdminAccountBody = Type.Object(
  {
    checkLimit: Type.Optional(
      nullable(Type.Integer({ minimum: 0, maximum: CHECK_LIMIT_MAX }), "Null: the default of the server."),
    ),
    isAdmin: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false },
);
export type AdminAccountBody = Static<typeof AdminAccountBody>;

const PartHealth = nullable(Type.Boolean());

export const ServerState = Type.Object({
  version: Type.String(),
  now: Time,
  intakes: Type.Array(
    Type.Object({
      name: Type.String(),
      startedAt: Time,
      heartbeatAt: Time,
      isLost: Type.Boolean({
        description: "Whether the heartbeat is overdue. The process may still hold pings that it accepted.",
      }),
      spoolEmpty: Type.Boolean(),
      spoolFill: Type.Number({ description: "0 to 1." }),
      pingsPerMinute: nullable(Type.Integer(), "In the minute before the last heartbeat. Null: unknown."),
    }),
    { description: "Processes that receive pings." },
  ),
  pingsPerMinute: nullable(Type.Integer(), "Null: unknown, because pings go through a log."),
  log: nullable(
    Type.Object({
      partitions: Type.Integer(),
      stopped: Type.Integer({
        description: "Partitions in which no ping is applied, because some were lost.",
      }),
      recorders: Type.Integer({ description: "Processes that apply pings." }),
      behindMs: Type.Integer({
        description: "Age of the oldest ping that may not be applied yet; a few seconds are normal.",
      }),
    }),
    "Kafka as a log. Null: not in use.",
  ),
  sweeperLagMs: Type.Integer({ description: "Age of the oldest unprocessed deadline. 0: none." }),
  oldestUnsentAt: nullable(Time, "Since when the oldest notification has been due. Null: none is due."),
  unsentCount: Type.Integer({ description: "Notifications that are due or will be retried." }),
  oldestEmailAt: nullable(Time, "Since when the oldest account email has been queued. Null: none is."),
  databaseBytes: Type.Integer(),
  migrations: Type.Array(Type.Object({ name: Type.String(), appliedAt: nullable(Time) })),
  problems: Type.Array(Type.Object({ kind: Type.String(), subject: Type.String(), since: Time })),
  quarantined: Type.Object(
    {
      count: Type.Integer(),
      pings: Type.Array(
        Type.Object({
          id: Type.Integer(),
          receivedAt: Time,
          check: nullable(Type.String(), "Name or UUID of the check."),
          reason: Type.String(),
        }),
        { description: "The newest ones." },
      ),
    },
    { description: "Pings that could not be recorded." },
  ),
  health: Type.Object(
    {
      receiving: PartHealth,
      monitoring: PartHealth,
      notifications: PartHealth,
      email: PartHealth,
      database: PartHealth,
    },
    { description: "Whether each part of the server works. Null: unknown, or not in use." },
  ),
  restore: nullable(
    Type.Object({
      state: Type.Enum(["normal", "checking", "safe"], {
        description: "In any other state than `normal`, no notifications are sent.",
      }),
      since: Time,
      reason: nullable(Type.String()),
    }),
    "Whether the database was restored or copied from another server.",
  ),
  fireDrill: nullable(
    Type.Object({
      project: Type.Object({ id: UuidText, name: Type.String() }),
      endedAt: Time,
      outcome: Type.Enum(["ok", "failed", "held", "nobody", "timedOut"]),
      isSent: Type.Boolean(),
      durationMs: nullable(Type.Integer(), "From the missed deadline to the last channel."),
      channelCount: Type.Integer(),
    }),
    "The last fire drill of any project. Null: none has ended.",
  ),
  problemCount: Type.Integer({ description: "How many problems need attention." }),
  sendsMail: Type.Boolean(),
  registrationOpen: Type.Boolean(),
  signIn: Type.Object({
    oidcIssuer: nullable(Type.String()),
    proxyHeader: nullable(Type.String()),
  }),
});
export type ServerState = Static<typeof ServerState>;

const QuarantineRetried = Type.Object({
  recorded: Type.Integer(),
  dropped: Type.Integer({ description: "Removed because the check no longer exists." }),
  failed: Type.Integer({ description: "Still quarantined." }),
});
export type QuarantineRetried = Static<typeof QuarantineRetried>;

const RetentionLimit = Type.Union([
  Type.Object({ by: Type.Literal("days"), days: Type.Integer() }),
  Type.Object({
    by: Type.Literal("perCheck"),
    count: Type.Integer(),
    days: nullable(Type.Integer(), "The maximum age. Null: none."),
  }),
  Type.Object({ by: Type.Literal("deletion"), days: Type.Integer() }),
]);
export type RetentionLimit = Static<typeof RetentionLimit>;

const StoredData = Type.Object({
  data: Type.Enum([
    "pings",
    "runs",
    "flips",
    "events",
    "messages",
    "auditEntries",
    "signIns",
    "checks",
    "other",
  ]),
  limit: nullable(RetentionLimit, "By age, by number per check, or by time since deletion. Null: varies."),
  bytes: Type.Integer({ description: "Size in the database, including indexes." }),
  rowCount: nullable(Type.Integer(), "Approximate."),
});
export type StoredData = Static<typeof StoredData>;

const Retention = Type.Object({
  retention: Type.Array(StoredData, { description: "Largest first." }),
  hasObjectStore: Type.Boolean({
    description: "Whether large ping bodies are in an object store. They are not included.",
  }),
});
export type Retention = Static<typeof Retention>;

// Setup: the public URL and email.

const SITE_URL_LENGTH_MAX = 500;

const Setup = Type.Object({
  site: Type.Object({ url: Type.String(), pingUrl: Type.String(), port: Type.Integer() }),
  mail: Type.Object({
    isConfigured: Type.Boolean(),
    host: nullable(Type.String()),
    from: nullable(Type.String()),
  }),
});
export type Setup = Static<typeof Setup>;

const SetupProblem = Type.Object({ text: Type.String(), advice: Type.String() });
export type SetupProblem = Static<typeof SetupProblem>;

const AddressReport = Type.Object({
  used: Type.String(),
  configured: Type.String(),
  matches: Type.Boolean(),
  headers: Type.Array(
    Type.Object({ name: Type.String(), value: nullable(Type.String(), "Null: not received.") }),
    { description: "Headers of this request that browsers send and proxies add." },
  ),
  remoteAddr: Type.String({ description: "Your address, or the one of a proxy that is not trusted." }),
  problems: Type.Array(SetupProblem),
});
export type AddressReport = Static<typeof AddressReport>;

const AddressTest = Type.Object({
  url: Type.String(),
  status: nullable(Type.Integer(), "HTTP status. Null: no response."),
  tookMs: Type.Integer(),
  isOurs: Type.Boolean({ description: "Whether this server answered." }),
  lost: Type.Array(Type.String(), { description: "Headers that were removed on the way." }),
  added: Type.Array(Type.Object({ name: Type.String(), value: Type.String() }), {
    description: "Headers that were added on the way.",
  }),
  problems: Type.Array(SetupProblem),
});
export type AddressTest = Static<typeof AddressTest>;

const MailTest = Type.Object({
  isSent: Type.Boolean(),
  text: Type.String({ description: "The result as a sentence." }),
  code: nullable(Type.Integer(), "SMTP status code. Null: no reply."),
  reply: nullable(Type.String(), "The reply of the mail server."),
  tookMs: Type.Integer(),
});
export type MailTest = Static<typeof MailTest>;

/** GET /web/set-up/echo: the headers of a request as the server received them. */
export type Echo = {
  overdue: string;
  headers: Record<string, string>;
  /** Whether the request names its client, and the proxy that says so is not trusted. */
  isProxyUntrusted: boolean;
};

const admin = { access: "admin", keys: null, tag: "Admin" } as const;

export const adminRoutes = {
  listAccounts: route({
    ...admin,
    method: "GET",
    path: "/admin/accounts",
    summary: "List accounts",
    query: CursorQuery,
    success: { status: 200, description: "A page of accounts.", schema: AdminAccounts },
  }),
  updateAccountAsAdmin: route({
    ...admin,
    method: "PATCH",
    path: "/admin/accounts/{account}",
    summary: "Update the check limit and admin rights of an account",
    reauth: true,
    body: AdminAccountBody,
    bodyExample: { checkLimit: 500 },
    success: { status: 204, description: "The account was updated.", schema: null },
    errors: [409],
  }),
  inviteAccount: route({
    ...admin,
    method: "POST",
    path: "/admin/invitations",
    summary: "Invite someone to the server",
    description: "The invited person gets an account with its own project.",
    body: Type.Object(
      { email: Type.String({ maxLength: EMAIL_ADDRESS_LENGTH_MAX }) },
      { additionalProperties: false },
    ),
    bodyExample: { email: "ada@example.org" },
    success: {
      status: 201,
      description: "The invitation was created.",
      schema: Type.Object({
        link: nullable(Type.String(), "The invitation link to pass on, if the server does not send email."),
      }),
    },
    errors: [409],
  }),
  getServerState: route({
    ...admin,
    method: "GET",
    path: "/admin/state",
    summary: "Get the state of the server",
    success: { status: 200, description: "Health, queues, and versions.", schema: ServerState },
  }),
  confirmRestore: route({
    ...admin,
    method: "POST",
    path: "/admin/confirm-restore",
    summary: "Confirm that a restored server is in production",
    description: "Ends safe mode: notifications are sent again.",
    success: { status: 204, description: "Notifications are sent again.", schema: null },
    errors: [409],
  }),
  retryQuarantine: route({
    ...admin,
    method: "POST",
    path: "/admin/quarantine/retry",
    summary: "Retry quarantined pings",
    success: { status: 200, description: "The number of pings by result.", schema: QuarantineRetried },
  }),
  getRetention: route({
    ...admin,
    method: "GET",
    path: "/admin/retention",
    summary: "Get the size and retention of stored data",
    success: { status: 200, description: "Stored data by kind.", schema: Retention },
  }),
  listServerAudit: route({
    ...admin,
    method: "GET",
    path: "/admin/audit",
    summary: "List the audit log of the server",
    description: "Lists changes outside of projects, newest first.",
    query: CursorQuery,
    success: { status: 200, description: "A page of entries.", schema: AuditPage },
  }),
  getSetup: route({
    ...admin,
    method: "GET",
    path: "/admin/setup",
    summary: "Get the configured URLs and mail server",
    success: { status: 200, description: "The configuration.", schema: Setup },
  }),
  checkAddress: route({
    ...admin,
    method: "GET",
    path: "/admin/setup/address",
    summary: "Compare the URL you use with the public URL",
    description: "Shows which headers of your request reached the server, to debug a reverse proxy.",
    query: Type.Object(
      {
        at: Type.String({
          minLength: 1,
          maxLength: SITE_URL_LENGTH_MAX,
          description: "The URL of the server that you use.",
        }),
      },
      { additionalProperties: false },
    ),
    success: { status: 200, description: "The result.", schema: AddressReport },
  }),
  testAddress: route({
    ...admin,
    method: "POST",
    path: "/admin/setup/address-test",
    summary: "Send a request from the server to its public URL",
    success: { status: 200, description: "The result.", schema: AddressTest },
  }),
  testMail: route({
    ...admin,
    method: "POST",
    path: "/admin/setup/mail-test",
    summary: "Send a test email",
    body: Type.Object(
      { to: Type.String({ minLength: 3, maxLength: EMAIL_ADDRESS_LENGTH_MAX }) },
      { additionalProperties: false },
    ),
    bodyExample: { to: "ada@example.org" },
    success: { status: 200, description: "The reply of the mail server.", schema: MailTest },
  }),
} as const;
