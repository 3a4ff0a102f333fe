// Makes a check inside the caller's transaction, and holds back whoever would make the same one, or one too
// many, at the same moment. Whether it may be made is asked of core.
import { randomUUID } from "node:crypto";
import type { CheckQuota, CheckSettings } from "../../core/check.ts";
import type { Instant } from "../../core/instant.ts";
import { NEW_STATE } from "../../core/machine/state.ts";
import type { UniqueCriteria } from "../../core/request/unique.ts";
import { countChecksOwnedBy } from "../../store/checks/check-search.ts";
import { insertState } from "../../store/checks/check-states.ts";
import { insertCheck, lockCreation, lockOwnedChecks } from "../../store/checks/checks.ts";
import { holdProject } from "../../store/accounts/members.ts";
import { findProjectOwner } from "../../store/accounts/projects.ts";
import type { Tx } from "../../store/transaction.ts";
import { assignChosen, type ChosenChannels } from "./chosen-channels.ts";
import { type CheckWithChannels, present } from "./locked-check.ts";

/** Until the transaction ends nobody else looks for, or makes, a check of the project with one of these values. */
export async function lockCriteria(
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
export async function lockQuota(
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
export async function makeCheck(
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
