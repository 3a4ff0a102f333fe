// Whether single letters do something: whoever speaks to the computer, or hits keys by accident, can switch them off.
// Kept by the browser, because it is about the keyboard that stands before it.
import { useSyncExternalStore } from "react";

const KEPT = "overdue.single-keys";
const OFF = "off";

let areOn = localStorage.getItem(KEPT) !== OFF;
const listeners = new Set<() => void>();

export function switchSingleKeys(isOn: boolean): void {
  areOn = isOn;
  if (isOn) localStorage.removeItem(KEPT);
  else localStorage.setItem(KEPT, OFF);
  for (const listener of listeners) listener();
}

/** Whether a shortcut is switched off. "j", "g c" and "Shift+?" can be; "Escape", "ArrowLeft" and "$mod+k" cannot. */
export function isSwitchedOff(keys: string): boolean {
  return !areOn && keys.split(" ").every((key) => /^(Shift\+)?.$/u.test(key));
}

export function useSingleKeys(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => areOn,
  );
}
