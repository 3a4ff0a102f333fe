// A check that is about to be changed: found, locked, and read as it is under the lock. Every change begins
// here, because every writer locks the state of a check before anything else of it.
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
import { passDeadlines, type PassedDeadlines, type Visibility } from "../core/deadline.ts";
import { ERROR_TEXT, type ErrorCode, FIELD_PROBLEM, fieldText } from "../core/errors.ts";
import { uniqueKey, withTag } from "../core/identity.ts";
import type { Instant } from "../core/instant.ts";
import { NAME_LENGTH_MAX, SLUG_LENGTH_MAX, TAGS_LENGTH_MAX } from "../core/limits.ts";
import { keptFrom } from "../core/retention.ts";
import type { AcceptedSignal } from "../core/signal.ts";
import { downAtOf, type Flip, NEW_STATE, sweepAt, type Timing } from "../core/state.ts";
import { pause, resume } from "../core/transition.ts";
import { sha1Hex } from "../lib/secrets.ts";
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
  findUuidByUniqueKey,
  insertCheck,
  insertState,
  listWithoutUniqueKey,
  lockCreation,
  lockOwnedChecks,
  lockStates,
  markCheckDeleted,
  moveCheck,
  restoreCheck as unmarkCheck,
  type StoredState,
  updateCheck as writeSettings,
  updateSchedules,
  type UuidOfCheck,
  writeStates,
  writeUniqueKeys,
} from "../store/checks.ts";
import type { Database, Db } from "../store/db.ts";
import { deleteDeliveriesOfCheck } from "../store/deliveries.ts";
import { type CheckEvent, deleteEventsOfCheck, insertEvents, listEdits } from "../store/events.ts";
import { deleteFlipsOfCheck, insertFlips } from "../store/flips.ts";
import { deleteRefusedOfCheck } from "../store/intakes.ts";
import { deleteBodiesOfCheck, deletePingsOfCheck } from "../store/pings.ts";
import { findProjectByPingKey, findProjectOwner, holdProject } from "../store/projects.ts";
import { deleteRejectedOfCheck } from "../store/quarantine.ts";
import { deleteDaysOfCheck, deleteRunChunksOfCheck } from "../store/runs.ts";
import { inTransaction, type Tx } from "../store/transaction.ts";
import { auditAll } from "./audit.ts";
import { planDeliveries, planNotices } from "./plan-deliveries.ts";
import {
  applyBatch,
  lockTargetsOf,
  needsCheckVisibility,
  notObservedEvents,
  checkVisibility,
  checkVisibilities,
  type RecordOptions,
} from "./record-signals.ts";
import { inRetriedTransaction, ConflictError } from "./retry.ts";

/** Which check is meant, and the project in which the caller may change checks. */
export type CheckName = { projectId: number } & ({ checkId: number } | { uuid: string });

/** Why there is nothing to change. A deleted check is not found, whether or not it can be taken back. */
export type Absent = { kind: "not found" } | { kind: "other project" };

/** A request that cannot be granted. Nothing has been changed; the text may be shown. */
export type Refused = { kind: "refused"; code: ErrorCode; text: string };

/** Settings and state that nobody else changes until the transaction ends. */
export type LockedCheck = { check: Check; stored: StoredState };

/** A check as the API presents it, with the UUIDs of its channels in the order of their texts. */
export type CheckWithChannels = CheckWithState & { channelUuids: readonly string[] };

/** Locks a check of a project. A check of another project is told apart, and its lock is let go with the transaction. */
async function lockCheck(tx: Tx, name: CheckName): Promise<LockedCheck | Absent> {
  const checkId = "checkId" in name ? name.checkId : (await findCheckByUuid(tx, name.uuid))?.id;
  if (checkId === undefined) return { kind: "not found" };
  const [stored] = await lockStates(tx, [checkId]);
  // Read after the lock: whoever held it may have changed the settings, or deleted the check.
  const [check] = stored === undefined ? [] : await findChecksByIds(tx, [checkId]);
  if (stored === undefined || check === undefined) return { kind: "not found" };
  return check.projectId === name.projectId ? { check, stored } : { kind: "other project" };
}

