// What the page of a check says once the check has left: deleted, or moved to another project.
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
      return `${PASSIVE[how]} ${when}, with an API key of the project.`;
    case undefined:
      return `${PASSIVE[how]} ${when}.`;
  }
}

export const goneWords = {
  tabs: { deleted: (name: string) => `${name} was deleted`, moved: (name: string) => `${name} was moved` },
  kept: (until: string) =>
    `It is kept until ${until}, with all its history. Its ping address answers again as soon as it is back.`,
  keptForOthers: (until: string) =>
    `It is kept until ${until}. Whoever may change checks in this project can take it back.`,
  forGood: "It cannot be taken back: its history was deleted with it.",
  elsewhere: "It is in a project that you are no member of, with its address and its history.",
  deletedUnknown: "This check was deleted.",
  stillTyped: "What you entered is still here. Restore the check to save it, or copy what you need.",
  restore: "Restore check",
  back: "Take back",
  checks: "To the checks",
  here: (from: string, to: string) =>
    `It was in ${from} and is in ${to} now, with its address and its history. The channels of ${to} are told about it.`,
  unknownProject: "another project",
  movedUnknown: "This check was moved to another project.",
  moveBack: "Move back",
} as const;
