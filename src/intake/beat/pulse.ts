// One beat at a time: what an intake says of itself, and what it learns from the answer. Whatever it has to say
// is said until a beat has succeeded, and then never again.
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Instant, Interval } from "../../core/instant.ts";
import type {
  AttributedRefusals,
  Beaten,
  Entered,
  Observation,
  OpenIntake,
} from "../../core/machine/intake-beat.ts";
import { type ClockLook, WATERMARK_LAG_MS, watermarkOf } from "../../core/machine/watermark.ts";
import type { HeartParts, Limit } from "./parts.ts";
import { PerMinute } from "./per-minute.ts";
import { Ticks } from "./ticks.ts";
import { holdOf, Watch } from "./watch.ts";

/** After a gap, what lies in the sockets is read first: connections are taken in one turn, read in the next. */
const TURNS_AFTER_GAP = 3;
/** The database's clock may go back by this much without a word. */
const CLOCK_BACK_MS_MAX = 1_000;

export type PulseCounts = {
  beats: number;
  /** Other intakes that were declared lost. */
  lost: number;
  /** Blind times that were written. */
  blind: number;
  /** How far the watermark of everybody is behind; null before the first beat. */
  watermarkLagMs: number | null;
};

export class Pulse {
  readonly ticks: Ticks;
  readonly watch: Watch;
  readonly gone = new Set<string>();
  readonly broken = new Set<string>();
  readonly counts: PulseCounts = { beats: 0, lost: 0, blind: 0, watermarkLagMs: null };
  /** Set when the intake has stopped listening: it vouches for nothing that comes later. */
  acceptedUntilAt: Instant | null = null;
  /** When the last beat that succeeded began, on the monotonic clock. */
  lastBeatMs: number;
  readonly #parts: HeartParts;
  #intakeId: string;
  #hasEntered: boolean;
  #listensSinceAt: Instant | null = null;
  #beatAt: Instant | null = null;
  /** The database's clock at the last beat. */
  #lookedAt: Instant | null = null;
  /** Before this intake listened, back to the last sign of anybody's life. */
  #before: Interval[] = [];
  #isHoldTold = false;
  readonly #taken: PerMinute;
  #signalsPerMinute = 0;
  readonly #heardGone: string[] = [];

  constructor(parts: HeartParts) {
    this.#parts = parts;
    this.#intakeId = parts.identity.intakeId;
    this.lastBeatMs = parts.lastBeat.ms;
    this.watch = new Watch(parts.lastBeat);
    this.#hasEntered = parts.entered !== null;
    const { monotonic, wall, clock } = parts;
    this.ticks = new Ticks({ monotonic, wall, now: () => clock.now() });
    this.#taken = new PerMinute({ ms: monotonic(), total: 0 });
  }

  get intakeId(): string {
    return this.#intakeId;
  }

  /** Whether the database has heard of the intake. */
  get hasEntered(): boolean {
    return this.#hasEntered;
  }

  /** The intake listens from now on, entered or not. */
  listen(): void {
    this.#listensSinceAt = this.#parts.clock.now();
  }

  /** The intake, which listens, has entered under an id. */
  enter(intakeId: string, { look, lastBeatAt }: Entered): void {
    this.#intakeId = intakeId;
    this.#beatAt = lastBeatAt;
    this.lastBeatMs = look.sentAtMs;
    this.watch.startOver();
    // One that listened before it could enter has taken what came; one that enters anew was given up meanwhile.
    const now = this.#parts.clock.now();
    const until = this.#hasEntered ? now : (this.#listensSinceAt ?? now);
    if (lastBeatAt !== null && lastBeatAt < until) this.#before.push({ from: lastBeatAt, to: until });
    this.#hasEntered = true;
  }

  /** Those who are gone, and of whom the database has heard so since this was asked the last time. */
  takeHeardGone(): string[] {
    return this.#heardGone.splice(0);
  }

