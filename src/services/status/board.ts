// The status pages of this process: all of them by slug and domain, and the most recently used ones ready to be sent.
// Once per second, the changes of all pages are read together; a request reads nothing while its page is up to date.
import type { Instant } from "../../core/instant.ts";
import { MINUTE_MS, SECOND_MS } from "../../core/instant.ts";
import { STATUS_KEPT_BYTES_MAX } from "../../core/limits.ts";
import type { StatusView } from "../../core/status-page.ts";
import type { ServedPage as ListedPage } from "../../store/status-pages.ts";
import type { Prepared } from "./prepared.ts";

export type Changes = { cursor: number; pages: readonly ListedPage[] };

/** The documents of a page. */
export type Documents = Readonly<Record<"page" | "atom" | "rss" | "json", Prepared>>;

/** How current the data of a page is. */
export type Freshness = {
  /** When the page was last known to be up to date. */
  confirmedAt: Instant;
  /** The database has been unavailable for a while. */
  isStale: boolean;
};

export type BoardOptions = {
  /** Pages that changed after the cursor; null: all pages. */
  readChanges(since: number | null): Promise<Changes>;
  readView(pageId: number, now: Instant): Promise<StatusView | null>;
  render(view: StatusView, at: Freshness & { now: Instant; isProtected: boolean }): Promise<Documents>;
  now(): Instant;
  keptBytesMax?: number;
};

/** Deleted pages and pages that a missed change concerns are found by reading all of them. */
const FULL_EVERY_MS = MINUTE_MS;
/** Views that are read in one tick; the others follow in the next. */
const VIEWS_PER_TICK = 20;
/** A shorter interruption is not shown. */
const STALE_AFTER_MS = 10 * SECOND_MS;
/** How often a page is rendered again while the database is unavailable. */
const STALE_RENDER_MS = 10 * SECOND_MS;

/** One page in this process. */
export type ServedPage = {
  listed: ListedPage;
  /** Null: not read yet, or dropped. */
  view: StatusView | null;
  readAt: Instant;
  /** The database has a newer version than `view`. */
  isChanged: boolean;
  documents: Documents | null;
  /** The documents are sent without another look until this instant. */
  validUntil: Instant;
  byteCount: number;
  renewing: Promise<Documents | null> | null;
};

export class StatusBoard {
  readonly #options: BoardOptions;
  readonly #byId = new Map<number, ServedPage>();
  readonly #bySlug = new Map<string, ServedPage>();
  readonly #byDomain = new Map<string, ServedPage>();
  /** Pages with a view or documents, the least recently renewed first. */
  readonly #kept = new Set<ServedPage>();
  #keptBytes = 0;
  #cursor: number | null = null;
  #fullAt: Instant = Number.NEGATIVE_INFINITY;
  #confirmedAt: Instant | null = null;
  #isAway = false;
  /** Not all pages fit into memory: those that are not there are read when they are requested. */
  #isFull = false;

  constructor(options: BoardOptions) {
    this.#options = options;
  }

  /** Whether the pages are known. False from the start of the process until the database was reached once. */
  get isReady(): boolean {
    return this.#confirmedAt !== null;
  }

  get pageCount(): number {
    return this.#byId.size;
  }

  get keptBytes(): number {
    return this.#keptBytes;
  }

  get hasDomains(): boolean {
    return this.#byDomain.size > 0;
  }

  ofSlug(slug: string): ServedPage | null {
    return this.#bySlug.get(slug) ?? null;
  }

  ofDomain(domain: string): ServedPage | null {
    return this.#byDomain.get(domain) ?? null;
  }

  /** Reads what has changed, and the changed pages that fit into memory. */
  async tick(): Promise<"again" | "idle"> {
    const now = this.#options.now();
    try {
      if (this.#cursor === null || now - this.#fullAt >= FULL_EVERY_MS) {
        const all = await this.#options.readChanges(null);
        this.#takeAll(all.pages);
        this.#fullAt = now;
        // Changes between two lists of all pages are read below.
        this.#cursor ??= all.cursor;
      }
      const { cursor, pages } = await this.#options.readChanges(this.#cursor);
      for (const page of pages) this.#take(page);
      this.#cursor = cursor;
    } catch (error) {
      this.#isAway = true;
      throw error;
    }
    this.#isAway = false;
    this.#confirmedAt = now;
    return this.#readAhead(now);
  }

  #takeAll(pages: readonly ListedPage[]): void {
    const ids = new Set(pages.map(({ id }) => id));
    for (const [id, served] of this.#byId) if (!ids.has(id)) this.#remove(served);
    for (const page of pages) {
      const known = this.#byId.get(page.id);
      if (known === undefined || isDifferent(known.listed, page)) this.#take(page);
    }
  }

