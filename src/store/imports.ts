// Imports of other installations: what was written, bulk inserts of checks and their history, and what undoing deletes.
import type { AlertCause } from "../core/alert.ts";
import type { MappedPing } from "../core/import.ts";
import { uniqueKey } from "../core/identity.ts";
import type { Instant } from "../core/instant.ts";
import type { StoredStatus } from "../core/state.ts";
import { sha1Hex } from "../lib/secrets.ts";
import { onlyId } from "./accounts.ts";
import type { NewCheck } from "./checks.ts";
import { type Db, statement } from "./db.ts";
import { PING_CODES } from "./pings.ts";
import type { Tx } from "./transaction.ts";
import { AT_ONCE, sqlInstant, toNumberArray, toTextArray, toTimestamp } from "./values.ts";

export type Import = {
  id: number;
  uuid: string;
  source: string;
  createdAt: Instant;
  /** The start of the last run that has written something. */
  runAt: Instant;
  finishedAt: Instant | null;
  undoneAt: Instant | null;
};

type ImportRow = {
  id: number;
  uuid: string;
  source: string;
  created_at: Instant;
  run_at: Instant;
  finished_at: Instant | null;
  undone_at: Instant | null;
};

const IMPORT_COLUMNS = "id, uuid, source, created_at, run_at, finished_at, undone_at";

function toImport(row: ImportRow): Import {
  return {
    id: row.id,
    uuid: row.uuid,
    source: row.source,
    createdAt: row.created_at,
    runAt: row.run_at,
    finishedAt: row.finished_at,
    undoneAt: row.undone_at,
  };
}

const INSERT_IMPORT = statement<{ id: number }>({
  name: "imports.insert",
  text: "insert into imports (uuid, source, created_at, run_at) values ($1, $2, $3, $3) returning id",
});

export async function insertImport(
  tx: Tx,
  { uuid, source, at }: { uuid: string; source: string; at: Instant },
): Promise<number> {
  return onlyId((await tx.query(INSERT_IMPORT, [uuid, source, toTimestamp(at)])).rows);
}

const FIND_IMPORT = statement<ImportRow>({
  name: "imports.find",
  text: `select ${IMPORT_COLUMNS} from imports where source = $1 and undone_at is null`,
});

/** The import of this source that was not undone. */
export async function findImportOf(db: Db, source: string): Promise<Import | null> {
  const [row] = (await db.query(FIND_IMPORT, [source])).rows;
  return row === undefined ? null : toImport(row);
}

const LIST_IMPORTS = statement<ImportRow>({
  name: "imports.list",
  text: `select ${IMPORT_COLUMNS} from imports order by id desc limit $1`,
});

/** Imports, newest first. */
export async function listImports(db: Db, limit: number): Promise<Import[]> {
  return (await db.query(LIST_IMPORTS, [limit])).rows.map(toImport);
}

const LOCK_IMPORT = statement<ImportRow>({
  name: "imports.lock",
  text: `select ${IMPORT_COLUMNS} from imports where id = $1 for update nowait`,
});

/** Locks an import, so that two runs do not write at the same time. `lock_not_available` if another one does. */
export async function lockImport(tx: Tx, importId: number): Promise<Import | null> {
  const [row] = (await tx.query(LOCK_IMPORT, [importId])).rows;
  return row === undefined ? null : toImport(row);
}

const MARK_IMPORT = statement({
  name: "imports.mark",
  text: `update imports set run_at = coalesce($2, run_at), finished_at = coalesce(finished_at, $3),
      undone_at = coalesce(undone_at, $4)
    where id = $1`,
});

/** Notes what has happened to an import. */
export async function markImport(
  tx: Tx,
  importId: number,
  { runAt, finishedAt, undoneAt }: Partial<Record<"runAt" | "finishedAt" | "undoneAt", Instant>>,
): Promise<void> {
  const times = [runAt, finishedAt, undoneAt].map((at) => toTimestamp(at ?? null));
  await tx.query(MARK_IMPORT, [importId, ...times]);
}

export type ImportedKind = "account" | "project" | "key" | "member" | "channel" | "check" | "silence";

export type ImportItem = {
  kind: ImportedKind;
  sourceRef: string;
  targetId: number;
  isCreated: boolean;
  fingerprint: string | null;
  sourceStatus: StoredStatus | null;
  pingCount: number | null;
  readAt: Instant | null;
  detail: object | null;
};

