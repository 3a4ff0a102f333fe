// Emails other than alerts: sending, reports and reminders, preferences, and bounces. No transaction is open
// while an email is sent; if the sender dies, its claim expires.
import { randomUUID } from "node:crypto";
import { nextTryAt } from "../core/delivery.ts";
import { downtimesOf } from "../core/downtime.ts";
import {
  type Bounce,
  bounceVerdict,
  EMAIL_DAYS_MAX,
  EMAIL_LEASE_MS,
  type EmailFacts,
  isOurBounce,
  readBounceLocalPart,
  readReportsToken,
  type Signing,
} from "../core/email.ts";
import { AppError } from "../core/errors.ts";
import { DAY_MS, type Instant } from "../core/instant.ts";
import { DELIVERY_ERROR_LENGTH_MAX, STATUS_CHANGES_READ_MAX } from "../core/limits.ts";
import { type PeriodLength, periodsBefore, zoneOfMails } from "../core/local-time.ts";
import {
  ALIVE_DAYS,
  nextReportAt,
  planReminder,
  REMINDER_CHECKS_LISTED_MAX,
  type ReminderFacts,
  REPORT_PERIODS,
  type ReportedCheck,
  type ReportFacts,
  reportOf,
} from "../core/report.ts";
import { isZone } from "../core/schedule/zone.ts";
import { statusAt } from "../core/state.ts";
import { type Account, findAccountByEmail, findAccountById, findAccountByUuid } from "../store/accounts.ts";
import {
  findChannelById,
  findChannelByUuid,
  findChannelsByIds,
  noteChannelError,
} from "../store/channels.ts";
import type { CheckWithState } from "../store/checks.ts";
import type { Database, Db } from "../store/db.ts";
import {
  addMissingPreferences,
  claimDueEmails,
  findEmailByUuid,
  findPreferences,
  insertEmail,
  listChecksOfAccount,
  listDownChecks,
  listStatusChanges,
  lockDueReports,
  lockReminded,
  type NewEmail,
  type Preferences,
  type QueuedEmail,
  settleClaimedEmail,
  writePreferences,
  writeReminderDates,
  writeReportDates,
} from "../store/emails.ts";
import { findProjectOwner, listProjectsOfAccount } from "../store/projects.ts";
import { inTransaction, type Tx } from "../store/transaction.ts";
import { composeAccountEmail } from "./account-emails.ts";
import { normalEmail } from "./accounts.ts";
import { disableFailingChannel, isVerified, mailAddressOf } from "./channels.ts";
import { inRetriedTransaction } from "./retry.ts";

export type ClaimedEmail = QueuedEmail & { claimedBy: string };

/** A composed email. */
export type ComposedEmail = {
  to: string;
  /** The account it is for, if it can be unsubscribed from. */
  accountUuid: string | null;
  facts: EmailFacts;
};

/** The result of sending. */
export type EmailResult = { kind: "sent" } | { kind: "failed"; permanent: boolean; reason: string };

/** Claims due emails, oldest first. */
export function claimEmails(
  database: Database,
  { now, limit }: { now: Instant; limit: number },
): Promise<ClaimedEmail[]> {
  const claimedBy = randomUUID();
  return inTransaction(database, async (tx) => {
    const letters = await claimDueEmails(tx, { now, limit, claimedBy, untilAt: now + EMAIL_LEASE_MS });
    return letters.map((email) => ({ ...email, claimedBy }));
  });
}

/** Composes an email with current data; null if there is no longer anything to send. */
export async function composeEmail(db: Db, email: QueuedEmail, now: Instant): Promise<ComposedEmail | null> {
  if (now - email.createdAt > EMAIL_DAYS_MAX * DAY_MS) return null;
  if (email.kind === "report" || email.kind === "reminder") {
    return email.accountId === null ? null : readPersonal(db, { ...email, accountId: email.accountId }, now);
  }
  const aboutAccount = await composeAccountEmail(db, email, now);
  if (aboutAccount !== null) return { ...aboutAccount, accountUuid: null };
  const [channel] = await findChannelsByIds(db, email.channelId === null ? [] : [email.channelId]);
  if (channel === undefined) return null;
  const { uuid, kind, name, projectName, projectId } = channel;
  const address = mailAddressOf(channel) ?? "";
  const about = { channel: { uuid, kind, name }, projectName };
  if (email.kind === "verification") {
    if (isVerified(channel) || email.about["address"] !== address) return null;
    return { to: address, accountUuid: null, facts: { kind: "verification", ...about } };
  }
  const owner = await findProjectOwner(db, projectId);
  if (owner === null) return null;
  if (email.kind === "disabled") {
    const { reason, isLimit } = email.about;
    const said = { reason: typeof reason === "string" ? reason : "", isLimit: isLimit === true };
    const facts = { kind: email.kind, ...about, ...said };
    return { to: owner.email, accountUuid: null, facts };
  }
  if (isVerified(channel)) return null;
  return { to: owner.email, accountUuid: null, facts: { kind: "unverified", ...about, address } };
}

