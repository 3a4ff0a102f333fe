// The runs of a check: the log, packed runs, durations, one run, and the comparison of outputs.
import { printable } from "../../channels/message-text.ts";
import type {
  DiffLine,
  Durations,
  Flip,
  FlipDelivery,
  Run,
  RunBody,
  RunRow,
  RunsPage,
} from "../../contract/api/history.ts";
import { channelName } from "../../contract/api/words.ts";
import { AppError, ERROR_TEXT } from "../../core/errors.ts";
import { DAY_MS, type Instant } from "../../core/instant.ts";
import { DAYS_KEPT, keptFrom, pingsListed, trimmedThrough } from "../../core/retention.ts";
import { dayOf, isLateRun, runDurations, type Usual, usualOf } from "../../core/run.ts";
import { type MailBounds, readMail } from "../../lib/mail-reader.ts";
import { type ReadBody, readBody } from "../../operations/ping-bodies.ts";
import { type Channel, findChannelsByIds } from "../../store/channels.ts";
import { type CheckWithState, findLogLimits } from "../../store/checks.ts";
import type { Database } from "../../store/db.ts";
import { type Delivery, listDeliveriesOfFlip } from "../../store/deliveries.ts";
import { type CheckEvent, listEvents } from "../../store/events.ts";
import { listFlips, type StoredFlip } from "../../store/flips.ts";
import { listBodyStarts, listLoggedRuns, listPings, type Ping } from "../../store/pings.ts";
import { type EndedRun, listDays, listPackedRuns } from "../../store/runs.ts";
import { cursorText } from "./params.ts";
import type { ApiContext } from "./route.ts";

/** The sources of a check's history. */
export type HistoryContext = Pick<ApiContext, "database" | "pingLogLimit" | "objects">;

/** Bytes of a body that are shown in a line. */
const EXCERPT_BYTES = 150;

/** Anyone with the ping URL can make a check flip any number of times; no more than this many are read. */
export const FLIPS_READ_MAX = 10_000;

/** A ping with the duration of the run that it ended, if known. */
export type KeptPing = Ping;

/** The logged pings of a check, newest first. */
export async function readLog(
  { database, pingLogLimit }: HistoryContext,
  check: CheckWithState,
): Promise<KeptPing[]> {
  const limits = await findLogLimits(database, [check.id]);
  const rowsMax = limits.get(check.id) ?? pingLogLimit;
  const pings = await listPings(database, {
    checkId: check.id,
    afterN: trimmedThrough({ pingCount: check.state.pingCount, rowsMax }),
    limit: pingsListed(rowsMax),
  });
  const durations = runDurations(pings);
  return pings.map((ping) => ({ ...ping, durationMs: durations.get(ping.n) ?? null }));
}

/** The beginnings of some bodies, each as one line of text, by the number of the ping. */
export async function readExcerpts(
  { database }: HistoryContext,
  { checkId, pings }: { checkId: number; pings: readonly Ping[] },
): Promise<Map<number, string>> {
  const ns = pings.filter(({ bodySize }) => bodySize !== null).map(({ n }) => n);
  if (ns.length === 0) return new Map();
  const starts = await listBodyStarts(database, { checkId, ns, bytes: EXCERPT_BYTES });
  return new Map([...starts].map(([n, start]) => [n, lineOf(start)]));
}

function lineOf(bytes: Uint8Array): string {
  const text = new TextDecoder("utf-8").decode(bytes);
  return printable(text)
    .replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, " ")
    .trim();
}

// Runs in the log, and those that were packed when they left it.

/** How far back pages go. */
export const SHOWN_DAYS = 90;
/**
 * Replaying more would block other requests for a second. For a check that runs every minute: three and a half days.
 */
const RUNS_READ_MAX = 5_000;

/** The start of the shown past. */
export function shownFrom(now: Instant): Instant {
  return Math.max(now - SHOWN_DAYS * DAY_MS, keptFrom(DAYS_KEPT.run, now));
}

