// The Management API endpoints for pings, ping bodies and flips.
import { type FlipJson, presentFlip, presentPings } from "../../contract/pings.ts";
import { bodyUrl } from "../../contract/urls.ts";
import { readFlipFilter } from "../../core/check.ts";
import { AppError, ERROR_TEXT } from "../../core/errors.ts";
import { isPingKept, pingsListed, trimmedThrough } from "../../core/retention.ts";
import { runDurations } from "../../core/run.ts";
import { readBody } from "../../operations/ping-bodies.ts";
import { findLogLimits, type ShownCheck } from "../../store/checks.ts";
import { listFlips as readFlips } from "../../store/flips.ts";
import { listPings as readPings } from "../../store/pings.ts";
import type { ApiContext, CheckExchange, CheckHandler } from "./exchange.ts";

/** The logged pings, newest first, at most as many as a list may have. */
export const listPings: CheckHandler = async ({ check, column }, context) => {
  const log = await logOf(check, context);
  const pings = await readPings(context.database, {
    checkId: check.id,
    afterN: trimmedThrough(log),
    limit: pingsListed(log.rowsMax),
  });
  const json = presentPings(pings, {
    fields: column.pingFields,
    durations: runDurations(pings),
    bodyUrl: (n) => bodyUrl(context.urls, { version: column.number, uuid: check.uuid, n }),
  });
  return { status: 200, json };
};

/** The bytes as they were sent. 404 if there are none, also for a ping past the limit that is not deleted yet. */
export const getPingBody: CheckHandler = async ({ check, n }, context) => {
  if (n === null || !isPingKept(n, await logOf(check, context))) {
    throw new AppError("not_found", ERROR_TEXT.notFound);
  }
  const read = await readBody(context.database, { objects: context.objects, checkId: check.id, n });
  switch (read.kind) {
    case "found":
      return { status: 200, content: read.body, type: "text/plain" };
    case "none":
      throw new AppError("not_found", ERROR_TEXT.notFound);
    case "unavailable":
      context.log.warn({ reason: read.reason }, "could not read a ping body");
      throw new AppError("unavailable", ERROR_TEXT.unavailable);
  }
};

async function logOf(check: ShownCheck, { database, pingLogLimit }: ApiContext) {
  const limits = await findLogLimits(database, [check.id]);
  return { pingCount: check.state.pingCount, rowsMax: limits.get(check.id) ?? pingLogLimit };
}

/** Flips that are read and rendered at once; a flapping check has hundreds of thousands. */
const PAGE_FLIPS_MAX = 1_000;

/** All flips that match the filters, newest first. */
export const listFlips: CheckHandler = async (exchange, context) => {
  const filter = readFlipFilter(exchange.query, exchange.now);
  if (!filter.ok) throw new AppError("invalid", filter.text);
  return { status: 200, pieces: flipPieces(exchange, context, filter.value) };
};

type Range = { fromAt: number | null; beforeAt: number | null };

async function* flipPieces(
  { check, column }: CheckExchange,
  { database }: ApiContext,
  { fromAt, beforeAt }: Range,
): AsyncGenerator<string> {
  const [begin, end] = column.flips === "array" ? ["[", "]"] : ['{"flips":[', "]}"];
  const range = {
    checkId: check.id,
    ...(fromAt !== null && { from: fromAt }),
    ...(beforeAt !== null && { before: beforeAt }),
    limit: PAGE_FLIPS_MAX,
  };
  let text = begin;
  let after: { at: number; id: number } | undefined;
  let isFirst = true;
  for (;;) {
    const flips = await readFlips(database, { ...range, ...(after !== undefined && { after }) });
    // A corrected flip is left out: the ping was received in time.
    const listed = flips.filter(({ retractedAt }) => retractedAt === null).map(presentFlip);
    if (listed.length > 0) {
      text += (isFirst ? "" : ",") + listed.map((flip: FlipJson) => JSON.stringify(flip)).join(",");
      isFirst = false;
    }
    after = flips.at(-1);
    if (flips.length < PAGE_FLIPS_MAX) break;
    yield text;
    text = "";
  }
  yield text + end;
}
