// Emails other than alerts, email preferences, and the data of reports and reminders. A row of `letters` is
// both the record and the queue entry; a claim lasts until its next attempt is due.
import type { StatusChange } from "../core/downtime.ts";
import type { Instant } from "../core/instant.ts";
import { DEFAULT_REMINDERS, DEFAULT_REPORTS, type Reminders, type Reports } from "../core/report.ts";
import type { StoredStatus } from "../core/state.ts";
import {
  type CheckRow,
  type CheckWithState,
  SELECT_WITH_STATE,
  type StateRow,
  toCheckWithState,
} from "./checks.ts";
import { amongOldest, type Db, statement } from "./db.ts";
import type { Tx } from "./transaction.ts";
import { sqlInstant, toNumberArray, toTimestamp } from "./values.ts";

export type EmailKind =
  | "verification"
  | "unverified"
  | "disabled"
  | "report"
  | "reminder"
  | "signIn"
  | "confirm"
  | "changeEmail"
  | "invitation"
  | "transfer"
  | "security";

export type QueuedEmail = {
  id: number;
  uuid: string;
  kind: EmailKind;
  /** For emails to an account. */
  accountId: number | null;
  /** For emails about a channel. */
  channelId: number | null;
  about: Readonly<Record<string, unknown>>;
  createdAt: Instant;
  /** Attempts started. */
  attemptCount: number;
};

type EmailRow = {
  id: number;
  uuid: string;
  kind: EmailKind;
  account_id: number | null;
  channel_id: number | null;
  about: Record<string, unknown>;
  created_at: Instant;
  attempt_count: number;
};

const EMAIL_COLUMNS =
  "l.id, l.uuid, l.kind, l.account_id, l.channel_id, l.about, l.created_at, l.attempt_count";

function toQueuedEmail(row: EmailRow): QueuedEmail {
  return {
    id: row.id,
    uuid: row.uuid,
    kind: row.kind,
    accountId: row.account_id,
    channelId: row.channel_id,
    about: row.about,
    createdAt: row.created_at,
    attemptCount: row.attempt_count,
  };
}

const INSERT_EMAIL = statement({
  name: "letters.insert",
  text: `insert into letters (uuid, kind, account_id, channel_id, about, state, created_at, attempt_count, next_try_at)
    values ($1, $2, $3, $4, $5, 'pending', $6::timestamptz, 0, $6::timestamptz)`,
});

export type NewEmail = Omit<QueuedEmail, "id" | "attemptCount">;

/** Inserts a pending email. */
export async function insertEmail(tx: Tx, email: NewEmail): Promise<void> {
  await tx.query(INSERT_EMAIL, [
    email.uuid,
    email.kind,
    email.accountId,
    email.channelId,
    JSON.stringify(email.about),
    toTimestamp(email.createdAt),
  ]);
}

const CLAIM_DUE_EMAILS = statement<EmailRow>({
  name: "letters.claim",
  text: `with due as (
      select id from letters where state = 'pending' and next_try_at <= $1
      order by next_try_at, id limit $2 for update skip locked
    )
    update letters l set claimed_by = $3, next_try_at = $4, attempt_count = l.attempt_count + 1
    from due where l.id = due.id
    returning ${EMAIL_COLUMNS}`,
});

/** Claims due emails, oldest first. Unless settled before `untilAt`, they are due again then. */
export async function claimDueEmails(
  tx: Tx,
  claim: { now: Instant; limit: number; claimedBy: string; untilAt: Instant },
): Promise<QueuedEmail[]> {
  const values = [toTimestamp(claim.now), claim.limit, claim.claimedBy, toTimestamp(claim.untilAt)];
  const { rows } = await tx.query(CLAIM_DUE_EMAILS, values);
  return rows.map(toQueuedEmail).toSorted((one, other) => one.id - other.id);
}

const SETTLE_CLAIMED_EMAIL = statement({
  name: "letters.settle",
  text: `update letters set state = $3, settled_at = $4, next_try_at = $5, reason = $6, claimed_by = null
    where id = $1 and claimed_by = $2 and state = 'pending'`,
});

export type EmailOutcome = {
  emailId: number;
  claimedBy: string;
  state: "pending" | "sent" | "dead";
  /** When it is retried; set only if pending. */
  nextTryAt: Instant | null;
  reason: string | null;
  at: Instant;
};