/** The newest runs since an instant, oldest first. */
export async function readPastRuns(
  { database }: HistoryContext,
  { check, from }: { check: CheckWithState; from: Instant },
): Promise<EndedRun[]> {
  const [packed, logged] = await Promise.all([
    listPackedRuns(database, { checkId: check.id, from, limit: RUNS_READ_MAX }),
    listLoggedRuns(database, { checkId: check.id, from }),
  ]);
  return [...packed, ...logged].toSorted((one, other) => one.endAt - other.endAt).slice(-RUNS_READ_MAX);
}

export function presentFlip({ id, at, from, to, reason, retractedAt }: StoredFlip): Flip {
  return { id, at, from, to, reason, retractedAt };
}

/** The deliveries of a flip of a project's check, in the order of their creation. */
export async function readDeliveries(
  database: Database,
  { flipId, projectId }: { flipId: number; projectId: number },
): Promise<FlipDelivery[]> {
  return presentDeliveries(database, { deliveries: await listDeliveriesOfFlip(database, flipId), projectId });
}

/** Deliveries about checks of a project, in the same order. */
export async function presentDeliveries(
  database: Database,
  { deliveries, projectId }: { deliveries: readonly Delivery[]; projectId: number },
): Promise<FlipDelivery[]> {
  if (deliveries.length === 0) return [];
  const ids = [...new Set(deliveries.map(({ channelId }) => channelId))];
  const channels = new Map((await findChannelsByIds(database, ids)).map((channel) => [channel.id, channel]));
  return deliveries.map((delivery) => {
    const channel = channels.get(delivery.channelId) ?? null;
    if (channel?.projectId === projectId) return presentFlipDelivery(delivery, channel);
    return presentUnnamedDelivery(delivery, { isInOtherProject: channel !== null });
  });
}

/**
 * A check that was moved keeps its history, without the names and responses of the channels of its former project. The
 * project of a deleted channel is unknown, so its responses are not shown either.
 */
function presentUnnamedDelivery(
  delivery: Delivery,
  { isInOtherProject }: Pick<FlipDelivery, "isInOtherProject">,
): FlipDelivery {
  return { ...presentFlipDelivery(delivery, null), responseCode: null, reason: null, isInOtherProject };
}

/** A delivery with its channel; null: it was deleted. */
export function presentFlipDelivery(
  delivery: Delivery,
  channel: (Pick<Channel, "uuid" | "kind" | "name"> & Partial<Pick<Channel, "config">>) | null,
): FlipDelivery {
  return {
    id: delivery.id,
    channel: channel && { id: channel.uuid, kind: channel.kind, name: channelName(channel) },
    isInOtherProject: false,
    state: delivery.state,
    createdAt: delivery.createdAt,
    attemptedAt: delivery.attemptedAt,
    settledAt: delivery.settledAt,
    attempts: delivery.attemptCount,
    nextAttemptAt: delivery.nextTryAt,
    responseCode: delivery.responseCode,
    reason: delivery.reason,
  };
}

// Compares two texts line by line by their longest common subsequence, in bounded time.

/** The table below has the square of this many cells. Lines beyond it are not compared. */
const DIFF_LINES_MAX = 1_000;

/** The lines of both texts, each with how it compares, and whether some were left out. */
export function diffLines({ before, after }: Record<"before" | "after", string>): {
  lines: DiffLine[];
  isTruncated: boolean;
} {
  const [oldLines, newLines] = [before.split(/\r?\n/), after.split(/\r?\n/)];
  const isTruncated = oldLines.length > DIFF_LINES_MAX || newLines.length > DIFF_LINES_MAX;
  return {
    lines: compare(oldLines.slice(0, DIFF_LINES_MAX), newLines.slice(0, DIFF_LINES_MAX)),
    isTruncated,
  };
}

