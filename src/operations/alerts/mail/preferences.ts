// What a person wants to be told by mail: set by the person, by an operator, or by one click in a mail.
import { readReportsToken, type Signing } from "../../../core/alerts/mail-tokens.ts";
import { AppError } from "../../../core/errors.ts";
import { isZone } from "../../../core/schedule/zone.ts";
import { findPreferences, type Preferences, writePreferences } from "../../../store/alerts/preferences.ts";
import type { Database, Db } from "../../../store/db.ts";
import { type Account, findAccountByEmail, findAccountByUuid } from "../../../store/accounts/projects.ts";
import { inTransaction, type Tx } from "../../../store/transaction.ts";
import { normalEmail } from "../../create-account.ts";

/** Changes what is given and returns what is wanted now. AppError `not_found`, or `invalid` for an unknown zone. */
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
    // A look must not put off the next report.
    if (Object.keys(change).length > 0) await writePreferences(tx, { accountId: account.id, ...preferences });
    return preferences;
  });
}

/** The account that a link in a report names; null when the link is not of our making. */
export async function findLinkedAccount(
  db: Db,
  { token, signing }: { token: string; signing: Signing },
): Promise<Account | null> {
  const uuid = readReportsToken(signing, token);
  return uuid === null ? null : findAccountByUuid(db, uuid);
}

/** Turns reports and reminders off, by a link in one of them. Null: the link is not good. */
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

/** No more reports and reminders to an account. */
export async function stopMails(tx: Tx, accountId: number): Promise<void> {
  const { tz } = await findPreferences(tx, accountId);
  await writePreferences(tx, { accountId, tz, reports: "off", reminders: "off" });
}