async function readPersonal(
  db: Db,
  { kind, accountId, about }: QueuedEmail & { accountId: number },
  now: Instant,
): Promise<ComposedEmail | null> {
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
  // Stored by us in this shape.
  const given = about as Pick<ReportFacts, "length" | "periods" | "zone">;
  const report = await readReport(db, { ...given, accountId, now });
  return { ...person, facts: { kind: "report", report } };
}

/**
 * Settles an email that was sent, failed, or (null) had nothing to send. A permanently rejected address gets
 * no more reports; a failed confirmation email is shown at the channel.
 */
export async function settleEmail(
  database: Database,
  email: ClaimedEmail,
  { result, now }: { result: EmailResult | null; now: Instant },
): Promise<void> {
  const { id: emailId, claimedBy, attemptCount: attempt, createdAt } = email;
  const failed = result?.kind === "failed" ? result : null;
  const reason = failed?.reason.slice(0, DELIVERY_ERROR_LENGTH_MAX) ?? null;
  const retryAt =
    failed === null || failed.permanent ? null : nextTryAt({ attempt, createdAt, now, retryAfterMs: null });
  const state = result?.kind === "sent" ? "sent" : retryAt === null ? "dead" : "pending";
  const end = { emailId, claimedBy, state, nextTryAt: retryAt, at: now } as const;
  await inTransaction(database, async (tx) => {
    const isMine = await settleClaimedEmail(tx, {
      ...end,
      reason: result === null ? OBSOLETE_REASON : reason,
    });
    if (!isMine || failed?.permanent !== true) return;
    if (email.accountId !== null) await stopMails(tx, email.accountId);
    else if (email.channelId !== null && email.kind === "verification") {
      await noteChannelError(tx, { channelId: email.channelId, error: reason ?? "" });
    }
  });
}

const OBSOLETE_REASON = "No longer needed";

/** Accounts planned per transaction. */
const PEOPLE_PER_TURN = 200;
/** Checks that are read at a time. */
const CHECKS_PER_TURN = 50;

export type ReportPlan = {
  now: Instant;
  /** Random numbers for the minute of each next report; see REPORT_MINUTES. */
  drawMinute: () => number;
};

/** Plans due reports and the dates of the next ones. False: there may be more. */
export function planReports(
  database: Database,
  { now, drawMinute }: ReportPlan,
): Promise<{ letters: number; isComplete: boolean }> {
  return inTransaction(database, async (tx) => {
    const added = await addMissingPreferences(tx, PEOPLE_PER_TURN);
    const due = await lockDueReports(tx, { now, aliveFrom: aliveFrom(now), limit: PEOPLE_PER_TURN });
    const sent = due.filter(({ dueAt, isAlive }) => dueAt !== null && isAlive);
    for (const { accountId, tz, reports } of sent) {
      const zone = zoneOfMails(tz);
      const periods = periodsBefore(now, { length: reports, zone, count: REPORT_PERIODS });
      await insertEmail(
        tx,
        personal({ kind: "report", accountId, about: { length: reports, periods, zone }, now }),
      );
    }
    const dates = due.map(({ accountId, tz, reports }) => ({
      accountId,
      nextAt: nextReportAt(now, { length: reports, zone: zoneOfMails(tz), minute: drawMinute() }),
    }));
    if (dates.length > 0) await writeReportDates(tx, dates);
    return { letters: sent.length, isComplete: due.length < PEOPLE_PER_TURN && added < PEOPLE_PER_TURN };
  });
}

/** Plans due reminders, and starts and stops the timers of the others. Returns the number of emails. */
export async function planReminders(database: Database, { now }: { now: Instant }): Promise<number> {
  let letters = 0;
  let afterId = 0;
  for (;;) {
    const turn = await remindSome(database, { now, afterId });
    letters += turn.letters;
    if (turn.lastId === null) return letters;
    afterId = turn.lastId;
  }
}

