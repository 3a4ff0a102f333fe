// Sends what is owed, many messages at a time: claims as many as there are senders free, and looks again as soon as
// some are. Stopping lets those that are under way end. Several processes may do this at once.
import { setTimeout as sleep } from "node:timers/promises";
import { type Instant, SECOND_MS } from "../core/instant.ts";
import { DELIVERY_LEASE_MS, SEND_MS_MAX } from "../core/limits.ts";
import type { Log } from "../lib/log.ts";
import { type Loop, loopService, type TickResult } from "../lib/loop.ts";
import { addFigures, addHistogram, type Metrics } from "../lib/metrics.ts";
import { within } from "../lib/service.ts";
import type { Database } from "../store/db.ts";
import { countUnsent } from "../store/deliveries.ts";
import { readDatabaseClock } from "../store/instance.ts";
import { readService } from "./database-identity.ts";
import {
  type Claim,
  claimDeliveries,
  type Ended,
  type Ports,
  type Prepared,
  prepareFor,
  ProjectHealthCache,
  type Senders,
  sendPrepared,
  settleClaims,
  type Settled,
} from "./deliveries.ts";

/** Looking for work costs a fraction of a millisecond, so it is done often. */
const IDLE_MS = 250;
/** One account has at most half of them, so that its receivers delay nobody else by not answering. */
const SENDERS_MAX = 256;
/** Channels that fail or are slow have at most so many of them, and those of one account half of that. */
const DEGRADED_SENDERS_MAX = SENDERS_MAX / 2;
/** Messages that are claimed and read together. */
const CLAIM_MAX = 128;
/** With fewer free senders it waits for more, but not for long. */
const FREE_MIN = SENDERS_MAX / 4;
const FREE_WAIT_MS = 50;
/** What a message says about other checks is at most so old. */
const PROJECT_HEALTH_MAX_AGE_MS = 2 * SECOND_MS;
const COUNT_EVERY_MS = 15 * SECOND_MS;
/** Kinds keep to SEND_MS_MAX themselves; this is for one that does not. */
const BACKSTOP_MS = SEND_MS_MAX + 5 * SECOND_MS;

export type SendLoopResources = { database: Database; log: Log; metrics: Metrics };

/** The loop that sends through these ports. */
export function sendLoop(resources: SendLoopResources, ports: Ports): Loop {
  const notifier = new Notifier(resources, ports);
  const { log, metrics } = resources;
  const loop = loopService("notifier", {
    idleMs: IDLE_MS,
    log,
    metrics: metrics.loops,
    tick: () => notifier.turn(),
  });
  return {
    ...loop,
    stop: async () => {
      await loop.stop();
      await notifier.untilEmpty();
    },
  };
}

/** Senders in use, by the account whose message they send. */
class SendersInUse {
  readonly #by = new Map<number, number>();
  #total = 0;

