// Light, dark, or as the system has it. The server writes the account's choice into the page, so nothing flashes;
// a choice made here holds at once and is kept for this browser.
import { useSyncExternalStore } from "react";
import { type Theme, THEME_COOKIE } from "../../src/contract/web/boot.ts";
import { boot } from "./boot.ts";

const listeners = new Set<() => void>();

function current(): Theme {
  const { theme } = document.documentElement.dataset;
  return theme === "light" || theme === "dark" ? theme : "system";
}

const YEAR_SECONDS = 31_536_000;

/** For pages that know no account: those of signing in, and those of the API. */
function remember(theme: Theme): void {
  if (boot.account === null) return;
  document.cookie = `${THEME_COOKIE}=${theme}; path=${boot.site.base}/; max-age=${YEAR_SECONDS}; samesite=lax`;
}
remember(current());

/** Shows the page in a theme from now on. Keeping it for the account is up to the caller. */
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