function remindSome(
  database: Database,
  { now, afterId }: { now: Instant; afterId: number },
): Promise<{ letters: number; lastId: number | null }> {
  return inTransaction(database, async (tx) => {
    const people = await lockReminded(tx, { afterId, aliveFrom: aliveFrom(now), limit: PEOPLE_PER_TURN });
    const plans = people.map((person) => ({ person, plan: planReminder({ ...person, now }) }));
    const due = plans.filter(({ person, plan }) => plan.isDue && person.isAlive);
    for (const { person } of due) {
      await insertEmail(tx, personal({ kind: "reminder", accountId: person.accountId, about: {}, now }));
    }
    const changed = plans.filter(({ person, plan }) => plan.nextAt !== person.nextAt);
    const dates = changed.map(({ person, plan }) => ({ accountId: person.accountId, nextAt: plan.nextAt }));
    if (dates.length > 0) await writeReminderDates(tx, dates);
    return { letters: due.length, lastId: people.at(-1)?.accountId ?? null };
  });
}

function personal(of: {
  kind: "report" | "reminder";
  accountId: number;
  about: Readonly<Record<string, unknown>>;
  now: Instant;
}): NewEmail {
  const { kind, accountId, about, now } = of;
  return { uuid: randomUUID(), kind, accountId, channelId: null, about, createdAt: now };
}

function aliveFrom(now: Instant): Instant {
  return now - ALIVE_DAYS * DAY_MS;
}

/** The report of all checks that the account can see. */
async function readReport(
  db: Db,
  {
    accountId,
    now,
    ...given
  }: Pick<ReportFacts, "length" | "periods" | "zone"> & { accountId: number; now: Instant },
): Promise<ReportFacts> {
  const projects = await listProjectsOfAccount(db, accountId);
  const projectNames = new Map(projects.map(({ id, name }) => [id, name]));
  const reported: ReportedCheck[] = [];
  for (let afterId = 0; ; ) {
    const checks = await listChecksOfAccount(db, { accountId, afterId, limit: CHECKS_PER_TURN });
    const from = given.periods[0]?.from ?? now;
    const changes = await listStatusChanges(db, {
      checkIds: checks.map(({ id }) => id),
      from,
      limitEach: STATUS_CHANGES_READ_MAX,
    });
    for (const check of checks) {
      const history = {
        createdAt: check.createdAt,
        status: check.state.status,
        ...(changes.get(check.id) ?? { changes: [], isCut: false }),
      };
      const downtimes = downtimesOf(history, { periods: given.periods, now });
      reported.push({
        ...shown(check, now),
        projectName: projectNames.get(check.projectId) ?? "",
        downtimes,
      });
    }
    const last = checks.at(-1);
    if (last === undefined || checks.length < CHECKS_PER_TURN) return reportOf(reported, given);
    afterId = last.id;
  }
}

/** The report that an account would get now. */
export async function previewReport(
  db: Db,
  { accountId, length, now }: { accountId: number; length: PeriodLength; now: Instant },
): Promise<ReportFacts> {
  const zone = zoneOfMails((await findPreferences(db, accountId)).tz);
  const periods = periodsBefore(now, { length, zone, count: REPORT_PERIODS });
  return readReport(db, { accountId, now, length, periods, zone });
}

function shown({ uuid, settings, state }: CheckWithState, now: Instant) {
  const status = statusAt({ timing: settings, state }, now);
  return { uuid, name: settings.name, status, lastPingAt: state.lastPingAt };
}

/** The contents of a reminder; a count of 0 means that nothing is down any more. */
async function readReminder(
  db: Db,
  { accountId, zone }: { accountId: number; zone: string },
): Promise<ReminderFacts> {
  return { zone, ...(await listDownChecks(db, { accountId, limit: REMINDER_CHECKS_LISTED_MAX })) };
}

/**
 * Changes the given preferences and returns the current ones. AppError `not_found`, or `invalid` for an unknown zone.
 */
export async function setPreferences(
  database: Database,
  { email, change }: { email: string; change: Partial<Preferences> },
): Promise<Preferences> {
  if (typeof change.tz === "string" && !isZone(change.tz)) {
    throw new AppError("invalid", `"${change.tz}" is not a valid time zone. Use a name such as Europe/Riga.`);
  }
  return inTransaction(database, async (tx) => {
    const account = await findAccountByEmail(tx, normalEmail(email));
    if (account === null) throw new AppError("not_found", `No account found for ${email}.`);
    const preferences = { ...(await findPreferences(tx, account.id)), ...change };
    // Saving without a change must not postpone the next report.
    if (Object.keys(change).length > 0) await writePreferences(tx, { accountId: account.id, ...preferences });
    return preferences;
  });
}

/** The account of a link in a report; null if its signature is invalid. */
export async function findLinkedAccount(
  db: Db,
  { token, signing }: { token: string; signing: Signing },
): Promise<Account | null> {
  const uuid = readReportsToken(signing, token);
  return uuid === null ? null : findAccountByUuid(db, uuid);
}