type ItemRow = {
  kind: ImportedKind;
  source_ref: string;
  target_id: number;
  is_created: boolean;
  fingerprint: string | null;
  source_status: StoredStatus | null;
  ping_count: number | null;
  read_at: Instant | null;
  detail: object | null;
};

const ITEM_COLUMNS =
  "kind, source_ref, target_id, is_created, fingerprint, source_status, ping_count, read_at, detail";

function toItem(row: ItemRow): ImportItem {
  return {
    kind: row.kind,
    sourceRef: row.source_ref,
    targetId: row.target_id,
    isCreated: row.is_created,
    fingerprint: row.fingerprint,
    sourceStatus: row.source_status,
    pingCount: row.ping_count,
    readAt: row.read_at,
    detail: row.detail,
  };
}

const WRITE_ITEMS = statement({
  name: "import_items.write",
  text: `insert into import_items (import_id, ${ITEM_COLUMNS})
    select $1, n.kind, n.source_ref, n.target_id, n.is_created, n.fingerprint, n.source_status, n.ping_count,
      ${sqlInstant("n.read_at")}, n.detail
    from unnest($2::text[], $3::text[], $4::bigint[], $5::boolean[], $6::text[], $7::text[], $8::bigint[],
        $9::bigint[], $10::jsonb[])
      as n (kind, source_ref, target_id, is_created, fingerprint, source_status, ping_count, read_at, detail)
    on conflict (import_id, kind, source_ref) do update set fingerprint = excluded.fingerprint,
      source_status = excluded.source_status, ping_count = excluded.ping_count, read_at = excluded.read_at,
      detail = excluded.detail`,
});

/** Stores what an import has written. An item that exists keeps its row and whether it was created. */
export async function writeImportItems(
  tx: Tx,
  { importId, items }: { importId: number; items: readonly ImportItem[] },
): Promise<void> {
  if (items.length === 0) return;
  await tx.query(WRITE_ITEMS, [
    importId,
    toTextArray(items.map(({ kind }) => kind)),
    toTextArray(items.map(({ sourceRef }) => sourceRef)),
    toNumberArray(items.map(({ targetId }) => targetId)),
    toTextArray(items.map(({ isCreated }) => String(isCreated))),
    toTextArray(items.map(({ fingerprint }) => fingerprint)),
    toTextArray(items.map(({ sourceStatus }) => sourceStatus)),
    toNumberArray(items.map(({ pingCount }) => pingCount)),
    toNumberArray(items.map(({ readAt }) => readAt)),
    toTextArray(items.map(({ detail }) => (detail === null ? null : JSON.stringify(detail)))),
  ]);
}

const FIND_ITEMS = statement<ItemRow>({
  name: "import_items.find",
  text: `select ${ITEM_COLUMNS} from import_items
    where import_id = $1 and kind = $2 and source_ref = any ($3::text[])`,
});

/** What an import has written of these, by what identifies it in the source. */
export async function findImportItems(
  db: Db,
  { importId, kind, refs }: { importId: number; kind: ImportedKind; refs: readonly string[] },
): Promise<Map<string, ImportItem>> {
  const { rows } = await db.query(FIND_ITEMS, [importId, kind, toTextArray(refs)]);
  return new Map(rows.map((row) => [row.source_ref, toItem(row)]));
}

const LIST_ITEMS = statement<ItemRow>({
  name: "import_items.list",
  text: `select ${ITEM_COLUMNS} from import_items
    where import_id = $1 and kind = $2 and (target_id, source_ref) > ($3, $4)
    order by target_id, source_ref limit $5`,
});

/** What an import has written of one kind, by id, after one of them. */
export async function listImportItems(
  db: Db,
  page: {
    importId: number;
    kind: ImportedKind;
    after: Pick<ImportItem, "targetId" | "sourceRef"> | null;
    limit: number;
  },
): Promise<ImportItem[]> {
  const { importId, kind, after, limit } = page;
  const values = [importId, kind, after?.targetId ?? 0, after?.sourceRef ?? "", limit];
  return (await db.query(LIST_ITEMS, values)).rows.map(toItem);
}

