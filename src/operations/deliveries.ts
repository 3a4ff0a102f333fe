// Delivering messages: claim due deliveries, prepare their messages, send, settle; then the delivery log,
// tests and retries. No transaction is open while a message is sent. If a sender dies, its claim expires and
// the message is sent again.
import { randomUUID } from "node:crypto";
import type { AckLink } from "../core/ack-link.ts";
import { GROUP, membersOf } from "../core/channel.ts";
import {
  accountShare,
  allowance,
  CHANNEL_SENDS_MAX,
  type FailedResult,
  healthAfter,
  isDegraded,
  isInDoubt,
  nextTryAt,
  type Rate,
  type SendResult,
  type SubscribedEvent,
  takeMessages,
} from "../core/delivery.ts";
import { AppError } from "../core/errors.ts";
import { type Instant, MINUTE_MS } from "../core/instant.ts";
import {
  CHANNEL_TESTS_PER_MINUTE,
  DELIVERY_ERROR_LENGTH_MAX,
  DELIVERY_LEASE_MS,
  MESSAGE_FLIPS_MAX,
  RESPONSE_EXCERPT_LENGTH_MAX,
} from "../core/limits.ts";
import type { AlertMessage } from "../core/message.ts";
import type { QuotaLimit } from "../core/quota.ts";
import type { ObjectStore } from "../lib/object-store.ts";
import {
  type Channel,
  type ChannelInProject,
  type ChannelName,
  findChannelById,
  listChannels,
  lockBuckets,
  lockChannels,
  type ManagedChannel,
  noteSendings,
  replaceConfig,
  type Sending,
  writeBuckets,
} from "../store/channels.ts";
import type { Database, Db } from "../store/db.ts";
import {
  claimMessages,
  countRecentTests,
  type Delivery,
  findLoggedDeliveries,
  findWaitingChannels,
  listLoggedDeliveries,
  type LoggedDelivery,
  noteReport,
  postponeDeliveries,
  reopenDelivery,
  separateAlerts,
  settleClaimed,
  type SettledState,
  type Settlement,
  type WaitingChannel,
} from "../store/deliveries.ts";
import { inTransaction, type Tx } from "../store/transaction.ts";
import { audit } from "./audit.ts";
import {
  type Changing,
  disableFailingChannel,
  getChannel,
  type Page,
  pageOf,
  type PageRequest,
} from "./channels.ts";
import { readBody } from "./ping-bodies.ts";
import { planTest } from "./plan-deliveries.ts";
import type { Claim, DrillSend, Ended, Prepared } from "./prepare-messages.ts";
import { recordDrillMessages } from "./fire-drill-messages.ts";
import { giveBackQuotas, notifyLimits, type QuotaOf, takeQuotas } from "./quotas.ts";
import { inRetriedTransaction } from "./retry.ts";
import { noteProviderAnswers } from "./server-health.ts";

/** Free senders, and how many each account holds. */
export type Senders = { free: number; heldBy: ReadonlyMap<number, number> };

export type ClaimOptions = {
  now: Instant;
  /** Maximum number of messages to claim. */
  limit: number;
  rateOf: (kind: string) => Rate | null;
  /** The monthly quota of a kind of channel; if omitted, there are none. */
  quotaOf?: QuotaOf;
  /** The channel id to continue after; 0 starts from the beginning. */
  after?: number;
  /** Messages that this process is sending, by channel id. */
  inFlight?: ReadonlyMap<number, number>;
  /** The senders of this process, and those for degraded channels; if omitted, accounts are not limited. */
  senders?: { all: Senders; degraded: Senders };
  /** Only this delivery; if omitted, all that are due. */
  onlyId?: number;
};

/** Channels visited per claim. */
const CHANNELS_VISITED_MAX = 500;

/** Messages claimed at a time from a deleted or disabled channel. */
const UNSENT_MAX = 16;

/**
 * Claims due deliveries. Channels are visited in turn and each gets a limited share, so that neither a slow
 * receiver nor a long queue blocks the others. `after` is where the next call continues: 0 after all channels
 * have been visited.
 */
export async function claimDeliveries(
  database: Database,
  options: ClaimOptions,
): Promise<{ claims: Claim[]; after: number }> {
  const { now, after = 0 } = options;
  const waiting = await findWaitingChannels(database, { now, after, limit: CHANNELS_VISITED_MAX });
  const shares = shareOut(waiting, options);
  if (shares.given.size === 0) return { claims: [], after: shares.after };
  const claims = await inTransaction(database, (tx) => claimShares(tx, shares, options));
  return { claims, after: shares.after };
}

