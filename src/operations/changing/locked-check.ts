// A check that is about to be changed: found, locked, and read as it is under the lock. Every change begins
// here, because every writer locks the state of a check before anything else of it.
import type { ErrorCode } from "../../core/errors.ts";
import { listAssignmentsOfChecks } from "../../store/alerts/check-channels.ts";
import { lockStates, type StoredState } from "../../store/checks/check-states.ts";
import {
  type Check,
  type CheckWithState,
  findCheckByUuid,
  findChecksByIds,
} from "../../store/checks/checks.ts";
import type { Db } from "../../store/db.ts";
import type { Tx } from "../../store/transaction.ts";

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
export async function lockCheck(tx: Tx, name: CheckName): Promise<LockedCheck | Absent> {
  const checkId = "checkId" in name ? name.checkId : (await findCheckByUuid(tx, name.uuid))?.id;
  if (checkId === undefined) return { kind: "not found" };
  const [stored] = await lockStates(tx, [checkId]);
  // Read after the lock: whoever held it may have changed the settings, or deleted the check.
  const [check] = stored === undefined ? [] : await findChecksByIds(tx, [checkId]);
  if (stored === undefined || check === undefined) return { kind: "not found" };
  return check.projectId === name.projectId ? { check, stored } : { kind: "other project" };
}

/** The channels of a check, in the order in which they are shown. */
export async function channelUuidsOf(db: Db, checkId: number): Promise<string[]> {
  const assignments = await listAssignmentsOfChecks(db, [checkId]);
  return assignments.map(({ channelUuid }) => channelUuid).toSorted();
}

/** The parts of a check put together for the answer. */
export function present({ check, stored }: LockedCheck, channelUuids: readonly string[]): CheckWithChannels {
  const { checkId: _, ...state } = stored;
  return { ...check, ...state, channelUuids };
}
