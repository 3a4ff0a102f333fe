// How many checks of each known project are down: the number in the rail, in the title and in the tab's picture.
import { useSyncExternalStore } from "react";

const counts = new Map<string, number>();
const listeners = new Set<() => void>();
let shownProject: string | null = null;

/** Whoever learns how many checks of a project are down says so here. */
export function tellDown(project: string, count: number): void {
  if (counts.get(project) === count) return;
  counts.set(project, count);
  tell();
}

/** Which project the tab is about; null: all of them. */
export function countDownOf(project: string | null): void {
  if (shownProject === project) return;
  shownProject = project;
  tell();
}

/** Of the project that the tab is about, or of the given one. */
export function useDownCount(project?: string): number {
  return useSyncExternalStore(listen, () => downCount(project));
}

/** The same for whoever asks once. */
export function downCount(project?: string): number {
  const of = project ?? shownProject;
  if (of !== null) return counts.get(of) ?? 0;
  let sum = 0;
  for (const count of counts.values()) sum += count;
  return sum;
}

function tell(): void {
  for (const listener of listeners) listener();
}

function listen(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
