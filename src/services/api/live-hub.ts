// Live updates of projects: the changes since a cursor, the connected clients, and the loop that serves them.
import type { ServerResponse } from "node:http";
import type { ChangesPage, LiveMessage } from "../../contract/api/live.ts";
import { HEARTBEAT_EVENT } from "../../contract/api/live-events.ts";
import type { MonitoringGap } from "../../contract/api/overview.ts";
import type { Instant } from "../../core/instant.ts";
import { DATA_POLICY, SAFETY_HEADERS } from "../../lib/http/response.ts";
import {
  countChecks,
  countDown,
  findLeanChecks,
  type LeanCheck,
  listChangedChecks,
  listCheckNames,
  readSnapshot,
} from "../../store/check-lists.ts";
import type { Db } from "../../store/db.ts";
import { listChangedFlips, type NamedFlip } from "../../store/flips.ts";
import { listLiveViewers } from "../../store/sessions.ts";
import { rowsOf } from "./check-rows.ts";

/** With more changes than this, fetching the page again is cheaper. */
const RESUMED_CHANGES_MAX = 2_000;
/** Maximum number of the newest flips that are searched. */
export const FLIPS_LOOKED_AT = 2_000;
/** Flips that are sent to a client that reconnects. */
export const FLIPS_SENT_MAX = 50;

/** The data of a flip that is sent. */
function flipMessage({ id, uuid, name, from, to, at, reason }: NamedFlip): LiveMessage {
  return { name: "flip", data: { id, checkId: uuid, checkName: name, from, to, at, reason } };
}

/** Number of checks that are down; undefined: none. */
function downMessage(count = 0): LiveMessage {
  return { name: "down", data: { count } };
}

/** The events since a cursor, and the cursor for the next ones. */
export async function changesSince(
  db: Db,
  given: { projectId: number; since: number; monitoringGap: MonitoringGap | null; now: Instant },
): Promise<ChangesPage> {
  const { projectId, since, monitoringGap, now } = given;
  // Read before the changes: events in between are sent twice, and never missed.
  const head = await readSnapshot(db);
  const cursor = String(head.xmin);
  const reload = (reason: string): ChangesPage => ({
    events: [{ name: "reload", data: { reason } }],
    cursor,
  });
  if (since > head.xmax) return reload("The database has changed.");
  const projectIds = [projectId];
  const [changed, flips, counts, down] = await Promise.all([
    listChangedChecks(db, { projectIds, since, limit: RESUMED_CHANGES_MAX + 1 }),
    listChangedFlips(db, { projectIds, since, limit: FLIPS_LOOKED_AT }),
    countChecks(db, projectIds),
    countDown(db, projectIds),
  ]);
  if (changed.length > RESUMED_CHANGES_MAX) return reload("Too many changes since the last update.");
  const rows: LiveMessage = {
    name: "checks",
    data: { checks: rowsOf(changed, now), removed: [], total: counts.get(projectId) ?? 0 },
  };
  const flipEvents = flips.slice(-FLIPS_SENT_MAX).map(flipMessage);
  const gap: LiveMessage = { name: "monitoringGap", data: { monitoringGap } };
  return { events: [rows, ...flipEvents, downMessage(down.get(projectId)), gap], cursor };
}

/** Proxies close connections without traffic after about a minute. */
const HEARTBEAT_EVERY_MS = 5_000;
/** An event, because scripts do not receive comments. Without data, browsers would ignore it. */
const HEARTBEAT = `event: ${HEARTBEAT_EVENT}\ndata: {}\n\n`;
/** A client with more unread bytes is considered gone. */
const UNREAD_BYTES_MAX = 4 * 1024 * 1024;
/** How long a client waits before it reconnects. */
const RETRY_MS = 2_000;

const HEADERS = {
  "Content-Type": "text/event-stream; charset=utf-8",
  "Cache-Control": "no-store, no-transform",
  "Content-Security-Policy": DATA_POLICY,
  // Otherwise nginx buffers the events.
  "X-Accel-Buffering": "no",
};

