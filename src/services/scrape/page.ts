// The statuses of a project's checks in the text format of Prometheus. Names and labels are those that dashboards
// made for the reference server know. It is made in pieces, so that other requests get their turn in between.
import { setImmediate } from "node:timers/promises";
import { splitTags, uniqueKey } from "../../core/identity.ts";
import type { Instant } from "../../core/instant.ts";
import { TAGS_LISTED_MAX } from "../../core/limits.ts";
import { quickStatusAt } from "../../core/machine/quick-status.ts";
import { type ShownStatus, startedAt } from "../../core/machine/status.ts";
import { sha1Hex } from "../../lib/secrets/hashes.ts";
import type { ScrapedCheck } from "../../store/checks/check-statuses.ts";

/** How many lines are written before other requests are served: about a millisecond. */
const PIECE = 500;
/** How many checks are looked at before other requests are served; a check has up to 250 tags. */
const CHECKS_AT_ONCE = 50;

type Sampled = { labels: string; status: ShownStatus; isStarted: boolean };

type Family = { name: string; help: string; isOne: (check: Sampled) => boolean };

const CHECK_FAMILIES: readonly Family[] = [
  {
    name: "hc_check_up",
    help: "0 while the check is down, otherwise 1.",
    isOne: ({ status }) => status !== "down",
  },
  {
    name: "hc_check_started",
    help: "1 while a run of the check is in progress, otherwise 0.",
    isOne: ({ isStarted }) => isStarted,
  },
  {
    name: "hc_check_grace",
    help: "1 while the check is late but within its grace period, otherwise 0.",
    isOne: ({ status }) => status === "grace",
  },
  {
    name: "hc_check_paused",
    help: "1 while the check is paused, otherwise 0.",
    isOne: ({ status }) => status === "paused",
  },
];

/** The page, piece by piece. */
export async function* scrapePage(checks: readonly ScrapedCheck[], now: Instant): AsyncGenerator<string> {
  const sampled: Sampled[] = [];
  const isTagUp = new Map<string, boolean>();
  let downCount = 0;
  for (const [index, check] of checks.entries()) {
    if (index % CHECKS_AT_ONCE === CHECKS_AT_ONCE - 1) await setImmediate();
    const status = quickStatusAt(check, now);
    if (status === "down") downCount += 1;
    for (const tag of splitTags(check.tags)) {
      const isUp = isTagUp.get(tag);
      if (isUp === undefined && isTagUp.size >= TAGS_LISTED_MAX) continue;
      isTagUp.set(tag, (isUp ?? true) && status !== "down");
    }
    sampled.push({ labels: labelsOf(check), status, isStarted: startedAt(check) !== null });
  }
  for (const { name, help, isOne } of CHECK_FAMILIES) {
    yield headOf(name, help);
    yield* inPieces(sampled, (check) => `${name}${check.labels} ${isOne(check) ? 1 : 0}\n`);
  }
  yield headOf("hc_tag_up", "0 while a check with the tag is down, otherwise 1.");
  yield* inPieces([...isTagUp], ([tag, isUp]) => `hc_tag_up{tag="${escaped(tag)}"} ${isUp ? 1 : 0}\n`);
  yield `${headOf("hc_checks_total", "Number of checks.")}hc_checks_total ${checks.length}\n`;
  yield `${headOf("hc_checks_down_total", "Number of checks that are down.")}hc_checks_down_total ${downCount}\n`;
}

/** What tells a check from others: its UUID is not shown, since whoever knows it could ping. */
function labelsOf({ name, tags, uuid }: ScrapedCheck): string {
  const key = uniqueKey(uuid, sha1Hex);
  return `{name="${escaped(name)}", tags="${escaped(tags)}", unique_key="${key}"}`;
}

function headOf(name: string, help: string): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} gauge\n`;
}

async function* inPieces<T>(items: readonly T[], line: (item: T) => string): AsyncGenerator<string> {
  for (let at = 0; at < items.length; at += PIECE) {
    await setImmediate();
    yield items
      .slice(at, at + PIECE)
      .map(line)
      .join("");
  }
}

const ESCAPES: Readonly<Record<string, string>> = { "\\": "\\\\", '"': '\\"', "\n": "\\n" };

function escaped(text: string): string {
  return text.replace(/[\\"\n]/g, (character) => ESCAPES[character] ?? "");
}
