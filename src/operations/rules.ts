// The effective policies of checks, and the rules derived from them inside of a transaction that writes the checks.
import type { CheckSettings } from "../core/check.ts";
import { splitTags } from "../core/identity.ts";
import { type EffectivePolicy, effectivePolicy, isSameRules, type Policy, rulesOf } from "../core/policy.ts";
import type { Rules } from "../core/rules.ts";
import type { Db } from "../store/db.ts";
import {
  findProjectPolicy,
  holdPolicies,
  listPolicies,
  listTagRules,
  writeRules,
} from "../store/policies.ts";
import type { Tx } from "../store/transaction.ts";

/** What determines the policies of checks, with the result, by the ids of the checks. */
export async function readPolicies(
  db: Db,
  checkIds: readonly number[],
): Promise<ReadonlyMap<number, PolicyOfCheck & { effective: EffectivePolicy }>> {
  const found = await listPolicies(db, checkIds);
  return new Map(
    found.map((one) => [
      one.checkId,
      { ...one, effective: effectivePolicy({ ...one, project: one.project.policy }).policy },
    ]),
  );
}

type PolicyOfCheck = Awaited<ReturnType<typeof listPolicies>>[number];

type Judged = Pick<CheckSettings, "tags" | "graceSeconds">;

/** Whether a change of these settings can change the rules. */
export function affectsRules(change: Partial<CheckSettings>): boolean {
  return change.tags !== undefined || change.graceSeconds !== undefined;
}

/** The rules of a new check of a project. */
export async function rulesOfNewCheck(
  tx: Tx,
  { projectId, settings, own }: { projectId: number; settings: Judged; own: Policy },
): Promise<Rules | null> {
  await holdPolicies(tx, projectId);
  const project = (await findProjectPolicy(tx, projectId))?.policy ?? {};
  const tagRules = (await listTagRules(tx, [projectId])).get(projectId) ?? [];
  const { policy } = effectivePolicy({ own, tagRules, tags: splitTags(settings.tags), project });
  return rulesOf(policy, settings);
}

/**
 * Derives the rules of checks of one project, whose states are locked, and writes those that changed. The settings can
 * be those that are about to be written. Returns the rules by the ids of the checks.
 */
export async function rewriteRules(
  tx: Tx,
  {
    projectId,
    checks,
  }: {
    projectId: number;
    checks: readonly { id: number; settings: Judged & Pick<CheckSettings, "rules"> }[];
  },
): Promise<ReadonlyMap<number, Rules | null>> {
  await holdPolicies(tx, projectId);
  const found = await listPolicies(
    tx,
    checks.map(({ id }) => id),
  );
  const sources = new Map(found.map((one) => [one.checkId, { ...one, project: one.project.policy }]));
  const derived = checks.flatMap(({ id, settings }) => {
    const of = sources.get(id);
    if (of === undefined) return [];
    const { policy } = effectivePolicy({ ...of, tags: splitTags(settings.tags) });
    return [{ checkId: id, rules: rulesOf(policy, settings), before: settings.rules }];
  });
  const changed = derived.filter(({ rules, before }) => !isSameRules(rules, before));
  if (changed.length > 0) await writeRules(tx, changed);
  return new Map(derived.map(({ checkId, rules }) => [checkId, rules]));
}