  #take(listed: ListedPage): void {
    const known = this.#byId.get(listed.id);
    if (listed.isDeleted) {
      if (known !== undefined) this.#remove(known);
      return;
    }
    if (known === undefined) {
      this.#index({
        listed,
        view: null,
        readAt: 0,
        isChanged: true,
        documents: null,
        validUntil: Number.NEGATIVE_INFINITY,
        byteCount: 0,
        renewing: null,
      });
      return;
    }
    this.#unindex(known);
    // Whoever does not know the password must not get a page from before it was set.
    if (known.listed.passwordHash !== listed.passwordHash) this.#drop(known);
    known.listed = listed;
    known.isChanged = true;
    this.#index(known);
  }

  #index(served: ServedPage): void {
    const { id, slug, domain } = served.listed;
    this.#byId.set(id, served);
    this.#bySlug.set(slug, served);
    if (domain !== null) this.#byDomain.set(domain, served);
  }

  #unindex(served: ServedPage): void {
    const { id, slug, domain } = served.listed;
    this.#byId.delete(id);
    if (this.#bySlug.get(slug) === served) this.#bySlug.delete(slug);
    if (domain !== null && this.#byDomain.get(domain) === served) this.#byDomain.delete(domain);
  }

  #remove(served: ServedPage): void {
    this.#unindex(served);
    this.#drop(served);
  }

  /** Renders changed pages again, and reads pages ahead while there is room, so that an outage finds them here. */
  async #readAhead(now: Instant): Promise<"again" | "idle"> {
    let count = 0;
    for (const served of this.#byId.values()) {
      if (!served.isChanged) continue;
      if (served.view === null && this.#isFull) continue;
      if (count >= VIEWS_PER_TICK) return "again";
      count += 1;
      await this.#renewOnce(served, now);
    }
    return "idle";
  }

  /** What to send now without waiting; null: it has to be renewed. */
  ready(served: ServedPage, now: Instant): Documents | null {
    return now < served.validUntil ? served.documents : null;
  }

  /** The documents of a page, renewed if necessary; null: it was deleted, or was not read before an outage. */
  documents(served: ServedPage, now: Instant): Promise<Documents | null> {
    const ready = this.ready(served, now);
    return ready === null ? this.#renewOnce(served, now) : Promise.resolve(ready);
  }

  /** Requests at the same time wait for the same work. */
  #renewOnce(served: ServedPage, now: Instant): Promise<Documents | null> {
    served.renewing ??= this.#renew(served, now).finally(() => {
      served.renewing = null;
    });
    return served.renewing;
  }

  async #renew(served: ServedPage, now: Instant): Promise<Documents | null> {
    const isDue = served.view === null || served.isChanged || now >= served.view.refreshAt;
    if (isDue && !this.#isAway) await this.#read(served, now);
    const { view, listed } = served;
    if (view === null) return null;
    const isCurrent = !served.isChanged && !this.#isAway;
    const confirmedAt = isCurrent ? Math.max(served.readAt, this.#confirmedAt ?? 0) : served.readAt;
    const isStale = this.#isAway && now - confirmedAt >= STALE_AFTER_MS;
    const isProtected = listed.passwordHash !== null;
    const documents = await this.#options.render(view, { now, confirmedAt, isStale, isProtected });
    // It was changed or deleted while it was rendered.
    if (served.listed !== listed) return documents;
    served.documents = documents;
    const nextMinute = (Math.floor(now / MINUTE_MS) + 1) * MINUTE_MS;
    served.validUntil = this.#isAway ? now + STALE_RENDER_MS : Math.min(nextMinute, view.refreshAt);
    this.#keep(served);
    return documents;
  }

  /** Reads the view. If the database is unavailable, the last one stays. */
  async #read(served: ServedPage, now: Instant): Promise<void> {
    const { listed } = served;
    served.isChanged = false;
    try {
      const view = await this.#options.readView(listed.id, now);
      if (view === null) {
        if (this.#byId.get(listed.id) === served) this.#remove(served);
        return;
      }
      served.view = view;
      served.readAt = now;
    } catch (error) {
      served.isChanged = true;
      if (served.view === null) throw error;
      this.#isAway = true;
    }
  }

  #keep(served: ServedPage): void {
    const { keptBytesMax = STATUS_KEPT_BYTES_MAX } = this.#options;
    if (this.#byId.get(served.listed.id) !== served) return;
    this.#keptBytes -= served.byteCount;
    served.byteCount = bytesOf(served);
    this.#keptBytes += served.byteCount;
    this.#kept.delete(served);
    this.#kept.add(served);
    for (const oldest of this.#kept) {
      if (this.#keptBytes <= keptBytesMax || oldest === served) return;
      this.#drop(oldest);
      this.#isFull = true;
    }
  }

  #drop(served: ServedPage): void {
    this.#keptBytes -= served.byteCount;
    this.#kept.delete(served);
    Object.assign(served, {
      view: null,
      documents: null,
      byteCount: 0,
      validUntil: Number.NEGATIVE_INFINITY,
      isChanged: true,
    });
  }
}

function isDifferent(one: ListedPage, other: ListedPage): boolean {
  return (
    one.version !== other.version ||
    one.slug !== other.slug ||
    one.domain !== other.domain ||
    one.passwordHash !== other.passwordHash
  );
}

/** Objects in memory take about this much more than their JSON. */
const MEMORY_OVER_JSON = 3;

function bytesOf({ view, documents }: ServedPage): number {
  const sent = documents === null ? [] : Object.values(documents);
  const ofView = view === null ? 0 : JSON.stringify(view).length * MEMORY_OVER_JSON;
  return sent.reduce((sum, { byteCount }) => sum + byteCount, ofView);
}
