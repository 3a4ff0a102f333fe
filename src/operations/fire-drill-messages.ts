// Records what the channels of a fire drill got, in the transaction that settles the message.
import type { MessageOutcome } from "../core/fire-drill.ts";
import type { Instant } from "../core/instant.ts";
import { findChannelById } from "../store/channels.ts";
import type { Settlement } from "../store/deliveries.ts";
import { findDrillsOfChecks, writeDrillClosing, writeDrillMessage } from "../store/fire-drills.ts";
import { findFlips } from "../store/flips.ts";
import type { Tx } from "../store/transaction.ts";
import type { Ended } from "./prepare-messages.ts";

type Settling = { one: Ended; settlements: readonly Settlement[] };

/** Records the messages of fire drills among those that are settled. */
export async function recordDrillMessages(
  tx: Tx,
  settling: readonly Settling[],
  now: Instant,
): Promise<void> {
  for (const one of settling) {
    if (one.one.prepared.claim.deliveries[0].fireDrill !== null) await recordOne(tx, one, now);
  }
}

async function recordOne(tx: Tx, { one, settlements }: Settling, now: Instant): Promise<void> {
  const { claim } = one.prepared;
  const last = claim.deliveries.at(-1) ?? claim.deliveries[0];
  const { record = null } = one;
  const [drill] = await findDrillsOfChecks(tx, [last.checkId ?? 0]);
  const channel = record?.channel ?? (await findChannelById(tx, claim.channelId));
  // The drill was removed meanwhile, or the channel.
  if (drill === undefined || channel === null) return;
  const { outcome, reason } = outcomeOf({ one, settlements, isSent: drill.isSent });
  const { drillId } = drill;
  const [flip] = await findFlips(tx, [last.flipId ?? 0]);
  if (flip?.to === "up") {
    const at = record?.answeredAt ?? now;
    await writeDrillClosing(tx, { drillId, channelId: channel.id, at, outcome, reason });
    return;
  }
  const sent = record?.sent ?? null;
  const { id, uuid, kind, name } = channel;
  await writeDrillMessage(tx, {
    drillId,
    channel: { id, uuid, kind, name },
    claimedAt: last.attemptedAt,
    renderedAt: sent?.renderedAt ?? record?.answeredAt ?? null,
    answeredAt: drill.isSent ? (record?.answeredAt ?? null) : null,
    outcome,
    reason,
    code: "result" in one ? one.result.code : null,
    title: sent?.title ?? null,
    body: sent?.text ?? null,
    requests: (sent?.requests ?? []).map(({ method, url, body }) => ({ method, url, body })),
  });
}

function outcomeOf({ one, settlements, isSent }: Settling & { isSent: boolean }): {
  outcome: MessageOutcome;
  reason: string | null;
} {
  const [first] = settlements;
  const reason = first?.reason ?? null;
  if (!isSent && one.record !== undefined) {
    const failure = one.record.sent?.failure ?? null;
    return failure === null ? { outcome: "notSent", reason } : { outcome: "failed", reason: failure };
  }
  if ("result" in one && one.result.kind === "sent") return { outcome: "sent", reason: null };
  if (first === undefined || typeof first.outcome !== "string") return { outcome: "retrying", reason };
  if (first.outcome === "sent" || first.outcome === "merged") return { outcome: "sent", reason: null };
  return { outcome: first.outcome === "dead" ? "failed" : "skipped", reason };
}
