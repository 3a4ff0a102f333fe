// Writes down how messages fared, many in one transaction: the deliveries, what follows for their channels, and that
// a channel was given up. A claim that has been lost meanwhile changes nothing.
import { nextTryAt } from "../../core/alerts/backoff.ts";
import { healthAfter } from "../../core/alerts/channel-health.ts";
import { type FailedResult, isInDoubt, type SendResult } from "../../core/alerts/sending.ts";
import type { Instant } from "../../core/instant.ts";
import { DELIVERY_ERROR_LENGTH_MAX, RESPONSE_EXCERPT_LENGTH_MAX } from "../../core/limits.ts";
import {
  type Channel,
  lockChannels,
  noteSendings,
  replaceConfig,
  type Sending,
} from "../../store/alerts/channels.ts";
import { postponeNews, settleClaimed, type Settlement } from "../../store/alerts/claims.ts";
import type { Delivery, SettledState } from "../../store/alerts/deliveries.ts";
import type { Database } from "../../store/db.ts";
import type { Tx } from "../../store/transaction.ts";
import { inRetriedTransaction } from "../changing/retried.ts";
import type { Claim } from "./claim-deliveries.ts";
import { giveUpChannel } from "./give-up-channel.ts";
import type { Prepared } from "./prepare-messages.ts";

/** A message that was sent, or of which nothing had to be said. */
export type Ended =
  | { prepared: Extract<Prepared, { kind: "send" }>; result: SendResult; durationMs: number }
  | { prepared: Extract<Prepared, { kind: "settle" }> };

export type Settled = {
  claim: Claim;
  /** How each of its deliveries ended, or "retry". Null: the claim had been lost, and it is somebody else's. */
  outcomes: ReadonlyMap<number, SettledState | "retry"> | null;
  /** From each flip that the receiver has now been told of until now. */
  waitedMs: readonly number[];
  /** Why it could not be sent; null when it was, or when nothing was to be said. */
  failure: string | null;
  /** The channel that was disabled because of it. */
  disabled: { channelId: number; uuid: string; kind: string; reason: string } | null;
};

/** Settles messages; in the same order. Tried again where others were in the way; a commit in doubt is thrown on. */
export function settleClaims(
  database: Database,
  ended: readonly Ended[],
  { now }: { now: Instant },
): Promise<Settled[]> {
  return inRetriedTransaction(database, (tx) => settle(tx, ended, now));
}

async function settle(tx: Tx, ended: readonly Ended[], now: Instant): Promise<Settled[]> {
  const verdicts = ended.map((one) => ({ one, settlements: settlementsOf(one, now) }));
  const settlements = verdicts.flatMap((verdict) => verdict.settlements);
  const held = await settleClaimed(tx, { settlements, at: now });
  const mine = verdicts.filter((verdict) =>
    verdict.settlements.some(({ deliveryId }) => held.has(deliveryId)),
  );
  const pairs = mine.flatMap(({ one, settlements: parts }) => newsBehind(one.prepared.claim, parts));
  if (pairs.length > 0) await postponeNews(tx, pairs);
  const disabled = await noteChannels(
    tx,
    mine.flatMap(({ one }) => ("result" in one ? [one] : [])),
    now,
  );
  return verdicts.map((verdict) => toSettled(verdict, { isHeld: mine.includes(verdict), disabled, now }));
}

type Sent = Extract<Ended, { result: SendResult }>;

function settlementsOf(ended: Ended, now: Instant): Settlement[] {
  const { claim } = ended.prepared;
  if (!("result" in ended)) {
    const { states, reason } = ended.prepared;
    return claim.deliveries.map(({ id }) => ({
      deliveryId: id,
      claimedBy: claim.claimedBy,
      outcome: states.get(id) ?? "withdrawn",
      unbinds: false,
      answer: null,
      reason,
    }));
  }
  return ended.result.kind === "sent"
    ? afterSuccess(ended)
    : afterFailure(ended, { result: ended.result, now });
}

function afterSuccess(sent: Sent): Settlement[] {
  const { claim, sentence } = sent.prepared;
  const last = sentence.told.at(-1);
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
 * Nothing is settled yet unless it is given up. A message in doubt stays as it is, as one; otherwise each delivery
 * is given up by its own age, and the next try may say more.
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
  { kind, attemptCount, createdAt }: Delivery,
  { result, now }: { result: FailedResult; now: Instant },
): Instant | null {
  // Whoever pressed the button is waiting for the answer, and not for another try.
  if (result.permanent || kind === "test") return null;
  return nextTryAt({ attempt: attemptCount, createdAt, now, retryAfterMs: result.retryAfterMs });
}

/** What is part of the claim, but not of the message. */
function unsaidStates({ prepared }: Sent): Map<number, SettledState> {
  const { told, skipped } = prepared.sentence;
  return new Map(
    prepared.claim.deliveries
      .filter(({ id }) => !told.includes(id))
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

/** A receiver may answer with anything; the database takes text. */
function clean(text: string, lengthMax: number): string {
  const characters = Array.from(
    text
      .slice(0, 2 * lengthMax)
      .replaceAll("\0", "")
      .toWellFormed(),
  );
  return characters.slice(0, lengthMax).join("");
}

/** What stands behind a message that may have to be repeated waits with it, and goes on when it is settled. */
function newsBehind(
  claim: Claim,
  settlements: readonly Settlement[],
): { checkId: number; channelId: number; untilAt: Instant | null }[] {
  const { checkId, channelId } = claim.deliveries[0];
  if (checkId === null) return [];
  const [{ outcome, unbinds } = { outcome: "withdrawn", unbinds: false }] = settlements;
  if (typeof outcome !== "string") return unbinds ? [] : [{ checkId, channelId, untilAt: outcome.retryAt }];
  return claim.isRepeat ? [{ checkId, channelId, untilAt: null }] : [];
}

/** Notes how the last messages went; returns why channels were disabled, by their ids. */
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
    if (await giveUpChannel(tx, { channelId: channel.id, reason, at: now })) {
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
    // A test speaks to whoever pressed the button, and says nothing about the channel.
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
    waitedMs: isSent ? one.prepared.toldFlips.map((flip) => Math.max(0, at.now - flip.at)) : [],
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
