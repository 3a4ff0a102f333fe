// The interface through which HTTP and SMTP pass on signals to be made durable.
import type { Instant } from "../core/instant.ts";
import type { AcceptedSignal, SignalTarget } from "../core/signal.ts";

/** The outcome of a signal. */
export type Acceptance =
  /** On stable storage, for a check that exists. */
  | { kind: "recorded" }
  /** The same, for a check that was created for it. */
  | { kind: "created" }
  /** The check does not exist, and was not created. */
  | { kind: "unknown" }
  /** Several checks of the project share the slug. */
  | { kind: "ambiguous" }
  /** Not acknowledged, although it may have been recorded: the sender should retry. */
  | { kind: "busy"; retryAfterSeconds: number };

/** What a target names; "busy" if that is unknown now. */
export type Resolution = "known" | "unknown" | "ambiguous" | "busy";

export type CreateOption = {
  /** Create the check if it does not exist. Only possible for a target with a slug. */
  create: boolean;
};

export type AcceptOptions = CreateOption & {
  /** The network of the sender (`networkOf`), if it is certain; null: unknown. */
  network: string | null;
};

/** A ping or a connection that was rejected before a ping could be passed on. */
export type Refusal = {
  /** From `now()`. */
  at: Instant;
  /** The target of the ping; null if unknown. */
  target: SignalTarget | null;
  network: string | null;
};

export type SignalIntake = {
  /** The database's time as known to this process; it never goes backwards. */
  now(): Instant;
  /**
   * Accepts a completely received signal, in the order of calls. `signal.at` must be obtained from `now()` without
   * waiting in between, because the watermark relies on it. Settles within the response time limit.
   */
  accept(signal: AcceptedSignal, options: AcceptOptions): Promise<Acceptance>;
  /** Excuses missing pings of the checks that the rejected ping may have been for: one check, one network, or all. */
  refused(refusal: Refusal): void;
  /** Looks up (or creates) the check of a request that will be rejected for another reason; records nothing. */
  resolve(target: SignalTarget, options: CreateOption): Promise<Resolution>;
};