const COUNT_ITEMS = statement<{ kind: ImportedKind; count: number; created: number }>({
  name: "import_items.count",
  text: `select kind, count(*) as count, count(*) filter (where is_created) as created
    from import_items where import_id = $1 group by kind order by kind`,
});

/** How much of each kind an import has written, and how much of that was not here before. */
export async function countImportItems(
  db: Db,
  importId: number,
): Promise<{ kind: ImportedKind; count: number; created: number }[]> {
  return (await db.query(COUNT_ITEMS, [importId])).rows;
}

const DELETE_ITEMS = statement({
  name: "import_items.delete",
  text: "delete from import_items where import_id = $1 and kind = $2 and target_id = any ($3::bigint[])",
});

/** Deletes items whose rows were deleted. */
export async function deleteImportItems(
  tx: Tx,
  { importId, kind, targetIds }: { importId: number; kind: ImportedKind; targetIds: readonly number[] },
): Promise<void> {
  await tx.query(DELETE_ITEMS, [importId, kind, toNumberArray(targetIds)]);
}

// Collisions: what is here already, also in the trash.

export type Taken = {
  what: "check" | "badge" | "channel" | "project" | "pingKey" | "badgeKey" | "apiKey";
  value: string;
};

const FIND_TAKEN = statement<Taken>({
  name: "imports.find_taken",
  text: `select 'check' as what, uuid::text as value from checks where uuid = any ($1::uuid[])
    union all select 'badge', badge_uuid::text from checks where badge_uuid = any ($2::uuid[])
    union all select 'channel', uuid::text from channels where uuid = any ($3::uuid[])
    union all select 'project', uuid::text from projects where uuid = any ($4::uuid[])
    union all select 'pingKey', ping_key from projects where ping_key = any ($5::text[])
    union all select 'badgeKey', badge_key from projects where badge_key = any ($6::text[])
    union all select 'apiKey', encode(digest, 'hex') from api_keys
      where digest = any (array(select decode(given, 'hex') from unnest($7::text[]) as given))`,
});

/** Those of these identifiers that something here has. Digests of API keys are in hexadecimal. */
export async function findTakenIdentifiers(
  db: Db,
  given: Partial<Record<Taken["what"], readonly string[]>>,
): Promise<Taken[]> {
  const { check, badge, channel, project, pingKey, badgeKey, apiKey } = given;
  const lists = [check, badge, channel, project, pingKey, badgeKey, apiKey];
  return (
    await db.query(
      FIND_TAKEN,
      lists.map((list) => toTextArray(list ?? [])),
    )
  ).rows;
}

type FoundRow = {
  uuid: string;
  id: number;
  project_id: number;
  is_deleted: boolean;
  status: StoredStatus;
  ping_count: number;
};

const FIND_CHECKS = statement<FoundRow>({
  name: "imports.find_checks",
  text: `select c.uuid, c.id, c.project_id, c.deleted_at is not null as is_deleted, s.status, s.ping_count
    from checks c join check_states s on s.check_id = c.id where c.uuid = any ($1::uuid[])`,
});

export type FoundCheck = {
  id: number;
  projectId: number;
  isDeleted: boolean;
  status: StoredStatus;
  pingCount: number;
};

/** The checks with these UUIDs, also in the trash. */
export async function findImportedChecks(db: Db, uuids: readonly string[]): Promise<Map<string, FoundCheck>> {
  const { rows } = await db.query(FIND_CHECKS, [toTextArray(uuids)]);
  return new Map(
    rows.map(({ uuid, id, project_id: projectId, is_deleted: isDeleted, status, ping_count: pingCount }) => [
      uuid,
      { id, projectId, isDeleted, status, pingCount },
    ]),
  );
}

// Bulk inserts.

