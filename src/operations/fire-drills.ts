// Fire drills: starts one, drives those that run, and starts weekly ones. The sweeper, the planner and the notifier
// process the check of a drill like any other.
import { randomUUID } from "node:crypto";
import { DEFAULT_SETTINGS } from "../core/check.ts";
import { AppError } from "../core/errors.ts";
import {
  DRILL_POLICY,
  type DrillFacts,
  drillName,
  drillNotes,
  drillOutcome,
  type DrillSchedule,
  nextDrillAt,
  nextDrillStep,
  unnotifiedReason,
} from "../core/fire-drill.ts";
import { newUuidIn } from "../core/identity.ts";
import { type Instant, SECOND_MS } from "../core/instant.ts";
import {
  DELIVERY_ERROR_LENGTH_MAX,
  FIRE_DRILL_LATE_MS_MAX,
  FIRE_DRILL_MS_MAX,
  FIRE_DRILL_NOTES_MAX,
  FIRE_DRILL_SEND_EVERY_MS,
  FIRE_DRILLS_KEPT,
} from "../core/limits.ts";
import { DEFAULT_POLICY } from "../core/policy.ts";
import { type Flip, NEW_STATE } from "../core/state.ts";
import { assignChannels, type Channel, listAssignmentsOfChecks, listChannels } from "../store/channels.ts";
import {
  findChecksByIds,
  findCheckNames,
  insertCheck,
  insertState,
  lockStates,
  type StoredState,
  writeStates,
} from "../store/checks.ts";
import type { Database, Db } from "../store/db.ts";
import {
  deleteDrillProject,
  deleteDrillSchedule,
  type DrillAlert,
  type DrillDeliveryRow,
  endOverdueDrills,
  findAsCheck,
  findDrill,
  findDrillSchedule,
  findLastDrill,
  type FireDrill,
  hasDrillWork,
  insertDrill,
  insertDrillProject,
  listDrillDeliveries,
  listDrillMessages,
  listDrills,
  lockDrillAlert,
  lockDrillsOfProject,
  lockDueSchedule,
  lockNextDrill,
  type StoredDrillMessage,
  type StoredDrillSchedule,
  trimDrills,
  writeDrillMessage,
  writeDrillProgress,
  writeDrillSchedule,
} from "../store/fire-drills.ts";
import { listParents } from "../store/planning.ts";
import { writeCheckPolicy } from "../store/policies.ts";
import { insertSilence } from "../store/silences.ts";
import { inTransaction, type Tx } from "../store/transaction.ts";
import { silencesOf } from "./alert-silences.ts";
import { type Actor, audit } from "./audit.ts";
import { removeCheck } from "./checks.ts";
import { readService } from "./database-identity.ts";
import { writeStatusChanges } from "./plan-deliveries.ts";
import { inRetriedTransaction } from "./retry.ts";
import { readPolicies } from "./rules.ts";

/** The check of a drill expects a ping within a second, and has no grace period. */
const DRILL_TIMEOUT_SECONDS = 1;

/** A drill with its messages. */
export type FireDrillResult = { drill: FireDrill; messages: readonly StoredDrillMessage[] };

export type StartRequest = {
  project: { id: number; uuid: string };
  /** The check that it simulates; null: one with all channels of the project. */
  check: string | null;
  isSent: boolean;
  by: Actor;
  at: Instant;
};

/**
 * Starts a drill. AppError `invalid` for an unknown check, `conflict` while one runs or if the server sends no
 * notifications, and `rate_limited` for one that sends too soon after another.
 */
export function startFireDrill(database: Database, request: StartRequest): Promise<FireDrillResult> {
  return inRetriedTransaction(database, async (tx) => {
    const { project, by, at, isSent } = request;
    if (!(await readService(tx)).isInService) {
      throw new AppError(
        "conflict",
        "This server sends no notifications: its database is a copy. An admin must confirm the restore first.",
      );
    }
    const uuid = await startIn(tx, { ...request, isScheduled: false });
    const subject = request.check === null ? "" : await nameOf(tx, project.id, request.check);
    const after = { sent: isSent };
    const what = "fireDrill.started";
    await audit(tx, { ...by, projectId: project.id, what, subject, before: null, after, at });
    return getFireDrill(tx, { projectId: project.id, uuid });
  });
}

