// The planner: turns alerts into incidents and deliveries, or holds them. It runs in the loop of the notifier. One
// planner works at a time; if it dies, the alerts are still unplanned.
import { splitTags } from "../core/identity.ts";
import { higherSeverity, reopen, type Severity } from "../core/incident.ts";
import { HOUR_MS, type Instant, SECOND_MS } from "../core/instant.ts";
import {
  type Decision,
  groupDueAt,
  groupKeyOf,
  isGroupable,
  type Parent,
  planAlert,
  severityOf,
} from "../core/plan.ts";
import { DEFAULT_POLICY, type EffectivePolicy, routedChannels } from "../core/policy.ts";
import { DELIVERY_LEASE_MS } from "../core/limits.ts";
import { dueAfter } from "../core/run.ts";
import { graceMs, mayBeLate, type Timing } from "../core/state.ts";
import {
  claimAlerts,
  hasUnplannedAlerts,
  type HeldAlert,
  holdAlerts,
  lockPlanner,
  markPlanned,
  type PlannedAlert,
  postponeAlert,
  type UnplannedAlert,
} from "../store/alerts.ts";
import { findTimings } from "../store/checks.ts";
import type { Database } from "../store/db.ts";
import { insertIncidentEvents, type NewIncidentEvent } from "../store/incidents.ts";
import { findLastPings } from "../store/pings.ts";
import {
  addToDeliveries,
  type AlertNews,
  findIncidentsByKey,
  findLastIncidents,
  type GroupQueue,
  hastenGroups,
  insertAlertDeliveries,
  insertGroupDeliveries,
  insertIncidents,
  type LastIncident,
  type ListedAlert,
  type ListedOpening,
  listOpenings,
  listOverIncidents,
  listParents,
  listQueuedChecks,
  listRecipients,
  lockGroupQueues,
  type NewGroupDelivery,
  type NewIncident,
  type ParentRow,
  raiseIncidents,
  removeOpenings,
  reopenIncidents,
  rescheduleGroups,
  resolveIncidents,
  retractAlertDeliveries,
  withdrawOpenings,
} from "../store/planning.ts";
import { reviewIncidents } from "../store/steps.ts";
import { inTransaction, type Tx } from "../store/transaction.ts";
import { silencesOf } from "./alert-silences.ts";
import { readPolicies } from "./rules.ts";

/** Alerts planned in one transaction. */
const ALERTS_MAX = 1_000;
/** Dependent checks wait this long at most for their next run after what they depend on has recovered. */
const AFTER_PARENT_MS_MAX = 10 * 60 * SECOND_MS;
/** A group message that waits for a parent is looked at again after this time. */
const PARENT_LOOK_MS = 60 * SECOND_MS;

/** Alerts planned one by one before others are tried together again. */
const ALONE_MAX = 50;
/** An alert that cannot be planned is tried again after this time. */
const FAILED_LOOK_MS = 10 * SECOND_MS;

export type PlanOptions = {
  now: Instant;
  /** Called for an alert that could not be planned; it is tried again later. If omitted, the error is thrown. */
  onFailure?: (error: unknown, alertId: number) => void;
};

/** Plans alerts that are due at `now`; returns how many. More may be due unless it is 0. */
export async function planAlerts(database: Database, { now, onFailure }: PlanOptions): Promise<number> {
  if (!(await hasUnplannedAlerts(database, now))) return 0;
  try {
    return await planSome(database, { now, limit: ALERTS_MAX });
  } catch (error) {
    if (onFailure === undefined) throw error;
    return planOneByOne(database, { now, onFailure });
  }
}

async function planSome(
  database: Database,
  { now, limit, onClaimed }: { now: Instant; limit: number; onClaimed?: (alertIds: number[]) => void },
): Promise<number> {
  return inTransaction(database, async (tx) => {
    if (!(await lockPlanner(tx))) return 0;
    const alerts = await claimAlerts(tx, { now, limit });
    onClaimed?.(alerts.map(({ id }) => id));
    return alerts.length === 0 ? 0 : plan(tx, alerts, now);
  });
}