/** The channels of a check, in the order in which they are shown. */
async function channelUuidsOf(db: Db, checkId: number): Promise<string[]> {
  const assignments = await listAssignmentsOfChecks(db, [checkId]);
  return assignments.map(({ channelUuid }) => channelUuid).toSorted();
}

/** The parts of a check put together for the answer. */
function present({ check, stored }: LockedCheck, channelUuids: readonly string[]): CheckWithChannels {
  const { checkId: _, ...state } = stored;
  return { ...check, ...state, channelUuids };
}

// Makes a check inside the caller's transaction, and holds back whoever would make the same one, or one too
// many, at the same moment. Whether it may be made is asked of core.

/** Until the transaction ends nobody else looks for, or makes, a check of the project with one of these values. */
async function lockCriteria(
  tx: Tx,
  { projectId, criteria }: { projectId: number; criteria: UniqueCriteria },
): Promise<void> {
  // One lock for each value, and always in this order: two requests that share only some of them meet as well.
  const values = Object.entries(criteria).map(([field, value]) => `${field}:${value}`);
  for (const what of values.toSorted()) await lockCreation(tx, { projectId, what });
}

/** The limit of an account that has none of its own; null means without limit. */
export type LimitDefault = { checkLimitDefault: number | null };

/**
 * How many checks the owner of a project has and may have; null when there is no such project. Where there is a
 * limit, nobody else adds to the count until the transaction ends; where there is none, nothing is counted.
 */
async function lockQuota(
  tx: Tx,
  { projectId, checkLimitDefault }: LimitDefault & { projectId: number },
): Promise<CheckQuota | null> {
  // First, and apart: one that is just being removed has no owner afterwards, and must not get a check that nobody sees.
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
  settings: CheckSettings;
  channels: ChosenChannels | null;
  at: Instant;
};

