// What the server put into the page: read once, before anything is drawn. Also the one place that knows under which
// path everything lies.
import { BOOT_ELEMENT, type Boot, type BootPage } from "../../src/contract/web/boot.ts";
import { knownZone } from "../words/time.ts";

/** The data of the page. A page without it was not served by us, and nothing can be shown. */
export const boot: Boot = JSON.parse(document.getElementById(BOOT_ELEMENT)?.textContent ?? "null") as Boot;

/** How far this computer's clock is behind the server's. */
export const clockBehindMs = boot.now - Date.now();

/** The time zone that moments are shown in. */
export const readerZone = knownZone(boot.account?.zone);

/** The one of this computer, whatever the account says. */
export const browserZone = knownZone(null);

/** A path as the browser needs it where the router does not help: fetch, downloads, addresses to copy. */
export function siteUrl(path: string): string {
  return `${boot.site.base}${path}`;
}

let page: BootPage | null = boot.page;

/** The embedded data of a page, once: whoever comes back to the page later asks the server. */
export function takeBootPage<K extends BootPage["kind"]>(kind: K): Extract<BootPage, { kind: K }> | null {
  if (page?.kind !== kind) return null;
  const taken = page as Extract<BootPage, { kind: K }>;
  page = null;
  return taken;
}
