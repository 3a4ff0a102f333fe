// Creating, changing and deleting checks, for the API, the dashboard and pings with create=1. Each exported
// function is one transaction; authorization happens before it is called.
import { randomUUID } from "node:crypto";
import type { AuditAction } from "../core/audit.ts";
import { resolveChannels } from "../core/channel.ts";
import {
  type CheckParams,
  type CheckQuota,
  type CheckSettings,
  isLongerThan,
  mayCreateCheck,
  mayProvisionCheck,
  meetsCriteria,
  newCheck,
  patchCheck,
  provisionedCheck,
  type UniqueCriteria,
  uniqueCriteria,
  type UniqueField,
} from "../core/check.ts";
import { nonePassed, type PassedDeadlines, type Visibility } from "../core/deadline.ts";
import { AppError, ERROR_TEXT, type ErrorCode, FIELD_PROBLEM, fieldText } from "../core/errors.ts";
import { newUuidIn, withTag } from "../core/identity.ts";
import type { Instant } from "../core/instant.ts";
import { NAME_LENGTH_MAX, PING_COMMIT_MS_MAX, SLUG_LENGTH_MAX, TAGS_LENGTH_MAX } from "../core/limits.ts";
import { NO_PING_SETTINGS, type PingSettings } from "../core/ping-settings.ts";
import { DAYS_KEPT, keptFrom } from "../core/retention.ts";
import { isSameRules, type Policy } from "../core/policy.ts";
import type { AcceptedSignal } from "../core/signal.ts";
import { downAtOf, NEW_STATE, sweepAt, type Timing } from "../core/state.ts";
import { pause, resolveAlert, resume, reviseTiming } from "../core/transition.ts";
import {
  closeAlertOfTrashed,
  deleteAlertsOfCheck,
  findMovedAlert,
  reopenAlertOfRestored,
  setIncidentOfAlert,
} from "../store/alerts.ts";
import { assignChannels, listAssignmentsOfChecks, listChannels } from "../store/channels.ts";
import {
  type Check,
  type CheckWithState,
  countChecksOwnedBy,
  deleteCheckRow,
  deletedAtOf,
  deleteQuarantineOfCheck,
  findCheckByUuid,
  findChecksByIds,
  findChecksBySlug,
  findChecksDeletedBefore,
  findDeletedCheck,
  findOldestMatch,
  findShownCheck,
  insertCheck,
  insertState,
  lockCreation,
  lockOwnedChecks,
  lockStates,
  markCheckDeleted,
  moveCheck,
  restoreCheck as unmarkCheck,
  type StoredState,
  updateCheck as writeSettings,
  updateSchedules,
  writeStates,
} from "../store/checks.ts";
import type { Database, Db } from "../store/db.ts";
import { deleteDeliveriesOfCheck } from "../store/deliveries.ts";
import { type CheckEvent, deleteEventsOfCheck, insertEvents, listEdits } from "../store/events.ts";
import { deleteFlipsOfCheck } from "../store/flips.ts";
import { deleteRefusedOfCheck } from "../store/intakes.ts";
import { deleteBodiesOfCheck, deletePingsOfCheck } from "../store/pings.ts";
import { insertIncidents, resolveIncidents } from "../store/planning.ts";
import {
  deleteLinksOfCheck,
  holdPolicies,
  insertParents,
  listCheckPolicies,
  lockPolicies,
  writeCheckPolicy,
} from "../store/policies.ts";
import { findProjectByPingKey, findProjectOwner, holdProject } from "../store/projects.ts";
import { deleteRejectedOfCheck } from "../store/quarantine.ts";
import { deleteDaysOfCheck, deleteRunChunksOfCheck } from "../store/runs.ts";
import { inTransaction, type Tx } from "../store/transaction.ts";
import { auditAll } from "./audit.ts";
import { claimOnce, type Once } from "./idempotency.ts";
import { planNotices, writeStatusChanges } from "./plan-deliveries.ts";
import {
  applyBatch,
  lockTargetsOf,
  needsCheckVisibility,
  deadlineEvents,
  checkVisibility,
  checkVisibilities,
  type RecordOptions,
} from "./record-signals.ts";
import { inRetriedTransaction, ConflictError } from "./retry.ts";
import { affectsRules, rewriteRules, rulesOfNewCheck } from "./rules.ts";

/** The check to change, and the project in which the caller may change checks. */
export type CheckName = { projectId: number } & ({ checkId: number } | { uuid: string });

/** Why there is nothing to change. A deleted check is not found, even if it can still be restored. */
export type Absent = { kind: "not found" } | { kind: "other project" };

/** A rejected request. Nothing was changed; the text may be shown to the user. */
export type Refused = { kind: "refused"; code: ErrorCode; text: string };

/** Settings and state of a check whose row is locked until the transaction ends. */
export type LockedCheck = { check: Check; stored: StoredState };

/** A check as the API returns it, with the UUIDs of its channels in sorted order. */
export type CheckWithChannels = CheckWithState & { channelUuids: readonly string[] };

/**
 * Locks a check and reads its settings. Every writer locks the state of a check before anything else of it.
 */
export async function lockCheck(tx: Tx, name: CheckName): Promise<LockedCheck | Absent> {
  const checkId = "checkId" in name ? name.checkId : (await findCheckByUuid(tx, name.uuid))?.id;
  if (checkId === undefined) return { kind: "not found" };
  const [stored] = await lockStates(tx, [checkId]);
  // Read after the lock: the previous holder may have changed the settings, or deleted the check.
  const [check] = stored === undefined ? [] : await findChecksByIds(tx, [checkId]);
  if (stored === undefined || check === undefined) return { kind: "not found" };
  return check.projectId === name.projectId ? { check, stored } : { kind: "other project" };
}

/** UUIDs of a check's channels, sorted. */
async function channelUuidsOf(db: Db, checkId: number): Promise<string[]> {
  const assignments = await listAssignmentsOfChecks(db, [checkId]);
  return assignments.map(({ channelUuid }) => channelUuid).toSorted();
}

