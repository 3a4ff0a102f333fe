// What the page of an account is told: everything that its owner has set up, and no secret of it.
import type { AccountPage } from "../../../contract/web/account.ts";
import { PROVEN_MS, SIGN_INS_PER_ACCOUNT_MAX } from "../../../core/accounts/session-rules.ts";
import { listSessions } from "../../../operations/accounts/sessions.ts";
import { countRecoveryCodes, findAuthenticator } from "../../../store/accounts/authenticators.ts";
import { findPassword, listPasskeys } from "../../../store/accounts/credentials.ts";
import { listIdentities } from "../../../store/accounts/identities.ts";
import { listTransfersTo } from "../../../store/accounts/members.ts";
import { listProjectsOfAccount } from "../../../store/accounts/projects.ts";
import { findSignInFailures, listSignIns } from "../../../store/accounts/steps.ts";
import { findPreferences } from "../../../store/alerts/preferences.ts";
import type { Db } from "../../../store/db.ts";
import type { AccountAsk } from "../route.ts";
import { hasPasskeys } from "../sign-in/webauthn.ts";

/** The page of whoever asks, as things are now. */
export async function accountPage({ house, account, session, now }: AccountAsk): Promise<AccountPage> {
  const { database: db, signIn } = house;
  const accountId = account.id;
  const [wanted, password, app, codesLeft, passkeys, identities, sessions, record, projects, transfers] =
    await Promise.all([
      findPreferences(db, accountId),
      findPassword(db, accountId),
      findAuthenticator(db, accountId),
      countRecoveryCodes(db, accountId),
      listPasskeys(db, accountId),
      listIdentities(db, accountId),
      listSessions(db, { accountId, now }),
      signInRecord(db, accountId),
      listProjectsOfAccount(db, accountId),
      listTransfersTo(db, accountId),
    ]);
  const isOwn = signIn.proxyHeader === null;
  const { uuid, email, name, isOperator, theme, density, createdAt } = account;
  return {
    uuid,
    email,
    name,
    isOperator,
    theme,
    density,
    createdAt,
    zone: wanted.tz,
    reports: wanted.reports,
    reminders: wanted.reminders,
    hasPassword: password !== null,
    totp: app === null || app.confirmedAt === null ? null : { since: app.confirmedAt, codesLeft },
    passkeys: passkeys.map((passkey) => ({
      uuid: passkey.uuid,
      name: passkey.name,
      createdAt: passkey.createdAt,
      lastUsedAt: passkey.lastUsedAt,
    })),
    identities: identities.map(({ issuer, subject, createdAt: since, lastUsedAt }) => ({
      issuer,
      subject,
      since,
      lastUsedAt,
    })),
    ...record,
    sessions: sessions.map((one) => ({ ...one, isThis: one.id === session.id })).map(shownSession),
    offers: {
      passwords: isOwn,
      passkeys: isOwn && hasPasskeys(house),
      mail: signIn.mail,
      changeEmail: isOwn && signIn.mail,
    },
    provenUntil: session.isProven ? session.provenAt + PROVEN_MS : null,
    projects: projects.map((project) => ({ uuid: project.uuid, name: project.name, role: project.role })),
    transfers,
  };
}

/** Who came in, and what failed since. */
async function signInRecord(
  db: Db,
  accountId: number,
): Promise<Pick<AccountPage, "signIns" | "failedSignIns">> {
  return {
    signIns: await listSignIns(db, { accountId, limit: SIGN_INS_PER_ACCOUNT_MAX }),
    failedSignIns: await findSignInFailures(db, accountId),
  };
}

function shownSession(of: AccountPage["sessions"][number]): AccountPage["sessions"][number] {
  const { id, method, createdAt, seenAt, ua, remoteAddr, isThis } = of;
  return { id, method, createdAt, seenAt, ua, remoteAddr, isThis };
}
