// What the public sees of a status page, computed from the states and the history of its checks.
import { downSpells, lifeIn, type Period, type StatusChange, unseenMs, upShare } from "./downtime.ts";
import { type Instant, type Interval, SECOND_MS } from "./instant.ts";
import {
  STATUS_DAYS,
  STATUS_DELAYED_VIEW_SECONDS,
  STATUS_OUTAGE_MS_MIN,
  STATUS_POSTS_SHOWN_MAX,
  STATUS_VIEW_SECONDS_MAX,
} from "./limits.ts";
import { firstDayOf, instantOfLocal, type LocalDay, localDay } from "./local-time.ts";
import { type StoredStatus, viewAt, type WatchedCheck } from "./state.ts";
import type {
  PublicState,
  StatusEntry,
  StatusPage,
  StatusView,
  StripDay,
  StripState,
  ViewEntry,
  ViewPost,
} from "./status-page.ts";

/** A check that a page is about. */
export type PageCheck = WatchedCheck & { id: number; createdAt: Instant; tags: string };

export type CheckChanges = { changes: readonly StatusChange[]; isCut: boolean };

/** A published incident or maintenance. `entries` are IDs of entries. */
export type PagePost = ViewPost & { kind: "incident" | "maintenance" };

export type ViewFacts = {
  page: Pick<StatusPage, "slug" | "title" | "description" | "brand" | "logo" | "domain" | "groups">;
  zone: string;
  checks: readonly PageCheck[];
  /** By check, of those whose history was read. */
  history: ReadonlyMap<number, CheckChanges>;
  blind: readonly Interval[];
  posts: readonly PagePost[];
  now: Instant;
};

/** The checks of an entry. */
export function checksOf<Check extends { id: number; tags: string }>(
  { source }: Pick<StatusEntry, "source">,
  checks: readonly Check[],
): Check[] {
  return checks.filter(({ id, tags }) =>
    source.kind === "check" ? id === source.checkId : ` ${tags} `.includes(` ${source.tag} `),
  );
}

/** The state of several checks as one. */
export function combinedState(
  checks: readonly WatchedCheck[],
  now: Instant,
): { state: PublicState; until: Instant } {
  let isDelayed = false;
  let isAnyUp = false;
  let until = Infinity;
  for (const check of checks) {
    const view = viewAt(check, now);
    if (view.status === "down") return { state: "down", until: Infinity };
    if (view.status === "grace") isDelayed = true;
    if (view.status === "up") isAnyUp = true;
    until = Math.min(until, view.until);
  }
  if (isDelayed) return { state: "delayed", until };
  return { state: isAnyUp ? "operational" : "unknown", until };
}

const ORDER: readonly PublicState[] = ["down", "delayed", "maintenance", "operational", "unknown"];

/** The worst of several states. Without any, nothing is known. */
export function worstState(states: readonly PublicState[]): PublicState {
  return ORDER.find((state) => states.includes(state)) ?? "unknown";
}

/** IDs of the entries that are under maintenance now. */
function maintainedEntries(posts: readonly PagePost[], now: Instant): Set<string> {
  const current = posts.filter(
    ({ kind, from, until }) => kind === "maintenance" && from <= now && until !== null && now < until,
  );
  return new Set(current.flatMap(({ entries }) => entries));
}

/** The states of the entries of a page, by their IDs, and until when they stay like this without a signal. */
export function entryStates({
  page,
  checks,
  posts,
  now,
}: Pick<ViewFacts, "page" | "checks" | "posts" | "now">): {
  states: Map<string, PublicState>;
  until: Instant;
} {
  const maintained = maintainedEntries(posts, now);
  let until: Instant = now + STATUS_VIEW_SECONDS_MAX * SECOND_MS;
  const entries = page.groups.flatMap((group) => group.entries);
  const states = entries.map((entry) => {
    const found = combinedState(checksOf(entry, checks), now);
    until = Math.min(until, Math.max(found.until, now + SECOND_MS));
    if (found.state === "delayed") until = Math.min(until, now + STATUS_DELAYED_VIEW_SECONDS * SECOND_MS);
    return [entry.id, maintained.has(entry.id) ? "maintenance" : found.state] as const;
  });
  return { states: new Map(states), until };
}

/** The days of the strip, oldest first: the last one is today. */
export function stripPeriods(now: Instant, zone: string): { day: string; period: Period }[] {
  const today = localDay(now, zone);
  const starts = Array.from({ length: STATUS_DAYS + 1 }, (_, index) => {
    const day = firstDayOf("daily", today, { offset: index - STATUS_DAYS + 1 });
    return { day: dayText(day), at: instantOfLocal(day, { minutes: 0, zone }) };
  });
  return starts.slice(1).map(({ at: to }, index) => {
    const { day, at } = starts[index] ?? { day: "", at: to };
    return { day, period: { from: at, to } };
  });
}

function dayText({ year, month, day }: LocalDay): string {
  return `${year}-${String(month).padStart(2, "0")}-${String(day).padStart(2, "0")}`;
}

/** Periods without overlaps, in order. */
function merged(periods: readonly Period[]): Period[] {
  const result: Period[] = [];
  for (const period of periods.toSorted((one, other) => one.from - other.from)) {
    const last = result.at(-1);
    if (last !== undefined && period.from <= last.to) last.to = Math.max(last.to, period.to);
    else result.push({ ...period });
  }
  return result;
}

function lengthIn(spells: readonly Period[], { from, to }: Period): number {
  return spells.reduce(
    (sum, spell) => sum + Math.max(0, Math.min(spell.to, to) - Math.max(spell.from, from)),
    0,
  );
}

