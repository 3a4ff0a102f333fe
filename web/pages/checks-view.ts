// The view of the check list: filters, sort order and groups, kept in the URL with the parameter names of
// Healthchecks.
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { useLocation, useSearch } from "wouter";
import {
  type CheckRow,
  comparePlaces,
  drawnAt,
  type DrawnState,
  isUrgent,
  type Place,
  placeByNeed,
  SHOWN_STATES,
  type ShownState,
  stateAt,
} from "../../src/contract/api/check-row.ts";
import { type ChecksSnapshot, nameKey, searchText } from "../live/checks-store.ts";
import { serverNow } from "../live/clock.ts";
import { nextLateAt } from "../ui/marks.tsx";
import { checksWords } from "../words/checks.ts";

export const ORDERS = ["attention", "name", "-name", "last_ping", "-last_ping", "created"] as const;
export type Order = (typeof ORDERS)[number];

export type View = {
  search: string;
  /** A check must have all of them. */
  tags: readonly string[];
  /** Any of them; empty means all. */
  states: readonly DrawnState[];
  order: Order;
  isGrouped: boolean;
};

/** In the order of the filter: what needs attention first. */
export const FILTER_STATES = [
  "down",
  "late",
  "running",
  "up",
  "paused",
  "new",
] as const satisfies readonly DrawnState[];

/** Two states have another name in the address. */
const STATUS_NAMES: Readonly<Record<DrawnState, string>> = {
  down: "down",
  late: "grace",
  running: "started",
  up: "up",
  paused: "paused",
  new: "new",
};

export function readView(search: string): View {
  const query = new URLSearchParams(search);
  const order = query.get("sort");
  const wanted = new Set(query.getAll("status"));
  return {
    search: query.get("search") ?? "",
    tags: [...new Set(query.getAll("tag").filter((tag) => tag !== ""))],
    states: FILTER_STATES.filter((state) => wanted.has(STATUS_NAMES[state])),
    order: ORDERS.find((one) => one === order) ?? "attention",
    isGrouped: query.get("group") === "tag",
  };
}

/** The query string; empty for the default view. */
export function writeView({ search, tags, states, order, isGrouped }: View): string {
  const query = new URLSearchParams();
  for (const tag of tags) query.append("tag", tag);
  if (search !== "") query.set("search", search);
  for (const state of states) query.append("status", STATUS_NAMES[state]);
  if (order !== "attention") query.set("sort", order);
  if (isGrouped) query.set("group", "tag");
  return query.toString();
}

export function isFiltered({ search, tags, states }: View): boolean {
  return search !== "" || tags.length > 0 || states.length > 0;
}

/** The value with an entry added, or removed when it is present. */
export function toggled<T>(values: readonly T[], value: T): T[] {
  return values.includes(value) ? values.filter((one) => one !== value) : [...values, value];
}

// The view in the URL, and the last sort order, which the browser remembers.

const KEPT_ORDER = "overdue.order";

/**
 * The view is kept in the URL; changing it replaces the history entry, so that "back" leaves the page. A URL without a
 * view gets the sort order that was chosen last in this browser.
 */
export function useView(): [View, (view: View) => void] {
  const text = useSearch();
  const [location, navigate] = useLocation();
  const view = useMemo(() => readView(text), [text]);
  const show = (next: View) => {
    const query = writeView(next);
    navigate(query === "" ? location : `${location}?${query}`, { replace: true });
  };
  useEffect(() => {
    const { order } = readView(`sort=${localStorage.getItem(KEPT_ORDER) ?? ""}`);
    if (text === "" && order !== view.order) show({ ...view, order });
  }, [text]);
  const set = (next: View) => {
    localStorage.setItem(KEPT_ORDER, next.order);
    show(next);
  };
  return [view, set];
}

// Filters, sorts and groups rows, fast enough for ten thousand. The order is kept while the pointer is over the list.

/** A line of the list: a heading or a row. */
export type Item = { kind: "head"; key: string; text: string } | { kind: "row"; key: string };

export type Headings = { attention: string; rest: string; untagged: string };

/** Rows in the order of a view: those that need attention, and the others. */
export type Parts = { urgent: readonly CheckRow[]; calm: readonly CheckRow[] };

/** The rows that match the view, still in order. A keystroke in the search only repeats this step. */
export function fitting({ urgent, calm }: Parts, view: View, now: number): Parts {
  const wanted = view.search.trim().toLowerCase();
  const fits = (row: CheckRow) =>
    (view.states.length === 0 || view.states.includes(drawnAt(row, now))) &&
    view.tags.every((tag) => row.tags.includes(tag)) &&
    (wanted === "" || searchText(row).includes(wanted));
  return { urgent: urgent.filter(fits), calm: calm.filter(fits) };
}

/** A row with its sort keys, so that nothing is computed twice while ten thousand rows are compared. */
type Placed = Place & { row: CheckRow };