/** Adds a check of which nobody has heard yet. */
async function makeCheck(
  tx: Tx,
  { projectId, settings, channels, at }: CheckToMake,
): Promise<CheckWithChannels> {
  const made = { uuid: randomUUID(), badgeUuid: randomUUID(), projectId, settings, createdAt: at };
  const checkId = await insertCheck(tx, made);
  await insertState(tx, checkId);
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

// The one room through which API, dashboard and pings with create=1 make, change and delete checks: each verb
// is one transaction, and what it does is asked of core. Who may do it has been decided before.

/**
 * What a change made of a check. When other transactions hold the check for too long, each change throws the database's
 * error, and CommitInDoubtError when the commit was not confirmed: both are answered with `unavailable`.
 */
type Done<Kind extends string> = { kind: Kind; check: CheckWithChannels };

export type CreateRequest = Edit &
  LimitDefault & {
    projectId: number;
    /** The fields by which the request means an existing check; empty for a plain create. */
    unique: readonly UniqueField[];
  };

/**
 * Makes a check, or updates the one that `unique` means; of identical requests at the same moment one makes it
 * and the others update it. Refused: the account has as many checks as it may have, and only then the channels.
 * "not found": there is no such project.
 */
export function createCheck(
  database: Database,
  request: CreateRequest,
): Promise<Done<"created"> | Done<"updated"> | Refused | { kind: "not found" }> {
  const criteria = uniqueCriteria(request.params, request.unique);
  return inRetriedTransaction(database, async (tx) => {
    const match = criteria === null ? null : await lockMatch(tx, { ...request, criteria });
    if (match === null) return create(tx, request);
    const edited = await editCheck(tx, match, request);
    return edited.kind === "refused" ? edited : { ...edited, kind: "updated" };
  });
}

/** The check that an upsert means, locked; null when it has to be made, and nobody else can be making it. */
async function lockMatch(
  tx: Tx,
  { projectId, criteria }: { projectId: number; criteria: UniqueCriteria },
): Promise<LockedCheck | null> {
  const wanted = { projectId, criteria };
  let found = await findOldestMatch(tx, wanted);
  if (found === null) {
    // Somebody may be making it just now: look again when nobody can be.
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

async function create(
  tx: Tx,
  request: CreateRequest,
): Promise<Done<"created"> | Refused | { kind: "not found" }> {
  const { projectId, at, channels: param } = request;
  const quota = await lockQuota(tx, request);
  if (quota === null) return { kind: "not found" };
  if (!mayCreateCheck(quota)) return { kind: "refused", code: "forbidden", text: ERROR_TEXT.checkLimit };
  const channels = param === null ? null : await chooseChannels(tx, { projectId, param });
  if (channels?.kind === "refused") return channels;
  const settings = newCheck(request.params, request);
  const check = await makeCheck(tx, { projectId, settings, channels, at });
  const { kind, schedule, timeoutSeconds, graceSeconds, tz } = settings;
  const after = { kind, ...(kind === "simple" ? { timeoutSeconds } : { schedule, tz }), graceSeconds };
  await auditCheck(tx, { what: "check.created", check, by: request, at, after });
  return { kind: "created", check };
}

export type ProvisionRequest = LimitDefault & { pingKey: string; slug: string; at: Instant };

/**
 * Makes the check that a ping by key and slug asks for, with all channels of its project. "exists": somebody
 * was quicker, or several share the slug. "unknown": no project has the key, or its owner may have no more.
 */
export function provisionCheck(
  database: Database,
  { pingKey, slug, at, checkLimitDefault }: ProvisionRequest,
): Promise<"created" | "exists" | "unknown"> {
  return inRetriedTransaction(database, async (tx) => {
    const project = await findProjectByPingKey(tx, pingKey);
    if (project === null) return "unknown";
    const { id: projectId } = project;
    await lockCriteria(tx, { projectId, criteria: { slug } });
    if ((await findChecksBySlug(tx, { pingKey, slug })).length > 0) return "exists";
    const quota = await lockQuota(tx, { projectId, checkLimitDefault });
    if (quota === null || !mayProvisionCheck(quota)) return "unknown";
    const channels = await chooseChannels(tx, { projectId, param: "*" });
    if (channels.kind === "refused") throw new Error(`all channels were rejected: ${channels.text}`);
    await makeCheck(tx, { projectId, settings: provisionedCheck(slug), channels, at });
    return "created";
  });
}

/** Changes what the request gives, and nothing else. Refused: the channels. */
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

/** The settings have been changed since; `edits` says how, newest first, and `version` is the present one. */
export type ConflictingEdits = { kind: "overtaken"; version: Instant; edits: CheckEvent[] };

/** So many edits are told of at most. */
const EDITS_LISTED_MAX = 10;

/** The same, unless settings have been changed after `version`, the `updatedAt` that the change is based on. */
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

/** Edits of settings after an instant. Channels and the project are no settings. */
async function editsSince(tx: Tx, { check }: LockedCheck, version: Instant): Promise<CheckEvent[]> {
  if (check.updatedAt <= version) return [];
  const edits = await listEdits(tx, { checkIds: [check.id], after: version, limit: EDITS_LISTED_MAX });
  return edits.filter(({ detail }) => Object.keys(detail["after"] ?? {}).some((name) => name !== "channels"));
}

/** A check to be commanded, when, and by whom; a key is no person, and null. */
export type Command = CheckName & {
  at: Instant;
  accountId: number | null;
  keyId?: number | null;
  /** How far we have seen, for a deadline that passed before the command. */
  visibility: Visibility;
};

/** Stops watching a check; one that is paused already stays so, whatever older signals are still on their way. */
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

/** Watches a paused check again, as if it were new. Refused when it is not paused. */
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
  // A deadline that has passed comes first, whether or not a sweeper was there before.
  const from = outcome.flips.at(-1)?.to ?? stored.state.status;
  // Paused once more is worth no line: nothing that can be seen has changed.
  const event = from === as ? null : { kind: as, accountId, detail: { from } };
  const next = await writeStateChange(tx, { ...outcome, stored, timing: check.settings, event, at });
  if (event !== null) await auditCheck(tx, { what: `check.${as}`, check, by: command, at });
  return present({ check, stored: next }, channelUuids);
}

/** Deletes a check for good, with everything that was recorded about it. The answer has it as it was. */
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

// Changes the settings and the channels of a locked check, and what follows from them for its state: a deadline
// that has passed counts by the old settings, the next one by the new.

export type Edit = {
  params: CheckParams;
  /** The `channels` parameter; null when it is not given, and the channels stay. */
  channels: string | null;
  /** Whether a given name makes the slug; see core/check.ts. */
  deriveSlug: boolean;
  /** Who edits; null when it is a key and not a person. */
  accountId: number | null;
  keyId?: number | null;
  at: Instant;
  /** How far we have seen, for a deadline that passed before the edit. */
  visibility: Visibility;
};

/** How much of a text the history keeps: a description may have megabytes, and be edited every minute. */
const HISTORY_TEXT_LENGTH_MAX = 200;

/** Edits a check. What is the same as before is not written, so that a repeated request leaves no trace. */
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
  const settings = patchCheck(check.settings, edit.params, edit);
  const patch = differences({ before: check.settings, after: settings });
  const current = await channelUuidsOf(tx, checkId);
  const isReassigned = chosen !== null && (await assignChosen(tx, { checkId, chosen, current }));
  const hasChanges = isReassigned || Object.keys(patch).length > 0;
  const written = hasChanges ? await writeSettings(tx, { checkId, patch, at }) : check;
  if (written === null) throw new ConflictError("The check was moved to the trash.");
  const before = differences({ before: settings, after: check.settings });
  const detail = {
    before: shortened(isReassigned ? { ...before, channels: current } : before),
    after: shortened(isReassigned ? { ...patch, channels: chosen.uuids } : patch),
  };
  const outcome = passDeadlines(
    { timing: check.settings, state: stored.state },
    { visibility: await checkVisibility(tx, stored, edit), beforeAt: at },
  );
  const next = await writeStateChange(tx, {
    ...outcome,
    // What cannot be seen yet is left to the sweeper, and to the settings that hold then.
    unobserved: null,
    stored,
    timing: settings,
    event: hasChanges ? { kind: "edited", accountId, detail } : null,
    at,
  });
  if (hasChanges) await auditCheck(tx, { what: "check.changed", check: written, by: edit, at, ...detail });
  const uuids = chosen?.uuids ?? current;
  return { kind: "edited", check: present({ check: written, stored: next }, uuids), isChanged: hasChanges };
}

/** The fields of `after` that `before` has otherwise. */
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
  // By code points, because half of a surrogate pair cannot be stored.
  const characters = Array.from(value.slice(0, 2 * HISTORY_TEXT_LENGTH_MAX));
  return `${characters.slice(0, HISTORY_TEXT_LENGTH_MAX).join("")}…`;
}

