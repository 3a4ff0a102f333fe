// The notifier: sends due messages concurrently, as many as there are free senders. When stopped, it finishes
// messages in flight. Several processes may run it. Tests and the simulation run the same class by `deliverDue`.
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
  claimDeliveries,
  type Ports,
  type Senders,
  sendPrepared,
  settleClaims,
  type Settled,
} from "./deliveries.ts";
import { takeSteps } from "./incident-steps.ts";
import { planAlerts } from "./plan-alerts.ts";
import {
  type Claim,
  type Ended,
  prepareClaims,
  type Prepared,
  ProjectHealthCache,
} from "./prepare-messages.ts";

/** A poll costs a fraction of a millisecond, so it is frequent. */
const IDLE_MS = 250;
/** One account gets at most half of the senders, so that its slow receivers do not delay others. */
const SENDERS_MAX = 256;
/** Senders for failing or slow channels; one account gets half of them. */
const DEGRADED_SENDERS_MAX = SENDERS_MAX / 2;
/** Messages claimed and prepared together. */
const CLAIM_MAX = 128;
/** With fewer free senders it waits for more, but not for long. */
const FREE_MIN = SENDERS_MAX / 4;
const FREE_WAIT_MS = 50;
/** Maximum age of the state of other checks in messages. */
const PROJECT_HEALTH_MAX_AGE_MS = 2 * SECOND_MS;
const COUNT_EVERY_MS = 15 * SECOND_MS;
/** A backstop for channel kinds that exceed SEND_MS_MAX. */
const BACKSTOP_MS = SEND_MS_MAX + 5 * SECOND_MS;

export type SendLoopResources = { database: Database; log: Log; metrics: Metrics };

