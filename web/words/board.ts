// Texts of the wall board and of its share links.
import type { BoardCard, BoardHeadline, BoardTally } from "../../src/contract/api/board.ts";
import { formatCount } from "../../src/contract/api/words.ts";
import { plural } from "./format.ts";

type IncidentCard = Extract<BoardCard, { kind: "open" | "acknowledged" }>;

const CAUSES: Readonly<Record<NonNullable<IncidentCard["cause"]>, string>> = {
  failed: "Reported a failure",
  missed: "No ping before the deadline",
  overrun: "A run took too long",
  tooFast: "A run was too short",
  tooOften: "A run started too soon",
};

function are(count: number): string {
  return count === 1 ? "is" : "are";
}

/** The checks that are neither down nor late: "128 are on time, 2 are paused". */
function others({ up, new: fresh, paused }: BoardTally): string {
  const parts = [
    ...(up > 0 ? [`${formatCount(up)} ${are(up)} on time`] : []),
    ...(fresh > 0 ? [`${formatCount(fresh)} ${are(fresh)} new`] : []),
    ...(paused > 0 ? [`${formatCount(paused)} ${are(paused)} paused`] : []),
  ];
  return parts.length === 0 ? "" : `${parts.join(", ")}.`;
}

export const boardWords = {
  tab: "Wall board",
  headline: (headline: BoardHeadline): string => {
    switch (headline.kind) {
      case "empty":
        return "No checks yet";
      case "tagDown":
        return `${headline.tag}: ${plural(headline.count, "check")} down`;
      case "down":
      case "late": {
        const { name, count, kind } = headline;
        return name === null
          ? `${plural(count, "check")} ${are(count)} ${kind}`
          : `${name === "" ? "1 check" : name} is ${kind}`;
      }
      case "fine":
        return headline.count === 0 ? "Nothing to report" : "All checks are on time";
    }
  },
  summary: (counts: BoardTally, total: number): string => {
    const need = counts.down + counts.late;
    if (total === 0) return "The board shows checks as soon as there are some.";
    const first =
      need === 0
        ? ""
        : `${formatCount(need)} of ${plural(total, "check")} ${need === 1 ? "needs" : "need"} attention. `;
    return `${first}${others(counts)}`;
  },
  more: (count: number) => `${plural(count, "more problem")} not shown`,
  problems: "Problems",
  unnamed: "Unnamed check",
  incident: ({ openCount, tag, firstName }: IncidentCard): string => {
    if (openCount === 1) return firstName === "" ? "Unnamed check" : firstName;
    return tag === null
      ? `${plural(openCount, "check")} down`
      : `${plural(openCount, "check")} tagged ${tag}`;
  },
  cause: ({ cause }: IncidentCard): string => (cause === null ? "Down" : CAUSES[cause]),
  notAcknowledged: "Not acknowledged.",
  reminder: (when: string) => `Next reminder ${when}`,
  acknowledged: (by: string | null, at: string) =>
    by === null ? `Acknowledged at ${at}` : `Acknowledged by ${by} at ${at}`,
  down: (reason: "fail" | "timeout" | null, exitStatus: number | null): string => {
    if (reason === "timeout") return CAUSES.missed;
    return exitStatus === null ? CAUSES.failed : `${CAUSES.failed} (exit status ${exitStatus})`;
  },
  noAlert: "No alert is open.",
  late: "until the alert, if no ping arrives",
  expected: (at: string) => `Expected at ${at}`,
  groups: "Checks by tag",
  untagged: "No tag",
  allChecks: "All checks",
  rest: "Other tags",
  groupCount: ({ down, late }: BoardTally, total: number): string => {
    if (down > 0) return `${formatCount(down)} of ${formatCount(total)} down`;
    return late > 0 ? `${formatCount(late)} of ${formatCount(total)} late` : formatCount(total);
  },
  groupLabel: (name: string, total: number, { down, late }: BoardTally) =>
    `${name}: ${plural(total, "check")}, ${formatCount(down)} down, ${formatCount(late)} late`,
  caption: "Each candle is a check. It burns up to its alert; the hatched part is the grace period.",
  summaryCaption: "Bars show the share of checks that are down, late, on time, and new or paused.",
  next: "Next",
  alertDelay: "Median alert delay",
  live: "Live",
  updated: (ago: string) => `updated ${ago}`,
  disconnected: (at: string) => `Disconnected since ${at}`,
  stale: "Data may be out of date.",
  gap: (from: string, to: string) => `Monitoring gap from ${from} to ${to}`,
  invalid: {
    title: "This link doesn't work",
    text: "It may have been revoked. Ask a member of the project for a new link.",
  },
  unreachable: {
    title: "No response from the server",
    text: "The board appears as soon as the server responds.",
  },
} as const;

/** The section on the badges page. */
export const boardLinkWords = {
  title: "Wall boards",
  about:
    "Show this project on a screen in your office. Anyone with a share link can view the board without an account, and nothing else.",
  open: "Open wall board",
  list: "Share links",
  none: "No share links yet.",
  create: "New share link",
  used: "last used",
  neverUsed: "never used",
  created: "created",
  revoke: "Revoke",
  revokeOf: (name: string) => `Revoke ${name}`,
  revokeTitle: (name: string) => `Revoke ${name}?`,
  revokeText: "Screens that use this link stop showing the board. This can't be undone.",
  revoked: "Share link revoked.",
  dialog: {
    title: "New share link",
    about: "Use a separate link for each screen, so you can revoke one without affecting the others.",
    name: "Name",
    namePlaceholder: "Office, 2nd floor",
    create: "Create link",
  },
  made: {
    title: "Copy the share link",
    text: "You won't be able to see this link again. Open it on the screen.",
    label: "Share link",
    done: "I've copied it",
  },
} as const;
