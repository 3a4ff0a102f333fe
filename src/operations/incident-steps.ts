// Steps that become due by time alone: reminders until an incident is acknowledged or over, the end of an
// acknowledgement, and one reminder when a silence ends. Run by the planner.
import { nextStepAt } from "../core/incident.ts";
import { type Instant, MINUTE_MS, SECOND_MS } from "../core/instant.ts";
import { DEFAULT_POLICY, type EffectivePolicy } from "../core/policy.ts";
import { covers, nextWindow, windowAt } from "../core/silence.ts";
import type { Database } from "../store/db.ts";
import { insertIncidentEvents } from "../store/incidents.ts";
import { findSilencesByIds } from "../store/silences.ts";
import {
  claimDueIncidents,
  claimEndedWindows,
  type DueIncident,
  hasDueSteps,
  insertRepeats,
  listOpenAlerts,
  listOpenAlertsOfProject,
  type NextStep,
  type OpenAlert,
  setNextSteps,
  setWindowEnds,
} from "../store/steps.ts";
import { lockPlanner } from "../store/alerts.ts";
import { inTransaction, type Tx } from "../store/transaction.ts";
import { silencesOf } from "./alert-silences.ts";
import { readPolicies } from "./rules.ts";

/** Incidents, or silences, handled in one transaction. */
const STEPS_MAX = 200;
/** Open alerts looked at when a silence ends. */
const ALERTS_MAX = 10_000;
/** An incident with unsent notifications is looked at again after this time. */
const UNSENT_LOOK_MS = MINUTE_MS;

/** Steps taken one by one before others are tried together again. */
const ALONE_MAX = 50;
/** An incident whose step cannot be taken is tried again after this time. */
const FAILED_LOOK_MS = 10 * SECOND_MS;

export type StepOptions = {
  now: Instant;
  /** Called for an incident whose step could not be taken; it is tried again later. If omitted, the error is thrown. */
  onFailure?: (error: unknown, incidentId: number) => void;
};

/** Takes the steps that are due at `now`; returns how many. */
export async function takeSteps(database: Database, { now, onFailure }: StepOptions): Promise<number> {
  if (!(await hasDueSteps(database, now))) return 0;
  const ended = await inTransaction(database, async (tx) => {
    if (!(await lockPlanner(tx))) return 0;
    const windows = await claimEndedWindows(tx, { now, limit: STEPS_MAX });
    if (windows.length > 0) await endWindows(tx, windows, now);
    return windows.length;
  });
  try {
    return ended + (await stepSome(database, { now, limit: STEPS_MAX }));
  } catch (error) {
    if (onFailure === undefined) throw error;
    return ended + (await stepOneByOne(database, { now, onFailure }));
  }
}

async function stepSome(
  database: Database,
  { now, limit, onClaimed }: { now: Instant; limit: number; onClaimed?: (incidentIds: number[]) => void },
): Promise<number> {
  return inTransaction(database, async (tx) => {
    if (!(await lockPlanner(tx))) return 0;
    const incidents = await claimDueIncidents(tx, { now, limit });
    onClaimed?.(incidents.map(({ id }) => id));
    if (incidents.length > 0) await stepIncidents(tx, incidents, now);
    return incidents.length;
  });
}

/** So that one incident whose step cannot be taken does not stop the others. */
async function stepOneByOne(database: Database, { now, onFailure }: Required<StepOptions>): Promise<number> {
  for (let count = 0; count < ALONE_MAX; count += 1) {
    let claimed: number[] = [];
    const onClaimed = (incidentIds: number[]) => {
      claimed = incidentIds;
    };
    try {
      if ((await stepSome(database, { now, limit: 1, onClaimed })) === 0) return count;
    } catch (error) {
      const [incidentId] = claimed;
      // It is not the incident: the database does not answer.
      if (incidentId === undefined) throw error;
      onFailure(error, incidentId);
      const later = { incidentId, at: now + FAILED_LOOK_MS, endsAcknowledgement: false };
      await inTransaction(database, (tx) => setNextSteps(tx, [later]));
    }
  }
  return ALONE_MAX;
}

