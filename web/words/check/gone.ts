// Texts shown for a check that was deleted or moved to another project.
import type { GoneCheck } from "../../../src/contract/web/check-row.ts";

const PASSIVE = { deleted: "This check was deleted", moved: "This check was moved" } as const;

/** "ann@example.org deleted this check today 14:02." */
export function goneSentence({ how, by }: Pick<GoneCheck, "how" | "by">, when: string): string {
  switch (by?.kind) {
    case "you":
      return `You ${how} this check ${when}.`;
    case "person":
      return `${by.email} ${how} this check ${when}.`;
    case "key":
      return `${PASSIVE[how]} ${when} with a project API key.`;
    case undefined:
      return `${PASSIVE[how]} ${when}.`;
  }
}

export const goneWords = {
  tabs: { deleted: (name: string) => `${name} was deleted`, moved: (name: string) => `${name} was moved` },
  kept: (until: string) =>
    `It is kept with its history until ${until}. Its ping URL works again as soon as you restore it.`,
  keptForOthers: (until: string) =>
    `It is kept until ${until}. Project members who can edit checks can restore it.`,
  forGood: "It can't be restored. Its history was deleted too.",
  elsewhere: "It kept its URL and history, but you aren't a member of its new project.",
  deletedUnknown: "This check was deleted.",
  stillTyped: "Your changes are still here. Restore the check to save them, or copy what you need.",
  restore: "Restore check",
  back: "Restore",
  checks: "View checks",
  here: (from: string, to: string) =>
    `It moved from ${from} to ${to} and kept its URL and history. The channels of ${to} are notified about it.`,
  unknownProject: "another project",
  movedUnknown: "This check was moved to another project.",
  moveBack: "Move back",
} as const;
