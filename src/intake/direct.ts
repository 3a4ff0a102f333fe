// The intake that records signals in the database itself. It decides who may be promised what: directly, on the
// detour through the spool, or not at all. Batches are made and numbered in direct/batch-line.ts.
import type { AcceptedSignal, SignalTarget } from "../core/accepted.ts";
import type { Instant, Interval } from "../core/instant.ts";
import { BatchLine, type Renewal } from "./direct/batch-line.ts";
import type { Identity, IntakeParts } from "./direct/parts.ts";
import type { DropReason } from "./direct/outcomes.ts";
import { Refusals } from "./direct/refusals.ts";
import type { Settled } from "./direct/waiting-queue.ts";
import type { Acceptance, CreateOption, Resolution, SignalIntake } from "./intake.ts";

/** Unknown targets that are looked up at a time while signals take the detour. */
const LOOKUPS_MAX = 50;
/** Where nothing could be promised for this long, senders are refused at once instead of being kept waiting. */
const BLOCKED_MS_MAX = 1_000;
const RETRY_AFTER_SECONDS = 5;

/** How the intake stands, for beats, metrics and the operator. */
export type IntakeState = {
  /** Receive time of the oldest signal that was accepted and is not applied; null when there is none. */
  oldestUnappliedAt: Instant | null;
  /** Since when senders have been refused; null while all are taken. */
  refusingSinceAt: Instant | null;
  /** Stretches of refusals that are over. */
  refused: readonly Interval[];
  refusedCount: number;
  /** Signals whose senders were told that they are on disk. */
  takenCount: number;
  /** Signals that were promised, spooled, and could not be recorded any more, by reason. */
  dropped: Readonly<Record<DropReason, number>>;
  /** Signals that the database refused as they are, or that could not be read: put aside with the reason. */
  rejectedCount: number;
  /** Signals that were recorded after a detour. */
  replayedCount: number;
  isDetour: boolean;
  /** Nothing can be promised to anybody. */
  isBlocked: boolean;
  queued: number;
  /** The newest batch under the present id that the database has confirmed. */
  confirmed: { intakeId: string; seq: number };
};

export class DirectIntake implements SignalIntake {
  readonly #parts: IntakeParts;
  readonly #refusals = new Refusals();
  readonly #line: BatchLine;
  #lookups = 0;
  #takenCount = 0;
  #isStopped = false;

  constructor(parts: IntakeParts) {
    this.#parts = parts;
    this.#line = new BatchLine({ ...parts, onRefused: ({ at }) => this.#refusals.note(at) });
  }

  now(): Instant {
    return this.#parts.clock.now();
  }

  async accept(signal: AcceptedSignal, options: CreateOption): Promise<Acceptance> {
    const acceptance = await this.#accept(signal, options);
    if (acceptance.kind === "recorded" || acceptance.kind === "created") this.#takenCount += 1;
    return acceptance;
  }

