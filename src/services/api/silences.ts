// Handlers of silences.
import { API_PATH } from "../../contract/api/route.ts";
import type { NewSilence, Silence, SilenceChange, silenceRoutes } from "../../contract/api/silences.ts";
import { AppError } from "../../core/errors.ts";
import type { KeyKind } from "../../core/identity.ts";
import type { Instant } from "../../core/instant.ts";
import { PAGE_LENGTH_DEFAULT } from "../../core/limits.ts";
import { nextWindow, silenceState, type SilenceWindow } from "../../core/silence.ts";
import { listAudit } from "../../operations/audit.ts";
import {
  createSilence,
  endSilence,
  findNamedChecks,
  getSilence,
  listSilencePage,
  previewSilence,
  type ScopeRequest,
  updateSilence,
} from "../../operations/silences.ts";
import type { Project } from "../../store/projects.ts";
import type { StoredSilence } from "../../store/silences.ts";
import {
  changedBy,
  cursorNumber,
  cursorText,
  entityTag,
  idempotencyKey,
  ifMatch,
  uuidParam,
} from "./params.ts";
import { type ApiContext, type ApiHandlers, ApiProblem } from "./route.ts";

type Viewing = { context: ApiContext; keyKind: KeyKind | null; now: Instant };

/** Silences of one project. A read-only key sees neither who created them nor the IDs of checks. */
async function presentSilences(
  { context, keyKind, now }: Viewing,
  silences: readonly StoredSilence[],
): Promise<Silence[]> {
  const isReadOnly = keyKind === "readOnly";
  const named = await findNamedChecks(context.database, silences);
  return silences.map((silence) => ({
    id: silence.uuid,
    checks:
      silence.scope.kind === "checks"
        ? (named.get(silence.id) ?? []).map(({ uuid, name }) => ({ id: isReadOnly ? null : uuid, name }))
        : null,
    tag: silence.scope.kind === "tag" ? silence.scope.tag : null,
    reason: silence.reason,
    state: silenceState(silence, now),
    window: presentWindow(nextWindow(silence, now)),
    from: silence.from,
    until: silence.until,
    untilSuccess: silence.untilSuccess,
    schedule: silence.schedule,
    tz: silence.tz,
    duration: silence.durationSeconds,
    holdAfter: silence.holdAfterSeconds,
    createdAt: silence.createdAt,
    createdBy: isReadOnly ? null : silence.email,
    endedAt: silence.endedAt,
    version: silence.version,
  }));
}

async function presentSilence(viewing: Viewing, silence: StoredSilence): Promise<Silence> {
  const [shown] = await presentSilences(viewing, [silence]);
  if (shown === undefined) throw new Error("a silence was not presented");
  return shown;
}

function presentWindow(window: SilenceWindow): { from: Instant; until: Instant };
function presentWindow(window: SilenceWindow | null): { from: Instant; until: Instant } | null;
function presentWindow(window: SilenceWindow | null) {
  return window && { from: window.from, until: window.to };
}

/** The fields of a request other than the scope. */
function fieldsOf({
  from,
  until,
  duration,
  untilSuccess,
  tz,
  holdAfter,
  reason,
}: NewSilence | SilenceChange) {
  return {
    ...(from !== undefined && { from }),
    ...(until !== undefined && { until }),
    ...(duration !== undefined && { durationSeconds: duration }),
    ...(untilSuccess !== undefined && { untilSuccess }),
    ...(tz !== undefined && { tz }),
    ...(holdAfter !== undefined && { holdAfterSeconds: holdAfter }),
    ...(reason !== undefined && { reason }),
  };
}

function requestOf(body: NewSilence) {
  const { checks = null, tag = null, schedule = null } = body;
  return { ...fieldsOf(body), schedule, scope: { checks, tag } };
}

