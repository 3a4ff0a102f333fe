// Changing the policies of checks, projects and tags, and the rules that follow from them. Authorization happens before.
import { auditDifference } from "../core/audit.ts";
import type { Visibility } from "../core/deadline.ts";
import { AppError } from "../core/errors.ts";
import type { Instant } from "../core/instant.ts";
import {
  changedPolicy,
  effectivePolicy,
  isSameRules,
  type Policy,
  type PolicyChange,
  policyProblem,
  type PolicyProblem,
  rulesOf,
  startLimitProblem,
  type TagRule,
  wholePolicy,
} from "../core/policy.ts";
import { reviseTiming } from "../core/transition.ts";
import { sha1Hex } from "../lib/secrets.ts";
import { listChannels, lockChannelsOfProject } from "../store/channels.ts";
import type { Database } from "../store/db.ts";
import {
  type CheckPolicy,
  deleteParents,
  deleteTagRules,
  findParents,
  findProjectPolicy,
  holdPolicies,
  insertParents,
  insertTagRules,
  listAncestors,
  listPolicies,
  listRules,
  listTagRules,
  lockPolicies,
  type ProjectPolicy,
  type StoredTagRule,
  writeCheckPolicy,
  writeProjectPolicy,
  writeRules,
} from "../store/policies.ts";
import { reviewSteps } from "../store/steps.ts";
import type { Tx } from "../store/transaction.ts";
import { type Actor, audit } from "./audit.ts";
import { auditCheck, lockCheck, lockChecks, writeStateChange, writeStateChanges } from "./checks.ts";
import { checkVisibilities, checkVisibility, needsCheckVisibility } from "./record-signals.ts";
import { inRetriedTransaction } from "./retry.ts";
import { rewriteRules } from "./rules.ts";

/** Who changes a policy and when. `expected`: the versions that the change applies to; null: any. */
export type PolicyEdit = {
  by: Actor;
  at: Instant;
  /** The visibility, for deadlines that passed before the change. */
  visibility: Visibility;
  expected: readonly number[] | null;
};

/** Hexadecimal digits of a hash that are a number which clients can store exactly. */
const VERSION_DIGITS = 12;

/** Identifies the content of a policy, so that it needs no counter. */
export function policyVersion(content: unknown): number {
  return Number.parseInt(sha1Hex(JSON.stringify(content)).slice(0, VERSION_DIGITS), 16);
}

/** What the version of a policy of a check depends on. */
export function checkPolicyVersion({ own, parents }: Pick<CheckPolicy, "own" | "parents">): number {
  return policyVersion([own, parents.map(({ uuid }) => uuid)]);
}

function requireVersion(version: number, expected: readonly number[] | null): void {
  if (expected === null || expected.includes(version)) return;
  throw new AppError("precondition_failed", "The policy was changed after you loaded it.");
}

function refuse(problem: PolicyProblem | null): void {
  if (problem !== null) throw new AppError("invalid", problem.text, problem.field);
}

export type CheckPolicyEdit = PolicyEdit & {
  projectId: number;
  checkId: number;
  change: PolicyChange;
  /** UUIDs of the checks that it depends on; absent: unchanged. */
  dependsOn?: readonly string[] | null;
};

/**
 * Changes the policy of a check. Deadlines that have passed count by the old rules; if the check is down and reaches a
 * threshold of the new ones, its alert opens. AppError `not_found`, `precondition_failed`, or `invalid` with the field.
 */
