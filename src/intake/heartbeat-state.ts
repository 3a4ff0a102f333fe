// What an intake remembers about heartbeats, its own and those of other intakes. Time is an argument.
import type { Visibility } from "../core/deadline.ts";
import { type Instant, type Interval, MINUTE_MS } from "../core/instant.ts";
import { DAYS_KEPT, keptFrom } from "../core/retention.ts";
import {
  HEARTBEAT_GAP_MS_MAX,
  type HeartbeatAccepted,
  HOLD_REPORTED_AFTER_MS,
  type NumberedBlind,
  settledVisibility,
  TICK_GAP_MS_MAX,
} from "../core/watermark.ts";

/** The intake that holds the watermark, and for how long. */
type Hold = { intakeId: string; name: string; behindMs: number };

const NOTHING_SEEN: Visibility = { watermarkAt: null, blind: [] };

export class PeerHeartbeats {
  /** On the database's clock: see BeatRequest. */
  watchingSinceAt: Instant | null = null;
  #lastAt: Instant | null = null;
  #visibility = NOTHING_SEEN;
  #isAlone: boolean;
  readonly #blind = new BlindIntervals();
  readonly #signs = new Map<string, { lastSeqs: string; at: Instant }>();

  /** `isAlone`: as far as known before the first heartbeat. */
  constructor({ isAlone }: { isAlone: boolean }) {
    this.#isAlone = isAlone;
  }

  /** Whether no other intake was open at the last heartbeat. */
  get isAlone(): boolean {
    return this.#isAlone;
  }

  /** The ID of the blind interval after which the next heartbeat reads. */
  get blindAfterId(): number {
    return this.#blind.afterId;
  }

  /** As of the last heartbeat. */
  get visibility(): Visibility {
    return this.#visibility;
  }

