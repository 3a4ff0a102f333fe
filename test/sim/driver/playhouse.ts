// The processes of the house as the world has them: which intakes are there, how far they can see, and what a fault
// does to them when it begins and when it ends.
import type { Visibility } from "../../../src/core/deadline.ts";
import type { Instant, Interval } from "../../../src/core/instant.ts";
import type { AcceptedSignal } from "../../../src/core/signal.ts";
import { type HeartbeatAccepted, settledVisibility } from "../../../src/core/watermark.ts";
import { readIntakes } from "../../../src/operations/intakes.ts";
import type { Database } from "../../../src/store/db.ts";
import type { Clocks } from "../world/clocks.ts";
import { PROMISES_MS_MAX } from "../world/receipt.ts";
import type { Fault, WorldHead } from "../world/world.ts";
import { type BeatNews, type Moment, SimIntake } from "./sim-intake.ts";
import type { Stage } from "./stage.ts";

const LEFT_OUT = `update intakes i set beat_at = to_timestamp(n.beat / 1000::float8),
    watermark_at = to_timestamp(n.watermark / 1000::float8), lease_until_at = to_timestamp(n.lease / 1000::float8)
  from unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[]) as n (id, beat, watermark, lease)
  where i.id = n.id`;

export class Playhouse {
  readonly #stage: Stage;
  readonly #head: WorldHead;
  readonly #clocks: Clocks;
  /** By the number that the world gives them; null: dead. */
  readonly #intakes: (SimIntake | null)[] = [];
  /** Dead ones that left a spool, or that nobody has missed yet. */
  readonly #remains = new Map<number, SimIntake>();
  isDatabaseAway = false;
  #beatCount = 0;
  #blind: readonly Interval[] = [];
  /** Since when beats have been fresh, as the last one was told. */
  #freshSinceAt: Instant | null = null;

  constructor(stage: Stage, { head, clocks }: { head: WorldHead; clocks: Clocks }) {
    this.#stage = stage;
    this.#head = head;
    this.#clocks = clocks;
  }