  async #accept(signal: AcceptedSignal, { create }: CreateOption): Promise<Acceptance> {
    const result = await this.#take(signal);
    if (result !== "unknown" || !create) return acceptanceOf(result);
    const made = await this.#create(signal.target);
    if (made === "busy") this.#refusals.note(signal.at);
    if (made === "unknown" || made === "busy") return acceptanceOf(made);
    // The watermark may have passed meanwhile.
    const again = await this.#take({ ...signal, at: this.now() });
    return again === "recorded" && made === "created" ? { kind: "created" } : acceptanceOf(again);
  }

  async resolve(target: SignalTarget, { create }: CreateOption): Promise<Resolution> {
    try {
      const found = await this.#parts.find(target);
      if (found !== "unknown" || !create) return found;
    } catch (error) {
      this.#parts.onTrouble(error, "looking up a check");
      return this.#parts.known.knows(target, this.now()) ? "known" : "busy";
    }
    const made = await this.#create(target);
    return made === "created" || made === "exists" ? "known" : made;
  }

  refused(at: Instant): void {
    this.#refusals.note(at);
  }

  state(): IntakeState {
    const now = this.now();
    this.#line.detour.tidy();
    return {
      oldestUnappliedAt: this.#line.oldestAt,
      refusingSinceAt: this.#refusals.sinceAt(now),
      refused: this.#refusals.ended(now),
      refusedCount: this.#refusals.count,
      takenCount: this.#takenCount,
      dropped: this.#line.outcomes.dropped,
      rejectedCount: this.#line.outcomes.rejected,
      replayedCount: this.#line.outcomes.replayed,
      isDetour: this.#line.detour.isOn,
      isBlocked: this.#line.detour.isBlocked,
      queued: this.#line.length,
      confirmed: this.#line.confirmed,
    };
  }

  /** The first so many stretches of refusals have been told. */
  forgetRefused(count: number): void {
    this.#refusals.forget(count);
  }

  /** Looks for what intakes that are gone have left in the spool. To be called before the first signal, too. */
  adopt(): Promise<void> {
    return this.#line.detour.adopt();
  }

  /** The database does not have what it had confirmed: it is given once more, before anything else. */
  resend(): void {
    this.#line.detour.resend();
  }

  /** Numbers batches under another id when none of the old one is under way; resolves with what is out of use. */
  renew(renewal: Renewal): Promise<Identity> {
    return this.#line.renew(renewal);
  }

  /** Takes nothing more, and settles what was taken; true when the database has everything. */
  stop({ withinMs }: { withinMs: number }): Promise<boolean> {
    this.#isStopped = true;
    return this.#line.stop(this.#parts.monotonic() + withinMs);
  }

  #take(signal: AcceptedSignal): Promise<Settled> {
    const { detour } = this.#line;
    if (this.#isStopped) return this.#refuse(signal);
    if (!detour.isOn) return this.#line.enqueue(signal);
    // A short trouble is waited out.
    if (detour.isBlocked) {
      return detour.blockedMs() > BLOCKED_MS_MAX ? this.#refuse(signal) : this.#line.enqueue(signal);
    }
    if (!this.#parts.mayPromise()) return this.#refuse(signal);
    const isKnown = this.#parts.known.knows(signal.target, signal.at);
    return isKnown ? this.#line.enqueue(signal) : this.#lookUp(signal);
  }

  /** On the detour, a target that was never seen is promised nothing unless the database can be asked. */
  async #lookUp(signal: AcceptedSignal): Promise<Settled> {
    if (!this.#line.detour.isAnswering || this.#lookups >= LOOKUPS_MAX) return this.#refuse(signal);
    this.#lookups += 1;
    try {
      const found = await this.#parts.find(signal.target);
      if (found !== "known") return found;
    } catch (error) {
      this.#parts.onTrouble(error, "looking up a check");
      return await this.#refuse(signal);
    } finally {
      this.#lookups -= 1;
    }
    this.#parts.known.remember(signal.target, signal.at);
    return this.#take({ ...signal, at: this.now() });
  }

  async #create(target: SignalTarget): Promise<"created" | "exists" | "unknown" | "busy"> {
    const { detour } = this.#line;
    if (detour.isOn && !detour.isAnswering) return "busy";
    try {
      return await this.#parts.create(target);
    } catch (error) {
      this.#parts.onTrouble(error, "creating a check");
      return "busy";
    }
  }

  #refuse({ at }: AcceptedSignal): Promise<"busy"> {
    this.#refusals.note(at);
    return Promise.resolve("busy");
  }
}

function acceptanceOf(result: Settled): Acceptance {
  switch (result) {
    case "recorded":
    // The database refused to log it as it is, and it was put aside with the reason: on disk all the same.
    case "rejected":
      return { kind: "recorded" };
    case "unknown":
      return { kind: "unknown" };
    case "ambiguous":
      return { kind: "ambiguous" };
    case "busy":
      return { kind: "busy", retryAfterSeconds: RETRY_AFTER_SECONDS };
  }
}
