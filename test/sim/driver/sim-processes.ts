// The simulated processes of the server: the state of the intakes, their visibility, and how faults change them.
import type { Visibility } from "../../../src/core/deadline.ts";
import type { Instant, Interval } from "../../../src/core/instant.ts";
import type { AcceptedSignal } from "../../../src/core/signal.ts";
import { type HeartbeatAccepted, settledVisibility } from "../../../src/core/watermark.ts";
import { readIntakes } from "../../../src/operations/intakes.ts";
import type { Database } from "../../../src/store/db.ts";
import type { Clocks } from "../world/clocks.ts";
import { UNCONFIRMED_MS_MAX } from "../world/receipt.ts";
import type { Fault, WorldHead } from "../world/world.ts";
import { type HeartbeatReport, type Moment, SimIntake } from "./sim-intake.ts";
import type { Environment } from "./environment.ts";

const WRITE_SKIPPED_HEARTBEATS = `update intakes i set beat_at = to_timestamp(n.heartbeat / 1000::float8),
    watermark_at = to_timestamp(n.watermark / 1000::float8), lease_until_at = to_timestamp(n.lease / 1000::float8)
  from unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[]) as n (id, heartbeat, watermark, lease)
  where i.id = n.id`;

export class SimProcesses {
  readonly #environment: Environment;
  readonly #head: WorldHead;
  readonly #clocks: Clocks;
  /** By index in the world; null if it is dead. */
  readonly #intakes: (SimIntake | null)[] = [];
  /** Crashed intakes that left a spool or whose crash has not been recorded yet. */
  readonly #crashed = new Map<number, SimIntake>();
  isDatabaseDown = false;
  #heartbeatCount = 0;
  #blind: readonly Interval[] = [];
  /** Since when heartbeats have been fresh, according to the last one. */
  #freshSinceAt: Instant | null = null;

  constructor(environment: Environment, { head, clocks }: { head: WorldHead; clocks: Clocks }) {
    this.#environment = environment;
    this.#head = head;
    this.#clocks = clocks;
  }