  get #database(): Database {
    return this.#stage.database;
  }

  /** The first start of everything, or the next one after all was stopped. */
  async open(moment: Moment): Promise<void> {
    for (let number = 0; number < this.#head.intakeCount; number += 1)
      await this.#startIntake(number, moment);
  }

  async #startIntake(number: number, moment: Moment): Promise<void> {
    const intake = new SimIntake(this.#database);
    await intake.enter(`intake ${number}`, moment);
    this.#intakes[number] = intake;
    const gone = this.#forgetRemains(number);
    this.#note(await intake.beat(moment, { gone }));
  }

  /**
   * What can be seen by whoever records what came, or does what an owner asks, since the turn before: settled as it
   * was then, and as far as everything has been applied by the instant in question.
   */
  visibility({ receiptAt, beforeAt }: { receiptAt: Instant; beforeAt: Instant }): Visibility {
    const isFresh = this.#intakes.some((intake) => intake !== null && !intake.isCut);
    if (!isFresh) return this.#unsettled();
    const open = [...this.#intakes, ...this.#remains.values()].filter((one) => one !== null);
    const watermarkAt = Math.min(...open.map((intake) => intake.watermarkFor(receiptAt)));
    const settling = { lookedAt: beforeAt, freshSinceAt: this.#freshSinceAt };
    return settledVisibility(settling, { watermarkAt, blind: this.#blind });
  }

  /** While something is replayed, nobody believes in silence. */
  #unsettled(): Visibility {
    return { watermarkAt: null, blind: this.#blind };
  }

  #note({ visibility, freshSinceAt }: HeartbeatAccepted): void {
    this.#blind = visibility.blind;
    this.#freshSinceAt = freshSinceAt;
  }

  #intake(number: number): SimIntake {
    const intake = this.#intakes[number] ?? this.#remains.get(number);
    if (intake === undefined || intake === null)
      throw new Error(`intake ${number} is dead, and was to record`);
    return intake;
  }

  async record(number: number, signals: readonly AcceptedSignal[], visibility: Visibility): Promise<void> {
    await this.#intake(number).record(signals, visibility);
  }

  spool(number: number, signal: AcceptedSignal): void {
    this.#intake(number).spool.push(signal);
  }

  /**
   * Everybody who can has been beating since the turn before. Those beats are written down without being made, and
   * in turns one intake makes the next.
   */
  async beat(moment: Moment): Promise<void> {
    const beating = this.#beating();
    if (this.isDatabaseAway || beating.length === 0) return;
    const leftOut = beating.map((intake) => intake.leaveOut(moment)).filter((one) => one !== null);
    if (leftOut.length > 0) {
      await this.#stage.rows(LEFT_OUT, [
        leftOut.map(({ id }) => id),
        leftOut.map(({ beatAt }) => beatAt),
        leftOut.map(({ watermarkAt }) => watermarkAt),
        leftOut.map(({ leaseUntilAt }) => leaseUntilAt),
      ]);
    }
    this.#beatCount += 1;
    const next = beating[this.#beatCount % beating.length];
    if (next !== undefined) this.#note(await next.beat(moment));
  }

  #beating(): SimIntake[] {
    return this.#intakes.filter((intake) => intake !== null && !intake.isCut) as SimIntake[];
  }

  async #beatWith(moment: Moment, news: BeatNews): Promise<void> {
    for (const intake of this.#beating()) this.#note(await intake.beat(moment, news));
  }

  /** What the sweeper sees. It remembers nothing: what is settled is on record. */
  async look(): Promise<{ now: Instant; visibility: Visibility }> {
    const { now, settled } = await readIntakes(this.#database);
    return { now, visibility: settled };
  }

  /** What happens in the middle of a fault. */
  during(fault: Fault, trueAt: number): void {
    if (fault.kind === "cut-crash" && trueAt === fault.diesAt) this.#die(fault.intake);
  }

  /** After the turn in which a fault begins. */
  async begin(fault: Fault, moment: Moment): Promise<void> {
    switch (fault.kind) {
      case "database-away":
        this.isDatabaseAway = true;
        for (const intake of this.#intakes) intake?.cut();
        return;
      case "intake-cut":
      case "cut-crash":
        this.#intake(fault.intake).cut();
        return;
      case "refusing":
        this.#intake(fault.intake).refusingSinceAt = moment.receiptAt;
        return;
      case "intake-crash": {
        this.#die(fault.intake);
        const [survivor] = this.#beating();
        // Whoever is left finds that it has left nothing; if nobody is, its next start will.
        if (survivor === undefined) return;
        this.#note(await survivor.beat(moment, { gone: this.#forgetRemains(fault.intake) }));
        return;
      }
      case "all-stopped":
        return this.#stopAll(fault);
      case "clock-step":
        return this.#stepClock(fault, moment);
      case "sweeper-down":
      case "notifier-down":
      case "twice":
      case "receiver-failing":
      case "receiver-gone":
    }
  }

  #die(number: number): void {
    this.#remains.set(number, this.#intake(number));
    this.#intakes[number] = null;
  }

  #forgetRemains(number: number): string[] {
    const remains = this.#remains.get(number);
    this.#remains.delete(number);
    return remains === undefined ? [] : [remains.id];
  }

  async #stopAll({ isClean }: Fault & { kind: "all-stopped" }): Promise<void> {
    for (const [number, intake] of this.#intakes.entries()) {
      if (isClean) await intake?.leave();
      else this.#die(number);
      this.#intakes[number] = null;
    }
  }

  async #stepClock({ byMs }: Fault & { kind: "clock-step" }, moment: Moment): Promise<void> {
    // All of them have beaten right before, so that all of them say the same about the time that was skipped.
    await this.#beatWith(moment, {});
    const databaseAt = moment.databaseAt + byMs;
    const receiptAt = Math.max(databaseAt, moment.receiptAt);
    await this.#stage.setClock(databaseAt);
    await this.#beatWith({ databaseAt, receiptAt }, { skippedMs: byMs });
  }

  /** Before the sweep of the turn in which a fault ends. */
  async end(fault: Fault, moment: Moment): Promise<void> {
    switch (fault.kind) {
      case "database-away":
        return this.#endOutage(fault, moment);
      case "intake-cut": {
        const intake = this.#intake(fault.intake);
        await intake.drain(this.#unsettled());
        this.#note(await intake.beat(moment));
        return;
      }
      case "cut-crash":
        return this.#adopt(fault, moment);
      case "refusing": {
        const intake = this.#intake(fault.intake);
        const from = intake.refusingSinceAt ?? moment.receiptAt;
        intake.refusingSinceAt = null;
        this.#note(await intake.beat(moment, { refused: [{ from, to: moment.receiptAt }] }));
        return;
      }
      case "intake-crash":
        return this.#startIntake(fault.intake, moment);
      case "all-stopped":
        return this.open(moment);
      case "clock-step":
      case "sweeper-down":
      case "notifier-down":
      case "twice":
      case "receiver-failing":
      case "receiver-gone":
    }
  }

  async #endOutage({ from }: Fault & { kind: "database-away" }, moment: Moment): Promise<void> {
    this.isDatabaseAway = false;
    const intakes = this.#intakes.filter((intake) => intake !== null);
    for (const intake of intakes) await intake.drain(this.#unsettled());
    const refusedFrom = this.#clocks.receiptAt(from + PROMISES_MS_MAX);
    const isRefused = intakes.length > 1 && refusedFrom < moment.receiptAt;
    await this.#beatWith(moment, isRefused ? { refused: [{ from: refusedFrom, to: moment.receiptAt }] } : {});
  }

  /** A new start finds the spool of the one that died, and gives it to the database under its own numbers. */
  async #adopt({ intake: number }: Fault & { kind: "cut-crash" }, moment: Moment): Promise<void> {
    const intake = new SimIntake(this.#database);
    await intake.enter(`intake ${number}`, moment);
    const remains = this.#remains.get(number);
    await remains?.drain(this.#unsettled());
    await remains?.leave();
    this.#remains.delete(number);
    this.#intakes[number] = intake;
    this.#note(await intake.beat(moment));
  }
}
