// What this person may do in which project, as the server said with the page. It decides nothing.
import type { ProjectHead, ProjectRight } from "../../src/contract/web/boot.ts";
import { boot } from "./boot.ts";

export function mayIn(project: string, right: ProjectRight): boolean {
  return boot.projects.find(({ id }) => id === project)?.may.includes(right) ?? false;
}

/** Other projects into which this person may put a check. */
export function otherProjects(project: string): ProjectHead[] {
  return boot.projects.filter(({ id, may }) => id !== project && may.includes("editChecks"));
}
