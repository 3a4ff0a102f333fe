// What is said where many checks get one schedule.

export const schedulesWords = {
  title: (what: string) => `Schedule of ${what}`,
  about: "Each of them is expected by this schedule from now on, whatever it was before.",
  now: "Now",
  more: (count: number) => `and ${count.toLocaleString("en-GB")} more`,
  act: (what: string) => `Set for ${what}`,
  done: (what: string) => `Set the schedule of ${what}.`,
} as const;
