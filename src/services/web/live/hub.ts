// Everybody who watches a project in this process. Once a second the changes of all watched projects are read by one
// cursor, in a handful of statements however many watch; nothing is read while nobody does. No NOTIFY: it would take a
// lock for the whole database at the commit of every ping.
import type { LiveMessage } from "../../../contract/web/live.ts";
import type { ReceivingTrouble } from "../../../contract/web/boot.ts";
import type { Instant } from "../../../core/instant.ts";
import {
  countChecks,
  countDown,
  findLeanChecks,
  type LeanCheck,
  listChangedChecks,
  listCheckNames,
} from "../../../store/checks/check-rows.ts";
import { readSnapshot } from "../../../store/checks/snapshot.ts";
import { listWatching } from "../../../store/accounts/sessions.ts";
import type { Db } from "../../../store/db.ts";
import { listChangedFlips, type NamedFlip } from "../../../store/history/newest-flips.ts";
import { downMessage, flipMessage, FLIPS_LOOKED_AT } from "./changes.ts";
import { ProjectFeed } from "./project-feed.ts";
import type { Watcher } from "./watcher.ts";

/** Streams that a process holds, and those of one account: a few browsers with a few windows. */
const STREAMS_MAX = 2_000;
export const STREAMS_PER_ACCOUNT_MAX = 20;
/** With more changes in a second than these, the pages have to be fetched anew. */
const CHANGES_MAX = 20_000;
/** After so many looks in a row that failed, whoever watches is let go: a page that hears nothing would call itself live. */
const FAILED_LOOKS_MAX = 2;
/** Flips are told once, also when they are read twice. */
const FLIPS_REMEMBERED = 5_000;

type Watched = {
  watchers: Set<Watcher>;
  feed: ProjectFeed;
  /** Whoever resumes from here misses nothing that the feed has not told yet. */
  cursor: number;
};

/** What one look at the database has brought. */
type Look = {
  rows: ReadonlyMap<number, readonly LeanCheck[]>;
  flips: readonly NamedFlip[];
  counts: ReadonlyMap<number, number>;
};

export type HubOptions = {
  database: Db;
  now: () => Instant;
  receiving: (now: Instant) => ReceivingTrouble | null;
};

export class LiveHub {
  readonly #options: HubOptions;
  readonly #watched = new Map<number, Watched>();
  readonly #toldFlips = new Set<number>();
  /** Up to where changes were read; null while nobody watches. */
  #cursor: number | null = null;
  #receiving: string | null = null;
  #failedLooks = 0;
  #isClosed = false;

  constructor(options: HubOptions) {
    this.#options = options;
  }

  /** Whether somebody else may watch, and otherwise the sentence to refuse with. */
  refusalFor(accountId: number): string | null {
    const all = this.#watchers();
    if (this.#isClosed) return "The server is shutting down.";
    if (all.length >= STREAMS_MAX) return "Too many open pages on this server.";
    const own = all.filter((watcher) => watcher.accountId === accountId).length;
    return own >= STREAMS_PER_ACCOUNT_MAX ? "Too many open pages for your account." : null;
  }

  /** Lets somebody watch who has read, or will read, everything before a cursor by itself. */
  add(watcher: Watcher, cursor: number): void {
    const { projectId } = watcher;
    this.#cursor ??= cursor;
    const watched = this.#watched.get(projectId) ?? {
      watchers: new Set<Watcher>(),
      feed: new ProjectFeed(),
      cursor,
    };
    watched.watchers.add(watcher);
    this.#watched.set(projectId, watched);
  }

  remove(watcher: Watcher): void {
    const watched = this.#watched.get(watcher.projectId);
    watched?.watchers.delete(watcher);
    if (watched?.watchers.size === 0) this.#watched.delete(watcher.projectId);
  }

  /** Streams that are open. */
  get size(): number {
    return this.#watchers().length;
  }

  /** Ends all streams; the browsers come back by themselves. */
  close(): void {
    this.#isClosed = true;
    this.#endAll();
  }