/** So that one alert that cannot be planned does not stop the others. */
async function planOneByOne(database: Database, { now, onFailure }: Required<PlanOptions>): Promise<number> {
  for (let count = 0; count < ALONE_MAX; count += 1) {
    let claimed: number[] = [];
    const onClaimed = (alertIds: number[]) => {
      claimed = alertIds;
    };
    try {
      if ((await planSome(database, { now, limit: 1, onClaimed })) === 0) return count;
    } catch (error) {
      const [alertId] = claimed;
      // It is not the alert: the database does not answer.
      if (alertId === undefined) throw error;
      onFailure(error, alertId);
      const postponed = { alertId, until: now + FAILED_LOOK_MS };
      await inTransaction(database, (tx) => postponeAlert(tx, postponed));
    }
  }
  return ALONE_MAX;
}

/** Plans alerts and returns how many. Those that closed while a sender has the message about them wait for its result. */
async function plan(tx: Tx, alerts: readonly UnplannedAlert[], now: Instant): Promise<number> {
  const facts = await readFacts(tx, alerts, now);
  const decided = alerts.map((alert) => ({ alert, decision: decide(alert, facts) }));
  const all = await withOpenings(tx, await placeInIncidents(tx, decided, facts), now);
  const placed = all.filter(({ openings }) => openings.every(({ state }) => state !== "claimed"));
  if (placed.length === 0) return 0;
  await notifyEach(tx, placed, facts);
  await notifyGroups(tx, placed, facts);
  await writePlanned(tx, placed, facts);
  return placed.length;
}

/** What the rules need to know about the alerts. */
type Facts = {
  now: Instant;
  policyOf: (checkId: number) => EffectivePolicy;
  /** Channels by the tags of a check, in addition to those assigned. */
  addedChannelsOf: (checkId: number) => readonly number[];
  silenceOf: (alert: UnplannedAlert) => { silenceId: number; until: Instant } | null;
  parentsOf: (checkId: number) => readonly Parent[];
  lastIncidentOf: (checkId: number) => LastIncident | null;
  /** The address of the last ping before the alert. */
  sourceOf: (checkId: number) => string | null;
};

async function readFacts(tx: Tx, alerts: readonly UnplannedAlert[], now: Instant): Promise<Facts> {
  const checkIds = [...new Set(alerts.map(({ checkId }) => checkId))];
  const policies = await readPolicies(tx, checkIds);
  const policyOf = (checkId: number) => policies.get(checkId)?.effective ?? DEFAULT_POLICY;
  const addedChannelsOf = (checkId: number) => {
    const { tagRules = [], tags = [] } = policies.get(checkId) ?? {};
    return routedChannels({ assigned: [], tagRules, tags }).map(({ channel }) => channel);
  };
  const reopening = checkIds.filter((checkId) => policyOf(checkId).reopenWithin > 0);
  const lastIncidents =
    reopening.length === 0
      ? []
      : await findLastIncidents(tx, { checkIds: reopening, reopenedSince: now - HOUR_MS });
  const lastOf = new Map(lastIncidents.map((one) => [one.checkId, one]));
  return {
    now,
    policyOf,
    addedChannelsOf,
    silenceOf: await readSilences(tx, alerts, now),
    parentsOf: await readParents(tx, policies, now),
    lastIncidentOf: (checkId) => lastOf.get(checkId) ?? null,
    sourceOf: await readSources(tx, alerts, policyOf),
  };
}

async function readSilences(
  tx: Tx,
  alerts: readonly UnplannedAlert[],
  now: Instant,
): Promise<Facts["silenceOf"]> {
  const problems = alerts.flatMap(({ id, checkId, check, openedAt, closed }) =>
    check === null
      ? []
      : [{ id, checkId, openedAt, projectId: check.projectId, tags: check.tags, at: closed?.at ?? now }],
  );
  const held = await silencesOf(tx, problems);
  const byAlert = new Map(problems.map(({ id }, index) => [id, held[index] ?? null]));
  return ({ id }) => {
    const one = byAlert.get(id) ?? null;
    return one === null ? null : { silenceId: one.silence.id, until: one.until };
  };
}

async function readParents(
  tx: Tx,
  policies: ReadonlyMap<number, { parents: readonly { id: number }[] }>,
  now: Instant,
): Promise<Facts["parentsOf"]> {
  const ids = new Set([...policies.values()].flatMap(({ parents }) => parents.map(({ id }) => id)));
  if (ids.size === 0) return () => [];
  const rows = await listParents(tx, [...ids]);
  const timings = await findTimings(tx, [...ids]);
  const states = new Map(
    rows.map((row) => [row.checkId, toParent(row, { timing: timings.get(row.checkId) ?? null, now })]),
  );
  return (checkId) => policies.get(checkId)?.parents.flatMap(({ id }) => states.get(id) ?? []) ?? [];
}

