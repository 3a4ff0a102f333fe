// The user's own account: name, appearance, time zone, email address, and closing it.
import { closingProblem } from "../core/access.ts";
import { auditDifference } from "../core/audit.ts";
import type { Signing } from "../core/email.ts";
import { AppError } from "../core/errors.ts";
import type { Instant } from "../core/instant.ts";
import { ACCOUNT_NAME_LENGTH_MAX } from "../core/limits.ts";
import type { Reminders, Reports } from "../core/report.ts";
import { isZone } from "../core/schedule/zone.ts";
import {
  type Account,
  deleteAccount,
  type Density,
  findAccountByEmail,
  findAccountById,
  lockAccount,
  lockAdmins,
  type Theme,
  writeEmail,
  writeProfile,
} from "../store/accounts.ts";
import {
  type AuditMentions,
  eraseAuditedAddress,
  eraseAuditedProfile,
  findAuditMentions,
  listFormerAddresses,
} from "../store/audit.ts";
import type { Database } from "../store/db.ts";
import { findPreferences, writePreferences } from "../store/emails.ts";
import { postgresErrorName } from "../store/errors.ts";
import { deleteInvitationsTo } from "../store/invitations.ts";
import { deleteMember, listMembers, listProjectsOfAccount, lockProject } from "../store/projects.ts";
import { deleteOtherSessions, type Person as Shown } from "../store/sessions.ts";
import { deleteStepsOf, voidAllTokens } from "../store/sign-in.ts";
import { inTransaction, type Tx } from "../store/transaction.ts";
import { queueSecurityEmail, queueTokenEmail } from "./account-emails.ts";
import { normalEmail } from "./accounts.ts";
import { countAttempts } from "./attempts.ts";
import { audit } from "./audit.ts";
import { endInvitationsBy } from "./members.ts";
import { removeProjectIn } from "./projects.ts";
import { inRetriedTransaction } from "./retry.ts";
import { createSignedToken, readToken, takeToken } from "./sign-in.ts";

export type ProfileChange = {
  name?: string;
  theme?: Theme;
  density?: Density;
  /** Null: the browser's time zone. */
  zone?: string | null;
  reports?: Reports;
  reminders?: Reminders;
};

/** Changes the given fields. AppError `invalid` for an unknown zone or a long name. */
export async function changeProfile(
  database: Database,
  { account, change, now }: { account: Shown; change: ProfileChange; now: Instant },
): Promise<void> {
  const { name, theme, density, zone, reports, reminders } = change;
  if (typeof zone === "string" && !isZone(zone)) {
    throw new AppError("invalid", `"${zone}" is not a valid time zone. Use a name such as Europe/Riga.`);
  }
  if (name !== undefined && name.length > ACCOUNT_NAME_LENGTH_MAX) {
    throw new AppError("invalid", `The name can have at most ${ACCOUNT_NAME_LENGTH_MAX} characters.`);
  }
  await inRetriedTransaction(database, async (tx) => {
    // Concurrent changes of different fields must not overwrite each other.
    await lockAccount(tx, account.id);
    const { id: accountId, ...was } = account;
    const shown = { name: was.name, theme: was.theme, density: was.density };
    const before = { ...shown, ...(await findPreferences(tx, accountId)) };
    const after = {
      name: name?.trim() ?? before.name,
      theme: theme ?? before.theme,
      density: density ?? before.density,
      tz: zone === undefined ? before.tz : zone,
      reports: reports ?? before.reports,
      reminders: reminders ?? before.reminders,
    };
    const difference = auditDifference(before, after);
    if (difference === null) return;
    await writeProfile(tx, {
      accountId,
      name: name?.trim() ?? null,
      theme: theme ?? null,
      density: density ?? null,
    });
    const { tz } = after;
    const isMail =
      tz !== before.tz || after.reports !== before.reports || after.reminders !== before.reminders;
    if (isMail) {
      await writePreferences(tx, {
        accountId: account.id,
        tz,
        reports: after.reports,
        reminders: after.reminders,
      });
    }
    const by = { projectId: null, accountId: account.id, keyId: null };
    await audit(tx, { ...by, what: "account.changed", subject: account.email, ...difference, at: now });
  });
}

export type EmailRequest = { account: Account; email: string; signing: Signing; now: Instant };

/**
 * Sends a link to the new address; nothing changes before it is used. The response does not reveal whether the
 * address is taken.
 */
export async function askForEmailChange(database: Database, request: EmailRequest): Promise<void> {
  const { account, signing, now } = request;
  const email = normalEmail(request.email);
  if (email === account.email) throw new AppError("invalid", "This is already your email address.");
  await countAttempts(database, [{ kind: "changeEmail", subject: String(account.id) }], { now });
  await inTransaction(database, async (tx) => {
    if ((await findAccountByEmail(tx, email)) !== null) return;
    const of = { purpose: "changeEmail", accountId: account.id, email, nextPath: null, now } as const;
    await queueTokenEmail(tx, {
      kind: "changeEmail",
      tokenUuid: await createSignedToken(tx, signing, of),
      at: now,
    });
  });
}