const INSERT_CHECKS = statement<{ id: number }>({
  name: "imports.insert_checks",
  text: `with n as (
      select * from unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::text[],
        $8::text[], $9::text[], $10::text[], $11::int[], $12::int[], $13::text[], $14::text[], $15::boolean[],
        $16::text[], $17::text[], $18::text[], $19::text[], $20::boolean[], $21::boolean[], $22::boolean[],
        $23::boolean[]) with ordinality
        as n (uuid, badge_uuid, project_id, created_at, unique_key, name, slug, tags, description, kind,
          timeout_seconds, grace_seconds, schedule, tz, manual_resume, methods, start_kw, success_kw, failure_kw,
          filter_subject, filter_body, filter_http_body, filter_default_fail, position)
    ), made as (
      insert into checks (uuid, badge_uuid, project_id, created_at, updated_at, unique_key, name, slug, tags,
        description, kind, timeout_seconds, grace_seconds, schedule, tz, manual_resume, methods, start_kw, success_kw,
        failure_kw, filter_subject, filter_body, filter_http_body, filter_default_fail)
      select uuid, badge_uuid, project_id, ${sqlInstant("created_at")}, $24::timestamptz, unique_key, name, slug,
        tags, description, kind, timeout_seconds, grace_seconds, schedule, tz, manual_resume, methods, start_kw,
        success_kw, failure_kw, filter_subject, filter_body, filter_http_body, filter_default_fail
      from n order by position
      returning id, uuid
    ), states as (
      insert into check_states (check_id, status, ping_count, coalesced_count, rate_count)
      select id, 'new', 0, 0, 0 from made
    )
    select made.id from n join made using (uuid) order by n.position`,
});

/** Inserts checks with new states and returns their ids, in the same order. */
export async function insertImportedChecks(
  tx: Tx,
  { checks, at }: { checks: readonly NewCheck[]; at: Instant },
): Promise<number[]> {
  const texts = (value: (of: NewCheck) => string) => toTextArray(checks.map(value));
  const flags = (value: (of: NewCheck["settings"]) => boolean) =>
    toTextArray(checks.map(({ settings }) => String(value(settings))));
  const { rows } = await tx.query(INSERT_CHECKS, [
    texts(({ uuid }) => uuid),
    texts(({ badgeUuid }) => badgeUuid),
    toNumberArray(checks.map(({ projectId }) => projectId)),
    toNumberArray(checks.map(({ createdAt }) => createdAt)),
    texts(({ uuid }) => uniqueKey(uuid, sha1Hex)),
    texts(({ settings }) => settings.name),
    texts(({ settings }) => settings.slug),
    texts(({ settings }) => settings.tags),
    texts(({ settings }) => settings.desc),
    texts(({ settings }) => settings.kind),
    toNumberArray(checks.map(({ settings }) => settings.timeoutSeconds)),
    toNumberArray(checks.map(({ settings }) => settings.graceSeconds)),
    texts(({ settings }) => settings.schedule),
    texts(({ settings }) => settings.tz),
    flags(({ manualResume }) => manualResume),
    texts(({ settings }) => settings.methods),
    texts(({ settings }) => settings.startKw),
    texts(({ settings }) => settings.successKw),
    texts(({ settings }) => settings.failureKw),
    flags(({ filterSubject }) => filterSubject),
    flags(({ filterBody }) => filterBody),
    flags(({ filterHttpBody }) => filterHttpBody),
    flags(({ filterDefaultFail }) => filterDefaultFail),
    toTimestamp(at),
  ]);
  if (rows.length !== checks.length) throw new Error(`inserted ${rows.length} of ${checks.length} checks`);
  return rows.map(({ id }) => id);
}

const ASSIGN = statement({
  name: "imports.assign",
  text: `insert into check_channels (check_id, channel_id)
    select check_id, channel_id from unnest($1::bigint[], $2::bigint[]) as n (check_id, channel_id)
    on conflict do nothing`,
});

/** Assigns channels to checks, in addition to those that they have. */
export async function assignImportedChannels(
  tx: Tx,
  pairs: readonly { checkId: number; channelId: number }[],
): Promise<void> {
  if (pairs.length === 0) return;
  await tx.query(ASSIGN, [
    toNumberArray(pairs.map(({ checkId }) => checkId)),
    toNumberArray(pairs.map(({ channelId }) => channelId)),
  ]);
}

export const COPY_PINGS_IN =
  "copy pings (at, check_id, n, duration_ms, body_size, exit_status, kind, rid, scheme, method, remote_addr, ua) from stdin";
export const COPY_PING_BODIES_IN = "copy ping_bodies (check_id, n, at, body) from stdin";

/** Characters with a meaning in the text format of COPY. */
const ESCAPED = /[\\\t\n\r]/g;
const ESCAPES: Readonly<Record<string, string>> = { "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r" };

