// Handlers of the policies of checks, projects, and tags.
import type {
  CheckPolicy,
  policyRoutes,
  ProjectPolicy,
  TagRules,
  Policy as ShownPolicy,
  EffectivePolicy as ShownEffectivePolicy,
} from "../../contract/api/policies.ts";
import { AppError } from "../../core/errors.ts";
import type { Instant } from "../../core/instant.ts";
import {
  changedPolicy,
  type EffectivePolicy,
  effectivePolicy,
  type Policy,
  type PolicyChange,
  policyProblem,
  policySentence,
  routedChannels,
  rulesOf,
  startLimitProblem,
} from "../../core/policy.ts";
import type { Rules } from "../../core/rules.ts";
import {
  checkPolicyVersion,
  policyVersion,
  projectPolicyVersion,
  setTagRules,
  shownRule,
  updateCheckPolicy,
  updateProjectPolicy,
} from "../../operations/policies.ts";
import { findChannelUuids } from "../../store/channels.ts";
import type { Db } from "../../store/db.ts";
import { findProjectPolicy, listPolicies, listTagRules } from "../../store/policies.ts";
import type { Project } from "../../store/projects.ts";
import { entityTag, ifMatch, notFound } from "./params.ts";
import type { Actor, ApiContext, ApiHandlers, CheckRecord } from "./route.ts";

type PolicyRequest = {
  context: ApiContext;
  actor: Actor;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  now: Instant;
};

/** The parts of a change that all policies have. */
function editOf({ context, actor, headers, now }: PolicyRequest) {
  return { by: actor, at: now, visibility: context.visibility(), expected: ifMatch(headers) };
}

function answer<Json extends { version: number }>(json: Json): { json: Json; headers: { ETag: string } } {
  return { json, headers: entityTag(json) };
}

/** As a mutable copy, which the schemas declare. */
function shownPolicy(policy: Policy): ShownPolicy {
  const { groupBy, ...rest } = policy;
  return { ...rest, ...(groupBy !== undefined && { groupBy: [...groupBy] }) };
}

function shownEffective(policy: EffectivePolicy): ShownEffectivePolicy {
  return { ...policy, groupBy: [...policy.groupBy] };
}

async function presentCheckPolicy({ database }: ApiContext, check: CheckRecord): Promise<CheckPolicy> {
  const [found] = await listPolicies(database, [check.id]);
  if (found === undefined) throw notFound();
  const { own, parents, tags, tagRules } = found;
  const sources = { own, tagRules, tags, project: found.project.policy };
  const effective = effectivePolicy(sources).policy;
  const inherited = effectivePolicy({ ...sources, own: {} });
  const ids = tagRules.filter(({ tag }) => tags.includes(tag)).flatMap(({ channels }) => channels);
  const uuids = new Map((await findChannelUuids(database, ids)).map(({ id, uuid }) => [id, uuid]));
  const routed = routedChannels({
    assigned: check.channelUuids,
    tagRules: tagRules.map((rule) => shownRule(rule, uuids)),
    tags,
  });
  return {
    own: { ...shownPolicy(own), dependsOn: parents.map(({ uuid }) => uuid) },
    inherited: shownEffective(inherited.policy),
    origins: inherited.origins,
    effective: shownEffective(effective),
    sentence: policySentence(effective),
    channels: routed.map(({ channel, origin }) => ({ id: channel, origin })),
    version: checkPolicyVersion(found),
  };
}

/** The rules that a check would have with some fields of its policy changed. AppError `invalid` with the field. */
export async function rulesToTry(
  db: Db,
  {
    check,
    change,
    graceSeconds,
  }: { check: Pick<CheckRecord, "id">; change: PolicyChange; graceSeconds: number },
): Promise<Rules | null> {
  const [found] = await listPolicies(db, [check.id]);
  if (found === undefined) throw notFound();
  const own = changedPolicy(found.own, change);
  const { policy } = effectivePolicy({ ...found, own, project: found.project.policy });
  const problem = policyProblem(own) ?? startLimitProblem(policy, { graceSeconds });
  if (problem !== null && problem.field in change) throw new AppError("invalid", problem.text, problem.field);
  return rulesOf(policy, { graceSeconds });
}

async function presentProjectPolicy({ database }: ApiContext, project: Project): Promise<ProjectPolicy> {
  const found = await findProjectPolicy(database, project.id);
  if (found === null) throw notFound();
  const { policy } = effectivePolicy({ own: {}, tagRules: [], tags: [], project: found.policy });
  return {
    own: shownPolicy(found.policy),
    effective: shownEffective(policy),
    sentence: policySentence(policy),
    ackLinks: found.ackLinks,
    version: projectPolicyVersion(found),
  };
}

async function presentTagRules({ database }: ApiContext, project: Project): Promise<TagRules> {
  const rules = (await listTagRules(database, [project.id])).get(project.id) ?? [];
  const ids = [...new Set(rules.flatMap(({ channels }) => channels))];
  const uuids = new Map((await findChannelUuids(database, ids)).map(({ id, uuid }) => [id, uuid]));
  const shown = rules.map((rule) => shownRule(rule, uuids));
  return {
    rules: shown.map((rule) => ({ ...rule, policy: shownPolicy(rule.policy) })),
    version: policyVersion(rules),
  };
}

export const policyHandlers: ApiHandlers<typeof policyRoutes> = {
  getCheckPolicy: async ({ context, check }) => answer(await presentCheckPolicy(context, check)),
  updateCheckPolicy: async (request) => {
    const { context, project, check, body } = request;
    const { dependsOn, ...change } = body;
    await updateCheckPolicy(context.database, {
      ...editOf(request),
      projectId: project.id,
      checkId: check.id,
      change,
      ...(dependsOn !== undefined && { dependsOn: dependsOn ?? [] }),
    });
    return answer(await presentCheckPolicy(context, check));
  },
  getProjectPolicy: async ({ context, project }) => answer(await presentProjectPolicy(context, project)),
  updateProjectPolicy: async (request) => {
    const { context, project, body } = request;
    const { ackLinks, ...change } = body;
    await updateProjectPolicy(context.database, {
      ...editOf(request),
      project,
      change,
      ...(ackLinks !== undefined && { ackLinks }),
    });
    return answer(await presentProjectPolicy(context, project));
  },
  getTagRules: async ({ context, project }) => answer(await presentTagRules(context, project)),
  setTagRules: async (request) => {
    const { context, project, body } = request;
    await setTagRules(context.database, { ...editOf(request), project, rules: body.rules });
    return answer(await presentTagRules(context, project));
  },
};