async function stepIncidents(tx: Tx, incidents: readonly DueIncident[], now: Instant): Promise<void> {
  const alerts = await listOpenAlerts(
    tx,
    incidents.map(({ id }) => id),
  );
  const byIncident = Map.groupBy(alerts, ({ incidentId }) => incidentId);
  const policies = await readPolicies(
    tx,
    alerts.map(({ checkId }) => checkId),
  );
  const silencedOf = await readSilenced(tx, alerts, now);
  const steps: NextStep[] = [];
  const reminded: OpenAlert[] = [];
  for (const incident of incidents) {
    const mine = byIncident.get(incident.id) ?? [];
    const { step, isReminded } = stepOf(incident, {
      policies: mine.map(({ checkId }) => policies.get(checkId)?.effective ?? DEFAULT_POLICY),
      silencedUntil: silencedOf(mine),
      now,
    });
    steps.push(step);
    if (isReminded) reminded.push(...mine);
  }
  await setNextSteps(tx, steps);
  const ended = steps.filter(({ endsAcknowledgement }) => endsAcknowledgement);
  if (ended.length > 0) {
    await insertIncidentEvents(
      tx,
      ended.map(({ incidentId }) => ({ incidentId, at: now, kind: "acknowledgementEnded", by: null })),
    );
  }
  if (reminded.length > 0) await insertRepeats(tx, { alertIds: reminded.map(({ id }) => id), at: now });
}

function stepOf(
  { id: incidentId, state, acknowledgedAt, hasUnsent, lastSentAt }: DueIncident,
  {
    policies,
    silencedUntil: silencedUntilAt,
    now,
  }: { policies: readonly EffectivePolicy[]; silencedUntil: Instant | null; now: Instant },
): { step: NextStep; isReminded: boolean } {
  const repeatMs = least(policies.map(({ repeat }) => repeat));
  const ackTimeoutMs = least(policies.map(({ ackTimeout }) => (ackTimeout === 0 ? null : ackTimeout)));
  const repetition = { repeatMs, ackTimeoutMs, lastSentAt: hasUnsent ? null : lastSentAt };
  const acknowledged = acknowledgedAt === null ? null : { at: acknowledgedAt };
  const wait = (at: Instant | null, endsAcknowledgement = false) => ({
    step: { incidentId, at, endsAcknowledgement },
    isReminded: false,
  });
  const stepAt = nextStepAt({ state, acknowledged }, repetition);
  const endsAck = state === "acknowledged" && stepAt !== null && stepAt <= now;
  if (state !== "open" && !endsAck) return wait(stepAt);
  if (repeatMs === null) return wait(null, endsAck);
  const dueAt = nextStepAt({ state: "open", acknowledged: null }, repetition);
  if (dueAt === null) return wait(now + UNSENT_LOOK_MS, endsAck);
  if (now < dueAt) return wait(dueAt, endsAck);
  if (silencedUntilAt !== null) return wait(silencedUntilAt, endsAck);
  return { step: { incidentId, at: now + repeatMs, endsAcknowledgement: endsAck }, isReminded: true };
}

/** The shortest of these times in milliseconds; null if there is none. */
function least(seconds: readonly (number | null)[]): number | null {
  const given = seconds.filter((one) => one !== null);
  return given.length === 0 ? null : Math.min(...given) * SECOND_MS;
}

/** Until when all of these alerts are silenced; null: one of them is not. */
async function readSilenced(
  tx: Tx,
  alerts: readonly OpenAlert[],
  now: Instant,
): Promise<(alerts: readonly OpenAlert[]) => Instant | null> {
  const held = await silencesOf(
    tx,
    alerts.map((alert) => ({ ...alert, at: now })),
  );
  const endOf = new Map(alerts.map(({ id }, index) => [id, held[index]?.until ?? null]));
  return (mine) => {
    const ends = mine.map(({ id }) => endOf.get(id) ?? null);
    const known = ends.filter((end) => end !== null);
    return known.length < ends.length || known.length === 0 ? null : Math.min(...known);
  };
}

/** One reminder about problems that were notified before the silence began and are not acknowledged. */
async function endWindows(
  tx: Tx,
  windows: readonly { silenceId: number; endsAt: Instant }[],
  now: Instant,
): Promise<void> {
  const silences = await findSilencesByIds(
    tx,
    windows.map(({ silenceId }) => silenceId),
  );
  const endOf = new Map(windows.map(({ silenceId, endsAt }) => [silenceId, endsAt]));
  const reminded = new Set<number>();
  for (const silence of silences) {
    const window = windowAt({ ...silence, endedAt: null }, (endOf.get(silence.id) ?? 0) - 1);
    if (window === null) continue;
    const { projectId } = silence;
    const alerts = await listOpenAlertsOfProject(tx, { projectId, limit: ALERTS_MAX });
    const covered = alerts.filter(
      ({ checkId, tags, notifiedAt, isAcknowledged }) =>
        !isAcknowledged && notifiedAt < window.from && covers(silence, { id: checkId, tags }),
    );
    const silencedOf = await readSilenced(tx, covered, now);
    for (const alert of covered) if (silencedOf([alert]) === null) reminded.add(alert.id);
  }
  if (reminded.size > 0) await insertRepeats(tx, { alertIds: [...reminded], at: now });
  await setWindowEnds(
    tx,
    silences.map((silence) => ({ silenceId: silence.id, at: nextWindow(silence, now)?.to ?? null })),
  );
}