function compare(oldLines: readonly string[], newLines: readonly string[]): DiffLine[] {
  const width = newLines.length + 1;
  const common = commonLengths(oldLines, newLines);
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < oldLines.length || j < newLines.length) {
    const [old = "", fresh = ""] = [oldLines[i], newLines[j]];
    if (i < oldLines.length && j < newLines.length && old === fresh) {
      lines.push({ mark: " ", text: fresh });
      i += 1;
      j += 1;
    } else if (
      j === newLines.length ||
      (i < oldLines.length && (common[(i + 1) * width + j] ?? 0) >= (common[i * width + j + 1] ?? 0))
    ) {
      lines.push({ mark: "-", text: old });
      i += 1;
    } else {
      lines.push({ mark: "+", text: fresh });
      j += 1;
    }
  }
  return lines;
}

/** For each pair of places how many lines the rests from there on have in common. */
function commonLengths(oldLines: readonly string[], newLines: readonly string[]): Uint16Array {
  const width = newLines.length + 1;
  const lengths = new Uint16Array((oldLines.length + 1) * width);
  for (let i = oldLines.length - 1; i >= 0; i -= 1) {
    for (let j = newLines.length - 1; j >= 0; j -= 1) {
      const same = oldLines[i] === newLines[j];
      const skipped = Math.max(lengths[(i + 1) * width + j] ?? 0, lengths[i * width + j + 1] ?? 0);
      lengths[i * width + j] = same ? (lengths[(i + 1) * width + j + 1] ?? 0) + 1 : skipped;
    }
  }
  return lengths;
}

/** The newest runs are drawn as points; more than the pixels of a screen would not help. */
const POINTS_MAX = 500;
/** The usual duration is computed from this many of the newest successes. */
const USUAL_RUNS_MAX = 100;

/** The newest runs as points, and the days before them as sums. */
export async function readDurations(
  context: HistoryContext,
  { check, now }: { check: CheckWithState; now: Instant },
): Promise<Durations> {
  const from = shownFrom(now);
  const [runs, days, log] = await Promise.all([
    readPastRuns(context, { check, from }),
    listDays(context.database, { checkId: check.id, fromDay: dayOf(from) }),
    readLog(context, check),
  ]);
  const numbers = new Map(log.map(({ at, n }) => [at, n]));
  const points = runs.flatMap(({ endAt, durationMs, outcome }) =>
    durationMs === null ? [] : [{ at: endAt, durationMs, outcome, n: numbers.get(endAt) ?? null }],
  );
  return {
    points: points.slice(-POINTS_MAX),
    days: days
      .filter(({ timedCount }) => timedCount > 0)
      .map(({ day, durationSumMs, timedCount, durationMaxMs }) => ({
        day,
        meanMs: Math.round(durationSumMs / timedCount),
        maxMs: durationMaxMs,
      })),
  };
}

/** The usual duration of a check, from its log. */
export function usualOfLog(log: readonly KeptPing[]): Usual | null {
  const durations = log
    .filter(({ kind }) => kind === "success")
    .flatMap(({ durationMs }) => (durationMs === null ? [] : [durationMs]));
  return usualOf(durations.slice(0, USUAL_RUNS_MAX));
}

// The table of runs: logged runs, the current run, and missed runs.

const RUNS_PER_PAGE = 50;
/** More monitoring gaps than this are not listed individually. */
const GAPS_READ_MAX = 200;

type Page = { before: number | null };