/** Builds the API representation of a check. */
function present({ check, stored }: LockedCheck, channelUuids: readonly string[]): CheckWithChannels {
  const { checkId: _, ...state } = stored;
  return { ...check, ...state, channelUuids };
}

/**
 * Serializes finding and creating a check of the project with one of these values, until the transaction
 * ends.
 */
async function lockCriteria(
  tx: Tx,
  { projectId, criteria }: { projectId: number; criteria: UniqueCriteria },
): Promise<void> {
  // One lock per value, always in the same order, so that requests that share only some values are serialized
  // too.
  const values = Object.entries(criteria).map(([field, value]) => `${field}:${value}`);
  for (const what of values.toSorted()) await lockCreation(tx, { projectId, what });
}

/** The check limit of accounts without their own limit; null means unlimited. */
export type LimitDefault = { checkLimitDefault: number | null };

/**
 * Number of checks the owner of a project has and may have; null if the project does not exist. If there is a
 * limit, the count stays locked until the transaction ends; without a limit, nothing is counted.
 */
async function lockQuota(
  tx: Tx,
  { projectId, checkLimitDefault }: LimitDefault & { projectId: number },
): Promise<CheckQuota | null> {
  // Lock the project first: a project that is being deleted must not get a new check.
  await holdProject(tx, projectId);
  const owner = await findProjectOwner(tx, projectId);
  if (owner === null) return null;
  const checkCountMax = owner.checkLimit ?? checkLimitDefault;
  if (checkCountMax === null) return { checkCount: 0, checkCountMax };
  await lockOwnedChecks(tx, owner.id);
  return { checkCount: await countChecksOwnedBy(tx, owner.id), checkCountMax };
}

export type CheckToMake = {
  projectId: number;
  projectUuid: string;
  uuid?: string;
  settings: CheckSettings;
  channels: ChosenChannels | null;
  own?: Policy;
  at: Instant;
};

/** Inserts a check in the state "new". */
async function makeCheck(
  tx: Tx,
  { projectId, projectUuid, channels, at, own = {}, ...given }: CheckToMake,
): Promise<CheckWithChannels> {
  const rules = await rulesOfNewCheck(tx, { projectId, settings: given.settings, own });
  const settings = { ...given.settings, rules };
  const uuid = given.uuid ?? newUuidIn(projectUuid, randomUUID, tx.slots);
  const badgeUuid = newUuidIn(projectUuid, randomUUID, tx.slots);
  const made = { uuid, badgeUuid, projectId, settings, createdAt: at };
  const checkId = await insertCheck(tx, made);
  await insertState(tx, checkId);
  if (Object.keys(own).length > 0) await writeCheckPolicy(tx, { checkId, policy: own });
  if (channels !== null) await assignChosen(tx, { checkId, chosen: channels, current: [] });
  const check = { ...made, id: checkId, updatedAt: at };
  const stored = {
    checkId,
    state: NEW_STATE,
    downAt: null,
    sweepAt: null,
    lastSuccessN: null,
    today: null,
  };
  return present({ check, stored }, channels?.uuids ?? []);
}

/**
 * The result of a change. If other transactions hold the check for too long, each change throws the database
 * error, and CommitInDoubtError if the commit was not confirmed; both are reported as `unavailable`.
 */
type Done<Kind extends string> = { kind: Kind; check: CheckWithChannels };

export type CreateRequest = Edit &
  LimitDefault & {
    projectId: number;
    projectUuid: string;
    /** The fields that identify an existing check; empty for a plain create. */
    unique: readonly UniqueField[];
    /** Without it, every request creates a check. */
    once?: Once | null;
  };

/**
 * Creates a check, or updates the one that `unique` identifies. Of identical concurrent requests, one creates
 * it and the others update it. Refused if the account has reached its check limit or the channels are
 * invalid; "not found" if the project does not exist. "repeated": the same idempotency key has created this
 * check before. AppError `unprocessable` if its key was used for a different request, `conflict` if its check
 * was deleted.
 */
export function createCheck(
  database: Database,
  request: CreateRequest,
): Promise<Done<"created"> | Done<"updated"> | Done<"repeated"> | Refused | { kind: "not found" }> {
  const { once = null, projectId, at } = request;
  const uuid = newUuidIn(request.projectUuid, randomUUID, database.slots);
  const criteria = uniqueCriteria(request.params, request.unique);
  return inRetriedTransaction(database, async (tx) => {
    const earlier = await claimOnce(tx, { projectId, once, uuid, at });
    if (earlier !== null)
      return { kind: "repeated", check: await earlierCheck(tx, { projectId, uuid: earlier }) };
    const match = criteria === null ? null : await lockMatch(tx, { ...request, criteria });
    if (match === null) return createCheckIn(tx, { ...request, uuid });
    const edited = await editCheck(tx, match, request);
    return edited.kind === "refused" ? edited : { ...edited, kind: "updated" };
  });
}

/**
 * The existing check that an upsert refers to, locked; null if it has to be created, in which case creation
 * is locked.
 */
async function lockMatch(
  tx: Tx,
  { projectId, criteria }: { projectId: number; criteria: UniqueCriteria },
): Promise<LockedCheck | null> {
  const wanted = { projectId, criteria };
  let found = await findOldestMatch(tx, wanted);
  if (found === null) {
    // Another request may be creating it: look again under the lock.
    await lockCriteria(tx, wanted);
    found = await findOldestMatch(tx, wanted);
  }
  if (found === null) return null;
  const locked = await lockCheck(tx, { projectId, checkId: found.id });
  if ("kind" in locked || !meetsCriteria(locked.check.settings, criteria)) {
    throw new ConflictError("The check was changed or deleted in the meantime.");
  }
  return locked;
}

async function earlierCheck(
  tx: Tx,
  { projectId, uuid }: { projectId: number; uuid: string },
): Promise<CheckWithChannels> {
  const check = await findShownCheck(tx, uuid);
  if (check?.projectId === projectId) return check;
  throw new AppError("conflict", "The check created by this request has been deleted or moved.");
}