/** All rows, sorted, with those that need attention apart. They are passed in order of creation. */
export function inOrder(rows: Iterable<CheckRow>, order: Order, now: number): Parts {
  const urgent: Placed[] = [];
  const calm: Placed[] = [];
  for (const row of rows) {
    const state = stateAt(row, now);
    const placed = { row, ...placeOf(row, state, order) };
    (isUrgent(state) ? urgent : calm).push(placed);
  }
  const compare = order === "-name" ? (a: Placed, b: Placed) => comparePlaces(b, a) : comparePlaces;
  const sorted = (placed: Placed[]) =>
    (order === "created" ? placed : placed.toSorted(compare)).map(({ row }) => row);
  return { urgent: sorted(urgent), calm: sorted(calm) };
}

function placeOf(row: CheckRow, state: ShownState, order: Order): Place {
  const name = nameKey(row);
  const byName = { rank: 0, first: 0, name, id: row.id };
  const lastPingAt = row.lastPingAt ?? Number.NEGATIVE_INFINITY;
  switch (order) {
    case "attention":
      return placeByNeed(row, state, name);
    case "last_ping":
      return { ...byName, first: lastPingAt };
    case "-last_ping":
      return { ...byName, first: -lastPingAt };
    case "name":
    case "-name":
    case "created":
      return byName;
  }
}

/** The lines of the list. There are no headings if nothing is urgent and there are no groups. */
export function toItems({ urgent, calm }: Parts, headings: Headings & { isGrouped: boolean }): Item[] {
  const line = (row: CheckRow): Item => ({ kind: "row", key: row.id });
  const head = (text: string): Item => ({ kind: "head", key: `head ${text}`, text });
  const items: Item[] = urgent.length > 0 ? [head(headings.attention), ...urgent.map(line)] : [];
  if (headings.isGrouped) {
    for (const [tag, rows] of byFirstTag(calm, headings.untagged)) items.push(head(tag), ...rows.map(line));
    return items;
  }
  if (urgent.length > 0 && calm.length > 0) items.push(head(headings.rest));
  for (const row of calm) items.push(line(row));
  return items;
}

function byFirstTag(rows: readonly CheckRow[], untagged: string): [string, CheckRow[]][] {
  const groups = new Map<string, CheckRow[]>();
  for (const row of rows) {
    const tag = row.tags[0] ?? untagged;
    const group = groups.get(tag);
    if (group === undefined) groups.set(tag, [row]);
    else group.push(row);
  }
  const last = (tag: string) => (tag === untagged ? 1 : 0);
  return [...groups].toSorted(([a], [b]) => last(a) - last(b) || (a < b ? -1 : 1));
}

/** The new lines in the old order: removed ones are left out, new ones come last, nothing else moves. */
export function heldInPlace(shown: readonly Item[], next: readonly Item[]): Item[] {
  const still = new Map(next.map((item) => [item.key, item]));
  const kept: Item[] = [];
  for (const item of shown) {
    if (item.kind === "row" && !still.has(item.key)) continue;
    kept.push(item);
    still.delete(item.key);
  }
  for (const item of still.values()) if (item.kind === "row") kept.push(item);
  return kept;
}

/** How many rows are drawn in each state; each row counts once. */
export function countStates(rows: Iterable<CheckRow>, now: number): Record<DrawnState, number> {
  const counts = { down: 0, late: 0, running: 0, up: 0, paused: 0, new: 0 };
  for (const row of rows) counts[drawnAt(row, now)] += 1;
  return counts;
}

/** Every tag with its number of rows and its worst state, by name. */
export function countTags(
  rows: Iterable<CheckRow>,
  now: number,
): { name: string; count: number; state: ShownState }[] {
  const tags = new Map<string, { name: string; count: number; state: ShownState }>();
  for (const row of rows) {
    const state = stateAt(row, now);
    for (const name of row.tags) {
      const known = tags.get(name);
      if (known === undefined) tags.set(name, { name, count: 1, state });
      else {
        known.count += 1;
        if (SHOWN_STATES.indexOf(state) < SHOWN_STATES.indexOf(known.state)) known.state = state;
      }
    }
  }
  return [...tags.values()].toSorted((a, b) => (a.name.toLowerCase() < b.name.toLowerCase() ? -1 : 1));
}

// The lines to render now: recomputed when rows or the view change, or when a row becomes late.

export type Shown = {
  items: readonly Item[];
  /** Rows that fit the view. */
  count: number;
  /** Of all rows, whatever the view. */
  counts: Record<DrawnState, number>;
  tags: ReturnType<typeof countTags>;
  /** Whether any check of the project has a channel; otherwise the rows do not mention channels. */
  hasAnyChannel: boolean;
};

const HEADINGS = {
  attention: checksWords.needsAttention,
  rest: checksWords.everythingElse,
  untagged: checksWords.untagged,
};