type Strip = Pick<ViewEntry, "uptime" | "measuredSince" | "days">;

/** The strip of an entry. It is down while any of its checks is. */
export function stripOf(
  checks: readonly PageCheck[],
  { zone, history, blind, now }: Pick<ViewFacts, "zone" | "history" | "blind" | "now">,
): Strip {
  const known = checks.flatMap((check) => {
    const changes = history.get(check.id);
    return changes === undefined ? [] : [{ check, ...changes }];
  });
  const spells = merged(
    known.flatMap(({ check, changes }) => downSpells({ changes, status: check.state.status }, now)),
  );
  const measuredFrom = Math.min(
    Infinity,
    ...known.map(({ check, changes, isCut }) => measuredSince(check, { changes, isCut })),
  );
  // What was cut off may have been an outage.
  const cutFrom = Math.max(
    -Infinity,
    ...known.map(({ changes, isCut }) => (isCut ? (changes[0]?.at ?? now) : -Infinity)),
  );
  const createdAt = Math.max(measuredFrom, cutFrom);
  const days = stripPeriods(now, zone).map(({ day, period }) =>
    stripDay({ day, period }, { createdAt, spells, blind, now }),
  );
  const [first] = days;
  const measured = days.find(({ share }) => share !== null);
  const [start] = stripPeriods(now, zone);
  const life = lifeIn({ from: start?.period.from ?? now, to: now }, { createdAt, now });
  const lost = { downMs: lengthIn(spells, life), unseenMs: unseenMs(blind, life) };
  return {
    uptime: createdAt < now ? upShare(life, lost) : null,
    measuredSince: measured === undefined || measured === first ? null : measured.day,
    days,
  };
}

/** A check is measured from its first change of status on, or since its creation if that is not known. */
function measuredSince(check: PageCheck, { changes, isCut }: CheckChanges): Instant {
  const [first] = changes;
  if (first === undefined) return isMeasured(check.state.status) ? check.createdAt : Infinity;
  return isCut || isMeasured(first.from) ? check.createdAt : first.at;
}

function isMeasured(status: StoredStatus): boolean {
  return status === "up" || status === "down";
}

function stripDay(
  { day, period }: { day: string; period: Period },
  known: { createdAt: Instant; spells: readonly Period[]; blind: readonly Interval[]; now: Instant },
): StripDay {
  const life = lifeIn(period, known);
  if (life.to <= life.from) return { day, state: "none", downMs: 0, share: null };
  const downMs = lengthIn(known.spells, life);
  const seenMs = life.to - life.from - unseenMs(known.blind, life);
  if (seenMs <= 0 && downMs === 0) return { day, state: "none", downMs: 0, share: null };
  const share = Math.max(0, 1 - downMs / Math.max(seenMs, downMs));
  return { day, state: stripState(downMs), downMs, share };
}

function stripState(downMs: number): StripState {
  if (downMs === 0) return "up";
  return downMs < STATUS_OUTAGE_MS_MIN ? "brief" : "down";
}

/** Everything that the public sees. */
export function statusView(facts: ViewFacts): StatusView {
  const { page, zone, checks, posts, now } = facts;
  const { states, until } = entryStates(facts);
  const stateOf = ({ id }: StatusEntry) => states.get(id) ?? "unknown";
  const groups = page.groups.map(({ name, entries }) => ({
    name,
    state: worstState(entries.map((entry) => stateOf(entry))),
    entries: entries.map((entry) => ({
      name: entry.name,
      description: entry.description,
      state: stateOf(entry),
      ...stripOf(checksOf(entry, checks), facts),
    })),
  }));
  const names = new Map(
    page.groups.flatMap(({ entries }) => entries.map(({ id, name }) => [id, name] as const)),
  );
  const shown = posts.map((post) => presentPost(post, names));
  const newest = (kind: PagePost["kind"], isChosen: (post: ViewPost) => boolean) =>
    shown
      .filter((post, index) => posts[index]?.kind === kind && isChosen(post))
      .toSorted((one, other) => other.from - one.from);
  const isOver = ({ until: end }: ViewPost) => end !== null && end <= now;
  const edges = posts.flatMap(({ from, until: end }) => [from, end ?? now]).filter((at) => at > now);
  const tomorrow = stripPeriods(now, zone).at(-1)?.period.to ?? Infinity;
  return {
    slug: page.slug,
    title: page.title,
    description: page.description,
    zone,
    brand: page.brand,
    logo: page.logo === null ? null : { type: page.logo.type, digest: page.logo.digest },
    domain: page.domain !== null && page.domain.provedAt !== null ? page.domain.name : null,
    state: worstState([...states.values()]),
    groups,
    openIncidents: newest("incident", (post) => !isOver(post)),
    pastIncidents: newest("incident", isOver).slice(0, STATUS_POSTS_SHOWN_MAX),
    maintenance: newest("maintenance", (post) => !isOver(post)).toReversed(),
    pastMaintenance: newest("maintenance", isOver).slice(0, STATUS_POSTS_SHOWN_MAX),
    at: now,
    refreshAt: Math.min(until, tomorrow, ...edges),
  };
}

function presentPost(post: PagePost, names: ReadonlyMap<string, string>): ViewPost {
  return {
    id: post.id,
    title: post.title,
    from: post.from,
    until: post.until,
    entries: post.entries.flatMap((id) => names.get(id) ?? []),
    notes: post.notes.map(({ id, at, text }) => ({ id, at, text })),
    updatedAt: post.updatedAt,
  };
}