/** A page of runs, newest first: those before an instant, if one is given. */
export async function readRuns(
  context: HistoryContext,
  check: CheckWithState,
  { before }: Page,
): Promise<RunsPage> {
  const log = await readLog(context, check);
  const oldestAt = log.at(-1)?.at ?? check.createdAt;
  const range = { checkId: check.id, from: oldestAt, ...(before !== null && { before }) };
  const [flips, gaps] = await Promise.all([
    listFlips(context.database, { ...range, limit: FLIPS_READ_MAX }),
    listEvents(context.database, { ...range, kind: "not_observed", limit: GAPS_READ_MAX }),
  ]);
  const all = [...endedRuns(log, check), ...running(log, check), ...missing(flips), ...gaps.map(unmonitored)]
    .filter(({ at }) => at >= oldestAt && (before === null || at < before))
    .toSorted((one, other) => other.at - one.at);
  // Runs that ended at one instant are not split: the next page begins before it.
  const lastAt = all[RUNS_PER_PAGE - 1]?.at ?? oldestAt;
  const runs = all.filter(({ at }) => at >= lastAt);
  const shown = new Set(runs.map(({ n }) => n));
  const excerpts = await readExcerpts(context, {
    checkId: check.id,
    pings: log.filter(({ n }) => shown.has(n)),
  });
  return {
    runs: runs.map((run) => ({ ...run, excerpt: run.n === null ? null : (excerpts.get(run.n) ?? null) })),
    next: cursorText(all.length > runs.length ? (runs.at(-1)?.at ?? null) : null),
  };
}

function endedRuns(log: readonly KeptPing[], { settings }: CheckWithState): RunRow[] {
  const ends = log.filter(({ kind }) => kind === "success" || kind === "fail");
  return ends.map((end, index): RunRow => {
    const startAt = end.durationMs === null ? null : end.at - end.durationMs;
    const previousEndAt = ends[index + 1]?.at;
    return {
      n: end.n,
      outcome: end.kind === "fail" ? "fail" : "success",
      at: end.at,
      startAt,
      durationMs: end.durationMs,
      isLate: previousEndAt !== undefined && isLateRun(settings, { previousEndAt, startAt, endAt: end.at }),
      exitStatus: end.exitStatus,
      excerpt: null,
      bodySize: end.bodySize,
    };
  });
}

function running(log: readonly KeptPing[], { state }: CheckWithState): RunRow[] {
  const { lastStartAt, pingCount } = state;
  // The log was read after the state: a ping in between may have ended this run, which is then listed as ended.
  const isOver = log.some(({ n, kind }) => n > pingCount && (kind === "success" || kind === "fail"));
  if (lastStartAt === null || isOver) return [];
  const start = log.find(({ kind, at }) => kind === "start" && at === lastStartAt);
  return [{ ...NOTHING, n: start?.n ?? null, outcome: "running", at: lastStartAt, startAt: lastStartAt }];
}

function missing(flips: readonly StoredFlip[]): RunRow[] {
  return flips
    .filter(({ reason, retractedAt }) => reason === "timeout" && retractedAt === null)
    .map(({ at }) => ({ ...NOTHING, outcome: "missing", at }));
}

function unmonitored({ at }: CheckEvent): RunRow {
  return { ...NOTHING, outcome: "unmonitored", at };
}

const NOTHING = {
  n: null,
  startAt: null,
  durationMs: null,
  isLate: false,
  exitStatus: null,
  excerpt: null,
  bodySize: null,
} as const;

/** Characters of a body that are shown; the rest can only be downloaded. */
const SHOWN_TEXT_MAX = 200_000;
/** Anyone with the address of a check can send any email. A longer email is shown only as received. */
export const SHOWN_MAIL_BOUNDS: MailBounds = {
  bytesMax: 1024 * 1024,
  linesMax: 2_000,
  headerBytesMax: 32 * 1024,
  nestingMax: 20,
};