  /** When other intakes were last seen to record something. */
  signs(): Map<string, Instant> {
    return new Map([...this.#signs].map(([id, { at }]) => [id, at]));
  }

  /** The database is a different one, or has lost data: missing pings raise no alerts for a while. */
  startOver(): void {
    this.watchingSinceAt = null;
    this.#lastAt = null;
    this.#visibility = NOTHING_SEEN;
    this.#blind.clear();
  }

  /** Applies the result of a heartbeat. */
  note({ look, others, visibility, freshSinceAt }: HeartbeatAccepted): void {
    const now = look.databaseAt;
    const isComplete = this.#blind.note(visibility.blind, now);
    // The database has lost data: everything is read again.
    if (!isComplete) this.startOver();
    const isUnbroken = this.#lastAt !== null && now - this.#lastAt <= HEARTBEAT_GAP_MS_MAX;
    if (!isUnbroken) this.watchingSinceAt = now;
    this.#lastAt = now;
    this.#visibility = isComplete
      ? settledVisibility({ lookedAt: now, freshSinceAt }, { ...visibility, blind: this.#blind.all() })
      : NOTHING_SEEN;
    this.#isAlone = others.length === 0;
    const ids = new Set(others.map(({ id }) => id));
    for (const id of this.#signs.keys()) if (!ids.has(id)) this.#signs.delete(id);
    for (const other of others) {
      const known = this.#signs.get(other.id);
      const lastSeqs = other.lastSeqs.join();
      if (known?.lastSeqs !== lastSeqs)
        this.#signs.set(other.id, { lastSeqs, at: known === undefined ? other.heartbeatAt : now });
    }
  }
}

/** The intake that has held the watermark for so long that the admin should be notified; null if none. */
export function holdOf(
  { look, others, visibility }: HeartbeatAccepted,
  own: { id: string; name: string },
): Hold | null {
  const behindMs = look.databaseAt - visibility.watermarkAt;
  if (behindMs <= HOLD_REPORTED_AFTER_MS) return null;
  const holder = others.find(({ watermarkAt }) => watermarkAt === visibility.watermarkAt) ?? own;
  return { intakeId: holder.id, name: holder.name, behindMs };
}

// The blind intervals of all intakes, learned heartbeat by heartbeat, so that each heartbeat reads only new ones.

/**
 * IDs are assigned in order, but a transaction may commit after another one with a higher ID. This long after an ID
 * was seen, all lower ones are visible or will never be: no transaction may take that long.
 */
const COMMITTED_AFTER_MS = 60_000;

type Seen = NumberedBlind & { seenAt: Instant };

export class BlindIntervals {
  /** By ID. */
  readonly #seen = new Map<number, Seen>();
  /** All IDs up to this one have been seen, if they were ever used. */
  #completeToId = 0;

  /**
   * The ID after which to read. Intervals without an end are read again, and so is the newest: if the database does
   * not have it any more, it is a different database.
   */
  get afterId(): number {
    let afterId = Math.min(this.#completeToId, this.#newestId() - 1);
    for (const { id, to } of this.#seen.values()) if (to === null) afterId = Math.min(afterId, id - 1);
    return Math.max(0, afterId);
  }

  /** Ordered by start. */
  all(): Interval[] {
    return [...this.#seen.values()]
      .map(({ from, to }) => ({ from, to }))
      .toSorted((one, other) => one.from - other.from);
  }

  clear(): void {
    this.#seen.clear();
    this.#completeToId = 0;
  }

  /** Adds the rows that were read. False: the newest one is gone, so everything has to be read again. */
  note(added: readonly NumberedBlind[], now: Instant): boolean {
    const keptFromAt = keptFrom(DAYS_KEPT.blindInterval, now);
    for (const { id, to } of this.#seen.values()) if (to !== null && to < keptFromAt) this.#seen.delete(id);
    const newestId = this.#newestId();
    for (const one of added) {
      this.#seen.set(one.id, { ...one, seenAt: this.#seen.get(one.id)?.seenAt ?? now });
    }
    for (const { id, seenAt } of this.#seen.values()) {
      if (now - seenAt > COMMITTED_AFTER_MS) this.#completeToId = Math.max(this.#completeToId, id);
    }
    return newestId === 0 || added.some(({ id }) => id === newestId);
  }

  #newestId(): number {
    return Math.max(0, ...this.#seen.keys());
  }
}

// The intake's own ticks: while they are regular, it was running and accepted pings. A process that is stopped,
// suspended or busy for too long leaves a gap.

const TICK_EVERY_MS = 200;
/** Unreported gaps; beyond this number, the newest ones are merged, including the time between them. */
const GAPS_MAX = 100;

export type TickClocks = {
  monotonic: () => number;
  /** It continues while the machine is suspended; the monotonic one may not. */
  wall: () => number;
  /** The database's time as extrapolated here. */
  now: () => Instant;
};

type Tick = { ms: number; wallMs: number; at: Instant };

export class Ticks {
  readonly #clocks: TickClocks;
  readonly #gaps: { from: Instant; to: Instant }[] = [];
  #last: Tick;
  #hadGap = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(clocks: TickClocks) {
    this.#clocks = clocks;
    this.#last = this.#read();
  }

  start(): void {
    this.#last = this.#read();
    this.#timer ??= setInterval(() => this.tick(), TICK_EVERY_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Records a tick, and a gap if the previous one is too long ago. */
  tick(): void {
    const tick = this.#read();
    const last = this.#last;
    this.#last = tick;
    const gapMs = Math.max(tick.ms - last.ms, tick.wallMs - last.wallMs);
    if (gapMs <= TICK_GAP_MS_MAX) return;
    this.#hadGap = true;
    const newest = this.#gaps.at(-1);
    if (this.#gaps.length >= GAPS_MAX && newest !== undefined) newest.to = tick.at;
    else this.#gaps.push({ from: last.at, to: tick.at });
  }

  /** Whether there was a gap since the last call. */
  takeHadGap(): boolean {
    const hadGap = this.#hadGap;
    this.#hadGap = false;
    return hadGap;
  }

  /** The unreported gaps, oldest first. */
  gaps(): readonly Interval[] {
    return this.#gaps.map((gap) => ({ ...gap }));
  }

  /** The first `count` gaps have been reported. */
  markReported(count: number): void {
    this.#gaps.splice(0, count);
  }

  #read(): Tick {
    return { ms: this.#clocks.monotonic(), wallMs: this.#clocks.wall(), at: this.#clocks.now() };
  }
}

// A rate per minute, computed from a growing total that is read with every heartbeat.

type Look = { ms: number; total: number };

export class PerMinute {
  /** The first entry is the newest one that is a minute old, if any: signals since then are counted. */
  #looks: Look[];

  constructor(start: Look) {
    this.#looks = [start];
  }

  /** Number of signals in the minute before this reading; after a longer time without one, the average per minute. */
  look(now: Look): number {
    while ((this.#looks[1]?.ms ?? Infinity) <= now.ms - MINUTE_MS) this.#looks.shift();
    const [first = now] = this.#looks;
    this.#looks.push(now);
    const came = now.total - first.total;
    return Math.round((came * MINUTE_MS) / Math.max(MINUTE_MS, now.ms - first.ms));
  }
}
