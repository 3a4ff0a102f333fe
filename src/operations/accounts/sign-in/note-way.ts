// A way into an account came or went: it stands in the record, and the account's owner hears of it.
import type { SecurityNews } from "../../../core/alerts/letters.ts";
import type { Instant } from "../../../core/instant.ts";
import type { Tx } from "../../../store/transaction.ts";
import { audit } from "../audit.ts";
import { tellSecurity } from "../mail.ts";

export type WayNote = {
  person: { accountId: number; email: string };
  what: Exclude<SecurityNews, "emailChanged">;
  before?: object | null;
  after?: object | null;
  /** Who did it, where that is not the person; null is the command line. */
  actorId?: number | null;
  at: Instant;
};

/** Writes it down and tells of it, in the transaction that makes it so. */
export async function noteWay(tx: Tx, note: WayNote): Promise<void> {
  const { person, what, before = null, after = null, at } = note;
  const { accountId, email: subject } = person;
  const by = {
    projectId: null,
    accountId: note.actorId === undefined ? accountId : note.actorId,
    keyId: null,
  };
  await audit(tx, { ...by, what: `account.${what}`, subject, before, after, at });
  await tellSecurity(tx, { accountId, what, at });
}
