// Sends letters: claims what is due, reads what it says, and settles how it went. No transaction is open while a mail
// is on its way; whoever dies over it leaves a claim that runs out.
import { randomUUID } from "node:crypto";
import { nextTryAt } from "../../../core/alerts/backoff.ts";
import { LETTER_DAYS_MAX, LETTER_LEASE_MS, type LetterFacts } from "../../../core/alerts/letters.ts";
import { zoneOfMails } from "../../../core/alerts/local-time.ts";
import type { ReportFacts } from "../../../core/alerts/reports.ts";
import { DAY_MS, type Instant } from "../../../core/instant.ts";
import { DELIVERY_ERROR_LENGTH_MAX } from "../../../core/limits.ts";
import { findChannelsByIds } from "../../../store/alerts/channels.ts";
import { claimDueLetters, type Letter, settleClaimedLetter } from "../../../store/alerts/letters.ts";
import { noteChannelError } from "../../../store/alerts/mail-channels.ts";
import { findPreferences } from "../../../store/alerts/preferences.ts";
import type { Database, Db } from "../../../store/db.ts";
import { findAccountById, findProjectOwner } from "../../../store/accounts/projects.ts";
import { inTransaction } from "../../../store/transaction.ts";
import { readAccountLetter } from "../../accounts/mail.ts";
import { stopMails } from "./preferences.ts";
import { readReminder, readReport } from "./reports.ts";
import { isVerified, mailAddressOf } from "./verification.ts";

export type ClaimedLetter = Letter & { claimedBy: string };

/** A letter as it is to be sent. */
export type WrittenLetter = {
  to: string;
  /** The account that it is for, where it can be unsubscribed from. */
  accountUuid: string | null;
  facts: LetterFacts;
};

/** How sending went. */
export type LetterResult = { kind: "sent" } | { kind: "failed"; permanent: boolean; reason: string };

/** Letters that are due, oldest first; nobody else sends them for a while. */
export function claimLetters(
  database: Database,
  { now, limit }: { now: Instant; limit: number },
): Promise<ClaimedLetter[]> {
  const claimedBy = randomUUID();
  return inTransaction(database, async (tx) => {
    const letters = await claimDueLetters(tx, { now, limit, claimedBy, untilAt: now + LETTER_LEASE_MS });
    return letters.map((letter) => ({ ...letter, claimedBy }));
  });
}

/** What a letter says, as things are now, and to whom; null when there is nothing to say any more. */
export async function readLetter(db: Db, letter: Letter, now: Instant): Promise<WrittenLetter | null> {
  if (now - letter.createdAt > LETTER_DAYS_MAX * DAY_MS) return null;
  if (letter.kind === "report" || letter.kind === "reminder") {
    return letter.accountId === null
      ? null
      : readPersonal(db, { ...letter, accountId: letter.accountId }, now);
  }
  const aboutAccount = await readAccountLetter(db, letter, now);
  if (aboutAccount !== null) return { ...aboutAccount, accountUuid: null };
  const [channel] = await findChannelsByIds(db, letter.channelId === null ? [] : [letter.channelId]);
  if (channel === undefined) return null;
  const { uuid, kind, name, projectName, projectId } = channel;
  const address = mailAddressOf(channel) ?? "";
  const about = { channel: { uuid, kind, name }, projectName };
  if (letter.kind === "verification") {
    if (isVerified(channel) || letter.about["address"] !== address) return null;
    return { to: address, accountUuid: null, facts: { kind: "verification", ...about } };
  }
  const owner = await findProjectOwner(db, projectId);
  if (owner === null) return null;
  if (letter.kind === "disabled") {
    const reason = letter.about["reason"];
    const facts = { kind: letter.kind, ...about, reason: typeof reason === "string" ? reason : "" };
    return { to: owner.email, accountUuid: null, facts };
  }
  if (isVerified(channel)) return null;
  return { to: owner.email, accountUuid: null, facts: { kind: "unverified", ...about, address } };
}

async function readPersonal(
  db: Db,
  { kind, accountId, about }: Letter & { accountId: number },
  now: Instant,
): Promise<WrittenLetter | null> {
  const account = await findAccountById(db, accountId);
  if (account === null) return null;
  const { tz, reports, reminders } = await findPreferences(db, accountId);
  const person = { to: account.email, accountUuid: account.uuid };
  if (kind === "reminder") {
    const reminder = await readReminder(db, { accountId, zone: zoneOfMails(tz) });
    if (reminders === "off" || reminder.downCount === 0) return null;
    return { ...person, facts: { kind, reminder } };
  }
  if (reports === "off") return null;
  // Written by us, in this shape.
  const given = about as Pick<ReportFacts, "length" | "periods" | "zone">;
  const report = await readReport(db, { ...given, accountId, now });
  return { ...person, facts: { kind: "report", report } };
}

/**
 * Settles a letter that was sent, failed, or (null) had nothing to say any more. An address that is refused for good
 * gets no more reports; of a question, whoever owns the channel sees why there is no answer.
 */
export async function settleLetter(
  database: Database,
  letter: ClaimedLetter,
  { result, now }: { result: LetterResult | null; now: Instant },
): Promise<void> {
  const { id: letterId, claimedBy, attemptCount: attempt, createdAt } = letter;
  const failed = result?.kind === "failed" ? result : null;
  const reason = failed?.reason.slice(0, DELIVERY_ERROR_LENGTH_MAX) ?? null;
  const retryAt =
    failed === null || failed.permanent ? null : nextTryAt({ attempt, createdAt, now, retryAfterMs: null });
  const state = result?.kind === "sent" ? "sent" : retryAt === null ? "dead" : "pending";
  const end = { letterId, claimedBy, state, nextTryAt: retryAt, at: now } as const;
  await inTransaction(database, async (tx) => {
    const isMine = await settleClaimedLetter(tx, { ...end, reason: result === null ? MOOT : reason });
    if (!isMine || failed?.permanent !== true) return;
    if (letter.accountId !== null) await stopMails(tx, letter.accountId);
    else if (letter.channelId !== null && letter.kind === "verification") {
      await noteChannelError(tx, { channelId: letter.channelId, error: reason ?? "" });
    }
  });
}

const MOOT = "No longer needed";