/** Creates a check in the caller's transaction. */
export async function createCheckIn(
  tx: Tx,
  request: CreateRequest & { uuid: string },
): Promise<Done<"created"> | Refused | { kind: "not found" }> {
  const { projectId, projectUuid, at, uuid, channels: param } = request;
  const quota = await lockQuota(tx, request);
  if (quota === null) return { kind: "not found" };
  if (!mayCreateCheck(quota)) return { kind: "refused", code: "forbidden", text: ERROR_TEXT.checkLimit };
  const channels = param === null ? null : await chooseChannels(tx, { projectId, param });
  if (channels?.kind === "refused") return channels;
  const settings = newCheck(request.params, request);
  const check = await makeCheck(tx, { projectId, projectUuid, uuid, settings, channels, at });
  const { kind, schedule, timeoutSeconds, graceSeconds, tz } = settings;
  const after = { kind, ...(kind === "simple" ? { timeoutSeconds } : { schedule, tz }), graceSeconds };
  await auditCheck(tx, { what: "check.created", check, by: request, at, after });
  return { kind: "created", check };
}

export type ProvisionRequest = LimitDefault & {
  pingKey: string;
  slug: string;
  /** The settings that the ping carries; absent: none. */
  given?: PingSettings;
  at: Instant;
};

/**
 * Creates the check for a ping by ping key and slug, with all channels of the project. Settings that were ignored are
 * an event of the check. "exists": another
 * request created it, or several checks share the slug. "unknown": no project has the key, or its owner has
 * reached the limit.
 */
export function provisionCheck(
  database: Database,
  { pingKey, slug, given = NO_PING_SETTINGS, at, checkLimitDefault }: ProvisionRequest,
): Promise<"created" | "exists" | "unknown"> {
  const work = async (tx: Tx) => {
    const project = await findProjectByPingKey(tx, pingKey);
    if (project === null) return "unknown";
    const { id: projectId, uuid: projectUuid } = project;
    await lockCriteria(tx, { projectId, criteria: { slug } });
    if ((await findChecksBySlug(tx, { pingKey, slug })).length > 0) return "exists";
    const quota = await lockQuota(tx, { projectId, checkLimitDefault });
    if (quota === null || !mayProvisionCheck(quota)) return "unknown";
    const channels = await chooseChannels(tx, { projectId, param: "*" });
    if (channels.kind === "refused") throw new Error(`all channels were rejected: ${channels.text}`);
    const { params, policy: own, warning } = given;
    const settings = provisionedCheck(slug, params);
    const { id: checkId } = await makeCheck(tx, { projectId, projectUuid, settings, channels, own, at });
    if (warning !== null) {
      const detail = { warning };
      await insertEvents(tx, [{ checkId, at, kind: "settings_ignored", accountId: null, detail }]);
    }
    return "created";
  };
  return inRetriedTransaction(database, work, { commitTimeoutMs: PING_COMMIT_MS_MAX });
}

/** Changes only the given fields. Refused if the channels are invalid. */
export function updateCheck(
  database: Database,
  request: CheckName & Edit,
): Promise<Done<"updated"> | Refused | Absent> {
  return inRetriedTransaction(database, async (tx) => {
    const locked = await lockCheck(tx, request);
    if ("kind" in locked) return locked;
    const edited = await editCheck(tx, locked, request);
    return edited.kind === "refused" ? edited : { ...edited, kind: "updated" };
  });
}

/**
 * The settings were changed after `version`. `edits` lists the changes, newest first; the returned `version`
 * is the current one.
 */
export type ConflictingEdits = { kind: "overtaken"; version: Instant; edits: CheckEvent[] };

/** Maximum number of edits returned. */
const EDITS_LISTED_MAX = 10;

/**
 * Like updateCheck, unless settings were changed after `version`, the `updatedAt` that the change is based
 * on.
 */
export function updateCheckSince(
  database: Database,
  request: CheckName & Edit & { version: Instant },
): Promise<Done<"updated"> | Refused | Absent | ConflictingEdits> {
  return inRetriedTransaction(database, async (tx) => {
    const locked = await lockCheck(tx, request);
    if ("kind" in locked) return locked;
    const edits = await editsSince(tx, locked, request.version);
    if (edits.length > 0) return { kind: "overtaken", version: locked.check.updatedAt, edits };
    const edited = await editCheck(tx, locked, request);
    return edited.kind === "refused" ? edited : { ...edited, kind: "updated" };
  });
}

/** Edits of settings after an instant. Channels and the project are not settings. */
async function editsSince(tx: Tx, { check }: LockedCheck, version: Instant): Promise<CheckEvent[]> {
  if (check.updatedAt <= version) return [];
  const edits = await listEdits(tx, { checkIds: [check.id], after: version, limit: EDITS_LISTED_MAX });
  return edits.filter(({ detail }) => Object.keys(detail["after"] ?? {}).some((name) => name !== "channels"));
}

/** A command to a check: when it was given, and by whom. `accountId` is null for an API key. */
export type Command = CheckName & {
  at: Instant;
  accountId: number | null;
  keyId?: number | null;
  /** The visibility, for a deadline that passed before the command. */
  visibility: Visibility;
};

/** Pauses a check. Older signals that are applied later do not end the pause. */
export function pauseCheck(database: Database, request: Command): Promise<Done<"paused"> | Absent> {
  return inRetriedTransaction(database, async (tx) => {
    const locked = await lockCheck(tx, request);
    if ("kind" in locked) return locked;
    const { check, stored } = locked;
    const outcome = pause(
      { timing: check.settings, state: stored.state },
      { at: request.at, visibility: await checkVisibility(tx, stored, request) },
    );
    return { kind: "paused", check: await applyCommand(tx, { ...request, locked, outcome, as: "paused" }) };
  });
}