/** Free senders, and the share that each account may have. */
class Pool {
  readonly #isShared: boolean;
  readonly #held: Map<number, number>;
  free: number;

  /** Without `heldBy`, accounts are not limited. */
  constructor(free: number, heldBy?: ReadonlyMap<number, number>) {
    this.free = free;
    this.#isShared = heldBy !== undefined;
    this.#held = new Map(heldBy);
  }

  leftFor(ownerId: number | null): number {
    if (!this.#isShared || ownerId === null) return this.free;
    return accountShare({ held: this.#held.get(ownerId) ?? 0, free: this.free });
  }

  take(count: number, ownerId: number | null): void {
    this.free -= count;
    if (ownerId !== null) this.#held.set(ownerId, (this.#held.get(ownerId) ?? 0) + count);
  }
}

type Shares = {
  /** Messages that may be claimed per channel. */
  given: Map<number, number>;
  owners: Map<number, number | null>;
  degraded: Set<number>;
  limited: Map<number, { waiting: WaitingChannel; rate: Rate }>;
  quotas: Map<number, QuotaLimit>;
  after: number;
};

/** Distributes the free senders over the channels, in order. */
function shareOut(waiting: readonly WaitingChannel[], options: ClaimOptions): Shares {
  const { limit, rateOf, quotaOf, senders } = options;
  const given = new Map<number, number>();
  const owners: Shares["owners"] = new Map();
  const limited: Shares["limited"] = new Map();
  const quotas: Shares["quotas"] = new Map();
  const degraded = new Set<number>();
  let left = limit;
  let lastGiven = 0;
  // Where the next claim continues if an account got less than it wanted, so that its other channels get
  // their turn.
  let cutAt = 0;
  const all = new Pool(senders?.all.free ?? limit, senders?.all.heldBy);
  const degradedSenders = new Pool(senders?.degraded.free ?? limit, senders?.degraded.heldBy);
  for (const one of waiting) {
    if (left === 0)
      return { given, owners, degraded, limited, quotas, after: cutAt === 0 ? lastGiven : cutAt };
    if (!one.isDue) continue;
    const { ownerId } = one;
    const wanted = Math.min(
      left,
      shareOf(one, { ...options, degradedLeft: degradedSenders.leftFor(ownerId) }),
    );
    const share = Math.min(wanted, all.leftFor(ownerId));
    if (share < wanted && cutAt === 0) cutAt = lastGiven;
    if (share === 0) continue;
    lastGiven = one.channelId;
    given.set(one.channelId, share);
    owners.set(one.channelId, ownerId);
    left -= share;
    all.take(share, ownerId);
    if (one.channel === null) continue;
    if (isDegraded(one.channel)) {
      degraded.add(one.channelId);
      degradedSenders.take(share, ownerId);
    }
    const rate = rateOf(one.channel.kind);
    if (rate !== null) limited.set(one.channelId, { waiting: one, rate });
    const quota = quotaOf?.(one.channel.kind) ?? null;
    if (quota !== null) quotas.set(one.channelId, quota);
  }
  const last = waiting.length < CHANNELS_VISITED_MAX ? 0 : (waiting.at(-1)?.channelId ?? 0);
  return { given, owners, degraded, limited, quotas, after: cutAt === 0 ? last : cutAt };
}

function shareOf(
  { channelId, channel }: WaitingChannel,
  options: ClaimOptions & { degradedLeft?: number },
): number {
  const { now, limit, rateOf, inFlight, degradedLeft = limit } = options;
  // Nothing, or only a few messages, is sent there; the rest is settled without sending.
  if (channel === null || channel.isDisabled) return UNSENT_MAX;
  const underway = { inFlight: inFlight?.get(channelId) ?? 0, sendsMax: CHANNEL_SENDS_MAX, degradedLeft };
  return allowance(channel, { rate: rateOf(channel.kind), now, underway });
}

async function claimShares(tx: Tx, shares: Shares, options: ClaimOptions): Promise<Claim[]> {
  const { given, owners, degraded, limited, quotas } = shares;
  const { now, onlyId } = options;
  const buckets = limited.size === 0 ? new Map() : await lockBuckets(tx, [...limited.keys()]);
  shareAgain(shares, { buckets, options });
  const claimedBy = randomUUID();
  const messages = await claimMessages(tx, {
    now,
    allowances: given,
    claimedBy,
    leaseMs: DELIVERY_LEASE_MS,
    partsMax: MESSAGE_FLIPS_MAX,
    ...(onlyId !== undefined && { onlyId }),
  });
  const claims = messages.map((message) => toClaim(message, { claimedBy, owners, degraded }));
  const taken = Map.groupBy(
    claims.filter(
      ({ channelId, deliveries: [{ fireDrill }] }) => limited.has(channelId) && fireDrill !== "quiet",
    ),
    ({ channelId }) => channelId,
  );
  // A message that is only rendered uses nothing of a rate limit.
  if (taken.size > 0) await writeBuckets(tx, bucketsAfter(taken, { limited, buckets, now }));
  return takeQuotas(tx, claims, { quotas, now });
}

/** Limits the shares of rate-limited channels by their locked token buckets. */
function shareAgain(
  { given, limited }: Shares,
  { buckets, options }: { buckets: ReadonlyMap<number, Instant | null>; options: ClaimOptions },
): void {
  for (const [channelId, { waiting }] of limited) {
    const fullAt = buckets.get(channelId);
    if (fullAt === undefined || waiting.channel === null) given.delete(channelId);
    else {
      const share = shareOf({ ...waiting, channel: { ...waiting.channel, bucketFullAt: fullAt } }, options);
      given.set(channelId, Math.min(given.get(channelId) ?? 0, share));
    }
  }
}

function bucketsAfter(
  taken: ReadonlyMap<number, readonly Claim[]>,
  at: { limited: Shares["limited"]; buckets: ReadonlyMap<number, Instant | null>; now: Instant },
): Map<number, Instant> {
  const after = new Map<number, Instant>();
  for (const [channelId, claims] of taken) {
    const rate = at.limited.get(channelId)?.rate;
    if (rate === undefined) continue;
    const fullAt = at.buckets.get(channelId) ?? null;
    after.set(channelId, takeMessages(fullAt, { rate, now: at.now, count: claims.length }));
  }
  return after;
}

function toClaim(
  {
    deliveries,
    wasBound,
    interruptedAt,
  }: { deliveries: readonly Delivery[]; wasBound: boolean; interruptedAt: Instant | null },
  { claimedBy, owners, degraded }: { claimedBy: string } & Pick<Shares, "owners" | "degraded">,
): Claim {
  const [head, ...rest] = deliveries;
  if (head === undefined) throw new Error("a message without deliveries was claimed");
  return {
    claimedBy,
    channelId: head.channelId,
    ownerId: owners.get(head.channelId) ?? null,
    dedupeKey: head.dedupeKey,
    attempt: head.attemptCount,
    isRepeat: wasBound,
    interruptedAt,
    isDegraded: degraded.has(head.channelId),
    quota: null,
    deliveries: [head, ...rest],
  };
}

/** What the caller provides for sending messages. */
export type Ports = {
  /** Sends a message within SEND_MS_MAX. An exception counts as a failure after which the message may have arrived. */
  send: (
    channel: ChannelInProject,
    message: AlertMessage,
    sending: SendingFacts,
  ) => Promise<SendResult & { drill?: DrillSend }>;
  /** Whether a channel is subscribed to this type of event. */
  isSubscribed: (channel: Channel, what: SubscribedEvent) => boolean;
  /** The rate limit of a kind of channel; null: none. */
  rateOf: (kind: string) => Rate | null;
  /** The monthly quota of a kind of channel; absent: there are none. */
  quotaOf?: QuotaOf;
  /** Makes the links to acknowledge incidents; absent: messages have none. */
  ackUrl?: () => Promise<(link: AckLink) => string>;
  /** The object store that bodies may have been moved to. */
  objects?: Pick<ObjectStore, "get"> | null;
};

export type SendingFacts = {
  dedupeKey: string;
  attempt: number;
  now: Instant;
  /** Part of a fire drill: the port records the message, and sends it only if `isSent`. */
  drill?: { isSent: boolean; now: () => Instant };
};

/** Sends one prepared message with the body of its last ping. */
export async function sendPrepared(
  db: Db,
  prepared: Extract<Prepared, { kind: "send" }>,
  { now, ports }: { now: () => Instant; ports: Ports },
): Promise<Ended> {
  const { claim, channel, drill } = prepared;
  const message = await withBody(db, prepared, ports);
  const at = now();
  const sending = { dedupeKey: claim.dedupeKey, attempt: claim.attempt, now: at };
  if (drill === undefined) {
    const result = await ports.send(channel, message, sending);
    return { prepared, result, durationMs: now() - at };
  }
  const { drill: drilled, ...result } = await ports.send(channel, message, {
    ...sending,
    drill: { isSent: drill.isSent, now },
  });
  const record = { drillId: drill.drillId, channel, answeredAt: now(), sent: drilled ?? null };
  if (drill.isSent) return { prepared, result, durationMs: now() - at, record };
  const states = new Map(claim.deliveries.map(({ id }): [number, SettledState] => [id, "withdrawn"]));
  return { prepared: { claim, kind: "settle", states, reason: NOT_SENT }, record };
}

const NOT_SENT = "Not sent (fire drill)";

const lenient = new TextDecoder("utf-8");

/** If the body cannot be read, the alert is sent without it. */
async function withBody(
  db: Db,
  { claim, message }: Extract<Prepared, { kind: "send" }>,
  { objects = null }: Ports,
): Promise<AlertMessage> {
  if ((message.kind !== "down" && message.kind !== "up") || !message.lastPing?.bodySize) return message;
  const { lastPing } = message;
  const checkId = claim.deliveries[0].checkId ?? 0;
  const read = await readBody(db, { objects, checkId, n: lastPing.n }).catch(() => null);
  return read?.kind === "found"
    ? { ...message, lastPing: { ...lastPing, body: lenient.decode(read.body) } }
    : message;
}

export type Settled = {
  claim: Claim;
  /** The outcome of each delivery, or "retry", also if it is held. Null: the claim was lost and another sender has it. */
  outcomes: ReadonlyMap<number, SettledState | "retry"> | null;
  /** Time from each included flip until now. */
  waitedMs: readonly number[];
  /** Why it could not be sent; null if it was sent or there was nothing to send. */
  failure: string | null;
  /** The channel that was disabled by this failure. */
  disabled: { channelId: number; uuid: string; kind: string; reason: string } | null;
};

/**
 * Records the outcome of messages, in the same order, in one transaction that is retried after conflicts. A
 * lost claim changes nothing. A commit in doubt is thrown.
 */
export function settleClaims(
  database: Database,
  ended: readonly Ended[],
  { now, quotaOf = () => null }: { now: Instant; quotaOf?: QuotaOf | undefined },
): Promise<Settled[]> {
  return inRetriedTransaction(database, (tx) => settle(tx, ended, { now, quotaOf }));
}

async function settle(
  tx: Tx,
  ended: readonly Ended[],
  { now, quotaOf }: { now: Instant; quotaOf: QuotaOf },
): Promise<Settled[]> {
  const verdicts = ended.map((one) => ({ one, settlements: settlementsOf(one, now) }));
  const settlements = verdicts.flatMap((verdict) => verdict.settlements);
  const held = await settleClaimed(tx, { settlements, at: now });
  const mine = verdicts.filter((verdict) =>
    verdict.settlements.some(({ deliveryId }) => held.has(deliveryId)),
  );
  const pairs = mine.flatMap(({ one, settlements: parts }) => deferredBehind(one.prepared.claim, parts));
  if (pairs.length > 0) await postponeDeliveries(tx, pairs);
  for (const { one } of mine) await separateSilenced(tx, one, now);
  await recordDrillMessages(tx, mine, now);
  // A fire drill says nothing about the health of a channel or a provider, and reaches no limit.
  const real = mine.filter(({ one }) => !isDrill(one));
  const disabled = await noteChannels(
    tx,
    real.flatMap(({ one }) => ("result" in one ? [one] : [])),
    now,
  );
  const unsent = mine.flatMap(({ one }) => ("result" in one ? [] : [one.prepared.claim]));
  await giveBackQuotas(tx, unsent);
  const stopped = real.filter(({ one }) => isBeyondQuota(one)).map(({ one }) => one.prepared.claim);
  await notifyLimits(tx, stopped, { now, quotaOf });
  const answers = real.flatMap(({ one }) =>
    "result" in one ? [{ kind: one.prepared.channel.kind, result: one.result }] : [],
  );
  await noteProviderAnswers(tx, { answers, at: now });
  return verdicts.map((verdict) => toSettled(verdict, { isHeld: mine.includes(verdict), disabled, now }));
}

function isDrill({ prepared }: Ended): boolean {
  return prepared.claim.deliveries[0].fireDrill !== null;
}

async function separateSilenced(tx: Tx, { prepared }: Ended, at: Instant): Promise<void> {
  if (prepared.kind !== "hold" || prepared.separated === undefined) return;
  const [{ id: deliveryId }] = prepared.claim.deliveries;
  await separateAlerts(tx, { deliveryId, alertIds: prepared.separated, at });
}

function isBeyondQuota({ prepared }: Ended): boolean {
  return prepared.kind === "settle" && prepared.isBeyondQuota === true;
}

type Sent = Extract<Ended, { result: SendResult }>;

function settlementsOf(ended: Ended, now: Instant): Settlement[] {
  const { claim } = ended.prepared;
  if (!("result" in ended)) {
    if (ended.prepared.kind === "hold") {
      const { until, reason } = ended.prepared;
      return claim.deliveries.map(({ id }) => ({
        deliveryId: id,
        claimedBy: claim.claimedBy,
        outcome: { heldUntil: until },
        unbinds: true,
        answer: null,
        reason,
      }));
    }
    const { states, reason } = ended.prepared;
    return claim.deliveries.map(({ id }) => ({
      deliveryId: id,
      claimedBy: claim.claimedBy,
      outcome: states.get(id) ?? "withdrawn",
      unbinds: false,
      // A retry after the limit has reset is counted.
      ...(isBeyondQuota(ended) ? { isUntried: true as const } : {}),
      answer: null,
      reason,
    }));
  }
  return ended.result.kind === "sent"
    ? afterSuccess(ended)
    : afterFailure(ended, { result: ended.result, now });
}

function afterSuccess(sent: Sent): Settlement[] {
  const { claim, parts } = sent.prepared;
  const last = parts.included.at(-1);
  const stateOf = unsaidStates(sent);
  return claim.deliveries.map(({ id }) => ({
    deliveryId: id,
    claimedBy: claim.claimedBy,
    outcome: stateOf.get(id) ?? (id === last ? "sent" : "merged"),
    unbinds: false,
    answer: answerOf(sent.result),
    reason: null,
  }));
}

/**
 * After a failure, deliveries are retried or given up. A message in doubt is repeated unchanged; otherwise
 * each delivery is given up by its own age, and the next attempt may include more.
 */
function afterFailure(sent: Sent, { result, now }: { result: FailedResult; now: Instant }): Settlement[] {
  const { claim } = sent.prepared;
  const stays = claim.isRepeat || isInDoubt(result);
  const [head] = claim.deliveries;
  const tries = claim.deliveries.map((delivery) => retryAtOf(stays ? head : delivery, { result, now }));
  const retryAt = Math.min(...tries.filter((at) => at !== null));
  const stateOf = unsaidStates(sent);
  return claim.deliveries.map(({ id }, index) => ({
    deliveryId: id,
    claimedBy: claim.claimedBy,
    outcome: tries[index] === null ? (stateOf.get(id) ?? "dead") : { retryAt },
    unbinds: !stays,
    answer: answerOf(result),
    reason: clean(result.reason, DELIVERY_ERROR_LENGTH_MAX),
  }));
}

function retryAtOf(
  { kind, attemptCount, createdAt, heldUntilAt }: Delivery,
  { result, now }: { result: FailedResult; now: Instant },
): Instant | null {
  // A test is not retried: the user is waiting for the result.
  if (result.permanent || kind === "test") return null;
  // The time during which a rule held it does not count.
  const dueAt = Math.max(createdAt, heldUntilAt ?? createdAt);
  return nextTryAt({ attempt: attemptCount, createdAt: dueAt, now, retryAfterMs: result.retryAfterMs });
}

/** States of the deliveries that are in the claim but not in the message. */
function unsaidStates({ prepared }: Sent): Map<number, SettledState> {
  const { included, skipped } = prepared.parts;
  return new Map(
    prepared.claim.deliveries
      .filter(({ id }) => !included.includes(id))
      .map(({ id }) => [id, skipped.includes(id) ? "skipped" : "withdrawn"]),
  );
}

function answerOf({ summary, code, excerpt }: SendResult): Settlement["answer"] {
  return {
    summary: clean(summary, DELIVERY_ERROR_LENGTH_MAX),
    code,
    excerpt: excerpt === null ? null : clean(excerpt, RESPONSE_EXCERPT_LENGTH_MAX),
  };
}

/** Makes an answer storable: the database accepts neither NUL nor half a surrogate pair. */
function clean(text: string, lengthMax: number): string {
  const characters = Array.from(
    text
      .slice(0, 2 * lengthMax)
      .replaceAll("\0", "")
      .toWellFormed(),
  );
  return characters.slice(0, lengthMax).join("");
}

/** Deliveries behind a message that may have to be repeated wait with it, and continue when it is settled. */
function deferredBehind(
  claim: Claim,
  settlements: readonly Settlement[],
): { checkId: number; channelId: number; untilAt: Instant | null }[] {
  const { checkId, channelId } = claim.deliveries[0];
  if (checkId === null) return [];
  const [{ outcome, unbinds } = { outcome: "withdrawn", unbinds: false }] = settlements;
  if (typeof outcome !== "string" && "heldUntil" in outcome) return [];
  if (typeof outcome !== "string") return unbinds ? [] : [{ checkId, channelId, untilAt: outcome.retryAt }];
  return claim.isRepeat ? [{ checkId, channelId, untilAt: null }] : [];
}

/** Updates the health of channels; returns those that were disabled, with the reason. */
async function noteChannels(
  tx: Tx,
  sent: readonly Sent[],
  now: Instant,
): Promise<Map<number, { channel: Channel; reason: string }>> {
  const disabled = new Map<number, { channel: Channel; reason: string }>();
  if (sent.length === 0) return disabled;
  const byChannel = Map.groupBy(sent, ({ prepared }) => prepared.channel.id);
  const sendings: Sending[] = [];
  for (const channel of await lockChannels(tx, [...byChannel.keys()])) {
    const mine = byChannel.get(channel.id) ?? [];
    const { sending, disabledReason } = sumUp(channel, mine, now);
    sendings.push(sending);
    for (const { prepared, result } of mine) {
      if (result.kind !== "sent" || result.config === undefined) continue;
      await replaceConfig(tx, {
        channelId: channel.id,
        before: prepared.channel.config,
        after: result.config,
      });
    }
    if (disabledReason === null) continue;
    const reason = clean(disabledReason, DELIVERY_ERROR_LENGTH_MAX);
    if (await disableFailingChannel(tx, { channelId: channel.id, reason, at: now })) {
      disabled.set(channel.id, { channel, reason });
    }
  }
  await noteSendings(tx, { sendings, at: now });
  return disabled;
}

function sumUp(
  channel: Channel,
  sent: readonly Sent[],
  now: Instant,
): { sending: Sending; disabledReason: string | null } {
  let { failureCount } = channel;
  let holdUntilAt: Instant | null = null;
  let disabledReason: string | null = null;
  for (const { prepared, result } of sent) {
    // A test does not change the health of the channel.
    if (prepared.message.kind === "test") continue;
    const change = healthAfter(result, { failureCount, now });
    failureCount = change.failureCount;
    holdUntilAt = change.holdUntilAt ?? holdUntilAt;
    disabledReason ??= change.disabledReason;
  }
  const last = sent.at(-1);
  const error = last?.result.kind === "failed" ? clean(last.result.reason, DELIVERY_ERROR_LENGTH_MAX) : null;
  const durationMs = Math.max(0, last?.durationMs ?? 0);
  return {
    sending: { channelId: channel.id, durationMs, error, failureCount, holdUntilAt },
    disabledReason,
  };
}

function toSettled(
  { one, settlements }: { one: Ended; settlements: readonly Settlement[] },
  at: { isHeld: boolean; disabled: ReadonlyMap<number, { channel: Channel; reason: string }>; now: Instant },
): Settled {
  const { claim } = one.prepared;
  const failure = "result" in one && one.result.kind === "failed" ? one.result.reason : null;
  if (!at.isHeld) return { claim, outcomes: null, waitedMs: [], failure, disabled: null };
  const outcomes = settlements.map(({ deliveryId, outcome }): [number, SettledState | "retry"] => [
    deliveryId,
    typeof outcome === "string" ? outcome : "retry",
  ]);
  const isSent = "result" in one && one.result.kind === "sent";
  const disabled = at.disabled.get(claim.channelId);
  const isCause = "result" in one && one.result.kind === "failed" && one.result.permanent;
  return {
    claim,
    outcomes: new Map(outcomes),
    waitedMs: isSent ? one.prepared.includedFlips.map((flip) => Math.max(0, at.now - flip.at)) : [],
    failure,
    disabled:
      disabled === undefined || !isCause
        ? null
        : {
            channelId: claim.channelId,
            uuid: disabled.channel.uuid,
            kind: disabled.channel.kind,
            reason: disabled.reason,
          },
  };
}

/** The delivery log of a channel, or of the members of a group, newest first. Throws AppError `not_found`. */
export async function listDeliveries(
  db: Db,
  { from, limit, ...name }: ChannelName & PageRequest,
): Promise<Page<LoggedDelivery>> {
  const channel = await getChannel(db, name);
  const channelIds = channel.kind === GROUP ? await memberIds(db, channel) : [channel.id];
  const page = { channelIds, beforeId: from, limit: limit + 1 };
  return pageOf(await listLoggedDeliveries(db, page), limit);
}

async function memberIds(db: Db, group: ManagedChannel): Promise<number[]> {
  const members = membersOf(group);
  const channels = await listChannels(db, group.projectId);
  return channels.filter(({ uuid }) => members.includes(uuid)).map(({ id }) => id);
}

export type DeliveryName = { projectId: number; deliveryId: number };

/** One delivery of a project. Throws AppError `not_found`. */
export async function getDelivery(db: Db, { projectId, deliveryId }: DeliveryName): Promise<LoggedDelivery> {
  const [delivery] = await findLoggedDeliveries(db, { projectId, deliveryIds: [deliveryId] });
  if (delivery === undefined) throw new AppError("not_found", "Delivery not found.");
  return delivery;
}

/**
 * Plans a test message to a channel, or to each member of a group, even if disabled. The notifier sends it
 * within seconds; `getDelivery` returns the result. AppError `not_found`, `rate_limited`, and `conflict` for
 * a group without members.
 */
export function testChannel(
  database: Database,
  { projectId, uuid, by, at }: ChannelName & Changing,
): Promise<LoggedDelivery[]> {
  return inRetriedTransaction(database, async (tx) => {
    const channel = await getChannel(tx, { projectId, uuid });
    const deliveryIds = await planTest(tx, { channelId: channel.id, at });
    if (deliveryIds.length === 0) throw new AppError("conflict", "The group has no members.");
    const planned = await findLoggedDeliveries(tx, { projectId, deliveryIds });
    const channelIds = planned.map(({ channelId }) => channelId);
    const recent = await countRecentTests(tx, { channelIds, after: at - MINUTE_MS });
    if (recent > CHANNEL_TESTS_PER_MINUTE) {
      const text = `You can send at most ${CHANNEL_TESTS_PER_MINUTE} test notifications per minute to a channel.`;
      throw new AppError("rate_limited", text);
    }
    const { name, kind } = channel;
    const subject = name === "" ? kind : name;
    await audit(tx, { ...by, projectId, what: "channel.tested", subject, before: null, after: { uuid }, at });
    return planned;
  });
}

/**
 * Retries a delivery that is pending or was given up. AppError `not_found`; `conflict` if it has another
 * state, is being sent, or its channel is disabled.
 */
export function retryDelivery(
  database: Database,
  { projectId, deliveryId }: DeliveryName & { at: Instant },
): Promise<LoggedDelivery> {
  return inRetriedTransaction(database, async (tx) => {
    const { state, kind, groupId, channelId } = await getDelivery(tx, { projectId, deliveryId });
    if (state !== "pending" && state !== "dead")
      throw new AppError("conflict", `The delivery cannot be retried: its state is ${state}.`);
    const channel = await findChannelById(tx, channelId);
    if (channel?.disabledAt !== null && kind !== "test" && groupId === null) {
      throw new AppError("conflict", "The channel is disabled. Enable it first.");
    }
    if (!(await reopenDelivery(tx, { deliveryId, channelId }))) {
      throw new AppError("conflict", "The delivery is being sent.");
    }
    return getDelivery(tx, { projectId, deliveryId });
  });
}

/**
 * Notes in the delivery log that a receiver could not deliver a message that it had accepted. Nothing is sent again.
 * "pending": the message is still being settled; try again shortly.
 */
export function noteFailedDelivery(
  database: Database,
  { reason, ...message }: { channelUuid: string; dedupeKey: string; reason: string },
): Promise<SettledState | "pending" | null> {
  return inRetriedTransaction(database, (tx) =>
    noteReport(tx, { ...message, reason: clean(reason, DELIVERY_ERROR_LENGTH_MAX) }),
  );
}
