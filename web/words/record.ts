// Texts of the audit log.
import { plural } from "./number.ts";

export const recordWords = {
  none: {
    title: "No changes yet",
    text: "The audit log lists every change to checks, channels, keys and members: who made it, and the values before and after.",
  },
  columns: { when: "When", who: "Who", what: "Action", change: "Before → after" },
  nobody: "command line",
  key: (prefix: string) => `key ${prefix}`,
  older: "Older changes",
  end: "No older changes. The audit log keeps one year.",
  nothing: "none",
  empty: "empty",
  /** Names of stored values. */
  names: { readOnly: "read-only", readWrite: "read and write" } as Readonly<Record<string, string>>,
  yes: "yes",
  no: "no",
  more: (count: number) => `and ${plural(count, "more field")}`,
} as const;
