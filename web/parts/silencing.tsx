// The form that silences checks, over any page: rows, menus and shortcuts open it.
import { lazy, Suspense, useSyncExternalStore } from "react";

type Asked = { project: string; checks: readonly string[]; onDone?: () => void };

let asked: Asked | null = null;
const listeners = new Set<() => void>();

/** Opens the form to silence these checks. */
export function askToSilence(next: Asked | null): void {
  asked = next;
  for (const listener of listeners) listener();
}

const NewSilenceDrawer = lazy(async () => ({
  default: (await import("../pages/silence-form.tsx")).NewSilenceDrawer,
}));

/** On every page that can open the form. */
export function SilenceWindow() {
  const open = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => asked,
  );
  if (open === null) return null;
  return (
    <Suspense>
      <NewSilenceDrawer {...open} onClose={() => askToSilence(null)} />
    </Suspense>
  );
}
