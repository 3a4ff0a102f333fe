// Handlers of fire drills.
import type {
  FireDrill,
  fireDrillRoutes,
  FireDrillSchedule,
  FireDrillSummary,
} from "../../contract/api/fire-drills.ts";
import { mayDo } from "../../core/access.ts";
import { AppError } from "../../core/errors.ts";
import { drillMs, hopsOf } from "../../core/fire-drill.ts";
import type { KeyKind } from "../../core/identity.ts";
import {
  type FireDrillResult,
  getDrillSchedule,
  getFireDrill,
  listFireDrills,
  setDrillSchedule,
  startFireDrill,
} from "../../operations/fire-drills.ts";
import type { StoredDrillSchedule } from "../../store/fire-drills.ts";
import { uuidParam } from "./params.ts";
import type { ApiHandlers } from "./route.ts";

/** A read-only key sees neither IDs of checks, which allow sending pings, nor who started it. */
export function presentSummary(
  { drill, messages }: FireDrillResult,
  keyKind: KeyKind | null,
): FireDrillSummary {
  const isReadOnly = keyKind === "readOnly";
  const { asCheck, asName } = drill;
  const isNamed = asCheck !== null || asName !== "";
  return {
    id: drill.uuid,
    check: isNamed ? { id: isReadOnly ? null : (asCheck?.uuid ?? null), name: asName } : null,
    isSent: drill.isSent,
    isScheduled: drill.isScheduled,
    startedBy: isReadOnly ? null : drill.email,
    startedAt: drill.startedAt,
    endedAt: drill.endedAt,
    outcome: drill.outcome,
    durationMs: drillMs({ ...drill, messages }),
    channelCount: messages.filter(({ outcome }) => outcome === "sent" || outcome === "notSent").length,
  };
}

function presentDrill(result: FireDrillResult, keyKind: KeyKind | null): FireDrill {
  const { drill, messages } = result;
  return {
    ...presentSummary(result, keyKind),
    hops: hopsOf({ ...drill, messages }),
    held: drill.heldReason === null ? null : { reason: drill.heldReason, until: drill.heldUntilAt },
    notes: [...drill.notes],
    recipients: messages.map(({ channel, body, ...message }) => ({
      channel: { id: channel.uuid, kind: channel.kind, name: channel.name },
      outcome: message.outcome,
      reason: message.reason,
      code: message.code,
      claimedAt: message.claimedAt,
      renderedAt: message.renderedAt,
      answeredAt: message.answeredAt,
      closing: message.closing,
      title: message.title,
      text: keyKind === "readOnly" ? null : body,
      requests: keyKind === "readOnly" ? [] : [...message.requests],
    })),
  };
}

function presentSchedule(schedule: StoredDrillSchedule | null, keyKind: KeyKind | null): FireDrillSchedule {
  if (schedule === null) return { schedule: null };
  const { weekday, minute, tz, isSent: send, asCheck, nextAt } = schedule;
  const check = asCheck && { id: keyKind === "readOnly" ? null : asCheck.uuid, name: asCheck.name };
  return { schedule: { weekday, minute, tz, send, check, nextAt } };
}

export const fireDrillHandlers: ApiHandlers<typeof fireDrillRoutes> = {
  listFireDrills: async ({ context, project, keyKind }) => {
    const results = await listFireDrills(context.database, project.id);
    return { json: { fireDrills: results.map((result) => presentSummary(result, keyKind)) } };
  },
  startFireDrill: async ({ context, project, role, keyKind, actor, body, now }) => {
    const { check = null, send = false } = body;
    if (send && !mayDo(role, "sendFireDrill")) {
      throw new AppError("forbidden", "Only owners and managers can start a fire drill that sends messages.");
    }
    const request = { project, check, isSent: send, by: actor, at: now };
    return { json: presentDrill(await startFireDrill(context.database, request), keyKind) };
  },
  getFireDrill: async ({ context, project, params, keyKind }) => {
    const name = { projectId: project.id, uuid: uuidParam(params.fireDrill) };
    return { json: presentDrill(await getFireDrill(context.database, name), keyKind) };
  },
  getFireDrillSchedule: async ({ context, project, keyKind }) => ({
    json: presentSchedule(await getDrillSchedule(context.database, project.id), keyKind),
  }),
  setFireDrillSchedule: async ({ context, project, actor, body: { schedule }, now }) => {
    const set =
      schedule === null
        ? null
        : {
            weekday: schedule.weekday,
            minute: schedule.minute,
            tz: schedule.tz,
            check: schedule.check ?? null,
            isSent: schedule.send,
          };
    const stored = await setDrillSchedule(context.database, { project, schedule: set, by: actor, at: now });
    return { json: presentSchedule(stored, null) };
  },
};