/** Resumes a paused check, as if it were new. Refused if it is not paused. */
export function resumeCheck(
  database: Database,
  request: Command,
): Promise<Done<"resumed"> | Refused | Absent> {
  return inRetriedTransaction(database, async (tx) => {
    const locked = await lockCheck(tx, request);
    if ("kind" in locked) return locked;
    const { check, stored } = locked;
    const outcome = resume(
      { timing: check.settings, state: stored.state },
      { at: request.at, visibility: await checkVisibility(tx, stored, request) },
    );
    if (outcome === null) return { kind: "refused", code: "conflict", text: ERROR_TEXT.notPaused };
    return { kind: "resumed", check: await applyCommand(tx, { ...request, locked, outcome, as: "resumed" }) };
  });
}

type AppliedCommand = {
  locked: LockedCheck;
  outcome: PassedDeadlines;
  as: "paused" | "resumed";
  accountId: number | null;
  keyId?: number | null;
  at: Instant;
};

async function applyCommand(tx: Tx, command: AppliedCommand): Promise<CheckWithChannels> {
  const { locked, outcome, as, accountId, at } = command;
  const { check, stored } = locked;
  const channelUuids = await channelUuidsOf(tx, check.id);
  // A deadline that passed before the command counts first, whether or not the sweeper has processed it.
  const from = outcome.flips.at(-1)?.to ?? stored.state.status;
  // Pausing a paused check again adds no event.
  const event = from === as ? null : { kind: as, accountId, detail: { from } };
  const next = await writeStateChange(tx, { ...outcome, stored, timing: check.settings, event, at });
  if (event !== null) await auditCheck(tx, { what: `check.${as}`, check, by: command, at });
  return present({ check, stored: next }, channelUuids);
}

/** Deletes a check permanently, with its history. Returns the check as it was. */
export function deleteCheck(
  database: Database,
  name: CheckName & { at?: Instant; accountId?: number | null; keyId?: number | null },
): Promise<Done<"deleted"> | Absent> {
  return inRetriedTransaction(database, async (tx) => {
    const locked = await lockCheck(tx, name);
    if ("kind" in locked) return locked;
    const check = present(locked, await channelUuidsOf(tx, locked.check.id));
    await removeCheck(tx, check.id);
    const { at = null, accountId = null, keyId = null } = name;
    const before = { uuid: check.uuid };
    if (at !== null)
      await auditCheck(tx, { what: "check.deleted", check, by: { accountId, keyId }, before, at });
    return { kind: "deleted", check };
  });
}

export type Edit = {
  params: CheckParams;
  /** The `channels` parameter; null if not given, which keeps the channels. */
  channels: string | null;
  /** Whether the slug is derived from a given name; see core/check.ts. */
  deriveSlug: boolean;
  /** The account that edits; null for an API key. */
  accountId: number | null;
  keyId?: number | null;
  at: Instant;
  /** The visibility, for a deadline that passed before the edit. */
  visibility: Visibility;
};

/**
 * How much of a long text the history stores: a description can have megabytes and be edited every minute.
 */
const HISTORY_TEXT_LENGTH_MAX = 200;

/**
 * Edits a locked check. Deadlines that have passed count by the old settings, later ones by the new settings.
 * A request that changes nothing writes nothing.
 */
async function editCheck(
  tx: Tx,
  { check, stored }: LockedCheck,
  edit: Edit,
): Promise<{ kind: "edited"; check: CheckWithChannels; isChanged: boolean } | Refused> {
  const { projectId, id: checkId } = check;
  const { at, accountId } = edit;
  const chosen =
    edit.channels === null ? null : await chooseChannels(tx, { projectId, param: edit.channels });
  if (chosen?.kind === "refused") return chosen;
  const patched = patchCheck(check.settings, edit.params, edit);
  const patch = differences({ before: check.settings, after: patched });
  const current = await channelUuidsOf(tx, checkId);
  const isReassigned = chosen !== null && (await assignChosen(tx, { checkId, chosen, current }));
  const hasChanges = isReassigned || Object.keys(patch).length > 0;
  const rules = affectsRules(patch)
    ? await rewriteRules(tx, { projectId, checks: [{ id: checkId, settings: patched }] })
    : null;
  const settings = rules === null ? patched : { ...patched, rules: rules.get(checkId) ?? null };
  const written = hasChanges ? await writeSettings(tx, { checkId, patch, at }) : check;
  if (written === null) throw new ConflictError("The check was moved to the trash.");
  const before = differences({ before: patched, after: check.settings });
  const detail = {
    before: shortened(isReassigned ? { ...before, channels: current } : before),
    after: shortened(isReassigned ? { ...patch, channels: chosen.uuids } : patch),
  };
  const outcome = reviseTiming(
    { timing: check.settings, state: stored.state },
    { timing: settings, at, visibility: await checkVisibility(tx, stored, edit) },
  );
  const next = await writeStateChange(tx, {
    ...outcome,
    stored,
    timing: settings,
    event: hasChanges ? { kind: "edited", accountId, detail } : null,
    at,
  });
  if (hasChanges) await auditCheck(tx, { what: "check.changed", check: written, by: edit, at, ...detail });
  const uuids = chosen?.uuids ?? current;
  return { kind: "edited", check: present({ check: written, stored: next }, uuids), isChanged: hasChanges };
}

/** The fields of `after` that differ from `before`. */
function differences({ before, after }: Record<"before" | "after", CheckSettings>): Partial<CheckSettings> {
  const names = Object.keys(after) as (keyof CheckSettings)[];
  return Object.fromEntries(
    names.filter((name) => before[name] !== after[name]).map((name) => [name, after[name]]),
  );
}

function shortened(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, shortenedValue(value)]));
}

function shortenedValue(value: unknown): unknown {
  if (typeof value !== "string" || value.length <= HISTORY_TEXT_LENGTH_MAX) return value;
  // By code points: half a surrogate pair cannot be stored.
  const characters = Array.from(value.slice(0, 2 * HISTORY_TEXT_LENGTH_MAX));
  return `${characters.slice(0, HISTORY_TEXT_LENGTH_MAX).join("")}…`;
}

export type StateChange = PassedDeadlines & {
  /** The stored state, locked. */
  stored: StoredState;
  /** The settings after the change. */
  timing: Timing;
  /** The event for the history; null if there is none. */
  event: Pick<CheckEvent, "kind" | "accountId" | "detail"> | null;
  at: Instant;
};

