// Whether this tab has lost the server: the projects that it listens to and whose stream is interrupted.
import { useSyncExternalStore } from "react";

const interrupted = new Set<string>();
const listeners = new Set<() => void>();

export function noteInterrupted(project: string, isInterrupted: boolean): void {
  if (interrupted.has(project) === isInterrupted) return;
  if (isInterrupted) interrupted.add(project);
  else interrupted.delete(project);
  for (const listener of listeners) listener();
}

/** Also true as soon as the browser itself has no network. */
export function useDisconnected(): boolean {
  return useSyncExternalStore(listen, () => !navigator.onLine || interrupted.size > 0);
}

function listen(listener: () => void): () => void {
  listeners.add(listener);
  addEventListener("online", listener);
  addEventListener("offline", listener);
  return () => {
    listeners.delete(listener);
    removeEventListener("online", listener);
    removeEventListener("offline", listener);
  };
}
