// What an installation of another product contains, as its reader returns it: names and types are ours, but nothing
// has been checked against our rules yet. src/core/import.ts decides what becomes of it.
import type { Instant } from "./instant.ts";

/** A key in plain text, or the digest that the source stores. */
export type SourceKey = { text: string } | { prefix: string; digestHex: string };

export type SourceAccount = {
  email: string;
  name: string;
  createdAt: Instant | null;
  isAdmin: boolean;
  /** As the source stores it, with the name of its algorithm; null: none can be used. */
  passwordHash: string | null;
  checkLimit: number | null;
  pingLogLimit: number | null;
  tz: string | null;
  reports: string | null;
  nagPeriodS: number | null;
  /** The shared secret of an authenticator app, in plain text (Base32). */
  totpSecret: string | null;
};

/** The role as the source stores it: "r", "w" or "m". */
export type SourceMember = { email: string; role: string };

export type SourceProject = {
  /** How the source refers to it when its checks are read. */
  ref: string;
  /** Null: the source does not tell. */
  uuid: string | null;
  name: string;
  badgeKey: string | null;
  pingKey: string | null;
  keys: { readWrite: SourceKey | null; readOnly: SourceKey | null };
  ownerEmail: string | null;
  members: readonly SourceMember[];
  channels: readonly SourceChannel[];
  checkCount: number;
};

export type SourceChannel = {
  uuid: string;
  kind: string;
  name: string;
  /** The configuration, as JSON or as bare text; null: the source does not tell. */
  value: string | null;
  isEmailVerified: boolean;
  isDisabled: boolean;
  createdAt: Instant | null;
};

export type SourceCheck = {
  uuid: string;
  badgeKey: string | null;
  name: string;
  slug: string;
  tags: string;
  desc: string;
  kind: "simple" | "cron" | "oncalendar";
  timeoutS: number;
  graceS: number;
  schedule: string;
  tz: string;
  manualResume: boolean;
  methods: string;
  subject: { start: string; success: string; fail: string };
  filters: { subject: boolean; body: boolean; httpBody: boolean; defaultFail: boolean };
  createdAt: Instant | null;
  status: string;
  pingCount: number;
  lastPingAt: Instant | null;
  lastStartAt: Instant | null;
  lastStartRid: string | null;
  /** With a fraction if the source has one; an API shows whole seconds. */
  lastDurationS: number | null;
  alertAfterAt: Instant | null;
  channelUuids: readonly string[];
};

export type SourcePing = {
  number: number;
  at: Instant;
  /** "success", "start", "fail", "log" or "ign". */
  kind: string;
  scheme: string;
  method: string;
  remoteAddress: string | null;
  userAgent: string;
  exitStatus: number | null;
  rid: string | null;
  body: Uint8Array | null;
  /** The size of a body in an object store of the source that could not be read; null: none. */
  missingBodyBytes: number | null;
};

/** `from` and `reason` are empty if the source does not tell. */
export type SourceFlip = { at: Instant; from: string; to: string; reason: string };

/** An installation that is being read. Pages are bounded; a reader never holds all pings of a project. */
export type ImportSource = {
  /** For the report: "Healthchecks, PostgreSQL database hc on db.example.org", without secrets. */
  name: string;
  /**
   * What this source cannot tell, and which values are damaged, as sentences for the report. Grows while it is read,
   * so look at it at the end as well.
   */
  limitations: readonly string[];
  accounts(): Promise<SourceAccount[]>;
  projects(): Promise<SourceProject[]>;
  /** In pages, in the order of their creation. */
  checks(project: SourceProject): AsyncIterable<SourceCheck[]>;
  /** The logged pings of a check with a higher number, oldest first, in pages. */
  pings(check: SourceCheck, after: number): AsyncIterable<SourcePing[]>;
  flips(check: SourceCheck): Promise<SourceFlip[]>;
  close(): Promise<void>;
};
