// Creating, changing, ending, and previewing silences.
import { randomUUID } from "node:crypto";
import { auditDifference, type AuditAction } from "../core/audit.ts";
import { AppError } from "../core/errors.ts";
import { newUuidIn } from "../core/identity.ts";
import type { Instant } from "../core/instant.ts";
import { SILENCE_CHECKS_SHOWN_MAX, SILENCE_WINDOWS_SHOWN_MAX, SILENCES_MAX } from "../core/limits.ts";
import {
  covers,
  isOver,
  nextWindows,
  planSilence,
  runsIn,
  type SilencePlan,
  type SilenceRequest,
  type SilenceScope,
  silenceState,
  type SilenceWindow,
  windowAt,
} from "../core/silence.ts";
import { findWatchedChecks } from "../store/check-lists.ts";
import type { Database, Db } from "../store/db.ts";
import {
  countSilences,
  endSilence as writeEnd,
  findChecksOfSilences,
  findChecksToSilence,
  findLastSuccesses,
  findSilence,
  insertSilence,
  listCoveredChecks,
  listCurrentSilences,
  listSilences,
  lockSilencesOfProject,
  type NamedCheck,
  releaseHeldAlerts,
  type SilenceName,
  type StoredSilence,
  writeSilence,
} from "../store/silences.ts";
import { reviewSteps } from "../store/steps.ts";
import type { Tx } from "../store/transaction.ts";
import { type Actor, audit } from "./audit.ts";
import { type Page, pageOf, type PageRequest } from "./channels.ts";
import { claimOnce, type Once } from "./idempotency.ts";
import { inRetriedTransaction } from "./retry.ts";

type Changing = { by: Actor; at: Instant };

/** The checks by UUID, a tag, or (both null) all checks of the project. */
export type ScopeRequest = { checks: readonly string[] | null; tag: string | null };

/** `scope` undefined: unchanged. */
type Request = Omit<SilenceRequest, "scope"> & { scope?: ScopeRequest };

const NO_SILENCE = "Silence not found.";

/** The silence of a project. Throws AppError `not_found`. */
export async function getSilence(db: Db, name: SilenceName): Promise<StoredSilence> {
  const silence = await findSilence(db, name);
  if (silence === null) throw new AppError("not_found", NO_SILENCE);
  return silence;
}

export type SilenceListRequest = PageRequest & {
  projectId: number;
  state: "current" | "ended" | null;
  now: Instant;
};

/** A page of the silences of a project, newest first. */
export async function listSilencePage(
  db: Db,
  { projectId, state, now, from, limit }: SilenceListRequest,
): Promise<Page<StoredSilence>> {
  const beforeId = from ?? Number.MAX_SAFE_INTEGER;
  const ended = state === null ? null : state === "ended";
  return pageOf(await listSilences(db, { projectId, beforeId, ended, now, limit: limit + 1 }), limit);
}

/** The checks that silences of one project name, without deleted ones, by the ID of the silence. */
export async function findNamedChecks(
  db: Db,
  silences: readonly Pick<StoredSilence, "id" | "projectId" | "scope">[],
): Promise<Map<number, NamedCheck[]>> {
  const idsOf = ({ scope }: { scope: SilenceScope }) => (scope.kind === "checks" ? scope.checkIds : []);
  const checkIds = [...new Set(silences.flatMap(idsOf))];
  const [first] = silences;
  if (first === undefined || checkIds.length === 0) return new Map();
  const found = await findChecksOfSilences(db, { projectId: first.projectId, checkIds });
  return new Map(
    silences.map((silence) => {
      const named = new Set(idsOf(silence));
      return [silence.id, found.filter(({ id }) => named.has(id))];
    }),
  );
}

/** Throws AppError `invalid` for a check that the project does not have. */
async function scopeOf(
  db: Db,
  { projectId, scope: { checks, tag } }: { projectId: number; scope: ScopeRequest },
): Promise<SilenceScope> {
  if (checks !== null && tag !== null) {
    throw new AppError("invalid", "Give either checks or a tag, not both.", "tag");
  }
  if (checks === null) return tag === null ? { kind: "all" } : { kind: "tag", tag };
  const found = await findChecksToSilence(db, { projectId, uuids: checks });
  const known = new Set(found.map(({ uuid }) => uuid));
  const missing = checks.find((uuid) => !known.has(uuid));
  if (missing !== undefined) {
    throw new AppError("invalid", `The project has no check ${missing}.`, "checks");
  }
  return { kind: "checks", checkIds: found.map(({ id }) => id) };
}

