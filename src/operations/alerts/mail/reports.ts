// Plans reports and reminders for people, and reads what stands in them. Planning writes the letter and the next date
// in one transaction; sending is letters.ts.
import { randomUUID } from "node:crypto";
import { downtimesOf } from "../../../core/alerts/downtime.ts";
import { periodsBefore, zoneOfMails } from "../../../core/alerts/local-time.ts";
import {
  planReminder,
  REMINDER_CHECKS_LISTED_MAX,
  type ReminderFacts,
} from "../../../core/alerts/reminders.ts";
import {
  ALIVE_DAYS,
  nextReportAt,
  REPORT_PERIODS,
  type ReportedCheck,
  type ReportFacts,
  reportOf,
} from "../../../core/alerts/reports.ts";
import { DAY_MS, type Instant } from "../../../core/instant.ts";
import { STATUS_CHANGES_READ_MAX } from "../../../core/limits.ts";
import { statusAt } from "../../../core/machine/status.ts";
import { insertLetter, type NewLetter } from "../../../store/alerts/letters.ts";
import {
  addMissingPreferences,
  lockDueReports,
  lockReminded,
  writeReminderDates,
  writeReportDates,
} from "../../../store/alerts/preferences.ts";
import {
  listChecksOfAccount,
  listDownChecks,
  listStatusChanges,
} from "../../../store/alerts/report-facts.ts";
import type { CheckWithState } from "../../../store/checks/checks.ts";
import type { Database, Db } from "../../../store/db.ts";
import { listProjectsOfAccount } from "../../../store/accounts/projects.ts";
import { inTransaction } from "../../../store/transaction.ts";

/** People that one transaction plans for. */
const PEOPLE_PER_TURN = 200;
/** Checks that are read at a time. */
const CHECKS_PER_TURN = 50;

export type ReportPlan = {
  now: Instant;
  /** A lot for the minute of each next report; see REPORT_MINUTES. */
  drawMinute: () => number;
};

/** Owes reports that are due and plans the next ones. False: there may be more to do at once. */
export function planReports(
  database: Database,
  { now, drawMinute }: ReportPlan,
): Promise<{ letters: number; isComplete: boolean }> {
  return inTransaction(database, async (tx) => {
    const added = await addMissingPreferences(tx, PEOPLE_PER_TURN);
    const due = await lockDueReports(tx, { now, aliveFrom: aliveFrom(now), limit: PEOPLE_PER_TURN });
    const sent = due.filter(({ dueAt, isAlive }) => dueAt !== null && isAlive);
    for (const { accountId, tz, reports } of sent) {
      const zone = zoneOfMails(tz);
      const periods = periodsBefore(now, { length: reports, zone, count: REPORT_PERIODS });
      await insertLetter(
        tx,
        personal({ kind: "report", accountId, about: { length: reports, periods, zone }, now }),
      );
    }
    const dates = due.map(({ accountId, tz, reports }) => ({
      accountId,
      nextAt: nextReportAt(now, { length: reports, zone: zoneOfMails(tz), minute: drawMinute() }),
    }));
    if (dates.length > 0) await writeReportDates(tx, dates);
    return { letters: sent.length, isComplete: due.length < PEOPLE_PER_TURN && added < PEOPLE_PER_TURN };
  });
}

/** Owes reminders that are due, and starts and stops the clocks of the others. Returns how many letters. */
export async function planReminders(database: Database, { now }: { now: Instant }): Promise<number> {
  let letters = 0;
  let afterId = 0;
  for (;;) {
    const turn = await remindSome(database, { now, afterId });
    letters += turn.letters;
    if (turn.lastId === null) return letters;
    afterId = turn.lastId;
  }
}

function remindSome(
  database: Database,
  { now, afterId }: { now: Instant; afterId: number },
): Promise<{ letters: number; lastId: number | null }> {
  return inTransaction(database, async (tx) => {
    const people = await lockReminded(tx, { afterId, aliveFrom: aliveFrom(now), limit: PEOPLE_PER_TURN });
    const plans = people.map((person) => ({ person, plan: planReminder({ ...person, now }) }));
    const due = plans.filter(({ person, plan }) => plan.isDue && person.isAlive);
    for (const { person } of due) {
      await insertLetter(tx, personal({ kind: "reminder", accountId: person.accountId, about: {}, now }));
    }
    const changed = plans.filter(({ person, plan }) => plan.nextAt !== person.nextAt);
    const dates = changed.map(({ person, plan }) => ({ accountId: person.accountId, nextAt: plan.nextAt }));
    if (dates.length > 0) await writeReminderDates(tx, dates);
    return { letters: due.length, lastId: people.at(-1)?.accountId ?? null };
  });
}

function personal(of: {
  kind: "report" | "reminder";
  accountId: number;
  about: Readonly<Record<string, unknown>>;
  now: Instant;
}): NewLetter {
  const { kind, accountId, about, now } = of;
  return { uuid: randomUUID(), kind, accountId, channelId: null, about, createdAt: now };
}

function aliveFrom(now: Instant): Instant {
  return now - ALIVE_DAYS * DAY_MS;
}

/** What a report says, of all checks that the account may see. */
export async function readReport(
  db: Db,
  {
    accountId,
    now,
    ...given
  }: Pick<ReportFacts, "length" | "periods" | "zone"> & { accountId: number; now: Instant },
): Promise<ReportFacts> {
  const projects = await listProjectsOfAccount(db, accountId);
  const projectNames = new Map(projects.map(({ id, name }) => [id, name]));
  const reported: ReportedCheck[] = [];
  for (let afterId = 0; ; ) {
    const checks = await listChecksOfAccount(db, { accountId, afterId, limit: CHECKS_PER_TURN });
    const from = given.periods[0]?.from ?? now;
    const changes = await listStatusChanges(db, {
      checkIds: checks.map(({ id }) => id),
      from,
      limitEach: STATUS_CHANGES_READ_MAX,
    });
    for (const check of checks) {
      const history = {
        createdAt: check.createdAt,
        status: check.state.status,
        ...(changes.get(check.id) ?? { changes: [], isCut: false }),
      };
      const downtimes = downtimesOf(history, { periods: given.periods, now });
      reported.push({
        ...shown(check, now),
        projectName: projectNames.get(check.projectId) ?? "",
        downtimes,
      });
    }
    const last = checks.at(-1);
    if (last === undefined || checks.length < CHECKS_PER_TURN) return reportOf(reported, given);
    afterId = last.id;
  }
}

function shown({ uuid, settings, state }: CheckWithState, now: Instant) {
  const status = statusAt({ timing: settings, state }, now);
  return { uuid, name: settings.name, status, lastPingAt: state.lastPingAt };
}

/** What a reminder says; nothing is down any more when its count is 0. */
export async function readReminder(
  db: Db,
  { accountId, zone }: { accountId: number; zone: string },
): Promise<ReminderFacts> {
  return { zone, ...(await listDownChecks(db, { accountId, limit: REMINDER_CHECKS_LISTED_MAX })) };
}
