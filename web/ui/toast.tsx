// Messages about what was done, with undo. They stay while the pointer or the focus is on them. While a dialog is
// open they are inside it, because nothing outside can be reached.
import { useEffect, useLayoutEffect, useState, useSyncExternalStore } from "react";
import { errorText } from "../api.ts";
import { useShortcuts } from "../shortcuts.ts";
import { paletteWords, words } from "../words/shared.ts";
import { Icon, Keys } from "./button.tsx";

/** Long enough to read and to reach, short enough not to disturb. */
const SHOWN_MS = 8_000;
const TOASTS_MAX = 3;

export type Toast = { text: string; kind?: "done" | "trouble"; undo?: () => Promise<unknown> };
type Shown = Toast & { key: number };

let shown: readonly Shown[] = [];
let lastKey = 0;
/** The open dialogs, the topmost last. */
let windows: readonly symbol[] = [];
const listeners = new Set<() => void>();

function listen(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function update(next: readonly Shown[]): void {
  shown = next;
  for (const listener of listeners) listener();
}

function setWindows(next: readonly symbol[]): void {
  windows = next;
  for (const listener of listeners) listener();
}

/** Shows a message about what was done; with `undo` it can be undone. */
export function toast(one: Toast): void {
  lastKey += 1;
  update([...shown, { ...one, key: lastKey }].slice(-TOASTS_MAX));
}

/** Shows an error message. */
export function toastError(error: unknown): void {
  toast({ kind: "trouble", text: errorText(error) });
}

function dismiss(key: number): void {
  update(shown.filter((one) => one.key !== key));
}

/** Undoes the newest action that can still be undone. */
export function undoLast(): void {
  const last = shown.findLast(({ undo }) => undo !== undefined);
  if (last !== undefined) takeBack(last);
}

function takeBack({ key, undo }: Shown): void {
  dismiss(key);
  undo?.().catch(toastError);
}

/** Wraps the whole page, once. */
export function Toasts() {
  // Keyboard users could not reach the message in time otherwise.
  const undo = { keys: "z", label: words.undoLast, group: paletteWords.everywhere };
  useShortcuts([{ ...undo, run: undoLast, always: true }]);
  return <Lines of={null} />;
}

/** At the end of every dialog. */
export function WindowToasts() {
  const [me] = useState(() => Symbol("window"));
  useLayoutEffect(() => {
    setWindows([...windows, me]);
    return () => setWindows(windows.filter((one) => one !== me));
  }, [me]);
  return <Lines of={me} />;
}

/** The region exists before there is a message: screen readers only announce content that is added later. */
function Lines({ of: place }: { of: symbol | null }) {
  const all = useSyncExternalStore(listen, () => shown);
  const uppermost = useSyncExternalStore(listen, () => windows.at(-1) ?? null);
  return (
    <div className="toasts" role="status" aria-live="polite">
      {place === uppermost && all.map((one) => <ToastLine key={one.key} one={one} />)}
    </div>
  );
}

function ToastLine({ one }: { one: Shown }) {
  const [isHeld, setHeld] = useState(false);
  useEffect(() => {
    if (isHeld) return undefined;
    const timer = setTimeout(() => dismiss(one.key), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [isHeld, one.key]);
  const hold = {
    onPointerEnter: () => setHeld(true),
    onPointerLeave: () => setHeld(false),
    onFocus: () => setHeld(true),
    onBlur: () => setHeld(false),
  };
  return (
    <div className={`toast is-${one.kind ?? "done"}`} {...hold}>
      <span className="toast-text">{one.text}</span>
      {one.undo !== undefined && (
        <button type="button" className="toast-undo" aria-keyshortcuts="z" onClick={() => takeBack(one)}>
          {words.undo}
          <span aria-hidden="true">
            <Keys keys="z" />
          </span>
        </button>
      )}
      <button type="button" className="toast-close" aria-label={words.close} onClick={() => dismiss(one.key)}>
        <Icon name="cross" size={14} />
      </button>
    </div>
  );
}
