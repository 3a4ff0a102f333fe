// Health problems of the server: reads them, and notifies the admin once when a problem begins and once when
// it is over, however many processes check. The rules are in core/server-health.ts.
import type { SendResult } from "../core/delivery.ts";
import type { Instant } from "../core/instant.ts";
import { DELIVERY_ERROR_LENGTH_MAX, SPOOL_FILL_REPORTED } from "../core/limits.ts";
import type { AdminMessage } from "../core/message.ts";
import {
  adminMessage,
  changesOf,
  DELIVERY_STUCK_MS,
  type HealthProblem,
  LOSS_REPORTED_MS,
  type Observed,
  REFUSAL_REPORTED_MS,
} from "../core/server-health.ts";
import { settlingOf } from "../core/watermark.ts";
import { type Channel, findChannelByUuid } from "../store/channels.ts";
import {
  findChecksByIds,
  listDueChecks,
  listQuarantinedChecks,
  releaseQuarantinedChecks,
} from "../store/checks.ts";
import type { Database, Db } from "../store/db.ts";
import { insertMessages } from "../store/planning.ts";
import {
  beginIncident,
  endIncident,
  findDueDelivery,
  listIncidents,
  seeIncident,
} from "../store/instance.ts";
import { listBlindByReasons, listFilledSpools, listLostIntakes } from "../store/intakes.ts";
import { listLogPartitions } from "../store/log-partitions.ts";
import { clearRefusals, listRefusals, noteRefusals } from "../store/provider-refusals.ts";
import { countRejectedSignals } from "../store/quarantine.ts";
import { inTransaction, type Tx } from "../store/transaction.ts";
import { LOST_BY_LOG, unappliedSince } from "../core/log.ts";
import { type IntakesView, LOST_COMMITS } from "./intakes.ts";

/** How many of a kind are read. */
const OBSERVED_MAX = 100;

/** What a sweeper process knows. */
export type OwnView = {
  look: IntakesView;
  unsettledSinceAt: Instant | null;
  /** Since when due checks have been locked by other transactions. */
  locked: ReadonlyMap<number, Instant>;
  /** The admin channel; null: not set, or not handled by this process. */
  channelUuid: string | null;
};

/** Reads the state of the server. */
export async function observeServer(
  database: Db,
  { look, unsettledSinceAt, locked, channelUuid }: OwnView,
): Promise<Observed> {
  const { now } = look;
  const lostSince = { from: now - LOSS_REPORTED_MS, limit: OBSERVED_MAX };
  const [
    spools,
    lost,
    lostCommits,
    quarantinedChecks,
    [due],
    deliveryDueAt,
    channel,
    quarantine,
    refusals,
    partitions,
  ] = await Promise.all([
    listFilledSpools(database, { fillMin: SPOOL_FILL_REPORTED, limit: OBSERVED_MAX }),
    listLostIntakes(database, lostSince),
    listBlindByReasons(database, {
      reasons: [LOST_COMMITS, LOST_BY_LOG],
      since: now - LOSS_REPORTED_MS,
      limit: OBSERVED_MAX,
    }),
    listQuarantinedChecks(database, OBSERVED_MAX),
    listDueChecks(database, { through: now, limit: 1 }),
    findDueDelivery(database, { now, notifiedBefore: now - DELIVERY_STUCK_MS }),
    channelUuid === null ? null : findChannelByUuid(database, channelUuid),
    countRejectedSignals(database),
    listRefusals(database, { from: now - REFUSAL_REPORTED_MS }),
    listLogPartitions(database),
  ]);
  const poisoned = quarantinedChecks.filter(({ untilAt }) => untilAt > now);
  const heldIds = [...locked.keys()].slice(0, OBSERVED_MAX);
  const names = await namesOf(database, [...poisoned.map(({ checkId }) => checkId), ...heldIds]);
  return {
    now,
    watermarkAt: look.visibility.watermarkAt,
    holderName: look.holder?.name ?? null,
    newestHeartbeatAt: look.lastHeartbeatAt,
    unsettledSinceAt,
    sweepDueAt: due?.sweepAt ?? null,
    freshSinceAt: settlingOf(look).freshSinceAt,
    spools,
    lost,
    lostCommits,
    deliveryDueAt,
    locked: heldIds.map((id) => ({ name: names(id), since: locked.get(id) ?? now })),
    poisoned: poisoned.map(({ checkId, sinceAt, reason }) => ({
      name: names(checkId),
      since: sinceAt,
      reason,
    })),
    adminChannel: channelUuid === null ? null : { uuid: channelUuid, state: stateOf(channel) },
    quarantined:
      quarantine.count === 0 ? null : { count: quarantine.count, since: quarantine.oldestAt ?? now },
    refusals,
    stopped: partitions.flatMap(({ partition, stopped }) =>
      stopped === null ? [] : [{ partition, reason: stopped }],
    ),
    unappliedSinceAt: unappliedSince(partitions),
  };
}