// What a command or an edit does to the running state of a locked check: asked of core, then written with its
// flips, what is owed for them, and its line in the history. A ping that waits for the lock finds all of it or nothing.

export type StateChange = PassedDeadlines & {
  /** What is stored now, and locked. */
  stored: StoredState;
  /** The settings that hold from now on. */
  timing: Timing;
  /** What was done, for the history; null when nobody did anything worth a line. */
  event: Pick<CheckEvent, "kind" | "accountId" | "detail"> | null;
  at: Instant;
};

/** Writes a changed state, its deadline under the settings that hold now, its flips and its events. */
async function writeStateChange(tx: Tx, change: StateChange): Promise<StoredState> {
  const next = nextOf(change);
  await writeAll(tx, { changes: [{ ...change, next }], at: change.at });
  return next;
}

/** The same for several checks at one instant, in as many statements as for one. */
async function writeStateChanges(
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
  if (flips.length > 0) await writeFlips(tx, { flips, at });
  const excused = changes.flatMap(({ stored: { checkId }, notices }) =>
    notices.map(({ blind }) => ({ checkId, blind })),
  );
  await planNotices(tx, excused, at);
  const events = changes.flatMap(({ stored: { checkId }, event, ...outcome }) => {
    const unobserved = notObservedEvents(checkId, outcome);
    return event === null ? unobserved : [...unobserved, { checkId, at, ...event }];
  });
  if (events.length > 0) await insertEvents(tx, events);
}

