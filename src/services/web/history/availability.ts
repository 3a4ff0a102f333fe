// How a check has been: by day for the strip, by month for the table, and over all. Time in which we could not
// receive belongs to nobody: it is drawn, and counts neither as up nor as down.
import type { CheckPage, DayMark, MonthDowntime } from "../../../contract/web/check-page.ts";
import {
  type CheckHistory,
  downtimesOf,
  isUnseenDay,
  lifeIn,
  type Period,
  unseenMs,
  upShare,
} from "../../../core/alerts/downtime.ts";
import { periodsBefore } from "../../../core/alerts/local-time.ts";
import { DAY_MS, type Instant, type Interval } from "../../../core/instant.ts";
import { STATUS_CHANGES_READ_MAX } from "../../../core/limits.ts";
import { type DayTotals, dayOf } from "../../../core/machine/day-totals.ts";
import { listStatusChanges } from "../../../store/alerts/report-facts.ts";
import type { CheckWithState } from "../../../store/checks/checks.ts";
import { listEvents } from "../../../store/history/events.ts";
import { listDays } from "../../../store/history/check-days.ts";
import { listBlindIntervals } from "../../../store/intakes/blind-intervals.ts";
import type { WebHouse } from "../house.ts";
import { SHOWN_DAYS } from "./past-runs.ts";

const MONTHS_SHOWN = 3;
/** So many signals that were due while we could not receive are looked at. */
const MISSED_READ_MAX = 1_000;

type Availability = Pick<CheckPage, "days" | "ninety" | "months">;
type Facts = {
  history: CheckHistory;
  blind: readonly Interval[];
  totals: ReadonlyMap<string, DayTotals>;
  /** Days on which a signal was due while we could not receive. */
  missedDays: ReadonlySet<string>;
  now: Instant;
};

/** The last 90 days and three months of a check. */
export async function readAvailability(
  { database }: WebHouse,
  { check, now }: { check: CheckWithState; now: Instant },
): Promise<Availability> {
  const days = shownDays(now);
  const months = shownMonths(now);
  const from = Math.min(...[...days, ...months].map((period) => period.from));
  const [changes, blind, totals, missed] = await Promise.all([
    listStatusChanges(database, { checkIds: [check.id], from, limitEach: STATUS_CHANGES_READ_MAX }),
    listBlindIntervals(database, { from, to: now }),
    listDays(database, { checkId: check.id, fromDay: dayOf(from) }),
    listEvents(database, { checkId: check.id, from, kind: "not_observed", limit: MISSED_READ_MAX }),
  ]);
  const all = [...totals, ...(check.today === null ? [] : [check.today])];
  const facts: Facts = {
    history: {
      createdAt: check.createdAt,
      status: check.state.status,
      ...(changes.get(check.id) ?? { changes: [], isCut: false }),
    },
    blind,
    totals: new Map(all.map((day) => [day.day, day])),
    missedDays: new Set(missed.map(({ at }) => dayOf(at))),
    now,
  };
  const marks = markDays(facts, days);
  return { days: marks, ninety: overAll(facts, { days, marks }), months: markMonths(facts, months) };
}

/** The running day and those before it, oldest first, in UTC as the roll-ups are. */
function shownDays(now: Instant): Period[] {
  const today = now - (now % DAY_MS);
  return Array.from({ length: SHOWN_DAYS }, (_, index) => {
    const from = today - (SHOWN_DAYS - 1 - index) * DAY_MS;
    return { from, to: from + DAY_MS };
  });
}

/** The running month and those before it, newest first. */
function shownMonths(now: Instant): Period[] {
  const before = periodsBefore(now, { length: "monthly", zone: "UTC", count: MONTHS_SHOWN - 1 });
  const past = before.toSorted((one, other) => other.from - one.from);
  return [{ from: past[0]?.to ?? now, to: now + 1 }, ...past];
}

function markDays({ history, blind, totals, missedDays, now }: Facts, days: readonly Period[]): DayMark[] {
  const downtimes = downtimesOf(history, { periods: days, now });
  return days.map((period, index) => {
    const day = dayOf(period.from);
    const counted = totals.get(day);
    const blindMs = unseenMs(blind, lifeIn(period, { createdAt: history.createdAt, now }));
    return {
      day,
      successCount: counted?.successCount ?? 0,
      failCount: counted?.failCount ?? 0,
      downMs: downtimes[index] === "uncounted" ? null : (downtimes[index]?.durationMs ?? 0),
      unseenMs: blindMs,
      isUnseen: isUnseenDay({ unseenMs: blindMs, isSignalMissed: missedDays.has(day) }),
      isBefore: history.createdAt >= period.to,
    };
  });
}

function overAll(
  { history, blind, now }: Facts,
  { days, marks }: { days: readonly Period[]; marks: readonly DayMark[] },
): CheckPage["ninety"] {
  const whole = { from: Math.max(days[0]?.from ?? now, history.createdAt), to: now };
  const [down = null] = downtimesOf(history, { periods: [whole], now });
  const unseenDays = marks.filter(({ isUnseen, isBefore }) => isUnseen && !isBefore).length;
  if (down === "uncounted") return { upShare: null, downCount: null, downMs: null, unseenDays };
  return {
    upShare: upShare(whole, { downMs: down?.durationMs ?? 0, unseenMs: unseenMs(blind, whole) }),
    downCount: down?.count ?? 0,
    downMs: down?.durationMs ?? 0,
    unseenDays,
  };
}

function markMonths({ history, blind, now }: Facts, months: readonly Period[]): MonthDowntime[] {
  const downtimes = downtimesOf(history, { periods: months, now });
  return months.map((period, index) => {
    const month = dayOf(period.from).slice(0, 7);
    const down = downtimes[index] ?? null;
    if (down === null || down === "uncounted") {
      return { month, count: null, downMs: null, upShare: null, isUncounted: down !== null };
    }
    const life = lifeIn(period, { createdAt: history.createdAt, now });
    const share = upShare(life, { downMs: down.durationMs, unseenMs: unseenMs(blind, life) });
    return { month, count: down.count, downMs: down.durationMs, upShare: share, isUncounted: false };
  });
}
