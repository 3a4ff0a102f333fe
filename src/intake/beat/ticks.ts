// The intake's own ticks: as long as they follow on each other it was there and took what came. A process that
// is stopped, suspended or busy for too long leaves a gap in them.
import type { Instant, Interval } from "../../core/instant.ts";
import { TICK_GAP_MS_MAX } from "../../core/machine/watermark.ts";

const TICK_EVERY_MS = 200;
/** Gaps that wait to be told; beyond it the newest ones are joined, and the time between them with them. */
const GAPS_MAX = 100;

export type TickClocks = {
  monotonic: () => number;
  /** It goes on while the machine is suspended; the monotonic one may not. */
  wall: () => number;
  /** The database's time as it is carried here. */
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

  /** A sign that the process is there; notes a gap if the last one is too long ago. */
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

  /** Whether there was a gap since this was asked the last time. */
  takeHadGap(): boolean {
    const hadGap = this.#hadGap;
    this.#hadGap = false;
    return hadGap;
  }

  /** The gaps that have not been forgotten, oldest first. */
  gaps(): readonly Interval[] {
    return this.#gaps.map((gap) => ({ ...gap }));
  }

  /** The first so many gaps have been told. */
  forget(count: number): void {
    this.#gaps.splice(0, count);
  }

  #read(): Tick {
    return { ms: this.#clocks.monotonic(), wallMs: this.#clocks.wall(), at: this.#clocks.now() };
  }
}
