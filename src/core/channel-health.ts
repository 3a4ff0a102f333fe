// Whether a channel has delivered lately, from its newest deliveries.
import type { Instant } from "./instant.ts";

/** A delivery that was attempted. */
export type AttemptedDelivery = {
  state: "sent" | "dead" | "pending";
  attemptCount: number;
  createdAt: Instant;
  attemptedAt: Instant | null;
  settledAt: Instant | null;
};

/** "retried" was accepted after failed attempts; "failed" was given up or is still being retried. */
export type Outcome = "delivered" | "retried" | "failed";

export type ChannelHealth = {
  /** Oldest first. */
  recent: Outcome[];
  /** When the first of the messages was due that have all failed since; null: the newest was accepted. */
  failingSince: Instant | null;
  /** Of the accepted attempts. Null: there is none. */
  medianMs: number | null;
};

/** The health according to deliveries, oldest first. */
export function channelHealth(deliveries: readonly AttemptedDelivery[]): ChannelHealth {
  const recent = deliveries.map(outcomeOf);
  const lastAccepted = recent.findLastIndex((outcome) => outcome !== "failed");
  const durations = deliveries
    .flatMap(({ state, attemptedAt, settledAt }) =>
      state === "sent" && attemptedAt !== null && settledAt !== null ? [settledAt - attemptedAt] : [],
    )
    .toSorted((a, b) => a - b);
  return {
    recent,
    failingSince: deliveries[lastAccepted + 1]?.createdAt ?? null,
    medianMs: durations[Math.floor(durations.length / 2)] ?? null,
  };
}

function outcomeOf({ state, attemptCount }: AttemptedDelivery): Outcome {
  if (state !== "sent") return "failed";
  return attemptCount > 1 ? "retried" : "delivered";
}
