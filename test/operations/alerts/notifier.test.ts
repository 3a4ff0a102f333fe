// Running notifiers: killed between sending and settling, two at once, with slow receivers, through a pooler, and
// stopped while sending.
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { CHANNEL_SENDS_MAX } from "../../../src/core/delivery.ts";
import { MINUTE_MS } from "../../../src/core/instant.ts";
import { claimDeliveries } from "../../../src/operations/deliveries.ts";
import { prepareDatabase } from "../../../src/operations/prepare-database.ts";
import { deliverDue } from "../../../src/operations/send-loop.ts";
import { countUnsent, listDeliveriesOfChannel } from "../../../src/store/deliveries.ts";
import { UnusableDatabaseError } from "../../../src/store/errors.ts";
import { useDatabase } from "../../support/database.ts";
import { assign, flip, owe, watchedCheck } from "../../support/owed.ts";
import { isPgbouncerInstalled, startPgbouncer } from "../../support/pgbouncer.ts";
import { MONDAY_NOON as NOW, sampleCheck } from "../../support/sample.ts";
import { type Notifier, sendAndDie, startNotifier } from "./notifiers.ts";
import { Receiver } from "./receiver.ts";

const database = useDatabase();
const WITHIN = { timeout: 40_000 };
/** The delay of a slow receiver: much longer than the rest of the test. */
const SLOW_MS = 4_000;

let receiver: Receiver;
let running: Notifier[] = [];
beforeEach(async () => {
  receiver = await Receiver.start();
  await database.db.pool.query("truncate deliveries");
});
afterEach(async () => {
  for (const notifier of running) await notifier.stop();
  running = [];
  await receiver.stop();
});

async function start(url = database.url, given: Parameters<Receiver["ports"]>[0] = {}): Promise<Notifier> {
  const notifier = await startNotifier(url, receiver.ports(given));
  running.push(notifier);
  return notifier;
}

/** A channel with this many checks. */
async function manyChecks(count: number) {
  const one = await watchedCheck(database.db);
  const checks = [one.check];
  while (checks.length < count) {
    const check = await sampleCheck(database.db, { projectId: one.check.projectId });
    await assign(database.db, check, [one.channel]);
    checks.push(check);
  }
  return { checks, channel: one.channel };
}

const unsent = async () => (await countUnsent(database.db)).count;
const statesOf = async (channel: { id: number }) =>
  (await listDeliveriesOfChannel(database.db, { channelId: channel.id, limit: 1_000 })).map(
    ({ state }) => state,
  );

describe("a notifier that is killed between sending and settling", () => {
  test("loses nothing and settles nothing: the same is sent again under the same key, a minute later", async () => {
    const { checks, channel } = await manyChecks(6);
    for (const check of checks) await owe(database.db, { check }, flip("down"));
    const dying = { databaseUrl: database.url, receiverUrl: receiver.url, now: NOW, diesAfter: 4 };
    expect(await sendAndDie(dying)).toBe("SIGKILL");
    expect(receiver.taken).toHaveLength(4);
    expect(await unsent()).toBe(6);
    // Changes in the meantime are sent afterwards, and not lost behind a key that was used before.
    for (const check of checks) await owe(database.db, { check }, flip("up", NOW + 1));
    const deliver = (now: number) => deliverDue(database.db, { now, ports: receiver.ports() });
    // The other two were not claimed, because a channel gets four messages at a time.
    await deliver(NOW + MINUTE_MS - 1);
    expect(receiver.arrived).toHaveLength(6);
    expect(receiver.repeatCount).toBe(0);
    await deliver(NOW + MINUTE_MS);
    expect(receiver.repeatCount).toBe(4);
    expect(receiver.saidTo(channel).toSorted()).toEqual([
      ...Array.from({ length: 4 }, () => "down (timeout)"),
      ...Array.from({ length: 2 }, () => "up (timeout, up)"),
      ...Array.from({ length: 4 }, () => "up (up)"),
    ]);
    expect(await unsent()).toBe(0);
    expect(new Set(await statesOf(channel))).toEqual(new Set(["sent", "merged"]));
  });
});

describe("two notifiers at once", () => {
  test("send each message once, and those of a check in order", async () => {
    const { checks, channel } = await manyChecks(40);
    await start();
    await start();
    const told = checks.map(() => [] as string[]);
    for (let round = 0; round < 3; round += 1) {
      for (const [index, check] of checks.entries()) {
        const to = round % 2 === 0 ? "down" : "up";
        told[index]?.push(to);
        await owe(database.db, { check }, flip(to, NOW + round));
      }
    }
    await expect.poll(unsent, WITHIN).toBe(0);
    expect(receiver.repeatCount).toBe(0);
    expect(receiver.arrived).toHaveLength(receiver.taken.length);
    for (const [index, check] of checks.entries()) {
      const messages = receiver.taken.flatMap(({ message }) =>
        (message.kind === "down" || message.kind === "up") && message.check.uuid === check.uuid
          ? [message]
          : [],
      );
      expect(messages.flatMap(({ flips }) => flips.map(({ to }) => to))).toEqual(told[index]);
    }
    expect((await statesOf(channel)).every((state) => state === "sent" || state === "merged")).toBe(true);
  });
});