export function updateCheckPolicy(database: Database, edit: CheckPolicyEdit): Promise<void> {
  const { projectId, checkId, at, by } = edit;
  return inRetriedTransaction(database, async (tx) => {
    const locked = await lockCheck(tx, edit);
    if ("kind" in locked) throw new AppError("not_found", "The check no longer exists.");
    const { check, stored } = locked;
    if (edit.dependsOn === undefined) await holdPolicies(tx, projectId);
    else await lockPolicies(tx, projectId);
    const [before] = await listPolicies(tx, [checkId]);
    if (before === undefined) throw new Error("a locked check has no policy");
    requireVersion(checkPolicyVersion(before), edit.expected);
    const own = changedPolicy(before.own, edit.change);
    const { policy } = effectivePolicy({ ...before, own, project: before.project.policy });
    refuse(policyProblem(own));
    if (own.startWithin !== undefined) refuse(startLimitProblem(policy, check.settings));
    const parents = await chooseParents(tx, { ...edit, before: before.parents });
    const difference = auditDifference(
      { ...wholePolicy(before.own), dependsOn: uuidsOf(before.parents) },
      { ...wholePolicy(own), dependsOn: uuidsOf(parents) },
    );
    if (difference === null) return;
    await writeCheckPolicy(tx, { checkId, policy: own });
    if (parents !== before.parents) {
      await deleteParents(tx, checkId);
      await insertParents(tx, { checkId, parentIds: parents.map(({ id }) => id) });
    }
    const rules = rulesOf(policy, check.settings);
    if (!isSameRules(rules, check.settings.rules)) await writeRules(tx, [{ checkId, rules }]);
    await reviewSteps(tx, projectId);
    const timing = { ...check.settings, rules };
    const visibility = await checkVisibility(tx, stored, edit);
    const outcome = reviseTiming({ timing: check.settings, state: stored.state }, { timing, at, visibility });
    const event = { kind: "edited", accountId: by.accountId, detail: difference };
    await writeStateChange(tx, { ...outcome, stored, timing, event, at });
    await reviewSteps(tx, projectId);
    await auditCheck(tx, { what: "check.changed", check, by, at, ...difference });
  });
}

type Parents = CheckPolicy["parents"];

function uuidsOf(parents: Parents): string[] {
  return parents.map(({ uuid }) => uuid);
}

/** The checks that a check is going to depend on; the same list if that does not change. Policies are locked. */
async function chooseParents(
  tx: Tx,
  { projectId, checkId, dependsOn, before }: CheckPolicyEdit & { before: Parents },
): Promise<Parents> {
  if (dependsOn === undefined) return before;
  const uuids = [...new Set(dependsOn)];
  const parents = uuids.length === 0 ? [] : await findParents(tx, { projectId, uuids });
  if (parents.length < uuids.length) {
    throw new AppError("invalid", "One of the checks is not in this project.", "dependsOn");
  }
  const parentIds = parents.map(({ id }) => id);
  const ancestors = parentIds.length === 0 ? [] : await listAncestors(tx, parentIds);
  if (ancestors.includes(checkId)) {
    const text = "A check can't depend on itself, neither directly nor through other checks.";
    throw new AppError("invalid", text, "dependsOn");
  }
  return uuidsOf(parents).join() === uuidsOf(before).join() ? before : parents;
}

export type ProjectPolicyEdit = PolicyEdit & {
  project: { id: number; name: string };
  change: PolicyChange;
  /** Absent: unchanged. */
  ackLinks?: boolean;
};

/**
 * Changes the policy of a project and the rules of its checks. AppError `precondition_failed`, or `invalid` with the
 * field. If it is interrupted, some checks keep their old rules until the request is repeated.
 */
export async function updateProjectPolicy(database: Database, edit: ProjectPolicyEdit): Promise<void> {
  const { project, at, by } = edit;
  await inRetriedTransaction(database, async (tx) => {
    await lockPolicies(tx, project.id);
    const before = await findProjectPolicy(tx, project.id);
    if (before === null) throw new AppError("not_found", "The project no longer exists.");
    requireVersion(projectPolicyVersion(before), edit.expected);
    const policy = changedPolicy(before.policy, edit.change);
    refuse(policyProblem(policy));
    const after = { policy, ackLinks: edit.ackLinks ?? before.ackLinks };
    const difference = auditDifference(shownProject(before), shownProject(after));
    if (difference === null) return;
    await writeProjectPolicy(tx, { projectId: project.id, ...after });
    await reviewSteps(tx, project.id);
    const what = "project.policyChanged";
    await audit(tx, { ...by, projectId: project.id, what, subject: project.name, ...difference, at });
  });
  await refreshRules(database, { ...edit, projectId: project.id });
}

/** What the version of the policy of a project depends on. */
export function projectPolicyVersion({ policy, ackLinks }: ProjectPolicy): number {
  return policyVersion([policy, ackLinks]);
}

function shownProject({ policy, ackLinks }: ProjectPolicy): Record<string, unknown> {
  return { ...wholePolicy(policy), ackLinks };
}

export type TagRulesEdit = PolicyEdit & {
  project: { id: number; name: string };
  /** With the UUIDs of channels. */
  rules: readonly TagRule<string>[];
};

