// Which of the two windows that belong to no page is open: the palette or the list of shortcuts.
import { useSyncExternalStore } from "react";

type Opened = "palette" | "help" | null;

let opened: Opened = null;
const listeners = new Set<() => void>();

function show(next: Opened): void {
  opened = next;
  for (const listener of listeners) listener();
}

export const openPalette = (): void => show("palette");
export const openHelp = (): void => show("help");
export const closeWindows = (): void => show(null);

export function useOpened(): Opened {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => opened,
  );
}
