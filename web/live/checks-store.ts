// All checks of a project in this tab: loaded from the document or the server, kept up to date by the event stream.
import { useMemo, useSyncExternalStore } from "react";
import type {
  ProjectHead,
  MonitoringGap,
  SinceAway,
  StateCounts,
  TagCount,
} from "../../src/contract/api/boot.ts";
import type { CheckList, Overview } from "../../src/contract/api/overview.ts";
import {
  type CheckRow,
  naturalKey,
  type RowDetail,
  type SilentChecks,
} from "../../src/contract/api/check-row.ts";
import { DETAIL_ROWS_MAX, ROWS_PAGE_MAX } from "../../src/contract/api/limits.ts";
import type { DownEvent, FlipEvent, MonitoringGapEvent, ChecksEvent } from "../../src/contract/api/live.ts";
import { ApiError, call } from "../api.ts";
import { takeBootPage } from "../boot.ts";
import { type LiveEvent, type LiveState, NO_ACCESS_STATUSES } from "./live-stream.ts";
import { watchProject } from "./watch-project.ts";

/** The state that pages render. A new object for every change; the maps inside stay the same. */
export type ChecksSnapshot = {
  project: ProjectHead | null;
  rows: ReadonlyMap<string, CheckRow>;
  /** Increases with every change of a row, so that derived data can be cached. */
  version: number;
  /** Increases when a check that is not among the rows may have been removed: its page then checks whether it exists. */
  removalVersion: number;
  details: ReadonlyMap<string, RowDetail>;
  /** How many there are; more than `rows` holds while the rest is loading. */
  total: number;
  isComplete: boolean;
  /** As the server counted them; only needed until all rows are here. */
  counts: StateCounts | null;
  tags: readonly TagCount[];
  since: SinceAway | null;
  monitoringGap: MonitoringGap | null;
  /** As of the page load; null before. */
  silent: SilentChecks | null;
  live: LiveState;
  error: unknown;
};

/** The initial state. The maps belong to the store. */
function emptySnapshot(maps: Pick<ChecksSnapshot, "rows" | "details">): ChecksSnapshot {
  return {
    ...maps,
    project: null,
    version: 0,
    removalVersion: 0,
    total: 0,
    isComplete: false,
    counts: null,
    tags: [],
    since: null,
    monitoringGap: null,
    silent: null,
    live: "reconnecting",
    error: null,
  };
}

/** The remaining rows are not requested in the first second, so that the first rows render without delay. */
const REST_FROM_MS = 1_000;
const LOAD_AGAIN_MS = 5_000;
/** More flips than the server repeats after a reconnection. */
const SEEN_FLIPS_MAX = 1_000;

const flipListeners = new Set<(flip: FlipEvent) => void>();

/** Calls back whenever a check of a watched project goes down or comes up. */
export function onFlip(listener: (flip: FlipEvent) => void): () => void {
  flipListeners.add(listener);
  return () => flipListeners.delete(listener);
}

/** New or changed rows, and the IDs of removed ones. The stream also has the total. */
type Applied = { rows: readonly CheckRow[]; removed: readonly string[]; total?: number };

class ChecksStore {
  readonly #id: string;
  readonly #rows = new Map<string, CheckRow>();
  readonly #details = new Map<string, RowDetail>();
  /** The change of the row that its detail was fetched for. */
  readonly #detailOf = new Map<string, number>();
  /** Subscribers that need all rows. */
  readonly #listeners = new Set<() => void>();
  /** Subscribers that only need changes. */
  readonly #watchers = new Set<() => void>();
  /** Flips that this tab has shown or announced. */
  readonly #seenFlips = new Set<number>();
  #snapshot: ChecksSnapshot;
  #loading: Promise<void> | null = null;
  /** Whether the rows lie in the order in which they were created. */
  #isInOrder = false;
  #stopWatching: (() => void) | null = null;

  constructor(id: string) {
    this.#id = id;
    this.#snapshot = emptySnapshot({ rows: this.#rows, details: this.#details });
    const page = takeBootPage("checks");
    if (page !== null && page.project.id === id) this.#fill(page);
  }

