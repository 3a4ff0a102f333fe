// Texts of the dialog that sets one schedule for several checks.

export const schedulesWords = {
  title: (what: string) => `Set schedule for ${what}`,
  about: "This schedule replaces the current schedule of each selected check.",
  now: "Current",
  more: (count: number) => `and ${count.toLocaleString("en-GB")} more`,
  act: (what: string) => `Set for ${what}`,
  done: (what: string) => `Schedule set for ${what}.`,
} as const;
