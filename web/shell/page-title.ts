// The title of the tab says what matters, and its picture and number count what is down, so that a tab in the
// background is a monitor too.
import { useEffect } from "react";
import { words } from "../words/shared.ts";
import { useDownCount } from "../live/down-count.ts";

const COUNT_SHOWN_MAX = 99;

/** Sets the title of the tab: "(2) 2 jobs need attention · Overdue". Call it once in every page. */
export function usePageTitle(title: string): void {
  const down = useDownCount();
  useEffect(() => {
    document.title = `${down > 0 ? `(${down}) ` : ""}${title} · ${words.product}`;
  }, [title, down]);
}

/** The mark of the house, as the document brought it. */
let mark: string | null = null;

/** Keeps the picture of the tab in step with what is down; the shell calls it. */
export function useFavicon(): void {
  const down = useDownCount();
  useEffect(() => {
    const icon = document.querySelector<HTMLLinkElement>("link[rel~='icon']");
    if (icon === null) return;
    mark ??= icon.href;
    icon.href = down > 0 ? countedIcon(down) : mark;
  }, [down]);
}

/** A red ground, and how many are down. */
function countedIcon(down: number): string {
  const text = down > COUNT_SHOWN_MAX ? `${COUNT_SHOWN_MAX}+` : String(down);
  const size = [0, 24, 20, 15][text.length] ?? 15;
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#d3232f"/><text x="16" y="${16 + size * 0.36}" font-family="system-ui,sans-serif" font-size="${size}" font-weight="700" text-anchor="middle" fill="#fff">${text}</text></svg>`;
  return `data:image/svg+xml,${encodeURIComponent(svg)}`;
}