  snapshot = (): ChecksSnapshot => this.#snapshot;

  /** Subscribes to all rows and their changes. */
  listen = (listener: () => void): (() => void) => this.#subscribe(this.#listeners, listener);

  /** Subscribes to changes without loading the rows that did not come with the page. */
  watch = (listener: () => void): (() => void) => this.#subscribe(this.#watchers, listener);

  /** The first subscriber starts the stream, the last one ends it. A new one after an error causes a retry. */
  #subscribe(group: Set<() => void>, listener: () => void): () => void {
    group.add(listener);
    if (group.size === 1 || this.#snapshot.error !== null) this.#start();
    return () => {
      group.delete(listener);
      if (this.#listeners.size + this.#watchers.size > 0) return;
      this.#stop();
    };
  }

  /** Applies rows of a response as if they had come by the stream. */
  applyRows({ rows, removed, total = this.#snapshot.total }: Applied): void {
    // A poll returns the total, but not which rows were removed.
    const hasLost = removed.length > 0 || total < this.#snapshot.total;
    for (const row of rows) {
      const known = this.#rows.get(row.id);
      this.#rows.set(row.id, newerOf(known, row));
    }
    for (const id of removed) {
      this.#rows.delete(id);
      this.#details.delete(id);
      this.#detailOf.delete(id);
    }
    this.#update({
      version: this.#snapshot.version + 1,
      total: this.#snapshot.isComplete ? this.#rows.size : total,
      ...(hasLost && { removalVersion: this.#snapshot.removalVersion + 1 }),
    });
  }

  /** Fetches the strips and durations of rows that can be seen, as far as they are missing or have grown old. */
  async fetchDetails(visible: readonly string[]): Promise<void> {
    const ids = visible
      .filter((id) => this.#detailOf.get(id) !== this.#rows.get(id)?.change)
      .slice(0, DETAIL_ROWS_MAX);
    if (ids.length === 0) return;
    for (const id of ids) this.#detailOf.set(id, this.#rows.get(id)?.change ?? 0);
    try {
      const query = { ids: ids.join(",") };
      const { checks } = await call("listCheckDetails", { project: this.#id, query });
      for (const detail of checks) this.#details.set(detail.id, detail);
      this.#update({});
    } catch {
      // Details are optional: they are requested again when the rows are next visible.
      for (const id of ids) this.#detailOf.delete(id);
    }
  }

  /** Puts the rows in order of creation; the first hundred arrive in another order. */
  putInOrder(): void {
    if (this.#isInOrder || this.#loading !== null) return;
    this.#loading = this.#complete()
      .catch((trouble: unknown) => this.#tryLater(trouble))
      .finally(() => {
        this.#loading = null;
      });
  }

  /** Loads everything again, after an error or when the stream cannot resume. */
  reload = (): void => {
    this.#stop();
    this.#update({ error: null });
    this.#loading = this.#load();
  };

  #start(): void {
    if (this.#snapshot.project !== null && this.#stopWatching === null && this.#loading === null) {
      // The user has returned to the page: the known rows stay visible while they are updated.
      this.#loading = this.#load();
      return;
    }
    if (this.#snapshot.project === null) this.#loading ??= this.#load();
    else if (this.#isRestNeeded()) this.putInOrder();
  }

  #stop(): void {
    this.#stopWatching?.();
    this.#stopWatching = null;
    noteInterrupted(this.#id, false);
  }

  #noteLive(live: LiveState): void {
    noteInterrupted(this.#id, live === "reconnecting");
    this.#update({ live });
  }

  #isRestNeeded(): boolean {
    return !this.#snapshot.isComplete && this.#listeners.size > 0;
  }

  async #load(): Promise<void> {
    try {
      this.#fill(await call("getOverview", { project: this.#id }));
      if (this.#isRestNeeded()) await this.#complete();
    } catch (trouble) {
      this.#tryLater(trouble);
    } finally {
      this.#loading = null;
    }
  }

  /** Rows are on screen: they may be out of date, or others are still missing. */
  #tryLater(trouble: unknown): void {
    this.#update({ error: trouble });
    if (this.#snapshot.project === null) return;
    if (trouble instanceof ApiError && NO_ACCESS_STATUSES.includes(trouble.status)) return location.reload();
    if (this.#stopWatching === null) this.#noteLive("reconnecting");
    setTimeout(() => {
      if (this.#listeners.size + this.#watchers.size === 0) return noteInterrupted(this.#id, false);
      if (this.#stopWatching === null) this.#loading ??= this.#load();
      else if (this.#listeners.size > 0) this.putInOrder();
    }, LOAD_AGAIN_MS);
  }

  #fill(page: Overview): void {
    if (page.checks.length >= page.total) this.#rows.clear();
    for (const row of page.checks) this.#rows.set(row.id, row);
    for (const detail of page.details) {
      this.#details.set(detail.id, detail);
      this.#detailOf.set(detail.id, this.#rows.get(detail.id)?.change ?? 0);
    }
    for (const id of page.flips) this.#rememberFlip(id);
    this.#isInOrder = false;
    const { project, total, since, monitoringGap, silent, counts, tags } = page;
    const isComplete = page.checks.length >= total;
    const version = this.#snapshot.version + 1;
    const removalVersion = this.#snapshot.removalVersion + (total < this.#snapshot.total ? 1 : 0);
    this.#update({
      project,
      version,
      removalVersion,
      total,
      since,
      monitoringGap,
      silent,
      counts,
      tags,
      isComplete,
      error: null,
    });
    this.#stopWatching?.();
    this.#stopWatching = watchProject(this.#id, page.cursor, {
      onEvent: (event) => this.#handle(event),
      onState: (live) => this.#noteLive(live),
    });
    // The page may be rendering, and must not change the state of other components.
    queueMicrotask(() => setDownCount(this.#id, page.counts.down));
  }

  async #complete(): Promise<void> {
    await pause(Math.max(0, REST_FROM_MS - performance.now()));
    let cursor: string | null = null;
    // Rows that are no longer listed were removed, except those that the stream has added since.
    const gone = new Set(this.#rows.keys());
    while (!this.#isInOrder) {
      const { checks, next }: CheckList = await call("listChecks", {
        project: this.#id,
        query: { ...(cursor !== null && { cursor }), limit: ROWS_PAGE_MAX },
      });
      for (const row of checks) {
        const known = this.#rows.get(row.id);
        gone.delete(row.id);
        nameKey(row);
        searchText(row);
        // Deleted and inserted again, so that it comes after the rows of the previous page.
        this.#rows.delete(row.id);
        this.#rows.set(row.id, newerOf(known, row));
      }
      cursor = next;
      this.#isInOrder = next === null;
      if (next === null) for (const id of gone) this.#rows.delete(id);
    }
    // Only now, and in a task of its own, so that the browser stays responsive: until then the first rows are on screen
    // with the server's counts.
    await pause(0);
    const version = this.#snapshot.version + 1;
    this.#update({ version, isComplete: true, total: this.#rows.size, error: null });
  }

  #handle({ name, data }: LiveEvent): void {
    if (name === "checks") {
      const { checks, removed, total } = JSON.parse(data) as ChecksEvent;
      this.applyRows({ rows: checks, removed, total });
      // A check was deleted while the stream was interrupted.
      if (this.#snapshot.isComplete && this.#rows.size !== total) this.reload();
    } else if (name === "down") setDownCount(this.#id, (JSON.parse(data) as DownEvent).count);
    else if (name === "monitoringGap") this.#update(JSON.parse(data) as MonitoringGapEvent);
    else if (name === "reload") this.reload();
    else if (name === "flip") {
      const flip = JSON.parse(data) as FlipEvent;
      // The page may have shown it already, and it may be sent again after a reconnection.
      if (this.#seenFlips.has(flip.id)) return;
      this.#rememberFlip(flip.id);
      for (const listener of flipListeners) listener(flip);
    }
  }

  #rememberFlip(id: number): void {
    this.#seenFlips.add(id);
    const [oldest] = this.#seenFlips;
    if (this.#seenFlips.size > SEEN_FLIPS_MAX && oldest !== undefined) this.#seenFlips.delete(oldest);
  }

  #update(change: Partial<ChecksSnapshot>): void {
    this.#snapshot = { ...this.#snapshot, ...change };
    for (const listener of [...this.#listeners, ...this.#watchers]) listener();
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

const stores = new Map<string, ChecksStore>();

/** The store of a project; always the same one. */
export function checksStore(project: string): ChecksStore {
  let store = stores.get(project);
  if (store === undefined) {
    store = new ChecksStore(project);
    stores.set(project, store);
  }
  return store;
}

// All rows of a project, for searches on any page.

const noSubscription = () => () => undefined;

/** All rows of a project that are loaded so far; null: no project. */
export function useAllRows(project: string | null): readonly CheckRow[] {
  const store = project === null ? null : checksStore(project);
  const known = useSyncExternalStore(store?.listen ?? noSubscription, () => store?.snapshot() ?? null);
  return useMemo(() => [...(known?.rows.values() ?? [])], [store, known?.version]);
}

// Sort and search keys, computed once for each row.

const nameKeys = new WeakMap<CheckRow, string>();
const searchTexts = new WeakMap<CheckRow, string>();

/** The key of its name. */
export function nameKey(row: CheckRow): string {
  let key = nameKeys.get(row);
  if (key === undefined) {
    key = naturalKey(row.name);
    nameKeys.set(row, key);
  }
  return key;
}

/** The searchable text, in lowercase. */
export function searchText(row: CheckRow): string {
  let text = searchTexts.get(row);
  if (text === undefined) {
    text = `${row.name}\n${row.slug}\n${row.id}\n${row.tags.join("\n")}`.toLowerCase();
    searchTexts.set(row, text);
  }
  return text;
}

/** Answers and the stream may bring versions of a row in any order. */
function newerOf(known: CheckRow | undefined, row: CheckRow): CheckRow {
  return known !== undefined && known.readingOrder > row.readingOrder ? known : row;
}

// The number of checks that are down in each project, for the navigation and the page title.

const downCounts = new Map<string, number>();
const downCountListeners = new Set<() => void>();
let shownProject: string | null = null;

/** Sets the number of checks of a project that are down. */
export function setDownCount(project: string, count: number): void {
  if (downCounts.get(project) === count) return;
  downCounts.set(project, count);
  notifyDownCount();
}

/** The project of the tab; null: all of them. */
export function countDownOf(project: string | null): void {
  if (shownProject === project) return;
  shownProject = project;
  notifyDownCount();
}

/** Of the tab's project, or of the given one. */
export function useDownCount(project?: string): number {
  return useSyncExternalStore(listenDownCount, () => downCount(project));
}

/** The same, without a subscription. */
export function downCount(project?: string): number {
  const of = project ?? shownProject;
  if (of !== null) return downCounts.get(of) ?? 0;
  let sum = 0;
  for (const count of downCounts.values()) sum += count;
  return sum;
}

function notifyDownCount(): void {
  for (const listener of downCountListeners) listener();
}

function listenDownCount(listener: () => void): () => void {
  downCountListeners.add(listener);
  return () => downCountListeners.delete(listener);
}

// Whether this tab has lost the connection to the server.

const interrupted = new Set<string>();
const connectionListeners = new Set<() => void>();

function noteInterrupted(project: string, isInterrupted: boolean): void {
  if (interrupted.has(project) === isInterrupted) return;
  if (isInterrupted) interrupted.add(project);
  else interrupted.delete(project);
  for (const listener of connectionListeners) listener();
}

/** Also true as soon as the browser itself has no network. */
export function useDisconnected(): boolean {
  return useSyncExternalStore(listenConnection, () => !navigator.onLine || interrupted.size > 0);
}

function listenConnection(listener: () => void): () => void {
  connectionListeners.add(listener);
  addEventListener("online", listener);
  addEventListener("offline", listener);
  return () => {
    connectionListeners.delete(listener);
    removeEventListener("online", listener);
    removeEventListener("offline", listener);
  };
}
