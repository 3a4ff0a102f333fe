// Which rows are shown and in which order: filters, sorts, groups, and holds still what the pointer is over. Pure, and
// fast enough for ten thousand rows: names are made comparable once for each row.
import type { DrawnState } from "../../../../src/contract/web/list-words.ts";
import { type CheckRow, SHOWN_STATES, type ShownState } from "../../../../src/contract/web/check-row.ts";
import { nameKey, searchText } from "../../../live/row-keys.ts";
import { drawnAt, stateAt } from "../../../ui/marks/fuse-arithmetic.ts";
import type { Order, View } from "../view.ts";

/** A line of the list: a heading or a row. */
export type Item = { kind: "head"; key: string; text: string } | { kind: "row"; key: string };

export type Headings = { attention: string; rest: string; untagged: string };

/** Lower is further up. */
const RANK = Object.fromEntries(SHOWN_STATES.map((state, rank) => [state, rank])) as Record<
  ShownState,
  number
>;
const CALM_RANK = RANK.up;

/** Rows in the order of a view: those that need somebody, and the others. */
export type Parts = { urgent: readonly CheckRow[]; calm: readonly CheckRow[] };

/** Those that have what the view asks for, still in order. Typing into the search does this and nothing else. */
export function fitting({ urgent, calm }: Parts, view: View, now: number): Parts {
  const wanted = view.search.trim().toLowerCase();
  const fits = (row: CheckRow) =>
    (view.states.length === 0 || view.states.includes(drawnAt(row, now))) &&
    view.tags.every((tag) => row.tags.includes(tag)) &&
    (wanted === "" || searchText(row).includes(wanted));
  return { urgent: urgent.filter(fits), calm: calm.filter(fits) };
}

/** A row with what it is ordered by, so that nothing is worked out twice while ten thousand are compared. */
type Placed = { row: CheckRow; rank: number; first: number; name: string };

/** All rows, those that need somebody apart, each part in order. They come as created. */
export function inOrder(rows: Iterable<CheckRow>, order: Order, now: number): Parts {
  const urgent: Placed[] = [];
  const calm: Placed[] = [];
  for (const row of rows) {
    const state = stateAt(row, now);
    const placed = {
      row,
      rank: order === "attention" ? RANK[state] : 0,
      first: firstKey(row, state, order),
      name: nameKey(row),
    };
    (RANK[state] < CALM_RANK ? urgent : calm).push(placed);
  }
  const compare = order === "-name" ? (a: Placed, b: Placed) => comparePlaces(b, a) : comparePlaces;
  const sorted = (placed: Placed[]) =>
    (order === "created" ? placed : placed.toSorted(compare)).map(({ row }) => row);
  return { urgent: sorted(urgent), calm: sorted(calm) };
}

function comparePlaces(a: Placed, b: Placed): number {
  return (
    a.rank - b.rank ||
    compareNumbers(a.first, b.first) ||
    compareTexts(a.name, b.name) ||
    compareTexts(a.row.id, b.row.id)
  );
}

/** What comes before the name: the last signal, or how urgent it is (what broke last, then what alerts next). */
function firstKey(row: CheckRow, state: ShownState, order: Order): number {
  const lastPingAt = row.lastPingAt ?? Number.NEGATIVE_INFINITY;
  switch (order) {
    case "last_ping":
      return lastPingAt;
    case "-last_ping":
      return -lastPingAt;
    case "attention":
      if (state === "down") return -(row.downSince ?? 0);
      return state === "late" ? (row.fuse?.alertAt ?? 0) : 0;
    case "name":
    case "-name":
    case "created":
      return 0;
  }
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function compareNumbers(a: number, b: number): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The lines of the list. Without anything urgent and without groups there is nothing to tell apart, so no heading. */
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
  return [...groups].toSorted(([a], [b]) => last(a) - last(b) || compareTexts(a, b));
}

/** The new lines in the old places: what has gone is left out, what is new comes last, nothing else moves. */
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
        if (RANK[state] < RANK[known.state]) known.state = state;
      }
    }
  }
  return [...tags.values()].toSorted((a, b) => compareTexts(a.name.toLowerCase(), b.name.toLowerCase()));
}