  /** Beats once. False: the database does not have this intake any more. */
  async beat(limit: Limit): Promise<boolean> {
    const begunMs = this.#parts.monotonic();
    const { confirmed: confirmedBefore, takenCount: total } = this.#parts.intake.state();
    // Looked at before the database is asked: while it is away, signals come in all the same.
    this.#signalsPerMinute = this.#taken.look({ ms: begunMs, total });
    const said = { gone: [...this.gone], broken: [...this.broken], before: 0, gaps: 0, refused: 0 };
    let attributed: AttributedRefusals = { targets: [], networks: [] };
    const observe = async (look: ClockLook): Promise<Observation> => {
      await this.#readWhatCame();
      said.before = this.#before.length;
      said.gaps = this.ticks.gaps().length;
      const observed = this.#observe(look);
      said.refused = observed.refused.length;
      attributed = observed.attributed ?? attributed;
      return observed;
    };
    const { watchingSinceAt, blindAfterId } = this.watch;
    const confirmedSeq = confirmedBefore.intakeId === this.#intakeId ? confirmedBefore.seq : 0;
    const before = { beatAt: this.#beatAt, lookedAt: this.#lookedAt, confirmedSeq };
    const own = { intakeId: this.#intakeId, leaseMs: this.#parts.leaseMs, ...before };
    const others = { watchingSinceAt, signs: this.watch.signs(), gone: said.gone, broken: said.broken };
    const result = await this.#parts.beat({ ...own, ...others, blindAfterId, observe }, limit);
    if (result.kind === "closed") return false;
    this.lastBeatMs = begunMs;
    this.#before.splice(0, said.before);
    this.ticks.forget(said.gaps);
    this.#parts.intake.forgetRefused(said.refused);
    this.#parts.intake.forgetAttributed(attributed);
    this.#hear(said, result.others);
    this.#note(result);
    this.#compare(result.lastSeq, confirmedSeq);
    return true;
  }

  /** Whoever is still open could not be closed just now, and is said again. */
  #hear({ gone, broken }: Record<"gone" | "broken", readonly string[]>, open: readonly OpenIntake[]): void {
    const isClosed = (intakeId: string) => !open.some(({ id }) => id === intakeId);
    for (const id of broken.filter(isClosed)) this.broken.delete(id);
    for (const id of gone.filter(isClosed)) {
      this.gone.delete(id);
      this.#heardGone.push(id);
    }
  }

  /** What came while nobody was there is in the queue before the watermark may pass it. */
  async #readWhatCame(): Promise<void> {
    this.ticks.tick();
    if (!this.ticks.takeHadGap()) return;
    for (let turn = 0; turn < TURNS_AFTER_GAP; turn += 1) await nextTurn();
  }

  #observe(look: ClockLook): Observation {
    const { intake, clock } = this.#parts;
    const state = intake.state();
    const until = this.acceptedUntilAt;
    const watermarkAt = Math.min(
      watermarkOf({ ...state, now: clock.now() }),
      until === null ? Infinity : until - WATERMARK_LAG_MS,
    );
    return {
      watermarkAt,
      acceptedUntilAt: until,
      skippedMs: clock.aheadMs(look),
      unproven: [...this.#before, ...this.ticks.gaps()],
      refused: state.refused,
      attributed: state.attributed,
      spoolEmpty: !state.isDetour,
      spoolFill: this.#parts.spoolFill(),
      signalsPerMinute: this.#signalsPerMinute,
    };
  }

  #note(result: Beaten): void {
    const { clock, log, name, wall } = this.#parts;
    const { look, lost, blind, sight } = result;
    const aheadMs = clock.aheadMs(look);
    if (aheadMs < -CLOCK_BACK_MS_MAX) {
      log.error(
        { aheadMs },
        "the database clock went backwards; using the previous time until it catches up",
      );
    }
    clock.adjust(look);
    this.#beatAt = result.beatAt;
    this.#lookedAt = look.databaseAt;
    this.watch.note(result);
    const [wallAt, { isAlone }] = [wall(), this.watch];
    this.#parts.noteBeat({ wallAt, databaseAheadMs: clock.now() - wallAt, isAlone });
    this.counts.beats += 1;
    this.counts.lost += lost.length;
    this.counts.blind += blind.length;
    this.counts.watermarkLagMs = look.databaseAt - sight.watermarkAt;
    for (const { id, name: where } of lost)
      log.error({ intakeId: id, name: where }, "receiving process lost");
    for (const one of blind) log.warn(blindFields(one), "monitoring gap: pings could not be received");
    const hold = holdOf(result, { id: this.#intakeId, name });
    if (hold !== null && !this.#isHoldTold)
      log.warn(hold, "the watermark is held back; alerts for missing pings are delayed");
    this.#isHoldTold = hold !== null;
  }

  /** A standby that took over, or a backup, may not have what was confirmed: then it is given again. */
  #compare(lastSeq: number, confirmedSeq: number): void {
    if (lastSeq >= confirmedSeq) return;
    this.#parts.log.error({ lastSeq, confirmedSeq }, "the database lost confirmed pings; sending them again");
    this.watch.startOver();
    this.#parts.intake.resend();
  }
}

function blindFields({ from, to, reason }: { from: Instant; to: Instant; reason: string }) {
  return { from: new Date(from).toISOString(), to: new Date(to).toISOString(), reason };
}
