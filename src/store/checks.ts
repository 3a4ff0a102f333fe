// Checks and their states: settings, searches, ping targets, and what the sweeper reads and writes. What a
// state becomes is decided in core.
import type { CheckSettings, SignalSettings, UniqueCriteria } from "../core/check.ts";
import { uniqueKey } from "../core/identity.ts";
import type { Instant } from "../core/instant.ts";
import type { Rules } from "../core/rules.ts";
import type { DayTotals } from "../core/run.ts";
import type { CheckState, Judged, StoredStatus, Timing } from "../core/state.ts";
import { sha1Hex } from "../lib/secrets.ts";
import { type Db, statement } from "./db.ts";
import type { Tx } from "./transaction.ts";
import { sqlInstant, toNumberArray, toTextArray, toTimestamp } from "./values.ts";

/** A state with the stored values for the sweeper, the log and the daily totals. */
export type StoredState = {
  checkId: number;
  state: CheckState;
  /** The deadline; null if there is none. */
  downAt: Instant | null;
  /** When the sweeper evaluates it next; never after downAt. */
  sweepAt: Instant | null;
  /** Number of the newest logged success, whose body is kept when the log is trimmed. */
  lastSuccessN: number | null;
  /** The current day of the daily totals; null before the first run. */
  today: DayTotals | null;
};

export type StateRow = {
  check_id: number;
  status: StoredStatus;
  last_ping_at: Instant | null;
  last_start_at: Instant | null;
  last_start_rid: string | null;
  last_duration_ms: number | null;
  ended_rids: string | null;
  newest_at: Instant | null;
  command_at: Instant | null;
  expect_from_at: Instant | null;
  silence_deadline_at: Instant | null;
  silence_from: StoredStatus | null;
  judged: Judged | null;
  ping_count: number;
  coalesced_count: number;
  rate_minute_at: Instant | null;
  rate_count: number;
  down_at: Instant | null;
  sweep_at: Instant | null;
  last_success_n: number | null;
  day: string | null;
  day_success_count: number;
  day_fail_count: number;
  day_timed_count: number;
  day_duration_sum_ms: number;
  day_duration_max_ms: number;
};

/** The columns of a state, for the statements that read it together with its check. */
const STATE_COLUMNS = `s.check_id, s.status, s.last_ping_at, s.last_start_at, s.last_start_rid,
  s.last_duration_ms, s.ended_rids, s.newest_at, s.command_at, s.expect_from_at, s.silence_deadline_at, s.silence_from,
  s.judged, s.ping_count, s.coalesced_count, s.rate_minute_at, s.rate_count, s.down_at, s.sweep_at,
  s.last_success_n, s.day, s.day_success_count, s.day_fail_count, s.day_timed_count, s.day_duration_sum_ms,
  s.day_duration_max_ms`;

/** A row of these columns as a domain value. */
function toStoredState(row: StateRow): StoredState {
  const missed =
    row.silence_deadline_at === null || row.silence_from === null
      ? null
      : { deadlineAt: row.silence_deadline_at, from: row.silence_from };
  return {
    checkId: row.check_id,
    state: {
      status: row.status,
      lastPingAt: row.last_ping_at,
      lastStartAt: row.last_start_at,
      lastStartRid: row.last_start_rid,
      lastDurationMs: row.last_duration_ms,
      endedRids: row.ended_rids?.split(" ") ?? [],
      newestAt: row.newest_at,
      commandAt: row.command_at,
      expectFromAt: row.expect_from_at,
      missed,
      judged: row.judged,
      pingCount: row.ping_count,
      coalescedCount: row.coalesced_count,
      rateMinuteAt: row.rate_minute_at,
      rateCount: row.rate_count,
    },
    downAt: row.down_at,
    sweepAt: row.sweep_at,
    lastSuccessN: row.last_success_n,
    today: toToday(row),
  };
}

function toToday(row: StateRow): DayTotals | null {
  if (row.day === null) return null;
  return {
    day: row.day,
    successCount: row.day_success_count,
    failCount: row.day_fail_count,
    timedCount: row.day_timed_count,
    durationSumMs: row.day_duration_sum_ms,
    durationMaxMs: row.day_duration_max_ms,
  };
}

const INSERT_STATE = statement({
  name: "check_states.insert",
  text: `insert into check_states (check_id, status, ping_count, coalesced_count, rate_count)
    values ($1, 'new', 0, 0, 0)`,
});

/** Inserts the state of a new check. */
export async function insertState(tx: Tx, checkId: number): Promise<void> {
  await tx.query(INSERT_STATE, [checkId]);
}

const LOCK_STATES = statement<StateRow>({
  name: "check_states.lock",
  text: `select ${STATE_COLUMNS} from check_states s
    where s.check_id = any ($1::bigint[]) order by s.check_id for update`,
});

/**
 * Locks the states of these checks in the order of their ids, as every writer does, and returns them in that
 * order. Missing ones are left out. Settings must be read after this, not in the same statement: a statement
 * that had to wait sees newer rows only of the table that it locks.
 */
export async function lockStates(tx: Tx, checkIds: readonly number[]): Promise<StoredState[]> {
  return (await tx.query(LOCK_STATES, [checkIds])).rows.map(toStoredState);
}

const WRITE_STATES = statement({
  name: "check_states.write",
  text: `update check_states s set
      status = n.status, last_ping_at = ${sqlInstant("n.last_ping_at")},
      last_start_at = ${sqlInstant("n.last_start_at")}, last_start_rid = n.last_start_rid,
      last_duration_ms = n.last_duration_ms, newest_at = ${sqlInstant("n.newest_at")},
      command_at = ${sqlInstant("n.command_at")}, expect_from_at = ${sqlInstant("n.expect_from_at")},
      silence_deadline_at = ${sqlInstant("n.silence_deadline_at")}, silence_from = n.silence_from,
      ping_count = n.ping_count, coalesced_count = n.coalesced_count,
      rate_minute_at = ${sqlInstant("n.rate_minute_at")}, rate_count = n.rate_count,
      down_at = ${sqlInstant("n.down_at")}, sweep_at = ${sqlInstant("n.sweep_at")},
      last_success_n = n.last_success_n, day = n.day,
      day_success_count = n.day_success_count, day_fail_count = n.day_fail_count,
      day_timed_count = n.day_timed_count, day_duration_sum_ms = n.day_duration_sum_ms,
      day_duration_max_ms = n.day_duration_max_ms, ended_rids = n.ended_rids, judged = n.judged
    from unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::uuid[], $6::bigint[], $7::bigint[],
      $8::bigint[], $9::bigint[], $10::bigint[], $11::text[], $12::bigint[], $13::bigint[], $14::bigint[],
      $15::int[], $16::bigint[], $17::bigint[], $18::bigint[], $19::date[], $20::int[], $21::int[], $22::int[],
      $23::bigint[], $24::bigint[], $25::text[], $26::jsonb[])
      as n (check_id, status, last_ping_at, last_start_at, last_start_rid, last_duration_ms, newest_at,
        command_at, expect_from_at, silence_deadline_at, silence_from, ping_count, coalesced_count,
        rate_minute_at, rate_count, down_at, sweep_at, last_success_n, day, day_success_count,
        day_fail_count, day_timed_count, day_duration_sum_ms, day_duration_max_ms,
        ended_rids, judged)
    where s.check_id = n.check_id`,
});