function field(value: string | number | null): string {
  if (value === null) return "\\N";
  return typeof value === "number" ? String(value) : value.replace(ESCAPED, (one) => ESCAPES[one] ?? one);
}

/** One line of `COPY_PINGS_IN`. */
export function pingLine(checkId: number, ping: MappedPing): string {
  const { at, n, durationMs, body, exitStatus, kind, rid, scheme, method, remoteAddr, ua } = ping;
  const numbers = [checkId, n, durationMs, body?.length ?? null, exitStatus];
  const fields = [toTimestamp(at), ...numbers, PING_CODES[kind], rid, scheme, method, remoteAddr, ua];
  return `${fields.map(field).join("\t")}\n`;
}

/** One line of `COPY_PING_BODIES_IN`. */
export function pingBodyLine(
  checkId: number,
  { n, at }: Pick<MappedPing, "n" | "at">,
  body: Uint8Array,
): string {
  return `${checkId}\t${n}\t${toTimestamp(at)}\t\\\\x${Buffer.from(body.buffer, body.byteOffset, body.length).toString("hex")}\n`;
}

const INSERT_ALERTS = statement({
  name: "imports.insert_alerts",
  text: `insert into alerts (check_id, cause, opened_at, opened_flip_id, plan_at, held_by, silence_id)
    select n.check_id, n.cause, ${sqlInstant("n.opened_at")}, n.flip_id, $5::timestamptz, 'silence', $6
    from unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[]) as n (check_id, cause, opened_at, flip_id)
    on conflict do nothing`,
});

export type ImportedAlert = { checkId: number; cause: AlertCause; openedAt: Instant; flipId: number };

/** Opens alerts of checks that are down at the source, held by the silence of the import. */
export async function insertHeldAlerts(
  tx: Tx,
  { alerts, silenceId, until }: { alerts: readonly ImportedAlert[]; silenceId: number; until: Instant },
): Promise<void> {
  if (alerts.length === 0) return;
  await tx.query(INSERT_ALERTS, [
    toNumberArray(alerts.map(({ checkId }) => checkId)),
    toTextArray(alerts.map(({ cause }) => cause)),
    toNumberArray(alerts.map(({ openedAt }) => openedAt)),
    toNumberArray(alerts.map(({ flipId }) => flipId)),
    toTimestamp(until),
    silenceId,
  ]);
}

// Repeated imports.

const DROP_CHANGES = statement({
  name: "imports.drop_changes",
  text: `with n as (
      select check_id, ${sqlInstant("after_ms")} as after from unnest($1::bigint[], $2::bigint[]) as n (check_id, after_ms)
    ), flipped as (
      delete from flips f using n where f.check_id = n.check_id and f.at > n.after
    )
    update alerts a set closed_at = $3, close_cause = 'resolved', planned_at = $3, dropped_at = $3
    from n where a.check_id = n.check_id and a.closed_at is null and a.notified_at is null`,
});

/**
 * Deletes flips after an instant, and closes the open alert without a message: the source knows better what has
 * happened. The states are locked.
 */
export async function dropStatusChanges(
  tx: Tx,
  { checks, at }: { checks: readonly { checkId: number; after: Instant }[]; at: Instant },
): Promise<void> {
  if (checks.length === 0) return;
  await tx.query(DROP_CHANGES, [
    toNumberArray(checks.map(({ checkId }) => checkId)),
    toNumberArray(checks.map(({ after }) => after)),
    toTimestamp(at),
  ]);
}

// Finishing.

const LIST_UNTOLD = statement<{ id: number; check_id: number; opened_at: Instant; cause: AlertCause }>({
  name: "imports.list_untold",
  text: `select id, check_id, opened_at, cause from alerts
    where check_id = any ($1::bigint[]) and closed_at is null and notified_at is null order by id for update`,
});

export type UntoldAlert = { id: number; checkId: number; openedAt: Instant; cause: AlertCause };

/** Locks the open alerts of these checks that were not notified. */
export async function lockUntoldAlerts(tx: Tx, checkIds: readonly number[]): Promise<UntoldAlert[]> {
  const { rows } = await tx.query(LIST_UNTOLD, [toNumberArray(checkIds)]);
  return rows.map((row) => ({
    id: row.id,
    checkId: row.check_id,
    openedAt: row.opened_at,
    cause: row.cause,
  }));
}