/** Replaces the tag rules of a project, and changes the rules of its checks. As `updateProjectPolicy`. */
export async function setTagRules(database: Database, edit: TagRulesEdit): Promise<void> {
  const { project, at, by } = edit;
  const projectId = project.id;
  for (const { policy } of edit.rules) refuse(policyProblem(policy));
  await inRetriedTransaction(database, async (tx) => {
    await lockPolicies(tx, projectId);
    // A channel that is being deleted must not get into the rules.
    await lockChannelsOfProject(tx, projectId);
    const channels = await listChannels(tx, projectId);
    const ids = new Map(channels.map(({ id, uuid }) => [uuid, id]));
    const uuids = new Map(channels.map(({ id, uuid }) => [id, uuid]));
    const before = (await listTagRules(tx, [projectId])).get(projectId) ?? [];
    requireVersion(policyVersion(before), edit.expected);
    const rules = edit.rules.map((rule) => storedRule(rule, ids));
    const difference = auditDifference(
      { rules: before.map((rule) => shownRule(rule, uuids)) },
      { rules: rules.map((rule) => shownRule(rule, uuids)) },
    );
    if (difference === null) return;
    await deleteTagRules(tx, projectId);
    await insertTagRules(tx, { projectId, rules });
    await reviewSteps(tx, projectId);
    const what = "project.tagRulesChanged";
    await audit(tx, { ...by, projectId, what, subject: project.name, ...difference, at });
  });
  await refreshRules(database, { ...edit, projectId });
}

function storedRule(
  { tag, policy, channels }: TagRule<string>,
  ids: ReadonlyMap<string, number>,
): StoredTagRule {
  const found = [...new Set(channels)].map((uuid) => {
    const id = ids.get(uuid);
    if (id === undefined)
      throw new AppError("invalid", "One of the channels is not in this project.", "channels");
    return id;
  });
  return { tag, policy: changedPolicy(policy, {}), channels: found };
}

/** A rule with the UUIDs of its channels. */
export function shownRule(
  { tag, policy, channels }: StoredTagRule,
  uuids: ReadonlyMap<number, string>,
): { tag: string; policy: Policy; channels: string[] } {
  return { tag, policy, channels: channels.flatMap((id) => uuids.get(id) ?? []) };
}

/** Checks whose rules are derived, and whose states are locked, at once. Pings of locked checks wait. */
const PORTION = 500;

/**
 * Derives the rules of all checks of a project again, and writes those that changed, in portions: one transaction would
 * delay the pings of all of them.
 */
async function refreshRules(
  database: Database,
  request: Pick<PolicyEdit, "at" | "visibility"> & { projectId: number },
): Promise<void> {
  const { projectId } = request;
  const project = (await findProjectPolicy(database, projectId))?.policy ?? {};
  const tagRules = (await listTagRules(database, [projectId])).get(projectId) ?? [];
  for (let afterId = 0; ; ) {
    const checks = await listRules(database, { projectId, afterId, limit: PORTION });
    const changed = checks.filter(({ own, tags, graceSeconds, rules }) => {
      const { policy } = effectivePolicy({ own, tagRules, tags, project });
      return !isSameRules(rules, rulesOf(policy, { graceSeconds }));
    });
    const checkIds = changed.map(({ checkId }) => checkId);
    if (checkIds.length > 0) {
      await inRetriedTransaction(database, (tx) => refreshPortion(tx, { ...request, checkIds }));
    }
    const last = checks.at(-1);
    if (last === undefined || checks.length < PORTION) return;
    afterId = last.checkId;
  }
}

async function refreshPortion(
  tx: Tx,
  {
    projectId,
    checkIds,
    at,
    visibility,
  }: Pick<PolicyEdit, "at" | "visibility"> & { projectId: number; checkIds: readonly number[] },
): Promise<void> {
  const found = await lockChecks(tx, { projectId, checkIds });
  const derived = await rewriteRules(tx, { projectId, checks: found.map(({ check }) => check) });
  const changed = found.flatMap(({ check, stored }) => {
    const rules = derived.get(check.id) ?? null;
    return isSameRules(rules, check.settings.rules) ? [] : [{ check, stored, rules }];
  });
  if (changed.length === 0) return;
  const passed = changed.map(({ stored }) => stored).filter((stored) => needsCheckVisibility(stored, at));
  const visibilityOf = await checkVisibilities(tx, passed, visibility);
  const changes = changed.map(({ check, stored, rules }) => {
    const timing = { ...check.settings, rules };
    const outcome = reviseTiming(
      { timing: check.settings, state: stored.state },
      { timing, at, visibility: visibilityOf(check.id) },
    );
    return { ...outcome, stored, timing, event: null };
  });
  await writeStateChanges(tx, { changes, at });
}