async function writeFlips(
  tx: Tx,
  { flips: written, at }: { flips: readonly { checkId: number; flip: Flip }[]; at: Instant },
): Promise<void> {
  const flipIds = await insertFlips(tx, written);
  await planDeliveries(
    tx,
    written.map((one, index) => ({ ...one, flipId: flipIds[index] ?? 0 })),
    at,
  );
}

// The channels that a request chooses for a check: looked up in its project, judged by core, and assigned.

/** Both in the same order, that of the UUIDs. */
export type ChosenChannels = { kind: "chosen"; channelIds: readonly number[]; uuids: readonly string[] };

/** What the `channels` parameter of a request means in a project now, or what is wrong with it. */
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

/** Makes the chosen ones the channels of a check; true when that is another set than `current`. */
async function assignChosen(
  tx: Tx,
  { checkId, chosen, current }: { checkId: number; chosen: ChosenChannels; current: readonly string[] },
): Promise<boolean> {
  if (chosen.uuids.join() === current.join()) return false;
  await assignChannels(tx, { checkId, channelIds: chosen.channelIds });
  return true;
}

// Writes down who did what to a check, in the transaction that does it. Where nobody is named, as for a check that
// makes itself by its first ping, nothing is written.

export type CheckAudit = {
  what: Extract<AuditAction, `check.${string}`>;
  check: Pick<Check, "uuid" | "projectId" | "settings">;
  /** A person or a key. */
  by: { accountId: number | null; keyId?: number | null };
  before?: object;
  after?: object;
  at: Instant;
};

/** Notes what was done to a check; it is named by its name, and without one by its UUID. */
async function auditCheck(tx: Tx, done: CheckAudit): Promise<void> {
  await auditChecks(tx, [done]);
}

/** Notes what was done to several checks, each by itself. */
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

// Changes a check by what it is at that moment: a tag or a channel more or less. Two who do so at once both get what
// they asked for, because what was there before is read under the check's lock.

/** One tag, or one channel of the check's project by its UUID, to be there or not. */
export type Adjustment = { isOn: boolean } & ({ tag: string } | { channel: string });

type AdjustRequest = CheckName &
  Omit<Edit, "params" | "channels" | "deriveSlug"> & { adjustment: Adjustment };

/** What is so already stays without a trace, and is not changed. Refused: more tags than fit, or an unknown channel. */
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

