// Makes further API keys for a project by the command line, or new ones in the place of those it has.
import { AppError } from "../../core/errors.ts";
import type { KeyKind } from "../../core/identity.ts";
import type { Instant } from "../../core/instant.ts";
import { API_KEY_NAME_LENGTH_MAX } from "../../core/limits.ts";
import type { Database } from "../../store/db.ts";
import { listApiKeys, revokeApiKey } from "../../store/keys.ts";
import { findProjectByUuid } from "../../store/accounts/projects.ts";
import { inTransaction, type Tx } from "../../store/transaction.ts";
import { addApiKey, keySubject, prefixOf } from "../api-key.ts";
import { audit } from "./audit.ts";

export type KeysRequest = {
  projectUuid: string;
  kinds: readonly KeyKind[];
  name: string;
  /** True: earlier keys of these kinds stop working the moment the new ones exist. */
  replace: boolean;
  secretKey: string;
  now: Instant;
};

export type CreatedKeys = {
  keys: Partial<Record<KeyKind, string>>;
  pingKey: string | null;
  revokedCount: number;
};

/** Adds one key of each kind asked for. AppError `not_found` when there is no such project. */
export async function createKeys(database: Database, request: KeysRequest): Promise<CreatedKeys> {
  if (request.name.length > API_KEY_NAME_LENGTH_MAX) {
    throw new AppError(
      "invalid",
      `The name of an API key can have at most ${API_KEY_NAME_LENGTH_MAX} characters.`,
    );
  }
  return inTransaction(database, async (tx) => {
    const project = await findProjectByUuid(tx, request.projectUuid);
    if (project === null) throw new AppError("not_found", `No project with UUID ${request.projectUuid}.`);
    const revokedCount = request.replace ? await revokeEarlier(tx, { ...request, projectId: project.id }) : 0;
    const keys: Partial<Record<KeyKind, string>> = {};
    for (const kind of request.kinds) {
      const key = await addApiKey(tx, { ...request, projectId: project.id, kind });
      keys[kind] = key;
      const subject = keySubject({ name: request.name, prefix: prefixOf(key) });
      const after = { kind, name: request.name };
      const { now } = request;
      await note(tx, { now, projectId: project.id, subject, what: "key.created", before: null, after });
    }
    return { keys, pingKey: project.pingKey, revokedCount };
  });
}

async function revokeEarlier(tx: Tx, request: KeysRequest & { projectId: number }): Promise<number> {
  let count = 0;
  for (const key of await listApiKeys(tx, request.projectId)) {
    if (!request.kinds.includes(key.kind)) continue;
    const revoked = await revokeApiKey(tx, { keyId: key.id, projectId: request.projectId, at: request.now });
    if (!revoked) continue;
    count += 1;
    const before = { kind: key.kind, name: key.name };
    const { projectId, now } = request;
    await note(tx, { now, projectId, subject: keySubject(key), what: "key.revoked", before, after: null });
  }
  return count;
}

type KeySide = { kind: KeyKind; name: string };
type Noted = { projectId: number; now: Instant; subject: string } & (
  | { what: "key.created"; before: null; after: KeySide }
  | { what: "key.revoked"; before: KeySide; after: null }
);

/** In the same words as what is done on the page of settings. */
async function note(tx: Tx, { now: at, ...noted }: Noted): Promise<void> {
  await audit(tx, { ...noted, accountId: null, keyId: null, at });
}
