// The health of a channel from its deliveries.
import { expect, test } from "vitest";
import { type AttemptedDelivery, channelHealth } from "./channel-health.ts";

function delivery(state: AttemptedDelivery["state"], createdAt: number, tookMs = 100): AttemptedDelivery {
  const isSettled = state !== "pending";
  return {
    state,
    attemptCount: 1,
    createdAt,
    attemptedAt: createdAt,
    settledAt: isSettled ? createdAt + tookMs : null,
  };
}

test("a channel without deliveries has no health", () => {
  expect(channelHealth([])).toEqual({ recent: [], failingSince: null, medianMs: null });
});

test("it fails since the first message after the last accepted one", () => {
  const health = channelHealth([
    delivery("dead", 10),
    delivery("sent", 20),
    delivery("dead", 30),
    delivery("pending", 40),
  ]);
  expect(health).toMatchObject({ recent: ["failed", "delivered", "failed", "failed"], failingSince: 30 });
  expect(channelHealth([delivery("dead", 10), delivery("sent", 20)]).failingSince).toBeNull();
});

test("a message that was accepted after failures was retried, and the median ignores what failed", () => {
  const retried = { ...delivery("sent", 10, 900), attemptCount: 3 };
  const health = channelHealth([
    retried,
    delivery("sent", 20, 100),
    delivery("sent", 30, 200),
    delivery("dead", 40, 5),
  ]);
  expect(health).toMatchObject({ recent: ["retried", "delivered", "delivered", "failed"], medianMs: 200 });
});
