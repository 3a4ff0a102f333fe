import { useLayoutEffect, useRef, useSyncExternalStore } from "react";
import { tinykeys } from "tinykeys";

// Where the focus goes when the focused element is removed. Browsers would move it to the top of the page.

/** More than the longest form has fields, so the focus returns even after all of them had it. */
const REMEMBERED_MAX = 200;
/** A dialog that opens has taken the focus by then. */
const SETTLED_MS = 50;
/** Elements that take text; checkboxes do not. */
const TYPED_INTO = "input:not([type=checkbox], [type=radio]), textarea, select";

/** The elements that had the focus, newest first, and their page. */
type Step = { place: HTMLElement; path: string };
let trail: readonly Step[] = [];
/** A tap must not open the keyboard of a phone, nor move the page. */
let isByPointer = false;
/** A click elsewhere moves the focus on purpose. */
let hasLeft = true;
let timer: ReturnType<typeof setTimeout> | undefined;

/** Starts tracking the focus; called once. */
export function keepFocus(): void {
  document.addEventListener("focusin", ({ target }) => {
    if (!(target instanceof HTMLElement)) return;
    hasLeft = false;
    const others = trail.filter(({ place }) => place !== target);
    trail = [{ place: target, path: location.pathname }, ...others].slice(0, REMEMBERED_MAX);
  });
  document.addEventListener("keydown", () => (isByPointer = false), true);
  document.addEventListener("keydown", noteKey, true);
  const point = () => {
    isByPointer = true;
    hasLeft = true;
  };
  document.addEventListener("pointerdown", point, true);
  const watched = { childList: true, subtree: true, attributes: true, attributeFilter: ["disabled"] };
  new MutationObserver(look).observe(document.body, watched);
}

function look(): void {
  const [last] = trail;
  if (hasLeft || last === undefined || canHold(last.place)) return;
  clearTimeout(timer);
  timer = setTimeout(focusBack, SETTLED_MS);
}

/** Focuses the last focused element that is still on this page, or the page, if nothing has the focus. */
export function focusBack(): void {
  if (document.activeElement !== null && document.activeElement !== document.body) return;
  const before = trail.find(({ place, path }) => path === location.pathname && isWayBack(place));
  if (before === undefined) document.getElementById("content")?.focus({ preventScroll: true });
  else before.place.focus({ preventScroll: isByPointer });
}

function isWayBack(place: HTMLElement): boolean {
  return canHold(place) && place.checkVisibility() && !(isByPointer && place.matches(TYPED_INTO));
}

function canHold(place: HTMLElement): boolean {
  return place.isConnected && !place.matches(":disabled");
}

// Whether single-key shortcuts are enabled. Stored in the browser, because it depends on the keyboard.

const KEPT = "overdue.single-keys";
const OFF = "off";

let areOn = localStorage.getItem(KEPT) !== OFF;
const singleKeyListeners = new Set<() => void>();

export function switchSingleKeys(isOn: boolean): void {
  areOn = isOn;
  if (isOn) localStorage.removeItem(KEPT);
  else localStorage.setItem(KEPT, OFF);
  for (const listener of singleKeyListeners) listener();
}

/** Whether a shortcut is switched off. "j", "g c" and "Shift+?" can be; "Escape", "ArrowLeft" and "$mod+k" cannot. */
function isSwitchedOff(keys: string): boolean {
  return !areOn && keys.split(" ").every((key) => /^(Shift\+)?.$/u.test(key));
}

export function useSingleKeys(): boolean {
  return useSyncExternalStore(
    (listener) => {
      singleKeyListeners.add(listener);
      return () => singleKeyListeners.delete(listener);
    },
    () => areOn,
  );
}

// All shortcuts. Pages register theirs while they are shown. Ignored while the user types or a dialog is open.

export type Shortcut = {
  /** As tinykeys reads it: "j", "g c", "$mod+k", "Shift+?". */
  keys: string;
  /** The description in the help: "Move down". */
  label: string;
  group: string;
  run: (event: KeyboardEvent) => void;
  /** Also while a dialog is open; and, with Ctrl, while a field or a menu has the focus. */
  always?: boolean;
  /** Another key for what is in the help already. */
  isUnlisted?: boolean;
};

let known: readonly Shortcut[] = [];
const listeners = new Set<() => void>();

function update(next: readonly Shortcut[]): void {
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

/** Registers shortcuts as long as the component is mounted. The list may be a new one on every render. */
export function useShortcuts(shortcuts: readonly Shortcut[]): void {
  const latest = useRef(shortcuts);
  // Before the page is painted, so that keys work as soon as it is visible.
  useLayoutEffect(() => {
    latest.current = shortcuts;
  });
  const shape = shortcuts.map(({ keys, label }) => `${keys} ${label}`).join("\n");
  useLayoutEffect(() => {
    const mine = latest.current.map((shortcut, index) => ({
      ...shortcut,
      run: (event: KeyboardEvent) => {
        if (isSwitchedOff(shortcut.keys) || isTaken(event, shortcut.always === true)) return;
        if (shortcut.keys === event.key && known.some(({ keys }) => keys === pair)) return;
        event.preventDefault();
        latest.current[index]?.run(event);
      },
    }));
    update([...known, ...mine]);
    // Each shortcut checks whether a field has the focus, so tinykeys must not ignore events from fields.
    const options = { ignore: ({ repeat }: KeyboardEvent) => repeat };
    const stop = tinykeys(window, Object.fromEntries(mine.map(({ keys, run }) => [keys, run])), options);
    return () => {
      stop();
      update(known.filter((shortcut) => !mine.some((one) => one === shortcut)));
    };
    // The list is new on every render; its keys are not, and its actions are always the latest.
  }, [shape]);
}

/** How long after the first key of a shortcut such as "g s" the second one counts; as in tinykeys. */
const SEQUENCE_MS = 1_000;
let lastKey = { key: "", atMs: 0 };
/** The last two keys, if they were pressed one right after the other: "g s" is not also "s". */
let pair = "";

function noteKey({ key, timeStamp }: KeyboardEvent): void {
  pair = timeStamp - lastKey.atMs < SEQUENCE_MS ? `${lastKey.key} ${key}` : "";
  lastKey = { key, atMs: timeStamp };
}

/** Elements that use letter keys themselves: in a menu they select an entry. */
const TAKES_LETTERS = `${TYPED_INTO}, [role=menu]`;

/** Whether a key belongs to the focused field or menu, or to an open dialog. With Ctrl, a shortcut may still get it. */
function isTaken(event: KeyboardEvent, always: boolean): boolean {
  if (event.isComposing) return true;
  const target = event.target instanceof HTMLElement ? event.target : null;
  if (target === null) return false;
  const isTyping = target.isContentEditable || target.closest(TAKES_LETTERS) !== null;
  if (isTyping) return !always || !(event.ctrlKey || event.metaKey);
  return !always && target.closest("[role=dialog]") !== null;
}
