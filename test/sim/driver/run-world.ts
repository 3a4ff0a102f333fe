// Runs a world on a real database, turn by turn, with a virtual clock: records pings, writes heartbeats, sweeps
// deadlines and sends messages.
import type { Visibility } from "../../../src/core/deadline.ts";
import type { AcceptedSignal } from "../../../src/core/signal.ts";
import type { Received } from "../comparison.ts";
import type { ServerUnderTest, Message, Send } from "../server-under-test.ts";
import type { SilenceTimes, Turn } from "../model/history.ts";
import type { PlantedFault } from "../planted-faults.ts";
import { type Clocks, clocksOf } from "../world/clocks.ts";
import { serverHistory, receiverHistory } from "../world/server-history.ts";
import { routeHashOf, type Reception, receptionOf } from "../world/receipt.ts";
import { silenceHistory } from "../world/silence-history.ts";
import { type Fault, isIntakeFault, type SilencePlan, type World } from "../world/world.ts";
import { ActionLog, type LoggedAction } from "./action-log.ts";
import { type StoredResults, readGroup, readStoredResults } from "./stored-results.ts";
import { SimProcesses } from "./sim-processes.ts";
import { dyingDatabase } from "./dying-database.ts";
import { Population } from "./population.ts";
import { Receivers } from "./receivers.ts";
import { signalOf } from "./signals.ts";
import type { Environment } from "./environment.ts";

export type RunOptions = {
  environment: Environment;
  server: ServerUnderTest;
  plantedFault: PlantedFault | null;
  /** On `performance.now()`. The run ends at the first time after it without a fault of the intakes. */
  endsAtMs: number;
  log: (text: string) => void;
};

export type RunResult = StoredResults & {
  /** The end of the simulated time. */
  to: number;
  received: readonly Received[];
  /** Every accepted message in a form without IDs, for the digest. */
  described: readonly string[];
  repeatCount: number;
  signalCount: number;
};

type SilenceChange = { trueAt: number; at: number; plan: SilencePlan; times: SilenceTimes | null };

function silenceChanges({ silences }: World["head"], clocks: Clocks): SilenceChange[] {
  return silences
    .flatMap((plan) => {
      const trueAts = [plan.trueAt, ...plan.changes.map(({ trueAt }) => trueAt)];
      return silenceHistory(plan, clocks).map((version, index) => ({
        ...version,
        trueAt: trueAts[index] ?? plan.trueAt,
        plan,
      }));
    })
    .toSorted((one, other) => one.trueAt - other.trueAt);
}

/** A killed planner executes fewer statements than this. */
const STATEMENTS_MAX = 24;

const PROGRESS_MS = 15_000;
const DAY_MS = 86_400_000;

/** Runs a world to its end, or as far as the time limit allows. */
export async function runWorld(world: World, options: RunOptions): Promise<RunResult> {
  const { environment } = options;
  const clocks = clocksOf(world.head);
  const { from, channelCount } = world.head;
  await environment.setClock(clocks.databaseAt(from));
  const population = await Population.make(environment.database, { channelCount, at: from });
  const runner = new WorldRunner(world, { ...options, clocks, population });
  return runner.run();
}

class WorldRunner {
  readonly #world: World;
  readonly #options: RunOptions;
  readonly #clocks: Clocks;
  readonly #reception: Reception;
  readonly #population: Population;
  readonly #processes: SimProcesses;
  readonly #receivers: Receivers;
  readonly #actions: Iterator<LoggedAction>;
  #next: LoggedAction | undefined;
  /** What users still do with silences, in order of time. */
  readonly #silenceChanges: SilenceChange[];
  /** Pings that are not recorded yet, by intake; and which intake has pings of a check. */
  readonly #buffers: AcceptedSignal[][] = [];
  readonly #intakeOf = new Map<number, number>();
  /** The previous turn, on the database clock. */
  #beforeAt = -Infinity;
  #sweptTrueAt = -Infinity;
  #signalCount = 0;
  #acceptedCount = 0;
  #reportedMs = 0;

  constructor(world: World, given: RunOptions & { clocks: Clocks; population: Population }) {
    const { head } = world;
    this.#world = world;
    this.#options = given;
    this.#clocks = given.clocks;
    this.#population = given.population;
    this.#reception = receptionOf(head);
    this.#processes = new SimProcesses(given.environment, { head, clocks: given.clocks });
    const histories = Array.from({ length: head.channelCount }, (_, channel) =>
      receiverHistory(head, channel),
    );
    this.#receivers = new Receivers({ histories, population: given.population });
    this.#silenceChanges = silenceChanges(head, given.clocks);
    const log = new ActionLog(world);
    given.log(`${log.count} actions of ${world.checkCount} checks`);
    this.#actions = log.inOrder();
    this.#next = this.#actions.next().value as LoggedAction | undefined;
  }

