// Incidents for people: reading them, acknowledging, resolving and notes. The planner opens them.
import { type AckLink, isAckLinkValid, readAckToken } from "../core/ack-link.ts";
import type { Visibility } from "../core/deadline.ts";
import type { Signing } from "../core/email.ts";
import { AppError } from "../core/errors.ts";
import {
  acknowledge,
  type IncidentActor,
  type IncidentStatus,
  resolve,
  unacknowledge,
} from "../core/incident.ts";
import type { Instant } from "../core/instant.ts";
import {
  INCIDENT_CHECKS_NAMED_MAX,
  INCIDENT_NOTE_LENGTH_MAX,
  INCIDENT_NOTES_MAX,
  INCIDENT_ROWS_SHOWN_MAX,
} from "../core/limits.ts";
import { type Channel, findChannelById } from "../store/channels.ts";
import type { Database, Db } from "../store/db.ts";
import {
  closeResolvedAlerts,
  countNotes,
  countOpenIncidents,
  findIncident,
  findIncidentById,
  findOpenNumbers,
  type Incident,
  type IncidentAlert,
  type IncidentCheck,
  type IncidentDelivery,
  type IncidentEvent,
  insertIncidentEvents,
  type LinkedIncident,
  listIncidentAlerts,
  listIncidentChecks,
  listIncidentDeliveries,
  listIncidentEvents,
  listOpenAlertChecks,
  listProjectIncidents,
  type ListedIncident,
  lockIncidents,
  withdrawRepeats,
  writeIncidents,
} from "../store/incidents.ts";
import type { Tx } from "../store/transaction.ts";
import { type Actor, audit } from "./audit.ts";
import { resolveAlerts } from "./checks.ts";
import { inRetriedTransaction } from "./retry.ts";

export type IncidentName = { projectId: number; number: number };

/** An incident with its first checks. */
export type IncidentWithChecks = ListedIncident & { checks: readonly IncidentCheck[] };

export type IncidentPage = {
  projectId: number;
  state: "open" | "resolved" | "all";
  /** Incidents with lower numbers; null: from the newest on. */
  before: number | null;
  limit: number;
};

/** Incidents of a project, newest first, and where the next page begins. */
export async function listIncidents(
  db: Db,
  page: IncidentPage,
): Promise<{
  incidents: IncidentWithChecks[];
  counts: { open: number; acknowledged: number };
  next: number | null;
}> {
  const [found, counts] = await Promise.all([
    listProjectIncidents(db, { ...page, limit: page.limit + 1 }),
    countOpenIncidents(db, page.projectId),
  ]);
  const incidents = await withChecks(db, found.slice(0, page.limit));
  return { incidents, counts, next: found.length > page.limit ? (incidents.at(-1)?.number ?? null) : null };
}

async function withChecks<T extends ListedIncident>(
  db: Db,
  incidents: readonly T[],
): Promise<(T & { checks: readonly IncidentCheck[] })[]> {
  const [first] = incidents;
  if (first === undefined) return [];
  const incidentIds = incidents.map(({ id }) => id);
  const limit = INCIDENT_CHECKS_NAMED_MAX;
  const checks = await listIncidentChecks(db, { incidentIds, projectId: first.projectId, limit });
  const byIncident = Map.groupBy(checks, ({ incidentId }) => incidentId);
  return incidents.map((incident) => ({ ...incident, checks: byIncident.get(incident.id) ?? [] }));
}

function notFound(): AppError {
  return new AppError("not_found", "Incident not found.");
}

/** An incident with its checks. Throws AppError `not_found`. */
async function getRow(db: Db, name: IncidentName): Promise<IncidentWithChecks> {
  const found = await findIncident(db, name);
  const [row] = found === null ? [] : await withChecks(db, [found]);
  if (row === undefined) throw notFound();
  return row;
}

export type WholeIncident = IncidentWithChecks & {
  alerts: readonly IncidentAlert[];
  deliveries: readonly IncidentDelivery[];
  /** With notes. */
  events: readonly IncidentEvent[];
};

/** An incident with all that belongs to it. Throws AppError `not_found`. */
export async function getIncident(db: Db, name: IncidentName): Promise<WholeIncident> {
  const row = await getRow(db, name);
  const of = { incidentId: row.id, projectId: row.projectId, limit: INCIDENT_ROWS_SHOWN_MAX };
  const [alerts, deliveries, events] = await Promise.all([
    listIncidentAlerts(db, of),
    listIncidentDeliveries(db, of),
    listIncidentEvents(db, of),
  ]);
  return { ...row, alerts, deliveries, events };
}

