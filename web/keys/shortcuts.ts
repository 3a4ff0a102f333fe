// Every shortcut: what is pressed, what it does, and where it stands in the help. Pages register theirs while they
// are shown; nothing listens while somebody types or a window is open.
import { useLayoutEffect, useRef, useSyncExternalStore } from "react";
import { tinykeys } from "tinykeys";
import { TYPED_INTO } from "./keep-focus.ts";
import { isSwitchedOff } from "./single-keys.ts";

export type Shortcut = {
  /** As tinykeys reads it: "j", "g c", "$mod+k", "Shift+?". */
  keys: string;
  /** What the help says: "Move down". */
  says: string;
  group: string;
  run: (event: KeyboardEvent) => void;
  /** Also while a window is open; and, with Ctrl, while a field or a menu has the focus. */
  always?: boolean;
};

let known: readonly Shortcut[] = [];
const listeners = new Set<() => void>();

function tell(next: readonly Shortcut[]): void {
  known = next;
  for (const listener of listeners) listener();
}

/** All shortcuts that work now, for the help. */
export function useKnownShortcuts(): readonly Shortcut[] {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => known,
  );
}

/** Makes shortcuts work as long as the component is shown. The list may be made anew on every drawing. */
export function useShortcuts(shortcuts: readonly Shortcut[]): void {
  const latest = useRef(shortcuts);
  // Both before the page is painted: whoever sees it can press keys.
  useLayoutEffect(() => {
    latest.current = shortcuts;
  });
  const shape = shortcuts.map(({ keys, says }) => `${keys} ${says}`).join("\n");
  useLayoutEffect(() => {
    const mine = latest.current.map((shortcut, index) => ({
      ...shortcut,
      run: (event: KeyboardEvent) => {
        if (isSwitchedOff(shortcut.keys) || isTaken(event, shortcut.always === true)) return;
        event.preventDefault();
        latest.current[index]?.run(event);
      },
    }));
    tell([...known, ...mine]);
    // Whether a field has the focus is judged by each shortcut; without this none would ever be heard from there.
    const heard = { ignore: ({ repeat }: KeyboardEvent) => repeat };
    const stop = tinykeys(window, Object.fromEntries(mine.map(({ keys, run }) => [keys, run])), heard);
    return () => {
      stop();
      tell(known.filter((shortcut) => !mine.some((one) => one === shortcut)));
    };
    // The list is new on every drawing; what it says is not, and what it does is always the latest.
  }, [shape]);
}

/** What letters mean something to: in a menu they find an entry. */
const TAKES_LETTERS = `${TYPED_INTO}, [role=menu]`;

/** A key belongs to the field or menu that has the focus, or to the window that is open; with Ctrl it may be everybody's. */
function isTaken(event: KeyboardEvent, always: boolean): boolean {
  if (event.isComposing) return true;
  const target = event.target instanceof HTMLElement ? event.target : null;
  if (target === null) return false;
  const isTyping = target.isContentEditable || target.closest(TAKES_LETTERS) !== null;
  if (isTyping) return !always || !(event.ctrlKey || event.metaKey);
  return !always && target.closest("[role=dialog]") !== null;
}