/** The new address of a link; null if the link is invalid. */
export async function readEmailChange(
  database: Database,
  { token, now }: { token: string; now: Instant },
): Promise<string | null> {
  return (await readToken(database, { token, purposes: ["changeEmail"], now }))?.email ?? null;
}

/** Changes the address of an account by the emailed link; the old address is notified. */
export async function useEmailChange(
  database: Database,
  { token, now }: { token: string; now: Instant },
): Promise<string> {
  try {
    return await inRetriedTransaction(database, async (tx) => {
      const used = await takeToken(tx, { token, purposes: ["changeEmail"], now });
      const { accountId, email } = used;
      const old = accountId === null ? null : await emailOf(tx, accountId);
      if (accountId === null || email === null || old === null) throw gone();
      await writeEmail(tx, { accountId, email });
      // Links in the old mailbox must not work any more.
      await voidAllTokens(tx, accountId);
      await deleteStepsOf(tx, accountId);
      await queueSecurityEmail(tx, { accountId, what: "emailChanged", at: now, to: old });
      const by = { projectId: null, accountId, keyId: null };
      const sides = { before: { email: old }, after: { email } };
      await audit(tx, { ...by, what: "account.emailChanged", subject: email, ...sides, at: now });
      return email;
    });
  } catch (error) {
    if (postgresErrorName(error) !== "unique_violation") throw error;
    throw new AppError("conflict", "Another account now uses this email address.");
  }
}

async function emailOf(tx: Tx, accountId: number): Promise<string | null> {
  if (!(await lockAccount(tx, accountId))) return null;
  return (await findAccountById(tx, accountId))?.email ?? null;
}

function gone(): AppError {
  return new AppError("not_found", "The account no longer exists.");
}

/** Replaces the address of a closed account in the audit log. */
const CLOSED_ACCOUNT = "(closed account)";

/**
 * Closes an account: deletes it with projects without other members, and removes its name and addresses from
 * the audit log. AppError `conflict` while others depend on it.
 */
export async function closeAccount(
  database: Database,
  { account, now }: { account: Account; now: Instant },
): Promise<void> {
  // The audit log is long: it is searched before anything is locked.
  const mentions = await findMentions(database, account);
  await inRetriedTransaction(database, async (tx) => {
    // The same lock order as changing admins, to avoid deadlocks.
    const adminIds = await lockAdmins(tx);
    if (!(await lockAccount(tx, account.id))) throw gone();
    const projects = await listProjectsOfAccount(tx, account.id);
    const shared: string[] = [];
    for (const project of projects.filter(({ role }) => role === "owner")) {
      // Locked before it is read: a user who joins now is either seen, or finds the project deleted.
      await lockProject(tx, project.id);
      if ((await listMembers(tx, project.id)).length > 1) shared.push(project.name);
    }
    const problem = closingProblem({
      isAdmin: adminIds.includes(account.id),
      adminCount: adminIds.length,
      sharedProjects: shared,
    });
    if (problem !== null) throw new AppError("conflict", problem);
    const by = { accountId: account.id, keyId: null };
    const inviter = { inviterId: account.id, actorId: account.id, now };
    await endInvitationsBy(tx, { projectId: null, ...inviter });
    for (const project of projects) {
      await endInvitationsBy(tx, { projectId: project.id, ...inviter });
      if (project.role === "owner") await removeProjectIn(tx, { project, by, now });
      else await deleteMember(tx, { projectId: project.id, accountId: account.id });
    }
    await deleteInvitationsTo(tx, account.email);
    await deleteOtherSessions(tx, { accountId: account.id, keepId: null });
    await eraseAuditedProfile(tx, account.id);
    await deleteAccount(tx, account.id);
    for (const [email, found] of mentions) {
      await eraseAuditedAddress(tx, { email, instead: CLOSED_ACCOUNT, mentions: found });
    }
    const system = { projectId: null, accountId: null, keyId: null };
    await audit(tx, {
      ...system,
      what: "account.closed",
      subject: CLOSED_ACCOUNT,
      before: null,
      after: null,
      at: now,
    });
  });
}

/** Finds current and previous addresses of an account in the audit log. */
async function findMentions(database: Database, { id, email }: Account): Promise<Map<string, AuditMentions>> {
  const mentions = new Map<string, AuditMentions>();
  for (const address of [email, ...(await listFormerAddresses(database, id))]) {
    mentions.set(address, await findAuditMentions(database, address));
  }
  return mentions;
}
