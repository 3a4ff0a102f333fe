// The day that is simulated: uneven cells, hot partitions, one check that sends far too often, a cell that is down across
// an hour, and many checks that stop at the same time.
import { type Day, type Outcome, play } from "./model.ts";
import { applierShares, cellLoads } from "./placement.ts";
import { DAY_SECONDS, loadAt, PINGS_PER_CHECK } from "./profile.ts";
import { appliersOf, CELL_CHECKS, type Costs, fleetOf, type Plan } from "./sizing.ts";

const HOUR = 3_600;
/** A check that pings in a loop, for an hour. Each edge records at most 100 of its pings per second. */
const CHATTY_PER_SECOND = 5_000;
const CHATTY_RECORDED_PER_EDGE = 100;
const CHATTY_FROM = 8.5 * HOUR;
/** From a minute before an hour to four minutes after it. */
const DOWN_FROM = 12 * HOUR - 60;
const DOWN_TO = 12 * HOUR + 240;
/** Seconds in which deadlines of many checks pass: while a check sends too often, and while a cell is down. */
const SILENT_AT = [9 * HOUR, 12 * HOUR];
const SILENT_SHARE = 0.01;

/** The day of a plan: the fullest cell has the chatty check, and the next one is down. */
export function dayOf(plan: Plan): Day {
  const { checks, cells, edges } = plan;
  const perCell = checks / cells;
  const loads = cellLoads({ checks, cells });
  const fullest = loads.indexOf(Math.max(...loads));
  return {
    seconds: DAY_SECONDS,
    pingsAt: (second) => perCell * PINGS_PER_CHECK * loadAt(second),
    loads,
    applierShares: applierShares({ checks: CELL_CHECKS, appliers: appliersOf(plan) }),
    chatty: {
      cell: fullest,
      from: CHATTY_FROM,
      to: CHATTY_FROM + HOUR,
      sentPerSecond: CHATTY_PER_SECOND,
      recordedPerSecond: Math.min(CHATTY_PER_SECOND, CHATTY_RECORDED_PER_EDGE * edges),
    },
    down: { cell: (fullest + 1) % cells, from: DOWN_FROM, to: DOWN_TO },
    silent: { at: SILENT_AT, alerts: perCell * SILENT_SHARE },
  };
}

export function playDay(plan: Plan, costs: Costs): Outcome {
  return play(fleetOf(plan, costs), dayOf(plan));
}
