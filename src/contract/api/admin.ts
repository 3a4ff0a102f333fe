// Requests and responses of the Server admin page. Instants are epoch milliseconds.
import { type Static, Type } from "typebox";
import type { InvitationMethod } from "../../core/access.ts";
import type { ServiceState } from "../../core/database-identity.ts";
import { CHECK_LIMIT_MAX, EMAIL_ADDRESS_LENGTH_MAX } from "../../core/limits.ts";
import type { Health } from "../../core/server-health.ts";

/** GET /web/api/admin/accounts?after= (operator) */
export type AdminAccounts = {
  accounts: AdminAccount[];
  next: number | null;
  /** How somebody is invited into the installation. */
  invitesBy: InvitationMethod;
};

export type AdminAccount = {
  uuid: string;
  email: string;
  name: string;
  isOperator: boolean;
  checkCount: number;
  /** Null: unlimited. */
  checkLimit: number | null;
  hasOwnLimit: boolean;
  createdAt: number;
  signedInAt: number | null;
  hasTotp: boolean;
};

export const AdminAccountsQuery = Type.Object(
  { after: Type.Optional(Type.String({ pattern: "^[0-9]{1,15}$" })) },
  { additionalProperties: false },
);

/** PATCH /web/api/admin/accounts/:account (operator, reauth) → { ok: true } */
export const AdminAccountBody = Type.Object(
  {
    checkLimit: Type.Optional(
      Type.Union([Type.Integer({ minimum: 0, maximum: CHECK_LIMIT_MAX }), Type.Null()]),
    ),
    isOperator: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false },
);
export type AdminAccountBody = Static<typeof AdminAccountBody>;

/** POST /web/api/admin/invitations { email } (operator) → { link: string | null }; a link where no mail is sent. */
export const AdminInvitationBody = Type.Object(
  { email: Type.String({ maxLength: EMAIL_ADDRESS_LENGTH_MAX }) },
  { additionalProperties: false },
);
export type AdminInvitationBody = Static<typeof AdminInvitationBody>;

// GET /web/api/admin/audit?before= (operator) → AuditPage of project-settings.ts: what is about no project.

// POST /web/api/admin/confirm-restore (operator) → { ok: true }: this server is in service, and sends again.

/** GET /web/api/admin/state (operator) */
export type AdminState = {
  version: string;
  now: number;
  intakes: {
    name: string;
    startedAt: number;
    beatAt: number;
    /** Its lease has run out: signals that it took may still be with it. */
    isLost: boolean;
    spoolEmpty: boolean;
    /** 0 to 1. */
    spoolFill: number;
    /** Signals of the minute before it was last heard of; null: it does not say. */
    signalsPerMinute: number | null;
  }[];
  /** Of all that are heard of. */
  signalsPerMinute: number;
  /** How far behind the oldest deadline is that could have been judged; 0: none waits. */
  sweeperLagMs: number;
  /** Since when the oldest message waits that is due; null: none does. */
  oldestUnsentAt: number | null;
  unsentCount: number;
  oldestLetterAt: number | null;
  /** What the database takes on its disk. */
  databaseBytes: number;
  migrations: { name: string; appliedAt: number | null }[];
  /** Everything that is the matter now, told already or not. */
  troubles: { trouble: string; subject: string; sinceAt: number }[];
  /** Pings that could not be recorded; the newest of them are named. */
  quarantined: {
    count: number;
    pings: { id: number; receivedAt: number; check: string | null; reason: string }[];
  };
  /** Whether each part does what it is for, by the same rules as what is told; null: neither good nor bad. */
  health: Health;
  /** Whether this database is in service; null before the first start of a server with roles. */
  restore: { state: ServiceState; sinceAt: number; reason: string | null } | null;
  /** How many things need somebody. */
  needCount: number;
  mail: boolean;
  registrationOpen: boolean;
  signIn: { oidc: string | null; proxyHeader: string | null };
};

/** POST /web/api/admin/quarantine/retry (operator): what became of the quarantined pings. */
export type QuarantineRetried = { recorded: number; dropped: number; failed: number };

export type KeptName =
  | "pings"
  | "runs"
  | "flips"
  | "events"
  | "messages"
  | "auditEntries"
  | "signIns"
  | "checks"
  | "other";

/** What bounds something: its age, a number for each check, or nothing but that it was deleted so long ago. */
export type KeptBound =
  | { by: "days"; days: number }
  | { by: "perCheck"; count: number }
  | { by: "deletion"; days: number };

/** GET /web/api/admin/kept (operator): what is stored, for how long, and how large it is. The largest first, the rest last. */
export type AdminKept = {
  kept: {
    what: KeptName;
    /** Null: many small things, each with a bound of its own. */
    bound: KeptBound | null;
    /** In the database, with indexes. */
    bytes: number;
    /** About; null: it says nothing. */
    rowCount: number | null;
  }[];
  /** Large bodies lie in an object store, and are not counted. */
  hasObjectStore: boolean;
};