/** Writes a changed state with its deadline, flips, deliveries and events. */
export async function writeStateChange(tx: Tx, change: StateChange): Promise<StoredState> {
  const next = nextOf(change);
  await writeAll(tx, { changes: [{ ...change, next }], at: change.at });
  return next;
}

/** The same for several checks, in as many statements as for one. */
export async function writeStateChanges(
  tx: Tx,
  { changes, at }: { changes: readonly Omit<StateChange, "at">[]; at: Instant },
): Promise<void> {
  await writeAll(tx, { changes: changes.map((change) => ({ ...change, next: nextOf(change) })), at });
}

function nextOf({ stored, timing, state }: Pick<StateChange, "stored" | "timing" | "state">): StoredState {
  const deadline = downAtOf({ timing, state });
  return { ...stored, state, downAt: deadline, sweepAt: sweepAt({ current: stored.sweepAt, deadline }) };
}

type PlannedChange = Omit<StateChange, "at"> & { next: StoredState };

function isChanged({ stored, next }: PlannedChange): boolean {
  return next.state !== stored.state || next.downAt !== stored.downAt || next.sweepAt !== stored.sweepAt;
}

async function writeAll(
  tx: Tx,
  { changes, at }: { changes: readonly PlannedChange[]; at: Instant },
): Promise<void> {
  const states = changes.filter(isChanged).map(({ next }) => next);
  if (states.length > 0) await writeStates(tx, states);
  const flips = changes.flatMap(({ stored: { checkId }, flips: of }) =>
    of.map((flip) => ({ checkId, flip })),
  );
  const alerts = changes.flatMap(({ stored: { checkId }, alerts: of }) =>
    of.map((change) => ({ checkId, change })),
  );
  if (flips.length + alerts.length > 0) await writeStatusChanges(tx, { flips, alerts });
  const excused = changes.flatMap(({ stored: { checkId }, notices }) =>
    notices.map(({ blind }) => ({ checkId, blind })),
  );
  await planNotices(tx, excused, at);
  const events = changes.flatMap(({ stored: { checkId }, event, ...outcome }) => {
    const passed = deadlineEvents(checkId, outcome);
    return event === null ? passed : [...passed, { checkId, at, ...event }];
  });
  if (events.length > 0) await insertEvents(tx, events);
}

/** Closes the alerts of checks although they have not recovered. Their status stays. */
export async function resolveAlerts(
  tx: Tx,
  request: { checkIds: readonly number[]; at: Instant; visibility: Visibility },
): Promise<void> {
  const { checkIds, at } = request;
  const locked = await lockStates(tx, checkIds);
  const checks = new Map((await findChecksByIds(tx, checkIds)).map((check) => [check.id, check]));
  const passed = locked.filter((stored) => needsCheckVisibility(stored, at));
  const visibilityOf = await checkVisibilities(tx, passed, request.visibility);
  const changes = locked.flatMap((stored) => {
    const timing = checks.get(stored.checkId)?.settings;
    if (timing === undefined) return [];
    const moment = { at, visibility: visibilityOf(stored.checkId) };
    const outcome = resolveAlert({ timing, state: stored.state }, moment);
    return outcome === null ? [] : [{ ...outcome, stored, timing, event: null }];
  });
  await writeStateChanges(tx, { changes, at });
}

/** Both sorted by UUID. */
export type ChosenChannels = { kind: "chosen"; channelIds: readonly number[]; uuids: readonly string[] };

/** Resolves the `channels` parameter of a request in a project. */
async function chooseChannels(
  db: Db,
  { projectId, param }: { projectId: number; param: string },
): Promise<ChosenChannels | Refused> {
  const channels = param === "" ? [] : await listChannels(db, projectId);
  const resolved = resolveChannels(param, channels);
  if (!resolved.ok) return { kind: "refused", code: "invalid", text: resolved.text };
  const wanted = new Set(resolved.value);
  const chosen = channels
    .filter(({ uuid }) => wanted.has(uuid))
    .toSorted((one, other) => (one.uuid < other.uuid ? -1 : 1));
  return {
    kind: "chosen",
    channelIds: chosen.map(({ id }) => id),
    uuids: chosen.map(({ uuid }) => uuid),
  };
}

/** Assigns the chosen channels to a check; true if they differ from `current`. */
async function assignChosen(
  tx: Tx,
  { checkId, chosen, current }: { checkId: number; chosen: ChosenChannels; current: readonly string[] },
): Promise<boolean> {
  if (chosen.uuids.join() === current.join()) return false;
  await assignChannels(tx, { checkId, channelIds: chosen.channelIds });
  return true;
}

export type CheckAudit = {
  what: Extract<AuditAction, `check.${string}`>;
  check: Pick<Check, "uuid" | "projectId" | "settings">;
  /**
   * The account or API key. If both are null, as for a check created by its first ping, nothing is audited.
   */
  by: { accountId: number | null; keyId?: number | null };
  before?: object;
  after?: object;
  at: Instant;
};

/** Adds an audit log entry for a check, identified by its name, or by its UUID if it has none. */
export async function auditCheck(tx: Tx, done: CheckAudit): Promise<void> {
  await auditChecks(tx, [done]);
}

/** Adds audit log entries for several checks. */
async function auditChecks(tx: Tx, done: readonly CheckAudit[]): Promise<void> {
  const changes = done.flatMap(({ what, check, by, before, after, at }) => {
    const { accountId, keyId = null } = by;
    if (accountId === null && keyId === null) return [];
    const subject = check.settings.name === "" ? check.uuid : check.settings.name;
    const sides = { before: before ?? null, after: after ?? null };
    return [{ projectId: check.projectId, accountId, keyId, what, subject, ...sides, at }];
  });
  if (changes.length > 0) await auditAll(tx, changes);
}

/** One tag, or one channel by its UUID, to add or remove. */
export type Adjustment = { isOn: boolean } & ({ tag: string } | { channel: string });