  add(ownerId: number | null, by: 1 | -1): void {
    this.#total += by;
    if (ownerId !== null) add(this.#by, ownerId, by);
  }

  outOf(max: number): Senders {
    return { free: Math.max(0, max - this.#total), heldBy: this.#by };
  }
}

/** Adds to a count; one that is 0 is forgotten. */
function add(counts: Map<number, number>, key: number, by: number): void {
  const count = (counts.get(key) ?? 0) + by;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}

class Notifier {
  readonly #database: Database;
  readonly #log: Log;
  readonly #ports: Ports;
  readonly #counts: DeliveryCounts;
  readonly #settling: SettleQueue;
  readonly #underway = new Set<Promise<void>>();
  readonly #inFlight = new Map<number, number>();
  readonly #held = new SendersInUse();
  readonly #heldTroubled = new SendersInUse();
  #after = 0;
  #countedAtMs = -Infinity;
  /** The database's clock is ahead of `performance.now()` by this. */
  #aheadMs = 0;

  constructor({ database, log, metrics }: SendLoopResources, ports: Ports) {
    this.#database = database;
    this.#log = log;
    const projectHealth = new ProjectHealthCache({ maxAgeMs: PROJECT_HEALTH_MAX_AGE_MS });
    this.#ports = { projectHealth, ...ports, send: boundedSend(ports, log) };
    this.#counts = deliveryCounts(metrics);
    this.#settling = new SettleQueue({ database, log, now: this.#now });
  }

  readonly #now = (): Instant => Math.floor(performance.now() + this.#aheadMs);

  /** One look for work: claims what is due and begins to send it. */
  async turn(): Promise<TickResult> {
    await this.#untilFree();
    const { isInService, noticeId } = await readService(this.#database);
    if (!isInService && noticeId === null) return "idle";
    const now = await readDatabaseClock(this.#database);
    this.#aheadMs = now - performance.now();
    await this.#count(now);
    const { claims, after } = await claimDeliveries(this.#database, {
      now,
      limit: Math.min(CLAIM_MAX, SENDERS_MAX - this.#underway.size),
      after: this.#after,
      inFlight: this.#inFlight,
      senders: {
        all: this.#held.outOf(SENDERS_MAX),
        degraded: this.#heldTroubled.outOf(DEGRADED_SENDERS_MAX),
      },
      rateOf: this.#ports.rateOf,
      ...(!isInService && noticeId !== null && { onlyId: noticeId }),
    });
    this.#after = after;
    if (claims.length > 0) this.#begin(claims, now);
    return claims.length > 0 || after !== 0 ? "again" : "idle";
  }

  /** What is under way ends in bounded time, and nothing new is begun. */
  async untilEmpty(): Promise<void> {
    await Promise.all(this.#underway);
  }

  async #untilFree(): Promise<void> {
    const deadlineMs = performance.now() + FREE_WAIT_MS;
    while (SENDERS_MAX - this.#underway.size < FREE_MIN && performance.now() < deadlineMs) {
      await Promise.race([...this.#underway, sleep(FREE_WAIT_MS)]);
    }
    // Without any there is nothing to look for.
    if (this.#underway.size >= SENDERS_MAX) await Promise.race(this.#underway);
  }

  /** Messages are made and sent while the next ones are claimed. */
  #begin(claims: readonly Claim[], now: Instant): void {
    const making = this.#prepare(claims, now);
    const deliver = async (claim: Claim) => {
      const prepared = (await making).get(claim);
      if (prepared !== undefined) await this.#deliver(prepared);
    };
    for (const claim of claims) this.#occupy(claim, deliver(claim));
  }

  #occupy({ channelId, ownerId, isDegraded }: Claim, ending: Promise<void>): void {
    const count = (by: 1 | -1) => {
      add(this.#inFlight, channelId, by);
      this.#held.add(ownerId, by);
      if (isDegraded) this.#heldTroubled.add(ownerId, by);
    };
    count(1);
    const ended = ending.finally(() => {
      this.#underway.delete(ended);
      count(-1);
    });
    this.#underway.add(ended);
  }

  /** What cannot be made is left out: its claim runs out, and it is tried again until it was tried too often. */
  async #prepare(claims: readonly Claim[], now: Instant): Promise<Map<Claim, Prepared>> {
    const prepare = async (some: readonly Claim[]) => {
      try {
        return await prepareFor(this.#database, some, { now, ports: this.#ports });
      } catch (error) {
        const deliveryIds = some.map(({ deliveries }) => deliveries[0].id);
        this.#log.error({ err: error, deliveryIds }, "could not prepare notifications");
        return null;
      }
    };
    const made = await prepare(claims);
    const prepared: Prepared[] = made ?? [];
    // One by one, so that one that cannot be made takes no others with it.
    if (made === null && claims.length > 1) {
      for (const claim of claims) prepared.push(...((await prepare([claim])) ?? []));
    }
    return new Map(prepared.map((one) => [one.claim, one]));
  }

  async #deliver(prepared: Prepared): Promise<void> {
    const moment = { now: this.#now, ports: this.#ports };
    const ended: Ended =
      prepared.kind === "send" ? await sendPrepared(this.#database, prepared, moment) : { prepared };
    const settled = await this.#settling.settle(ended);
    if (settled === null) this.#log.warn({ ...namesOf(prepared) }, "a notification may be sent twice");
    else {
      this.#counts.add(settled);
      this.#tell(settled, prepared);
    }
  }

  #tell({ claim, outcomes, failure, disabled }: Settled, prepared: Prepared): void {
    const names = namesOf(prepared);
    const isDead = [...(outcomes?.values() ?? [])].includes("dead");
    if (disabled !== null) this.#log.warn({ ...names, reason: disabled.reason }, "channel disabled");
    if (isDead)
      this.#log.warn(
        { ...names, attempt: claim.attempt, reason: failure },
        "notification failed permanently",
      );
    else if (failure !== null) {
      this.#log.info(
        { ...names, attempt: claim.attempt, reason: failure },
        "notification not sent; will retry",
      );
    }
  }

  async #count(now: Instant): Promise<void> {
    if (performance.now() - this.#countedAtMs < COUNT_EVERY_MS) return;
    this.#countedAtMs = performance.now();
    this.#counts.setUnsent(await countUnsent(this.#database), now);
  }
}

/** What a line in the log may say of a message: nothing of its contents, and nothing of the channel's config. */
function namesOf({ claim }: Prepared): Record<string, unknown> {
  const [{ id, kind, checkId }] = claim.deliveries;
  return { deliveryId: id, kind, checkId, channelId: claim.channelId };
}

/** A fault of ours, or a send without end, is a failure like others. Nobody knows then whether the message arrived. */
function boundedSend(ports: Ports, log: Log): Ports["send"] {
  return async (channel, message, sending) => {
    try {
      return await within(ports.send(channel, message, sending), BACKSTOP_MS);
    } catch (error) {
      log.error(
        { err: error, channelId: channel.id, channelKind: channel.kind },
        "unexpected error while sending a notification",
      );
      return {
        kind: "failed",
        permanent: false,
        retryAfterMs: null,
        summary: channel.kind,
        code: null,
        excerpt: null,
        reason: "Sending timed out or failed unexpectedly",
        inDoubt: true,
      };
    }
  };
}

// Settles what has been sent: whatever ends while a transaction is under way is settled by the next one, so that
// thousands of messages do not need thousands of commits. What cannot be settled is sent again when its claim ends.

/** Messages that one transaction settles. */
const BATCH_MAX = 100;
const PAUSE_MS = SECOND_MS;

type Waiting = { ended: Ended; sinceMs: number; done: (settled: Settled | null) => void };

class SettleQueue {
  readonly #database: Database;
  readonly #log: Log;
  readonly #now: () => Instant;
  #waiting: Waiting[] = [];
  #isRunning = false;

  constructor({ database, log, now }: { database: Database; log: Log; now: () => Instant }) {
    this.#database = database;
    this.#log = log;
    this.#now = now;
  }

  /** Resolves when it is settled; null: it could not be, and whoever finds it sends it again. */
  settle(ended: Ended): Promise<Settled | null> {
    return new Promise((done) => {
      this.#waiting.push({ ended, sinceMs: performance.now(), done });
      if (!this.#isRunning) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, BATCH_MAX);
      if (await this.#settled(batch)) continue;
      // One that the database refuses must not keep the others from being settled.
      for (const one of batch) if (!(await this.#settled([one]))) this.#putBack(one);
      if (this.#waiting.length > 0) await sleep(PAUSE_MS);
    }
    this.#isRunning = false;
  }

  async #settled(batch: readonly Waiting[]): Promise<boolean> {
    try {
      const ended = batch.map((one) => one.ended);
      const settled = await settleClaims(this.#database, ended, { now: this.#now() });
      for (const [index, { done }] of batch.entries()) done(settled[index] ?? null);
      return true;
    } catch (error) {
      this.#log.error(
        { err: error, count: batch.length },
        "could not save the results of sent notifications",
      );
      return false;
    }
  }

  #putBack(one: Waiting): void {
    if (performance.now() - one.sinceMs < DELIVERY_LEASE_MS) this.#waiting.push(one);
    else one.done(null);
  }
}

// What a notifier counts about deliveries: how they ended, how long people waited, and what is still owed.

/** Fine where the promise lies, and up to the hours that a receiver may be away. */
const WAITED_SECONDS = [0.5, 1, 2, 3, 5, 10, 30, 60, 120, 300, 900, 3_600, 14_400, 86_400];

export type DeliveryCounts = {
  add(settled: Settled): void;
  setUnsent(unsent: { count: number; oldestAt: Instant | null }, now: Instant): void;
};

/** Adds the figures to the metrics of a process, all of them at zero. */
function deliveryCounts(metrics: Metrics): DeliveryCounts {
  const settled: Record<string, number> = {
    sent: 0,
    merged: 0,
    withdrawn: 0,
    skipped: 0,
    dead: 0,
    retry: 0,
    lost: 0,
  };
  let unsent: { count: number; oldestSeconds: number } | null = null;
  addFigures(metrics, [
    {
      name: "overdue_deliveries_total",
      help: "Deliveries by result. retry: the attempt failed and will be retried; lost: another process took over.",
      kind: "counter",
      label: "state",
      readEach: () => settled,
    },
    {
      name: "overdue_deliveries_unsent",
      help: "Pending notifications. Updated every few seconds.",
      kind: "gauge",
      read: () => unsent?.count ?? null,
    },
    {
      name: "overdue_delivery_oldest_unsent_seconds",
      help: "Age of the oldest pending notification. 0 if there are none.",
      kind: "gauge",
      read: () => unsent?.oldestSeconds ?? null,
    },
  ]);
  const observe = addHistogram(metrics, {
    name: "overdue_delivery_seconds",
    help: "From a deadline, or from the signal that changed a check, until the receiver had taken the message.",
    bucketsSeconds: WAITED_SECONDS,
  });
  return {
    add: ({ outcomes, waitedMs }) => {
      for (const outcome of outcomes?.values() ?? ["lost"]) settled[outcome] = (settled[outcome] ?? 0) + 1;
      for (const ms of waitedMs) observe(ms / SECOND_MS);
    },
    setUnsent: ({ count, oldestAt }, now) => {
      unsent = { count, oldestSeconds: oldestAt === null ? 0 : Math.max(0, now - oldestAt) / SECOND_MS };
    },
  };
}
