// What the palette offers, and how a few typed letters choose from it. The ranking is pure and tested.
import { checkName } from "../../src/contract/web/list-words.ts";
import type { ProjectHead } from "../../src/contract/web/boot.ts";
import { type CheckRow, type DrawnState, drawnAt } from "../../src/contract/web/check-row.ts";
import { boot } from "../boot/boot.ts";
import { serverNow } from "../live/clock.ts";
import { pageHref, PROJECT_PAGES } from "../shell/page-address.ts";
import { paletteWords, words } from "../words/shared.ts";
import { openHelp } from "./open-windows.ts";
import type { Ranked } from "./rank.ts";

export type PaletteEntry = Ranked & {
  key: string;
  kind: string;
  href: string;
  state?: DrawnState;
  run?: () => void;
};

/** Pages first, then projects, then checks: an empty palette shows where one can go. */
export function paletteEntries(project: ProjectHead | null, rows: readonly CheckRow[]): PaletteEntry[] {
  const { kinds } = paletteWords;
  const pages = (project === null ? [] : PROJECT_PAGES).map((page) => ({
    key: `page ${page}`,
    label: words.nav[page],
    kind: kinds.page,
    href: pageHref(page, { project: project?.id ?? "" }),
  }));
  const own = (["projects", "profile"] as const).map((page) => ({
    key: `page ${page}`,
    label: page === "projects" ? words.nav.projects : words.nav.account,
    kind: kinds.page,
    href: pageHref(page),
  }));
  const projects = boot.projects.map((one) => ({
    key: `project ${one.id}`,
    label: one.name,
    kind: kinds.project,
    href: pageHref("checks", { project: one.id }),
  }));
  const now = serverNow();
  const checks = rows.map((row) => ({
    key: `check ${row.id}`,
    label: checkName(row),
    also: `${row.slug} ${row.tags.join(" ")} ${row.id}`,
    kind: kinds.check,
    href: pageHref("check", { check: row.id }),
    state: drawnAt(row, now),
  }));
  const help = { key: "help", label: words.nav.keys, kind: kinds.action, href: "", run: openHelp };
  return [...pages, ...own, ...projects, help, ...checks];
}