type AdjustRequest = CheckName &
  Omit<Edit, "params" | "channels" | "deriveSlug"> & { adjustment: Adjustment };

/**
 * Adds or removes one tag or channel. The current value is read under the lock, so concurrent adjustments all
 * take effect. Refused: tags too long, or unknown channel.
 */
export function adjustCheck(
  database: Database,
  request: AdjustRequest,
): Promise<{ kind: "adjusted"; check: CheckWithChannels; isChanged: boolean } | Refused | Absent> {
  const { adjustment } = request;
  return inRetriedTransaction(database, async (tx) => {
    const locked = await lockCheck(tx, request);
    if ("kind" in locked) return locked;
    const edit: Edit = { ...request, params: {}, channels: null, deriveSlug: false };
    if ("tag" in adjustment) {
      const tags = withTag(locked.check.settings.tags, adjustment);
      if (adjustment.isOn && isLongerThan(tags, TAGS_LENGTH_MAX))
        return { kind: "refused", code: "invalid", text: fieldText("tags", FIELD_PROBLEM.tooLong) };
      edit.params = { tags };
    } else {
      const { channel, isOn } = adjustment;
      const rest = (await channelUuidsOf(tx, locked.check.id)).filter((uuid) => uuid !== channel);
      edit.channels = (isOn ? [...rest, channel] : rest).join(",");
    }
    const edited = await editCheck(tx, locked, edit);
    return edited.kind === "refused" ? edited : { ...edited, kind: "adjusted" };
  });
}

/** The settings that define the schedule of a check. */
export type ScheduleParams = Pick<CheckParams, "timeoutSeconds" | "graceSeconds" | "schedule" | "tz">;

export type RescheduleRequest = Omit<Command, "checkId" | "uuid"> & {
  /** By check id. */
  wanted: ReadonlyMap<number, ScheduleParams>;
  /** Schedules edited after this instant are not overwritten; if omitted, all are. */
  version?: Instant;
};

/** A check as it was before; `isChanged`: its schedule was different. */
export type Rescheduled = { checkId: number; before: CheckSettings; isChanged: boolean };

/** Maximum number of edits read. */
const EDITS_READ_MAX = 1_000;
const SCHEDULE_FIELDS = ["kind", "timeoutSeconds", "graceSeconds", "schedule", "tz"];

/**
 * Changes the schedules of several checks in one transaction. Checks that do not exist or belong to another
 * project are left out of the result. Nothing is changed if one of the schedules was edited after `version`.
 */
