// Handlers of incidents.
import type {
  Incident,
  IncidentActor,
  IncidentAlert,
  IncidentDelivery,
  IncidentEvent,
  IncidentNote,
  IncidentRow,
  incidentRoutes,
} from "../../contract/api/incidents.ts";
import { channelName } from "../../contract/api/words.ts";
import type { Visibility } from "../../core/deadline.ts";
import { AppError } from "../../core/errors.ts";
import { splitTags } from "../../core/identity.ts";
import { type IncidentActor as StoredActor, parseIncidentKey } from "../../core/incident.ts";
import type { Instant } from "../../core/instant.ts";
import { INCIDENT_TAGS_SHOWN_MAX, PAGE_LENGTH_DEFAULT } from "../../core/limits.ts";
import {
  acknowledgeIncident,
  acknowledgeIncidents,
  addNote,
  getIncident,
  type IncidentWithChecks,
  listIncidents,
  resolveIncident,
  unacknowledgeIncident,
} from "../../operations/incidents.ts";
import { findAccountNames } from "../../store/accounts.ts";
import { findChannelsByIds } from "../../store/channels.ts";
import type { Database } from "../../store/db.ts";
import type { IncidentAlert as StoredAlert, IncidentEvent as StoredEvent } from "../../store/incidents.ts";
import type { Project } from "../../store/projects.ts";
import { cursorNumber, cursorText, numberParam } from "./params.ts";
import type { Actor, ApiContext, ApiHandlers } from "./route.ts";
import { presentDeliveries } from "./runs.ts";

/** The names that some incidents refer to by ids. */
type Names = {
  accounts: ReadonlyMap<number, string>;
  channels: ReadonlyMap<number, string>;
};

const NO_NAMES = new Map<number, string>();

async function readNames(database: Database, actors: readonly StoredActor[]): Promise<Names> {
  const accountIds = new Set(actors.flatMap(({ accountId }) => accountId ?? []));
  const channelIds = new Set(actors.flatMap(({ channelId }) => channelId ?? []));
  const [accounts, channels] = await Promise.all([
    accountIds.size > 0 ? findAccountNames(database, [...accountIds]) : NO_NAMES,
    channelIds.size > 0 ? findChannelsByIds(database, [...channelIds]) : [],
  ]);
  return { accounts, channels: new Map(channels.map((channel) => [channel.id, channelName(channel)])) };
}

function presentActor({ accountId, channelId }: StoredActor, names: Names): IncidentActor {
  if (accountId !== null) return { kind: "account", name: names.accounts.get(accountId) ?? null };
  if (channelId !== null) return { kind: "channel", name: names.channels.get(channelId) ?? null };
  return { kind: "key", name: null };
}

function presentKey(
  { key, checkCount, checks: [first] }: IncidentWithChecks,
  project: Project,
): IncidentRow["key"] {
  const parsed = key === null ? null : parseIncidentKey(key);
  switch (parsed?.kind) {
    case "source":
      return { kind: "source", value: parsed.address };
    case "tag":
      return { kind: "tag", value: parsed.tag };
    case "project":
      return { kind: "project", value: project.name };
    case undefined:
      // Without a key, only checks that depend on the first one join.
      return checkCount > 1 && first !== undefined ? { kind: "parent", value: first.name } : null;
  }
}

type Shown = { names: Names; project: Project; now: Instant };

function presentRow(incident: IncidentWithChecks, { names, project, now }: Shown): IncidentRow {
  const { state, acknowledged, nextStepAt } = incident;
  const tags = new Set(incident.checks.flatMap((check) => splitTags(check.tags)));
  return {
    number: incident.number,
    cause: incident.cause,
    checks: incident.checks.map(({ uuid, name }) => ({ id: uuid, name })),
    checkCount: incident.checkCount,
    openCount: incident.openCount,
    key: presentKey(incident, project),
    state,
    severity: incident.severity,
    openedAt: incident.openedAt,
    acknowledged: acknowledged && { at: acknowledged.at, by: presentActor(acknowledged.by, names) },
    resolvedAt: incident.resolvedAt,
    reopenCount: incident.reopenCount,
    isFlapping: incident.flappingAt !== null,
    // A step that is due is being worked on: what it is, and when the next one follows, is not known yet.
    nextStep:
      nextStepAt === null || nextStepAt <= now
        ? null
        : { kind: state === "acknowledged" ? "acknowledgementEnds" : "repeat", at: nextStepAt },
    tags: [...tags].slice(0, INCIDENT_TAGS_SHOWN_MAX),
  };
}

const HELD = {
  silence: "a silence",
  dependency: "a problem of a check that it depends on",
  flapping: "the incident is flapping",
  group: "the problem was over before the grouped notification was sent",
} as const;

/** "Held: a silence (DB upgrade)". */
function ruleText({ held }: StoredAlert): string | null {
  if (held === null) return null;
  const reason = held.reason === null || held.reason === "" ? "" : ` (${held.reason})`;
  return `${held.isDropped ? "Not sent" : "Held"}: ${HELD[held.by]}${reason}`;
}