/** Writes the states of checks that this transaction has locked; each at most once. */
export async function writeStates(tx: Tx, states: readonly StoredState[]): Promise<void> {
  const texts = (value: (of: StoredState) => string | null) => toTextArray(states.map(value));
  const numbers = (value: (of: StoredState) => number | null) => toNumberArray(states.map(value));
  const { count } = await tx.query(WRITE_STATES, [
    numbers((of) => of.checkId),
    texts(({ state }) => state.status),
    numbers(({ state }) => state.lastPingAt),
    numbers(({ state }) => state.lastStartAt),
    texts(({ state }) => state.lastStartRid),
    numbers(({ state }) => state.lastDurationMs),
    numbers(({ state }) => state.newestAt),
    numbers(({ state }) => state.commandAt),
    numbers(({ state }) => state.expectFromAt),
    numbers(({ state }) => state.missed?.deadlineAt ?? null),
    texts(({ state }) => state.missed?.from ?? null),
    numbers(({ state }) => state.pingCount),
    numbers(({ state }) => state.coalescedCount),
    numbers(({ state }) => state.rateMinuteAt),
    numbers(({ state }) => state.rateCount),
    numbers((of) => of.downAt),
    numbers((of) => of.sweepAt),
    numbers((of) => of.lastSuccessN),
    texts(({ today }) => today?.day ?? null),
    numbers(({ today }) => today?.successCount ?? null),
    numbers(({ today }) => today?.failCount ?? null),
    numbers(({ today }) => today?.timedCount ?? null),
    numbers(({ today }) => today?.durationSumMs ?? null),
    numbers(({ today }) => today?.durationMaxMs ?? null),
    texts(({ state }) => (state.endedRids.length === 0 ? null : state.endedRids.join(" "))),
    texts(({ state }) => (state.judged === null ? null : JSON.stringify(state.judged))),
  ]);
  // A locked row cannot disappear, so a difference means that the caller did not lock it.
  if (count !== states.length) throw new Error(`wrote ${count} of ${states.length} states`);
}

export type Check = {
  id: number;
  uuid: string;
  badgeUuid: string;
  projectId: number;
  settings: CheckSettings;
  createdAt: Instant;
  updatedAt: Instant;
};

/** A check and its state, read in one statement without a lock: for display, not for changes. */
export type CheckWithState = Check & Omit<StoredState, "checkId">;

export type CheckRow = {
  id: number;
  uuid: string;
  badge_uuid: string;
  project_id: number;
  name: string;
  slug: string;
  tags: string;
  description: string;
  kind: CheckSettings["kind"];
  timeout_seconds: number;
  grace_seconds: number;
  schedule: string;
  tz: string;
  manual_resume: boolean;
  methods: CheckSettings["methods"];
  start_kw: string;
  success_kw: string;
  failure_kw: string;
  filter_subject: boolean;
  filter_body: boolean;
  filter_http_body: boolean;
  filter_default_fail: boolean;
  rules: Rules | null;
  created_at: Instant;
  updated_at: Instant;
};

/** The columns of a check, for the statements that search for one. */
const CHECK_COLUMNS = `c.id, c.uuid, c.badge_uuid, c.project_id, c.name, c.slug, c.tags, c.description, c.kind,
  c.timeout_seconds, c.grace_seconds, c.schedule, c.tz, c.manual_resume, c.methods, c.start_kw, c.success_kw,
  c.failure_kw, c.filter_subject, c.filter_body, c.filter_http_body, c.filter_default_fail, c.rules, c.created_at,
  c.updated_at`;

/** The beginning of a statement that reads checks with their states. */
export const SELECT_WITH_STATE = `select ${CHECK_COLUMNS}, ${STATE_COLUMNS}
  from checks c join check_states s on s.check_id = c.id`;

