// The interface through which HTTP and SMTP hand over signals to be made durable.
import type { Instant } from "../core/instant.ts";
import type { AcceptedSignal, SignalTarget } from "../core/signal.ts";

/** What became of a signal. */
export type Acceptance =
  /** On stable storage, for a check that exists. */
  | { kind: "recorded" }
  /** The same, for a check that was made for it. */
  | { kind: "created" }
  /** There is no such check, and none was made. */
  | { kind: "unknown" }
  /** Several checks of the project share the slug. */
  | { kind: "ambiguous" }
  /** Not promised, which does not mean not recorded: the sender should try again. */
  | { kind: "busy"; retryAfterSeconds: number };

/** What a target names; "busy" when that cannot be told now. */
export type Resolution = "known" | "unknown" | "ambiguous" | "busy";

export type CreateOption = {
  /** Make the check if there is none. Only a target by slug can be made. */
  create: boolean;
};

export type AcceptOptions = CreateOption & {
  /** The network of the sender (`networkOf`), as far as it is certain; null: unknown. */
  network: string | null;
};

/** A ping or a connection that was refused before a ping could be handed over. */
export type Refusal = {
  /** From `now()`. */
  at: Instant;
  /** What the ping named; null when nobody knows. */
  target: SignalTarget | null;
  network: string | null;
};

export type SignalIntake = {
  /** The database's time as this process knows it; it never goes backwards. */
  now(): Instant;
  /**
   * Takes a signal that was received whole, in the order of calls. `signal.at` must come from `now()` without
   * waiting in between, because the watermark counts on it. Settles within the time that answers promise.
   */
  accept(signal: AcceptedSignal, options: AcceptOptions): Promise<Acceptance>;
  /** Silence of the checks that the refused ping may have been for is excused: one check, one network, or all. */
  refused(refusal: Refusal): void;
  /** Looks up (or makes) the check of a request that will be refused for another reason; records nothing. */
  resolve(target: SignalTarget, options: CreateOption): Promise<Resolution>;
};