  async run(): Promise<RunResult> {
    const { head } = this.#world;
    const { turns } = serverHistory(head);
    let to = head.to;
    for (const turn of turns) {
      if (turn.trueAt > to) break;
      this.#reportProgress(turn);
      await this.#turn(turn);
      if (performance.now() > this.#options.endsAtMs && this.#isBetweenFaults(turn.trueAt)) to = turn.trueAt;
    }
    await this.#drainMessages(to);
    return {
      to,
      received: this.#receivers.received,
      described: this.#receivers.described,
      ...(await readStoredResults(this.#options.environment, this.#population)),
      repeatCount: this.#receivers.repeatCount,
      signalCount: this.#signalCount,
    };
  }

  #reportProgress({ trueAt }: Turn): void {
    if (performance.now() - this.#reportedMs < PROGRESS_MS) return;
    this.#reportedMs = performance.now();
    const days = ((trueAt - this.#world.head.from) / DAY_MS).toFixed(1);
    this.#options.log(`day ${days}: ${this.#signalCount} pings, ${this.#receivers.received.length} messages`);
  }

  #isBetweenFaults(trueAt: number): boolean {
    return !this.#world.head.faults.some(
      (fault) => isIntakeFault(fault) && fault.from < trueAt && trueAt < fault.to,
    );
  }

  async #turn(turn: Turn): Promise<void> {
    const { trueAt } = turn;
    const processes = this.#processes;
    const moment = { databaseAt: this.#clocks.databaseAt(trueAt), receiptAt: turn.at };
    await this.#options.environment.setClock(moment.databaseAt);
    if (trueAt === this.#world.head.from) await processes.startAll(moment);
    await this.#applyActionsUntil(trueAt);
    await processes.heartbeat(moment);
    for (const fault of this.#world.head.faults) {
      if (fault.from < trueAt && trueAt < fault.to) processes.during(fault, trueAt);
      if (fault.to === trueAt) await processes.end(fault, moment);
    }
    if (turn.sweeping !== "no") await this.#sweep(trueAt);
    if (turn.sending !== "no") await this.#send(trueAt, moment.databaseAt);
    for (const fault of this.#world.head.faults) {
      if (fault.from === trueAt) await processes.begin(fault, moment);
    }
    this.#beforeAt = moment.databaseAt;
  }

  /** Applies the actions of jobs and users since the previous turn. */
  async #applyActionsUntil(trueAt: number): Promise<void> {
    for (let action = this.#next; action !== undefined && action.trueAt <= trueAt; action = this.#next) {
      await this.#changeSilencesUntil(action.trueAt);
      await this.#applyAction(action, this.#clocks.receiptAt(trueAt));
      this.#next = this.#actions.next().value as LoggedAction | undefined;
    }
    await this.#changeSilencesUntil(trueAt);
    await this.#flush(this.#clocks.receiptAt(trueAt));
  }

  async #changeSilencesUntil(trueAt: number): Promise<void> {
    for (let next = this.#silenceChanges[0]; next !== undefined && next.trueAt <= trueAt; ) {
      await this.#population.silence(next.plan, next.times, next.at);
      this.#silenceChanges.shift();
      next = this.#silenceChanges[0];
    }
  }

  async #applyAction(action: LoggedAction, turnAt: number): Promise<void> {
    const { check, trueAt } = action;
    const at = this.#clocks.receiptAt(trueAt);
    if (action.what === "create") return this.#population.create(check, this.#world.check(check), at);
    if (
      action.what === "success" ||
      action.what === "fail" ||
      action.what === "start" ||
      action.what === "log"
    ) {
      return this.#signal({ ...action, at }, turnAt);
    }
    if (!this.#reception.isReachable(trueAt)) return;
    // Earlier pings of the check are recorded first.
    if (this.#intakeOf.has(check)) await this.#flush(at);
    const visibility = this.#withPlantedFault(
      this.#processes.visibility({ receiptAt: at, beforeAt: this.#beforeAt }),
    );
    if (action.what === "edit") await this.#population.edit(check, action.settings, { at, visibility });
    else if (action.what === "delete") await this.#population.delete(check);
    else if (action.what === "ack") await this.#population.acknowledge(check, at);
    else await this.#population.command(check, action.what, { at, visibility });
  }

  async #signal(
    action: LoggedAction & { what: "success" | "fail" | "start" | "log"; at: number },
    turnAt: number,
  ): Promise<void> {
    const { check, trueAt } = action;
    const receipt = this.#reception.receive(trueAt, routeHashOf({ checkIndex: check, trueAt }));
    const uuid = this.#population.uuidOf(check);
    if (receipt.kind === "refused" || uuid === undefined) return;
    this.#signalCount += 1;
    const signal = signalOf(action, uuid);
    if (receipt.isReplayed) return this.#processes.spool(receipt.intake, signal);
    const bufferedIn = this.#intakeOf.get(check);
    if (bufferedIn !== undefined && bufferedIn !== receipt.intake) await this.#flush(turnAt);
    this.#intakeOf.set(check, receipt.intake);
    (this.#buffers[receipt.intake] ??= []).push(signal);
  }

  /** Records the buffered pings. One call represents the many small batches since the previous turn. */
  async #flush(receiptAt: number): Promise<void> {
    const visibility = this.#withPlantedFault(
      this.#processes.visibility({ receiptAt, beforeAt: this.#beforeAt }),
    );
    const recording = this.#buffers.map((signals, intake) =>
      this.#processes.record(intake, signals, visibility),
    );
    await Promise.all(recording);
    this.#buffers.length = 0;
    this.#intakeOf.clear();
  }

  #withPlantedFault(visibility: Visibility): Visibility {
    return this.#options.plantedFault?.visibility?.(visibility) ?? visibility;
  }

  async #sweep(trueAt: number): Promise<void> {
    const { environment, server, plantedFault } = this.#options;
    const { now, visibility } = await this.#processes.sweeperVisibility();
    if (trueAt - this.#sweptTrueAt < (plantedFault?.sweepEveryMs ?? 0)) return;
    this.#sweptTrueAt = trueAt;
    const planted = plantedFault?.sweeperVisibility?.(visibility, now) ?? visibility;
    await this.#onceOrTwice(trueAt, () =>
      server.sweepDeadlines(environment.database, { now, visibility: planted }),
    );
  }

  async #send(trueAt: number, now: number): Promise<void> {
    const { environment, server, plantedFault } = this.#options;
    await plantedFault?.beforeSending?.(environment);
    const isKilled = this.#isNow("notifier-down", trueAt);
    const sending = plantedFault?.server?.(server) ?? server;
    if (this.#isNow("planner-killed", trueAt)) {
      const kill = new AbortController();
      const send = this.#senderAt(trueAt, { isKilled: false, kill });
      // At another statement each time.
      const statements = 1 + (Math.floor(trueAt / 1_000) % STATEMENTS_MAX);
      const database = dyingDatabase(environment.database, { statements, kill });
      await sending.deliverDue(database, { now, send, killed: kill.signal });
    }
    const kill = new AbortController();
    const send = this.#senderAt(trueAt, { isKilled, kill });
    const moment = { now, send, killed: kill.signal };
    await this.#onceOrTwice(trueAt, () => sending.deliverDue(environment.database, moment));
  }

  #isNow(kind: Fault["kind"], trueAt: number): boolean {
    return this.#world.head.faults.some((fault) => fault.kind === kind && fault.from === trueAt);
  }

  /** `isKilled`: the notifier is killed after the first accepted message, before it can record the result. */
  #senderAt(trueAt: number, { isKilled, kill }: { isKilled: boolean; kill: AbortController }): Send {
    const { plantedFault } = this.#options;
    return async (message: Message) => {
      // The notifier is dead: the message is not sent and its result is not recorded.
      if (kill.signal.aborted) return "temporarily refused";
      const group = message.about === "group" ? await this.#readGroup(message) : null;
      const answer = this.#receivers.receive(plantedFault?.message?.(message) ?? message, { trueAt, group });
      if (answer !== "accepted") return answer;
      this.#acceptedCount += 1;
      if (isKilled || this.#acceptedCount % (plantedFault?.killsEvery ?? Infinity) === 0) kill.abort();
      return answer;
    };
  }

  #readGroup({ dedupeKey }: Message): ReturnType<typeof readGroup> {
    return readGroup(this.#options.environment, this.#population, dedupeKey);
  }

  /** Calls `work` once, or twice concurrently during a `twice` fault. */
  async #onceOrTwice(trueAt: number, work: () => Promise<void>): Promise<void> {
    const isTwice = this.#world.head.faults.some(
      ({ kind, from, to }) => kind === "twice" && from < trueAt && trueAt <= to,
    );
    await Promise.all(isTwice ? [work(), work()] : [work()]);
  }

  /** Sends the remaining messages after the end of the world. Receivers that are not gone accept everything. */
  async #drainMessages(to: number): Promise<void> {
    this.#receivers.recoverAt(to);
    const { turns } = serverHistory({ ...this.#world.head, to, faults: [] });
    for (const { trueAt } of turns) {
      if (trueAt <= to) continue;
      await this.#options.environment.setClock(this.#clocks.databaseAt(trueAt));
      await this.#send(trueAt, this.#clocks.databaseAt(trueAt));
      const [left] = await this.#options.environment.rows(
        "select 1 from deliveries where state = 'pending' union all select 1 from alerts where planned_at is null limit 1",
      );
      if (left === undefined) return;
    }
  }
}