function toCheck(row: CheckRow): Check {
  return {
    id: row.id,
    uuid: row.uuid,
    badgeUuid: row.badge_uuid,
    projectId: row.project_id,
    settings: {
      name: row.name,
      slug: row.slug,
      tags: row.tags,
      desc: row.description,
      ...toSignalSettings(row),
    },
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

/** A row of a check and its state as a domain value. */
export function toCheckWithState(row: CheckRow & StateRow): CheckWithState {
  const { checkId: _, ...state } = toStoredState(row);
  return { ...toCheck(row), ...state };
}

/** In the order of the parameters of `insert` and `update`; an absent field is null there. */
function settingValues(settings: Partial<Omit<CheckSettings, "rules">>): unknown[] {
  const { name, slug, tags, desc, kind, timeoutSeconds, graceSeconds, schedule, tz, manualResume } = settings;
  const { methods, startKw, successKw, failureKw } = settings;
  const { filterSubject, filterBody, filterHttpBody, filterDefaultFail } = settings;
  const timing = [kind, timeoutSeconds, graceSeconds, schedule, tz, manualResume, methods];
  const filters = [
    startKw,
    successKw,
    failureKw,
    filterSubject,
    filterBody,
    filterHttpBody,
    filterDefaultFail,
  ];
  return [name, slug, tags, desc, ...timing, ...filters].map((value) => value ?? null);
}

const INSERT_CHECK = statement<{ id: number }>({
  name: "checks.insert",
  text: `insert into checks (uuid, badge_uuid, project_id, created_at, updated_at, unique_key, name, slug, tags,
      description, kind, timeout_seconds, grace_seconds, schedule, tz, manual_resume, methods, start_kw,
      success_kw, failure_kw, filter_subject, filter_body, filter_http_body, filter_default_fail, rules)
    values ($1, $2, $3, $4, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20,
      $21, $22, $23, $24)
    returning id`,
});

export type NewCheck = Omit<Check, "id" | "updatedAt">;

/** Inserts a check and returns its id. `insertState` must follow in the same transaction. */
export async function insertCheck(tx: Tx, check: NewCheck): Promise<number> {
  const { rows } = await tx.query(INSERT_CHECK, [
    check.uuid,
    check.badgeUuid,
    check.projectId,
    toTimestamp(check.createdAt),
    uniqueKey(check.uuid, sha1Hex),
    ...settingValues(check.settings),
    check.settings.rules === null ? null : JSON.stringify(check.settings.rules),
  ]);
  const [row] = rows;
  if (row === undefined) throw new Error("the insert returned no ID");
  return row.id;
}

const UPDATE_CHECK = statement<CheckRow>({
  name: "checks.update",
  text: `update checks c set
      name = coalesce($3, name), slug = coalesce($4, slug), tags = coalesce($5, tags),
      description = coalesce($6, description), kind = coalesce($7, kind),
      timeout_seconds = coalesce($8, timeout_seconds), grace_seconds = coalesce($9, grace_seconds),
      schedule = coalesce($10, schedule), tz = coalesce($11, tz),
      manual_resume = coalesce($12, manual_resume), methods = coalesce($13, methods),
      start_kw = coalesce($14, start_kw), success_kw = coalesce($15, success_kw),
      failure_kw = coalesce($16, failure_kw), filter_subject = coalesce($17, filter_subject),
      filter_body = coalesce($18, filter_body), filter_http_body = coalesce($19, filter_http_body),
      filter_default_fail = coalesce($20, filter_default_fail), updated_at = $2
    where id = $1 and deleted_at is null
    returning ${CHECK_COLUMNS}`,
});

/** Writes only the given fields, so that concurrent edits of other fields are kept. */
export async function updateCheck(
  tx: Tx,
  change: { checkId: number; patch: Partial<Omit<CheckSettings, "rules">>; at: Instant },
): Promise<Check | null> {
  const { rows } = await tx.query(UPDATE_CHECK, [
    change.checkId,
    toTimestamp(change.at),
    ...settingValues(change.patch),
  ]);
  return rows[0] === undefined ? null : toCheck(rows[0]);
}

const UPDATE_SCHEDULES = statement({
  name: "checks.update_schedules",
  text: `update checks c set kind = n.kind, timeout_seconds = n.timeout_seconds, grace_seconds = n.grace_seconds,
      schedule = n.schedule, tz = n.tz, updated_at = $1
    from unnest($2::bigint[], $3::text[], $4::int[], $5::int[], $6::text[], $7::text[])
      as n (id, kind, timeout_seconds, grace_seconds, schedule, tz)
    where c.id = n.id and c.deleted_at is null`,
});

/** Writes the schedules of these checks. Returns how many were updated. */
export async function updateSchedules(
  tx: Tx,
  { changes, at }: { changes: readonly { checkId: number; settings: CheckSettings }[]; at: Instant },
): Promise<number> {
  const { count } = await tx.query(UPDATE_SCHEDULES, [
    toTimestamp(at),
    toNumberArray(changes.map(({ checkId }) => checkId)),
    toTextArray(changes.map(({ settings }) => settings.kind)),
    toNumberArray(changes.map(({ settings }) => settings.timeoutSeconds)),
    toNumberArray(changes.map(({ settings }) => settings.graceSeconds)),
    toTextArray(changes.map(({ settings }) => settings.schedule)),
    toTextArray(changes.map(({ settings }) => settings.tz)),
  ]);
  return count;
}

const FIND_CHECK_BY_UUID = statement<CheckRow & StateRow>({
  name: "checks.find_by_uuid",
  text: `${SELECT_WITH_STATE} where c.uuid = $1 and c.deleted_at is null`,
});

/** The check with this UUID, in any project. */
export async function findCheckByUuid(db: Db, uuid: string): Promise<CheckWithState | null> {
  const { rows } = await db.query(FIND_CHECK_BY_UUID, [uuid]);
  return rows[0] === undefined ? null : toCheckWithState(rows[0]);
}

const FIND_CHECK_BY_BADGE_UUID = statement<CheckRow & StateRow>({
  name: "checks.find_by_badge_uuid",
  text: `${SELECT_WITH_STATE} where c.badge_uuid = $1 and c.deleted_at is null`,
});

/** The check with this badge UUID. */
export async function findCheckByBadgeUuid(db: Db, badgeUuid: string): Promise<CheckWithState | null> {
  const { rows } = await db.query(FIND_CHECK_BY_BADGE_UUID, [badgeUuid]);
  return rows[0] === undefined ? null : toCheckWithState(rows[0]);
}

const FIND_CHECKS_BY_IDS = statement<CheckRow>({
  name: "checks.find_by_ids",
  text: `select ${CHECK_COLUMNS} from checks c where c.id = any ($1::bigint[]) and c.deleted_at is null`,
});

/** The settings of these checks, without deleted ones. In no particular order. */
export async function findChecksByIds(db: Db, checkIds: readonly number[]): Promise<Check[]> {
  return (await db.query(FIND_CHECKS_BY_IDS, [checkIds])).rows.map(toCheck);
}

/** The fields of a check that event lists show. */
export type NamedCheck = { id: number; uuid: string; name: string; tz: string };

const FIND_CHECK_NAMES = statement<NamedCheck>({
  name: "checks.find_names",
  text: "select id, uuid, name, tz from checks where id = any ($1::bigint[]) and deleted_at is null",
});

/** The names of these checks, without long fields and deleted checks. In no particular order. */
export async function findCheckNames(db: Db, checkIds: readonly number[]): Promise<NamedCheck[]> {
  return (await db.query(FIND_CHECK_NAMES, [checkIds])).rows;
}

const LOCK_CREATION = statement({
  name: "checks.lock_creation",
  text: "select pg_advisory_xact_lock(hashtextextended($1, 0))",
});

/** Serializes the creation of the check that `what` names in a project, until the transaction ends. */
export async function lockCreation(
  tx: Tx,
  { projectId, what }: { projectId: number; what: string },
): Promise<void> {
  await tx.query(LOCK_CREATION, [`checks:${projectId}:${what}`]);
}

const MARK_CHECK_DELETED = statement({
  name: "checks.mark_deleted",
  text: "update checks set deleted_at = $2 where id = $1 and deleted_at is null",
});

/** Marks a check as deleted. False: it does not exist or was marked before. */
export async function markCheckDeleted(
  tx: Tx,
  { checkId, at }: { checkId: number; at: Instant },
): Promise<boolean> {
  return (await tx.query(MARK_CHECK_DELETED, [checkId, toTimestamp(at)])).count === 1;
}

const RESTORE_CHECK = statement({
  name: "checks.restore",
  text: "update checks set deleted_at = null where id = $1 and deleted_at is not null",
});

/** Removes the mark. False: the check is not marked or does not exist. */
export async function restoreCheck(tx: Tx, checkId: number): Promise<boolean> {
  return (await tx.query(RESTORE_CHECK, [checkId])).count === 1;
}

const MOVE_CHECK = statement({
  name: "checks.move",
  text: "update checks set project_id = $2, updated_at = $3 where id = $1 and deleted_at is null",
});

/** Moves a check to another project. False: it does not exist or is marked as deleted. */
export async function moveCheck(
  tx: Tx,
  { checkId, projectId, at }: { checkId: number; projectId: number; at: Instant },
): Promise<boolean> {
  return (await tx.query(MOVE_CHECK, [checkId, projectId, toTimestamp(at)])).count === 1;
}

const DELETE_CHECK_ROW = statement({ name: "checks.delete", text: "delete from checks where id = $1" });

/**
 * Deletes a check with its state and channel assignments. The caller holds the lock on the state, which every
 * writer takes first. False: it did not exist.
 */
export async function deleteCheckRow(tx: Tx, checkId: number): Promise<boolean> {
  return (await tx.query(DELETE_CHECK_ROW, [checkId])).count === 1;
}

const LOCK_OWNED_CHECKS = statement({
  name: "checks.lock_owned",
  text: "select pg_advisory_xact_lock(hashtextextended($1, 0))",
});

/** Serializes additions to the checks that an account owns, until the transaction ends. */
export async function lockOwnedChecks(tx: Tx, accountId: number): Promise<void> {
  await tx.query(LOCK_OWNED_CHECKS, [`checks of account:${accountId}`]);
}

const FIND_CHECKS_BY_SLUG = statement<CheckRow & StateRow>({
  name: "checks.find_by_slug",
  text: `select ${CHECK_COLUMNS}, ${STATE_COLUMNS}
    from projects p
    join checks c on c.project_id = p.id
    join check_states s on s.check_id = c.id
    where p.ping_key = $1 and c.slug = $2 and c.slug <> '' and c.deleted_at is null
    order by c.id limit 2`,
});

/** The checks with a ping key and slug: none, one, or the first two of an ambiguous slug. */
export async function findChecksBySlug(
  db: Db,
  { pingKey, slug }: { pingKey: string; slug: string },
): Promise<CheckWithState[]> {
  return (await db.query(FIND_CHECKS_BY_SLUG, [pingKey, slug])).rows.map(toCheckWithState);
}

/** What the Management API shows of a check. */
export type ShownCheck = {
  id: number;
  projectId: number;
  uuid: string;
  badgeUuid: string;
  settings: CheckSettings;
  state: ShownState;
};

/** A check with the UUIDs of its channels, sorted. */
export type ShownCheckWithChannels = ShownCheck & { channelUuids: readonly string[] };

/** The part of a state that the Management API shows. */
export type ShownState = Pick<
  CheckState,
  "status" | "lastPingAt" | "lastStartAt" | "lastDurationMs" | "expectFromAt" | "pingCount"
>;

/** Texts that are often empty are null then, and switches are bits of a number: the driver is slow per value. */
export type ShownRow = Pick<
  CheckRow,
  | "id"
  | "uuid"
  | "badge_uuid"
  | "project_id"
  | "kind"
  | "timeout_seconds"
  | "grace_seconds"
  | "schedule"
  | "tz"
  | "rules"
> & {
  [Column in (typeof OFTEN_EMPTY)[number]]: CheckRow[Column] | null;
} & { flags: number } & Pick<
    StateRow,
    "status" | "last_ping_at" | "last_start_at" | "last_duration_ms" | "expect_from_at" | "ping_count"
  >;

const OFTEN_EMPTY = [
  "name",
  "slug",
  "tags",
  "description",
  "methods",
  "start_kw",
  "success_kw",
  "failure_kw",
] as const satisfies readonly (keyof CheckRow)[];

const FLAGS = [
  "manual_resume",
  "filter_subject",
  "filter_body",
  "filter_http_body",
  "filter_default_fail",
] as const satisfies readonly (keyof CheckRow)[];

const SHOWN_STATE_COLUMNS =
  "s.status, s.last_ping_at, s.last_start_at, s.last_duration_ms, s.expect_from_at, s.ping_count";

/** As few columns as possible: each costs the driver more than the database. */
export const SHOWN_COLUMNS = `c.id, c.uuid, c.badge_uuid, c.project_id, c.kind, c.timeout_seconds, c.grace_seconds,
  c.schedule, c.tz, c.rules, ${OFTEN_EMPTY.map((column) => `nullif(c.${column}, '') as ${column}`).join(", ")},
  ${FLAGS.map((column, bit) => `(c.${column}::int << ${bit})`).join(" | ")} as flags,
  ${SHOWN_STATE_COLUMNS}`;

/** The UUIDs of the channels of `c`, sorted. */
export const CHANNEL_UUIDS = `array(select ch.uuid from check_channels cc join channels ch on ch.id = cc.channel_id
  where cc.check_id = c.id order by ch.uuid)::text[] as channel_uuids`;

export function toShownCheck(row: ShownRow): ShownCheck {
  const isSet = (flag: (typeof FLAGS)[number]) => (row.flags & (1 << FLAGS.indexOf(flag))) !== 0;
  return {
    id: row.id,
    projectId: row.project_id,
    uuid: row.uuid,
    badgeUuid: row.badge_uuid,
    settings: {
      name: row.name ?? "",
      slug: row.slug ?? "",
      tags: row.tags ?? "",
      desc: row.description ?? "",
      kind: row.kind,
      timeoutSeconds: row.timeout_seconds,
      graceSeconds: row.grace_seconds,
      schedule: row.schedule,
      tz: row.tz,
      methods: row.methods ?? "",
      startKw: row.start_kw ?? "",
      successKw: row.success_kw ?? "",
      failureKw: row.failure_kw ?? "",
      manualResume: isSet("manual_resume"),
      filterSubject: isSet("filter_subject"),
      filterBody: isSet("filter_body"),
      filterHttpBody: isSet("filter_http_body"),
      filterDefaultFail: isSet("filter_default_fail"),
      rules: row.rules,
    },
    state: {
      status: row.status,
      lastPingAt: row.last_ping_at,
      lastStartAt: row.last_start_at,
      lastDurationMs: row.last_duration_ms,
      expectFromAt: row.expect_from_at,
      pingCount: row.ping_count,
    },
  };
}

const FIND_SHOWN_CHECK = statement<CheckRow & StateRow & { channel_uuids: string[] }>({
  name: "checks.find_shown",
  text: `select ${CHECK_COLUMNS}, ${STATE_COLUMNS}, ${CHANNEL_UUIDS}
    from checks c join check_states s on s.check_id = c.id
    where c.uuid = $1 and c.deleted_at is null`,
});

/** The check with this UUID, in any project, with the UUIDs of its channels in sorted order. */
export async function findShownCheck(
  db: Db,
  uuid: string,
): Promise<(CheckWithState & { channelUuids: string[] }) | null> {
  const { rows } = await db.query(FIND_SHOWN_CHECK, [uuid]);
  const [row] = rows;
  return row === undefined ? null : { ...toCheckWithState(row), channelUuids: row.channel_uuids };
}

const FIND_DELETED_CHECK = statement<CheckRow & StateRow & { channel_uuids: string[] }>({
  name: "checks.find_deleted",
  text: `select ${CHECK_COLUMNS}, ${STATE_COLUMNS}, ${CHANNEL_UUIDS}
    from checks c join check_states s on s.check_id = c.id
    where c.uuid = $1 and c.deleted_at is not null`,
});

/** The deleted check with this UUID that can still be restored, in any project. */
export async function findDeletedCheck(
  db: Db,
  uuid: string,
): Promise<(CheckWithState & { channelUuids: string[] }) | null> {
  const { rows } = await db.query(FIND_DELETED_CHECK, [uuid]);
  const [row] = rows;
  return row === undefined ? null : { ...toCheckWithState(row), channelUuids: row.channel_uuids };
}

const FIND_OLDEST_MATCH = statement<CheckRow & StateRow>({
  name: "checks.find_oldest_match",
  text: `${SELECT_WITH_STATE}
    where c.project_id = $1 and c.deleted_at is null
      and ($2::text is null or c.name = $2) and ($3::text is null or c.slug = $3)
      and ($4::text is null or c.tags = $4) and ($5::int is null or c.timeout_seconds = $5)
      and ($6::int is null or c.grace_seconds = $6)
    order by c.id limit 1`,
});

/** The oldest check of a project with all of these values; absent values are not compared. */
export async function findOldestMatch(
  db: Db,
  { projectId, criteria }: { projectId: number; criteria: UniqueCriteria },
): Promise<CheckWithState | null> {
  const { name, slug, tags, timeoutSeconds, graceSeconds } = criteria;
  const wanted = [name, slug, tags, timeoutSeconds, graceSeconds].map((value) => value ?? null);
  const { rows } = await db.query(FIND_OLDEST_MATCH, [projectId, ...wanted]);
  return rows[0] === undefined ? null : toCheckWithState(rows[0]);
}

/** A transaction id as a number. The cast by way of text takes five times as long. */
const xidNumber = (xid: string) => `((select age('3'::xid))::bigint - age(${xid}))`;

/**
 * Another number for each version of a row: every change gives a row another `xmin`, and none comes back. A list is
 * unchanged while the sum of these is the same. One bit less than a bigint, so that two can be added.
 */
const checkVersion = (of: { id: string; xmin: string }) =>
  `(hashint8extended(${xidNumber(of.xmin)}, ${of.id}) >> 1)`;
const stateVersion = (of: { id: string; xmin: string }) =>
  `(hashint8extended(${xidNumber(of.xmin)}, -${of.id}) >> 1)`;

const PAGE_VERSION = `${checkVersion({ id: "page.id", xmin: "page.check_xmin" })}
      + ${stateVersion({ id: "page.id", xmin: "page.state_xmin" })}`;

// Uses the stored length, so that descriptions that a page leaves out are not read. Whatever has to be computed is
// computed outside, only for the rows of the page.
const LIST_CHECKS = statement<ShownRow & { channel_ids: string | null; version: string }>({
  name: "checks.list",
  text: `select ${SHOWN_COLUMNS.replaceAll(/\b[cs]\./g, "page.")}, (${PAGE_VERSION})::text as version,
      case when $6 then array(select cc.channel_id from check_channels cc where cc.check_id = page.id)::text end
        as channel_ids
    from (
      select c.*, ${SHOWN_STATE_COLUMNS}, c.xmin as check_xmin, s.xmin as state_xmin,
        sum(octet_length(c.description)) over (order by c.id) - octet_length(c.description) as bytes_before
      from checks c join check_states s on s.check_id = c.id
      where c.project_id = $1 and c.deleted_at is null and ($2::text is null or c.slug = $2) and c.id > $3
      order by c.id limit $4
    ) as page
    where $5::bigint is null or bytes_before < $5
    order by page.id`,
});

/** A page of checks: limited by rows and by bytes of descriptions. */
export type CheckPage = { afterId: number; limit: number; bytesMax: number };

/** All checks of a project, or only those with a slug. */
export type ListedChecks = { projectId: number; slug?: string | null };

/** `channelIds` is the text of an array, or null if it was not asked for; `version` see ListVersion. */
export type ListedCheck = ShownCheck & { channelIds: string | null; version: string };

/** The checks of a project, oldest first: all of them, or a page. */
export async function listChecks(
  db: Db,
  {
    projectId,
    slug = null,
    page,
    withChannels = false,
  }: ListedChecks & { page?: CheckPage; withChannels?: boolean },
): Promise<ListedCheck[]> {
  if (!isStorable(slug)) return [];
  const { afterId = 0, limit = null, bytesMax = null } = page ?? {};
  const { rows } = await db.query(LIST_CHECKS, [projectId, slug, afterId, limit, bytesMax, withChannels]);
  return rows.map(toListedCheck);
}

function toListedCheck(row: ShownRow & { channel_ids: string | null; version: string }): ListedCheck {
  return { ...toShownCheck(row), channelIds: row.channel_ids, version: row.version };
}

/** A text with NUL cannot be stored, and must not be sent as a parameter. */
function isStorable(slug: string | null): boolean {
  return slug?.includes("\0") !== true;
}

/**
 * What a list was made of. `checks` is the sum of the versions of its rows. `channels` stands for the channels of the
 * project: whoever changes which checks a channel has writes either its row or theirs. It names the server, too,
 * because the rows of a restored copy may have the same numbers and other contents.
 */
export type ListVersion = { checks: string; channels: string };

const CHANNELS_VERSION = `concat_ws(' ', coalesce(sum(hashint8extended(${xidNumber("ch.xmin")}, ch.id)), 0),
  pg_postmaster_start_time())`;

// Not a join: the states are read in the order of their index, whatever PostgreSQL expects their number to be.
function listVersionStatement(name: string, condition: string) {
  const listed = `from checks c where c.project_id = $1 and c.deleted_at is null ${condition}`;
  return statement<ListVersion>({
    name,
    text: `select (coalesce((select sum(${checkVersion({ id: "c.id", xmin: "c.xmin" })}) ${listed}), 0)
        + coalesce((select sum(${stateVersion({ id: "s.check_id", xmin: "s.xmin" })}) from check_states s
          where s.check_id = any (array(select c.id ${listed}))), 0))::text as checks,
      (select ${CHANNELS_VERSION} from channels ch where ch.project_id = $1) as channels`,
  });
}

const READ_LIST_VERSION = listVersionStatement("checks.list_version", "");
const READ_SLUG_VERSION = listVersionStatement("checks.list_version_of_slug", "and c.slug = $2");

/** The version of a list as it would be now, without reading the contents of its checks. */
export async function readListVersion(
  db: Db,
  { projectId, slug = null }: ListedChecks,
): Promise<ListVersion> {
  const { rows } = await (slug === null
    ? db.query(READ_LIST_VERSION, [projectId])
    : db.query(READ_SLUG_VERSION, [projectId, isStorable(slug) ? slug : ""]));
  const [row] = rows;
  if (row === undefined) throw new Error("a statement that must return a row returned none");
  return row;
}

const LIST_CHANNEL_UUIDS = statement<{ ids: number[] | null; uuids: string[] | null; version: string }>({
  name: "checks.list_channels",
  text: `select array_agg(ch.id) as ids, array_agg(ch.uuid)::text[] as uuids, ${CHANNELS_VERSION} as version
    from channels ch where ch.project_id = $1`,
});

/** The UUIDs of the channels of a project by their ids, and their part of the version of a list. */
export async function listChannelUuids(
  db: Db,
  projectId: number,
): Promise<{ uuids: Map<number, string>; version: string }> {
  const [row] = (await db.query(LIST_CHANNEL_UUIDS, [projectId])).rows;
  if (row === undefined) throw new Error("a statement that must return a row returned none");
  const uuids = row.uuids ?? [];
  return { uuids: new Map(row.ids?.map((id, index) => [id, uuids[index] ?? ""])), version: row.version };
}

const LIST_TAGS = statement<{ tag: string }>({
  name: "checks.list_tags",
  text: `select tag from (
      select distinct t.tag from checks c cross join lateral unnest(string_to_array(c.tags, ' ')) as t (tag)
      where c.project_id = $1 and c.deleted_at is null and t.tag <> ''
    ) as tags
    order by tag collate "C" limit $2`,
});

/** The distinct tags of a project in code point order; at most `limit`. */
export async function listTags(
  db: Db,
  { projectId, limit }: { projectId: number; limit: number },
): Promise<string[]> {
  return (await db.query(LIST_TAGS, [projectId, limit])).rows.map(({ tag }) => tag);
}

const COUNT_CHECKS_OWNED_BY = statement<{ count: number }>({
  name: "checks.count_owned",
  text: `select count(*) as count
    from members m join checks c on c.project_id = m.project_id
    where m.account_id = $1 and m.role = 'owner' and c.deleted_at is null`,
});

/** Number of checks in all projects that an account owns, for its limit. */
export async function countChecksOwnedBy(db: Db, accountId: number): Promise<number> {
  return (await db.query(COUNT_CHECKS_OWNED_BY, [accountId])).rows[0]?.count ?? 0;
}

const LIST_DELETED_CHECKS = statement<{ id: number; uuid: string; name: string; deleted_at: Instant }>({
  name: "checks.list_deleted",
  text: `select id, uuid, name, deleted_at from checks
    where project_id = $1 and deleted_at >= $2 order by deleted_at desc limit $3`,
});

export type DeletedCheck = { id: number; uuid: string; name: string; deletedAt: Instant };

/** Checks of a project deleted since an instant, last deleted first, at most `limit`. */
export async function listDeletedChecks(
  db: Db,
  { projectId, from, limit }: { projectId: number; from: Instant; limit: number },
): Promise<DeletedCheck[]> {
  const { rows } = await db.query(LIST_DELETED_CHECKS, [projectId, toTimestamp(from), limit]);
  return rows.map(({ id, uuid, name, deleted_at }) => ({ id, uuid, name, deletedAt: deleted_at }));
}

const LIST_CHECK_IDS_AFTER = statement<{ id: number }>({
  name: "checks.list_ids_after",
  text: "select id from checks where id > $1 order by id limit $2",
});

/** The next ids of all checks, deleted or not, for iterating in batches. */
export async function listCheckIdsAfter(
  db: Db,
  { afterId, limit }: { afterId: number; limit: number },
): Promise<number[]> {
  return (await db.query(LIST_CHECK_IDS_AFTER, [afterId, limit])).rows.map(({ id }) => id);
}

const DELETED_AT_OF = statement<{ deleted_at: Instant | null }>({
  name: "checks.deleted_at",
  text: "select deleted_at from checks where id = $1",
});

/** When a check was marked as deleted; null if it is not marked or does not exist. */
export async function deletedAtOf(db: Db, checkId: number): Promise<Instant | null> {
  return (await db.query(DELETED_AT_OF, [checkId])).rows[0]?.deleted_at ?? null;
}

const FIND_CHECKS_DELETED_BEFORE = statement<{ id: number }>({
  name: "checks.find_deleted_before",
  text: "select id from checks where deleted_at < $1 order by deleted_at limit $2",
});

/** Ids of checks marked as deleted before an instant, at most `limit`. */
export async function findChecksDeletedBefore(
  db: Db,
  { before, limit }: { before: Instant; limit: number },
): Promise<number[]> {
  return (await db.query(FIND_CHECKS_DELETED_BEFORE, [toTimestamp(before), limit])).rows.map((row) => row.id);
}

const MARK_CHECKS_DELETED = statement({
  name: "checks.mark_all_deleted",
  text: "update checks set deleted_at = $2 where project_id = $1 and deleted_at is null",
});

/** Marks all checks of a project as deleted; returns how many. */
export async function markChecksDeleted(
  tx: Tx,
  { projectId, at }: { projectId: number; at: Instant },
): Promise<number> {
  return (await tx.query(MARK_CHECKS_DELETED, [projectId, toTimestamp(at)])).count;
}

const FIND_UUID_BY_UNIQUE_KEY = statement<{ uuid: string }>({
  name: "checks.find_by_unique_key",
  text: `select uuid from checks
    where unique_key = $1 and project_id = any ($2::bigint[]) and deleted_at is null
    order by id limit 1`,
});

/** The UUID of the check with this unique key in one of these projects. */
export async function findUuidByUniqueKey(
  db: Db,
  { key, projectIds }: { key: string; projectIds: readonly number[] },
): Promise<string | null> {
  return (await db.query(FIND_UUID_BY_UNIQUE_KEY, [key, toNumberArray(projectIds)])).rows[0]?.uuid ?? null;
}

const FIND_CHECK_IDS_BY_UUIDS = statement<{ uuid: string; id: number }>({
  name: "ping_targets.by_uuid",
  text: "select c.uuid, c.id from checks c where c.uuid = any ($1::uuid[]) and c.deleted_at is null",
});

/** Ids of the checks with these UUIDs, without unknown and deleted ones. */
export async function findCheckIdsByUuids(db: Db, uuids: readonly string[]): Promise<Map<string, number>> {
  const { rows } = await db.query(FIND_CHECK_IDS_BY_UUIDS, [uuids]);
  return new Map(rows.map(({ uuid, id }) => [uuid, id]));
}

const FIND_CHECK_IDS_BY_SLUGS = statement<{ position: number; id: number; count: number }>({
  name: "ping_targets.by_slug",
  text: `select n.position, min(c.id) as id, count(*) as count
    from unnest($1::text[], $2::text[]) with ordinality as n (ping_key, slug, position)
    join projects p on p.ping_key = n.ping_key
    join checks c on c.project_id = p.id and c.slug = n.slug
    where c.deleted_at is null and c.slug <> ''
    group by n.position`,
});

/** For each pair, in order: the id of its check, "ambiguous" if several share the slug, or null. */
export async function findCheckIdsBySlugs(
  db: Db,
  pairs: readonly { pingKey: string; slug: string }[],
): Promise<(number | "ambiguous" | null)[]> {
  const found: (number | "ambiguous" | null)[] = pairs.map(() => null);
  const { rows } = await db.query(FIND_CHECK_IDS_BY_SLUGS, [
    pairs.map(({ pingKey }) => pingKey),
    pairs.map(({ slug }) => slug),
  ]);
  for (const { position, id, count } of rows) found[position - 1] = count === 1 ? id : "ambiguous";
  return found;
}

const FIND_CHECK_UUIDS_BY_SLUGS = statement<{ position: number; uuid: string; count: number }>({
  name: "ping_targets.uuid_by_slug",
  text: `select n.position, min(c.uuid::text) as uuid, count(*) as count
    from unnest($1::text[], $2::text[]) with ordinality as n (ping_key, slug, position)
    join projects p on p.ping_key = n.ping_key
    join checks c on c.project_id = p.id and c.slug = n.slug
    where c.deleted_at is null and c.slug <> ''
    group by n.position`,
});

/** For each pair, in order: the UUID of its check, or why there is none. */
export async function findCheckUuidsBySlugs(
  db: Db,
  pairs: readonly { pingKey: string; slug: string }[],
): Promise<({ uuid: string } | "unknown" | "ambiguous")[]> {
  const found: ({ uuid: string } | "unknown" | "ambiguous")[] = pairs.map(() => "unknown");
  const { rows } = await db.query(FIND_CHECK_UUIDS_BY_SLUGS, [
    pairs.map(({ pingKey }) => pingKey),
    pairs.map(({ slug }) => slug),
  ]);
  for (const { position, uuid, count } of rows) found[position - 1] = count === 1 ? { uuid } : "ambiguous";
  return found;
}

const FIND_CHECK_UUIDS = statement<{ id: number; uuid: string }>({
  name: "ping_targets.uuids",
  text: "select id, uuid from checks where id = any ($1::bigint[]) and deleted_at is null",
});

/** The UUIDs of these checks, by id. */
export async function findCheckUuids(db: Db, ids: readonly number[]): Promise<Map<number, string>> {
  if (ids.length === 0) return new Map();
  const { rows } = await db.query(FIND_CHECK_UUIDS, [toNumberArray(ids)]);
  return new Map(rows.map(({ id, uuid }) => [id, uuid]));
}

/** Checks by UUID or id. */
export type TargetNames = { uuids: readonly string[]; ids: readonly number[] };

// Not a join: finding the ids first locks the states in index order, without sorting.
const LOCK_TARGETS = statement<StateRow>({
  name: "ping_targets.lock",
  text: `select ${STATE_COLUMNS} from check_states s
    where s.check_id = any ($2::bigint[] || array(
      select c.id from checks c where c.uuid = any ($1::uuid[]) and c.deleted_at is null))
    order by s.check_id for update`,
});

/**
 * Locks the states of these checks in the order of their ids, as every writer does. Settings must be read
 * afterwards, in a separate statement; see lockStates.
 */
export async function lockTargets(tx: Tx, { uuids, ids }: TargetNames): Promise<StoredState[]> {
  return (await tx.query(LOCK_TARGETS, [toTextArray(uuids), toNumberArray(ids)])).rows.map(toStoredState);
}

// Other checks of the batch are locked already, so that waiting could be a deadlock.
const LOCK_ALIASED = statement<StateRow>({
  name: "ping_targets.lock_aliased",
  text: `select ${STATE_COLUMNS} from check_states s
    where s.check_id = any ($1::bigint[]) order by s.check_id for update nowait`,
});

/** Locks the states of checks that were found by an alias. Fails if another transaction holds one of them. */
export async function lockAliasedTargets(tx: Tx, ids: readonly number[]): Promise<StoredState[]> {
  return (await tx.query(LOCK_ALIASED, [toNumberArray(ids)])).rows.map(toStoredState);
}

type TargetRow = Omit<
  CheckRow,
  "badge_uuid" | "project_id" | "name" | "slug" | "tags" | "description" | "created_at" | "updated_at"
>;

const FIND_TARGET_SETTINGS = statement<TargetRow>({
  name: "ping_targets.settings",
  text: `select c.id, c.uuid, c.kind, c.timeout_seconds, c.grace_seconds, c.schedule, c.tz, c.manual_resume,
      c.methods, c.start_kw, c.success_kw, c.failure_kw, c.filter_subject, c.filter_body, c.filter_http_body,
      c.filter_default_fail, c.rules
    from checks c
    where c.deleted_at is null and c.id = any ($2::bigint[] || array(
      select named.id from checks named where named.uuid = any ($1::uuid[])))`,
});

export type TargetSettings = { id: number; uuid: string; settings: SignalSettings };

/** The settings that apply to signals of these checks, without unknown and deleted ones. */
export async function findTargetSettings(db: Db, { uuids, ids }: TargetNames): Promise<TargetSettings[]> {
  return (await db.query(FIND_TARGET_SETTINGS, [toTextArray(uuids), toNumberArray(ids)])).rows.map(
    toTargetSettings,
  );
}

function toTargetSettings(row: TargetRow): TargetSettings {
  return { id: row.id, uuid: row.uuid, settings: toSignalSettings(row) };
}

function toSignalSettings(row: TargetRow): SignalSettings {
  return {
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
    rules: row.rules,
  };
}

const FIND_LOG_LIMITS = statement<{ check_id: number; ping_log_limit: number }>({
  name: "ping_targets.log_limits",
  text: `select c.id as check_id, a.ping_log_limit
    from checks c
    join members m on m.project_id = c.project_id and m.role = 'owner'
    join accounts a on a.id = m.account_id
    where c.id = any ($1::bigint[]) and a.ping_log_limit is not null`,
});

/** Log limits of these checks whose owner has a separate limit. */
export async function findLogLimits(db: Db, checkIds: readonly number[]): Promise<Map<number, number>> {
  const { rows } = await db.query(FIND_LOG_LIMITS, [checkIds]);
  return new Map(rows.map((row) => [row.check_id, row.ping_log_limit]));
}

/** Selects due checks. */
export type DueRange = {
  through: Instant;
  /** Lower bound: earlier ones were processed in this sweep. */
  from?: Instant;
  /** Quarantined checks to leave out. */
  except?: readonly number[];
  limit: number;
};

// The lower bound avoids reading index entries again that the sweep has moved but vacuum has not removed.
const DUE = `check_states s
    where s.sweep_at <= $1 and s.sweep_at >= $2 and s.check_id <> all ($3::bigint[])
    order by s.sweep_at limit $4`;

function dueValues({ through, from = 0, except = [], limit }: DueRange): unknown[] {
  return [toTimestamp(through), toTimestamp(from), toNumberArray(except), limit];
}

const FIND_DUE_STATES = statement<StateRow>({
  name: "sweeping.find_due",
  text: `select ${STATE_COLUMNS} from ${DUE} for update skip locked`,
});

/**
 * Locks and returns at most `limit` due checks, longest due first. Skips rows locked by other transactions,
 * so that several sweepers share the work.
 */
export async function findDueStates(tx: Tx, range: DueRange): Promise<StoredState[]> {
  return (await tx.query(FIND_DUE_STATES, dueValues(range))).rows.map(toStoredState);
}

export type DueCheck = { checkId: number; sweepAt: Instant };

const LOCK_DUE_CHECKS = statement<{ check_id: number; sweep_at: Instant }>({
  name: "sweeping.lock_due",
  text: `select s.check_id, s.sweep_at from ${DUE} for update skip locked`,
});

/** The same without the state, for rows that cannot be read. */
export async function lockDueChecks(tx: Tx, range: DueRange): Promise<DueCheck[]> {
  return (await tx.query(LOCK_DUE_CHECKS, dueValues(range))).rows.map(toDueCheck);
}

const LIST_DUE_CHECKS = statement<{ check_id: number; sweep_at: Instant }>({
  name: "sweeping.list_due",
  text: `select s.check_id, s.sweep_at from ${DUE}`,
});

/** The same without locking: after a sweep, these are locked by others. */
export async function listDueChecks(db: Db, range: DueRange): Promise<DueCheck[]> {
  return (await db.query(LIST_DUE_CHECKS, dueValues(range))).rows.map(toDueCheck);
}

function toDueCheck(row: { check_id: number; sweep_at: Instant }): DueCheck {
  return { checkId: row.check_id, sweepAt: row.sweep_at };
}

type TimingRow = Pick<
  CheckRow,
  "id" | "kind" | "timeout_seconds" | "grace_seconds" | "schedule" | "tz" | "manual_resume" | "rules"
>;

const FIND_TIMINGS = statement<TimingRow>({
  name: "sweeping.timings",
  text: `select c.id, c.kind, c.timeout_seconds, c.grace_seconds, c.schedule, c.tz, c.manual_resume, c.rules
    from checks c where c.id = any ($1::bigint[]) and c.deleted_at is null`,
});

/** Schedules of these checks, to be read after locking them; without deleted ones. */
export async function findTimings(db: Db, checkIds: readonly number[]): Promise<Map<number, Timing>> {
  const { rows } = await db.query(FIND_TIMINGS, [toNumberArray(checkIds)]);
  return new Map(
    rows.map((row) => [
      row.id,
      {
        kind: row.kind,
        timeoutSeconds: row.timeout_seconds,
        graceSeconds: row.grace_seconds,
        schedule: row.schedule,
        tz: row.tz,
        manualResume: row.manual_resume,
        rules: row.rules,
      },
    ]),
  );
}

const MOVE_SWEEP = statement({
  name: "sweeping.move",
  text: `update check_states s set sweep_at = ${sqlInstant("n.sweep_at")},
      held_until_at = ${sqlInstant("n.held_until_at")}
    from unnest($1::bigint[], $2::bigint[], $3::bigint[]) as n (check_id, sweep_at, held_until_at)
    where s.check_id = n.check_id`,
});

export type SweepMove = {
  checkId: number;
  sweepAt: Instant | null;
  /** Set if the sweeper waits beyond the deadline; it must look by then. */
  heldUntilAt?: Instant | null;
};

/** Updates only `sweep_at` of checks that this transaction has locked. */
export async function moveSweep(tx: Tx, moves: readonly SweepMove[]): Promise<void> {
  await tx.query(MOVE_SWEEP, [
    toNumberArray(moves.map((move) => move.checkId)),
    toNumberArray(moves.map((move) => move.sweepAt)),
    toNumberArray(moves.map((move) => move.heldUntilAt ?? null)),
  ]);
}

export type QuarantinedCheck = { checkId: number; sinceAt: Instant; untilAt: Instant; reason: string };

const QUARANTINE_CHECK = statement({
  name: "sweeping.put_aside",
  text: `insert into poisoned_checks (check_id, since_at, until_at, reason) values ($1, $2, $3, $4)
    on conflict (check_id) do update set until_at = excluded.until_at, reason = excluded.reason`,
});

/** Quarantines a check that could not be evaluated; keeps the start of an existing quarantine. */
export async function quarantineCheck(tx: Tx, poisoned: QuarantinedCheck): Promise<void> {
  const { checkId, sinceAt, untilAt, reason } = poisoned;
  await tx.query(QUARANTINE_CHECK, [checkId, toTimestamp(sinceAt), toTimestamp(untilAt), reason]);
}

const RELEASE_QUARANTINED_CHECKS = statement({
  name: "sweeping.forget_poisoned",
  text: "delete from poisoned_checks where until_at <= $1",
});

/** Deletes expired quarantine entries; a check that failed again has a new one. */
export async function releaseQuarantinedChecks(tx: Tx, { through }: { through: Instant }): Promise<void> {
  await tx.query(RELEASE_QUARANTINED_CHECKS, [toTimestamp(through)]);
}

const DELETE_QUARANTINE_OF_CHECK = statement({
  name: "sweeping.delete_of_check",
  text: "delete from poisoned_checks where check_id = $1",
});

/** Deletes the quarantine entry of a check that is being deleted. */
export async function deleteQuarantineOfCheck(tx: Tx, checkId: number): Promise<void> {
  await tx.query(DELETE_QUARANTINE_OF_CHECK, [checkId]);
}

const LIST_QUARANTINED_CHECKS = statement<{
  check_id: number;
  since_at: Instant;
  until_at: Instant;
  reason: string;
}>({
  name: "sweeping.list_poisoned",
  text: "select check_id, since_at, until_at, reason from poisoned_checks order by since_at, check_id limit $1",
});

/** Quarantined checks, longest first. */
export async function listQuarantinedChecks(db: Db, limit: number): Promise<QuarantinedCheck[]> {
  const { rows } = await db.query(LIST_QUARANTINED_CHECKS, [limit]);
  return rows.map(({ check_id, since_at, until_at, reason }) => ({
    checkId: check_id,
    sinceAt: since_at,
    untilAt: until_at,
    reason,
  }));
}
