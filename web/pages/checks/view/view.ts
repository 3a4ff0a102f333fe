// What part of the list is shown, and in which order: kept in the address, so that a view can be saved, sent and
// gone back to. The names in the address are those people know from the reference server. Pure.
import type { DrawnState } from "../../../../src/contract/web/check-row.ts";

export const ORDERS = ["attention", "name", "-name", "last_ping", "-last_ping", "created"] as const;
export type Order = (typeof ORDERS)[number];

export type View = {
  search: string;
  /** All of them must be there. */
  tags: readonly string[];
  /** Any of them; empty means all. */
  states: readonly DrawnState[];
  order: Order;
  isGrouped: boolean;
};

/** In the order of the filter: what needs somebody first. */
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

/** What stands behind the question mark; empty for the view that everybody begins with. */
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

/** The value with an entry added, or taken out when it is there. */
export function toggled<T>(values: readonly T[], value: T): T[] {
  return values.includes(value) ? values.filter((one) => one !== value) : [...values, value];
}