async function nameOf(db: Db, projectId: number, uuid: string): Promise<string> {
  return (await findAsCheck(db, { projectId, uuid }))?.name ?? "";
}

async function startIn(
  tx: Tx,
  { project, check, isSent, isScheduled, by, at }: StartRequest & { isScheduled: boolean },
): Promise<string> {
  const projectId = project.id;
  if (!(await lockDrillsOfProject(tx, projectId))) throw new AppError("not_found", "Project not found.");
  // No notifier has ended them, so none was running.
  await endOverdueDrills(tx, { projectId, startedBefore: at - 2 * FIRE_DRILL_MS_MAX, at });
  const before = await listDrills(tx, { projectId, limit: FIRE_DRILLS_KEPT });
  if (before.some(({ endedAt }) => endedAt === null)) {
    throw new AppError("conflict", "A fire drill is running in this project. Wait until it has ended.");
  }
  const isTooSoon = before.some((one) => one.isSent && at - one.startedAt < FIRE_DRILL_SEND_EVERY_MS);
  if (isSent && isTooSoon) {
    const minutes = FIRE_DRILL_SEND_EVERY_MS / 60 / SECOND_MS;
    throw new AppError(
      "rate_limited",
      `A fire drill can send messages every ${minutes} minutes. Try again later, or start one that sends nothing.`,
    );
  }
  const as = check === null ? null : await findAsCheck(tx, { projectId, uuid: check });
  if (check !== null && as === null) {
    throw new AppError("invalid", `The project has no check ${check}.`, "check");
  }
  const deadlineAt = at + DRILL_TIMEOUT_SECONDS * SECOND_MS;
  const uuid = newUuidIn(project.uuid, randomUUID, tx.slots);
  const made = await makeDrillCheck(tx, { project, asCheckId: as?.id ?? null, at, deadlineAt });
  await insertDrill(tx, {
    uuid,
    projectId,
    ...made,
    asCheckId: as?.id ?? null,
    asName: as?.name ?? "",
    isSent,
    isScheduled,
    accountId: by.accountId,
    startedAt: at,
    deadlineAt,
  });
  await trimDrills(tx, { projectId, kept: FIRE_DRILLS_KEPT });
  return uuid;
}

/** The project and the check of a drill, with the policies, channels and silence of the check that it simulates. */
async function makeDrillCheck(
  tx: Tx,
  {
    project,
    asCheckId,
    at,
    deadlineAt,
  }: { project: StartRequest["project"]; asCheckId: number | null; at: Instant; deadlineAt: Instant },
): Promise<{ drillProjectId: number; checkId: number; notes: string[] }> {
  const channels = await listChannels(tx, project.id);
  const [as] = asCheckId === null ? [] : await findChecksByIds(tx, [asCheckId]);
  const policies = asCheckId === null ? null : ((await readPolicies(tx, [asCheckId])).get(asCheckId) ?? null);
  const assigned =
    asCheckId === null
      ? channels.map(({ id }) => id)
      : (await listAssignmentsOfChecks(tx, [asCheckId])).map(({ channelId }) => channelId);
  const drillProjectId = await insertDrillProject(tx, {
    projectId: project.id,
    uuid: randomUUID(),
    badgeKey: randomUUID(),
    at,
  });
  const checkId = await insertCheck(tx, {
    uuid: randomUUID(),
    badgeUuid: randomUUID(),
    projectId: drillProjectId,
    settings: {
      ...DEFAULT_SETTINGS,
      name: drillName(as?.settings.name ?? ""),
      tags: as?.settings.tags ?? "",
      timeoutSeconds: DRILL_TIMEOUT_SECONDS,
      graceSeconds: 0,
    },
    createdAt: at,
  });
  await insertState(tx, checkId);
  await writeCheckPolicy(tx, { checkId, policy: { ...policies?.own, ...DRILL_POLICY } });
  await assignChannels(tx, { checkId, channelIds: assigned });
  const [stored] = await lockStates(tx, [checkId]);
  if (stored === undefined) throw new Error("the state of a fire drill was not inserted");
  const state = { ...NEW_STATE, status: "up" as const, lastPingAt: at, newestAt: at };
  await writeStates(tx, [{ ...stored, state, downAt: deadlineAt, sweepAt: deadlineAt }]);
  const tags = as?.settings.tags ?? "";
  await copySilence(tx, { projectId: project.id, asCheckId: asCheckId ?? checkId, tags, drillProjectId, at });
  const parentIds = policies?.parents.map(({ id }) => id) ?? [];
  const notes = drillNotes({
    policy: policies?.effective ?? DEFAULT_POLICY,
    parents: await parentsOf(tx, parentIds),
  });
  return { drillProjectId, checkId, notes: notes.slice(0, FIRE_DRILL_NOTES_MAX) };
}

