// The projects that cases ask for, made in the database of the server under test by the operations that make them
// for people. Channels of every kind are plain rows: they are listed and assigned, whether or not they can send.
import { randomUUID } from "node:crypto";
import { createAccount } from "../../src/operations/accounts.ts";
import { secretKeyOf } from "../../src/operations/secrets.ts";
import { createProject } from "../../src/operations/projects.ts";
import { insertChannel } from "../../src/store/channels.ts";
import type { Database } from "../../src/store/db.ts";
import { readDatabaseClock } from "../../src/store/instance.ts";
import { findProjectByUuid } from "../../src/store/projects.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import type { Case, Setup, Topic } from "./case-file.ts";

/** A project as a client knows it, in the form in which projects are handed to other tools. */
export type CaseProject = {
  uuid: string;
  api_key: string;
  api_key_readonly: string;
  ping_key: string;
  channels?: readonly { id: string; kind: string; name: string }[];
  check_limit?: number;
};

/** What the projects of the cases must have, one for each project, in the order in which they are used. */
export function needsOf(topics: readonly Topic[]): Setup[] {
  return topics.flatMap(({ cases }) => cases.flatMap(needsOfCase));
}

/** What the projects of one case must have. */
export function needsOfCase({ projects = 1, setup = {} }: Case): Setup[] {
  return Array.from({ length: projects }, () => setup);
}

/** A fresh project of a fresh account, which has no checks yet and the channels that were asked for. */
export async function makeProject(database: Database, setup: Setup): Promise<CaseProject> {
  const { channels = [], check_limit: checkLimit } = setup;
  const now = await readDatabaseClock(database);
  const email = `${randomUUID()}@example.org`;
  const account = { email, name: "", isAdmin: false, checkLimit: checkLimit ?? null, now };
  const { id: ownerId } = await createAccount(database, account);
  const secretKey = await secretKeyOf(database, null);
  const made = await createProject(database, { ownerId, name: "Case", secretKey, now });
  const project = await findProjectByUuid(database, made.uuid);
  if (project === null) throw new Error("the project that was just made is not there");
  const rows = channels.map(({ kind, name }) => ({ uuid: randomUUID(), kind, name }));
  await inTransaction(database, async (tx) => {
    for (const row of rows) {
      await insertChannel(tx, { ...row, projectId: project.id, config: {}, createdAt: now });
    }
  });
  return {
    uuid: made.uuid,
    api_key: made.apiKey,
    api_key_readonly: made.apiKeyReadonly,
    ping_key: made.pingKey,
    ...(rows.length > 0 && { channels: rows.map(({ uuid, kind, name }) => ({ id: uuid, kind, name })) }),
    ...(checkLimit !== undefined && { check_limit: checkLimit }),
  };
}
