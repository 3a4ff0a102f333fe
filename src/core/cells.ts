// Cells: several complete servers behind one router. Each has some of the slots; the slot of an id names its cell.
import { isUuid, SLOT_DIGITS, slotOf } from "./identity.ts";
import { API_KEY_LENGTH, PING_KEY_LENGTH } from "./limits.ts";

export type Cell = {
  name: string;
  /** Where the router and the other cells reach its processes. */
  urls: readonly string[];
  /** The hosts of its dashboard. */
  hosts: readonly string[];
  slots: readonly string[];
};

export type Cells = {
  list: readonly Cell[];
  bySlot: ReadonlyMap<string, Cell>;
};

const SLOT_COUNT = 16 ** SLOT_DIGITS;
const CELLS_MAX = SLOT_COUNT;
const URLS_MAX = 100;
const HOSTS_MAX = 100;
const NAME = /^[a-z0-9][a-z0-9-]{0,31}$/;
const HOST = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/;
const RANGE = /^(?<first>[0-9a-f]{3})(?:-(?<last>[0-9a-f]{3}))?$/;
const FIELDS: ReadonlySet<string> = new Set(["name", "urls", "hosts", "slots"]);

/** What is wrong with the description, and what to do. */
class CellsProblem extends Error {}

/** Reads the description of the cells: JSON, a list of cells. The problem is the end of a sentence. */
export function parseCells(text: string): { value: Cells } | { problem: string } {
  try {
    return { value: withSlots(cellsIn(text)) };
  } catch (error) {
    if (error instanceof CellsProblem) return { problem: error.message };
    throw error;
  }
}

function cellsIn(text: string): Cell[] {
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch {
    throw new CellsProblem("is not valid JSON. Correct its syntax");
  }
  if (!Array.isArray(given) || given.length === 0 || given.length > CELLS_MAX) {
    throw new CellsProblem(`must be a list of 1 to ${CELLS_MAX} cells`);
  }
  const cells = given.map((one: unknown, at) => cellIn(one, at + 1));
  for (const [what, values] of [
    ["name", cells.map(({ name }) => name)],
    ["host", cells.flatMap(({ hosts }) => hosts)],
    ["URL", cells.flatMap(({ urls }) => urls)],
  ] as const) {
    const twice = values.find((value, at) => values.indexOf(value) !== at);
    if (twice !== undefined) throw new CellsProblem(`has the ${what} "${twice}" twice. Remove one of them`);
  }
  return cells;
}

function cellIn(given: unknown, number: number): Cell {
  if (typeof given !== "object" || given === null) {
    throw new CellsProblem(`must have an object with name, urls and slots for cell ${number}`);
  }
  const { name, urls, hosts = [], slots }: Record<string, unknown> = { ...given };
  const unknown = Object.keys(given).find((key) => !FIELDS.has(key));
  if (unknown !== undefined) {
    throw new CellsProblem(`has the unknown field "${unknown}" in cell ${number}. Remove it`);
  }
  if (typeof name !== "string" || !NAME.test(name)) {
    throw new CellsProblem(
      `must have a name of 1 to 32 lowercase letters, digits and hyphens for cell ${number}`,
    );
  }
  const of = `of cell "${name}"`;
  const addresses = texts(urls, { countMin: 1, countMax: URLS_MAX }).map((url) => urlIn(url));
  if (addresses.length === 0 || addresses.includes(null)) {
    throw new CellsProblem(`must have "urls" ${of} as a list of URLs such as "http://10.0.0.1:8000"`);
  }
  const names = texts(hosts, { countMin: 0, countMax: HOSTS_MAX });
  if (!Array.isArray(hosts) || names.length !== hosts.length || !names.every((host) => HOST.test(host))) {
    throw new CellsProblem(`must have "hosts" ${of} as a list of host names such as "a.example.org"`);
  }
  return {
    name,
    urls: addresses.filter((url) => url !== null),
    hosts: names,
    slots: texts(slots, { countMin: 1, countMax: SLOT_COUNT }).flatMap((range) => slotsIn(range, of)),
  };
}

/** The texts of a list; none if it is anything else. */
function texts(given: unknown, { countMin, countMax }: { countMin: number; countMax: number }): string[] {
  if (!Array.isArray(given) || given.length < countMin || given.length > countMax) return [];
  return given.every((one) => typeof one === "string") ? given : [];
}

/** Without a path: requests keep theirs. */
function urlIn(text: string): string | null {
  const url = URL.parse(text);
  const isPlain = url !== null && url.href === `${url.origin}/`;
  return isPlain && (url.protocol === "http:" || url.protocol === "https:") ? url.origin : null;
}

