// Gives several checks of a project other schedules, all of them in one transaction: they are changed together or not at
// all, and with as few statements as one. What becomes of each is what an edit of it would do.
import { type CheckParams, type CheckSettings, patchCheck } from "../../core/check.ts";
import type { Instant } from "../../core/instant.ts";
import { passDeadlines } from "../../core/machine/deadline.ts";
import { lockStates } from "../../store/checks/check-states.ts";
import { findChecksByIds, updateSchedules } from "../../store/checks/checks.ts";
import type { Database } from "../../store/db.ts";
import type { Tx } from "../../store/transaction.ts";
import { type CheckEvent, listEdits } from "../../store/history/events.ts";
import type { Command, Overtaken } from "../change-check.ts";
import { needsOwnSight, ownSights } from "../recording/own-sight.ts";
import { auditChecks } from "./audit-check.ts";
import { differences } from "./edit.ts";
import type { LockedCheck } from "./locked-check.ts";
import { inRetriedTransaction, OvertakenError } from "./retried.ts";
import { writeStateChanges } from "./state-change.ts";

/** What says when a check expects signals. Nothing else is written here. */
export type ScheduleParams = Pick<CheckParams, "timeoutSeconds" | "graceSeconds" | "schedule" | "tz">;

export type RescheduleRequest = Omit<Command, "checkId" | "uuid"> & {
  /** By the ids of the checks. */
  wanted: ReadonlyMap<number, ScheduleParams>;
  /** Schedules that were edited after this instant are not overwritten; left out: all are. */
  version?: Instant;
};

/** A check as it was before; `isChanged`: it had another schedule. */
export type Rescheduled = { checkId: number; before: CheckSettings; isChanged: boolean };

/** So many edits are read at most. */
const EDITS_READ_MAX = 1_000;
const SCHEDULE_FIELDS = ["kind", "timeoutSeconds", "graceSeconds", "schedule", "tz"];

/**
 * Changes when checks expect signals. Those that are not there, or in another project, are left out of the answer.
 * Nothing is changed when the schedule of one of them was edited after `version`.
 */
export function rescheduleChecks(
  database: Database,
  request: RescheduleRequest,
): Promise<Rescheduled[] | Overtaken> {
  return inRetriedTransaction(database, async (tx) => {
    const found = await lockChecks(tx, request);
    const overtaking = await editsAfter(tx, found, request.version);
    const [newest] = overtaking;
    if (newest !== undefined) return { kind: "overtaken", version: newest.at, edits: overtaking };
    const edits = found.map((locked) => {
      const { settings: before, id } = locked.check;
      const settings = patchCheck(before, request.wanted.get(id) ?? {}, { deriveSlug: false });
      return { locked, settings, after: differences({ before, after: settings }) };
    });
    const changed = edits.filter(({ after }) => Object.keys(after).length > 0);
    if (changed.length > 0) await write(tx, changed, request);
    const isChanged = new Set(changed.map(({ locked }) => locked.check.id));
    return edits.map(({ locked: { check } }) => ({
      checkId: check.id,
      before: check.settings,
      isChanged: isChanged.has(check.id),
    }));
  });
}

/** Edits of schedules after an instant, newest first. */
async function editsAfter(
  tx: Tx,
  found: readonly LockedCheck[],
  version: Instant | undefined,
): Promise<CheckEvent[]> {
  if (version === undefined) return [];
  const checkIds = found.filter(({ check }) => check.updatedAt > version).map(({ check }) => check.id);
  if (checkIds.length === 0) return [];
  const edits = await listEdits(tx, { checkIds, after: version, limit: EDITS_READ_MAX });
  return edits.filter(({ detail }) =>
    Object.keys(detail["after"] ?? {}).some((name) => SCHEDULE_FIELDS.includes(name)),
  );
}

async function lockChecks(tx: Tx, { wanted, projectId }: RescheduleRequest): Promise<LockedCheck[]> {
  const states = await lockStates(tx, [...wanted.keys()]);
  // Read after the lock: whoever held it may have changed the settings, or deleted the check.
  const found = await findChecksByIds(
    tx,
    states.map(({ checkId }) => checkId),
  );
  const checks = new Map(found.map((check) => [check.id, check]));
  return states.flatMap((stored) => {
    const check = checks.get(stored.checkId);
    return check?.projectId === projectId ? [{ check, stored }] : [];
  });
}

type ScheduleEdit = { locked: LockedCheck; settings: CheckSettings; after: Partial<CheckSettings> };

async function write(tx: Tx, edits: readonly ScheduleEdit[], request: RescheduleRequest): Promise<void> {
  const { at, sight, accountId } = request;
  const changes = edits.map(({ locked: { check }, settings }) => ({ checkId: check.id, settings }));
  if ((await updateSchedules(tx, { changes, at })) !== changes.length) {
    throw new OvertakenError("One of the checks was moved to the trash.");
  }
  const passed = edits.map(({ locked: { stored } }) => stored).filter((stored) => needsOwnSight(stored, at));
  const sightOf = await ownSights(tx, passed, sight);
  const done = edits.map(({ locked: { check, stored }, settings, after }) => {
    const detail = { before: differences({ before: settings, after: check.settings }), after };
    // What has passed counts by the old schedule; what cannot be seen yet is left to the sweeper.
    const passage = passDeadlines(
      { timing: check.settings, state: stored.state },
      { sight: sightOf(check.id), beforeAt: at },
    );
    const event = { kind: "edited", accountId, detail };
    return { check, detail, state: { ...passage, unseen: null, stored, timing: settings, event } };
  });
  await writeStateChanges(tx, { changes: done.map(({ state }) => state), at });
  const what = "check.changed";
  await auditChecks(
    tx,
    done.map(({ check, detail }) => ({ what, check, by: request, at, ...detail })),
  );
}
