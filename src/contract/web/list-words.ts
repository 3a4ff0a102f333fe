// What the page of checks says before its script runs as well as afterwards: the server draws the first rows with the
// same words. Everything else that is said on screen stands in web/words.
import type { ProjectHead, StateCounts } from "./boot.ts";
import type { CheckRow, DrawnState } from "./check-row.ts";
import type { SilentChecks } from "./silent.ts";

/** The word beside each shape. */
export const STATE_WORDS: Readonly<Record<DrawnState, string>> = {
  new: "new",
  up: "up",
  late: "late",
  down: "down",
  paused: "paused",
  running: "running",
};

export const LIST_WORDS = {
  list: "Checks",
  columns: {
    state: "State",
    name: "Name",
    expected: "Expected",
    beats: "Last 30 runs",
    duration: "Duration, p95",
    fuse: "Last signal → alert",
  },
  needsAttention: "Needs attention",
  everythingElse: "Everything else",
} as const;

const COUNT = new Intl.NumberFormat("en-GB");
const SMALL = [
  "No",
  "One",
  "Two",
  "Three",
  "Four",
  "Five",
  "Six",
  "Seven",
  "Eight",
  "Nine",
  "Ten",
  "Eleven",
  "Twelve",
];

/** "10,000". */
export function formatCount(count: number): string {
  return COUNT.format(count);
}

/** "Two" up to twelve, "13" from there on: for the beginning of a sentence. */
export function numberWord(count: number): string {
  return SMALL[count] ?? formatCount(count);
}

/** A check may have no name; it still needs something to be called by. */
export function checkName({ name }: Pick<CheckRow, "name">): string {
  return name === "" ? "unnamed" : name;
}

type Callable = { name: string; kind: string; config?: Readonly<Record<string, unknown>> };

/** What a channel is called: its name, or the address that it writes to, or at least how it tells. */
export function channelName({ name, kind, config }: Callable): string {
  if (name !== "") return name;
  const address = kind === "email" ? config?.["value"] : null;
  return typeof address === "string" ? address : kind;
}

/** The title of the page: what matters, never just "Checks". */
export function checksTitle(counts: StateCounts, total: number): string {
  const need = counts.down + counts.late;
  if (total === 0) return "Nothing is watched yet";
  if (counts.down > 0)
    return `${numberWord(counts.down)} ${counts.down === 1 ? "job needs" : "jobs need"} you`;
  if (need > 0) return `${numberWord(need)} ${need === 1 ? "job is" : "jobs are"} late`;
  const watched = counts.up + counts.running;
  if (watched === 0) return counts.new > 0 ? "Waiting for the first signals" : "All checks are paused";
  if (watched <= 2) return watched === 1 ? "The job is on time" : "Both jobs are on time";
  return `All ${formatCount(watched)} jobs are on time`;
}

/** "mail-relay", "mail-relay and db", "a, b and 3 more". */
export function listNames(names: readonly string[], shown = 3): string {
  if (names.length <= 1) return names[0] ?? "";
  if (names.length <= shown) return `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
  return `${names.slice(0, shown - 1).join(", ")} and ${formatCount(names.length - shown + 1)} more`;
}

/** The warning above the list: checks are down and no channel is notified. */
export const SILENT_WORDS = {
  label: "Checks without notifications",
  title: (count: number) =>
    count === 1
      ? "1 check is down and notifies no channel."
      : `${formatCount(count)} checks are down and notify no channel.`,
  text: ({ channels }: Pick<SilentChecks, "channels">) =>
    channels.length === 0
      ? "This project has no channel in use yet, so nobody was alerted."
      : "Nobody was alerted. Assign a channel to get notifications from now on.",
} as const;

/** What the warning offers to do; null: nothing that this person may do. */
export function silentAction({ channels }: SilentChecks, { may }: Pick<ProjectHead, "may">): string | null {
  if (channels.length === 0) return may.includes("editChannels") ? "Add a channel" : null;
  return may.includes("editChecks") ? `Notify ${listNames(channels.map(({ name }) => name))}` : null;
}