/** A change by an account or an API key. */
export type IncidentChange = IncidentName & { by: Actor; at: Instant };

function actorOf({ accountId }: Actor): IncidentActor {
  return { accountId, channelId: null };
}

/** Acknowledges an incident, unless it is acknowledged or resolved. Throws AppError `not_found`. */
export async function acknowledgeIncident(database: Database, change: IncidentChange): Promise<void> {
  const { projectId, number, at } = change;
  await inRetriedTransaction(database, async (tx) => {
    const locked = await lockIncidents(tx, { projectId, numbers: [number] });
    if (locked.length === 0) throw notFound();
    await acknowledgeLocked(tx, { locked, by: actorOf(change.by), at });
  });
}

/**
 * Acknowledges the incidents of a project with these numbers, or the open ones of these checks; returns the numbers of
 * those that were not acknowledged before.
 */
export function acknowledgeIncidents(
  database: Database,
  request: {
    projectId: number;
    chosen: { numbers: readonly number[] } | { checkUuids: readonly string[] };
    by: Actor;
    at: Instant;
  },
): Promise<number[]> {
  const { projectId, chosen, at } = request;
  return inRetriedTransaction(database, async (tx) => {
    const numbers =
      "numbers" in chosen ? chosen.numbers : await findOpenNumbers(tx, { projectId, ...chosen });
    const locked = await lockIncidents(tx, { projectId, numbers });
    return acknowledgeLocked(tx, { locked, by: actorOf(request.by), at });
  });
}

async function acknowledgeLocked(
  tx: Tx,
  { locked, by, at }: { locked: readonly Incident[]; by: IncidentActor; at: Instant },
): Promise<number[]> {
  const changed = await writeChanged(tx, { locked, change: (one) => acknowledge(one, { at, by }) });
  if (changed.length === 0) return [];
  const incidentIds = changed.map(({ id }) => id);
  await withdrawRepeats(tx, { incidentIds, at, reason: "acknowledged before it was sent" });
  await insertIncidentEvents(
    tx,
    incidentIds.map((incidentId) => ({ incidentId, at, kind: "acknowledged", by })),
  );
  return changed.map(({ number }) => number);
}

/** Writes the incidents that a change affects, and returns them. */
async function writeChanged(
  tx: Tx,
  { locked, change }: { locked: readonly Incident[]; change: (incident: Incident) => IncidentStatus },
): Promise<Incident[]> {
  const changed = locked.flatMap((incident) => {
    const status = change(incident);
    return status === incident ? [] : [{ ...incident, ...status }];
  });
  if (changed.length > 0) await writeIncidents(tx, changed);
  return changed;
}

/** Takes an acknowledgement back, if there is one. Throws AppError `not_found`. */
export async function unacknowledgeIncident(database: Database, change: IncidentChange): Promise<void> {
  const { projectId, number, at } = change;
  await inRetriedTransaction(database, async (tx) => {
    const locked = await lockIncidents(tx, { projectId, numbers: [number] });
    if (locked.length === 0) throw notFound();
    await unacknowledgeLocked(tx, { locked, by: actorOf(change.by), at });
  });
}

async function unacknowledgeLocked(
  tx: Tx,
  { locked, by, at }: { locked: readonly Incident[]; by: IncidentActor; at: Instant },
): Promise<void> {
  const changed = await writeChanged(tx, { locked, change: unacknowledge });
  if (changed.length === 0) return;
  const events = changed.map(({ id }) => ({ incidentId: id, at, kind: "unacknowledged" as const, by }));
  await insertIncidentEvents(tx, events);
}

/** Checks whose alerts are closed in one transaction: few, because pings of these checks wait for it. */
const RESOLVED_CHECKS_MAX = 200;

/**
 * Closes the open alerts of an incident without notifications and resolves it. Its checks keep their status. If the
 * process ends before it is complete, the alerts that were closed stay closed. Throws AppError `not_found`.
 */
export async function resolveIncident(
  database: Database,
  change: IncidentChange & { visibility: Visibility },
): Promise<void> {
  let isResolved = false;
  while (!isResolved) isResolved = await inRetriedTransaction(database, (tx) => resolvePortion(tx, change));
}

