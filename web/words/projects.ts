// What the page of projects says.
import { numberWord } from "../../src/contract/web/list-words.ts";
import type { ProjectCard } from "../../src/contract/web/boot.ts";

/** The title: what matters in all projects together. */
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
    const jobs = `${numberWord(down)} ${down === 1 ? "job needs" : "jobs need"} you`;
    return broken > 1 ? `${jobs} in ${numberWord(broken).toLowerCase()} projects` : jobs;
  }
  if (late > 0) return `${numberWord(late)} ${late === 1 ? "job is" : "jobs are"} late`;
  return cards.length === 1
    ? "All is well"
    : `All is well in ${numberWord(cards.length).toLowerCase()} projects`;
}

export const projectsWords = {
  new: "New project",
  newAbout: "A project has checks, channels, keys and members of its own.",
  name: "Name",
  create: "Create project",
  empty: "Nothing is watched yet",
  emptyNext: "Open it and add the first check",
  noFlip: "Nothing has changed lately",
  wentDown: "went down",
  cameUp: "came up",
  roles: { owner: "owner", manager: "manager", member: "member", readOnly: "read-only" },
  none: {
    title: "You are in no project yet",
    text: "Create one, or ask somebody to invite you into theirs.",
  },
} as const;
