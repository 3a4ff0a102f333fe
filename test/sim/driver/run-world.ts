// Plays a world against the real database, turn by turn: what came since the last turn is recorded, intakes beat,
// deadlines are looked for, messages are sent. Nothing here waits for the clock on the wall.
import type { Visibility } from "../../../src/core/deadline.ts";
import type { AcceptedSignal } from "../../../src/core/signal.ts";
import type { Received } from "../comparison.ts";
import type { ServerUnderTest, Message, Send } from "../server-under-test.ts";
import type { Turn } from "../model/history.ts";
import type { PlantedFault } from "../planted-faults.ts";
import { type Clocks, clocksOf } from "../world/clocks.ts";
import { serverHistory, receiverHistory } from "../world/server-history.ts";
import { routeHashOf, type Reception, receptionOf } from "../world/receipt.ts";
import { isIntakeFault, type World } from "../world/world.ts";
import { ActionLog, type LoggedAction } from "./action-log.ts";
import { type StoredResults, readStoredResults } from "./stored-results.ts";
import { SimProcesses } from "./sim-processes.ts";
import { Population } from "./population.ts";
import { Receivers } from "./receivers.ts";
import { signalOf } from "./signals.ts";
import type { Environment } from "./environment.ts";

export type RunOptions = {
  environment: Environment;
  server: ServerUnderTest;
  plantedFault: PlantedFault | null;
  /** On `performance.now()`: the world ends at the first calm moment after it. */
  endsAtMs: number;
  log: (text: string) => void;
};

export type RunResult = StoredResults & {
  /** How far the world was played. */
  to: number;
  received: readonly Received[];
  repeatCount: number;
  signalCount: number;
};

const PROGRESS_MS = 15_000;
const DAY_MS = 86_400_000;

/** Plays a world from its beginning to its end, or as far as time allows. */
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
  /** Signals on their way to the database, by intake; and which intake has some of a check. */
  readonly #buffers: AcceptedSignal[][] = [];
  readonly #intakeOf = new Map<number, number>();
  /** The turn before, on the database's clock. */
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
      ...(await readStoredResults(this.#options.environment, this.#population)),
      repeatCount: this.#receivers.repeatCount,
      signalCount: this.#signalCount,
    };
  }

  #reportProgress({ trueAt }: Turn): void {
    if (performance.now() - this.#reportedMs < PROGRESS_MS) return;
    this.#reportedMs = performance.now();
    const days = ((trueAt - this.#world.head.from) / DAY_MS).toFixed(1);
    this.#options.log(
      `day ${days}: ${this.#signalCount} signals, ${this.#receivers.received.length} messages`,
    );
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

  /** What jobs and owners did since the turn before. */
  async #applyActionsUntil(trueAt: number): Promise<void> {
    for (let action = this.#next; action !== undefined && action.trueAt <= trueAt; action = this.#next) {
      await this.#applyAction(action, this.#clocks.receiptAt(trueAt));
      this.#next = this.#actions.next().value as LoggedAction | undefined;
    }
    await this.#flush(this.#clocks.receiptAt(trueAt));
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
    // What the check sent before comes before.
    if (this.#intakeOf.has(check)) await this.#flush(at);
    const visibility = this.#withPlantedFault(
      this.#processes.visibility({ receiptAt: at, beforeAt: this.#beforeAt }),
    );
    if (action.what === "edit") await this.#population.edit(check, action.settings, { at, visibility });
    else if (action.what === "delete") await this.#population.delete(check);
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

  /** Records what is on its way. One call stands for the many small batches since the turn before. */
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
    const seen = plantedFault?.sweeperVisibility?.(visibility, now) ?? visibility;
    await this.#onceOrTwice(trueAt, () =>
      server.sweepDeadlines(environment.database, { now, visibility: seen }),
    );
  }

  async #send(trueAt: number, now: number): Promise<void> {
    const { environment, server, plantedFault } = this.#options;
    await plantedFault?.beforeSending?.(environment);
    const isKilled = this.#world.head.faults.some(
      (fault) => fault.kind === "notifier-down" && fault.from === trueAt,
    );
    const kill = new AbortController();
    const send = this.#senderAt(trueAt, { isKilled, kill });
    const moment = { now, send, killed: kill.signal };
    const sending = plantedFault?.server?.(server) ?? server;
    await this.#onceOrTwice(trueAt, () => sending.deliverDue(environment.database, moment));
  }

  /** `isKilled`: the notifier is killed after the first message that is taken, before it can record that. */
  #senderAt(trueAt: number, { isKilled, kill }: { isKilled: boolean; kill: AbortController }): Send {
    const { plantedFault } = this.#options;
    return async (message: Message) => {
      // The notifier is dead: the message reaches no receiver, and the answer is not recorded.
      if (kill.signal.aborted) return "temporarily refused";
      const answer = this.#receivers.take(plantedFault?.message?.(message) ?? message, trueAt);
      if (answer !== "accepted") return answer;
      this.#acceptedCount += 1;
      if (isKilled || this.#acceptedCount % (plantedFault?.killsEvery ?? Infinity) === 0) kill.abort();
      return answer;
    };
  }

  /** Once, or twice at the same time where the world says so. */
  async #onceOrTwice(trueAt: number, work: () => Promise<void>): Promise<void> {
    const isTwice = this.#world.head.faults.some(
      ({ kind, from, to }) => kind === "twice" && from < trueAt && trueAt <= to,
    );
    await Promise.all(isTwice ? [work(), work()] : [work()]);
  }

  /** The world is over: receivers take everything again, and nothing else happens. */
  async #drainMessages(to: number): Promise<void> {
    this.#receivers.recoverAt(to);
    const { turns } = serverHistory({ ...this.#world.head, to, faults: [] });
    for (const { trueAt } of turns) {
      if (trueAt <= to) continue;
      await this.#options.environment.setClock(this.#clocks.databaseAt(trueAt));
      await this.#send(trueAt, this.#clocks.databaseAt(trueAt));
      const [left] = await this.#options.environment.rows(
        "select 1 from deliveries where state = 'pending' limit 1",
      );
      if (left === undefined) return;
    }
  }
}