/** False: alerts are still open. */
async function resolvePortion(tx: Tx, change: IncidentChange & { visibility: Visibility }): Promise<boolean> {
  const { projectId, number, by, at, visibility } = change;
  const incident = await findIncident(tx, { projectId, number });
  if (incident === null) throw notFound();
  const open = { incidentId: incident.id, limit: RESOLVED_CHECKS_MAX };
  const checkIds = await listOpenAlertChecks(tx, open);
  await resolveAlerts(tx, { checkIds, at, visibility });
  // Those of deleted checks, too.
  await closeResolvedAlerts(tx, { incidentId: incident.id, checkIds, at });
  if ((await listOpenAlertChecks(tx, open)).length > 0) return false;
  // In the transaction of the last alert: the planner would resolve it without saying who did.
  const locked = await lockIncidents(tx, { projectId, numbers: [number] });
  const changed = await writeChanged(tx, { locked, change: (one) => resolve(one, at) });
  if (changed.length === 0) return true;
  const incidentIds = changed.map(({ id }) => id);
  await withdrawRepeats(tx, { incidentIds, at, reason: "resolved before it was sent" });
  await insertIncidentEvents(
    tx,
    incidentIds.map((incidentId) => ({ incidentId, at, kind: "resolved", by: actorOf(by) })),
  );
  const subject = `#${number}`;
  await audit(tx, { ...by, projectId, what: "incident.resolved", subject, before: null, after: null, at });
  return true;
}

export type Note = { id: number; at: Instant; by: IncidentActor; text: string };

/**
 * Adds a note to the timeline. Throws AppError `not_found`, `invalid` if the text is empty or too long, and `conflict`
 * if there are too many notes.
 */
export function addNote(database: Database, change: IncidentChange & { text: string }): Promise<Note> {
  const { projectId, number, at } = change;
  const text = change.text.trim();
  if (text === "") throw new AppError("invalid", "Enter a note.", "text");
  if (Array.from(text).length > INCIDENT_NOTE_LENGTH_MAX) {
    const problem = `A note can have at most ${INCIDENT_NOTE_LENGTH_MAX} characters.`;
    throw new AppError("invalid", problem, "text");
  }
  return inRetriedTransaction(database, async (tx) => {
    const [incident] = await lockIncidents(tx, { projectId, numbers: [number] });
    if (incident === undefined) throw notFound();
    if ((await countNotes(tx, incident.id)) >= INCIDENT_NOTES_MAX) {
      throw new AppError("conflict", `An incident can have at most ${INCIDENT_NOTES_MAX} notes.`);
    }
    const by = actorOf(change.by);
    const [id = 0] = await insertIncidentEvents(tx, [
      { incidentId: incident.id, at, kind: "note", by, text },
    ]);
    return { id, at, by, text };
  });
}

/** The incident of a link with its first checks, and the channel that the link was sent to. */
export type FollowedLink = {
  link: AckLink;
  incident: LinkedIncident & { checks: readonly IncidentCheck[] };
  channel: Channel;
};

/**
 * What a link to acknowledge names; null if it is invalid: too old, of a deleted channel, or of a project that does not
 * use links.
 */
export async function followAckLink(
  db: Db,
  { token, signing, now }: { token: string; signing: Signing; now: Instant },
): Promise<FollowedLink | null> {
  const link = readAckToken(signing, token);
  if (link === null) return null;
  const [found, channel] = await Promise.all([
    findIncidentById(db, link.incidentId),
    findChannelById(db, link.channelId),
  ]);
  if (found === null || channel === null || channel.projectId !== found.projectId) return null;
  if (!found.hasAckLinks || !isAckLinkValid(found, now)) return null;
  const [incident] = await withChecks(db, [found]);
  return incident === undefined ? null : { link, incident, channel };
}

/** Acknowledges the incident of a link, or takes the acknowledgement back. */
export async function useAckLink(
  database: Database,
  request: { followed: FollowedLink; action: "acknowledge" | "unacknowledge"; at: Instant },
): Promise<void> {
  const { followed, action, at } = request;
  const { projectId, number } = followed.incident;
  const by = { accountId: null, channelId: followed.channel.id };
  await inRetriedTransaction(database, async (tx) => {
    const locked = await lockIncidents(tx, { projectId, numbers: [number] });
    if (action === "acknowledge") await acknowledgeLocked(tx, { locked, by, at });
    else await unacknowledgeLocked(tx, { locked, by, at });
  });
}