/** The signal with a number; throws "not found" if the log does not contain it. */
export async function readRun(
  context: HistoryContext,
  { check, n }: { check: CheckWithState; n: number },
): Promise<Run> {
  const log = await readLog(context, check);
  const index = log.findIndex((ping) => ping.n === n);
  const ping = log[index];
  if (ping === undefined) throw new AppError("not_found", ERROR_TEXT.notFound);
  const body = await shownBody(context, ping);
  const flips = await listFlips(context.database, { checkId: check.id, from: ping.at, before: ping.at + 1 });
  const flip = flips.find(({ reason }) => reason === ping.kind) ?? null;
  const { kind, at, durationMs, exitStatus, rid, scheme, method, remoteAddr, ua } = ping;
  return {
    n,
    kind,
    at,
    durationMs,
    exitStatus,
    rid,
    scheme,
    method,
    remoteAddr,
    ua,
    startAt: durationMs === null ? null : at - durationMs,
    body,
    diff: body === null ? null : await diffOf(context, { ping, body, older: log.slice(index + 1) }),
    flip: flip && presentFlip(flip),
    deliveries:
      flip === null
        ? []
        : await readDeliveries(context.database, { flipId: flip.id, projectId: check.projectId }),
    olderN: log[index + 1]?.n ?? null,
    newerN: log[index - 1]?.n ?? null,
  };
}

/** The bytes as they were sent, for a download; throws "not found" if there are none. */
export async function readRawBody(
  context: HistoryContext,
  { check, n }: { check: CheckWithState; n: number },
): Promise<Buffer> {
  const ping = (await readLog(context, check)).find((one) => one.n === n);
  const read: ReadBody = ping === undefined ? { kind: "none" } : await bytesOf(context, ping);
  if (read.kind === "found") return read.body;
  if (read.kind === "none") throw new AppError("not_found", ERROR_TEXT.notFound);
  throw new AppError("unavailable", ERROR_TEXT.unavailable);
}

function bytesOf({ database, objects }: HistoryContext, { checkId, n }: KeptPing): Promise<ReadBody> {
  return readBody(database, { objects, checkId, n });
}

async function shownBody(context: HistoryContext, ping: KeptPing): Promise<RunBody | null> {
  if (ping.bodySize === null) return null;
  const read = await bytesOf(context, ping);
  if (read.kind === "none") return null;
  const empty = { text: null, plain: null, size: ping.bodySize, isBinary: false, error: null, email: null };
  if (read.kind === "unavailable") return { ...empty, error: read.reason };
  const text = textOf(read.body);
  const email = ping.scheme === "email" ? await decodedEmail(read.body) : null;
  const shown = text?.slice(0, SHOWN_TEXT_MAX) ?? null;
  const plain = shown === null ? null : printable(shown);
  return { ...empty, text: shown, plain: plain === shown ? null : plain, isBinary: text === null, email };
}

/** Null: the bytes are not text. A character truncated at the end is ignored. */
function textOf(bytes: Uint8Array): string | null {
  if (bytes.includes(0)) return null;
  return new TextDecoder("utf-8").decode(bytes);
}

async function decodedEmail(bytes: Uint8Array): Promise<RunBody["email"]> {
  const mail = await readMail(bytes, SHOWN_MAIL_BOUNDS);
  if (mail === null) return null;
  return {
    subject: mail.subject ?? "",
    from: mail.from?.address ?? "",
    text: printable((mail.text ?? "").slice(0, SHOWN_TEXT_MAX)),
    html: mail.html?.slice(0, SHOWN_TEXT_MAX) ?? null,
  };
}

async function diffOf(
  context: HistoryContext,
  { ping, body, older }: { ping: KeptPing; body: RunBody; older: readonly KeptPing[] },
): Promise<Run["diff"]> {
  const success = older.find(({ kind, bodySize }) => kind === "success" && bodySize !== null);
  if (success === undefined || ping.kind === "start") return null;
  const against = await shownBody(context, success);
  const [before, after] = [shownText(against), shownText(body)];
  if (before === null || after === null) return null;
  return { againstN: success.n, againstAt: success.at, ...diffLines({ before, after }) };
}

/** The readable text of a body; null: none. */
function shownText(body: RunBody | null): string | null {
  return body?.email?.text ?? body?.plain ?? body?.text ?? null;
}