/** What the request asks for. Throws AppError `invalid` with the field. */
async function planOf(
  db: Db,
  {
    projectId,
    request: { scope, ...request },
    ...when
  }: { projectId: number; request: Request; now: Instant; before: SilencePlan | null },
): Promise<SilencePlan> {
  const chosen = scope === undefined ? {} : { scope: await scopeOf(db, { projectId, scope }) };
  const planned = planSilence({ ...request, ...chosen }, when);
  if (!planned.ok) throw new AppError("invalid", planned.text, planned.field);
  return planned.value;
}

export type CreateSilenceRequest = Changing & {
  projectId: number;
  request: Request & { scope: ScopeRequest };
  /** Null: every request creates a silence. */
  once: Once | null;
};

/**
 * Creates a silence. AppError `invalid`; `forbidden` beyond the limit of the project; `unprocessable` if an idempotency
 * key was used for a different request; `conflict` if its silence was deleted; `not_found` without the project.
 */
export function createSilence(database: Database, request: CreateSilenceRequest): Promise<StoredSilence> {
  const { projectId, once, by, at } = request;
  return inRetriedTransaction(database, async (tx) => {
    const projectUuid = await lockSilencesOfProject(tx, projectId);
    if (projectUuid === null) throw new AppError("not_found", "Project not found.");
    const uuid = newUuidIn(projectUuid, randomUUID, tx.slots);
    const earlier = await claimOnce(tx, { projectId, once, uuid, at });
    if (earlier !== null) return repetitionOf(tx, { projectId, uuid: earlier });
    if ((await countSilences(tx, { projectId, now: at })) >= SILENCES_MAX) {
      throw new AppError("forbidden", `A project can have at most ${SILENCES_MAX} silences. End one first.`);
    }
    const plan = await planOf(tx, { projectId, request: request.request, now: at, before: null });
    await insertSilence(tx, { ...plan, uuid, projectId, accountId: by.accountId, createdAt: at });
    const silence = await getSilence(tx, { projectId, uuid });
    await auditSilence(tx, { what: "silence.created", before: null, after: silence, by, at });
    await releaseHeldAlerts(tx, projectId);
    return silence;
  });
}

async function repetitionOf(tx: Tx, name: SilenceName): Promise<StoredSilence> {
  const silence = await findSilence(tx, name);
  if (silence !== null) return silence;
  throw new AppError("conflict", "What was created by this request has been deleted.");
}

/** The versions that the change applies to; null: any. */
type Expected = { expected: readonly number[] | null };

/**
 * Locks the silences of the project and returns the one to change. Throws AppError `not_found`, and
 * `precondition_failed` if it has none of the expected versions.
 */
async function lockSilence(tx: Tx, { expected, ...name }: SilenceName & Expected): Promise<StoredSilence> {
  await lockSilencesOfProject(tx, name.projectId);
  const silence = await getSilence(tx, name);
  if (expected !== null && !expected.includes(silence.version)) {
    throw new AppError("precondition_failed", "The silence was changed after you loaded it.");
  }
  return silence;
}

export type UpdateSilenceRequest = SilenceName & Changing & Expected & { change: Request };

/** Changes the given fields. AppError as `createSilence`; `conflict` if the silence has ended; `precondition_failed`. */
export function updateSilence(database: Database, request: UpdateSilenceRequest): Promise<StoredSilence> {
  const { projectId, uuid, change, by, at } = request;
  return inRetriedTransaction(database, async (tx) => {
    const before = await lockSilence(tx, { projectId, uuid, expected: request.expected });
    if (silenceState(before, at) === "ended") {
      throw new AppError("conflict", "The silence has ended. Create a new one.");
    }
    if (Object.keys(change).length === 0) return before;
    const plan = await planOf(tx, { projectId, request: change, now: at, before });
    await writeSilence(tx, { ...plan, id: before.id });
    const after = await getSilence(tx, { projectId, uuid });
    await auditSilence(tx, { what: "silence.changed", before, after, by, at });
    await releaseHeldAlerts(tx, projectId);
    await reviewSteps(tx, projectId);
    return after;
  });
}