async function parentsOf(tx: Tx, parentIds: readonly number[]): Promise<{ name: string; isDown: boolean }[]> {
  if (parentIds.length === 0) return [];
  const [names, rows] = await Promise.all([findCheckNames(tx, parentIds), listParents(tx, parentIds)]);
  const down = new Set(rows.filter(({ status }) => status === "down").map(({ checkId }) => checkId));
  return names.map(({ id, name }) => ({ name, isDown: down.has(id) }));
}

/** A silence that holds the simulated check now holds the drill, too. */
async function copySilence(
  tx: Tx,
  {
    projectId,
    asCheckId,
    tags,
    drillProjectId,
    at,
  }: { projectId: number; asCheckId: number; tags: string; drillProjectId: number; at: Instant },
): Promise<void> {
  const [held = null] = await silencesOf(tx, [{ checkId: asCheckId, projectId, tags, openedAt: at, at }]);
  if (held === null) return;
  await insertSilence(tx, {
    scope: { kind: "all" },
    reason: held.silence.reason,
    from: at,
    until: held.until,
    untilSuccess: false,
    schedule: null,
    tz: null,
    durationSeconds: null,
    holdAfterSeconds: 0,
    uuid: randomUUID(),
    projectId: drillProjectId,
    accountId: null,
    createdAt: at,
  });
}

/** Starts weekly drills that are due, and drives those that run. */
export async function driveFireDrills(database: Database, now: Instant): Promise<void> {
  if (!(await hasDrillWork(database, now))) return;
  while (await inRetriedTransaction(database, (tx) => startDue(tx, now)));
  for (let afterId: number | null = 0; afterId !== null; ) {
    const after: number = afterId;
    afterId = await inTransaction(database, (tx) => driveNext(tx, after, now));
  }
}

async function startDue(tx: Tx, now: Instant): Promise<boolean> {
  const schedule = await lockDueSchedule(tx, now);
  if (schedule === null) return false;
  await writeDrillSchedule(tx, { ...schedule, nextAt: nextDrillAt(schedule, now) });
  // After an outage it is left out: a drill belongs to its time.
  if (now - schedule.nextAt > FIRE_DRILL_LATE_MS_MAX) return true;
  const { projectId, isSent, accountId, asCheck, asCheckId } = schedule;
  // The check that it simulates was deleted.
  if (asCheckId !== null && asCheck === null) return true;
  try {
    await startIn(tx, {
      project: { id: projectId, uuid: randomUUID() },
      check: asCheck?.uuid ?? null,
      isSent,
      isScheduled: true,
      by: { accountId, keyId: null },
      at: now,
    });
  } catch (error) {
    // One that was started by hand takes its place.
    if (!(error instanceof AppError)) throw error;
  }
  return true;
}