  get #database(): Database {
    return this.#environment.database;
  }

  /** Starts all intakes, at the beginning or after all processes were stopped. */
  async startAll(moment: Moment): Promise<void> {
    for (let number = 0; number < this.#head.intakeCount; number += 1)
      await this.#startIntake(number, moment);
  }

  async #startIntake(number: number, moment: Moment): Promise<void> {
    const intake = new SimIntake(this.#database);
    await intake.enter(`intake ${number}`, moment);
    this.#intakes[number] = intake;
    const gone = this.#removeCrashed(number);
    this.#update(await intake.heartbeat(moment, { gone }));
  }

  /**
   * The visibility for recording pings and applying commands since the previous turn: settled as of that turn, with
   * everything received before `receiptAt` applied.
   */
  visibility({ receiptAt, beforeAt }: { receiptAt: Instant; beforeAt: Instant }): Visibility {
    const isFresh = this.#intakes.some((intake) => intake !== null && !intake.isCut);
    if (!isFresh) return this.#unsettled();
    const open = [...this.#intakes, ...this.#crashed.values()].filter((one) => one !== null);
    const watermarkAt = Math.min(...open.map((intake) => intake.watermarkFor(receiptAt)));
    const settling = { lookedAt: beforeAt, freshSinceAt: this.#freshSinceAt };
    return settledVisibility(settling, { watermarkAt, blind: this.#blind });
  }

  /** While a spool is replayed, no deadline may fire. */
  #unsettled(): Visibility {
    return { watermarkAt: null, blind: this.#blind };
  }

  #update({ visibility, freshSinceAt }: HeartbeatAccepted): void {
    this.#blind = visibility.blind;
    this.#freshSinceAt = freshSinceAt;
  }

  #intake(number: number): SimIntake {
    const intake = this.#intakes[number] ?? this.#crashed.get(number);
    if (intake === undefined || intake === null)
      throw new Error(`intake ${number} is dead and cannot record pings`);
    return intake;
  }

  async record(number: number, signals: readonly AcceptedSignal[], visibility: Visibility): Promise<void> {
    await this.#intake(number).record(signals, visibility);
  }

  spool(number: number, signal: AcceptedSignal): void {
    this.#intake(number).spool.push(signal);
  }

  /**
   * Connected intakes have sent heartbeats since the previous turn. Those are written directly; then one intake, in
   * rotation, sends a real one.
   */
  async heartbeat(moment: Moment): Promise<void> {
    const connected = this.#connected();
    if (this.isDatabaseDown || connected.length === 0) return;
    const skipped = connected.map((intake) => intake.skipHeartbeats(moment)).filter((one) => one !== null);
    if (skipped.length > 0) {
      await this.#environment.rows(WRITE_SKIPPED_HEARTBEATS, [
        skipped.map(({ id }) => id),
        skipped.map(({ heartbeatAt }) => heartbeatAt),
        skipped.map(({ watermarkAt }) => watermarkAt),
        skipped.map(({ leaseUntilAt }) => leaseUntilAt),
      ]);
    }
    this.#heartbeatCount += 1;
    const next = connected[this.#heartbeatCount % connected.length];
    if (next !== undefined) this.#update(await next.heartbeat(moment));
  }

  #connected(): SimIntake[] {
    return this.#intakes.filter((intake) => intake !== null && !intake.isCut) as SimIntake[];
  }

  async #heartbeatAll(moment: Moment, report: HeartbeatReport): Promise<void> {
    for (const intake of this.#connected()) this.#update(await intake.heartbeat(moment, report));
  }

  /** The visibility of the sweeper, read from the database. */
  async sweeperVisibility(): Promise<{ now: Instant; visibility: Visibility }> {
    const { now, settled } = await readIntakes(this.#database);
    return { now, visibility: settled };
  }

  /** Applies the changes during a fault. */
  during(fault: Fault, trueAt: number): void {
    if (fault.kind === "cut-crash" && trueAt === fault.crashesAt) this.#crash(fault.intake);
  }

  /** Begins a fault, after the turn. */
  async begin(fault: Fault, moment: Moment): Promise<void> {
    switch (fault.kind) {
      case "database-away":
        this.isDatabaseDown = true;
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
        this.#crash(fault.intake);
        const [survivor] = this.#connected();
        // A remaining intake reports that the dead one has left nothing; without one, the next start does.
        if (survivor === undefined) return;
        this.#update(await survivor.heartbeat(moment, { gone: this.#removeCrashed(fault.intake) }));
        return;
      }
      case "all-stopped":
        return this.#stopAll(fault);
      case "clock-step":
        return this.#stepClock(fault, moment);
      case "sweeper-down":
      case "notifier-down":
      case "planner-killed":
      case "twice":
      case "receiver-failing":
      case "receiver-gone":
    }
  }

  #crash(number: number): void {
    this.#crashed.set(number, this.#intake(number));
    this.#intakes[number] = null;
  }

  #removeCrashed(number: number): string[] {
    const crashed = this.#crashed.get(number);
    this.#crashed.delete(number);
    return crashed === undefined ? [] : [crashed.id];
  }

  async #stopAll({ isClean }: Fault & { kind: "all-stopped" }): Promise<void> {
    for (const [number, intake] of this.#intakes.entries()) {
      if (isClean) await intake?.leave();
      else this.#crash(number);
      this.#intakes[number] = null;
    }
  }

  async #stepClock({ byMs }: Fault & { kind: "clock-step" }, moment: Moment): Promise<void> {
    // All intakes send a heartbeat first, so that they report the same skipped time.
    await this.#heartbeatAll(moment, {});
    const databaseAt = moment.databaseAt + byMs;
    const receiptAt = Math.max(databaseAt, moment.receiptAt);
    await this.#environment.setClock(databaseAt);
    await this.#heartbeatAll({ databaseAt, receiptAt }, { skippedMs: byMs });
  }

  /** Ends a fault, before the sweep of the turn. */
  async end(fault: Fault, moment: Moment): Promise<void> {
    switch (fault.kind) {
      case "database-away":
        return this.#endOutage(fault, moment);
      case "intake-cut": {
        const intake = this.#intake(fault.intake);
        await intake.drain(this.#unsettled());
        this.#update(await intake.heartbeat(moment));
        return;
      }
      case "cut-crash":
        return this.#takeOverSpool(fault, moment);
      case "refusing": {
        const intake = this.#intake(fault.intake);
        const from = intake.refusingSinceAt ?? moment.receiptAt;
        intake.refusingSinceAt = null;
        this.#update(await intake.heartbeat(moment, { refused: [{ from, to: moment.receiptAt }] }));
        return;
      }
      case "intake-crash":
        return this.#startIntake(fault.intake, moment);
      case "all-stopped":
        return this.startAll(moment);
      case "clock-step":
      case "sweeper-down":
      case "notifier-down":
      case "planner-killed":
      case "twice":
      case "receiver-failing":
      case "receiver-gone":
    }
  }

  async #endOutage({ from }: Fault & { kind: "database-away" }, moment: Moment): Promise<void> {
    this.isDatabaseDown = false;
    const intakes = this.#intakes.filter((intake) => intake !== null);
    for (const intake of intakes) await intake.drain(this.#unsettled());
    const refusedFrom = this.#clocks.receiptAt(from + UNCONFIRMED_MS_MAX);
    const isRefused = intakes.length > 1 && refusedFrom < moment.receiptAt;
    await this.#heartbeatAll(
      moment,
      isRefused ? { refused: [{ from: refusedFrom, to: moment.receiptAt }] } : {},
    );
  }

  /** A new intake finds the spool of the dead one and replays it with the dead one's sequence numbers. */
  async #takeOverSpool({ intake: number }: Fault & { kind: "cut-crash" }, moment: Moment): Promise<void> {
    const intake = new SimIntake(this.#database);
    await intake.enter(`intake ${number}`, moment);
    const crashed = this.#crashed.get(number);
    await crashed?.drain(this.#unsettled());
    await crashed?.leave();
    this.#crashed.delete(number);
    this.#intakes[number] = intake;
    this.#update(await intake.heartbeat(moment));
  }
}
