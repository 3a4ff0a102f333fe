// What the record of changes says.
import { plural } from "./number.ts";

export const recordWords = {
  none: {
    title: "Nothing has been changed yet",
    text: "Every change of checks, channels, keys and people is written down here: who, what, before and after.",
  },
  columns: { when: "When", who: "Who", what: "What", change: "Before → after" },
  nobody: "command line",
  key: (prefix: string) => `key ${prefix}`,
  older: "Older changes",
  end: "That is everything that is kept: changes of the last year.",
  nothing: "nothing",
  empty: "empty",
  /** Names that only the program knows. */
  names: { readOnly: "read-only", readWrite: "read and write" } as Readonly<Record<string, string>>,
  fields: {
    graceSeconds: "grace period",
    timeoutSeconds: "interval",
    tz: "time zone",
    desc: "description",
  } as Readonly<Record<string, string>>,
  yes: "yes",
  no: "no",
  more: (count: number) => `and ${plural(count, "more field")}`,
} as const;