/** Turns off reports and reminders by a link in one of them. Null: the link is invalid. */
export function unsubscribeReports(
  database: Database,
  link: { token: string; signing: Signing },
): Promise<Account | null> {
  return inTransaction(database, async (tx) => {
    const account = await findLinkedAccount(tx, link);
    if (account === null) return null;
    await stopMails(tx, account.id);
    return account;
  });
}

/** Turns off reports and reminders of an account. */
async function stopMails(tx: Tx, accountId: number): Promise<void> {
  const { tz } = await findPreferences(tx, accountId);
  await writePreferences(tx, { accountId, tz, reports: "off", reminders: "off" });
}

export type DeliveryReport = {
  /** The local part of the address that it was sent to. */
  localPart: string;
  /** For example 5.1.1; empty if the email has none. */
  status: string;
  /** The remote server's message; may be empty. */
  diagnostic: string;
};

/** The result of a bounce, for the log and the sender. */
export type BounceOutcome = "done" | "badSignature" | "ignored" | "channelNotFound" | "accountNotFound";

/** Processes a bounce. It counts only if its return address has a valid signature. */
export function takeBounce(
  database: Database,
  report: DeliveryReport,
  { signing, now }: { signing: Signing; now: Instant },
): Promise<BounceOutcome> {
  const bounce = readBounceLocalPart(report.localPart);
  if (bounce === null) return Promise.resolve("badSignature");
  const given: Given = { bounce, report, signing, now };
  return inRetriedTransaction(database, (tx) =>
    bounce.kind === "n" ? bounceOfChannel(tx, given) : bounceOfEmail(tx, given),
  );
}

type Given = { bounce: Bounce; report: DeliveryReport; signing: Signing; now: Instant };

async function bounceOfChannel(tx: Tx, { bounce, report, signing, now }: Given): Promise<BounceOutcome> {
  const channel = await findChannelByUuid(tx, bounce.uuid);
  const address = channel === null ? null : mailAddressOf(channel);
  if (channel === null || address === null) return "channelNotFound";
  if (!isOurBounce(bounce, { signing, address, now })) return "badSignature";
  const verdict = bounceVerdict(report.status);
  if (verdict === "ignored") return "ignored";
  const reason = reasonOf(report);
  await noteChannelError(tx, { channelId: channel.id, error: reason });
  if (verdict === "permanent") await disableFailingChannel(tx, { channelId: channel.id, reason, at: now });
  return "done";
}

async function bounceOfEmail(tx: Tx, { bounce, report, signing, now }: Given): Promise<BounceOutcome> {
  const email = await findEmailByUuid(tx, bounce.uuid);
  if (email === null) return "accountNotFound";
  return email.accountId === null
    ? bounceOfChannelEmail(tx, { email, bounce, report, signing, now })
    : bounceOfAccount(tx, { accountId: email.accountId, bounce, report, signing, now });
}

/** An address that does not exist cannot be confirmed; the reason is shown at the channel. */
async function bounceOfChannelEmail(
  tx: Tx,
  { email, bounce, report, signing, now }: Given & { email: QueuedEmail },
): Promise<BounceOutcome> {
  const channel = email.channelId === null ? null : await findChannelById(tx, email.channelId);
  const address = channel === null ? null : mailAddressOf(channel);
  if (channel === null || address === null || email.kind !== "verification") return "ignored";
  if (!isOurBounce(bounce, { signing, address, now })) return "badSignature";
  if (bounceVerdict(report.status) === "ignored") return "ignored";
  await noteChannelError(tx, { channelId: channel.id, error: reasonOf(report) });
  return "done";
}

/** Reports and reminders to an address that does not exist are turned off. */
async function bounceOfAccount(
  tx: Tx,
  { accountId, bounce, report, signing, now }: Given & { accountId: number },
): Promise<BounceOutcome> {
  const account = await findAccountById(tx, accountId);
  if (account === null) return "accountNotFound";
  if (!isOurBounce(bounce, { signing, address: account.email, now })) return "badSignature";
  const verdict = bounceVerdict(report.status);
  if (verdict === "ignored") return "ignored";
  if (verdict === "permanent") await stopMails(tx, accountId);
  return "done";
}

function reasonOf({ status, diagnostic }: DeliveryReport): string {
  const said = diagnostic.replaceAll("\0", "").replace(/\s+/g, " ").trim();
  return `The email bounced (${status})${said === "" ? "" : `: ${said}`}`
    .slice(0, DELIVERY_ERROR_LENGTH_MAX)
    .toWellFormed();
}
