// What an operator does to the accounts of others: limits, and who may administer. Written down like every change.
import { auditDifference } from "../../core/accounts/audit-words.ts";
import { AppError } from "../../core/errors.ts";
import type { Instant } from "../../core/instant.ts";
import { lockOperators, writeOperator } from "../../store/accounts/accounts.ts";
import { findAccountByUuid, listProjectsOfAccount } from "../../store/accounts/projects.ts";
import type { Database } from "../../store/db.ts";
import type { Tx } from "../../store/transaction.ts";
import { inRetriedTransaction } from "../changing/retried.ts";
import { audit } from "./audit.ts";
import { endInvitationsBy } from "./members.ts";
import { changeCheckLimit } from "./set-check-limit.ts";

export type AccountChange = {
  actorId: number;
  accountUuid: string;
  /** Null: the limit of the installation. */
  checkLimit?: number | null;
  isOperator?: boolean;
  now: Instant;
};

/**
 * Changes what is given. AppError `not_found`, `conflict` where nobody would be left to administer, `forbidden` for whom
 * somebody else was quicker with.
 */
export async function changeAccount(database: Database, change: AccountChange): Promise<void> {
  const { actorId, accountUuid, now } = change;
  await inRetriedTransaction(database, async (tx) => {
    // Before anything is read: two who step down at once are judged one after the other.
    const operatorIds = await lockOperators(tx);
    if (!operatorIds.includes(actorId)) {
      throw new AppError("forbidden", "You are no longer a server admin.");
    }
    const account = await findAccountByUuid(tx, accountUuid);
    if (account === null) throw new AppError("not_found", "The account does not exist.");
    const { checkLimit = account.checkLimit, isOperator = account.isOperator } = change;
    if (account.isOperator && !isOperator && operatorIds.length <= 1) {
      throw new AppError("conflict", "At least one account must be a server admin.");
    }
    await changeCheckLimit(tx, { account, checkLimit, actorId, now });
    const by = { projectId: null, accountId: actorId, keyId: null, subject: account.email, at: now };
    const rights = auditDifference({ isOperator: account.isOperator }, { isOperator });
    if (rights !== null) {
      await writeOperator(tx, { accountId: account.id, isOperator });
      await audit(tx, { ...by, what: "account.operatorChanged", ...rights });
      if (!isOperator) await endInvitationsOf(tx, { inviterId: account.id, actorId, now });
    }
  });
}

/**
 * Ends what somebody has sent as an operator, into projects, too: where no mail was sent, its link went through the
 * operator's hands, and nothing tells such a one from one that was mailed.
 */
async function endInvitationsOf(
  tx: Tx,
  by: { inviterId: number; actorId: number; now: Instant },
): Promise<void> {
  const projects = await listProjectsOfAccount(tx, by.inviterId);
  for (const projectId of [null, ...projects.map(({ id }) => id)]) {
    await endInvitationsBy(tx, { projectId, ...by });
  }
}