function changeOf(body: SilenceChange) {
  const { checks, tag, schedule } = body;
  const scope: ScopeRequest = { checks: checks ?? null, tag: tag ?? null };
  const isScopeGiven = checks !== undefined || tag !== undefined;
  return {
    ...fieldsOf(body),
    ...(schedule !== undefined && { schedule }),
    ...(isScopeGiven && { scope }),
  };
}

function nameOf({ project, params }: { project: Project; params: { silence: string } }) {
  return { projectId: project.id, uuid: uuidParam(params.silence) };
}

/** The error for a request based on a version of the silence that is no longer the latest. */
async function versionConflict(
  { database }: ApiContext,
  name: { projectId: number; uuid: string },
  { accountId, now }: { accountId: number | null; now: Instant },
): Promise<ApiProblem> {
  const { version } = await getSilence(database, name);
  const { entries } = await listAudit(database, { projectId: name.projectId });
  // The change is recent, so it is on the newest page of the audit log.
  const entry = entries.find(({ what }) => what === "silence.changed" || what === "silence.ended");
  return new ApiProblem("conflict", "Someone else changed this silence while you were editing it.", {
    conflict: {
      by: changedBy(entry, accountId),
      at: entry?.at ?? now,
      before: { ...entry?.before },
      after: { ...entry?.after },
      version,
    },
  });
}

export const silenceHandlers: ApiHandlers<typeof silenceRoutes> = {
  listSilences: async (request) => {
    const { context, project, query, now } = request;
    const { cursor, limit = PAGE_LENGTH_DEFAULT, state = null } = query;
    const { items, next } = await listSilencePage(context.database, {
      projectId: project.id,
      state,
      now,
      from: cursorNumber(cursor),
      limit,
    });
    return { json: { silences: await presentSilences(request, items), next: cursorText(next) } };
  },
  createSilence: async (request) => {
    const { context, project, actor, body, headers, now } = request;
    const key = idempotencyKey(headers);
    const silence = await createSilence(context.database, {
      projectId: project.id,
      request: requestOf(body),
      once: key === null ? null : { key, request: JSON.stringify(body) },
      by: actor,
      at: now,
    });
    const json = await presentSilence(request, silence);
    const path = `${API_PATH}/projects/${project.uuid}/silences/${json.id}`;
    return { headers: { ...entityTag(json), Location: `${context.urls.site}${path}` }, json };
  },
  previewSilence: async ({ context, project, body, now }) => {
    const preview = await previewSilence(context.database, {
      projectId: project.id,
      request: requestOf(body),
      now,
    });
    const { plan, checkCount, checks, windows } = preview;
    return {
      json: {
        checkCount,
        checks: checks.map(({ uuid, name, runCount, firstRunAt }) => ({
          id: uuid,
          name,
          runCount,
          firstRunAt,
        })),
        windows: windows.map((window) => presentWindow(window)),
        untilSuccess: plan.untilSuccess,
        holdAfter: plan.holdAfterSeconds,
      },
    };
  },
  getSilence: async (request) => {
    const silence = await getSilence(request.context.database, nameOf(request));
    return { headers: entityTag(silence), json: await presentSilence(request, silence) };
  },
  updateSilence: async (request) => {
    const { context, account, actor, body, headers, now } = request;
    const { version } = body;
    const matched = ifMatch(headers);
    const name = nameOf(request);
    try {
      const silence = await updateSilence(context.database, {
        ...name,
        change: changeOf(body),
        expected: matched ?? (version === undefined ? null : [version]),
        by: actor,
        at: now,
      });
      return { headers: entityTag(silence), json: await presentSilence(request, silence) };
    } catch (error) {
      const isConflict = error instanceof AppError && error.code === "precondition_failed";
      if (!isConflict || matched !== null) throw error;
      throw await versionConflict(context, name, { accountId: account?.id ?? null, now });
    }
  },
  endSilence: async (request) => {
    const { context, actor, headers, now } = request;
    const expected = ifMatch(headers);
    await endSilence(context.database, { ...nameOf(request), expected, by: actor, at: now });
    return { json: null };
  },
};