/** The loop that sends through these ports. */
export function sendLoop(resources: SendLoopResources, ports: Ports): Loop {
  const { database, log, metrics } = resources;
  const clock = databaseClock(database);
  const notifier = new Notifier({ database, log, ports, clock, ...deliveryCounts(metrics) });
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

/**
 * Delivers everything that is due at `now`, once; failed messages are due later. Throws what the notifier of a
 * server logs as an error.
 */
export async function deliverDue(
  database: Database,
  { now, ports }: { now: Instant; ports: Ports },
): Promise<Settled[]> {
  const settled: Settled[] = [];
  const errors: unknown[] = [];
  const notifier = new Notifier({
    database,
    log: { error: (fields: unknown) => errors.push(fields), warn: () => {}, info: () => {} },
    ports,
    clock: { read: () => Promise.resolve(now), now: () => now },
    onSettled: (one) => settled.push(one),
  });
  await notifier.deliverDue();
  if (errors.length > 0) throw new AggregateError(errors, "could not deliver all that is due");
  return settled;
}

type Clock = {
  read: () => Promise<Instant>;
  /** The time since the last `read`, without reading it again. */
  now: () => Instant;
};

function databaseClock(database: Database): Clock {
  /** The database's clock is ahead of `performance.now()` by this. */
  let aheadMs = 0;
  return {
    read: async () => {
      const now = await readDatabaseClock(database);
      aheadMs = now - performance.now();
      return now;
    },
    now: () => Math.floor(performance.now() + aheadMs),
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

/** Adds to a count; zero entries are removed. */
function add(counts: Map<number, number>, key: number, by: number): void {
  const count = (counts.get(key) ?? 0) + by;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}

type NotifierDeps = {
  database: Database;
  log: Pick<Log, "error" | "warn" | "info">;
  ports: Ports;
  clock: Clock;
  onSettled: (settled: Settled) => void;
  /** Called every COUNT_EVERY_MS. */
  onUnsent?: (unsent: { count: number; oldestAt: Instant | null }, now: Instant) => void;
};

class Notifier {
  readonly #deps: NotifierDeps;
  readonly #projectHealth = new ProjectHealthCache({ maxAgeMs: PROJECT_HEALTH_MAX_AGE_MS });
  readonly #settling: SettleQueue;
  readonly #underway = new Set<Promise<void>>();
  readonly #inFlight = new Map<number, number>();
  readonly #held = new SendersInUse();
  readonly #heldDegraded = new SendersInUse();
  #after = 0;
  #countedAtMs = -Infinity;

  constructor(deps: NotifierDeps) {
    this.#deps = { ...deps, ports: { ...deps.ports, send: boundedSend(deps) } };
    this.#settling = new SettleQueue(deps);
  }

  /** Claims due messages and starts to send them. */
  async turn(): Promise<TickResult> {
    const { database, ports, clock } = this.#deps;
    await this.#untilFree();
    const { isInService, noticeId } = await readService(database);
    if (!isInService && noticeId === null) return "idle";
    const now = await clock.read();
    await this.#count(now);
    // Before claiming, so that a new alert does not wait for another turn.
    const planned = isInService ? await this.#plan(now) : 0;
    const { claims, after } = await claimDeliveries(database, {
      now,
      limit: Math.min(CLAIM_MAX, SENDERS_MAX - this.#underway.size),
      after: this.#after,
      inFlight: this.#inFlight,
      senders: {
        all: this.#held.outOf(SENDERS_MAX),
        degraded: this.#heldDegraded.outOf(DEGRADED_SENDERS_MAX),
      },
      rateOf: ports.rateOf,
      ...(ports.quotaOf !== undefined && { quotaOf: ports.quotaOf }),
      ...(!isInService && noticeId !== null && { onlyId: noticeId }),
    });
    this.#after = after;
    if (claims.length > 0) this.#begin(claims, now);
    return planned > 0 || claims.length > 0 || after !== 0 ? "again" : "idle";
  }

  /** Takes steps and plans alerts. What is planned is sent, even if this fails. */
  async #plan(now: Instant): Promise<number> {
    const { database, log } = this.#deps;
    const attempt = async (work: Promise<number>, text: string) => {
      try {
        return await work;
      } catch (error) {
        log.error({ err: error }, text);
        return 0;
      }
    };
    const onFailure = (error: unknown, alertId: number) =>
      log.error({ err: error, alertId }, "could not plan an alert");
    const onFailedStep = (error: unknown, incidentId: number) =>
      log.error({ err: error, incidentId }, "could not take the next step of an incident");
    const steps = await attempt(
      takeSteps(database, { now, onFailure: onFailedStep }),
      "could not take the next steps of incidents",
    );
    return steps + (await attempt(planAlerts(database, { now, onFailure }), "could not plan alerts"));
  }

  /** Takes turns until nothing is left that it can claim. */
  async deliverDue(): Promise<void> {
    for (let hasClaimed = true; hasClaimed; ) {
      hasClaimed = false;
      // A round visits all channels. Messages that others hold are due as well, so only a round without a claim
      // is the last.
      for (let result: TickResult = "again"; result === "again"; ) {
        result = await this.turn();
        hasClaimed ||= this.#underway.size > 0;
        await this.untilEmpty();
      }
    }
  }

  /** Waits for messages in flight, in bounded time; nothing new is started. */
  async untilEmpty(): Promise<void> {
    await Promise.all(this.#underway);
  }

  async #untilFree(): Promise<void> {
    const deadlineMs = performance.now() + FREE_WAIT_MS;
    while (SENDERS_MAX - this.#underway.size < FREE_MIN && performance.now() < deadlineMs) {
      await Promise.race([...this.#underway, sleep(FREE_WAIT_MS)]);
    }
    // Without free senders there is nothing to claim.
    if (this.#underway.size >= SENDERS_MAX) await Promise.race(this.#underway);
  }

  /** Messages are prepared and sent while the next ones are claimed. */
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
      if (isDegraded) this.#heldDegraded.add(ownerId, by);
    };
    count(1);
    const ended = ending.finally(() => {
      this.#underway.delete(ended);
      count(-1);
    });
    this.#underway.add(ended);
  }

  /**
   * Messages that cannot be prepared are left out: their claim expires, and they are retried until they reach
   * the maximum number of attempts.
   */
  async #prepare(claims: readonly Claim[], now: Instant): Promise<Map<Claim, Prepared>> {
    const { database, log, ports } = this.#deps;
    const options = {
      now,
      isSubscribed: ports.isSubscribed,
      projectHealth: this.#projectHealth,
      ackUrl: (await ports.ackUrl?.()) ?? null,
    };
    const prepare = async (some: readonly Claim[]) => {
      try {
        return await prepareClaims(database, some, options);
      } catch (error) {
        const deliveryIds = some.map(({ deliveries }) => deliveries[0].id);
        log.error({ err: error, deliveryIds }, "could not prepare notifications");
        return null;
      }
    };
    const made = await prepare(claims);
    const prepared: Prepared[] = made ?? [];
    // One by one, so that one failure does not affect the others.
    if (made === null && claims.length > 1) {
      for (const claim of claims) prepared.push(...((await prepare([claim])) ?? []));
    }
    return new Map(prepared.map((one) => [one.claim, one]));
  }

  async #deliver(prepared: Prepared): Promise<void> {
    const { database, log, ports, clock, onSettled } = this.#deps;
    const moment = { now: clock.now, ports };
    const ended: Ended =
      prepared.kind === "send" ? await sendPrepared(database, prepared, moment) : { prepared };
    const settled = await this.#settling.settle(ended);
    if (settled === null) log.warn({ ...namesOf(prepared) }, "a notification may be sent twice");
    else {
      onSettled(settled);
      this.#tell(settled, prepared);
    }
  }

  #tell({ claim, outcomes, failure, disabled }: Settled, prepared: Prepared): void {
    const { log } = this.#deps;
    const names = namesOf(prepared);
    const isDead = [...(outcomes?.values() ?? [])].includes("dead");
    if (disabled !== null) log.warn({ ...names, reason: disabled.reason }, "channel disabled");
    if (isDead)
      log.warn({ ...names, attempt: claim.attempt, reason: failure }, "notification failed permanently");
    else if (failure !== null) {
      log.info({ ...names, attempt: claim.attempt, reason: failure }, "notification not sent; will retry");
    }
  }

  async #count(now: Instant): Promise<void> {
    const { database, onUnsent } = this.#deps;
    if (onUnsent === undefined || performance.now() - this.#countedAtMs < COUNT_EVERY_MS) return;
    this.#countedAtMs = performance.now();
    onUnsent(await countUnsent(database), now);
  }
}

/** Fields for the log: nothing of the message's contents or the channel's configuration. */
function namesOf({ claim }: Prepared): Record<string, unknown> {
  const [{ id, kind, checkId }] = claim.deliveries;
  return { deliveryId: id, kind, checkId, channelId: claim.channelId };
}

/** An exception or a hanging send is a failure. Whether the message arrived is unknown. */
function boundedSend({ ports, log }: NotifierDeps): Ports["send"] {
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

/**
 * Messages settled in one transaction. Those that end during a transaction are settled by the next, so that
 * thousands of messages do not need thousands of commits.
 */
const BATCH_MAX = 100;
const PAUSE_MS = SECOND_MS;

type Waiting = { ended: Ended; sinceMs: number; done: (settled: Settled | null) => void };

class SettleQueue {
  readonly #deps: Pick<NotifierDeps, "database" | "log" | "clock" | "ports">;
  #waiting: Waiting[] = [];
  #isRunning = false;

  constructor(deps: Pick<NotifierDeps, "database" | "log" | "clock" | "ports">) {
    this.#deps = deps;
  }

  /** Resolves when it is settled; null: it could not be, and is sent again after its claim expires. */
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
      // A message that the database rejects must not block the others.
      for (const one of batch) if (!(await this.#settled([one]))) this.#putBack(one);
      if (this.#waiting.length > 0) await sleep(PAUSE_MS);
    }
    this.#isRunning = false;
  }

  async #settled(batch: readonly Waiting[]): Promise<boolean> {
    const { database, log, clock, ports } = this.#deps;
    try {
      const ended = batch.map((one) => one.ended);
      const settled = await settleClaims(database, ended, { now: clock.now(), quotaOf: ports.quotaOf });
      for (const [index, { done }] of batch.entries()) done(settled[index] ?? null);
      return true;
    } catch (error) {
      log.error({ err: error, count: batch.length }, "could not save the results of sent notifications");
      return false;
    }
  }

  #putBack(one: Waiting): void {
    if (performance.now() - one.sinceMs < DELIVERY_LEASE_MS) this.#waiting.push(one);
    else one.done(null);
  }
}

/** Fine-grained for normal delays, up to hours for receivers that are down. */
const WAITED_SECONDS = [0.5, 1, 2, 3, 5, 10, 30, 60, 120, 300, 900, 3_600, 14_400, 86_400];

/** Registers the delivery metrics of a process. */
function deliveryCounts(metrics: Metrics): Required<Pick<NotifierDeps, "onSettled" | "onUnsent">> {
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
    onSettled: ({ outcomes, waitedMs }) => {
      for (const outcome of outcomes?.values() ?? ["lost"]) settled[outcome] = (settled[outcome] ?? 0) + 1;
      for (const ms of waitedMs) observe(ms / SECOND_MS);
    },
    onUnsent: ({ count, oldestAt }, now) => {
      unsent = { count, oldestSeconds: oldestAt === null ? 0 : Math.max(0, now - oldestAt) / SECOND_MS };
    },
  };
}