function toParent(
  { status, downAt, problem, hasChannel, alert }: ParentRow,
  { timing, now }: { timing: Timing | null; now: Instant },
): Parent {
  const isDown = alert !== null && alert.incidentId !== null && alert.hasDelivery;
  const isLate = timing !== null && mayBeLate({ timing, state: { status }, downAt }, now);
  const isTolerated = status === "down" && problem === "tolerated";
  // An alert that is not planned yet is decided in this or the next turn.
  const isUnplanned = alert !== null && alert.incidentId === null && alert.heldBy === null;
  return {
    incidentId: isDown && !alert.isCombined ? alert.incidentId : null,
    // What was combined has no message of its own that its dependents could be part of.
    isHeld:
      (hasChannel && alert !== null && alert.incidentId === null && alert.heldBy !== null) ||
      (isDown && alert.isCombined),
    isUndecided: isLate || isTolerated || isUnplanned,
  };
}

async function readSources(
  tx: Tx,
  alerts: readonly UnplannedAlert[],
  policyOf: Facts["policyOf"],
): Promise<Facts["sourceOf"]> {
  const asked = alerts.filter(
    ({ checkId, cause }) => isGroupable(cause) && policyOf(checkId).groupBy.includes("source"),
  );
  if (asked.length === 0) return () => null;
  const pings = await findLastPings(
    tx,
    asked.map(({ checkId, openedAt }) => ({ checkId, at: openedAt })),
  );
  const addresses = new Map(pings.map(({ checkId, remoteAddr }) => [checkId, remoteAddr]));
  return (checkId) => addresses.get(checkId) ?? null;
}

function decide(alert: UnplannedAlert, facts: Facts): Decision {
  const { check, checkId, openedAt, closed, notifiedAt, heldBy } = alert;
  // Checks in the trash do not notify.
  if (check === null || check.isDeleted) return { kind: "drop" };
  const policy = facts.policyOf(checkId);
  const last = facts.lastIncidentOf(checkId);
  return planAlert(
    { openedAt, closed, isNotified: notifiedAt !== null, heldBy },
    {
      now: facts.now,
      silence: facts.silenceOf(alert),
      parents: facts.parentsOf(checkId),
      dependencyWaitMs: policy.dependencyWait * SECOND_MS,
      isFlapping: last !== null && isFlapping(last),
      hasNewerAlert: last !== null && last.alertId > alert.id,
      reopenWithinMs: policy.reopenWithin * SECOND_MS,
    },
  );
}

/** Not if the last recovery of the check itself was notified, before the incident began to flap. */
function isFlapping({ flappingAt, resolvedAt, closedAt }: LastIncident): boolean {
  return flappingAt !== null && resolvedAt === null && (closedAt === null || closedAt >= flappingAt);
}

type Decided = { alert: UnplannedAlert; decision: Decision };
/** An alert with its incident; null if it is part of none. */
type Placed = Decided & {
  incidentId: number | null;
  /** It is notified together with others. */
  isGrouped: boolean;
  /** The group messages that name it so far. */
  openings: readonly ListedOpening[];
};

/** Assigns alerts that are notified to incidents: that of a parent, their last one, one with the same key, or a new one. */
async function placeInIncidents(tx: Tx, decided: readonly Decided[], facts: Facts): Promise<Placed[]> {
  const places = decided.map((one) => placeOf(one, facts));
  const keyed = places.flatMap(({ at }) => (at.kind === "key" ? [at] : []));
  const known = keyed.length === 0 ? [] : await findIncidentsByKey(tx, keyed);
  const byKey = new Map(known.map(({ projectId, key, id }) => [`${projectId} ${key}`, id]));
  const created: (NewIncident & { slot: string })[] = [];
  for (const { at, alert } of places) {
    if (at.kind === "new") created.push({ ...newIncident(alert, facts), slot: `alert ${alert.id}` });
    if (at.kind !== "key") continue;
    const slot = `${at.projectId} ${at.key}`;
    if (byKey.has(slot)) continue;
    byKey.set(slot, 0);
    created.push({ ...newIncident(alert, facts), key: at.key, slot });
  }
  const ids = created.length === 0 ? [] : await insertIncidents(tx, created);
  const idOf = new Map(created.map(({ slot }, index) => [slot, ids[index] ?? 0]));
  const placed = places.map(({ at, alert, decision }): Placed => {
    const isGrouped = at.kind === "key" || decision.kind === "join";
    const slot = at.kind === "key" ? `${at.projectId} ${at.key}` : `alert ${alert.id}`;
    const incidentId = at.kind === "known" ? at.incidentId : (idOf.get(slot) ?? (byKey.get(slot) || null));
    return { alert, decision, incidentId, isGrouped, openings: [] };
  });
  await reopenAndRaise(tx, { places, placed, facts });
  return placed;
}