/** Drives the next drill after an id; returns its id, or null if there is none. */
async function driveNext(tx: Tx, afterId: number, now: Instant): Promise<number | null> {
  const drill = await lockNextDrill(tx, afterId);
  if (drill === null || drill.checkId === null || drill.drillProjectId === null) return null;
  const { id: drillId, checkId, drillProjectId } = drill;
  // In the order of all writers: the state, then the alert. The sweeper and the planner wait, or see the result.
  const [stored] = await lockStates(tx, [checkId]);
  const alert = await lockDrillAlert(tx, checkId);
  const deliveries = await listDrillDeliveries(tx, checkId);
  const step = nextDrillStep(factsOf(drill, { alert, deliveries }), now);
  const progress = {
    ...drill,
    foundAt: alert?.foundAt ?? drill.foundAt,
    writtenAt: alert?.writtenAt ?? drill.writtenAt,
    plannedAt: drill.plannedAt ?? alert?.plannedAt ?? null,
    heldReason: alert === null ? null : heldReasonOf(alert),
    heldUntilAt: alert?.heldUntilAt ?? null,
    closedAt: step.closes ? now : drill.closedAt,
  };
  if (step.closes && stored !== undefined) await closeAlert(tx, stored, now);
  let ended = { endedAt: drill.endedAt, outcome: drill.outcome };
  if (step.ends) {
    await recordUnnotified(tx, { ...drill, ...progress, checkId });
    const messages = (await listDrillMessages(tx, [drillId])).get(drillId) ?? [];
    const outcome = drillOutcome({
      isHeld: progress.heldReason !== null,
      isPlanned: progress.plannedAt !== null,
      messages: messages.map((one) => ({ outcome: one.outcome, closeOutcome: one.closing?.outcome ?? null })),
    });
    ended = { endedAt: now, outcome };
  }
  await writeDrillProgress(tx, { drillId, ...progress, ...ended });
  if (step.removes) {
    await removeCheck(tx, checkId);
    await deleteDrillProject(tx, drillProjectId);
  }
  return drillId;
}

function heldReasonOf({ heldBy, silenceReason }: DrillAlert): string | null {
  if (heldBy === null) return null;
  if (heldBy !== "silence") return `Held by the rule ${heldBy}`;
  return silenceReason ? `Held by the silence “${silenceReason}”` : "Held by a silence";
}

function factsOf(
  { isSent, startedAt, closedAt, endedAt }: FireDrill,
  { alert, deliveries }: { alert: DrillAlert | null; deliveries: readonly DrillDeliveryRow[] },
): DrillFacts {
  const some = (isOpening: boolean) =>
    deliveries
      .filter(({ flipId }) => (flipId === alert?.openedFlipId) === isOpening)
      .map(({ state, attemptCount }) => ({
        isSettled: state !== "pending",
        mayHaveArrived: state === "pending" ? attemptCount > 0 : state !== "withdrawn" && state !== "skipped",
      }));
  return {
    mode: isSent ? "sent" : "quiet",
    startedAt,
    closedAt,
    isEnded: endedAt !== null,
    alert: alert && { isPlanned: alert.plannedAt !== null, isHeld: alert.heldBy !== null },
    openings: some(true),
    closings: some(false),
  };
}

/** Closes the alert like a ping: the planner then notifies the channels that got the problem. */
async function closeAlert(tx: Tx, stored: StoredState, at: Instant): Promise<void> {
  const { checkId, state } = stored;
  const flip: Flip = { at, from: state.status, to: "up", reason: "success" };
  const up = {
    ...state,
    status: "up" as const,
    missed: null,
    expectFromAt: null,
    lastPingAt: at,
    newestAt: at,
  };
  await writeStates(tx, [{ ...stored, state: up, downAt: null, sweepAt: null }]);
  await writeStatusChanges(tx, {
    flips: [{ checkId, flip }],
    alerts: [{ checkId, change: { kind: "closed", at, cause: "recovered", flip } }],
  });
}