function slotsIn(range: string, of: string): string[] {
  const { first = "", last = first } = RANGE.exec(range)?.groups ?? {};
  if (first === "" || last < first) {
    throw new CellsProblem(
      `must have "slots" ${of} as ranges of three hexadecimal digits such as "000-7ff", not "${range.slice(0, 20)}"`,
    );
  }
  const from = Number.parseInt(first, 16);
  return Array.from({ length: Number.parseInt(last, 16) - from + 1 }, (_, at) => slotNumbered(from + at));
}

function slotNumbered(number: number): string {
  return number.toString(16).padStart(SLOT_DIGITS, "0");
}

function withSlots(list: readonly Cell[]): Cells {
  const bySlot = new Map<string, Cell>();
  for (const cell of list) {
    if (cell.slots.length === 0) {
      throw new CellsProblem(`must have "slots" of cell "${cell.name}" as a list such as ["000-7ff"]`);
    }
    for (const slot of cell.slots) {
      const other = bySlot.get(slot);
      if (other !== undefined) {
        throw new CellsProblem(
          `assigns slot ${slot} to "${other.name}" and to "${cell.name}". Assign each slot to one cell`,
        );
      }
      bySlot.set(slot, cell);
    }
  }
  for (let number = 0; number < SLOT_COUNT; number += 1) {
    const slot = slotNumbered(number);
    if (!bySlot.has(slot))
      throw new CellsProblem(`does not assign slot ${slot} to a cell. Assign all slots from 000 to fff`);
  }
  return { list, bySlot };
}

/** The cells from the view of one of them. */
export type CellView = { cell: Cell; cells: Cells };

/** The cell of an id if it is another one; null for an own id, and for one without a slot. */
export function otherCellOf({ cell, cells }: CellView, id: string): Cell | null {
  const found = cells.bySlot.get(slotOf(id));
  return found === undefined || found === cell ? null : found;
}

// Which id a request is about. The configuration of the router (`overdue router config`) has the same rules.

/** An id, and where to look for it. */
export type RequestId = { by: "check" | "key" | "apiKey"; id: string };

export type IdRequest = {
  method?: string | undefined;
  /** The X-Api-Key header. */
  apiKey: string | undefined;
  /** Whether it has a session or a token of an account: accounts belong to the cell that they sign in to. */
  isPersonal: boolean;
};

const PING_KEY = new RegExp(`^[\\w-]{${PING_KEY_LENGTH}}$`);

/** The id in the path below the ping URL. */
export function idInPing(rest: string, { method }: Pick<IdRequest, "method">): RequestId | null {
  if (method === "OPTIONS") return null;
  const segment = segmentAt(rest, 1);
  if (isUuid(segment)) return { by: "check", id: segment };
  return PING_KEY.test(segment) ? { by: "key", id: segment } : null;
}

const API_CHECK = /^\/(?:v[123]|overdue\/v\d)\/checks\/(?<uuid>[^/?]+)/;

/** The id of a request to one of the APIs; the path begins with the version. */
export function idInApi(path: string, { method, apiKey, isPersonal }: IdRequest): RequestId | null {
  if (method === "OPTIONS") return null;
  if (apiKey !== undefined) return apiKeyId(apiKey);
  if (isPersonal) return null;
  const uuid = API_CHECK.exec(path)?.groups?.["uuid"] ?? "";
  return isUuid(uuid) ? { by: "check", id: uuid } : null;
}

function apiKeyId(key: string): RequestId | null {
  return key.length === API_KEY_LENGTH ? { by: "apiKey", id: key } : null;
}

const CHECK_BADGE = /^\/b\/\d+\/(?<uuid>[^/?]+)\.[a-z]+$/;
const TAG_BADGE = /^\/badge\/(?<key>[\w-]{1,100})\//;
const METRICS = /^\/(?:projects\/[^/]+|checks)\/metrics(?:\/(?<key>[^/]+))?$/;

/** The id in the path of a badge or of the metrics of a project. */
export function idInPage(path: string, { apiKey }: Pick<IdRequest, "apiKey">): RequestId | null {
  const uuid = CHECK_BADGE.exec(path)?.groups?.["uuid"] ?? "";
  if (isUuid(uuid)) return { by: "check", id: uuid };
  const badgeKey = TAG_BADGE.exec(path)?.groups?.["key"];
  if (badgeKey !== undefined) return { by: "key", id: badgeKey };
  const metrics = METRICS.exec(path);
  const key = metrics?.groups?.["key"] ?? apiKey;
  return metrics === null || key === undefined ? null : apiKeyId(key);
}

/** A segment of a path, counted from 1, decoded; empty if there is none. */
function segmentAt(path: string, number: number): string {
  const [segment = ""] = (path.split("/", number + 1)[number] ?? "").split("?", 1);
  if (!segment.includes("%")) return segment;
  try {
    return decodeURIComponent(segment).split("/", 1)[0] ?? "";
  } catch {
    return "";
  }
}
