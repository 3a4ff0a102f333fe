// Sends what is owed, many messages at a time: claims as many as there are senders free, and looks again as soon as
// some are. Stopping lets those that are under way end. Several processes may do this at once.
import { setTimeout as sleep } from "node:timers/promises";
import { type Instant, SECOND_MS } from "../../core/instant.ts";
import { SEND_MS_MAX } from "../../core/limits.ts";
import type { Log } from "../../lib/log.ts";
import { type Loop, loopService, type TickResult } from "../../lib/loop.ts";
import type { Metrics } from "../../lib/metrics.ts";
import { within } from "../../lib/service.ts";
import { type Claim, claimDeliveries, type Senders } from "../../operations/alerts/claim-deliveries.ts";
import { type Ports, prepareFor, sendPrepared } from "../../operations/alerts/deliver.ts";
import { Neighbours } from "../../operations/alerts/neighbours.ts";
import type { Prepared } from "../../operations/alerts/prepare-messages.ts";
import type { Ended, Settled } from "../../operations/alerts/settle-deliveries.ts";
import { readService } from "../../operations/database-identity.ts";
import { countUnsent } from "../../store/alerts/deliveries.ts";
import type { Database } from "../../store/db.ts";
import { readDatabaseClock } from "../../store/instance.ts";
import { type DeliveryCounts, deliveryCounts } from "./delivery-counts.ts";
import { Settling } from "./settling.ts";

/** Looking for work costs a fraction of a millisecond, so it is done often. */
const IDLE_MS = 250;
/** One account has at most half of them, so that its receivers delay nobody else by not answering. */
const SENDERS_MAX = 256;
/** Channels that fail or are slow have at most so many of them, and those of one account half of that. */
const TROUBLED_SENDERS_MAX = SENDERS_MAX / 2;
/** Messages that are claimed and read together. */
const CLAIM_MAX = 128;
/** With fewer free senders it waits for more, but not for long. */
const FREE_MIN = SENDERS_MAX / 4;
const FREE_WAIT_MS = 50;
/** What a message says about other checks is at most so old. */
const NEIGHBOURS_MS = 2 * SECOND_MS;
const COUNT_EVERY_MS = 15 * SECOND_MS;
/** Kinds keep to SEND_MS_MAX themselves; this is for one that does not. */
const BACKSTOP_MS = SEND_MS_MAX + 5 * SECOND_MS;

export type SendingResources = { database: Database; log: Log; metrics: Metrics };

/** The loop that sends through these ports. */
export function sendingLoop(resources: SendingResources, ports: Ports): Loop {
  const desk = new Desk(resources, ports);
  const { log, metrics } = resources;
  const loop = loopService("notifier", {
    idleMs: IDLE_MS,
    log,
    metrics: metrics.loops,
    tick: () => desk.turn(),
  });
  return {
    ...loop,
    stop: async () => {
      await loop.stop();
      await desk.untilEmpty();
    },
  };
}

/** Senders in use, by the account whose message they send. */
class Holding {
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

class Desk {
  readonly #database: Database;
  readonly #log: Log;
  readonly #ports: Ports;
  readonly #counts: DeliveryCounts;
  readonly #settling: Settling;
  readonly #underway = new Set<Promise<void>>();
  readonly #inFlight = new Map<number, number>();
  readonly #held = new Holding();
  readonly #heldTroubled = new Holding();
  #after = 0;
  #countedAtMs = -Infinity;
  /** The database's clock is ahead of `performance.now()` by this. */
  #aheadMs = 0;

  constructor({ database, log, metrics }: SendingResources, ports: Ports) {
    this.#database = database;
    this.#log = log;
    const neighbours = new Neighbours({ maxAgeMs: NEIGHBOURS_MS });
    this.#ports = { neighbours, ...ports, send: boundedSend(ports, log) };
    this.#counts = deliveryCounts(metrics);
    this.#settling = new Settling({ database, log, now: this.#now });
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
        troubled: this.#heldTroubled.outOf(TROUBLED_SENDERS_MAX),
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

  #occupy({ channelId, ownerId, isTroubled }: Claim, ending: Promise<void>): void {
    const count = (by: 1 | -1) => {
      add(this.#inFlight, channelId, by);
      this.#held.add(ownerId, by);
      if (isTroubled) this.#heldTroubled.add(ownerId, by);
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