function stateOf(channel: Channel | null): "enabled" | "disabled" | "missing" {
  if (channel === null) return "missing";
  return channel.disabledAt === null ? "enabled" : "disabled";
}

/** Names of checks for the admin. */
async function namesOf(db: Db, checkIds: readonly number[]): Promise<(id: number) => string> {
  const checks = checkIds.length === 0 ? [] : await findChecksByIds(db, [...new Set(checkIds)]);
  const byId = new Map(
    checks.map(({ id, uuid, settings }) => [id, settings.name === "" ? uuid : settings.name]),
  );
  return (id) => byId.get(id) ?? `number ${id}`;
}

/** Notes for which kinds of channels the key of the server is refused, and for which it is accepted. */
export async function noteProviderAnswers(
  tx: Tx,
  { answers, at }: { answers: readonly { kind: string; result: SendResult }[]; at: Instant },
): Promise<void> {
  const accepted = answers
    .filter(({ result }) => result.kind === "sent" && result.isOurs === true)
    .map(({ kind }) => kind);
  const refusals = new Map(
    answers.flatMap(({ kind, result }) =>
      result.kind === "failed" && result.isOurs === true ? [[kind, result.reason] as const] : [],
    ),
  );
  if (accepted.length > 0) await clearRefusals(tx, [...new Set(accepted)]);
  if (refusals.size === 0) return;
  const noted = [...refusals].map(([kind, reason]) => ({
    kind,
    reason: reason.slice(0, DELIVERY_ERROR_LENGTH_MAX),
  }));
  await noteRefusals(tx, { refusals: noted, at, after: at - REFUSAL_REPORTED_MS });
}

export type AdminNotification = {
  problems: readonly HealthProblem[];
  now: Instant;
  /** The channel that messages go to; null: they are only logged. */
  channelUuid: string | null;
};

/**
 * Stores which problems have begun and ended, and plans the messages; returns those that this process should
 * log.
 */
export function notifyAdmin(database: Database, notification: AdminNotification): Promise<AdminMessage[]> {
  const { problems, now } = notification;
  return inTransaction(database, async (tx) => {
    const { begun, lasting, over } = changesOf(await listIncidents(tx), { problems, now });
    const messages: AdminMessage[] = [];
    for (const problem of begun) {
      if (await beginIncident(tx, { ...problem, seenAt: now })) {
        messages.push(adminMessage(problem, { at: now, isOver: false }));
      }
    }
    for (const incident of lasting) await seeIncident(tx, { ...incident, seenAt: now });
    for (const incident of over) {
      if (await endIncident(tx, incident)) messages.push(adminMessage(incident, { at: now, isOver: true }));
    }
    await releaseQuarantinedChecks(tx, { through: now });
    await planMessages(tx, messages, notification);
    return messages;
  });
}

async function planMessages(
  tx: Tx,
  messages: readonly AdminMessage[],
  { channelUuid, now }: AdminNotification,
): Promise<void> {
  if (channelUuid === null || messages.length === 0) return;
  const channel = await findChannelByUuid(tx, channelUuid);
  if (channel === null) return;
  const planned = messages.map((about) => ({ channelId: channel.id, kind: "operator" as const, about }));
  await insertMessages(tx, { messages: planned, at: now });
}
