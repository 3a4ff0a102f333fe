// The wall board of a project: which problems, groups and checks it shows, and in which order.
import type { AlertCause } from "./alert.ts";
import type { Instant } from "./instant.ts";
import { BOARD_CARDS_MAX, BOARD_GROUPS_MAX } from "./limits.ts";

export type BoardState = "down" | "late" | "up" | "new" | "paused";

export type BoardFuse = { fromAt: Instant; lateAt: Instant; alertAt: Instant };

/** A check as the board reads it. */
export type BoardCheck = {
  name: string;
  tags: readonly string[];
  state: BoardState;
  runningSince: Instant | null;
  fuse: BoardFuse | null;
  downSince: Instant | null;
  downReason: "fail" | "timeout" | null;
  exitStatus: number | null;
  /** Whether an open alert, and so an incident, is about it. */
  hasAlert: boolean;
};

/** An incident that is not resolved. */
export type BoardIncident = {
  /** The tag that its checks share; null: none, or another reason to group them. */
  tag: string | null;
  firstName: string;
  /** Its checks that have not recovered. */
  openCount: number;
  openedAt: Instant;
  cause: AlertCause | null;
  acknowledged: { at: Instant; by: string | null } | null;
  /** When notifications are repeated, or the acknowledgment ends. */
  nextStepAt: Instant | null;
};

/** Each check once, in the first group that fits. */
export type StateTally = { down: number; late: number; up: number; new: number; paused: number };

/** The checks whose first tag is `tag`; null: those without tags. */
export type GroupTally = { tag: string | null } & StateTally;

export type BoardCard =
  | ({ kind: "open" | "acknowledged" } & BoardIncident)
  /** Down without an alert: tolerated by a policy, or not reported yet. */
  | { kind: "down"; check: BoardCheck }
  | { kind: "late"; check: BoardCheck };

/**
 * The most important problems: incidents without an acknowledgment, the largest first; checks that are down without an
 * alert; acknowledged incidents; late checks, the next alert first.
 */
export function boardCards(given: {
  checks: readonly BoardCheck[];
  incidents: readonly BoardIncident[];
}): BoardCard[] {
  const incidents = given.incidents
    .filter(({ openCount }) => openCount > 0)
    .toSorted((one, other) => other.openCount - one.openCount || one.openedAt - other.openedAt);
  const down = given.checks
    .filter(({ state, hasAlert }) => state === "down" && !hasAlert)
    .toSorted((one, other) => (one.downSince ?? 0) - (other.downSince ?? 0));
  const late = given.checks
    .filter(({ state }) => state === "late")
    .toSorted((one, other) => (one.fuse?.alertAt ?? 0) - (other.fuse?.alertAt ?? 0));
  const cards: BoardCard[] = [
    ...incidents.filter(isOpen).map((incident) => ({ kind: "open" as const, ...incident })),
    ...down.map((check) => ({ kind: "down" as const, check })),
    ...incidents
      .filter((incident) => !isOpen(incident))
      .map((incident) => ({ kind: "acknowledged" as const, ...incident })),
    ...late.map((check) => ({ kind: "late" as const, check })),
  ];
  return cards.slice(0, BOARD_CARDS_MAX);
}

function isOpen({ acknowledged }: BoardIncident): boolean {
  return acknowledged === null;
}

export type BoardHeadline =
  | { kind: "empty" }
  /** All checks that are down share a tag. */
  | { kind: "tagDown"; tag: string; count: number }
  | { kind: "down" | "late"; count: number /** Of the only one. */; name: string | null }
  | { kind: "fine"; count: number };

