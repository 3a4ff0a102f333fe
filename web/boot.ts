// The data that the server put into the document: base path, account, rights, theme and density.
import { useSyncExternalStore } from "react";
import {
  type Boot,
  BOOT_ELEMENT,
  type BootPage,
  type Density,
  type ProjectHead,
  type ProjectRight,
  type Theme,
  THEME_COOKIE,
} from "../src/contract/api/boot.ts";
import { knownZone } from "./words/format.ts";

/** The data of the page. A page without it was not served by Overdue, and nothing can be shown. */
export const boot: Boot = JSON.parse(document.getElementById(BOOT_ELEMENT)?.textContent ?? "null") as Boot;

/** How far this computer's clock is behind the server's. */
export const clockBehindMs = boot.now - Date.now();

/** The time zone that moments are shown in. */
export const userZone = knownZone(boot.account?.zone);

/** The time zone of this computer, whatever the account has set. */
export const browserZone = knownZone(null);

/** A path with the base path, for places where the router does not add it: fetch, downloads, URLs to copy. */
export function siteUrl(path: string): string {
  return `${boot.site.base}${path}`;
}

let page: BootPage | null = boot.page;

/** The embedded data of a page, once: a later visit to the page requests it from the server. */
export function takeBootPage<K extends BootPage["kind"]>(kind: K): Extract<BootPage, { kind: K }> | null {
  if (page?.kind !== kind) return null;
  const taken = page as Extract<BootPage, { kind: K }>;
  page = null;
  return taken;
}

// The rights of the user in each project. The server enforces them; the browser only hides buttons.

export function mayIn(project: string, right: ProjectRight): boolean {
  return boot.projects.find(({ id }) => id === project)?.may.includes(right) ?? false;
}

/** Other projects to which this user may move a check. */
export function otherProjects(project: string): ProjectHead[] {
  return boot.projects.filter(({ id, may }) => id !== project && may.includes("editChecks"));
}

// Theme: light, dark or as the system. The server writes the choice of the account into the document, so nothing
// flashes.

const listeners = new Set<() => void>();

function current(): Theme {
  const { theme } = document.documentElement.dataset;
  return theme === "light" || theme === "dark" ? theme : "system";
}

const YEAR_SECONDS = 31_536_000;

/** For pages without an account: sign-in pages and API reference. */
function remember(theme: Theme): void {
  if (boot.account === null) return;
  document.cookie = `${THEME_COOKIE}=${theme}; path=${boot.site.base}/; max-age=${YEAR_SECONDS}; samesite=lax`;
}
remember(current());

/** Applies a theme to the page. The caller saves it for the account. */
export function showTheme(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
  remember(theme);
  for (const listener of listeners) listener();
}

export function useTheme(): Theme {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, current);
}

// Density of the check list. The server writes the choice of the account into the document, so the first rows have
// it.

const COMPACT: Density = "compact";

export function shownDensity(): Density {
  return document.documentElement.dataset["density"] === COMPACT ? COMPACT : "comfortable";
}

/** Applies a density to lists. The caller saves it for the account. */
export function showDensity(density: Density): void {
  if (density === COMPACT) document.documentElement.dataset["density"] = COMPACT;
  else delete document.documentElement.dataset["density"];
}
