// Texts of the projects page.
import type { ProjectCard } from "../../src/contract/web/boot.ts";
import { plural } from "./number.ts";

/** The title: the most important status across all projects. */
export function projectsTitle(cards: readonly ProjectCard[]): string {
  let down = 0;
  let late = 0;
  for (const { counts } of cards) {
    down += counts.down;
    late += counts.late;
  }
  if (cards.length === 0) return "Projects";
  if (down > 0) {
    const broken = cards.filter(({ counts }) => counts.down > 0).length;
    const jobs = `${plural(down, "job needs", "jobs need")} attention`;
    return broken > 1 ? `${jobs} in ${plural(broken, "project")}` : jobs;
  }
  if (late > 0) return `${plural(late, "job is", "jobs are")} late`;
  return cards.length === 1 ? "No problems" : `No problems in ${plural(cards.length, "project")}`;
}

export const projectsWords = {
  new: "New project",
  newAbout: "Each project has its own checks, channels, API keys and members.",
  name: "Name",
  create: "Create project",
  empty: "No checks yet",
  emptyNext: "Open the project to add the first check",
  noFlip: "No recent changes",
  wentDown: "went down",
  cameUp: "came up",
  roles: { owner: "owner", manager: "manager", member: "member", readOnly: "read-only" },
  none: {
    title: "No projects yet",
    text: "Create a project, or ask for an invitation to an existing one.",
  },
} as const;
