// The project that the shell shows: the one of the page, or the last one on pages that belong to none.
import { useEffect, useSyncExternalStore } from "react";
import type { ProjectHead } from "../../src/contract/web/boot.ts";
import { boot } from "../boot/boot.ts";

const REMEMBERED = "overdue.project";

let currentId: string | null = sessionStorage.getItem(REMEMBERED);
const listeners = new Set<() => void>();

/** Tells the shell which project the page belongs to; a page that learns it from an answer calls this itself. */
export function useShowProject(id: string | null | undefined): void {
  useEffect(() => {
    if (id === null || id === undefined || id === currentId) return;
    currentId = id;
    sessionStorage.setItem(REMEMBERED, id);
    for (const listener of listeners) listener();
  }, [id]);
}

/** Shows a project under its new name from now on. */
export function renameShown(id: string, name: string): void {
  const index = boot.projects.findIndex((project) => project.id === id);
  const project = boot.projects[index];
  if (project === undefined) return;
  boot.projects[index] = { ...project, name };
  for (const listener of listeners) listener();
}

/** The project in the rail; null when the account has none. */
export function useCurrentProject(): ProjectHead | null {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, currentProject);
}

/** The same for whoever asks once, and not while something is drawn. */
export function currentProject(): ProjectHead | null {
  return boot.projects.find(({ id }) => id === currentId) ?? boot.projects[0] ?? null;
}
