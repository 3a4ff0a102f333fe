// Creating, changing and deleting projects and their keys. Authorization happens before.
import { randomUUID } from "node:crypto";
import { AppError } from "../core/errors.ts";
import { type KeyKind, newPingKey, newProjectIds, newUuidIn } from "../core/identity.ts";
import type { Instant } from "../core/instant.ts";
import { API_KEYS_MAX, PROJECT_NAME_LENGTH_MAX, PROJECTS_OWNED_MAX } from "../core/limits.ts";
import { isZone } from "../core/schedule/zone.ts";
import { randomText } from "../lib/secrets.ts";
import { lockAccount } from "../store/accounts.ts";
import { listApiKeys, revokeApiKey } from "../store/api-keys.ts";
import { deleteChannel, listChannels } from "../store/channels.ts";
import { markChecksDeleted } from "../store/checks.ts";
import type { Database } from "../store/db.ts";
import {
  countOwnedProjects,
  deleteMembersOfProject,
  findProjectByUuid,
  hideProject,
  insertProject,
  listMembers,
  lockProject,
  type Project,
  renameProject,
  writePingKey,
  writeProjectZone,
} from "../store/projects.ts";
import { inTransaction, type Tx } from "../store/transaction.ts";
import { addApiKey, keySubject, prefixOf } from "./api-keys.ts";
import { type Actor, audit } from "./audit.ts";
import { inRetriedTransaction } from "./retry.ts";

export type ProjectRequest = { ownerId: number; name: string; secretKey: string; now: Instant };

/** The API keys in plain text, only here. */
export type CreatedProject = { uuid: string; apiKey: string; apiKeyReadonly: string; pingKey: string };

/** The validated name of a project, or AppError `invalid`. */
function projectName(text: string): string {
  const name = text.trim();
  if (name !== "" && Array.from(name).length <= PROJECT_NAME_LENGTH_MAX) return name;
  throw new AppError("invalid", `The project name must have 1 to ${PROJECT_NAME_LENGTH_MAX} characters.`);
}

/**
 * Creates a project with a read-write key, a read-only key and a ping key, for the command line. AppError
 * `invalid` for a name that is empty or too long.
 */
export async function createProject(database: Database, request: ProjectRequest): Promise<CreatedProject> {
  const name = projectName(request.name);
  const { ownerId, secretKey, now } = request;
  const project = {
    ...newProjectIds({ uuid: randomUUID, text: randomText }, database.slots),
    name,
    createdAt: now,
  };
  return inTransaction(database, async (tx) => {
    const projectId = await insertProject(tx, { ...project, ownerId });
    const key = { project: { id: projectId, uuid: project.uuid }, name: "", secretKey, now };
    const apiKey = await addApiKey(tx, { ...key, kind: "readWrite" });
    const apiKeyReadonly = await addApiKey(tx, { ...key, kind: "readOnly" });
    const by = { projectId, accountId: null, keyId: null };
    await audit(tx, {
      ...by,
      what: "project.created",
      subject: name,
      before: null,
      after: { name },
      at: now,
    });
    return { uuid: project.uuid, apiKey, apiKeyReadonly, pingKey: project.pingKey };
  });
}

/** A change of a project: actor and time. */
export type ProjectChange = { project: Project; by: Actor; now: Instant };

/** Creates a project without API keys. */
export async function openProject(
  database: Database,
  { accountId, name, now }: { accountId: number; name: string; now: Instant },
): Promise<{ uuid: string; name: string }> {
  const project = {
    ...newProjectIds({ uuid: randomUUID, text: randomText }, database.slots),
    name: projectName(name),
    createdAt: now,
  };
  return inRetriedTransaction(database, async (tx) => {
    await lockAccount(tx, accountId);
    if ((await countOwnedProjects(tx, accountId)) >= PROJECTS_OWNED_MAX) {
      throw new AppError("conflict", `An account can own at most ${PROJECTS_OWNED_MAX} projects.`);
    }
    const projectId = await insertProject(tx, { ...project, ownerId: accountId });
    await audit(tx, {
      projectId,
      accountId,
      keyId: null,
      what: "project.created",
      subject: project.name,
      before: null,
      after: { name: project.name },
      at: now,
    });
    return { uuid: project.uuid, name: project.name };
  });
}

/** Locks and reads the project. AppError `not_found` if it was deleted in the meantime. */
async function locked(tx: Tx, { id, uuid }: Project): Promise<Project> {
  await lockProject(tx, id);
  const project = await findProjectByUuid(tx, uuid);
  // A deleted project is kept for a while without members.
  const isThere = project !== null && (await listMembers(tx, id)).length > 0;
  if (!isThere) throw new AppError("not_found", "The project no longer exists.");
  return project;
}