  /** Reads what has changed, and tells whoever watches. While that is not possible, nobody is kept waiting for it. */
  async tick(): Promise<void> {
    try {
      if (this.#watched.size === 0) this.#cursor = null;
      else await this.#look();
      this.#failedLooks = 0;
    } catch (error) {
      this.#failedLooks += 1;
      if (this.#failedLooks >= FAILED_LOOKS_MAX) this.#endAll();
      throw error;
    }
  }

  async #look(): Promise<void> {
    const { database, now } = this.#options;
    const projectIds = [...this.#watched.keys()];
    const head = await readSnapshot(database);
    const since = this.#cursor ?? head.xmin;
    const [changed, flips, counts] = await Promise.all([
      listChangedChecks(database, { projectIds, since, limit: CHANGES_MAX }),
      listChangedFlips(database, { projectIds, since, limit: FLIPS_LOOKED_AT }),
      countChecks(database, projectIds),
    ]);
    const rows = Map.groupBy(changed, ({ projectId }) => projectId);
    const fresh = flips.filter(({ id }) => !this.#toldFlips.has(id));
    const down = await this.#countDown({ rows, flips: fresh, counts });
    const isTooMuch = changed.length >= CHANGES_MAX;
    for (const [projectId, mine] of rows) this.#watched.get(projectId)?.feed.take(mine);
    await this.#findGone(counts);
    // Asked last: of what has happened since somebody was let out, nothing is told to them.
    await this.#letGo();
    // After the last question: when one of them fails, all of it is read again by the next look, and told once.
    this.#cursor = head.xmin;
    for (const { id } of fresh) this.#remember(id);
    const news = this.#receivingNews(now());
    for (const [projectId, watched] of this.#watched) {
      const told = watched.feed.next(counts.get(projectId) ?? 0, now());
      const messages: LiveMessage[] = [
        ...(isTooMuch ? [{ name: "reload", data: { why: "Too many changes at once." } } as const] : []),
        ...(told === null ? [] : [told]),
        ...fresh.filter((flip) => flip.projectId === projectId).map(flipMessage),
        ...(down.has(projectId) ? [downMessage(down.get(projectId))] : []),
        ...news,
      ];
      if (watched.feed.isDrained) watched.cursor = head.xmin;
      watched.feed.forgetBefore(head.xmin);
      if (messages.length === 0) continue;
      const text = eventText(messages, watched.cursor);
      for (const watcher of watched.watchers) watcher.send(text);
    }
  }

  /** Ends the streams of whoever was signed out, or is no member any more, before anything else is told to them. */
  async #letGo(): Promise<void> {
    const watchers = this.#watchers();
    const still = await listWatching(this.#options.database, watchers);
    const allowed = new Set(still.map(({ sessionId, projectId }) => `${sessionId}/${projectId}`));
    for (const watcher of watchers) {
      if (!allowed.has(`${watcher.sessionId}/${watcher.projectId}`)) watcher.end();
    }
  }

  /** How many are down in the projects where that may have changed; a signal to a check that is up changes nothing. */
  async #countDown({ rows, flips, counts }: Look): Promise<Map<number, number>> {
    const stirred = [...this.#watched].flatMap(([id, { feed }]) =>
      feed.isOff(counts.get(id) ?? 0) ||
      flips.some(({ projectId }) => projectId === id) ||
      rows.get(id)?.some(({ state }) => state.status !== "up") === true
        ? [id]
        : [],
    );
    if (stirred.length === 0) return new Map();
    const found = await countDown(this.#options.database, stirred);
    return new Map(stirred.map((id) => [id, found.get(id) ?? 0]));
  }

  /** Where the number of checks is not what it should be, their names are read and compared. */
  async #findGone(counts: ReadonlyMap<number, number>): Promise<void> {
    const off = [...this.#watched]
      .filter(([id, { feed }]) => feed.isOff(counts.get(id) ?? 0))
      .map(([id]) => id);
    if (off.length === 0) return;
    const { database } = this.#options;
    const names = Map.groupBy(await listCheckNames(database, off), ({ projectId }) => projectId);
    const unknown: string[] = [];
    for (const projectId of off) {
      const uuids = new Set((names.get(projectId) ?? []).map(({ uuid }) => uuid));
      unknown.push(...(this.#watched.get(projectId)?.feed.compare(uuids) ?? []));
    }
    const found: LeanCheck[] = unknown.length === 0 ? [] : await findLeanChecks(database, unknown);
    for (const check of found) this.#watched.get(check.projectId)?.feed.take([check]);
  }

  #receivingNews(now: Instant): LiveMessage[] {
    const receiving = this.#options.receiving(now);
    const told = JSON.stringify(receiving);
    const isNews = this.#receiving !== null && this.#receiving !== told;
    this.#receiving = told;
    return isNews ? [{ name: "receiving", data: { receiving } }] : [];
  }

  #remember(flipId: number): void {
    this.#toldFlips.add(flipId);
    const [oldest] = this.#toldFlips;
    if (this.#toldFlips.size > FLIPS_REMEMBERED && oldest !== undefined) this.#toldFlips.delete(oldest);
  }

  #endAll(): void {
    for (const watcher of this.#watchers()) watcher.end();
  }

  #watchers(): Watcher[] {
    return [...this.#watched.values()].flatMap(({ watchers }) => [...watchers]);
  }
}

/** Events as they go over the wire. The last one carries the cursor: whoever has it has all of them. */
export function eventText(messages: readonly LiveMessage[], cursor: number | string): string {
  const last = messages.length - 1;
  return messages
    .map(({ name, data }, index) => {
      const id = index === last ? `id: ${cursor}\n` : "";
      return `${id}event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
    })
    .join("");
}
