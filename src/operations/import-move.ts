// Moving over to this server after an import: comparing both servers, finishing, and undoing.
import { fingerprintOf, type StatusDifference, statusDifference } from "../core/import.ts";
import type { ImportSource } from "../core/import-source.ts";
import { AppError } from "../core/errors.ts";
import type { Instant } from "../core/instant.ts";
import { downAtOf, sweepAt } from "../core/state.ts";
import { takeBackMissed } from "../core/transition.ts";
import { markPlanned } from "../store/alerts.ts";
import {
  deleteChannel,
  findChannelById,
  listAssignedChecks,
  listAssignmentsOfChecks,
} from "../store/channels.ts";
import { findChecksByIds, lockStates, writeStates } from "../store/checks.ts";
import type { Database, Db } from "../store/db.ts";
import { type Preferences, writePreferences } from "../store/emails.ts";
import { findAccountById } from "../store/accounts.ts";
import { postgresErrorName } from "../store/errors.ts";
import {
  countImportItems,
  countPingsSinceImport,
  deleteImportedAccount,
  deleteImportedKey,
  deleteImportedProject,
  deleteImportItems,
  findImportedChecks,
  findImportOf,
  type Import,
  type ImportedKind,
  type ImportItem,
  insertMoveGaps,
  listImports,
  lockImport,
  lockUntoldAlerts,
  markImport,
  oweRecoveries,
} from "../store/imports.ts";
import { readDatabaseClock } from "../store/instance.ts";
import { insertIncidents } from "../store/planning.ts";
import { deleteMember, findProjectById } from "../store/projects.ts";
import {
  endSilence,
  findSilencesByIds,
  lockSilencesOfProject,
  releaseHeldAlerts,
} from "../store/silences.ts";
import { reviewSteps } from "../store/steps.ts";
import { inTransaction, type Tx } from "../store/transaction.ts";
import { audit } from "./audit.ts";
import { removeCheck } from "./checks.ts";
import { channelText, itemsOf } from "./import.ts";
import { fingerprint } from "./import-checks.ts";
import { writeStatusChanges } from "./plan-deliveries.ts";

/** Imports shown by `overdue import status`. */
const IMPORTS_SHOWN_MAX = 100;

export type ImportStatus = Import & {
  items: { kind: ImportedKind; count: number; created: number }[];
  /** Pings received here since the last run. */
  newPings: number;
};

/** Imports, newest first. */
export async function listImportStatuses(db: Db): Promise<ImportStatus[]> {
  const found: ImportStatus[] = [];
  for (const one of await listImports(db, IMPORTS_SHOWN_MAX)) {
    const items = await countImportItems(db, one.id);
    found.push({ ...one, items, newPings: await countPingsSinceImport(db, one.id) });
  }
  return found;
}

/** The import with this UUID, or the only one that is not finished or undone. Throws AppError. */
export async function chooseImport(
  db: Db,
  { uuid, isFinished }: { uuid: string | null; isFinished: boolean },
): Promise<Import> {
  const all = (await listImports(db, IMPORTS_SHOWN_MAX)).filter(({ undoneAt }) => undoneAt === null);
  const open = uuid === null ? all.filter((one) => isFinished || one.finishedAt === null) : all;
  const found = uuid === null ? open : open.filter((one) => one.uuid === uuid);
  const [only] = found;
  if (only === undefined) {
    throw new AppError("not_found", "There is no such import. `overdue import status` lists all.");
  }
  if (found.length > 1) {
    throw new AppError(
      "conflict",
      "There is more than one import. Choose one with --import; see `overdue import status`.",
    );
  }
  return only;
}

export type Comparison = {
  compared: number;
  /** Checks of the source that are not here. */
  missing: number;
  differences: StatusDifference[];
  differenceCount: number;
};

/** Differences that are listed; further ones are counted. */
const DIFFERENCES_LISTED_MAX = 1_000;