const OWE_RECOVERIES = statement({
  name: "imports.owe_recoveries",
  text: `update alerts a set notified_at = a.opened_at, planned_at = null, plan_at = ${AT_ONCE}, dropped_at = null,
      held_by = null, silence_id = null
    from unnest($1::bigint[], $2::bigint[]) as n (check_id, read_ms)
    where a.check_id = n.check_id and a.close_cause = 'recovered' and a.notified_at is null
      and a.opened_at <= ${sqlInstant("n.read_ms")} and a.closed_at > ${sqlInstant("n.read_ms")}`,
});

/**
 * Makes the planner notify recoveries of problems that the other server has notified: the checks were down when they
 * were read, and have recovered here while the import was silenced. Returns how many there are.
 */
export async function oweRecoveries(
  tx: Tx,
  checks: readonly { checkId: number; readAt: Instant }[],
): Promise<number> {
  if (checks.length === 0) return 0;
  const { count } = await tx.query(OWE_RECOVERIES, [
    toNumberArray(checks.map(({ checkId }) => checkId)),
    toNumberArray(checks.map(({ readAt }) => readAt)),
  ]);
  return count;
}

const INSERT_GAPS = statement({
  name: "imports.insert_gaps",
  text: `with n as (
      select check_id, ${sqlInstant("from_ms")} as from_at from unnest($2::bigint[], $3::bigint[]) as n (check_id, from_ms)
    ), longer as (
      update refused_intervals r set to_at = greatest(r.to_at, $4::timestamptz)
      from n where r.check_id = n.check_id and r.intake_id = $1 and r.is_gap and r.from_at = n.from_at
      returning r.check_id
    )
    insert into refused_intervals (intake_id, check_id, from_at, to_at, is_gap)
    select $1::uuid, n.check_id, n.from_at, $4::timestamptz, true
    from n where n.check_id not in (select check_id from longer)`,
});

/** Stores the time of a move as a monitoring gap of these checks. A repeated call extends it. */
export async function insertMoveGaps(
  tx: Tx,
  given: { importUuid: string; gaps: readonly { checkId: number; from: Instant }[]; to: Instant },
): Promise<void> {
  if (given.gaps.length === 0) return;
  await tx.query(INSERT_GAPS, [
    given.importUuid,
    toNumberArray(given.gaps.map(({ checkId }) => checkId)),
    toNumberArray(given.gaps.map(({ from }) => from)),
    toTimestamp(given.to),
  ]);
}

// Undoing.

const DELETE_PROJECT = statement({
  name: "imports.delete_project",
  text: `delete from projects p where p.id = $1
      and not exists (select from checks c where c.project_id = p.id)
      and not exists (select from channels ch where ch.project_id = p.id)`,
});

/** Deletes a project without checks and channels. False: it has some, or does not exist. */
export async function deleteImportedProject(tx: Tx, projectId: number): Promise<boolean> {
  return (await tx.query(DELETE_PROJECT, [projectId])).count === 1;
}

const DELETE_KEY = statement({ name: "imports.delete_key", text: "delete from api_keys where id = $1" });

/** Deletes an API key. */
export async function deleteImportedKey(tx: Tx, keyId: number): Promise<void> {
  await tx.query(DELETE_KEY, [keyId]);
}

const DELETE_ACCOUNT = statement({
  name: "imports.delete_account",
  text: `delete from accounts a where a.id = $1 and a.signed_in_at is null
      and not exists (select from members m where m.account_id = a.id)`,
});

/** Deletes an account that was never used. False: it was, or it has projects. */
export async function deleteImportedAccount(tx: Tx, accountId: number): Promise<boolean> {
  return (await tx.query(DELETE_ACCOUNT, [accountId])).count === 1;
}

const COUNT_NEW_PINGS = statement<{ count: number }>({
  name: "imports.count_new_pings",
  text: `select coalesce(sum(s.ping_count - i.ping_count), 0)::bigint as count
    from import_items i join check_states s on s.check_id = i.target_id
    where i.import_id = $1 and i.kind = 'check' and s.ping_count > i.ping_count`,
});

/** How many pings the checks of an import have received here since its last run. */
export async function countPingsSinceImport(db: Db, importId: number): Promise<number> {
  return (await db.query(COUNT_NEW_PINGS, [importId])).rows[0]?.count ?? 0;
}
