// Light, dark, or as the system has it. The server writes the account's choice into the page, so nothing flashes;
// a choice made here holds at once and is kept for this browser.
import { useSyncExternalStore } from "react";
import type { Theme } from "../../src/contract/web/boot.ts";

const listeners = new Set<() => void>();

function current(): Theme {
  const { theme } = document.documentElement.dataset;
  return theme === "light" || theme === "dark" ? theme : "system";
}

/** Shows the page in a theme from now on. Keeping it for the account is up to the caller. */
export function showTheme(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
  for (const listener of listeners) listener();
}

export function useTheme(): Theme {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, current);
}
