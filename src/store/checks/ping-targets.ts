// What a batch of signals has to find: the checks that its addresses name, and how long their logs may be.
import type { SignalSettings } from "../../core/check.ts";
import { type Db, statement } from "../db.ts";
import type { Tx } from "../transaction.ts";
import { toNumberArray, toTextArray } from "../values.ts";
import { STATE_COLUMNS, type StateRow, type StoredState, toStoredState } from "./check-states.ts";
import type { CheckRow } from "./checks.ts";

const IDS_BY_UUID = statement<{ uuid: string; id: number }>({
  name: "ping_targets.by_uuid",
  text: "select c.uuid, c.id from checks c where c.uuid = any ($1::uuid[]) and c.deleted_at is null",
});

/** The ids of the checks with these UUIDs; unknown and deleted ones are not there. */
export async function findCheckIdsByUuids(db: Db, uuids: readonly string[]): Promise<Map<string, number>> {
  const { rows } = await db.query(IDS_BY_UUID, [uuids]);
  return new Map(rows.map(({ uuid, id }) => [uuid, id]));
}

const IDS_BY_SLUG = statement<{ position: number; id: number; count: number }>({
  name: "ping_targets.by_slug",
  text: `select n.position, min(c.id) as id, count(*) as count
    from unnest($1::text[], $2::text[]) with ordinality as n (ping_key, slug, position)
    join projects p on p.ping_key = n.ping_key
    join checks c on c.project_id = p.id and c.slug = n.slug
    where c.deleted_at is null and c.slug <> ''
    group by n.position`,
});

/** For each pair, in order: the id of its check, "ambiguous" when several share the slug, or null. */
export async function findCheckIdsBySlugs(
  db: Db,
  pairs: readonly { pingKey: string; slug: string }[],
): Promise<(number | "ambiguous" | null)[]> {
  const found: (number | "ambiguous" | null)[] = pairs.map(() => null);
  const { rows } = await db.query(IDS_BY_SLUG, [
    pairs.map(({ pingKey }) => pingKey),
    pairs.map(({ slug }) => slug),
  ]);
  for (const { position, id, count } of rows) found[position - 1] = count === 1 ? id : "ambiguous";
  return found;
}

/** Checks by either of their names. */
export type TargetNames = { uuids: readonly string[]; ids: readonly number[] };

// Not a join: the ids come first, so that the states are locked in the order of the index, without sorting them.
const LOCK = statement<StateRow>({
  name: "ping_targets.lock",
  text: `select ${STATE_COLUMNS} from check_states s
    where s.check_id = any ($2::bigint[] || array(
      select c.id from checks c where c.uuid = any ($1::uuid[]) and c.deleted_at is null))
    order by s.check_id for update`,
});

/**
 * Locks the states of the named checks in the order of their ids, as every writer does, and returns them in it.
 * The settings must be read after this, in a statement of their own; see lockStates.
 */
export async function lockTargets(tx: Tx, { uuids, ids }: TargetNames): Promise<StoredState[]> {
  return (await tx.query(LOCK, [toTextArray(uuids), toNumberArray(ids)])).rows.map(toStoredState);
}

type TargetRow = Omit<
  CheckRow,
  "badge_uuid" | "project_id" | "name" | "slug" | "tags" | "description" | "created_at" | "updated_at"
>;

const SETTINGS = statement<TargetRow>({
  name: "ping_targets.settings",
  text: `select c.id, c.uuid, c.kind, c.timeout_seconds, c.grace_seconds, c.schedule, c.tz, c.manual_resume,
      c.methods, c.start_kw, c.success_kw, c.failure_kw, c.filter_subject, c.filter_body, c.filter_http_body,
      c.filter_default_fail
    from checks c
    where c.deleted_at is null and c.id = any ($2::bigint[] || array(
      select named.id from checks named where named.uuid = any ($1::uuid[])))`,
});

export type TargetSettings = { id: number; uuid: string; settings: SignalSettings };

/** What decides about the signals of the named checks; unknown and deleted ones are left out. */
export async function findTargetSettings(db: Db, { uuids, ids }: TargetNames): Promise<TargetSettings[]> {
  return (await db.query(SETTINGS, [toTextArray(uuids), toNumberArray(ids)])).rows.map(toTargetSettings);
}

function toTargetSettings(row: TargetRow): TargetSettings {
  return {
    id: row.id,
    uuid: row.uuid,
    settings: {
      kind: row.kind,
      timeoutSeconds: row.timeout_seconds,
      graceSeconds: row.grace_seconds,
      schedule: row.schedule,
      tz: row.tz,
      manualResume: row.manual_resume,
      methods: row.methods,
      startKw: row.start_kw,
      successKw: row.success_kw,
      failureKw: row.failure_kw,
      filterSubject: row.filter_subject,
      filterBody: row.filter_body,
      filterHttpBody: row.filter_http_body,
      filterDefaultFail: row.filter_default_fail,
    },
  };
}

const LOG_LIMITS = statement<{ check_id: number; ping_log_limit: number }>({
  name: "ping_targets.log_limits",
  text: `select c.id as check_id, a.ping_log_limit
    from checks c
    join members m on m.project_id = c.project_id and m.role = 'owner'
    join accounts a on a.id = m.account_id
    where c.id = any ($1::bigint[]) and a.ping_log_limit is not null`,
});

/** How many pings are kept for these checks, where their owner has a limit of its own. */
export async function findLogLimits(db: Db, checkIds: readonly number[]): Promise<Map<number, number>> {
  const { rows } = await db.query(LOG_LIMITS, [checkIds]);
  return new Map(rows.map((row) => [row.check_id, row.ping_log_limit]));
}