function presentAlert(alert: StoredAlert): IncidentAlert {
  const { id, check, cause, openedAt, closed } = alert;
  return {
    id,
    check: check && { id: check.uuid, name: check.name },
    cause,
    openedAt,
    closedAt: closed?.at ?? null,
    closeCause: closed?.cause ?? null,
    rule: ruleText(alert),
  };
}

function presentEvent({ id, at, kind, by }: StoredEvent, names: Names): IncidentEvent[] {
  return kind === "note" ? [] : [{ id, at, kind, by: by && presentActor(by, names) }];
}

function presentNote({ id, at, kind, by, text }: StoredEvent, names: Names): IncidentNote[] {
  if (kind !== "note" || by === null) return [];
  return [{ id, at, by: presentActor(by, names), text: text ?? "" }];
}

type Named = { projectId: number; number: number };

async function readIncident(
  { database }: ApiContext,
  { project, number, now }: { project: Project; number: number; now: Instant },
): Promise<Incident> {
  const incident = await getIncident(database, { projectId: project.id, number });
  const { acknowledged, alerts, events } = incident;
  const actors = [acknowledged?.by ?? [], ...events.map(({ by }) => by ?? [])].flat();
  const [names, shown] = await Promise.all([
    readNames(database, actors),
    presentDeliveries(database, { deliveries: incident.deliveries, projectId: project.id }),
  ]);
  const deliveries = shown.map((delivery, index): IncidentDelivery => {
    const { kind, check = null } = incident.deliveries[index] ?? {};
    return {
      ...delivery,
      kind: kind as IncidentDelivery["kind"],
      check: check && { id: check.uuid, name: check.name },
    };
  });
  return {
    ...presentRow(incident, { names, project, now }),
    alerts: alerts.map(presentAlert),
    deliveries,
    events: events.flatMap((event) => presentEvent(event, names)),
    notes: events.flatMap((event) => presentNote(event, names)),
  };
}

type Request = {
  context: ApiContext;
  project: Project;
  params: { incident: string };
  actor: Actor;
  now: Instant;
};

function named({ project, params }: Request): Named {
  return { projectId: project.id, number: numberParam(params.incident) };
}

/** Makes a change and returns the incident after it. */
async function changed(
  request: Request,
  change: (
    database: Database,
    of: Named & { by: Actor; at: Instant; visibility: Visibility },
  ) => Promise<void>,
): Promise<{ json: Incident }> {
  const { context, project, actor, now } = request;
  const name = named(request);
  await change(context.database, { ...name, by: actor, at: now, visibility: context.visibility() });
  return { json: await readIncident(context, { project, number: name.number, now }) };
}

/** Throws AppError `invalid` unless exactly one of both is given. */
function chosenIncidents({ checks, incidents }: { checks?: string[]; incidents?: number[] }) {
  if (checks !== undefined && incidents === undefined) return { checkUuids: checks };
  if (incidents !== undefined && checks === undefined) return { numbers: incidents };
  throw new AppError("invalid", "Send either `checks` or `incidents`.");
}

export const incidentHandlers: ApiHandlers<typeof incidentRoutes> = {
  listIncidents: async ({ context, project, keyKind, query, now }) => {
    const { state = "open", cursor, limit = PAGE_LENGTH_DEFAULT } = query;
    const page = { projectId: project.id, state, before: cursorNumber(cursor), limit };
    const { incidents, counts, next } = await listIncidents(context.database, page);
    const actors = incidents.flatMap(({ acknowledged }) => acknowledged?.by ?? []);
    // Read-only keys see no names of people, and no ids of checks, which would allow sending pings.
    const isReadOnly = keyKind === "readOnly";
    const names = await readNames(context.database, isReadOnly ? [] : actors);
    const shown = incidents
      .map((incident) => presentRow(incident, { names, project, now }))
      .map((row) => (isReadOnly ? { ...row, checks: [] } : row));
    return { json: { incidents: shown, counts, next: cursorText(next) } };
  },
  acknowledgeIncidents: async ({ context, project, body, actor, now }) => ({
    json: {
      acknowledged: await acknowledgeIncidents(context.database, {
        projectId: project.id,
        chosen: chosenIncidents(body),
        by: actor,
        at: now,
      }),
    },
  }),
  getIncident: async (request) => {
    const { context, project, now } = request;
    return { json: await readIncident(context, { project, number: named(request).number, now }) };
  },
  acknowledgeIncident: (request) => changed(request, acknowledgeIncident),
  unacknowledgeIncident: (request) => changed(request, unacknowledgeIncident),
  resolveIncident: (request) => changed(request, resolveIncident),
  addIncidentNote: async (request) => {
    const { context, body, actor, now } = request;
    const note = await addNote(context.database, {
      ...named(request),
      by: actor,
      at: now,
      text: body.text,
    });
    const names = await readNames(context.database, [note.by]);
    return { json: { ...note, by: presentActor(note.by, names) } };
  },
};
