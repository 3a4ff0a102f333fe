// The title of the tab says what matters, and its picture and number count what is down, so that a tab in the
// background is a monitor too.
import { useEffect } from "react";
import { words } from "../words/shared.ts";
import { useDownCount } from "../live/down-count.ts";

const COUNT_SHOWN_MAX = 99;

/** Sets the title of the tab: "(2) Two jobs need you · Overdue". Call it once in every page. */
export function usePageTitle(title: string): void {
  const down = useDownCount();
  useEffect(() => {
    document.title = `${down > 0 ? `(${down}) ` : ""}${title} · ${words.product}`;
  }, [title, down]);
}

/** Keeps the picture of the tab in step with what is down; the shell calls it. */
export function useFavicon(): void {
  const down = useDownCount();
  useEffect(() => {
    let link = document.querySelector<HTMLLinkElement>("link[rel~='icon']");
    if (link === null) {
      link = document.createElement("link");
      link.rel = "icon";
      document.head.append(link);
    }
    link.type = "image/svg+xml";
    link.href = `data:image/svg+xml,${encodeURIComponent(faviconSvg(down))}`;
  }, [down]);
}

/** The mark of the house; with something down, a red ground and its number. */
function faviconSvg(down: number): string {
  const open = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">';
  if (down > 0) {
    const text = down > COUNT_SHOWN_MAX ? `${COUNT_SHOWN_MAX}+` : String(down);
    const size = [0, 24, 20, 15][text.length] ?? 15;
    return `${open}<rect width="32" height="32" rx="8" fill="#d3232f"/><text x="16" y="${16 + size * 0.36}" font-family="system-ui,sans-serif" font-size="${size}" font-weight="700" text-anchor="middle" fill="#fff">${text}</text></svg>`;
  }
  return `${open}<rect width="32" height="32" rx="8" fill="#17181d"/><g fill="none" stroke="#fff" stroke-linecap="round" stroke-linejoin="round"><path d="M16 6a10 10 0 1 0 10 10" stroke-width="2.8"/><path d="M16 10.5V16l3.6 2.4" stroke-width="2.6"/></g><circle cx="23" cy="9" r="3" fill="#2fb67c"/></svg>`;
}
