// Plays a world against the real database, turn by turn: what came since the last turn is recorded, intakes beat,
// deadlines are looked for, messages are sent. Nothing here waits for the clock on the wall.
import type { Visibility } from "../../../src/core/deadline.ts";
import type { AcceptedSignal } from "../../../src/core/signal.ts";
import type { Received } from "../comparison.ts";
import type { House, Message, Send } from "../house.ts";
import type { Turn } from "../model/history.ts";
import type { Plant } from "../plants.ts";
import { type Clocks, clocksOf } from "../world/clocks.ts";
import { houseHistory, receiverHistory } from "../world/house-history.ts";
import { lotOf, type Reception, receptionOf } from "../world/receipt.ts";
import { isIntakeFault, type World } from "../world/world.ts";
import { ActLog, type LoggedAct } from "./act-log.ts";
import { type Aftermath, aftermath } from "./aftermath.ts";
import { Playhouse } from "./playhouse.ts";
import { Population } from "./population.ts";
import { Receivers } from "./receivers.ts";
import { signalOf } from "./signals.ts";
import type { Stage } from "./stage.ts";

export type PlayOptions = {
  stage: Stage;
  house: House;
  plant: Plant | null;
  /** On `performance.now()`: the world ends at the first calm moment after it. */
  endsAtMs: number;
  say: (text: string) => void;
};

export type Played = Aftermath & {
  /** How far the world was played. */
  to: number;
  received: readonly Received[];
  repeatCount: number;
  signalCount: number;
};

const PROGRESS_MS = 15_000;
const DAY_MS = 86_400_000;

/** Plays a world from its beginning to its end, or as far as time allows. */
export async function playWorld(world: World, options: PlayOptions): Promise<Played> {
  const { stage } = options;
  const clocks = clocksOf(world.head);
  const { from, channelCount } = world.head;
  await stage.setClock(clocks.databaseAt(from));
  const population = await Population.make(stage.database, { channelCount, at: from });
  const player = new Player(world, { ...options, clocks, population });
  return player.play();
}

class Player {
  readonly #world: World;
  readonly #options: PlayOptions;
  readonly #clocks: Clocks;
  readonly #reception: Reception;
  readonly #population: Population;
  readonly #playhouse: Playhouse;
  readonly #receivers: Receivers;
  readonly #acts: Iterator<LoggedAct>;
  #next: LoggedAct | undefined;
  /** Signals on their way to the database, by intake; and which intake has some of a check. */
  readonly #buffers: AcceptedSignal[][] = [];
  readonly #wayOf = new Map<number, number>();
  /** The turn before, on the database's clock. */
  #beforeAt = -Infinity;
  #sweptTrueAt = -Infinity;
  #signalCount = 0;
  #takenCount = 0;
  #toldMs = 0;

  constructor(world: World, given: PlayOptions & { clocks: Clocks; population: Population }) {
    const { head } = world;
    this.#world = world;
    this.#options = given;
    this.#clocks = given.clocks;
    this.#population = given.population;
    this.#reception = receptionOf(head);
    this.#playhouse = new Playhouse(given.stage, { head, clocks: given.clocks });
    const histories = Array.from({ length: head.channelCount }, (_, channel) =>
      receiverHistory(head, channel),
    );
    this.#receivers = new Receivers({ histories, population: given.population });
    const log = new ActLog(world);
    given.say(`${log.count} acts of ${world.checkCount} checks`);
    this.#acts = log.inOrder();
    this.#next = this.#acts.next().value as LoggedAct | undefined;
  }

