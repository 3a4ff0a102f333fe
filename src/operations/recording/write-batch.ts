// Writes what the fold has collected, in few statements; whatever a batch does not have costs nothing.
import { dayOf } from "../../core/machine/day-totals.ts";
import type { Instant } from "../../core/instant.ts";
import { forgottenThrough, keptFrom } from "../../core/retention.ts";
import { addDayTotals, trimDays } from "../../store/history/check-days.ts";
import { writeStates } from "../../store/checks/check-states.ts";
import { insertEvents } from "../../store/history/events.ts";
import { insertFlips, takeBackFlip } from "../../store/history/flips.ts";
import { insertBodies, trimBodies } from "../../store/history/ping-bodies.ts";
import { findLogLimits } from "../../store/checks/ping-targets.ts";
import { insertPings, trimPings } from "../../store/history/pings.ts";
import { insertRunChunks, trimRunChunks } from "../../store/history/run-chunks.ts";
import type { EndedRun } from "../../store/history/run-packing.ts";
import type { Tx } from "../../store/transaction.ts";
import { planDeliveries, planNotices, takeBackDeliveries } from "../alerts/plan-deliveries.ts";
import type { Writes } from "./fold-batch.ts";

export type LogLimits = { pingLogRows: number };

/** The states are locked by this transaction. */
export async function writeBatch(
  tx: Tx,
  writes: Writes,
  limits: LogLimits & { now: Instant },
): Promise<void> {
  // Sent in this order and at once: none of them needs the answer of another.
  const writing: Promise<unknown>[] = [writeStates(tx, writes.states)];
  if (writes.pings.length > 0) writing.push(insertPings(tx, writes.pings));
  if (writes.bodies.length > 0) writing.push(insertBodies(tx, writes.bodies));
  if (writes.flips.length > 0 || writes.takenBack.length > 0)
    writing.push(writeFlips(tx, writes, limits.now));
  if (writes.events.length > 0) writing.push(insertEvents(tx, writes.events));
  if (writes.notices.length > 0) writing.push(planNotices(tx, writes.notices, limits.now));
  if (writes.days.length > 0) writing.push(settleDays(tx, writes.days, limits.now));
  if (writes.trims.length > 0) writing.push(trimLogs(tx, writes.trims, limits));
  await Promise.all(writing);
}

/** Flips with what is owed for them. Sent at once as far as it can be: a delivery needs the id of its flip. */
async function writeFlips(tx: Tx, { flips, takenBack }: Writes, now: Instant): Promise<void> {
  const inserting = flips.length > 0 ? insertFlips(tx, flips) : Promise.resolve([]);
  // After the inserts: a batch may take back what it has written itself.
  const takingBack = Promise.all(takenBack.map((flip) => takeBackFlip(tx, flip)));
  const [flipIds, takenBackIds] = await Promise.all([inserting, takingBack]);
  const written = flips.map(({ checkId, flip }, index) => ({ checkId, flip, flipId: flipIds[index] ?? 0 }));
  const planning = planDeliveries(tx, written, now);
  const correcting = takeBackDeliveries(
    tx,
    takenBackIds.filter((id) => id !== null),
    now,
  );
  await Promise.all([planning, correcting]);
}

async function settleDays(tx: Tx, days: Writes["days"], now: Instant): Promise<void> {
  const checkIds = [...new Set(days.map(({ checkId }) => checkId))];
  const adding = addDayTotals(tx, days);
  await Promise.all([adding, trimDays(tx, { checkIds, beforeDay: dayOf(keptFrom("run", now)) })]);
}

/** What leaves the log stays as a packed run: the history is longer than the log, and much smaller. */
async function trimLogs(
  tx: Tx,
  trims: Writes["trims"],
  { pingLogRows, now }: LogLimits & { now: Instant },
): Promise<void> {
  const checkIds = trims.map(({ checkId }) => checkId);
  const limits = await findLogLimits(tx, checkIds);
  const due = trims
    .map(({ checkId, pingCount, keepN }) => ({
      checkId,
      keepN,
      through: forgottenThrough({ pingCount, rowsMax: limits.get(checkId) ?? pingLogRows }),
    }))
    .filter(({ through }) => through > 0);
  if (due.length === 0) return;
  const [leaving] = await Promise.all([
    trimPings(tx, due),
    trimBodies(tx, due),
    trimRunChunks(tx, { checkIds, before: keptFrom("run", now) }),
  ]);
  const byCheck = Map.groupBy(leaving, ({ checkId }) => checkId);
  const chunks = [...byCheck].map(([checkId, runs]) => ({ checkId, runs: runs as EndedRun[] }));
  if (chunks.length > 0) await insertRunChunks(tx, chunks);
}