// Gives several checks of a project other schedules, all of them in one transaction: they are changed together or not at
// all, and with as few statements as one. What becomes of each is what an edit of it would do.

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
): Promise<Rescheduled[] | ConflictingEdits> {
  return inRetriedTransaction(database, async (tx) => {
    const found = await lockChecks(tx, request);
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

async function writeSchedules(
  tx: Tx,
  edits: readonly ScheduleEdit[],
  request: RescheduleRequest,
): Promise<void> {
  const { at, visibility, accountId } = request;
  const changes = edits.map(({ locked: { check }, settings }) => ({ checkId: check.id, settings }));
  if ((await updateSchedules(tx, { changes, at })) !== changes.length) {
    throw new ConflictError("One of the checks was moved to the trash.");
  }
  const passed = edits
    .map(({ locked: { stored } }) => stored)
    .filter((stored) => needsCheckVisibility(stored, at));
  const visibilityOf = await checkVisibilities(tx, passed, visibility);
  const done = edits.map(({ locked: { check, stored }, settings, after }) => {
    const detail = { before: differences({ before: settings, after: check.settings }), after };
    // What has passed counts by the old schedule; what cannot be seen yet is left to the sweeper.
    const outcome = passDeadlines(
      { timing: check.settings, state: stored.state },
      { visibility: visibilityOf(check.id), beforeAt: at },
    );
    const event = { kind: "edited", accountId, detail };
    return { check, detail, state: { ...outcome, unobserved: null, stored, timing: settings, event } };
  });
  await writeStateChanges(tx, { changes: done.map(({ state }) => state), at });
  const what = "check.changed";
  await auditChecks(
    tx,
    done.map(({ check, detail }) => ({ what, check, by: request, at, ...detail })),
  );
}

// Makes another check with the settings and the channels of one that is there.

/** Copies a check. Refused: its owner has as many checks as they may have. */
export function copyCheck(
  database: Database,
  request: Command & LimitDefault,
): Promise<{ kind: "copied"; check: CheckWithChannels } | Refused | Absent> {
  const { projectId, at } = request;
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
    const check = await makeCheck(tx, { projectId, settings, channels, at });
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

// Moves a check to another project. It keeps its address, its state and its history; its channels are those of the
// project that it comes into. Whether the person may do that in both has been decided before.

export type Transfer = Command & LimitDefault & { to: { id: number; name: string }; from: { name: string } };

/** Moves a check. Refused: the owner of the other project has as many checks as they may have. */
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
    await moveCheck(tx, { checkId: check.id, projectId: to.id, at });
    await assignChannels(tx, { checkId: check.id, channelIds: channels.channelIds });
    const { uuid } = check;
    const moved = { before: { uuid, project: from.name }, after: { uuid, project: to.name } };
    // Both projects are told: one has lost it, and one has it now.
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

// A signal that a person gives by pressing a button: recorded as any other, in a transaction of its own. It comes from
// no intake, so it has no number: whoever pressed waits for the commit, and presses again if there was none.

export type PingNow = Command & {
  uuid: string;
  remoteAddr: string | null;
  ua: string;
} & Pick<RecordOptions, "pingLogRows" | "rules">;

/** Records a success of a check now. What it does is decided as for any signal. */
export function recordPingNow(database: Database, request: PingNow): Promise<{ kind: "recorded" } | Absent> {
  const { uuid, at, visibility, rules, pingLogRows, remoteAddr, ua } = request;
  const signal: AcceptedSignal = {
    target: { by: "uuid", uuid },
    // As a POST: a check that takes nothing else takes this.
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

// Forgets what was recorded about a check, which goes on as if nobody had heard of it yet.

/** Clears the history of a check. Its pings go on being numbered from where they were. */
export function clearHistory(database: Database, request: Command): Promise<{ kind: "cleared" } | Absent> {
  const { at } = request;
  return inRetriedTransaction(database, async (tx) => {
    const locked = await lockCheck(tx, request);
    if ("kind" in locked) return locked;
    const { check, stored } = locked;
    await deleteHistory(tx, check.id);
    const { pingCount, coalescedCount, rateMinuteAt, rateCount, newestAt } = stored.state;
    // What is still on its way was sent before the clearing, and changes nothing.
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

// Deleting a check from the dashboard: it is hidden from everyone at once, and can be taken back for some days.

/** Puts a check into the bin. What was recorded about it stays until its days are over. */
export function trashCheck(database: Database, request: Command): Promise<{ kind: "deleted" } | Absent> {
  return inRetriedTransaction(database, async (tx) => {
    const locked = await lockCheck(tx, request);
    if ("kind" in locked) return locked;
    const { check } = locked;
    await markCheckDeleted(tx, { checkId: check.id, at: request.at });
    const before = { uuid: check.uuid };
    await auditCheck(tx, { what: "check.deleted", check, by: request, before, at: request.at });
    return { kind: "deleted" };
  });
}

export type Restoring = Omit<Command, "checkId"> & LimitDefault & { uuid: string };

/**
 * Takes a check out of the bin. Its signals were refused meanwhile, which is no fault of the job: expectation starts
 * anew. Refused: its owner has as many checks as they may have. "not found": it is not there, or its days are over.
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
    if (stored === undefined || deletedAt === null || deletedAt < keptFrom("deletedCheck", at)) {
      return { kind: "not found" };
    }
    await unmarkCheck(tx, found.id);
    const check = await findCheckByUuid(tx, uuid);
    if (check === null) return { kind: "not found" };
    const state = { ...stored.state, lastStartAt: null, lastStartRid: null, expectFromAt: at };
    const nothing = { flips: [], notices: [], unobserved: null };
    const event = null;
    await writeStateChange(tx, { ...nothing, state, stored, timing: check.settings, event, at });
    await auditCheck(tx, { what: "check.restored", check, by: request, at });
    return { kind: "restored" };
  });
}

// Removes a check for good, with everything that was recorded about it. No table of the history has a foreign
// key, so this is the one place that knows them all.

/** In this order: deliveries are found by their flips, so they go before them. */
const HISTORY: readonly ((tx: Tx, checkId: number) => Promise<void>)[] = [
  deleteDeliveriesOfCheck,
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

/** Forgets everything that was recorded about a check, whose state the caller has locked. */
async function deleteHistory(tx: Tx, checkId: number): Promise<void> {
  for (const remove of HISTORY) await remove(tx, checkId);
}

/** Removes one check inside the caller's transaction. False: it was gone already. */
export async function removeCheck(tx: Tx, checkId: number): Promise<boolean> {
  // Every writer locks the state first; a signal that comes meanwhile finds no check afterwards.
  await lockStates(tx, [checkId]);
  await deleteHistory(tx, checkId);
  return deleteCheckRow(tx, checkId);
}

/**
 * Removes at most `limit` checks whose days of grace are over; returns how many. They cannot be taken back any
 * more by then, so nobody can be doing so at the same moment.
 */
export async function removeDeletedChecks(
  database: Database,
  { now, limit }: { now: Instant; limit: number },
): Promise<number> {
  const before = keptFrom("deletedCheck", now);
  const checkIds = await findChecksDeletedBefore(database, { before, limit });
  for (const checkId of checkIds) await inTransaction(database, (tx) => removeCheck(tx, checkId));
  return checkIds.length;
}

// The check that a unique key names. Checks from before unique keys were stored get theirs when one is looked up.

/** So many keys are made between two statements, which is well below a millisecond each hundred. */
const KEYS_AT_ONCE = 500;

/** The UUID of the check with this key in one of these projects; null when there is none. */
export async function findByUniqueKey(
  database: Database,
  { key, projectIds }: { key: string; projectIds: readonly number[] },
): Promise<string | null> {
  const known = await findUuidByUniqueKey(database, { key, projectIds });
  if (known !== null) return known;
  let found: string | null = null;
  for (let afterId = 0; ; ) {
    const checks = await listWithoutUniqueKey(database, { projectIds, afterId, limit: KEYS_AT_ONCE });
    const keyed = checks.map((check) => ({ ...check, key: uniqueKey(check.uuid, sha1Hex) }));
    if (keyed.length > 0) await inTransaction(database, (tx) => writeUniqueKeys(tx, keyed));
    found ??= keyed.find((check) => check.key === key && !check.isDeleted)?.uuid ?? null;
    const last: UuidOfCheck | undefined = checks.at(-1);
    if (last === undefined || checks.length < KEYS_AT_ONCE) return found;
    afterId = last.id;
  }
}