/** The channels of the project that got no message, and why. Groups are listed by their members. */
async function recordUnnotified(
  tx: Tx,
  { id: drillId, projectId, checkId, heldReason }: FireDrill & { checkId: number },
): Promise<void> {
  const channels = await listChannels(tx, projectId);
  const notified = new Set(
    ((await listDrillMessages(tx, [drillId])).get(drillId) ?? []).map(({ channel }) => channel.id),
  );
  const assigned = new Set((await listAssignmentsOfChecks(tx, [checkId])).map(({ channelId }) => channelId));
  for (const channel of channels) {
    if (notified.has(channel.id) || channel.kind === "group") continue;
    const reason = reasonOf(channel, { isAssigned: assigned.has(channel.id), heldReason });
    const { id, uuid, kind, name } = channel;
    await writeDrillMessage(tx, {
      drillId,
      channel: { id, uuid, kind, name },
      claimedAt: null,
      renderedAt: null,
      answeredAt: null,
      outcome: "skipped",
      reason: reason.slice(0, DELIVERY_ERROR_LENGTH_MAX).toWellFormed(),
      code: null,
      title: null,
      body: null,
      requests: [],
    });
  }
}

function reasonOf(
  { disabledAt, disabledReason }: Channel,
  { isAssigned, heldReason }: { isAssigned: boolean; heldReason: string | null },
): string {
  return unnotifiedReason({ isDisabled: disabledAt !== null, disabledReason, isAssigned, heldReason });
}

/** A drill of a project. Throws AppError `not_found`. */
export async function getFireDrill(
  db: Db,
  name: { projectId: number; uuid: string },
): Promise<FireDrillResult> {
  const drill = await findDrill(db, name);
  if (drill === null) throw new AppError("not_found", "Fire drill not found.");
  return { drill, messages: (await listDrillMessages(db, [drill.id])).get(drill.id) ?? [] };
}

/** The drills of a project, newest first. */
export async function listFireDrills(db: Db, projectId: number): Promise<FireDrillResult[]> {
  const drills = await listDrills(db, { projectId, limit: FIRE_DRILLS_KEPT });
  const messages = await listDrillMessages(
    db,
    drills.map(({ id }) => id),
  );
  return drills.map((drill) => ({ drill, messages: messages.get(drill.id) ?? [] }));
}

/** The newest drill of the server that has ended. */
export async function lastFireDrill(
  db: Db,
): Promise<(FireDrillResult & { project: { uuid: string; name: string } }) | null> {
  const found = await findLastDrill(db);
  if (found === null) return null;
  const messages = (await listDrillMessages(db, [found.id])).get(found.id) ?? [];
  return { drill: found, messages, project: { uuid: found.projectUuid, name: found.projectName } };
}

export type ScheduleChange = {
  project: { id: number };
  /** Null: no weekly drills. */
  schedule: (DrillSchedule & { check: string | null; isSent: boolean }) | null;
  by: Actor;
  at: Instant;
};

/** Sets the weekly drill of a project. AppError `invalid` for an unknown check. */
export function setDrillSchedule(
  database: Database,
  { project: { id: projectId }, schedule, by, at }: ScheduleChange,
): Promise<StoredDrillSchedule | null> {
  return inRetriedTransaction(database, async (tx) => {
    const before = await findDrillSchedule(tx, projectId);
    if (schedule === null) await deleteDrillSchedule(tx, projectId);
    else {
      const { check, isSent, weekday, minute, tz } = schedule;
      const as = check === null ? null : await findAsCheck(tx, { projectId, uuid: check });
      if (check !== null && as === null) {
        throw new AppError("invalid", `The project has no check ${check}.`, "check");
      }
      const nextAt = nextDrillAt({ weekday, minute, tz }, at);
      const when = { weekday, minute, tz, nextAt };
      const accountId = by.accountId;
      await writeDrillSchedule(tx, { projectId, ...when, asCheckId: as?.id ?? null, isSent, accountId });
    }
    const after = await findDrillSchedule(tx, projectId);
    await audit(tx, {
      ...by,
      projectId,
      what: "fireDrill.scheduleChanged",
      subject: "",
      before: auditedSchedule(before),
      after: auditedSchedule(after),
      at,
    });
    return after;
  });
}

function auditedSchedule(schedule: StoredDrillSchedule | null): object | null {
  if (schedule === null) return null;
  const { weekday, minute, tz, isSent, asCheck } = schedule;
  return { weekday, minute, tz, sent: isSent, check: asCheck?.name ?? null };
}

export { findDrillSchedule as getDrillSchedule };