type Place = Decided & {
  at:
    | { kind: "none" }
    | { kind: "known"; incidentId: number; reopens: LastIncident | null }
    | { kind: "key"; projectId: number; key: string }
    | { kind: "new" };
};

function placeOf({ alert, decision }: Decided, facts: Facts): Place {
  const { checkId, check, cause, incidentId } = alert;
  const known = (id: number, reopens: LastIncident | null = null): Place => ({
    alert,
    decision,
    at: { kind: "known", incidentId: id, reopens },
  });
  if (incidentId !== null) return known(incidentId);
  if (decision.kind === "join") return known(decision.incidentId);
  if (decision.kind !== "notify" || check === null) return { alert, decision, at: { kind: "none" } };
  const policy = facts.policyOf(checkId);
  const last = facts.lastIncidentOf(checkId);
  if (last !== null && alert.openedAt - (last.resolvedAt ?? alert.openedAt) < policy.reopenWithin * SECOND_MS)
    return known(last.incidentId, last);
  const source = facts.sourceOf(checkId);
  const key = groupKeyOf(cause, { groupBy: policy.groupBy, tags: splitTags(check.tags), source });
  if (key !== null && alert.closed === null)
    return { alert, decision, at: { kind: "key", projectId: check.projectId, key } };
  return { alert, decision, at: { kind: "new" } };
}

function newIncident({ checkId, check, cause, openedAt }: UnplannedAlert, facts: Facts): NewIncident {
  const policy = facts.policyOf(checkId);
  return {
    projectId: check?.projectId ?? 0,
    openedAt,
    severity: severityOf(cause, policy),
    key: null,
    nextStepAt: policy.repeat === null ? null : facts.now + policy.repeat * SECOND_MS,
  };
}

async function reopenAndRaise(
  tx: Tx,
  { places, placed, facts }: { places: readonly Place[]; placed: readonly Placed[]; facts: Facts },
): Promise<void> {
  const reopenings = places.flatMap(({ at, alert }) =>
    at.kind === "known" && at.reopens !== null && at.reopens.resolvedAt !== null
      ? [{ alert, last: at.reopens }]
      : [],
  );
  if (reopenings.length > 0) {
    // Once, however many of its checks are down again.
    const reopened = [...Map.groupBy(reopenings, ({ last }) => last.incidentId).values()].flatMap((some) =>
      some.slice(0, 1),
    );
    const { now, policyOf } = facts;
    const openings = reopened.map(({ alert, last }) => {
      const { repeat } = policyOf(alert.checkId);
      return {
        incidentId: last.incidentId,
        flappingAt: flappingSince(last, now),
        nextStepAt: repeat === null ? null : now + repeat * SECOND_MS,
      };
    });
    await reopenIncidents(tx, openings);
    await insertIncidentEvents(
      tx,
      openings.flatMap(({ incidentId, flappingAt }): NewIncidentEvent[] => [
        { incidentId, at: now, kind: "reopened", by: null },
        ...(flappingAt === null ? [] : [{ incidentId, at: now, kind: "flapping" as const, by: null }]),
      ]),
    );
  }
  const raised = placed.flatMap(({ alert, incidentId, isGrouped, decision }) =>
    incidentId !== null && isGrouped && decision.kind !== "drop"
      ? [{ incidentId, severity: severityOf(alert.cause, facts.policyOf(alert.checkId)) }]
      : [],
  );
  if (raised.length > 0) {
    const raisedIds = await raiseIncidents(tx, highest(raised));
    await insertIncidentEvents(
      tx,
      raisedIds.map((incidentId) => ({ incidentId, at: facts.now, kind: "severityRaised", by: null })),
    );
  }
  const reminded = placed.flatMap(({ alert, incidentId, isGrouped, decision }) =>
    incidentId !== null &&
    isGrouped &&
    decision.kind !== "drop" &&
    facts.policyOf(alert.checkId).repeat !== null
      ? [incidentId]
      : [],
  );
  if (reminded.length > 0) await reviewIncidents(tx, [...new Set(reminded)]);
}

