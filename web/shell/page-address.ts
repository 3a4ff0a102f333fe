// The addresses of the pages, from the paths that the server answers. Which file draws a page stands in pages/page-table.ts.
import { PAGE_PATHS, type PageName } from "../../src/contract/web/page-paths.ts";

/** The pages of a project, in the order in which they are offered. */
export const PROJECT_PAGES = [
  "checks",
  "events",
  "channels",
  "badges",
  "settings",
] as const satisfies readonly PageName[];

/** What a page gets from its path: ids, still to be looked up. */
export type PageProps = { params: { project?: string; check?: string; n?: string } };

/** The pattern of a page, as the router reads it. */
export function pathOf(name: PageName): string {
  return PAGE_PATHS.find((page) => page.name === name)?.path ?? "/";
}

/** The address of a page: `pageHref("checks", { project })`. */
export function pageHref(name: PageName, params: PageProps["params"] = {}): string {
  return pathOf(name).replaceAll(/:([a-z]+)/g, (_, key: string) =>
    encodeURIComponent(params[key as keyof PageProps["params"]] ?? ""),
  );
}