/** Records the result of an attempt. False: the claim had expired. */
export async function settleClaimedEmail(tx: Tx, end: EmailOutcome): Promise<boolean> {
  const { emailId, claimedBy, state, nextTryAt, reason, at } = end;
  const settledAt = state === "pending" ? null : at;
  const values = [emailId, claimedBy, state, toTimestamp(settledAt), toTimestamp(nextTryAt), reason];
  return (await tx.query(SETTLE_CLAIMED_EMAIL, values)).count === 1;
}

const FIND_EMAIL_BY_UUID = statement<EmailRow>({
  name: "letters.find_by_uuid",
  text: `select ${EMAIL_COLUMNS} from letters l where l.uuid = $1`,
});

/** The email with this UUID, in any state. */
export async function findEmailByUuid(db: Db, uuid: string): Promise<QueuedEmail | null> {
  const { rows } = await db.query(FIND_EMAIL_BY_UUID, [uuid]);
  return rows[0] === undefined ? null : toQueuedEmail(rows[0]);
}

const FIND_NEWEST_EMAIL = statement<EmailRow>({
  name: "letters.find_newest",
  text: `select ${EMAIL_COLUMNS} from letters l where l.channel_id = $1 and l.kind = $2 order by l.id desc limit 1`,
});

/** The last email of a kind about a channel; null if there is none. */
export async function findNewestEmail(
  db: Db,
  { channelId, kind }: { channelId: number; kind: EmailKind },
): Promise<QueuedEmail | null> {
  const { rows } = await db.query(FIND_NEWEST_EMAIL, [channelId, kind]);
  return rows[0] === undefined ? null : toQueuedEmail(rows[0]);
}

const PRUNE_EMAILS = statement({
  name: "letters.prune",
  text: `delete from letters where ${amongOldest("letters", "created_at")}`,
});

/** Deletes those of the `limit` oldest rows from before an instant; returns how many. */
export async function pruneEmails(
  tx: Tx,
  { before, limit }: { before: Instant; limit: number },
): Promise<number> {
  return (await tx.query(PRUNE_EMAILS, [toTimestamp(before), limit])).count;
}

/** Time zone null: none was chosen; pages use the browser's time zone, emails see `zoneOfMails`. */
export type Preferences = { tz: string | null; reports: Reports; reminders: Reminders };

const DEFAULT_PREFERENCES: Preferences = { tz: null, reports: DEFAULT_REPORTS, reminders: DEFAULT_REMINDERS };

const FIND_PREFERENCES = statement<Preferences>({
  name: "preferences.find",
  text: "select tz, reports, reminders from preferences where account_id = $1",
});

/** The preferences of an account, with defaults. */
export async function findPreferences(db: Db, accountId: number): Promise<Preferences> {
  const { rows } = await db.query(FIND_PREFERENCES, [accountId]);
  return rows[0] ?? DEFAULT_PREFERENCES;
}

const WRITE_PREFERENCES = statement({
  name: "preferences.write",
  text: `insert into preferences as p (account_id, tz, reports, reminders) values ($1, $2, $3, $4)
    on conflict (account_id) do update
      set tz = excluded.tz, reports = excluded.reports, reminders = excluded.reminders,
        next_report_at = null, next_reminder_at = case when p.reminders = excluded.reminders then p.next_reminder_at end`,
});

/** Stores preferences. The next report is planned again; a reminder is kept unless its frequency changes. */
export async function writePreferences(
  tx: Tx,
  { accountId, tz, reports, reminders }: { accountId: number } & Preferences,
): Promise<void> {
  await tx.query(WRITE_PREFERENCES, [accountId, tz, reports, reminders]);
}

const ADD_MISSING_PREFERENCES = statement({
  name: "preferences.add_missing",
  text: `insert into preferences (account_id, reports, reminders)
    select a.id, $1, $2 from accounts a
    where not exists (select from preferences p where p.account_id = a.id)
    order by a.id limit $3
    on conflict do nothing`,
});

/** Inserts default preferences for accounts without a row, at most `limit`; returns how many. */
export async function addMissingPreferences(tx: Tx, limit: number): Promise<number> {
  return (
    await tx.query(ADD_MISSING_PREFERENCES, [
      DEFAULT_PREFERENCES.reports,
      DEFAULT_PREFERENCES.reminders,
      limit,
    ])
  ).count;
}

/** Whether one of their checks had a ping since an instant, the second parameter. */
const IS_ALIVE = `exists (
    select from members m join checks c on c.project_id = m.project_id join check_states s on s.check_id = c.id
    where m.account_id = p.account_id and c.deleted_at is null and s.last_ping_at >= $2
  )`;

type ReportRow = {
  account_id: number;
  tz: string | null;
  reports: Exclude<Reports, "off">;
  next_report_at: Instant | null;
  is_alive: boolean;
};