/** Compares the statuses of imported checks with those of the source now. */
export async function compareImport(database: Database, source: ImportSource): Promise<Comparison> {
  if ((await findImportOf(database, source.name)) === null) {
    throw new AppError("not_found", "Nothing was imported from this source yet. Use --write first.");
  }
  const result: Comparison = { compared: 0, missing: 0, differences: [], differenceCount: 0 };
  for (const project of await source.projects()) {
    for await (const page of source.checks(project)) {
      const here = await findImportedChecks(
        database,
        page.map(({ uuid }) => uuid.toLowerCase()),
      );
      for (const check of page) {
        const found = here.get(check.uuid.toLowerCase());
        if (found === undefined || found.isDeleted) {
          result.missing += 1;
          continue;
        }
        result.compared += 1;
        const difference = statusDifference(check, found.status);
        if (difference === null) continue;
        result.differenceCount += 1;
        if (result.differences.length < DIFFERENCES_LISTED_MAX) result.differences.push(difference);
      }
    }
  }
  return result;
}

export type Finished = {
  checks: number;
  /** Deadlines missed during the move, which raise no alerts. */
  takenBack: number;
  /** Checks that are down and were notified by the other server. */
  down: number;
  /** Checks that were down at the source and have recovered since; the recoveries are sent now. */
  recovered: number;
  /** Start of the longest gap. */
  gapFrom: Instant | null;
  gapTo: Instant;
};

/** Checks locked in one transaction; pings of these checks wait for it. */
const FINISHED_AT_ONCE = 200;

/**
 * Records the time since the checks were last read as a monitoring gap of each check, and turns notifications on.
 * Alerts that the other server has sent are not sent again. It can be repeated after a crash.
 */
export async function finishImport(
  database: Database,
  {
    importId,
    now,
    onProgress,
  }: { importId: number; now: Instant; onProgress?: (checks: number) => Promise<void> | void },
): Promise<Finished> {
  const result: Finished = { checks: 0, takenBack: 0, down: 0, recovered: 0, gapFrom: null, gapTo: now };
  for await (const page of itemsOf(database, { importId, kind: "check" })) {
    for (let from = 0; from < page.length; from += FINISHED_AT_ONCE) {
      const items = page.slice(from, from + FINISHED_AT_ONCE);
      await retried(() =>
        inTransaction(database, (tx) => finishChecks(tx, { importId, items, result, now })),
      );
      await onProgress?.(result.checks);
    }
  }
  await retried(() => inTransaction(database, (tx) => finishRest(tx, { importId, now })));
  return result;
}

async function retried(work: () => Promise<void>): Promise<void> {
  const triesMax = 10;
  for (let tries = 1; ; tries += 1) {
    try {
      await work();
      return;
    } catch (error) {
      const name = postgresErrorName(error);
      const isPassing = name === "lock_not_available" || name === "deadlock_detected";
      if (!isPassing || tries >= triesMax) throw error;
    }
  }
}

async function openImport(tx: Tx, importId: number): Promise<Import> {
  const found = await lockImport(tx, importId);
  if (found !== null && found.finishedAt === null && found.undoneAt === null) return found;
  throw new AppError("conflict", "The import is already finished or undone.");
}