describe("a failing receiver delays no other", () => {
  test("a slow one has a few messages in flight, and the others are notified immediately", async () => {
    const slow = await manyChecks(30);
    const quick = await manyChecks(30);
    receiver.behaves = ({ channelId }) => ({
      kind: "answers",
      code: 200,
      afterMs: channelId === slow.channel.id ? SLOW_MS : 0,
    });
    for (const check of slow.checks) await owe(database.db, { check }, flip("down"));
    await start();
    await expect.poll(() => receiver.arrived.length, WITHIN).toBeGreaterThan(0);
    for (const check of quick.checks) await owe(database.db, { check }, flip("down"));
    await expect.poll(() => receiver.saidTo(quick.channel).length, WITHIN).toBe(30);
    const lastQuickMs = receiver.taken.findLast(({ channelId }) => channelId === quick.channel.id)?.atMs ?? 0;
    const slowBefore = receiver.arrived.filter(
      ({ channelId, atMs }) => channelId === slow.channel.id && atMs < lastQuickMs,
    );
    expect(slowBefore.length).toBeLessThan(30);
    // Never more than a few at the same time: a response makes room for the next.
    const times = receiver.arrived
      .filter(({ channelId }) => channelId === slow.channel.id)
      .map(({ atMs }) => atMs);
    for (const time of times)
      expect(times.filter((at) => at > time - SLOW_MS + 10 && at <= time).length).toBeLessThanOrEqual(4);
  });
});

describe("channels of one account that never answer", () => {
  /** Sends that wait until `release` is called, for these channels; all others are answered immediately. */
  function hanging(channels: readonly { id: number }[]) {
    const ids = new Set(channels.map(({ id }) => id));
    const { send } = receiver.ports();
    let heldCount = 0;
    let release = () => {};
    const released = new Promise<void>((resolve) => (release = resolve));
    const held: typeof send = async (channel, message, sending) => {
      if (!ids.has(channel.id)) return send(channel, message, sending);
      heldCount += 1;
      await released;
      return { kind: "sent", summary: "POST test", code: 200, excerpt: null };
    };
    return { send: held, heldCount: () => heldCount, release };
  }

  test.each([
    ["new ones", 0, 100],
    ["ones that failed before", 1, 50],
  ])("delay no other: %s", async (_, failureCount, heldMin) => {
    const attacker = await watchedCheck(database.db, { channelCount: 300 });
    const others = [await watchedCheck(database.db), await watchedCheck(database.db)];
    await database.db.pool.query("update channels set failure_count = $1", [failureCount]);
    const { send, heldCount, release } = hanging(attacker.channels);
    try {
      await owe(database.db, attacker, flip("down"));
      await start(database.url, { send });
      await expect.poll(heldCount, WITHIN).toBeGreaterThan(0);
      // The maximum number: nothing changes any more.
      let before = 0;
      await expect
        .poll(
          () => {
            const isSettled = heldCount() === before;
            before = heldCount();
            return isSettled;
          },
          { ...WITHIN, interval: 1_000 },
        )
        .toBe(true);
      for (const other of others) await owe(database.db, other, flip("down"));
      for (const { channel } of others) {
        await expect.poll(() => receiver.saidTo(channel), WITHIN).toEqual(["down (timeout)"]);
      }
      // About half of the senders of a process, or of those for degraded channels.
      expect(heldCount()).toBeGreaterThan(heldMin);
      expect(heldCount()).toBeLessThanOrEqual(128);
    } finally {
      release();
    }
    await expect.poll(unsent, WITHIN).toBe(0);
  });
});