const LOCK_DUE_REPORTS = statement<ReportRow>({
  name: "preferences.lock_due_reports",
  text: `select p.account_id, p.tz, p.reports, p.next_report_at, ${IS_ALIVE} as is_alive
    from preferences p
    where p.reports <> 'off' and (p.next_report_at is null or p.next_report_at <= $1)
    order by p.next_report_at nulls first limit $3
    for update of p skip locked`,
});

export type DueReport = {
  accountId: number;
  tz: string | null;
  reports: Exclude<Reports, "off">;
  /** Null: none has been planned yet, so none is due. */
  dueAt: Instant | null;
  /** Whether their checks had pings since `aliveFrom`. */
  isAlive: boolean;
};

/** Locks due and unplanned reports; skips rows locked by others. */
export async function lockDueReports(
  tx: Tx,
  { now, aliveFrom, limit }: { now: Instant; aliveFrom: Instant; limit: number },
): Promise<DueReport[]> {
  const { rows } = await tx.query(LOCK_DUE_REPORTS, [toTimestamp(now), toTimestamp(aliveFrom), limit]);
  return rows.map((row) => ({
    accountId: row.account_id,
    tz: row.tz,
    reports: row.reports,
    dueAt: row.next_report_at,
    isAlive: row.is_alive,
  }));
}

type ReminderRow = {
  account_id: number;
  reminders: Reminders;
  next_reminder_at: Instant | null;
  has_down: boolean;
  is_alive: boolean;
};

const LOCK_REMINDED = statement<ReminderRow>({
  name: "preferences.lock_reminded",
  text: `select p.account_id, p.reminders, p.next_reminder_at, ${IS_ALIVE} as is_alive,
      exists (
        select from members m join checks c on c.project_id = m.project_id join check_states s on s.check_id = c.id
        where m.account_id = p.account_id and c.deleted_at is null and s.status = 'down'
      ) as has_down
    from preferences p
    where p.reminders <> 'off' and p.account_id > $1
    order by p.account_id limit $3
    for update of p skip locked`,
});

export type Reminded = {
  accountId: number;
  reminders: Reminders;
  nextAt: Instant | null;
  /** Whether any check visible to the account is down. */
  hasDown: boolean;
  isAlive: boolean;
};

/** Locks accounts with reminders, by id after `afterId`; skips rows locked by others. */
export async function lockReminded(
  tx: Tx,
  { afterId, aliveFrom, limit }: { afterId: number; aliveFrom: Instant; limit: number },
): Promise<Reminded[]> {
  const { rows } = await tx.query(LOCK_REMINDED, [afterId, toTimestamp(aliveFrom), limit]);
  return rows.map((row) => ({
    accountId: row.account_id,
    reminders: row.reminders,
    nextAt: row.next_reminder_at,
    hasDown: row.has_down,
    isAlive: row.is_alive,
  }));
}

export type NextMail = { accountId: number; nextAt: Instant | null };

const WRITE_REPORT_DATES = statement({
  name: "preferences.write_reports",
  text: `update preferences p set next_report_at = ${sqlInstant("n.next_ms")}
    from unnest($1::bigint[], $2::bigint[]) as n (account_id, next_ms) where p.account_id = n.account_id`,
});

/** Stores the times of the next reports, for accounts that this transaction has locked. */
export async function writeReportDates(tx: Tx, next: readonly NextMail[]): Promise<void> {
  await tx.query(WRITE_REPORT_DATES, dateColumnsOf(next));
}

const WRITE_REMINDER_DATES = statement({
  name: "preferences.write_reminders",
  text: `update preferences p set next_reminder_at = ${sqlInstant("n.next_ms")}
    from unnest($1::bigint[], $2::bigint[]) as n (account_id, next_ms) where p.account_id = n.account_id`,
});

/** Stores the times of the next reminders, likewise; null: none. */
export async function writeReminderDates(tx: Tx, next: readonly NextMail[]): Promise<void> {
  await tx.query(WRITE_REMINDER_DATES, dateColumnsOf(next));
}

function dateColumnsOf(next: readonly NextMail[]): (string | null)[] {
  return [
    toNumberArray(next.map(({ accountId }) => accountId)),
    toNumberArray(next.map(({ nextAt }) => nextAt)),
  ];
}

const LIST_CHECKS_OF_ACCOUNT = statement<CheckRow & StateRow>({
  name: "report_facts.list_checks",
  text: `${SELECT_WITH_STATE}
    where c.project_id in (select m.project_id from members m where m.account_id = $1)
      and c.deleted_at is null and c.id > $2
    order by c.id limit $3`,
});