async function finishChecks(
  tx: Tx,
  {
    importId,
    items,
    result,
    now,
  }: { importId: number; items: readonly ImportItem[]; result: Finished; now: Instant },
): Promise<void> {
  const { uuid: importUuid } = await openImport(tx, importId);
  const ids = items.map(({ targetId }) => targetId);
  const states = await lockStates(tx, ids);
  const checks = new Map((await findChecksByIds(tx, ids)).map((check) => [check.id, check]));
  const itemOf = new Map(items.map((item) => [item.targetId, item]));
  const here = states.filter(({ checkId }) => checks.has(checkId));
  const gaps = here.flatMap(({ checkId }) => {
    const from = itemOf.get(checkId)?.readAt ?? null;
    return from === null || from >= now ? [] : [{ checkId, from }];
  });
  const changed = here.flatMap((stored) => {
    const timing = checks.get(stored.checkId)?.settings;
    const since = itemOf.get(stored.checkId)?.readAt ?? now;
    const back = timing === undefined ? null : takeBackMissed(stored.state, { since, at: now });
    if (timing === undefined || back === null) return [];
    const downAt = downAtOf({ timing, state: back.state });
    const mark = sweepAt({ current: stored.sweepAt, deadline: downAt });
    return [{ ...back, next: { ...stored, state: back.state, downAt, sweepAt: mark } }];
  });
  if (changed.length > 0) {
    await writeStates(
      tx,
      changed.map(({ next }) => next),
    );
    await writeStatusChanges(tx, {
      flips: [],
      alerts: changed.flatMap(({ next: { checkId }, alerts }) =>
        alerts.map((change) => ({ checkId, change })),
      ),
      retracted: changed.flatMap(({ next: { checkId }, retractedAt }) =>
        retractedAt === null ? [] : [{ checkId, deadlineAt: retractedAt, at: now }],
      ),
    });
  }
  await insertMoveGaps(tx, { importUuid, gaps, to: now });
  const told = (await lockUntoldAlerts(tx, ids)).filter(
    ({ checkId, openedAt }) =>
      itemOf.get(checkId)?.sourceStatus === "down" && openedAt <= (itemOf.get(checkId)?.readAt ?? 0),
  );
  const incidents = told.map(({ checkId, openedAt }) => ({
    projectId: checks.get(checkId)?.projectId ?? 0,
    openedAt,
    severity: "normal" as const,
    key: null,
    nextStepAt: null,
  }));
  if (told.length > 0) {
    const incidentIds = await insertIncidents(tx, incidents);
    const planned = told.map(({ id, openedAt }, index) => ({
      alertId: id,
      incidentId: incidentIds[index] ?? null,
      notifiedAt: openedAt,
      isDropped: false,
    }));
    await markPlanned(tx, planned, now);
  }
  const wasDown = items.flatMap(({ targetId, sourceStatus, readAt }) =>
    sourceStatus === "down" && readAt !== null ? [{ checkId: targetId, readAt }] : [],
  );
  result.recovered += await oweRecoveries(tx, wasDown);
  result.checks += here.length;
  result.takenBack += changed.length;
  result.down += told.length;
  const starts = gaps.map(({ from }) => from);
  if (starts.length > 0) result.gapFrom = Math.min(result.gapFrom ?? Infinity, ...starts);
}

/** Reports and reminders, and last the silences: from then on, notifications are sent. */
async function finishRest(tx: Tx, { importId, now }: { importId: number; now: Instant }): Promise<void> {
  await openImport(tx, importId);
  for await (const page of itemsOf(tx, { importId, kind: "account" })) {
    for (const { targetId, isCreated, detail } of page) {
      if (!isCreated || detail === null || (await findAccountById(tx, targetId)) === null) continue;
      await writePreferences(tx, { ...(detail as Preferences), accountId: targetId });
    }
  }
  for await (const page of itemsOf(tx, { importId, kind: "silence" })) {
    for (const { targetId } of page) await liftSilence(tx, { id: targetId, at: now });
  }
  await markImport(tx, importId, { finishedAt: now });
}

async function liftSilence(tx: Tx, { id, at }: { id: number; at: Instant }): Promise<void> {
  const [silence] = await findSilencesByIds(tx, [id]);
  if (silence === undefined || silence.endedAt !== null) return;
  const { projectId, reason } = silence;
  await lockSilencesOfProject(tx, projectId);
  await endSilence(tx, { id, at });
  await releaseHeldAlerts(tx, projectId);
  await reviewSteps(tx, projectId);
  const by = { projectId, accountId: null, keyId: null };
  await audit(tx, {
    ...by,
    what: "silence.ended",
    subject: reason,
    before: null,
    after: { endedAt: at },
    at,
  });
}

export type Stayed = { kind: ImportedKind; name: string; why: string };
export type Undone = {
  removed: Partial<Record<ImportedKind, number>>;
  stays: Stayed[];
  /** Pings received here since the last run, which are deleted with their checks. */
  lostPings: number;
};

/**
 * Deletes what an import has created and nobody has changed; without `isWriting`, only lists it. Checks come first and
 * accounts last, and each step can be repeated.
 */
