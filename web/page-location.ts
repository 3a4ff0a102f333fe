// URLs and titles of pages, and the current project.
import { useEffect, useSyncExternalStore } from "react";
import { PAGE_PATHS, type PageName, type ProjectHead } from "../src/contract/api/boot.ts";
import { boot } from "./boot.ts";
import { useDownCount } from "./live/checks-store.ts";
import { words } from "./words/shared.ts";

/** The pages of a project, in the order of the navigation. */
export const PROJECT_PAGES = [
  "checks",
  "timeline",
  "incidents",
  "events",
  "forecast",
  "near-misses",
  "silences",
  "channels",
  "status-pages",
  "reports",
  "badges",
  "settings",
] as const satisfies readonly PageName[];

/** The parameters of a page's path: IDs that are not looked up yet. */
export type PageProps = { params: { project?: string; check?: string; n?: string } };

/** The pattern of a page for the router. */
export function pathOf(name: PageName): string {
  return PAGE_PATHS.find((page) => page.name === name)?.path ?? "/";
}

/** The URL of a page: `pageHref("checks", { project })`. */
export function pageHref(name: PageName, params: PageProps["params"] = {}): string {
  return pathOf(name).replaceAll(/:([a-z]+)/g, (_, key: string) =>
    encodeURIComponent(params[key as keyof PageProps["params"]] ?? ""),
  );
}

// The title and the icon of the tab show the number of checks that are down.

const COUNT_SHOWN_MAX = 99;

/** Sets the title of the tab: "(2) 2 jobs need attention · Overdue". Call it once in every page. */
export function usePageTitle(title: string): void {
  const down = useDownCount();
  useEffect(() => {
    document.title = `${down > 0 ? `(${down}) ` : ""}${title} · ${words.product}`;
  }, [title, down]);
}

/** The icon of the document. */
let mark: string | null = null;

/** Updates the icon of the tab when the number of checks that are down changes; the shell calls it. */
export function useFavicon(): void {
  const down = useDownCount();
  useEffect(() => {
    const icon = document.querySelector<HTMLLinkElement>("link[rel~='icon']");
    if (icon === null) return;
    mark ??= icon.href;
    icon.href = down > 0 ? countedIcon(down) : mark;
  }, [down]);
}

/** A red background with the number of checks that are down. */
function countedIcon(down: number): string {
  const text = down > COUNT_SHOWN_MAX ? `${COUNT_SHOWN_MAX}+` : String(down);
  const size = [0, 24, 20, 15][text.length] ?? 15;
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#d3232f"/><text x="16" y="${16 + size * 0.36}" font-family="system-ui,sans-serif" font-size="${size}" font-weight="700" text-anchor="middle" fill="#fff">${text}</text></svg>`;
  return `data:image/svg+xml,${encodeURIComponent(svg)}`;
}

// The current project: that of the page, or the last one on pages that belong to none.

const REMEMBERED = "overdue.project";

let currentId: string | null = sessionStorage.getItem(REMEMBERED);
const listeners = new Set<() => void>();

/** Sets the project of the page; a page that gets it from a response calls this itself. */
export function useShowProject(id: string | null | undefined): void {
  useEffect(() => {
    if (id === null || id === undefined || id === currentId) return;
    currentId = id;
    sessionStorage.setItem(REMEMBERED, id);
    for (const listener of listeners) listener();
  }, [id]);
}

/** Applies the new name of a project. */
export function renameShown(id: string, name: string): void {
  const index = boot.projects.findIndex((project) => project.id === id);
  const project = boot.projects[index];
  if (project === undefined) return;
  boot.projects[index] = { ...project, name };
  for (const listener of listeners) listener();
}

/** The project in the rail; null when the account has none. */
export function useCurrentProject(): ProjectHead | null {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, currentProject);
}

/** The same, outside of rendering. */
export function currentProject(): ProjectHead | null {
  return boot.projects.find(({ id }) => id === currentId) ?? boot.projects[0] ?? null;
}
