// Handlers of near misses and aliases.
import type { CheckAlias, NearMiss, nearMissRoutes } from "../../contract/api/near-misses.ts";
import type { Instant } from "../../core/instant.ts";
import { NEAR_MISSES_MAX } from "../../core/limits.ts";
import { guessSchedule, SPARK_BAR_MS, sparkUntil } from "../../core/near-miss.ts";
import { DAYS_KEPT, keptFrom } from "../../core/retention.ts";
import {
  addAlias,
  canHaveAlias,
  createMissedCheck,
  ignoreNearMiss,
  listNearMissPage,
  removeAlias,
} from "../../operations/near-misses.ts";
import { type Alias, listAliases, type ShownNearMiss } from "../../store/near-misses.ts";
import { notFound, numberParam } from "./params.ts";
import type { ApiHandlers } from "./route.ts";

function presentNearMiss(miss: ShownNearMiss, now: Instant): NearMiss {
  const spark = sparkUntil(miss, Math.floor(now / SPARK_BAR_MS));
  const { check, deletedName, deletedAt } = miss;
  return {
    id: miss.id,
    kind: miss.kind,
    bySlug: miss.bySlug,
    address: miss.address,
    check: check && { id: check.uuid, name: check.name, slug: check.slug, deletedAt: check.deletedAt },
    deleted: deletedName === null || deletedAt === null ? null : { name: deletedName, at: deletedAt },
    method: miss.method,
    remoteAddr: miss.remoteAddr,
    ua: miss.ua,
    count: miss.count,
    weekCount: spark.reduce((sum, count) => sum + count, 0),
    spark: [...spark],
    firstAt: miss.firstAt,
    lastAt: miss.lastAt,
    schedule: guessSchedule(miss.arrivals),
    actions: actionsFor(miss, now),
    ignoredAt: miss.ignoredAt,
  };
}

/** The most likely one first. */
function actionsFor(miss: ShownNearMiss, now: Instant): NearMiss["actions"] {
  const { kind, check } = miss;
  if (kind === "method" || kind === "suffix" || kind === "http") return [];
  const alias = canHaveAlias(miss) ? (["alias"] as const) : [];
  if (kind === "deleted") {
    const isInTrash = (check?.deletedAt ?? 0) >= keptFrom(DAYS_KEPT.deletedCheck, now);
    return isInTrash ? ["restore", ...alias] : ["create", ...alias];
  }
  return check === null ? ["create", ...alias] : [...alias, "create"];
}

function presentAlias({ id, address, bySlug, createdAt, email }: Alias): CheckAlias {
  return { id, address, bySlug, createdAt, createdBy: email };
}

export const nearMissHandlers: ApiHandlers<typeof nearMissRoutes> = {
  listNearMisses: async ({ context, project, query, now }) => {
    const isIgnored = query.state === "ignored";
    const { nearMisses, counts } = await listNearMissPage(context.database, {
      projectId: project.id,
      isIgnored,
      limit: query.limit ?? NEAR_MISSES_MAX,
    });
    return { json: { nearMisses: nearMisses.map((miss) => presentNearMiss(miss, now)), counts } };
  },
  updateNearMiss: async ({ context, project, params, body, actor, now }) => {
    const miss = await ignoreNearMiss(context.database, {
      projectId: project.id,
      id: numberParam(params.nearMiss),
      isIgnored: body.isIgnored,
      by: actor,
      at: now,
    });
    return { json: presentNearMiss(miss, now) };
  },
  createMissedCheck: async ({ context, project, params, body, actor, now }) => {
    const check = await createMissedCheck(context.database, {
      projectId: project.id,
      projectUuid: project.uuid,
      id: numberParam(params.nearMiss),
      params: body,
      channels: "*",
      checkLimitDefault: context.checkLimitDefault,
      visibility: context.visibility(),
      ...actor,
      at: now,
    });
    return { json: { id: check.uuid } };
  },
  createAlias: async ({ context, project, params, body, actor, now }) => {
    const alias = await addAlias(context.database, {
      projectId: project.id,
      id: numberParam(params.nearMiss),
      checkUuid: body.check,
      by: actor,
      at: now,
    });
    return { json: presentAlias(alias) };
  },
  listAliases: async ({ context, check }) => {
    const aliases = await listAliases(context.database, check.id);
    return { json: { aliases: aliases.map(presentAlias) } };
  },
  deleteAlias: async ({ context, project, check, params, actor, now }) => {
    const isRemoved = await removeAlias(context.database, {
      projectId: project.id,
      check,
      id: numberParam(params.alias),
      by: actor,
      at: now,
    });
    if (!isRemoved) throw notFound();
    return { json: null };
  },
};
