// All routes about checks, and what the pages of projects and checks begin with.
import type { Asking, AccountAsk, CheckAsk, ProjectAsk, WebRoute } from "../route.ts";
import { readCheckPage } from "../history/check-page.ts";
import { projectHead } from "../shell/boot.ts";
import type { PageData } from "../shell/routes.ts";
import { badgeRoutes } from "./badges.ts";
import { bulkRoutes } from "./bulk.ts";
import { changeRoutes } from "./change-routes.ts";
import { crontabRoutes } from "./crontab.ts";
import { listRoutes } from "./list-routes.ts";
import { scheduleRoutes } from "./schedules.ts";
import { silentRoutes } from "./silent.ts";
import { checksBoot, projectCards, receivingTrouble } from "./overview.ts";

export const checkRoutes: readonly WebRoute[] = [
  ...listRoutes,
  ...changeRoutes,
  ...bulkRoutes,
  ...scheduleRoutes,
  ...crontabRoutes,
  ...silentRoutes,
  ...badgeRoutes,
];

const checkPage = async (asking: Asking) => {
  // The paths of these pages name a check, and only members are let through.
  const ask = asking as CheckAsk;
  const check = await readCheckPage(ask.house, ask);
  return { kind: "check" as const, project: projectHead(ask.project, ask.role), check };
};

/** The data that comes with each page that needs some at once. */
export const PAGE_DATA: PageData = {
  projects: async (ask) => ({
    kind: "projects",
    cards: await projectCards(ask as AccountAsk),
    receiving: receivingTrouble(ask.house, ask.now),
  }),
  checks: async (ask) => ({ kind: "checks", ...(await checksBoot(ask as ProjectAsk)) }),
  check: checkPage,
  run: checkPage,
};