/** A timer of the browser cannot wait longer than this. */
const WAIT_MS_MAX = 2_147_483_647;

export function useShown(snapshot: ChecksSnapshot, view: View, isHeld: boolean): Shown {
  const now = useNextLate(snapshot);
  // Three memoized steps, so that none is repeated without need: each takes time for ten thousand rows.
  const counted = useMemo(() => countAll(snapshot, now), [snapshot.version, now]);
  const ordered = useMemo(
    () => inOrder(snapshot.rows.values(), view.order, now),
    [snapshot.version, view.order, now],
  );
  const arranged = useMemo(() => {
    const parts = fitting(ordered, view, now);
    return {
      items: toItems(parts, { ...HEADINGS, isGrouped: view.isGrouped }),
      count: parts.urgent.length + parts.calm.length,
    };
  }, [ordered, view, now]);
  const query = writeView(view);
  const held = useRef<{ query: string; items: readonly Item[] }>({ query: "", items: [] });
  const items = useMemo(
    () =>
      isHeld && held.current.query === query
        ? heldInPlace(held.current.items, arranged.items)
        : arranged.items,
    [arranged.items, isHeld, query],
  );
  useEffect(() => {
    held.current = { query, items };
  });
  return { ...counted, ...arranged, items };
}

/** Totals of all rows; until they are loaded, as the server counted them. */
function countAll({ rows, isComplete, counts, tags }: ChecksSnapshot, now: number) {
  return {
    counts: isComplete || counts === null ? countStates(rows.values(), now) : counts,
    hasAnyChannel: [...rows.values()].some(({ channelCount }) => channelCount > 0),
    tags: isComplete ? countTags(rows.values(), now) : [...tags],
  };
}

/** A moment after which no row has turned late yet; a new one as soon as one does. */
function useNextLate(snapshot: ChecksSnapshot): number {
  const [now, setNow] = useState(serverNow);
  useEffect(() => {
    const at = serverNow();
    const next = nextLateAt(snapshot.rows.values(), at);
    if (next === Number.POSITIVE_INFINITY) return undefined;
    const timer = setTimeout(() => setNow(serverNow()), Math.min(WAIT_MS_MAX, Math.max(0, next - at)));
    return () => clearTimeout(timer);
  }, [snapshot.version, now]);
  // Rows from the stream are newer than the last tick.
  return Math.max(
    now,
    useMemo(() => serverNow(), [snapshot.version]),
  );
}

// Which rows are selected, and which one has the keyboard focus.

export type Picking = {
  picked: ReadonlySet<string>;
  pick: (id: string, isRange: boolean) => void;
  pickAll: (ids: readonly string[]) => void;
  clear: () => void;
  cursor: string | null;
  move: (step: 1 | -1) => void;
  setCursor: (id: string | null) => void;
};

export function usePicking(items: readonly Item[]): Picking {
  const [picked, setPicked] = useState<ReadonlySet<string>>(new Set());
  const [cursor, setCursor] = useState<string | null>(null);
  const last = useRef<string | null>(null);
  useFocusedRow(setCursor);
  const ids = useMemo(() => items.filter(({ kind }) => kind === "row").map(({ key }) => key), [items]);
  const pick = useCallback(
    (id: string, isRange: boolean) => {
      const from = isRange && last.current !== null ? ids.indexOf(last.current) : -1;
      const to = ids.indexOf(id);
      last.current = id;
      setPicked((before) => {
        const next = new Set(before);
        if (from >= 0 && to >= 0)
          for (const one of ids.slice(Math.min(from, to), Math.max(from, to) + 1)) next.add(one);
        else if (!next.delete(id)) next.add(id);
        return next;
      });
    },
    [ids],
  );
  const move = (step: 1 | -1) => {
    const at = cursor === null ? -1 : ids.indexOf(cursor);
    const next =
      at === -1 ? (step === 1 ? 0 : ids.length - 1) : Math.min(ids.length - 1, Math.max(0, at + step));
    setCursor(ids[next] ?? null);
  };
  return {
    picked,
    pick,
    pickAll: (all) => setPicked(new Set(all)),
    clear: () => setPicked(new Set()),
    cursor,
    move,
    setCursor,
  };
}

/** A row that gets the focus by a key becomes the target of the shortcuts. */
function useFocusedRow(onFocus: (id: string) => void): void {
  useEffect(() => {
    const follow = ({ target }: FocusEvent) => {
      const row = target instanceof Element ? target.closest<HTMLElement>(".row[data-id]") : null;
      const id = row?.dataset["id"];
      if (id !== undefined && (target as Element).matches(":focus-visible")) onFocus(id);
    };
    document.addEventListener("focusin", follow);
    return () => document.removeEventListener("focusin", follow);
  }, [onFocus]);
}
