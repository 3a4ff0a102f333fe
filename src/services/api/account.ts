// Handlers of the account: profile and preferences.
import type { Account, accountRoutes } from "../../contract/api/account.ts";
import { changeProfile } from "../../operations/profile.ts";
import type { Db } from "../../store/db.ts";
import { findPreferences } from "../../store/emails.ts";
import { findProjectByUuid, listTransfersTo } from "../../store/projects.ts";
import type { Person } from "../../store/sessions.ts";
import type { ApiHandlers } from "./route.ts";

/** The account as shown to its owner. */
export async function shownAccount(db: Db, account: Person): Promise<Account> {
  const [preferences, transfers] = await Promise.all([
    findPreferences(db, account.id),
    listTransfersTo(db, account.id),
  ]);
  const { uuid: id, email, name, isAdmin, theme, density, createdAt } = account;
  const { tz: zone, reports, reminders } = preferences;
  return {
    id,
    email,
    name,
    isAdmin,
    zone,
    theme,
    density,
    reports,
    reminders,
    createdAt,
    transfers: transfers.map(({ uuid: project, ...transfer }) => ({ project, ...transfer })),
  };
}

export const accountHandlers: ApiHandlers<typeof accountRoutes> = {
  whoAmI: async ({ context, account, keyKind, keyProject, sessionId }) => {
    const project = keyProject === null ? null : await findProjectByUuid(context.database, keyProject.uuid);
    return {
      json: {
        kind: keyKind ?? (sessionId === null ? "token" : "session"),
        project: project === null ? null : { id: project.uuid, name: project.name },
        account: account === null ? null : { id: account.uuid, email: account.email },
        version: context.version,
      },
    };
  },
  getAccount: async ({ context, account }) => ({ json: await shownAccount(context.database, account) }),
  updateAccount: async ({ context, account, body, now }) => {
    await changeProfile(context.database, { account, change: body, now });
    const { name, theme, density } = { ...account, ...body };
    const changed = { ...account, name: name.trim(), theme, density };
    return { json: await shownAccount(context.database, changed) };
  },
};
