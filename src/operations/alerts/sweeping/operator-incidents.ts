// Watches over the installation itself: reads what is the matter, and tells whoever runs it, once for each trouble and
// once when it is over, however many processes watch. What is worth telling is decided in core.
import {
  changesOf,
  DELIVERY_STUCK_MS,
  LOSS_TOLD_MS,
  type Observed,
  operatorMessage,
  type Trouble,
} from "../../../core/alerts/operator.ts";
import type { OperatorMessage } from "../../../core/alerts/message.ts";
import type { Instant } from "../../../core/instant.ts";
import { settlingOf } from "../../../core/machine/watermark.ts";
import { SPOOL_FILL_TOLD } from "../../../core/limits.ts";
import { type Channel, findChannelByUuid } from "../../../store/alerts/channels.ts";
import {
  beginIncident,
  endIncident,
  findDueDelivery,
  listIncidents,
  seeIncident,
} from "../../../store/alerts/incidents.ts";
import { insertSayings } from "../../../store/alerts/planning.ts";
import { findChecksByIds } from "../../../store/checks/checks.ts";
import { forgetPoisoned, listDueChecks, listPoisonedChecks } from "../../../store/checks/sweeping.ts";
import type { Database, Db } from "../../../store/db.ts";
import { listBlindByReason } from "../../../store/intakes/blind-intervals.ts";
import { listFilledSpools, listLostIntakes } from "../../../store/intakes/intakes.ts";
import { countRejectedSignals } from "../../../store/intakes/rejected-signals.ts";
import { inTransaction, type Tx } from "../../../store/transaction.ts";
import { type IntakeLook, LOST_COMMITS } from "../../intake-beat.ts";

/** How many of a kind are read. */
const OBSERVED_MAX = 100;

/** What a process knows by itself of those who are due. */
export type OwnView = {
  look: IntakeLook;
  unsettledSinceAt: Instant | null;
  /** Since when checks have been due and held by somebody else. */
  locked: ReadonlyMap<number, Instant>;
  /** The channel that health problems are sent to; null: it is not set, or not this process's business. */
  channelUuid: string | null;
};

/** Reads what is the matter with the installation. */
export async function observeInstallation(
  database: Db,
  { look, unsettledSinceAt, locked, channelUuid }: OwnView,
): Promise<Observed> {
  const { now } = look;
  const lostSince = { from: now - LOSS_TOLD_MS, limit: OBSERVED_MAX };
  const [spools, lost, lostCommits, aside, [due], deliveryDueAt, channel, quarantine] = await Promise.all([
    listFilledSpools(database, { fillMin: SPOOL_FILL_TOLD, limit: OBSERVED_MAX }),
    listLostIntakes(database, lostSince),
    listBlindByReason(database, { reason: LOST_COMMITS, since: now - LOSS_TOLD_MS, limit: OBSERVED_MAX }),
    listPoisonedChecks(database, OBSERVED_MAX),
    listDueChecks(database, { through: now, limit: 1 }),
    findDueDelivery(database, { now, toldBefore: now - DELIVERY_STUCK_MS }),
    channelUuid === null ? null : findChannelByUuid(database, channelUuid),
    countRejectedSignals(database),
  ]);
  const poisoned = aside.filter(({ untilAt }) => untilAt > now);
  const heldIds = [...locked.keys()].slice(0, OBSERVED_MAX);
  const names = await namesOf(database, [...poisoned.map(({ checkId }) => checkId), ...heldIds]);
  return {
    now,
    watermarkAt: look.sight.watermarkAt,
    holderName: look.holder?.name ?? null,
    newestBeatAt: look.lastBeatAt,
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
  };
}

function stateOf(channel: Channel | null): "enabled" | "disabled" | "missing" {
  if (channel === null) return "missing";
  return channel.disabledAt === null ? "enabled" : "disabled";
}

/** What the operator can find a check by. */
async function namesOf(db: Db, checkIds: readonly number[]): Promise<(id: number) => string> {
  const checks = checkIds.length === 0 ? [] : await findChecksByIds(db, [...new Set(checkIds)]);
  const byId = new Map(
    checks.map(({ id, uuid, settings }) => [id, settings.name === "" ? uuid : settings.name]),
  );
  return (id) => byId.get(id) ?? `number ${id}`;
}

export type Telling = {
  troubles: readonly Trouble[];
  now: Instant;
  /** The channel that messages go to; null: they are only logged. */
  channelUuid: string | null;
};

/** Notes what has begun and what is over, and owes the messages about it; returns those that are this process's to log. */
export function tellOperator(database: Database, telling: Telling): Promise<OperatorMessage[]> {
  const { troubles, now } = telling;
  return inTransaction(database, async (tx) => {
    const { begun, lasting, over } = changesOf(await listIncidents(tx), { troubles, now });
    const messages: OperatorMessage[] = [];
    for (const trouble of begun) {
      if (await beginIncident(tx, { ...trouble, seenAt: now })) {
        messages.push(operatorMessage(trouble, { at: now, isOver: false }));
      }
    }
    for (const incident of lasting) await seeIncident(tx, { ...incident, seenAt: now });
    for (const incident of over) {
      if (await endIncident(tx, incident))
        messages.push(operatorMessage(incident, { at: now, isOver: true }));
    }
    await forgetPoisoned(tx, { through: now });
    await planMessages(tx, messages, telling);
    return messages;
  });
}

async function planMessages(
  tx: Tx,
  messages: readonly OperatorMessage[],
  { channelUuid, now }: Telling,
): Promise<void> {
  if (channelUuid === null || messages.length === 0) return;
  const channel = await findChannelByUuid(tx, channelUuid);
  if (channel === null) return;
  const sayings = messages.map((about) => ({ channelId: channel.id, kind: "operator" as const, about }));
  await insertSayings(tx, { sayings, at: now });
}