/** The owner of a project stream. */
type Viewer = {
  projectId: number;
  /** The account or API key that streams are counted for. */
  owner: string;
  /** Null for API keys and tokens. */
  sessionId: number | null;
};

export type Watcher = Viewer & {
  /** Events as text. Text sent before `begin` is queued. */
  send(text: string): void;
  /** Sends this first, and then the queued text. */
  begin(text: string): void;
  /** Ends the stream. The browser reconnects by itself, possibly to another process. */
  end(): void;
};

export type WatcherOptions = Viewer & {
  /** The client disconnected, or was disconnected. Called once. */
  onClose: () => void;
};

/** Opens the stream on a response that has not begun. */
export function openWatcher(response: ServerResponse, options: WatcherOptions): Watcher {
  const { projectId, owner, sessionId, onClose } = options;
  let waiting: string[] | null = [];
  let waitingLength = 0;
  response.writeHead(200, { ...HEADERS, ...SAFETY_HEADERS });
  const write = (text: string) => {
    if (response.destroyed || response.writableEnded) return;
    response.write(text);
    if (response.writableLength > UNREAD_BYTES_MAX) response.destroy();
  };
  write(`retry: ${RETRY_MS}\n\n`);
  const timer = setInterval(() => write(HEARTBEAT), HEARTBEAT_EVERY_MS).unref();
  response.on("close", () => {
    clearInterval(timer);
    socket?.off("end", gone);
    onClose();
  });
  // The listener allows half-closed connections, but a client that has closed its half does not read a stream.
  const gone = () => response.destroy();
  const { socket } = response;
  // The client may have disconnected during the lookup; the caller registers the stream first.
  if (socket?.readableEnded === true) setImmediate(gone);
  else socket?.once("end", gone);
  // Without a listener a broken connection would end the process.
  response.on("error", () => response.destroy());
  return {
    projectId,
    owner,
    sessionId,
    send: (text) => {
      if (waiting === null) return write(text);
      waiting.push(text);
      waitingLength += text.length;
      if (waitingLength > UNREAD_BYTES_MAX) response.destroy();
    },
    begin: (text) => {
      const before = waiting ?? [];
      waiting = null;
      write(text + before.join(""));
    },
    end: () => void response.end(),
  };
}

// The changes of one project that its watchers have not received yet: the newest version of each row, in batches. It
// tracks which checks the project has, to detect removed ones.

/** Rows per batch: a burst at the full hour is spread over a few seconds. */
const PORTION = 1_000;

export class ProjectFeed {
  /** Null until the checks of the project are known. */
  #known: Set<string> | null = null;
  readonly #pending = new Map<string, LeanCheck>();
  readonly #removed = new Set<string>();
  /** Checks removed between reading the page and the first read are only detected by the number of checks. */
  #isCountDue = false;
  /** Rows that were sent, for as long as they may be read again. */
  readonly #sent = new Map<string, Pick<LeanCheck, "change" | "lastXid">>();

