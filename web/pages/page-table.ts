// The pages: which file draws what lies under a path, loaded when it is first asked for. Paths are those the server
// answers (contract/web/page-paths.ts).
import { type ComponentType, lazy } from "react";
import type { PageName } from "../../src/contract/web/page-paths.ts";
import type { PageProps } from "../shell/page-address.ts";

type Page = {
  /** The first names the page; the others are drawn by the same component, which then stays. */
  names: readonly [PageName, ...PageName[]];
  load: () => Promise<ComponentType<PageProps>>;
  /** Waits for its file the first time it is drawn, unless that is here already. */
  Page: ComponentType<PageProps>;
};

function page(names: Page["names"], load: Page["load"]): Page {
  return { names, load, Page: lazy(async () => ({ default: await load() })) };
}

export const PAGES: readonly Page[] = [
  page(["checks"], async () => (await import("./checks/page.tsx")).ChecksPage),
  page(["check", "run"], async () => (await import("./check/page.tsx")).CheckPage),
  page(["projects"], async () => (await import("./projects/page.tsx")).ProjectsPage),
  page(["events"], async () => (await import("./events/page.tsx")).EventsPage),
  page(["badges"], async () => (await import("./badges/page.tsx")).BadgesPage),
  page(["channels"], async () => (await import("./channels/page.tsx")).ChannelsPage),
  page(["settings"], async () => (await import("./settings/page.tsx")).SettingsPage),
  page(["profile"], async () => (await import("./account/page.tsx")).AccountPage),
  page(["admin"], async () => (await import("./admin/page.tsx")).AdminPage),
  page(["welcome"], async () => (await import("./welcome/page.tsx")).WelcomePage),
];

/** Fetches what draws a page, so that it is drawn at once. Without it the page waits, and tells when it waits in vain. */
export async function fetchPage(name: PageName): Promise<void> {
  const wanted = PAGES.find(({ names }) => names.includes(name));
  if (wanted !== undefined) wanted.Page = await wanted.load();
}