  async play(): Promise<Played> {
    const { head } = this.#world;
    const { turns } = houseHistory(head);
    let to = head.to;
    for (const turn of turns) {
      if (turn.trueAt > to) break;
      this.#tellProgress(turn);
      await this.#turn(turn);
      if (performance.now() > this.#options.endsAtMs && this.#isCalm(turn.trueAt)) to = turn.trueAt;
    }
    await this.#endMessages(to);
    return {
      to,
      received: this.#receivers.received,
      ...(await aftermath(this.#options.stage, this.#population)),
      repeatCount: this.#receivers.repeatCount,
      signalCount: this.#signalCount,
    };
  }

  #tellProgress({ trueAt }: Turn): void {
    if (performance.now() - this.#toldMs < PROGRESS_MS) return;
    this.#toldMs = performance.now();
    const days = ((trueAt - this.#world.head.from) / DAY_MS).toFixed(1);
    this.#options.say(
      `day ${days}: ${this.#signalCount} signals, ${this.#receivers.received.length} messages`,
    );
  }

  #isCalm(trueAt: number): boolean {
    return !this.#world.head.faults.some(
      (fault) => isIntakeFault(fault) && fault.from < trueAt && trueAt < fault.to,
    );
  }

  async #turn(turn: Turn): Promise<void> {
    const { trueAt } = turn;
    const playhouse = this.#playhouse;
    const moment = { databaseAt: this.#clocks.databaseAt(trueAt), receiptAt: turn.at };
    await this.#options.stage.setClock(moment.databaseAt);
    if (trueAt === this.#world.head.from) await playhouse.open(moment);
    await this.#actsUntil(trueAt);
    await playhouse.beat(moment);
    for (const fault of this.#world.head.faults) {
      if (fault.from < trueAt && trueAt < fault.to) playhouse.during(fault, trueAt);
      if (fault.to === trueAt) await playhouse.end(fault, moment);
    }
    if (turn.sweeping !== "no") await this.#sweep(trueAt);
    if (turn.sending !== "no") await this.#send(trueAt, moment.databaseAt);
    for (const fault of this.#world.head.faults) {
      if (fault.from === trueAt) await playhouse.begin(fault, moment);
    }
    this.#beforeAt = moment.databaseAt;
  }

  /** What jobs and owners did since the turn before. */
  async #actsUntil(trueAt: number): Promise<void> {
    for (let act = this.#next; act !== undefined && act.trueAt <= trueAt; act = this.#next) {
      await this.#act(act, this.#clocks.receiptAt(trueAt));
      this.#next = this.#acts.next().value as LoggedAct | undefined;
    }
    await this.#flush(this.#clocks.receiptAt(trueAt));
  }

  async #act(act: LoggedAct, turnAt: number): Promise<void> {
    const { check, trueAt } = act;
    const at = this.#clocks.receiptAt(trueAt);
    if (act.what === "create") return this.#population.create(check, this.#world.check(check), at);
    if (act.what === "success" || act.what === "fail" || act.what === "start" || act.what === "log") {
      return this.#signal({ ...act, at }, turnAt);
    }
    if (!this.#reception.isServed(trueAt)) return;
    // What the check sent before comes before.
    if (this.#wayOf.has(check)) await this.#flush(at);
    const visibility = this.#planted(this.#playhouse.visibility({ receiptAt: at, beforeAt: this.#beforeAt }));
    if (act.what === "edit") await this.#population.edit(check, act.settings, { at, visibility });
    else if (act.what === "delete") await this.#population.delete(check);
    else await this.#population.command(check, act.what, { at, visibility });
  }

  async #signal(
    act: LoggedAct & { what: "success" | "fail" | "start" | "log"; at: number },
    turnAt: number,
  ): Promise<void> {
    const { check, trueAt } = act;
    const receipt = this.#reception.receive(trueAt, lotOf({ checkIndex: check, trueAt }));
    const uuid = this.#population.uuidOf(check);
    if (receipt.kind === "refused" || uuid === undefined) return;
    this.#signalCount += 1;
    const signal = signalOf(act, uuid);
    if (receipt.isReplayed) return this.#playhouse.spool(receipt.intake, signal);
    const way = this.#wayOf.get(check);
    if (way !== undefined && way !== receipt.intake) await this.#flush(turnAt);
    this.#wayOf.set(check, receipt.intake);
    (this.#buffers[receipt.intake] ??= []).push(signal);
  }

  /** Records what is on its way. One call stands for the many small batches since the turn before. */
  async #flush(receiptAt: number): Promise<void> {
    const visibility = this.#planted(this.#playhouse.visibility({ receiptAt, beforeAt: this.#beforeAt }));
    const recording = this.#buffers.map((signals, intake) =>
      this.#playhouse.record(intake, signals, visibility),
    );
    await Promise.all(recording);
    this.#buffers.length = 0;
    this.#wayOf.clear();
  }

  #planted(visibility: Visibility): Visibility {
    return this.#options.plant?.visibility?.(visibility) ?? visibility;
  }

  async #sweep(trueAt: number): Promise<void> {
    const { stage, house, plant } = this.#options;
    const { now, visibility } = await this.#playhouse.look();
    if (trueAt - this.#sweptTrueAt < (plant?.sweepEveryMs ?? 0)) return;
    this.#sweptTrueAt = trueAt;
    const seen = plant?.sweeperSight?.(visibility, now) ?? visibility;
    await this.#each(trueAt, () => house.sweepDeadlines(stage.database, { now, visibility: seen }));
  }

  async #send(trueAt: number, now: number): Promise<void> {
    const { stage, house, plant } = this.#options;
    await plant?.beforeSending?.(stage);
    const isKilled = this.#world.head.faults.some(
      (fault) => fault.kind === "notifier-down" && fault.from === trueAt,
    );
    const kill = new AbortController();
    const send = this.#sender(trueAt, { isKilled, kill });
    const moment = { now, send, killed: kill.signal };
    const sending = plant?.house?.(house) ?? house;
    await this.#each(trueAt, () => sending.deliverDue(stage.database, moment));
  }

  /** `isKilled`: the notifier is killed after the first message that is taken, before it can record that. */
  #sender(trueAt: number, { isKilled, kill }: { isKilled: boolean; kill: AbortController }): Send {
    const { plant } = this.#options;
    return async (message: Message) => {
      // The notifier is dead: the message reaches no receiver, and the answer is not recorded.
      if (kill.signal.aborted) return "refused for now";
      const answer = this.#receivers.take(plant?.message?.(message) ?? message, trueAt);
      if (answer !== "taken") return answer;
      this.#takenCount += 1;
      if (isKilled || this.#takenCount % (plant?.killsEvery ?? Infinity) === 0) kill.abort();
      return answer;
    };
  }

  /** Once, or twice at the same time where the world says so. */
  async #each(trueAt: number, work: () => Promise<void>): Promise<void> {
    const isTwice = this.#world.head.faults.some(
      ({ kind, from, to }) => kind === "twice" && from < trueAt && trueAt <= to,
    );
    await Promise.all(isTwice ? [work(), work()] : [work()]);
  }

  /** The world is over: receivers take everything again, and nothing else happens. */
  async #endMessages(to: number): Promise<void> {
    this.#receivers.calmFrom(to);
    const { turns } = houseHistory({ ...this.#world.head, to, faults: [] });
    for (const { trueAt } of turns) {
      if (trueAt <= to) continue;
      await this.#options.stage.setClock(this.#clocks.databaseAt(trueAt));
      await this.#send(trueAt, this.#clocks.databaseAt(trueAt));
      const [left] = await this.#options.stage.rows(
        "select 1 from deliveries where state = 'pending' limit 1",
      );
      if (left === undefined) return;
    }
  }
}