describe("a notifier", () => {
  test("that is stopped finishes what it is sending, and begins nothing new", async () => {
    const { checks, channel } = await manyChecks(12);
    receiver.behaves = () => ({ kind: "answers", code: 200, afterMs: SLOW_MS });
    for (const check of checks) await owe(database.db, { check }, flip("down"));
    const notifier = await start();
    await expect.poll(() => receiver.arrived.length, WITHIN).toBe(4);
    running = [];
    await notifier.stop();
    expect(receiver.arrived).toHaveLength(4);
    expect((await statesOf(channel)).filter((state) => state === "sent")).toHaveLength(4);
    expect(await unsent()).toBe(8);
  });

  test("counts how messages ended and how long they took, and logs no secret", async () => {
    const good = await watchedCheck(database.db);
    const bad = await watchedCheck(database.db);
    await database.db.pool.query(`update channels set config = '{"token": "very-s3cret"}'`);
    receiver.behaves = ({ channelId }) => ({
      kind: "answers",
      code: channelId === bad.channel.id ? 410 : 200,
    });
    const now = Date.now();
    const notifier = await start();
    await owe(database.db, { check: good.check, at: now }, flip("down", now));
    await owe(database.db, { check: bad.check, at: now }, flip("down", now));
    await expect.poll(unsent, WITHIN).toBe(0);
    const text = () => notifier.metrics.registry.metrics();
    await expect.poll(text, WITHIN).toContain('overdue_deliveries_total{state="sent"} 1');
    await expect.poll(text, WITHIN).toContain('overdue_deliveries_total{state="dead"} 1');
    expect(await text()).toMatch(/overdue_delivery_seconds_bucket\{le="60"\} 1/);
    expect(await text()).toMatch(/overdue_deliveries_unsent \d/);
    const said = () => notifier.lines.join("");
    await expect.poll(said, WITHIN).toContain("channel disabled");
    await expect.poll(said, WITHIN).toContain("notification failed permanently");
    expect(said()).not.toContain("very-s3cret");
  });

  test("pauses between its rounds while others hold due messages, and sends the rest", async () => {
    // More channels than one claim distributes its messages to, so that a round takes three of them.
    const heldCount = 40;
    const claimsPerRound = 3;
    const pauseMs = 250;
    for (let index = 0; index < heldCount; index += 1) {
      await owe(database.db, await watchedCheck(database.db), flip("down"));
    }
    const free = await watchedCheck(database.db);
    const options = { now: Date.now(), limit: heldCount * CHANNEL_SENDS_MAX, rateOf: () => null };
    expect((await claimDeliveries(database.db, options)).claims).toHaveLength(heldCount);
    const startedMs = performance.now();
    const notifier = await start();
    await sleep(4 * pauseMs);
    await owe(database.db, free, flip("down"));
    await expect.poll(() => receiver.saidTo(free.channel), WITHIN).toEqual(["down (timeout)"]);
    await sleep(4 * pauseMs);
    const ticks = (await notifier.metrics.loops.ticks.get()).values[0]?.value;
    // One more round for the message that was sent, and one that has begun.
    const roundsMax = (performance.now() - startedMs) / pauseMs + 2;
    expect(ticks).toBeGreaterThan(claimsPerRound);
    expect(ticks).toBeLessThanOrEqual(roundsMax * claimsPerRound);
    await expect.poll(unsent, WITHIN).toBe(heldCount);
  });

  test("continues after an internal error, and retries the message", async () => {
    const one = await watchedCheck(database.db);
    let faults = 0;
    const send = receiver.ports().send;
    await start(database.url, {
      send: (...given) => {
        faults += 1;
        if (faults === 1) throw new TypeError("a fault of ours");
        return send(...given);
      },
    });
    await owe(database.db, one, flip("down"));
    const reason = async () =>
      (await listDeliveriesOfChannel(database.db, { channelId: one.channel.id, limit: 1 }))[0]?.reason;
    await expect.poll(reason, WITHIN).toBe("Sending timed out or failed unexpectedly");
    expect(await statesOf(one.channel)).toEqual(["pending"]);
    await database.db.pool.query("update deliveries set next_try_at = to_timestamp(0)");
    await expect.poll(() => receiver.saidTo(one.channel), WITHIN).toEqual(["down (timeout)"]);
  });
});

describe.skipIf(!isPgbouncerInstalled)("through PgBouncer", () => {
  test("in session mode messages are sent as without it", async () => {
    const bouncer = await startPgbouncer({ databaseUrl: database.url, poolMode: "session" });
    try {
      const { checks } = await manyChecks(10);
      for (const check of checks) await owe(database.db, { check }, flip("down"), flip("up"));
      const notifier = await startNotifier(bouncer.url, receiver.ports());
      await expect.poll(unsent, WITHIN).toBe(0);
      await notifier.stop();
      expect(receiver.taken).toHaveLength(10);
    } finally {
      await bouncer.stop();
    }
  });

  test("in transaction mode no process starts that could send, and the message says what to do", async () => {
    const bouncer = await startPgbouncer({ databaseUrl: database.url, poolMode: "transaction" });
    try {
      const starting = prepareDatabase({
        database: {
          url: bouncer.url,
          applicationName: "overdue-test",
          onError: () => {},
          requireDurable: false,
        },
        migrate: true,
        waitMs: 0,
        onWaiting: () => {},
        onTurn: () => {},
        onLocked: () => {},
        signal: new AbortController().signal,
      });
      await expect(starting).rejects.toThrow(UnusableDatabaseError);
      await expect(starting).rejects.toThrow("pool_mode = session");
    } finally {
      await bouncer.stop();
    }
  });
});
