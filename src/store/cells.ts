// Which ids are in this database: for requests that may belong to another cell, and for the maps of the router.
import { type Db, statement } from "./db.ts";

const CHECKS = statement<{ id: string }>({
  name: "cells.find_checks",
  text: `select n.id from unnest($1::uuid[]) as n (id)
    where exists (select from checks where uuid = n.id)
      or exists (select from checks where badge_uuid = n.id)
      or exists (select from check_aliases where uuid = n.id)`,
});

/** Those of the UUIDs that belong to a check, its badge, or an alias. */
export async function findCheckIds(db: Db, uuids: readonly string[]): Promise<string[]> {
  const { rows } = await db.query(CHECKS, [uuids]);
  return rows.map(({ id }) => id);
}

const KEYS = statement<{ id: string }>({
  name: "cells.find_keys",
  text: `select n.id from unnest($1::text[]) as n (id)
    where exists (select from projects where ping_key = n.id)
      or exists (select from projects where badge_key = n.id)`,
});

/** Those of the texts that are the ping key or the badge key of a project. */
export async function findProjectKeys(db: Db, keys: readonly string[]): Promise<string[]> {
  const { rows } = await db.query(KEYS, [keys]);
  return rows.map(({ id }) => id);
}

const DIGESTS = statement<{ digest: Buffer }>({
  name: "cells.find_digests",
  text: "select digest from api_keys where digest = any ($1::bytea[])",
});

/** Those of the digests that belong to an API key. */
export async function findApiKeyDigests(db: Db, digests: readonly Buffer[]): Promise<Buffer[]> {
  const { rows } = await db.query(DIGESTS, [digests]);
  return rows.map(({ digest }) => digest);
}

/** The ids of some rows, and the row to continue after. */
export type IdPage = { ids: (string | null)[]; lastId: number | null };

type Page = { afterId: number; limit: number };

const ID_TABLES = {
  checks: statement<{ id: number; ids: (string | null)[] }>({
    name: "cells.list_checks",
    text: `select id, array[uuid::text, badge_uuid::text] as ids from checks
      where id > $1 order by id limit $2`,
  }),
  aliases: statement<{ id: number; ids: (string | null)[] }>({
    name: "cells.list_aliases",
    text: `select id, array[uuid::text] as ids from check_aliases
      where id > $1 order by id limit $2`,
  }),
  projects: statement<{ id: number; ids: (string | null)[] }>({
    name: "cells.list_projects",
    text: `select id, array[uuid::text, ping_key, badge_key] as ids from projects
      where id > $1 order by id limit $2`,
  }),
  apiKeys: statement<{ id: number; ids: (string | null)[] }>({
    name: "cells.list_api_keys",
    text: `select id, array[prefix] as ids from api_keys
      where id > $1 and revoked_at is null order by id limit $2`,
  }),
} as const;

export type IdTable = keyof typeof ID_TABLES;

export const ID_TABLE_NAMES = Object.keys(ID_TABLES) as readonly IdTable[];

/** The ids of some rows of a table, in the order of the rows; `lastId` is null after the last row. */
export async function listIds(db: Db, { table, afterId, limit }: Page & { table: IdTable }): Promise<IdPage> {
  const { rows } = await db.query(ID_TABLES[table], [afterId, limit]);
  return {
    ids: rows.flatMap(({ ids }) => ids),
    lastId: rows.length < limit ? null : (rows.at(-1)?.id ?? null),
  };
}