function flappingSince({ reopenedAts, resolvedAt }: LastIncident, now: Instant): Instant | null {
  const status = {
    state: "resolved",
    severity: "normal",
    acknowledged: null,
    resolvedAt,
    reopenCount: 0,
    flappingAt: null,
  } as const;
  return reopen(status, { at: now, reopenedAts }).flappingAt;
}

function highest(
  raised: readonly { incidentId: number; severity: Severity }[],
): { incidentId: number; severity: Severity }[] {
  const byIncident = new Map<number, Severity>();
  for (const { incidentId, severity } of raised) {
    byIncident.set(incidentId, higherSeverity(severity, byIncident.get(incidentId) ?? "low"));
  }
  return [...byIncident].map(([incidentId, severity]) => ({ incidentId, severity }));
}

/** Deliveries about one check each. */
async function notifyEach(tx: Tx, placed: readonly Placed[], facts: Facts): Promise<void> {
  const news: AlertNews[] = [];
  const takenBack: { alertId: number; flipId: number; incidentId: number | null }[] = [];
  const resolved: { alertId: number; flipId: number }[] = [];
  for (const { alert, decision, incidentId, isGrouped } of placed) {
    const { id: alertId, checkId, openedFlipId, closed } = alert;
    if (decision.kind === "correct") takenBack.push({ alertId, flipId: openedFlipId, incidentId });
    if (closed?.cause === "resolved") resolved.push({ alertId, flipId: openedFlipId });
    if (decision.kind !== "notify" || incidentId === null || isGrouped) continue;
    const about = { alertId, incidentId, checkId };
    if (decision.opening) news.push({ ...about, flipId: openedFlipId, isClosing: false });
    const closedFlipId = closed?.flipId ?? null;
    if (decision.closing && closedFlipId !== null)
      news.push({ ...about, flipId: closedFlipId, isClosing: true });
  }
  const added = news.flatMap(({ alertId, checkId }) =>
    facts.addedChannelsOf(checkId).map((channelId) => ({ alertId, channelId })),
  );
  if (news.length > 0) await insertAlertDeliveries(tx, { news, added, at: facts.now });
  if (resolved.length > 0) {
    await withdrawOpenings(tx, { alerts: resolved, at: facts.now, reason: "Resolved before it was sent" });
  }
  if (takenBack.length > 0) await retractAlertDeliveries(tx, { alerts: takenBack, at: facts.now });
}

/** Adds the group messages that name closed alerts. Those that are not sent yet are locked. */
async function withOpenings(tx: Tx, placed: readonly Placed[], now: Instant): Promise<Placed[]> {
  const closed = placed.filter(({ alert }) => alert.closed !== null && alert.notifiedAt !== null);
  if (closed.length === 0) return [...placed];
  await lockGroupQueues(tx, [...new Set(closed.flatMap(({ incidentId }) => incidentId ?? []))]);
  const openings = await listOpenings(tx, {
    alertIds: closed.map(({ alert }) => alert.id),
    // Some more time, so that the next sender can tell the result of one that has died.
    claimedAfter: now - DELIVERY_LEASE_MS,
  });
  const byAlert = Map.groupBy(openings, ({ alertId }) => alertId);
  return placed.map((one) => {
    const mine = byAlert.get(one.alert.id);
    return mine === undefined ? one : { ...one, isGrouped: true, openings: mine };
  });
}

/** A line of a group message to a channel. */
type GroupLine = {
  incidentId: number;
  channelId: number;
  groupId: number | null;
  alert: UnplannedAlert;
  change: ListedAlert["change"];
};

/** Deliveries about several checks: one message that is not being sent, for each incident and channel. */
async function notifyGroups(tx: Tx, placed: readonly Placed[], facts: Facts): Promise<void> {
  const lines = [...(await openingLines(tx, placed, facts)), ...closingLines(placed)];
  const over = placed.flatMap(({ alert, openings }) =>
    openings
      .filter(({ state }) => state === "unsaid")
      .map(({ deliveryId }) => ({ deliveryId, alertId: alert.id })),
  );
  if (over.length > 0) await removeOpenings(tx, { openings: over, at: facts.now });
  if (lines.length > 0) await addLines(tx, { lines, placed, facts });
  await releaseDependents(tx, placed, facts);
}