/** What matters most. */
export function boardHeadline(given: {
  counts: StateTally;
  checks: readonly BoardCheck[];
  incidents: readonly BoardIncident[];
}): BoardHeadline {
  const { counts, checks, incidents } = given;
  const total = totalOf(counts);
  if (total === 0) return { kind: "empty" };
  const nameOf = (state: BoardState) => checks.find((check) => check.state === state)?.name ?? null;
  if (counts.down > 0) {
    const shared = incidents.find(({ tag, openCount }) => tag !== null && openCount === counts.down);
    const tag = shared?.tag ?? null;
    if (tag !== null && counts.down > 1) return { kind: "tagDown", tag, count: counts.down };
    return { kind: "down", count: counts.down, name: counts.down === 1 ? nameOf("down") : null };
  }
  if (counts.late > 0) {
    return { kind: "late", count: counts.late, name: counts.late === 1 ? nameOf("late") : null };
  }
  return { kind: "fine", count: counts.up };
}

const STATES = ["down", "late", "up", "new", "paused"] as const satisfies readonly BoardState[];

export function totalOf(tally: StateTally): number {
  return STATES.reduce((sum, state) => sum + tally[state], 0);
}

/** The checks by state. */
export function tallyOf(checks: readonly Pick<BoardCheck, "state">[]): StateTally {
  const tally = { down: 0, late: 0, up: 0, new: 0, paused: 0 };
  for (const { state } of checks) tally[state] += 1;
  return tally;
}

/** The groups of checks, by their first tag. */
export function groupTallies(checks: readonly Pick<BoardCheck, "state" | "tags">[]): GroupTally[] {
  const groups = Map.groupBy(checks, ({ tags }) => tags[0] ?? null);
  return [...groups].map(([tag, own]) => ({ tag, ...tallyOf(own) }));
}

export type BoardGroups = {
  groups: GroupTally[];
  /** The checks of all groups that are not listed; null: all are. */
  rest: StateTally | null;
};

/**
 * The groups in their order on the board: trouble first, then by name, so that groups without trouble keep their place;
 * those without tags last. Beyond the limit, the smallest groups without trouble are counted together.
 */
export function boardGroups(tallies: readonly GroupTally[], total: StateTally): BoardGroups {
  const kept = tallies.toSorted(byNeedAndSize).slice(0, BOARD_GROUPS_MAX);
  const rest = { ...total };
  for (const group of kept) for (const state of STATES) rest[state] -= group[state];
  // Both numbers come from different statements, between which checks may have changed.
  for (const state of STATES) rest[state] = Math.max(0, rest[state]);
  return { groups: kept.toSorted(byNeedAndName), rest: totalOf(rest) === 0 ? null : rest };
}

function byNeed(one: StateTally, other: StateTally): number {
  return other.down - one.down || other.late - one.late;
}

function byNeedAndSize(one: GroupTally, other: GroupTally): number {
  return byNeed(one, other) || totalOf(other) - totalOf(one) || compareTags(one.tag, other.tag);
}

function byNeedAndName(one: GroupTally, other: GroupTally): number {
  return byNeed(one, other) || compareTags(one.tag, other.tag);
}

function compareTags(one: string | null, other: string | null): number {
  if (one === other) return 0;
  if (one === null || other === null) return one === null ? 1 : -1;
  return one < other ? -1 : 1;
}

/** How much of the time until the alert is used up, from 0 to 1; null if no ping is expected. */
export function usedShare(fuse: BoardFuse | null, now: Instant): number | null {
  if (fuse === null) return null;
  const wholeMs = fuse.alertAt - fuse.fromAt;
  return wholeMs <= 0 ? 1 : Math.min(1, Math.max(0, (now - fuse.fromAt) / wholeMs));
}

/** The checks of a group in their order: down, late, then the nearest to their alert, then those that expect nothing. */
export function boardOrder<C extends Pick<BoardCheck, "name" | "state" | "fuse">>(
  checks: readonly C[],
  now: Instant,
): C[] {
  const rank = ({ state }: C) => (state === "down" ? 0 : state === "late" ? 1 : 2);
  const share = ({ fuse }: C) => usedShare(fuse, now) ?? -1;
  return checks.toSorted(
    (one, other) =>
      rank(one) - rank(other) ||
      share(other) - share(one) ||
      (one.name === other.name ? 0 : one.name < other.name ? -1 : 1),
  );
}
