// What was logged of a check's signals: the list of pings, and the body of one.
import { presentPings } from "../../../contract/history/ping.ts";
import { bodyUrl } from "../../../contract/urls.ts";
import { AppError, ERROR_TEXT } from "../../../core/errors.ts";
import { runDurations } from "../../../core/machine/run-durations.ts";
import { forgottenThrough, isPingKept, pingsListed } from "../../../core/retention.ts";
import { readBody } from "../../../operations/bodies/read-body.ts";
import { findLogLimits } from "../../../store/checks/ping-targets.ts";
import type { CheckWithState } from "../../../store/checks/checks.ts";
import { listPings as readPings } from "../../../store/history/pings.ts";
import type { CheckHandler, House } from "../exchange.ts";

/** The pings that the log keeps, newest first, no more than a list may have. */
export const listPings: CheckHandler = async ({ check, column }, house) => {
  const log = await logOf(check, house);
  const pings = await readPings(house.database, {
    checkId: check.id,
    afterN: forgottenThrough(log),
    limit: pingsListed(log.rowsMax),
  });
  const json = presentPings(pings, {
    fields: column.pingFields,
    durations: runDurations(pings),
    bodyUrl: (n) => bodyUrl(house.urls, { version: column.number, uuid: check.uuid, n }),
  });
  return { status: 200, json };
};

/** The bytes as they were sent. 404 when there are none, also for a ping that is only not trimmed yet. */
export const getPingBody: CheckHandler = async ({ check, n }, house) => {
  if (n === null || !isPingKept(n, await logOf(check, house))) {
    throw new AppError("not_found", ERROR_TEXT.notFound);
  }
  const read = await readBody(house.database, { objects: house.objects, checkId: check.id, n });
  switch (read.kind) {
    case "found":
      return { status: 200, content: read.body, type: "text/plain" };
    case "none":
      throw new AppError("not_found", ERROR_TEXT.notFound);
    case "unavailable":
      house.log.warn({ reason: read.reason }, "could not read a ping body");
      throw new AppError("unavailable", ERROR_TEXT.unavailable);
  }
};

async function logOf(check: CheckWithState, { database, pingLogLimit }: House) {
  const limits = await findLogLimits(database, [check.id]);
  return { pingCount: check.state.pingCount, rowsMax: limits.get(check.id) ?? pingLogLimit };
}