  /** Accepts changed rows; those that were already sent are skipped. */
  take(checks: readonly LeanCheck[]): void {
    for (const check of checks) {
      this.#known?.add(check.uuid);
      if (this.#sent.get(check.uuid)?.change !== check.change) this.#pending.set(check.uuid, check);
    }
  }

  /** Whether the number of checks differs from the number of known checks. */
  isOff(count: number): boolean {
    return this.#known?.size !== count;
  }

  /** Compares with the names of all checks; returns those unknown to this feed. */
  compare(names: ReadonlySet<string>): string[] {
    const known = this.#known;
    this.#known = new Set(names);
    if (known === null) {
      this.#isCountDue = true;
      return [];
    }
    for (const uuid of known) {
      if (names.has(uuid)) continue;
      this.#removed.add(uuid);
      this.#pending.delete(uuid);
    }
    return [...names].filter((uuid) => !known.has(uuid));
  }

  /** The next batch, rows that need attention first; null: nothing to send. */
  next(total: number, now: Instant): LiveMessage | null {
    if (this.#pending.size === 0 && this.#removed.size === 0 && !this.#isCountDue) return null;
    this.#isCountDue = false;
    const urgent = [...this.#pending.values()].toSorted((one, other) => urgency(one) - urgency(other));
    const portion = urgent.slice(0, PORTION);
    for (const { uuid, change, lastXid } of portion) {
      this.#pending.delete(uuid);
      this.#sent.set(uuid, { change, lastXid });
    }
    const removed = [...this.#removed];
    this.#removed.clear();
    return { name: "checks", data: { checks: rowsOf(portion, now), removed, total } };
  }

  /** Whether all accepted rows have been sent. */
  get isDrained(): boolean {
    return this.#pending.size === 0;
  }

  /** Drops rows that cannot be read again, because the cursor has passed them. */
  dropBefore(cursor: number): void {
    for (const [uuid, { lastXid }] of this.#sent) if (lastXid < cursor) this.#sent.delete(uuid);
  }
}

function urgency({ state }: LeanCheck): number {
  return state.status === "down" ? 0 : 1;
}

// Once a second the changes of all watched projects are read with one cursor, in a few statements for any number of
// watchers. NOTIFY is not used: it would take a lock for the whole database at the commit of every ping.

/** Maximum number of streams of a process, and of one account or API key. */
const STREAMS_MAX = 2_000;
export const STREAMS_PER_OWNER_MAX = 20;
/** With more changes per second than this, pages have to be fetched again. */
const CHANGES_MAX = 20_000;
/** After so many failed reads in a row, streams are ended: a page without updates would otherwise look live. */
const FAILED_LOOKS_MAX = 2;
/** Flips are sent once, even when they are read twice. */
const FLIPS_REMEMBERED = 5_000;

type Watched = {
  watchers: Set<Watcher>;
  feed: ProjectFeed;
  /** A client that resumes from here misses no event that the feed has not sent yet. */
  cursor: number;
};

/** The result of one read. */
type Look = {
  rows: ReadonlyMap<number, readonly LeanCheck[]>;
  flips: readonly NamedFlip[];
  counts: ReadonlyMap<number, number>;
};

export type HubOptions = {
  database: Db;
  now: () => Instant;
  monitoringGap: (now: Instant) => MonitoringGap | null;
};

export class LiveHub {
  readonly #options: HubOptions;
  readonly #watched = new Map<number, Watched>();
  readonly #sentFlips = new Set<number>();
  /** The cursor up to which changes were read; null without watchers. */
  #cursor: number | null = null;
  /** As last sent, in JSON; null without watchers. */
  #monitoringGap: string | null = null;
  #failedLooks = 0;
  #isClosed = false;

  constructor(options: HubOptions) {
    this.#options = options;
  }

  /** Null if another watcher is allowed, otherwise the error text. */
  refusalFor(owner: string): string | null {
    const all = this.#watchers();
    if (this.#isClosed) return "The server is shutting down.";
    if (all.length >= STREAMS_MAX) return "Too many open streams on this server.";
    const own = all.filter((watcher) => watcher.owner === owner).length;
    return own >= STREAMS_PER_OWNER_MAX
      ? "Too many open streams or pages for your account or API key."
      : null;
  }

  /** Adds a watcher that has read, or will read, everything before a cursor itself. */
  add(watcher: Watcher, cursor: number): void {
    const { projectId } = watcher;
    this.#cursor ??= cursor;
    this.#monitoringGap ??= JSON.stringify(this.#currentGap());
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

  /** Number of open streams. */
  get size(): number {
    return this.#watchers().length;
  }

  /** Ends all streams; browsers reconnect on their own. */
  close(): void {
    this.#isClosed = true;
    this.#endAll();
  }

  /** Reads the changes and sends them to all watchers. If reading fails repeatedly, the streams are ended. */
  async tick(): Promise<void> {
    try {
      if (this.#watched.size === 0) {
        this.#cursor = null;
        this.#monitoringGap = null;
      } else await this.#look();
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
    const fresh = flips.filter(({ id }) => !this.#sentFlips.has(id));
    const down = await this.#countDown({ rows, flips: fresh, counts });
    const isTooMuch = changed.length >= CHANGES_MAX;
    for (const [projectId, mine] of rows) this.#watched.get(projectId)?.feed.take(mine);
    await this.#findRemoved(counts);
    // Checked last, so that a user who has lost access gets no newer changes.
    await this.#endRevoked();
    // After the last query: if one of them fails, everything is read again in the next round, and sent once.
    this.#cursor = head.xmin;
    for (const { id } of fresh) this.#remember(id);
    const gapEvents = this.#gapEvents();
    for (const [projectId, watched] of this.#watched) {
      const rowsEvent = watched.feed.next(counts.get(projectId) ?? 0, now());
      const messages: LiveMessage[] = [
        ...(isTooMuch ? [{ name: "reload", data: { reason: "Too many changes at once." } } as const] : []),
        ...(rowsEvent === null ? [] : [rowsEvent]),
        ...fresh.filter((flip) => flip.projectId === projectId).map(flipMessage),
        ...(down.has(projectId) ? [downMessage(down.get(projectId))] : []),
        ...gapEvents,
      ];
      if (watched.feed.isDrained) watched.cursor = head.xmin;
      watched.feed.dropBefore(head.xmin);
      if (messages.length === 0) continue;
      const text = eventText(messages, watched.cursor);
      for (const watcher of watched.watchers) watcher.send(text);
    }
  }

  /** Ends the streams of sessions that were signed out or are no longer members, before anything else is sent to them. */
  async #endRevoked(): Promise<void> {
    const watchers = this.#watchers().flatMap((watcher) => {
      const { sessionId, projectId } = watcher;
      return sessionId === null ? [] : [{ sessionId, projectId, end: () => watcher.end() }];
    });
    if (watchers.length === 0) return;
    const still = await listLiveViewers(this.#options.database, watchers);
    const allowed = new Set(still.map(({ sessionId, projectId }) => `${sessionId}/${projectId}`));
    for (const watcher of watchers) {
      if (!allowed.has(`${watcher.sessionId}/${watcher.projectId}`)) watcher.end();
    }
  }

  /**
   * The number of checks that are down in projects where it may have changed; a ping to a check that is up changes
   * nothing.
   */
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

  /** If the number of checks is not the expected one, their names are read and compared. */
  async #findRemoved(counts: ReadonlyMap<number, number>): Promise<void> {
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

  #gapEvents(): LiveMessage[] {
    const monitoringGap = this.#currentGap();
    const serialized = JSON.stringify(monitoringGap);
    if (serialized === this.#monitoringGap) return [];
    this.#monitoringGap = serialized;
    return [{ name: "monitoringGap", data: { monitoringGap } }];
  }

  #currentGap(): MonitoringGap | null {
    return this.#options.monitoringGap(this.#options.now());
  }

  #remember(flipId: number): void {
    this.#sentFlips.add(flipId);
    const [oldest] = this.#sentFlips;
    if (this.#sentFlips.size > FLIPS_REMEMBERED && oldest !== undefined) this.#sentFlips.delete(oldest);
  }

  #endAll(): void {
    for (const watcher of this.#watchers()) watcher.end();
  }

  #watchers(): Watcher[] {
    return [...this.#watched.values()].flatMap(({ watchers }) => [...watchers]);
  }
}

/** Events as they are sent. The last one carries the cursor: a client that has it has all of them. */
export function eventText(messages: readonly LiveMessage[], cursor: number | string): string {
  const last = messages.length - 1;
  return messages
    .map(({ name, data }, index) => {
      const id = index === last ? `id: ${cursor}\n` : "";
      return `${id}event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
    })
    .join("");
}
