// The planner: turns alerts into incidents and deliveries, or holds them. It runs in the loop of the notifier. One
// planner works at a time; if it dies, the alerts are still unplanned.
import type { Instant } from "../core/instant.ts";
import { type Decision, planAlert } from "../core/plan.ts";
import {
  claimAlerts,
  hasUnplannedAlerts,
  type HeldAlert,
  holdAlerts,
  lockPlanner,
  markPlanned,
  type PlannedAlert,
  type UnplannedAlert,
} from "../store/alerts.ts";
import type { Database } from "../store/db.ts";
import {
  type AlertNews,
  insertAlertDeliveries,
  insertIncidents,
  resolveIncidents,
  retractAlertDeliveries,
  type TakenBackAlert,
} from "../store/planning.ts";
import { inTransaction, type Tx } from "../store/transaction.ts";

/** Alerts planned in one transaction. */
const ALERTS_MAX = 1_000;

/** Plans alerts that are due at `now`; returns how many. More may be due if it is ALERTS_MAX. */
export async function planAlerts(database: Database, { now }: { now: Instant }): Promise<number> {
  if (!(await hasUnplannedAlerts(database, now))) return 0;
  return inTransaction(database, async (tx) => {
    if (!(await lockPlanner(tx))) return 0;
    const alerts = await claimAlerts(tx, { now, limit: ALERTS_MAX });
    if (alerts.length > 0) await plan(tx, alerts, now);
    return alerts.length;
  });
}

type Decided = { alert: UnplannedAlert; decision: Decision };

async function plan(tx: Tx, alerts: readonly UnplannedAlert[], now: Instant): Promise<void> {
  const decided = alerts.map((alert) => ({ alert, decision: decide(alert) }));
  const incidentOf = await openIncidents(tx, decided);
  await writeDeliveries(tx, { decided, incidentOf, now });
  await writePlanned(tx, { decided, incidentOf, now });
}

function decide(alert: UnplannedAlert): Decision {
  // A check in the trash notifies nobody; its alert is planned when it is restored.
  if (alert.check === null || alert.check.isDeleted) return { kind: "drop" };
  const { closed, notifiedAt, heldBy } = alert;
  return planAlert({ closed, isNotified: notifiedAt !== null, heldBy }, { silence: null });
}

/** The incident of each alert that has one, by alert id. */
type IncidentOf = ReadonlyMap<number, number>;

async function openIncidents(tx: Tx, decided: readonly Decided[]): Promise<IncidentOf> {
  const opening = decided.filter(
    ({ alert, decision }) => decision.kind === "notify" && alert.incidentId === null,
  );
  const ids =
    opening.length === 0
      ? []
      : await insertIncidents(
          tx,
          opening.map(({ alert }) => ({
            projectId: alert.check?.projectId ?? 0,
            openedAt: alert.openedAt,
            severity: "normal",
            key: null,
            nextStepAt: null,
          })),
        );
  const known = decided.flatMap(({ alert }) =>
    alert.incidentId === null ? [] : [[alert.id, alert.incidentId] as const],
  );
  return new Map([...known, ...opening.map(({ alert }, index) => [alert.id, ids[index] ?? 0] as const)]);
}

type Planning = { decided: readonly Decided[]; incidentOf: IncidentOf; now: Instant };

async function writeDeliveries(tx: Tx, { decided, incidentOf, now }: Planning): Promise<void> {
  const news: AlertNews[] = [];
  const takenBack: TakenBackAlert[] = [];
  for (const { alert, decision } of decided) {
    const { id: alertId, checkId, openedFlipId, closed } = alert;
    const incidentId = incidentOf.get(alertId) ?? null;
    if (decision.kind === "correct") takenBack.push({ alertId, flipId: openedFlipId, incidentId });
    if (decision.kind !== "notify" || incidentId === null) continue;
    const about = { alertId, incidentId, checkId };
    if (decision.opening) news.push({ ...about, flipId: openedFlipId, isClosing: false });
    if (decision.closing && closed?.flipId != null)
      news.push({ ...about, flipId: closed.flipId, isClosing: true });
  }
  if (news.length > 0) await insertAlertDeliveries(tx, { news, added: [], at: now });
  if (takenBack.length > 0) await retractAlertDeliveries(tx, { alerts: takenBack, at: now });
}

async function writePlanned(tx: Tx, { decided, incidentOf, now }: Planning): Promise<void> {
  const held: HeldAlert[] = [];
  const planned: PlannedAlert[] = [];
  for (const { alert, decision } of decided) {
    const { id: alertId } = alert;
    if (decision.kind === "hold") {
      held.push({ ...decision, alertId });
      continue;
    }
    const isOpened = decision.kind === "notify" && decision.opening;
    planned.push({
      alertId,
      incidentId: incidentOf.get(alertId) ?? null,
      notifiedAt: isOpened ? now : alert.notifiedAt,
      isDropped: decision.kind === "drop",
    });
  }
  if (held.length > 0) await holdAlerts(tx, held);
  if (planned.length > 0) await markPlanned(tx, planned, now);
  const closed = decided.filter(({ alert }) => alert.closed !== null);
  const incidentIds = new Set(closed.flatMap(({ alert }) => incidentOf.get(alert.id) ?? []));
  if (incidentIds.size > 0) await resolveIncidents(tx, [...incidentIds]);
}
