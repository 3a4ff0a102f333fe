// The pages: which file draws what lies under a path, loaded when it is first asked for. A page that is not in this
// table is not linked anywhere. Paths are those the server answers (contract/web/page-paths.ts).
import { type ComponentType, lazy } from "react";
import type { PageName } from "../../src/contract/web/page-paths.ts";
import type { PageProps } from "../shell/page-address.ts";

type Page = {
  /** The first names the page; the others are drawn by the same component, which then stays. */
  names: readonly [PageName, ...PageName[]];
  Page: ComponentType<PageProps>;
};

export const PAGES: readonly Page[] = [
  {
    names: ["checks"],
    Page: lazy(async () => ({ default: (await import("./checks/page.tsx")).ChecksPage })),
  },
  {
    names: ["check", "run"],
    Page: lazy(async () => ({ default: (await import("./check/page.tsx")).CheckPage })),
  },
  {
    names: ["projects"],
    Page: lazy(async () => ({ default: (await import("./projects/page.tsx")).ProjectsPage })),
  },
  {
    names: ["events"],
    Page: lazy(async () => ({ default: (await import("./events/page.tsx")).EventsPage })),
  },
  {
    names: ["badges"],
    Page: lazy(async () => ({ default: (await import("./badges/page.tsx")).BadgesPage })),
  },
  {
    names: ["channels"],
    Page: lazy(async () => ({ default: (await import("./channels/page.tsx")).ChannelsPage })),
  },
  {
    names: ["settings"],
    Page: lazy(async () => ({ default: (await import("./settings/page.tsx")).SettingsPage })),
  },
  {
    names: ["profile"],
    Page: lazy(async () => ({ default: (await import("./account/page.tsx")).AccountPage })),
  },
  {
    names: ["admin"],
    Page: lazy(async () => ({ default: (await import("./admin/page.tsx")).AdminPage })),
  },
  {
    names: ["welcome"],
    Page: lazy(async () => ({ default: (await import("./welcome/page.tsx")).WelcomePage })),
  },
];

export function hasPage(name: PageName): boolean {
  return PAGES.some(({ names }) => names.includes(name));
}
