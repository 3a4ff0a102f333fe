// Texts of the checks page that the server renders too. All other texts on screen are in web/words.
import { downtimeText } from "../../core/duration-text.ts";
import { SECOND_MS } from "../../core/instant.ts";
import type { ProjectHead, StateCounts } from "./boot.ts";
import type { CheckRow, DrawnState, SilentChecks } from "./check-row.ts";
import { FIELD_NAMES } from "./field-names.ts";
import type { EventRow } from "./history.ts";

/** The word next to each shape. */
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
    state: "Status",
    name: "Name",
    expected: "Expected",
    beats: "Last 30 runs",
    duration: "Duration, p95",
    fuse: "Last ping → alert",
  },
  needsAttention: "Needs attention",
  everythingElse: "Everything else",
} as const;

const COUNT = new Intl.NumberFormat("en-GB");

/** "10,000". */
export function formatCount(count: number): string {
  return COUNT.format(count);
}

/** The name of a check, or "unnamed". */
export function checkName({ name }: Pick<CheckRow, "name">): string {
  return name === "" ? "unnamed" : name;
}

type Callable = { name: string; kind: string; config?: Readonly<Record<string, unknown>> };

/** The name of a channel, or its email address, or its kind. */
export function channelName({ name, kind, config }: Callable): string {
  if (name !== "") return name;
  const address = kind === "email" ? config?.["value"] : null;
  return typeof address === "string" ? address : kind;
}

/** The title of the page: what matters, never just "Checks". */
export function checksTitle(counts: StateCounts, total: number): string {
  const need = counts.down + counts.late;
  if (total === 0) return "No checks yet";
  if (counts.down > 0)
    return `${formatCount(counts.down)} ${counts.down === 1 ? "job needs" : "jobs need"} attention`;
  if (need > 0) return `${formatCount(need)} ${need === 1 ? "job is" : "jobs are"} late`;
  const watched = counts.up + counts.running;
  if (watched === 0) return counts.new > 0 ? "Waiting for the first ping" : "All checks are paused";
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
      ? "1 check is down and has no channel."
      : `${formatCount(count)} checks are down and have no channel.`,
  text: ({ channels }: Pick<SilentChecks, "channels">) =>
    channels.length === 0
      ? "No notifications were sent because this project has no enabled channel."
      : "No notifications were sent. Assign a channel to get them from now on.",
} as const;

/** The action that the warning offers; null: none that this user may do. */
export function silentAction({ channels }: SilentChecks, { may }: Pick<ProjectHead, "may">): string | null {
  if (channels.length === 0) return may.includes("editChannels") ? "Add channel" : null;
  return may.includes("editChecks") ? `Notify ${listNames(channels.map(({ name }) => name))}` : null;
}

// Event descriptions for the events page and its downloads, so that search finds the same words in both.

const DOWN_REASONS = {
  timeout: "went down: no ping before the deadline",
  fail: "went down: the job reported a failure",
  tooFast: "went down: the run was shorter than allowed",
  tooOften: "went down: the run started too soon after the previous one",
  success: "went down",
} as const;

const EVENT_SENTENCES: Readonly<Record<string, string>> = {
  paused: "was paused",
  resumed: "was resumed",
  edited: "was edited",
  missed: "missed another run while it was down",
  not_observed: "monitoring gap: pings couldn't be received, so no alerts were sent",
};

/** Of events whose sentence depends on their details. */
const EVENT_DETAILS: Readonly<
  Record<string, (event: { at: number; detail: Readonly<Record<string, unknown>> }) => string | null>
> = {
  late_end: ({ at, detail: { outcome, endedAt } }) => {
    if (typeof endedAt !== "number") return null;
    const result = outcome === "fail" ? "a failure" : "a success";
    return `late report of ${result}: the run ended ${downtimeText((at - endedAt) / SECOND_MS)} earlier`;
  },
  settings_ignored: ({ detail: { warning } }) =>
    typeof warning === "string" ? `was created by a ping. ${warning}` : null,
};

const RETRACTED = "corrected: a ping was received in time";

/** Events searched for one download; limits the load on the database. */
export const EVENTS_IN_FILE_MAX = 10_000;

/** "went down: no ping before the deadline", and whether it was corrected. */
export function eventSentence(event: Exclude<EventRow, { type: "ping" }>): string {
  if (event.type === "flip") {
    const change = event.to === "up" ? "came up" : DOWN_REASONS[event.reason];
    return event.retractedAt === null ? change : `${change}; ${RETRACTED}`;
  }
  const detailed = EVENT_DETAILS[event.kind]?.(event) ?? null;
  if (detailed !== null) return detailed;
  const known = EVENT_SENTENCES[event.kind] ?? event.kind.replaceAll("_", " ");
  const fields = event.kind === "edited" ? editedFields(event.detail) : [];
  return fields.length === 0 ? known : `${known}: ${fields.join(", ")}`;
}

function editedFields(detail: Readonly<Record<string, unknown>>): string[] {
  const { after } = detail;
  if (typeof after !== "object" || after === null) return [];
  return Object.keys(after).map(
    (name) => FIELD_NAMES[name] ?? name.replaceAll(/([A-Z])/g, " $1").toLowerCase(),
  );
}

// How a job sends its ping from a shell. It imports nothing, so that the snippets of a page have the same line as the
// server.

/**
 * The command that sends a ping: curl fails on errors, gives up after 10 s, and retries five times. With `isQuiet`, the
 * response is not shown.
 */
export function curlLine(address: string, { onlyPost = false, isQuiet = false }): string {
  return `curl -fsS -m 10 --retry 5${isQuiet ? " -o /dev/null" : ""}${onlyPost ? " -X POST" : ""} ${address}`;
}

/** Where overdue-run is installed by default. */
export const RUN_PATH = "/usr/local/bin/overdue-run";

/** The command that runs a job and reports it, without the job. */
export function runLine({
  base,
  uuid,
  path = RUN_PATH,
}: {
  base: string;
  uuid: string;
  path?: string;
}): string {
  return `${path} -api-url ${base} -uuid ${uuid}`;
}
