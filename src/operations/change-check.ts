// The one room through which API, dashboard and pings with create=1 make, change and delete checks: each verb
// is one transaction, and what it does is asked of core. Who may do it has been decided before.
import { mayCreateCheck, mayProvisionCheck, newCheck, provisionedCheck } from "../core/check.ts";
import { ERROR_TEXT } from "../core/errors.ts";
import type { Instant } from "../core/instant.ts";
import type { Passage, Sight } from "../core/machine/deadline.ts";
import { pause, resume } from "../core/machine/transition.ts";
import {
  meetsCriteria,
  type UniqueCriteria,
  type UniqueField,
  uniqueCriteria,
} from "../core/request/unique.ts";
import { findChecksBySlug, findOldestMatch } from "../store/checks/check-search.ts";
import type { Database } from "../store/db.ts";
import { type CheckEvent, listEdits } from "../store/history/events.ts";
import { findProjectByPingKey } from "../store/accounts/projects.ts";
import type { Tx } from "../store/transaction.ts";
import { auditCheck } from "./changing/audit-check.ts";
import { chooseChannels } from "./changing/chosen-channels.ts";
import { type LimitDefault, lockCriteria, lockQuota, makeCheck } from "./changing/creation.ts";
import { type Edit, editCheck } from "./changing/edit.ts";
import {
  type Absent,
  channelUuidsOf,
  type CheckName,
  type CheckWithChannels,
  lockCheck,
  type LockedCheck,
  present,
  type Refused,
} from "./changing/locked-check.ts";
import { inRetriedTransaction, OvertakenError } from "./changing/retried.ts";
import { writeStateChange } from "./changing/state-change.ts";
import { ownSight } from "./recording/own-sight.ts";
import { removeCheck } from "./remove-check.ts";

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
    throw new OvertakenError("The check was changed or deleted in the meantime.");
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
export type Overtaken = { kind: "overtaken"; version: Instant; edits: CheckEvent[] };

/** So many edits are told of at most. */
const EDITS_TOLD_MAX = 10;

/** The same, unless settings have been changed after `version`, the `updatedAt` that the change is based on. */
export function updateCheckSince(
  database: Database,
  request: CheckName & Edit & { version: Instant },
): Promise<Done<"updated"> | Refused | Absent | Overtaken> {
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
  const edits = await listEdits(tx, { checkIds: [check.id], after: version, limit: EDITS_TOLD_MAX });
  return edits.filter(({ detail }) => Object.keys(detail["after"] ?? {}).some((name) => name !== "channels"));
}

/** A check to be commanded, when, and by whom; a key is no person, and null. */
export type Command = CheckName & {
  at: Instant;
  accountId: number | null;
  keyId?: number | null;
  /** How far we have seen, for a deadline that passed before the command. */
  sight: Sight;
};

/** Stops watching a check; one that is paused already stays so, whatever older signals are still on their way. */
export function pauseCheck(database: Database, request: Command): Promise<Done<"paused"> | Absent> {
  return inRetriedTransaction(database, async (tx) => {
    const locked = await lockCheck(tx, request);
    if ("kind" in locked) return locked;
    const { check, stored } = locked;
    const passage = pause(
      { timing: check.settings, state: stored.state },
      { at: request.at, sight: await ownSight(tx, stored, request) },
    );
    return { kind: "paused", check: await obey(tx, { ...request, locked, passage, as: "paused" }) };
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
    const passage = resume(
      { timing: check.settings, state: stored.state },
      { at: request.at, sight: await ownSight(tx, stored, request) },
    );
    if (passage === null) return { kind: "refused", code: "conflict", text: ERROR_TEXT.notPaused };
    return { kind: "resumed", check: await obey(tx, { ...request, locked, passage, as: "resumed" }) };
  });
}

type Obeyed = {
  locked: LockedCheck;
  passage: Passage;
  as: "paused" | "resumed";
  accountId: number | null;
  keyId?: number | null;
  at: Instant;
};

async function obey(tx: Tx, obeyed: Obeyed): Promise<CheckWithChannels> {
  const { locked, passage, as, accountId, at } = obeyed;
  const { check, stored } = locked;
  const channelUuids = await channelUuidsOf(tx, check.id);
  // A deadline that has passed comes first, whether or not a sweeper was there before.
  const from = passage.flips.at(-1)?.to ?? stored.state.status;
  // Paused once more is worth no line: nothing that can be seen has changed.
  const event = from === as ? null : { kind: as, accountId, detail: { from } };
  const next = await writeStateChange(tx, { ...passage, stored, timing: check.settings, event, at });
  if (event !== null) await auditCheck(tx, { what: `check.${as}`, check, by: obeyed, at });
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
