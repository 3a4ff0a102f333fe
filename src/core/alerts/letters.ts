// What letters say: mails to people that no alert is about. Facts, and no words.
import type { Instant } from "../instant.ts";
import type { ReminderFacts } from "./reminders.ts";
import type { ReportFacts } from "./reports.ts";

/** A channel that a letter speaks of. */
export type LetterChannel = { uuid: string; kind: string; name: string };

export type LetterFacts =
  /** May we send alerts to this address? */
  | { kind: "verification"; channel: LetterChannel; projectName: string }
  /** To the owner: nobody has answered that, and alerts are lost. */
  | { kind: "unverified"; channel: LetterChannel; projectName: string; address: string }
  /** To the owner: a channel was given up, and the project has no other. */
  | { kind: "disabled"; channel: LetterChannel; projectName: string; reason: string }
  | { kind: "report"; report: ReportFacts }
  | { kind: "reminder"; reminder: ReminderFacts }
  | AccountLetterFacts;

/** A way into an account that was changed: its owner hears of it, in case it was somebody else. */
export type SecurityNews =
  | "passwordSet"
  | "passwordRemoved"
  | "passkeyAdded"
  | "passkeyRemoved"
  | "totpAdded"
  | "totpRemoved"
  | "providerAdded"
  | "providerRemoved"
  | "emailChanged";

/** Letters about accounts. Links and codes are made from the UUIDs when the mail is written. */
export type AccountLetterFacts =
  /** The link that lets somebody in, or makes an account first. */
  | { kind: "signIn"; uuid: string; expiresAt: Instant; isNew: boolean }
  /** The code that proves again who is there. */
  | { kind: "confirm"; uuid: string; expiresAt: Instant }
  /** The link that moves an account to this address. */
  | { kind: "changeEmail"; uuid: string; expiresAt: Instant }
  | {
      kind: "invitation";
      uuid: string;
      /** Null: into the installation. */
      projectName: string | null;
      invitedBy: string | null;
      expiresAt: Instant;
    }
  | { kind: "transfer"; projectUuid: string; projectName: string; from: string }
  | { kind: "security"; what: SecurityNews };

/** Saving a channel asks its address again, but not sooner than this. */
export const VERIFICATION_EVERY_MS = 3_600_000;
/** The owner of a channel that nobody agreed to hears of it this often at most. */
export const OWNER_TOLD_EVERY_DAYS = 7;
/** A letter that nobody has settled by then belongs to whoever finds it. Longer than any send. */
export const LETTER_LEASE_MS = 60_000;
/** Older than this it is no news any more; it may have waited for a mail server that was set up only now. */
export const LETTER_DAYS_MAX = 7;
