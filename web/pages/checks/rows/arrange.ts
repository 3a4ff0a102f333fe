// Which rows are shown and in which order: filters, sorts, groups, and holds still what the pointer is over. Pure, and
// fast enough for ten thousand rows: names are made comparable once for each row.
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
} from "../../../../src/contract/web/check-row.ts";
import { nameKey, searchText } from "../../../live/row-keys.ts";
import type { Order, View } from "../view/view.ts";

/** A line of the list: a heading or a row. */
export type Item = { kind: "head"; key: string; text: string } | { kind: "row"; key: string };

export type Headings = { attention: string; rest: string; untagged: string };

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
type Placed = Place & { row: CheckRow };

/** All rows, those that need somebody apart, each part in order. They come as created. */
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
  return [...groups].toSorted(([a], [b]) => last(a) - last(b) || (a < b ? -1 : 1));
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
        if (SHOWN_STATES.indexOf(state) < SHOWN_STATES.indexOf(known.state)) known.state = state;
      }
    }
  }
  return [...tags.values()].toSorted((a, b) => (a.name.toLowerCase() < b.name.toLowerCase() ? -1 : 1));
}
