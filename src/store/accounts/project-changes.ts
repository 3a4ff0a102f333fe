// What changes about a project after it was made; making and finding one is in projects.ts beside it.
import { type Db, statement } from "../db.ts";
import type { Tx } from "../transaction.ts";

const RENAME = statement({ name: "projects.rename", text: "update projects set name = $2 where id = $1" });

/** Gives a project another name. */
export async function renameProject(
  tx: Tx,
  { projectId, name }: { projectId: number; name: string },
): Promise<void> {
  await tx.query(RENAME, [projectId, name]);
}

const WRITE_ZONE = statement({
  name: "projects.write_zone",
  text: "update projects set tz = $2 where id = $1",
});

/** In which zone messages to the chats of a project name times. */
export async function writeProjectZone(
  tx: Tx,
  { projectId, zone }: { projectId: number; zone: string },
): Promise<void> {
  await tx.query(WRITE_ZONE, [projectId, zone]);
}

const WRITE_PING_KEY = statement({
  name: "projects.write_ping_key",
  text: "update projects set ping_key = $2 where id = $1",
});

/** Gives a project another ping key, or (null) none. */
export async function writePingKey(
  tx: Tx,
  { projectId, pingKey }: { projectId: number; pingKey: string | null },
): Promise<void> {
  await tx.query(WRITE_PING_KEY, [projectId, pingKey]);
}

const EMPTY = statement({
  name: "projects.empty",
  text: "update projects set ping_key = null, badge_key = $2 where id = $1",
});

/** Takes from a project whatever the outside knows it by. */
export async function hideProject(
  tx: Tx,
  { projectId, badgeKey }: { projectId: number; badgeKey: string },
): Promise<void> {
  await tx.query(EMPTY, [projectId, badgeKey]);
}

const PRUNE = statement({
  name: "projects.prune",
  text: `delete from projects where id in (
      select p.id from projects p
      where not exists (select from members m where m.project_id = p.id)
        and not exists (select from checks c where c.project_id = p.id)
      order by p.id limit $1
    )`,
});

/** Forgets projects that were removed and whose checks are gone; returns how many. */
export async function pruneRemovedProjects(tx: Tx, { limit }: { limit: number }): Promise<number> {
  return (await tx.query(PRUNE, [limit])).count;
}

const COUNT_OWNED = statement<{ count: number }>({
  name: "projects.count_owned",
  text: "select count(*) as count from members where account_id = $1 and role = 'owner'",
});

/** How many projects an account owns. */
export async function countOwnedProjects(db: Db, accountId: number): Promise<number> {
  return (await db.query(COUNT_OWNED, [accountId])).rows[0]?.count ?? 0;
}