/** Renames a project. AppError `precondition_failed` if its name is neither `expected` nor the new one. */
export async function changeProjectName(
  database: Database,
  { project, by, now, name, expected }: ProjectChange & { name: string; expected?: string },
): Promise<void> {
  const next = projectName(name);
  await inRetriedTransaction(database, async (tx) => {
    // The old name is read under the lock: another request may have changed it.
    const { name: before } = await locked(tx, project);
    if (next === before) return;
    if (expected !== undefined && expected !== before) {
      throw new AppError("precondition_failed", "The project has been renamed.");
    }
    await renameProject(tx, { projectId: project.id, name: next });
    const sides = { before: { name: before }, after: { name: next } };
    await audit(tx, {
      ...by,
      projectId: project.id,
      what: "project.renamed",
      subject: next,
      ...sides,
      at: now,
    });
  });
}

/** Sets the time zone of chat messages of a project. AppError `invalid` for an unknown zone. */
export async function changeProjectZone(
  database: Database,
  { project, by, now, zone }: ProjectChange & { zone: string },
): Promise<void> {
  if (!isZone(zone)) {
    throw new AppError(
      "invalid",
      `"${zone}" is not a valid time zone. Use a name such as Europe/Riga.`,
      "zone",
    );
  }
  await inRetriedTransaction(database, async (tx) => {
    const { tz: before, name } = await locked(tx, project);
    if (zone === before) return;
    await writeProjectZone(tx, { projectId: project.id, zone });
    const sides = { before: { zone: before }, after: { zone } };
    const what = "project.zoneChanged";
    await audit(tx, { ...by, projectId: project.id, what, subject: name, ...sides, at: now });
  });
}

/** Creates an API key and returns it once. AppError `conflict` if there are too many. */
export async function makeApiKey(
  database: Database,
  request: ProjectChange & { kind: KeyKind; name: string; secretKey: string },
): Promise<string> {
  const { project, by, now, kind, name, secretKey } = request;
  return inRetriedTransaction(database, async (tx) => {
    await locked(tx, project);
    const keys = (await listApiKeys(tx, project.id)).filter(({ revokedAt }) => revokedAt === null);
    if (keys.length >= API_KEYS_MAX) {
      throw new AppError("conflict", `A project can have at most ${API_KEYS_MAX} API keys.`);
    }
    const key = await addApiKey(tx, { project, kind, name: name.trim(), secretKey, now });
    const after = { kind, name: name.trim() };
    const subject = keySubject({ name: name.trim(), prefix: prefixOf(key) });
    await audit(tx, {
      ...by,
      projectId: project.id,
      what: "key.created",
      subject,
      before: null,
      after,
      at: now,
    });
    return key;
  });
}

/** Revokes an API key. AppError `not_found`. */
export async function endApiKey(
  database: Database,
  { project, by, now, keyId }: ProjectChange & { keyId: number },
): Promise<void> {
  await inTransaction(database, async (tx) => {
    const key = (await listApiKeys(tx, project.id)).find(({ id }) => id === keyId);
    if (key === undefined || !(await revokeApiKey(tx, { keyId, projectId: project.id, at: now }))) {
      throw new AppError("not_found", "The API key does not exist or is already revoked.");
    }
    const before = { kind: key.kind, name: key.name };
    const subject = keySubject(key);
    await audit(tx, {
      ...by,
      projectId: project.id,
      what: "key.revoked",
      subject,
      before,
      after: null,
      at: now,
    });
  });
}

/** Replaces or removes the ping key of a project; URLs with the old one stop working. */
export async function changePingKey(
  database: Database,
  { project, by, now, to }: ProjectChange & { to: "new" | "none" },
): Promise<void> {
  const pingKey = to === "new" ? newPingKey(project.uuid, randomText, database.slots) : null;
  await inRetriedTransaction(database, async (tx) => {
    const { name: subject, pingKey: before } = await locked(tx, project);
    await writePingKey(tx, { projectId: project.id, pingKey });
    const sides = { before: { hasKey: before !== null }, after: { hasKey: pingKey !== null } };
    const what = "key.pingKeyChanged";
    await audit(tx, { ...by, projectId: project.id, what, subject, ...sides, at: now });
  });
}

/** Deletes a project. Its checks stop at once and are deleted after their retention period. */
export async function removeProject(database: Database, change: ProjectChange): Promise<void> {
  await inRetriedTransaction(database, (tx) => removeProjectIn(tx, change));
}

/** The same inside the caller's transaction. */
export async function removeProjectIn(tx: Tx, change: ProjectChange): Promise<void> {
  const { by, now } = change;
  const project = await locked(tx, change.project);
  await markChecksDeleted(tx, { projectId: project.id, at: now });
  for (const key of await listApiKeys(tx, project.id)) {
    await revokeApiKey(tx, { keyId: key.id, projectId: project.id, at: now });
  }
  for (const channel of await listChannels(tx, project.id)) await deleteChannel(tx, channel.id);
  const badgeKey = newUuidIn(project.uuid, randomUUID, tx.slots);
  await hideProject(tx, { projectId: project.id, badgeKey });
  await deleteMembersOfProject(tx, project.id);
  const before = { name: project.name };
  await audit(tx, {
    ...by,
    projectId: null,
    what: "project.removed",
    subject: project.name,
    before,
    after: null,
    at: now,
  });
}