/** Checks of all projects of an account, by id after `afterId`. */
export async function listChecksOfAccount(
  db: Db,
  { accountId, afterId, limit }: { accountId: number; afterId: number; limit: number },
): Promise<CheckWithState[]> {
  const { rows } = await db.query(LIST_CHECKS_OF_ACCOUNT, [accountId, afterId, limit]);
  return rows.map(toCheckWithState);
}

type ChangeRow = {
  check_id: number;
  at: Instant;
  from_status: StoredStatus;
  to_status: StoredStatus;
  is_taken_back: boolean;
};

// An alert precedes a pause at the same instant, because commands apply deadlines first. Both parts are read from the
// end of their index, so that a check that changes often costs no more than the limit.
const LIST_STATUS_CHANGES = statement<ChangeRow>({
  name: "report_facts.list_changes",
  text: `select wanted.check_id, newest.at, newest.from_status, newest.to_status, newest.is_taken_back
    from unnest($1::bigint[]) as wanted (check_id)
      cross join lateral (
        select * from (
          (select f.at, f.from_status, f.to_status, f.taken_back_at is not null as is_taken_back, 0 as sort, f.id
            from flips f where f.check_id = wanted.check_id and f.at >= $2
            order by f.at desc, f.id desc limit $3)
          union all
          (select e.at, case when e.kind = 'resumed' then 'paused' else coalesce(e.detail ->> 'from', 'up') end,
              case when e.kind = 'resumed' then 'new' else 'paused' end, false, 1, e.id
            from events e
            where e.check_id = wanted.check_id and e.at >= $2 and e.kind in ('paused', 'resumed')
            order by e.at desc, e.id desc limit $3)
        ) as changes
        order by at desc, sort desc, id desc limit $3
      ) as newest
    order by newest.at, newest.sort, newest.id`,
});

/** `isCut`: there may be more before the first of them. */
export type ReadChanges = { changes: StatusChange[]; isCut: boolean };

/**
 * The changes of checks since an instant, oldest first, by check; at most the newest `limitEach` of each. Checks
 * without changes are left out.
 */
export async function listStatusChanges(
  db: Db,
  { checkIds, from, limitEach }: { checkIds: readonly number[]; from: Instant; limitEach: number },
): Promise<Map<number, ReadChanges>> {
  const { rows } = await db.query(LIST_STATUS_CHANGES, [
    toNumberArray(checkIds),
    toTimestamp(from),
    limitEach,
  ]);
  const byCheck = Map.groupBy(rows, (row) => row.check_id);
  return new Map(
    [...byCheck].map(([checkId, changes]) => [
      checkId,
      { changes: changes.map(toChange), isCut: changes.length >= limitEach },
    ]),
  );
}

function toChange(row: ChangeRow): StatusChange {
  return { at: row.at, from: row.from_status, to: row.to_status, isRetracted: row.is_taken_back };
}

type DownRow = {
  uuid: string;
  name: string;
  project_name: string;
  last_ping_at: Instant | null;
  down_since_at: Instant | null;
  count: number;
};

const LIST_DOWN_CHECKS = statement<DownRow>({
  name: "report_facts.list_down",
  text: `select c.uuid, c.name, p.name as project_name, s.last_ping_at, flip.at as down_since_at,
      count(*) over () as count
    from members m
      join projects p on p.id = m.project_id
      join checks c on c.project_id = p.id and c.deleted_at is null
      join check_states s on s.check_id = c.id and s.status = 'down'
      left join lateral (
        select f.at from flips f
        where f.check_id = c.id and f.to_status = 'down' and f.taken_back_at is null
        order by f.at desc, f.id desc limit 1
      ) as flip on true
    where m.account_id = $1
    order by p.name, c.name, c.id limit $2`,
});

export type DownCheck = {
  uuid: string;
  name: string;
  projectName: string;
  lastPingAt: Instant | null;
  downSinceAt: Instant | null;
};

/** Down checks of all projects of an account: the first by name, and their number. */
export async function listDownChecks(
  db: Db,
  { accountId, limit }: { accountId: number; limit: number },
): Promise<{ down: DownCheck[]; downCount: number }> {
  const { rows } = await db.query(LIST_DOWN_CHECKS, [accountId, limit]);
  const down = rows.map((row) => ({
    uuid: row.uuid,
    name: row.name,
    projectName: row.project_name,
    lastPingAt: row.last_ping_at,
    downSinceAt: row.down_since_at,
  }));
  return { down, downCount: rows[0]?.count ?? 0 };
}
