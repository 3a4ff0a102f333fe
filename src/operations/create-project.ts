// Makes a project with everything a client needs: a read-write key, a read-only key and a ping key.
import { randomUUID } from "node:crypto";
import { AppError } from "../core/errors.ts";
import { newPingKey } from "../core/identity.ts";
import type { Instant } from "../core/instant.ts";
import { PROJECT_NAME_LENGTH_MAX } from "../core/limits.ts";
import { randomText } from "../lib/secrets/random-text.ts";
import type { Database } from "../store/db.ts";
import { insertProject } from "../store/accounts/projects.ts";
import { inTransaction } from "../store/transaction.ts";
import { audit } from "./accounts/audit.ts";
import { addApiKey } from "./api-key.ts";

export type ProjectRequest = { ownerId: number; name: string; secretKey: string; now: Instant };

/** The API keys are in readable form here and never again. */
export type CreatedProject = { uuid: string; apiKey: string; apiKeyReadonly: string; pingKey: string };

/** What a project may be called, or an AppError `invalid`. Lengths are as people count. */
export function projectName(text: string): string {
  const name = text.trim();
  if (name !== "" && Array.from(name).length <= PROJECT_NAME_LENGTH_MAX) return name;
  throw new AppError("invalid", `The project name must have 1 to ${PROJECT_NAME_LENGTH_MAX} characters.`);
}

/** Adds a project and its keys by the command line, in one transaction. AppError `invalid` for a name that is empty or too long. */
export async function createProject(database: Database, request: ProjectRequest): Promise<CreatedProject> {
  const name = projectName(request.name);
  const { ownerId, secretKey, now } = request;
  const project = {
    uuid: randomUUID(),
    name,
    pingKey: newPingKey(randomText),
    badgeKey: randomUUID(),
    createdAt: now,
  };
  return inTransaction(database, async (tx) => {
    const projectId = await insertProject(tx, { ...project, ownerId });
    const key = { projectId, name: "", secretKey, now };
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
