// All actions of a world in order of time, in typed arrays: ten thousand checks send millions of pings in three
// months.
import type { Settings } from "../model/history.ts";
import type { Action, World } from "../world/world.ts";

const HOUR_MS = 3_600_000;
const GROWTH = 1.5;
const FIRST_CAPACITY = 1 << 16;

/** Includes "create", because checks are also created during the simulation. */
const KINDS = [
  "create",
  "success",
  "fail",
  "start",
  "log",
  "pause",
  "resume",
  "delete",
  "ack",
  "edit",
] as const;

export type LoggedAction = { check: number; trueAt: number } & (
  | { what: "create" | "pause" | "resume" | "delete" | "ack" }
  | { what: "success" | "fail" | "start" | "log"; rid: string | null }
  | { what: "edit"; settings: Settings }
);

export class ActionLog {
  #count = 0;
  #times = new Float64Array(FIRST_CAPACITY);
  #checks = new Uint32Array(FIRST_CAPACITY);
  #kinds = new Uint8Array(FIRST_CAPACITY);
  #extras = new Uint32Array(FIRST_CAPACITY);
  readonly #rids: (string | null)[] = [null];
  readonly #ridNumbers = new Map<string | null, number>([[null, 0]]);
  readonly #settings: Settings[] = [];
  /** Indexes of the actions of each hour. */
  readonly #hours: Uint32Array[] = [];
  readonly #from: number;

  constructor(world: World) {
    this.#from = world.head.from;
    for (let check = 0; check < world.checkCount; check += 1) {
      const { createdTrueAt, actions } = world.check(check);
      this.#add(check, createdTrueAt, "create", 0);
      for (const action of actions) this.#add(check, action.trueAt, action.what, this.#extraOf(action));
    }
    this.#sort();
  }

  get count(): number {
    return this.#count;
  }

  #extraOf(action: Action): number {
    if (action.what === "edit") return this.#settings.push(action.settings) - 1;
    if (!("rid" in action)) return 0;
    const known = this.#ridNumbers.get(action.rid);
    if (known !== undefined) return known;
    const number = this.#rids.push(action.rid) - 1;
    this.#ridNumbers.set(action.rid, number);
    return number;
  }

  #add(check: number, trueAt: number, what: (typeof KINDS)[number], extra: number): void {
    if (this.#count === this.#times.length) this.#grow();
    this.#times[this.#count] = trueAt;
    this.#checks[this.#count] = check;
    this.#kinds[this.#count] = KINDS.indexOf(what);
    this.#extras[this.#count] = extra;
    this.#count += 1;
  }

  #grow(): void {
    const capacity = Math.ceil(this.#times.length * GROWTH);
    const [times, checks, kinds, extras] = [this.#times, this.#checks, this.#kinds, this.#extras];
    this.#times = new Float64Array(capacity);
    this.#times.set(times);
    this.#checks = new Uint32Array(capacity);
    this.#checks.set(checks);
    this.#kinds = new Uint8Array(capacity);
    this.#kinds.set(kinds);
    this.#extras = new Uint32Array(capacity);
    this.#extras.set(extras);
  }

  #hourOf(action: number): number {
    return Math.max(0, Math.floor(((this.#times[action] ?? 0) - this.#from) / HOUR_MS));
  }

  #sort(): void {
    const counts: number[] = [];
    for (let action = 0; action < this.#count; action += 1) {
      const hour = this.#hourOf(action);
      counts[hour] = (counts[hour] ?? 0) + 1;
    }
    for (let hour = 0; hour < counts.length; hour += 1) this.#hours.push(new Uint32Array(counts[hour] ?? 0));
    const filled = new Uint32Array(counts.length);
    for (let action = 0; action < this.#count; action += 1) {
      const hour = this.#hourOf(action);
      const place = filled[hour] ?? 0;
      const list = this.#hours[hour];
      if (list !== undefined) list[place] = action;
      filled[hour] = place + 1;
    }
  }

  /** Every action, oldest first; at the same time, ordered by check and then by their order in the check. */
  *inOrder(): Generator<LoggedAction> {
    for (const hour of this.#hours) {
      const times = this.#times;
      for (const action of hour.toSorted((a, b) => (times[a] ?? 0) - (times[b] ?? 0) || a - b))
        yield this.#read(action);
    }
  }

  #read(action: number): LoggedAction {
    const at = { check: this.#checks[action] ?? 0, trueAt: this.#times[action] ?? 0 };
    const what = KINDS[this.#kinds[action] ?? 0] ?? "log";
    const extra = this.#extras[action] ?? 0;
    if (what === "edit") {
      const settings = this.#settings[extra];
      if (settings === undefined) throw new Error("an edit without settings");
      return { ...at, what, settings };
    }
    if (what === "create" || what === "pause" || what === "resume" || what === "delete" || what === "ack")
      return { ...at, what };
    return { ...at, what, rid: this.#rids[extra] ?? null };
  }
}
