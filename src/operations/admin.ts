// What admins change about accounts: limits and admin rights. Every change is audited.
import { auditDifference } from "../core/audit.ts";
import { AppError } from "../core/errors.ts";
import type { Instant } from "../core/instant.ts";
import {
  type Account,
  findAccountByEmail,
  findAccountByUuid,
  lockAdmins,
  updateCheckLimit,
  writeAdmin,
} from "../store/accounts.ts";
import type { Database } from "../store/db.ts";
import { listProjectsOfAccount } from "../store/projects.ts";
import { inTransaction, type Tx } from "../store/transaction.ts";
import { normalEmail } from "./accounts.ts";
import { audit } from "./audit.ts";
import { endInvitationsBy } from "./members.ts";
import { inRetriedTransaction } from "./retry.ts";

export type AccountChange = {
  actorId: number;
  accountUuid: string;
  /** Null: the default limit of the server. */
  checkLimit?: number | null;
  isAdmin?: boolean;
  now: Instant;
};

/**
 * Changes the given fields. AppError `not_found`; `conflict` if no admin would be left; `forbidden` after a
 * concurrent change.
 */
export async function changeAccount(database: Database, change: AccountChange): Promise<void> {
  const { actorId, accountUuid, now } = change;
  await inRetriedTransaction(database, async (tx) => {
    // Before anything is read, so that two admins who revoke their own rights at once are handled one after the
    // other.
    const adminIds = await lockAdmins(tx);
    if (!adminIds.includes(actorId)) {
      throw new AppError("forbidden", "You are no longer a server admin.");
    }
    const account = await findAccountByUuid(tx, accountUuid);
    if (account === null) throw new AppError("not_found", "The account does not exist.");
    const { checkLimit = account.checkLimit, isAdmin = account.isAdmin } = change;
    if (account.isAdmin && !isAdmin && adminIds.length <= 1) {
      throw new AppError("conflict", "At least one account must be a server admin.");
    }
    await changeCheckLimit(tx, { account, checkLimit, actorId, now });
    const by = { projectId: null, accountId: actorId, keyId: null, subject: account.email, at: now };
    const rights = auditDifference({ isAdmin: account.isAdmin }, { isAdmin });
    if (rights !== null) {
      await writeAdmin(tx, { accountId: account.id, isAdmin });
      await audit(tx, { ...by, what: "account.operatorChanged", ...rights });
      if (!isAdmin) await endInvitationsOf(tx, { inviterId: account.id, actorId, now });
    }
  });
}

/** Withdraws invitations sent as an admin, also to projects: without email, the admin has seen their links. */
async function endInvitationsOf(
  tx: Tx,
  by: { inviterId: number; actorId: number; now: Instant },
): Promise<void> {
  const projects = await listProjectsOfAccount(tx, by.inviterId);
  for (const projectId of [null, ...projects.map(({ id }) => id)]) {
    await endInvitationsBy(tx, { projectId, ...by });
  }
}

/**
 * Sets the check limit of an account, for the command line. Null restores the default. AppError `not_found`
 * if the address has no account.
 */
export async function setCheckLimit(
  database: Database,
  { email, checkLimit, now }: { email: string; checkLimit: number | null; now: Instant },
): Promise<void> {
  await inTransaction(database, async (tx) => {
    const account = await findAccountByEmail(tx, normalEmail(email));
    if (account === null) throw new AppError("not_found", `No account found for ${email}.`);
    await changeCheckLimit(tx, { account, checkLimit, actorId: null, now });
  });
}

export type LimitChange = {
  account: Account;
  checkLimit: number | null;
  /** Null: the command line. */
  actorId: number | null;
  now: Instant;
};

/** The same in the caller's transaction. Audited, unless nothing changes. */
async function changeCheckLimit(tx: Tx, { account, checkLimit, actorId, now }: LimitChange): Promise<void> {
  const limits = auditDifference({ checkLimit: account.checkLimit }, { checkLimit });
  if (limits === null) return;
  await updateCheckLimit(tx, { accountId: account.id, checkLimit });
  const by = { projectId: null, accountId: actorId, keyId: null };
  await audit(tx, { ...by, what: "account.limitChanged", subject: account.email, ...limits, at: now });
}
