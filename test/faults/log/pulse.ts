// Checks whose deadlines are a few seconds away all the time, and jobs that ping them before and retry until they are
// accepted. None of them may go down, whatever is broken. Deadlines fire at once after an absence of recorders: the minute
// that sweepers wait is skipped, so that it hides nothing.
import { setTimeout as sleep } from "node:timers/promises";
import { countFalse } from "../alerts/alert-verdict.ts";
import { addWatchedChecks, expectBetween, type WatchedCheck } from "../alerts/watched-checks.ts";
import { type Entry, isAcknowledged } from "../signals/send.ts";
import { databaseNow } from "../stage/intake-rows.ts";
import type { LogStage } from "./log-stage.ts";

const CHECKS = 400;
const CHANNELS = 2;
const TOGETHER = 8;
const EVERY_MS = 1_000;
const DEADLINE_MS = 8_000;
const GRACE_SECONDS = 60;
const RETRY_MS = 500;
/** A sender that was slower proves nothing. */
const MARGIN_MS = 1_000;

export type PulseResult = { pulses: number; inTime: number; falseAlarms: number };

export class Pulse {
  readonly #log: LogStage;
  readonly #watched: readonly WatchedCheck[];
  readonly #jobs: Promise<void>[] = [];
  /** Checks with a ping that was not answered in time. */
  readonly #late = new Set<WatchedCheck>();
  #inTime = 0;
  #pulses = 0;
  #isOver = false;
  #isPaused = false;
  #turn: Promise<void> = Promise.resolve();
  readonly #running: Promise<void>;

  private constructor(log: LogStage, watched: readonly WatchedCheck[]) {
    this.#log = log;
    this.#watched = watched;
    this.#running = this.#run();
  }

  static async start(log: LogStage): Promise<Pulse> {
    const given = { receiver: log.receiver, count: CHECKS, channels: CHANNELS, graceSeconds: GRACE_SECONDS };
    return new Pulse(log, await addWatchedChecks(log.stage, given));
  }

  /** Sends nothing until it is resumed; resolves when every ping was accepted. */
  async pause(): Promise<void> {
    this.#isPaused = true;
    await this.#turn;
    await Promise.all(this.#jobs);
  }

  resume(): void {
    this.#isPaused = false;
  }

  /** Sends nothing more; resolves when every ping was accepted. */
  async end(): Promise<void> {
    this.#isOver = true;
    await this.#running;
    await Promise.all(this.#jobs);
  }

  /** Call it when everything is applied. */
  async result(): Promise<PulseResult> {
    const watched = this.#watched.filter((check) => !this.#late.has(check));
    const { arrivals } = this.#log.receiver;
    const falseAlarms = await countFalse(this.#log.stage, { arrivals, watched });
    return { pulses: this.#pulses, inTime: this.#inTime, falseAlarms };
  }

  async #run(): Promise<void> {
    for (let at = 0; !this.#isOver; at = (at + TOGETHER) % CHECKS) {
      await sleep(EVERY_MS);
      if (this.#isPaused) continue;
      this.#turn = this.#beat(this.#watched.slice(at, at + TOGETHER));
      await this.#turn;
    }
  }

  async #beat(some: readonly WatchedCheck[]): Promise<void> {
    try {
      const deadlineAt = await this.#expect(some);
      this.#pulses += 1;
      for (const check of some) this.#jobs.push(this.#job(check, deadlineAt));
    } catch {
      // The database is down on purpose.
    }
  }

  async #expect(some: readonly WatchedCheck[]): Promise<number> {
    const { stage } = this.#log;
    const deadlineAt = (await stage.withClient(databaseNow)) + DEADLINE_MS;
    await stage.withClient((client) =>
      client.query(
        `update intakes set gap_ended_at = gap_ended_at - interval '61 seconds'
         where gap_ended_at > clock_timestamp() - interval '1 minute'`,
      ),
    );
    await expectBetween(stage, some, { from: deadlineAt, to: deadlineAt, graceSeconds: GRACE_SECONDS });
    return deadlineAt;
  }

  async #job(check: WatchedCheck, deadlineAt: number): Promise<void> {
    const { ledger } = this.#log.stage;
    const attempt = () => ledger.send(ledger.maker.make(check, { kind: "s" }), this.#log.router.port);
    let entry = await attempt();
    if (isInTime(entry, deadlineAt)) this.#inTime += 1;
    else this.#late.add(check);
    while (!isAcknowledged(entry)) {
      await sleep(RETRY_MS);
      entry = await attempt();
    }
  }
}

/** Acknowledged or rejected by us before the deadline. */
function isInTime({ status, sentAt, ms }: Entry, deadlineAt: number): boolean {
  return status !== 0 && sentAt + ms < deadlineAt - MARGIN_MS;
}