/** Ends a silence now. One that has ended stays as it is. */
export function endSilence(
  database: Database,
  { projectId, uuid, expected, by, at }: SilenceName & Changing & Expected,
): Promise<StoredSilence> {
  return inRetriedTransaction(database, async (tx) => {
    const before = await lockSilence(tx, { projectId, uuid, expected });
    if (silenceState(before, at) === "ended") return before;
    await writeEnd(tx, { id: before.id, at });
    const after = await getSilence(tx, { projectId, uuid });
    await auditSilence(tx, { what: "silence.ended", before, after, by, at });
    await releaseHeldAlerts(tx, projectId);
    await reviewSteps(tx, projectId);
    return after;
  });
}

/** Adds an audit log entry, unless nothing was changed. */
async function auditSilence(
  tx: Tx,
  {
    what,
    before,
    after,
    by,
    at,
  }: Changing & { what: AuditAction; before: StoredSilence | null; after: StoredSilence },
): Promise<void> {
  const shown =
    before === null ? { before: null, after: sideOf(after) } : auditDifference(sideOf(before), sideOf(after));
  if (shown === null) return;
  const subject = after.reason === "" ? scopeText(after.scope) : after.reason;
  await audit(tx, { ...by, projectId: after.projectId, what, subject, ...shown, at });
}

function scopeText(scope: SilenceScope): string {
  switch (scope.kind) {
    case "checks":
      return scope.checkIds.length === 1 ? "1 check" : `${scope.checkIds.length} checks`;
    case "tag":
      return `tag ${scope.tag}`;
    case "all":
      return "all checks";
  }
}

function sideOf(silence: StoredSilence) {
  const { uuid, scope, from, until, untilSuccess, schedule, tz, durationSeconds } = silence;
  return {
    uuid,
    scope: scopeText(scope),
    from,
    until,
    untilSuccess,
    schedule,
    tz,
    durationSeconds,
    holdAfterSeconds: silence.holdAfterSeconds,
    reason: silence.reason,
    endedAt: silence.endedAt,
  };
}

export type PreviewedCheck = NamedCheck & { runCount: number; firstRunAt: Instant | null };
export type Preview = {
  plan: SilencePlan;
  checkCount: number;
  checks: readonly PreviewedCheck[];
  windows: readonly SilenceWindow[];
};

/** What a silence would cover, without creating it. AppError `invalid`. */
export async function previewSilence(
  db: Db,
  {
    projectId,
    request,
    now,
  }: { projectId: number; request: Request & { scope: ScopeRequest }; now: Instant },
): Promise<Preview> {
  const plan = await planOf(db, { projectId, request, now, before: null });
  const windows = nextWindows(plan, { at: now, count: SILENCE_WINDOWS_SHOWN_MAX });
  const limit = SILENCE_CHECKS_SHOWN_MAX;
  const { checks, total } = await listCoveredChecks(db, { projectId, scope: plan.scope, limit });
  const watched = await findWatchedChecks(
    db,
    checks.map(({ id }) => id),
  );
  const byId = new Map(watched.map((check) => [check.id, check]));
  const [first] = windows;
  return {
    plan,
    checkCount: total,
    checks: checks.map((check) => {
      const one = byId.get(check.id);
      const runs = one === undefined || first === undefined ? NO_RUNS : runsIn(one, first);
      return { ...check, runCount: runs.count, firstRunAt: runs.firstAt };
    }),
    windows,
  };
}

const NO_RUNS = { count: 0, firstAt: null };

/** Those of a project's checks for which a silence is active. */
export async function findSilencedChecks(
  db: Db,
  {
    projectId,
    checks,
    now,
  }: { projectId: number; checks: readonly { id: number; tags: string }[]; now: Instant },
): Promise<Set<number>> {
  const current = (await listCurrentSilences(db, { projectIds: [projectId], since: now })).get(projectId);
  const active = (current ?? []).filter((silence) => windowAt(silence, now) !== null);
  const covered = checks.filter((check) => active.some((silence) => covers(silence, check)));
  const needsSuccess = active.some(({ untilSuccess }) => untilSuccess);
  const wanted = covered.map(({ id }) => ({ checkId: id, beforeAt: now }));
  const successes = needsSuccess ? await findLastSuccesses(db, wanted) : [];
  const silenced = covered.filter((check, index) => {
    const alert = { openedAt: null, lastSuccessAt: successes[index] ?? null };
    return active.some((silence) => covers(silence, check) && !isOver(silence, alert));
  });
  return new Set(silenced.map(({ id }) => id));
}
