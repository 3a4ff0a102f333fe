// What people want to be told by mail, and when next. Whoever has no row has the defaults, and gets one when reports
// are planned.
import { DEFAULT_REMINDERS, type Reminders } from "../../core/alerts/reminders.ts";
import { DEFAULT_REPORTS, type Reports } from "../../core/alerts/reports.ts";
import type { Instant } from "../../core/instant.ts";
import { type Db, statement } from "../db.ts";
import type { Tx } from "../transaction.ts";
import { sqlInstant, toNumberArray, toTimestamp } from "../values.ts";

/** No zone: none was chosen. Pages are then shown in that of the browser; of mails see `zoneOfMails`. */
export type Preferences = { tz: string | null; reports: Reports; reminders: Reminders };

const DEFAULTS: Preferences = { tz: null, reports: DEFAULT_REPORTS, reminders: DEFAULT_REMINDERS };

const FIND = statement<Preferences>({
  name: "preferences.find",
  text: "select tz, reports, reminders from preferences where account_id = $1",
});

/** What an account wants, the defaults where it has said nothing. */
export async function findPreferences(db: Db, accountId: number): Promise<Preferences> {
  const { rows } = await db.query(FIND, [accountId]);
  return rows[0] ?? DEFAULTS;
}

const WRITE = statement({
  name: "preferences.write",
  text: `insert into preferences as p (account_id, tz, reports, reminders) values ($1, $2, $3, $4)
    on conflict (account_id) do update
      set tz = excluded.tz, reports = excluded.reports, reminders = excluded.reminders,
        next_report_at = null, next_reminder_at = case when p.reminders = excluded.reminders then p.next_reminder_at end`,
});

/** Sets what an account wants. The next report is planned anew; a reminder goes on unless it is another one now. */
export async function writePreferences(
  tx: Tx,
  { accountId, tz, reports, reminders }: { accountId: number } & Preferences,
): Promise<void> {
  await tx.query(WRITE, [accountId, tz, reports, reminders]);
}

const ADD_MISSING = statement({
  name: "preferences.add_missing",
  text: `insert into preferences (account_id, reports, reminders)
    select a.id, $1, $2 from accounts a
    where not exists (select from preferences p where p.account_id = a.id)
    order by a.id limit $3
    on conflict do nothing`,
});

/** Gives accounts that have said nothing the defaults, at most so many; returns how many. */
export async function addMissingPreferences(tx: Tx, limit: number): Promise<number> {
  return (await tx.query(ADD_MISSING, [DEFAULTS.reports, DEFAULTS.reminders, limit])).count;
}

/** Whether anything was heard of a check of theirs since an instant, the second parameter. */
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
  /** Whether anything was heard of their checks since `aliveFrom`. */
  isAlive: boolean;
};

/** Locks reports that are due, and those that are to be planned; what others hold is left to them. */
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
  /** Whether any check that they may see is down. */
  hasDown: boolean;
  isAlive: boolean;
};

/** Locks whoever wants reminders, by their ids after `afterId`; what others hold is left to them. */
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

const WRITE_REPORTS = statement({
  name: "preferences.write_reports",
  text: `update preferences p set next_report_at = ${sqlInstant("n.next_ms")}
    from unnest($1::bigint[], $2::bigint[]) as n (account_id, next_ms) where p.account_id = n.account_id`,
});

/** When the next reports come, of accounts that this transaction has locked. */
export async function writeReportDates(tx: Tx, next: readonly NextMail[]): Promise<void> {
  await tx.query(WRITE_REPORTS, columnsOf(next));
}

const WRITE_REMINDERS = statement({
  name: "preferences.write_reminders",
  text: `update preferences p set next_reminder_at = ${sqlInstant("n.next_ms")}
    from unnest($1::bigint[], $2::bigint[]) as n (account_id, next_ms) where p.account_id = n.account_id`,
});

/** When the next reminders come, likewise; null: none does. */
export async function writeReminderDates(tx: Tx, next: readonly NextMail[]): Promise<void> {
  await tx.query(WRITE_REMINDERS, columnsOf(next));
}

function columnsOf(next: readonly NextMail[]): (string | null)[] {
  return [
    toNumberArray(next.map(({ accountId }) => accountId)),
    toNumberArray(next.map(({ nextAt }) => nextAt)),
  ];
}
