// The data that comes with a page: who is looking, their projects, the site, and what the page itself begins with.
import {
  type Boot,
  type BootPage,
  type ProjectHead,
  type ProjectRight,
  type Theme,
  THEME_COOKIE,
} from "../../../contract/web/boot.ts";
import { ACTION_ROLES, type Action, mayDo, type Role } from "../../../core/access.ts";
import { basePath } from "../../../lib/http/request-target.ts";
import { listProjectsOfAccount, type Project } from "../../../store/accounts/projects.ts";
import type { Asking } from "../route.ts";

/** A project as the browser names it, with what this person may do in it. */
export function projectHead({ uuid, name }: Pick<Project, "uuid" | "name">, role: Role): ProjectHead {
  const actions = Object.keys(ACTION_ROLES) as Action[];
  const may: ProjectRight[] = actions.filter((action) => mayDo(role, action));
  return { id: uuid, name, role, may };
}

/** Light or dark, as the account or the browser has chosen. */
export function themeOf({ account, cookies }: Asking): Theme {
  const chosen = account?.theme ?? cookies[THEME_COOKIE];
  return chosen === "light" || chosen === "dark" ? chosen : "system";
}

/** Everything around the page, which is put in as it is. */
export async function bootOf(ask: Asking, page: BootPage | null): Promise<Boot> {
  const { house, account, now } = ask;
  const [projects, alertDelayMs] = await Promise.all([
    account === null ? [] : listProjectsOfAccount(house.database, account.id),
    account === null ? null : house.alertDelayMs(now),
  ]);
  return {
    account: account && {
      email: account.email,
      name: account.name,
      zone: account.zone,
      theme: themeOf(ask),
      density: account.density,
      isOperator: account.isOperator,
    },
    projects: projects.map((project) => projectHead(project, project.role)),
    site: {
      name: house.site.name,
      url: house.urls.site,
      base: basePath(new URL(house.site.url)),
      pingUrl: house.urls.ping,
      mailDomain: house.mailDomain,
      version: house.version,
    },
    alertDelayMs,
    serviceState: account === null ? "normal" : house.serviceState(),
    page,
    now,
  };
}