export function rescheduleChecks(
  database: Database,
  request: RescheduleRequest,
): Promise<Rescheduled[] | ConflictingEdits> {
  return inRetriedTransaction(database, async (tx) => {
    const found = await lockChecks(tx, { ...request, checkIds: [...request.wanted.keys()] });
    const conflicts = await editsAfter(tx, found, request.version);
    const [newest] = conflicts;
    if (newest !== undefined) return { kind: "overtaken", version: newest.at, edits: conflicts };
    const edits = found.map((locked) => {
      const { settings: before, id } = locked.check;
      const settings = patchCheck(before, request.wanted.get(id) ?? {}, { deriveSlug: false });
      return { locked, settings, after: differences({ before, after: settings }) };
    });
    const changed = edits.filter(({ after }) => Object.keys(after).length > 0);
    if (changed.length > 0) await writeSchedules(tx, changed, request);
    const changedIds = new Set(changed.map(({ locked }) => locked.check.id));
    return edits.map(({ locked: { check } }) => ({
      checkId: check.id,
      before: check.settings,
      isChanged: changedIds.has(check.id),
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

/** Locks checks of a project and reads their settings; others are left out. */
export async function lockChecks(
  tx: Tx,
  { checkIds, projectId }: { checkIds: readonly number[]; projectId: number },
): Promise<LockedCheck[]> {
  const states = await lockStates(tx, checkIds);
  // Read after the lock: the previous holder may have changed the settings, or deleted the check.
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

async function writeSchedules(
  tx: Tx,
  edits: readonly ScheduleEdit[],
  request: RescheduleRequest,
): Promise<void> {
  const { at, visibility, accountId, projectId } = request;
  const changes = edits.map(({ locked: { check }, settings }) => ({ checkId: check.id, settings }));
  if ((await updateSchedules(tx, { changes, at })) !== changes.length) {
    throw new ConflictError("One of the checks was moved to the trash.");
  }
  const rules = await rewriteRules(tx, {
    projectId,
    checks: changes.map(({ checkId, settings }) => ({ id: checkId, settings })),
  });
  const passed = edits
    .map(({ locked: { stored } }) => stored)
    .filter((stored) => needsCheckVisibility(stored, at));
  const visibilityOf = await checkVisibilities(tx, passed, visibility);
  const done = edits.map(({ locked: { check, stored }, settings, after }) => {
    const detail = { before: differences({ before: settings, after: check.settings }), after };
    const timing = { ...settings, rules: rules.get(check.id) ?? null };
    const outcome = reviseTiming(
      { timing: check.settings, state: stored.state },
      { timing, at, visibility: visibilityOf(check.id) },
    );
    const event = { kind: "edited", accountId, detail };
    return { check, detail, state: { ...outcome, stored, timing, event } };
  });
  await writeStateChanges(tx, { changes: done.map(({ state }) => state), at });
  const what = "check.changed";
  await auditChecks(
    tx,
    done.map(({ check, detail }) => ({ what, check, by: request, at, ...detail })),
  );
}

/** Copies a check with its settings, channels and policy. Refused if its owner has reached the check limit. */
export function copyCheck(
  database: Database,
  request: Command & LimitDefault & { projectUuid: string },
): Promise<{ kind: "copied"; check: CheckWithChannels } | Refused | Absent> {
  const { projectId, projectUuid, at } = request;
  return inRetriedTransaction(database, async (tx) => {
    const locked = await lockCheck(tx, request);
    if ("kind" in locked) return locked;
    const quota = await lockQuota(tx, request);
    if (quota === null) return { kind: "not found" };
    if (!mayCreateCheck(quota)) return { kind: "refused", code: "forbidden", text: ERROR_TEXT.checkLimit };
    const param = (await channelUuidsOf(tx, locked.check.id)).join(",");
    const channels = await chooseChannels(tx, { projectId, param });
    if (channels.kind === "refused") return channels;
    const settings = copied(locked.check.settings);
    const [policy] = await listCheckPolicies(tx, [locked.check.id]);
    const { own = {}, parents = [] } = policy ?? {};
    const check = await makeCheck(tx, { projectId, projectUuid, settings, channels, own, at });
    await insertParents(tx, { checkId: check.id, parentIds: parents.map(({ id }) => id) });
    const after = { copyOf: locked.check.uuid };
    await auditCheck(tx, { what: "check.created", check, by: request, at, after });
    return { kind: "copied", check };
  });
}

const NAME_MARK = " (copy)";
const SLUG_MARK = "-copy";

function copied(settings: CheckSettings): CheckSettings {
  const name = Array.from(settings.name);
  const room = NAME_LENGTH_MAX - NAME_MARK.length;
  const kept = name.length > room ? `${name.slice(0, room - 3).join("")}...` : settings.name;
  const slug = settings.slug === "" ? "" : `${settings.slug}${SLUG_MARK}`;
  return {
    ...settings,
    name: settings.name === "" ? "" : `${kept}${NAME_MARK}`,
    slug: slug.length > SLUG_LENGTH_MAX ? "" : slug,
  };
}

export type Transfer = Command & LimitDefault & { to: { id: number; name: string }; from: { name: string } };

/**
 * Moves a check to another project. It keeps its URL, state, history and policy, loses its dependencies, and gets all
 * channels of the new project. Refused if the owner of that project has reached the check limit.
 */
export function transferCheck(
  database: Database,
  request: Transfer,
): Promise<{ kind: "moved" } | Refused | Absent> {
  const { projectId, to, from, at } = request;
  return inRetriedTransaction(database, async (tx) => {
    const locked = await lockCheck(tx, request);
    if ("kind" in locked) return locked;
    if (projectId === to.id) return { kind: "moved" };
    const [fromOwner, toOwner] = [await findProjectOwner(tx, projectId), await findProjectOwner(tx, to.id)];
    if (toOwner === null) return { kind: "not found" };
    if (fromOwner?.id !== toOwner.id) {
      const quota = await lockQuota(tx, { ...request, projectId: to.id });
      if (quota === null || !mayCreateCheck(quota)) {
        return { kind: "refused", code: "forbidden", text: ERROR_TEXT.checkLimit };
      }
    }
    const { check } = locked;
    const channels = await chooseChannels(tx, { projectId: to.id, param: "*" });
    if (channels.kind === "refused") throw new Error(`all channels were rejected: ${channels.text}`);
    await lockMove(tx, { from: projectId, to: to.id });
    await deleteLinksOfCheck(tx, check.id);
    await moveCheck(tx, { checkId: check.id, projectId: to.id, at });
    await moveAlert(tx, { checkId: check.id, projectId: to.id });
    await assignChannels(tx, { checkId: check.id, channelIds: channels.channelIds });
    await judgeAnew(tx, locked, { ...request, projectId: to.id });
    const { uuid } = check;
    const moved = { before: { uuid, project: from.name }, after: { uuid, project: to.name } };
    // Both projects get an audit log entry.
    for (const side of [projectId, to.id]) {
      await auditCheck(tx, {
        what: "check.moved",
        check: { ...check, projectId: side },
        by: request,
        at,
        ...moved,
      });
    }
    return { kind: "moved" };
  });
}

/** Serializes the move with changes of dependencies in the old project and of policies in the new one. */
async function lockMove(tx: Tx, { from, to }: { from: number; to: number }): Promise<void> {
  // In the order of ids, so that opposite moves do not wait for each other.
  if (from < to) await lockPolicies(tx, from);
  await holdPolicies(tx, to);
  if (from > to) await lockPolicies(tx, from);
}

/** Derives the rules of a check in the project that it is in now. Passed deadlines count by the old ones. */
async function judgeAnew(tx: Tx, { check, stored }: LockedCheck, command: Command): Promise<void> {
  const { at, projectId } = command;
  const rules = (await rewriteRules(tx, { projectId, checks: [check] })).get(check.id) ?? null;
  if (isSameRules(rules, check.settings.rules)) return;
  const timing = { ...check.settings, rules };
  const visibility = await checkVisibility(tx, stored, command);
  const outcome = reviseTiming({ timing: check.settings, state: stored.state }, { timing, at, visibility });
  await writeStateChange(tx, { ...outcome, stored, timing, event: null, at });
}

export type PingNow = Command & {
  uuid: string;
  remoteAddr: string | null;
  ua: string;
} & Pick<RecordOptions, "pingLogRows" | "rules">;

/**
 * Records a success that a user sent from the dashboard. It comes from no intake and has no sequence number;
 * the user waits for the commit.
 */
export function recordPingNow(database: Database, request: PingNow): Promise<{ kind: "recorded" } | Absent> {
  const { uuid, at, visibility, rules, pingLogRows, remoteAddr, ua } = request;
  const signal: AcceptedSignal = {
    target: { by: "uuid", uuid },
    // As a POST, so that checks that accept only POST accept it.
    source: { by: "http", action: "success", method: "POST" },
    rid: null,
    exitStatus: null,
    scheme: "https",
    remoteAddr,
    ua,
    body: null,
    at,
  };
  return inRetriedTransaction(database, async (tx) => {
    const locked = await lockCheck(tx, request);
    if ("kind" in locked) return locked;
    const targets = await lockTargetsOf(tx, [signal]);
    const [result] = await applyBatch(tx, [signal], {
      visibility,
      rules,
      pingLogRows,
      replayed: false,
      targets,
    });
    if (result !== "recorded") return { kind: "not found" };
    await auditCheck(tx, { what: "check.pinged", check: locked.check, by: request, at });
    return { kind: "recorded" };
  });
}

/** An open problem becomes an incident of the new project, without a message. */
async function moveAlert(
  tx: Tx,
  { checkId, projectId }: { checkId: number; projectId: number },
): Promise<void> {
  const alert = await findMovedAlert(tx, checkId);
  if (alert === null) return;
  const { openedAt } = alert;
  const incident = { projectId, openedAt, severity: "normal", key: null, nextStepAt: null } as const;
  const [incidentId = 0] = await insertIncidents(tx, [incident]);
  await setIncidentOfAlert(tx, { checkId, incidentId });
  await resolveIncidents(tx, [alert.incidentId]);
}

/** Deletes the history of a check and resets its state to "new". Ping numbers continue. */
export function clearHistory(database: Database, request: Command): Promise<{ kind: "cleared" } | Absent> {
  const { at } = request;
  return inRetriedTransaction(database, async (tx) => {
    const locked = await lockCheck(tx, request);
    if ("kind" in locked) return locked;
    const { check, stored } = locked;
    await deleteHistory(tx, check.id);
    const { pingCount, coalescedCount, rateMinuteAt, rateCount, newestAt } = stored.state;
    // Signals received before the clearing and applied later change nothing.
    const kept = { pingCount, coalescedCount, rateMinuteAt, rateCount, newestAt, commandAt: at };
    const cleared = {
      ...stored,
      state: { ...NEW_STATE, ...kept },
      downAt: null,
      lastSuccessN: null,
      today: null,
    };
    await writeStates(tx, [cleared]);
    await auditCheck(tx, { what: "check.cleared", check, by: request, at });
    return { kind: "cleared" };
  });
}

/** Moves a check to the trash. Its history is kept until the trash retention period ends. */
export function trashCheck(database: Database, request: Command): Promise<{ kind: "deleted" } | Absent> {
  return inRetriedTransaction(database, async (tx) => {
    const locked = await lockCheck(tx, request);
    if ("kind" in locked) return locked;
    const { check } = locked;
    await markCheckDeleted(tx, { checkId: check.id, at: request.at });
    const incidentId = await closeAlertOfTrashed(tx, { checkId: check.id, at: request.at });
    if (incidentId !== null) await resolveIncidents(tx, [incidentId]);
    const before = { uuid: check.uuid };
    await auditCheck(tx, { what: "check.deleted", check, by: request, before, at: request.at });
    return { kind: "deleted" };
  });
}

export type Restoring = Omit<Command, "checkId"> & LimitDefault & { uuid: string };

/**
 * Restores a check from the trash. Its pings were rejected while it was there, so expectation starts again
 * now. Refused if its owner has reached the check limit; "not found" if it is not in the trash or its
 * retention period is over.
 */
export function restoreCheck(
  database: Database,
  request: Restoring,
): Promise<{ kind: "restored" } | Refused | Absent> {
  const { uuid, projectId, at } = request;
  return inRetriedTransaction(database, async (tx) => {
    const found = await findDeletedCheck(tx, uuid);
    if (found === null || found.projectId !== projectId) return { kind: "not found" };
    const quota = await lockQuota(tx, request);
    if (quota === null) return { kind: "not found" };
    if (!mayCreateCheck(quota)) return { kind: "refused", code: "forbidden", text: ERROR_TEXT.checkLimit };
    const [stored] = await lockStates(tx, [found.id]);
    const deletedAt = await deletedAtOf(tx, found.id);
    if (stored === undefined || deletedAt === null || deletedAt < keptFrom(DAYS_KEPT.deletedCheck, at)) {
      return { kind: "not found" };
    }
    await unmarkCheck(tx, found.id);
    await reopenAlertOfRestored(tx, found.id);
    const check = await findCheckByUuid(tx, uuid);
    if (check === null) return { kind: "not found" };
    // Policies may have changed while it was in the trash.
    const rules = (await rewriteRules(tx, { projectId, checks: [check] })).get(check.id) ?? null;
    const timing = { ...check.settings, rules };
    const state = { ...stored.state, lastStartAt: null, lastStartRid: null, expectFromAt: at };
    await writeStateChange(tx, { ...nonePassed(state), stored, timing, event: null, at });
    await auditCheck(tx, { what: "check.restored", check, by: request, at });
    return { kind: "restored" };
  });
}

/**
 * All history tables; none has a foreign key. Deliveries are found by their flips, so they are deleted first.
 */
const HISTORY: readonly ((tx: Tx, checkId: number) => Promise<void>)[] = [
  deleteDeliveriesOfCheck,
  removeAlerts,
  deleteFlipsOfCheck,
  deleteEventsOfCheck,
  deleteBodiesOfCheck,
  deletePingsOfCheck,
  deleteRunChunksOfCheck,
  deleteDaysOfCheck,
  deleteQuarantineOfCheck,
  deleteRefusedOfCheck,
  deleteRejectedOfCheck,
];

async function removeAlerts(tx: Tx, checkId: number): Promise<void> {
  await resolveIncidents(tx, await deleteAlertsOfCheck(tx, checkId));
}

/** Deletes the history of a check whose state is locked. */
async function deleteHistory(tx: Tx, checkId: number): Promise<void> {
  for (const remove of HISTORY) await remove(tx, checkId);
}

/** Deletes one check in the caller's transaction. False: it did not exist. */
export async function removeCheck(tx: Tx, checkId: number): Promise<boolean> {
  // Every writer locks the state first; a signal that arrives now finds no check afterwards.
  await lockStates(tx, [checkId]);
  await deleteHistory(tx, checkId);
  return deleteCheckRow(tx, checkId);
}

/**
 * Deletes at most `limit` checks whose trash retention period is over; returns how many. They can no longer
 * be restored, so no restore can run concurrently.
 */
export async function removeDeletedChecks(
  database: Database,
  { now, limit }: { now: Instant; limit: number },
): Promise<number> {
  const before = keptFrom(DAYS_KEPT.deletedCheck, now);
  const checkIds = await findChecksDeletedBefore(database, { before, limit });
  for (const checkId of checkIds) await inTransaction(database, (tx) => removeCheck(tx, checkId));
  return checkIds.length;
}