async function openingLines(tx: Tx, placed: readonly Placed[], facts: Facts): Promise<GroupLine[]> {
  const opening = placed.flatMap(({ alert, decision, incidentId, isGrouped }) => {
    const isOpening = decision.kind === "join" || (decision.kind === "notify" && decision.opening);
    return isOpening && isGrouped && incidentId !== null ? [{ alert, incidentId }] : [];
  });
  if (opening.length === 0) return [];
  const recipients = await listRecipients(tx, {
    alerts: opening.map(({ alert }) => ({ alertId: alert.id, checkId: alert.checkId })),
    added: opening.flatMap(({ alert }) =>
      facts.addedChannelsOf(alert.checkId).map((channelId) => ({ alertId: alert.id, channelId })),
    ),
  });
  const byAlert = Map.groupBy(recipients, ({ alertId }) => alertId);
  return opening.flatMap(({ alert, incidentId }) =>
    (byAlert.get(alert.id) ?? []).map(
      ({ channelId, groupId }): GroupLine => ({ incidentId, channelId, groupId, alert, change: "opened" }),
    ),
  );
}

/** Recoveries, to the channels that were told about the problem. */
function closingLines(placed: readonly Placed[]): GroupLine[] {
  return placed.flatMap(({ alert, decision, incidentId, openings }) => {
    const isOwed = decision.kind === "correct" || (decision.kind === "notify" && decision.closing);
    if (!isOwed || incidentId === null) return [];
    return openings
      .filter(({ state }) => state === "said")
      .map(
        ({ channelId, groupId }): GroupLine => ({ incidentId, channelId, groupId, alert, change: "closed" }),
      );
  });
}

async function addLines(
  tx: Tx,
  { lines, placed, facts }: { lines: readonly GroupLine[]; placed: readonly Placed[]; facts: Facts },
): Promise<void> {
  const incidentIds = [...new Set(lines.map(({ incidentId }) => incidentId))];
  const queues = await lockGroupQueues(tx, incidentIds);
  const planningIds = placed.map(({ alert }) => alert.id);
  const overIds = await listOverIncidents(tx, { incidentIds, planningIds });
  for (const { incidentId, alert } of placed) {
    if (incidentId !== null && alert.closed === null) overIds.delete(incidentId);
  }
  const queueOf = new Map(queues.map((queue) => [queueName(queue), queue]));
  // As soon as the policy of one of the checks allows.
  const wanted = new Map<string, NewGroupDelivery>();
  for (const line of lines) {
    const name = queueName(line);
    const { incidentId, channelId, groupId } = line;
    const queue = queueOf.get(name);
    const lineDueAt = dueAtOf(line, { queue, placed, facts, isOver: overIds.has(incidentId) });
    const dueAt = Math.min(lineDueAt, wanted.get(name)?.dueAt ?? Infinity);
    wanted.set(name, { incidentId, channelId, groupId, dueAt });
  }
  const openIdOf = (one: NewGroupDelivery) => queueOf.get(queueName(one))?.openId ?? null;
  const sooner = [...wanted.values()].flatMap((one) => {
    const deliveryId = openIdOf(one);
    return deliveryId === null ? [] : [{ deliveryId, dueAt: one.dueAt }];
  });
  if (sooner.length > 0) await hastenGroups(tx, sooner);
  const created = [...wanted.values()].filter((one) => openIdOf(one) === null);
  const ids =
    created.length === 0 ? [] : await insertGroupDeliveries(tx, { deliveries: created, at: facts.now });
  const idOf = new Map(created.map((one, index) => [queueName(one), ids[index] ?? 0]));
  await addToDeliveries(
    tx,
    lines.map((line) => ({
      deliveryId: queueOf.get(queueName(line))?.openId ?? idOf.get(queueName(line)) ?? 0,
      alertId: line.alert.id,
      change: line.change,
    })),
  );
  // The last recovery does not wait for the interval.
  const due = [...overIds].map((incidentId) => ({ incidentId, dueAt: facts.now }));
  if (due.length > 0) await rescheduleGroups(tx, due);
}

