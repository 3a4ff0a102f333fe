// Status pages of a project for tests: created by the operations that the API uses.
import type { Actor } from "../../src/operations/audit.ts";
import { createStatusPage, type StatusPageRequest } from "../../src/operations/status-pages.ts";
import type { StatusPage } from "../../src/core/status-page.ts";
import type { Database } from "../../src/store/db.ts";
import { readDatabaseClock } from "../../src/store/instance.ts";

const NOBODY: Actor = { accountId: null, keyId: null };

export async function samplePage(
  db: Database,
  { projectId, ...request }: { projectId: number } & StatusPageRequest & { slug: string; title: string },
): Promise<StatusPage> {
  const at = await readDatabaseClock(db);
  return createStatusPage(db, { projectId, request, ownHosts: [], by: NOBODY, at });
}

/** As if the DNS record of its domain had been found. */
export async function proveDomain(db: Database, page: StatusPage): Promise<void> {
  await db.pool.query(
    "update status_pages set domain_proved_at = now(), version = version + 1 where id = $1",
    [page.id],
  );
}