export async function undoImport(
  database: Database,
  { importId, isWriting }: { importId: number; isWriting: boolean },
): Promise<Undone> {
  const undo: Undoing = {
    database,
    importId,
    isWriting,
    undone: { removed: {}, stays: [], lostPings: await countPingsSinceImport(database, importId) },
    gone: new Set(),
  };
  for (const kind of ["check", "silence", "channel", "key", "member", "project", "account"] as const) {
    for await (const page of itemsOf(database, { importId, kind })) {
      for (const item of page) await undoItem(undo, item);
    }
  }
  if (isWriting) {
    await inTransaction(database, async (tx) =>
      markImport(tx, importId, { undoneAt: await readDatabaseClock(tx) }),
    );
  }
  return undo.undone;
}

type Undoing = {
  database: Database;
  importId: number;
  isWriting: boolean;
  undone: Undone;
  /** Checks and channels that are or would be removed, as kind and id. */
  gone: Set<string>;
};

async function undoItem(undo: Undoing, item: ImportItem): Promise<void> {
  const { database, importId, isWriting, undone, gone } = undo;
  const { kind, targetId } = item;
  const outcome = await inTransaction(database, async (tx) => {
    const why = item.isCreated ? await reasonToStay(tx, undo, item) : EXISTED;
    if (why !== null) return why;
    if (isWriting) {
      if (!(await remove(tx, item))) return "It is in use.";
      await deleteImportItems(tx, { importId, kind, targetIds: [targetId] });
    }
    return null;
  });
  if (outcome === null) {
    undone.removed[kind] = (undone.removed[kind] ?? 0) + 1;
    gone.add(`${kind} ${targetId}`);
  } else if (outcome !== GONE) undone.stays.push({ kind, name: item.sourceRef, why: outcome });
}

const EXISTED = "It was here before the import.";
const GONE = "It is no longer here.";

/** Why an item is kept; null: it can be removed. */
async function reasonToStay(tx: Tx, undo: Undoing, item: ImportItem): Promise<string | null> {
  const { targetId } = item;
  switch (item.kind) {
    case "check": {
      const [check] = await findChecksByIds(tx, [targetId]);
      if (check === undefined) return GONE;
      const assigned = (await listAssignmentsOfChecks(tx, [targetId])).map(({ channelUuid }) => channelUuid);
      const isEdited = fingerprint(fingerprintOf(check.settings, assigned)) !== item.fingerprint;
      return isEdited ? "It was changed here." : null;
    }
    case "channel": {
      const channel = await findChannelById(tx, targetId);
      if (channel === null) return GONE;
      if (fingerprint(channelText(channel)) !== item.fingerprint) return "It was changed here.";
      const using = await listAssignedChecks(tx, { channelId: targetId, afterId: 0, limit: 1_000 });
      const isUsed = using.some(({ id }) => !undo.gone.has(`check ${id}`));
      return isUsed ? "Checks that stay use it." : null;
    }
    case "project": {
      const project = await findProjectById(tx, targetId);
      return project === null ? GONE : null;
    }
    case "account":
      return (await findAccountById(tx, targetId)) === null ? GONE : null;
    case "key":
    case "member":
    case "silence":
      return null;
  }
}

/** False: it could not be removed, because something else refers to it. */
async function remove(tx: Tx, { kind, targetId, detail }: ImportItem): Promise<boolean> {
  switch (kind) {
    case "check":
      return removeCheck(tx, targetId);
    case "channel":
      return deleteChannel(tx, targetId);
    case "project":
      return deleteImportedProject(tx, targetId);
    case "account":
      return deleteImportedAccount(tx, targetId);
    case "silence":
      await liftSilence(tx, { id: targetId, at: await readDatabaseClock(tx) });
      return true;
    case "key":
      await deleteImportedKey(tx, targetId);
      return true;
    case "member": {
      const { projectId = 0 } = (detail ?? {}) as { projectId?: number };
      await deleteMember(tx, { projectId, accountId: targetId });
      return true;
    }
  }
}