function queueName({ incidentId, channelId }: Pick<GroupQueue, "incidentId" | "channelId">): string {
  return `${incidentId} ${channelId}`;
}

function dueAtOf(
  { alert, change }: GroupLine,
  {
    queue,
    placed,
    facts,
    isOver,
  }: { queue: GroupQueue | undefined; placed: readonly Placed[]; facts: Facts; isOver: boolean },
): Instant {
  const { now, policyOf } = facts;
  const decision = placed.find((one) => one.alert.id === alert.id)?.decision;
  if (change === "opened" && decision?.kind === "join") return now + PARENT_LOOK_MS;
  const { groupWait, groupInterval } = policyOf(alert.checkId);
  const lastSentAt = queue?.lastSentAt ?? null;
  return groupDueAt({ lastSentAt, isOver }, { groupWait, groupInterval, now });
}

/** When a parent has recovered, its dependents that are still down are sent, unless they report by their next deadline. */
async function releaseDependents(tx: Tx, placed: readonly Placed[], facts: Facts): Promise<void> {
  const recovered = new Map(
    placed.flatMap(({ alert, incidentId, isGrouped }) =>
      alert.closed !== null && incidentId !== null && !isGrouped ? [[incidentId, alert.closed.at]] : [],
    ),
  );
  if (recovered.size === 0) return;
  const queued = await listQueuedChecks(tx, [...recovered.keys()]);
  if (queued.length === 0) return;
  const timings = await findTimings(
    tx,
    queued.map(({ checkId }) => checkId),
  );
  const due = [...Map.groupBy(queued, ({ incidentId }) => incidentId)].map(([incidentId, checks]) => {
    const recoveredAt = recovered.get(incidentId) ?? facts.now;
    const deadlines = checks.map(({ checkId }) => {
      const timing = timings.get(checkId);
      const expected = timing === undefined ? null : dueAfter(timing, recoveredAt);
      return expected === null || timing === undefined ? recoveredAt : expected + graceMs(timing);
    });
    const latest = Math.min(recoveredAt + AFTER_PARENT_MS_MAX, Math.max(...deadlines));
    return { incidentId, dueAt: Math.max(facts.now, latest) };
  });
  await rescheduleGroups(tx, due);
}

/** The rule that drops an alert; null: it was taken back, or its check is in the trash. */
function dropRule(alert: UnplannedAlert, { silenceOf }: Facts): Pick<HeldAlert, "rule" | "silenceId"> | null {
  if (alert.check === null || alert.check.isDeleted || alert.closed?.cause === "takenBack") return null;
  if (alert.closed === null) return { rule: "flapping", silenceId: null };
  const silence = silenceOf(alert);
  return silence === null ? null : { rule: "silence", silenceId: silence.silenceId };
}

async function writePlanned(tx: Tx, placed: readonly Placed[], facts: Facts): Promise<void> {
  const { now } = facts;
  const held: HeldAlert[] = [];
  const planned: PlannedAlert[] = [];
  for (const { alert, decision, incidentId, openings } of placed) {
    const { id: alertId } = alert;
    // It closed before the message of its group was sent.
    const isUnsaid = openings.length > 0 && openings.every(({ state }) => state === "unsaid");
    if (decision.kind === "hold") {
      held.push({ ...decision, alertId });
      continue;
    }
    // What is dropped without having been held names the rule, too.
    const rule = decision.kind === "drop" && alert.heldBy === null ? dropRule(alert, facts) : null;
    if (rule !== null) held.push({ alertId, until: now, ...rule });
    if (isUnsaid) {
      const hasParents = facts.parentsOf(alert.checkId).length > 0;
      held.push({ alertId, until: now, rule: hasParents ? "dependency" : "group", silenceId: null });
    }
    const isNotified = decision.kind === "join" || decision.kind === "notify";
    planned.push({
      alertId,
      incidentId,
      notifiedAt: alert.notifiedAt ?? (isNotified ? now : null),
      isDropped: decision.kind === "drop" || isUnsaid,
    });
  }
  if (held.length > 0) await holdAlerts(tx, held);
  if (planned.length > 0) await markPlanned(tx, planned, now);
  const closed = placed.filter(({ alert, decision }) => alert.closed !== null && decision.kind !== "hold");
  const incidentIds = new Set(closed.flatMap(({ incidentId }) => incidentId ?? []));
  if (incidentIds.size > 0) await resolveIncidents(tx, [...incidentIds]);
}
