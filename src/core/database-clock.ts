// The database's time, extrapolated between readings with this process's monotonic clock. All processes use one clock,
// so that pings and changes that arrive through different processes can be ordered.
import type { Instant } from "./instant.ts";
import type { ClockReading } from "./watermark.ts";

/** Monotonic milliseconds from an arbitrary start: `performance.now`. */
export type MonotonicMs = () => number;

export class DatabaseClock {
  readonly #monotonic: MonotonicMs;
  #offsetMs: number;
  #lastAt: Instant;

  constructor(look: ClockReading, monotonic: MonotonicMs) {
    this.#monotonic = monotonic;
    this.#offsetMs = middleOf(look);
    this.#lastAt = Math.floor(monotonic() + this.#offsetMs);
  }

  /** Never goes backwards: if the database's clock did, the time stays constant until it has caught up. */
  now(): Instant {
    const at = Math.floor(this.#monotonic() + this.#offsetMs);
    if (at > this.#lastAt) this.#lastAt = at;
    return this.#lastAt;
  }

  /** By how much the database's clock is ahead of this one, at the middle of the reading. */
  aheadMs(look: ClockReading): number {
    return middleOf(look) - this.#offsetMs;
  }

  /**
   * Applies a new reading. The database read its clock at some time between request and response; as long as the
   * extrapolated time is in that range it is kept, because a slow response is less precise than earlier readings.
   */
  adjust({ databaseAt, sentAtMs, receivedAtMs }: ClockReading): void {
    this.#offsetMs = Math.min(Math.max(this.#offsetMs, databaseAt - receivedAtMs), databaseAt - sentAtMs);
  }
}

/** A larger difference between the clocks of this machine is a step. */
const STEP_MS_MAX = 1_000;
/** The extrapolated time is wrong by less than this after a reading that took no longer. */
const READING_MS_MAX = 1_000;

/** Whether a reading is precise enough to start with, and to end a step. */
export function isPrecise({ sentAtMs, receivedAtMs }: ClockReading): boolean {
  return receivedAtMs - sentAtMs <= READING_MS_MAX;
}

/** This machine's clocks at one moment. */
export type MachineClocks = { wallMs: number; monotonicMs: number };

/**
 * Whether the machine was suspended, or its clock was set, since the last precise reading. The monotonic clock may stop
 * while a machine is suspended, so the extrapolated time is wrong until the next one.
 */
export class ClockSteps {
  #aheadMs: number;

  constructor(clocks: MachineClocks) {
    this.#aheadMs = aheadOf(clocks);
  }

  /** The database's clock was read. `clocks`: before that. */
  noteReading(clocks: MachineClocks, reading: ClockReading): void {
    if (isPrecise(reading)) this.#aheadMs = aheadOf(clocks);
  }

  hasStepped(clocks: MachineClocks): boolean {
    return Math.abs(aheadOf(clocks) - this.#aheadMs) > STEP_MS_MAX;
  }
}

function aheadOf({ wallMs, monotonicMs }: MachineClocks): number {
  return wallMs - monotonicMs;
}

/** The difference of the two clocks, if request and response took equally long. */
function middleOf({ databaseAt, sentAtMs, receivedAtMs }: ClockReading): number {
  return databaseAt - (sentAtMs + receivedAtMs) / 2;
}
