// Simulates the history of checks: their pings, in order, through the same operations that record real ones, with the
// sweeper and the notifier in between. The result is what a real server would have stored.
import { randomUUID } from "node:crypto";
import type { SendResult } from "../../src/core/delivery.ts";
import { type Instant, SECOND_MS } from "../../src/core/instant.ts";
import { PAID_PING_LOG_ROWS } from "../../src/core/limits.ts";
import type { AcceptedSignal } from "../../src/core/signal.ts";
import type { Ports } from "../../src/operations/deliveries.ts";
import { applyBatch, lockTargetsOf } from "../../src/operations/record-signals.ts";
import { deliverDue } from "../../src/operations/send-loop.ts";
import { sweepDeadlines } from "../../src/operations/sweep.ts";
import { type Database, statement } from "../../src/store/db.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import type { Job, PastRun } from "./jobs.ts";

const BATCH_MAX = 1_000;
/** From the deadline to the delivered message. */
const DELIVERY_MS = 2 * SECOND_MS;
const LOOSE_RULES = { ratePerMinute: 1_000_000 };
const LOG_LIMITS = { pingLogRows: PAID_PING_LOG_ROWS };

export type Interval = { from: Instant; to: Instant };

/** The pings of a run. */
export function signalsOf({ uuid, job, run }: { uuid: string; job: Job; run: PastRun }): AcceptedSignal[] {
  const rid = job.durationMs === null ? null : randomUUID();
  const signal = (action: "start" | "success" | "fail", at: Instant): AcceptedSignal => ({
    target: { by: "uuid", uuid },
    source: {
      by: "http",
      action,
      method: job.params.methods === "POST" || action !== "start" ? "POST" : "GET",
    },
    rid,
    exitStatus: null,
    scheme: "https",
    remoteAddr: "203.0.113.24",
    ua: job.ua ?? "curl/8.14.1",
    body: action === "start" || job.body === undefined ? null : Buffer.from(job.body(action === "success")),
    at,
  });
  const start = job.durationMs === null ? [] : [signal("start", run.at)];
  if (run.isRunning) return start;
  return [...start, signal(run.ok ? "success" : "fail", run.at + (run.durationMs ?? 0))];
}

/**
 * Applies all pings in order of time, those within `togetherMs` at once, and all resulting events and missed deadlines,
 * until `now`.
 */
export async function liveThrough(
  database: Database,
  past: { signals: readonly AcceptedSignal[]; blind: readonly Interval[]; togetherMs: number; now: Instant },
): Promise<void> {
  const { blind, now } = past;
  const signals = past.signals.filter(({ at }) => at < now).toSorted((a, b) => a.at - b.at);
  for (const batch of inBatches(signals, past.togetherMs)) {
    const first = batch[0]?.at ?? now;
    await sweepUntil(database, { until: first, blind });
    await inTransaction(database, async (tx) => {
      const targets = await lockTargetsOf(tx, batch);
      const visibility = { watermarkAt: first, blind };
      await applyBatch(tx, batch, {
        visibility,
        rules: LOOSE_RULES,
        replayed: false,
        ...LOG_LIMITS,
        targets,
      });
    });
    const last = batch.at(-1);
    if (last !== undefined && isFailure(last)) {
      await deliverDue(database, { now: last.at + DELIVERY_MS, ports: RECEIVERS });
    }
  }
  await sweepUntil(database, { until: now, blind });
  await deliverDue(database, { now, ports: RECEIVERS });
}

const NEXT_DEADLINE = statement<{ at: number | null }>({
  name: "seed.next_deadline",
  text: "select (extract(epoch from min(down_at)) * 1000)::float8 as at from check_states",
});

/** Fires each deadline when it was due, and delivers its messages immediately. */
async function sweepUntil(
  database: Database,
  { until, blind }: { until: Instant; blind: readonly Interval[] },
): Promise<void> {
  for (let last = 0; ; ) {
    const dueAt = (await database.query(NEXT_DEADLINE, [])).rows[0]?.at ?? null;
    if (dueAt === null || dueAt >= until || dueAt <= last) return;
    last = dueAt;
    const now = Math.min(dueAt + SECOND_MS, until);
    await sweepDeadlines(database, { now, visibility: { watermarkAt: now, blind } });
    await deliverDue(database, { now: now + DELIVERY_MS, ports: RECEIVERS });
  }
}

/** Pings within a few minutes form a batch; a failure ends a batch, so that it is delivered immediately. */
function inBatches(signals: readonly AcceptedSignal[], togetherMs: number): AcceptedSignal[][] {
  const batches: AcceptedSignal[][] = [];
  for (const signal of signals) {
    const batch = batches.at(-1);
    const first = batch?.[0];
    const last = batch?.at(-1);
    const hasFailed = last !== undefined && isFailure(last);
    const isOpen = first !== undefined && signal.at - first.at < togetherMs && !hasFailed;
    if (batch !== undefined && isOpen && batch.length < BATCH_MAX) batch.push(signal);
    else batches.push([signal]);
  }
  return batches;
}

function isFailure({ source }: AcceptedSignal): boolean {
  return source.by === "http" && source.action === "fail";
}

/** Receivers that accept nearly every message. */
const RECEIVERS: Ports = {
  isSubscribed: () => true,
  rateOf: () => null,
  send: async ({ kind }, _message, { attempt, now }): Promise<SendResult> => {
    const summary = kind === "email" ? "mail to ops@example.org" : `POST https://hooks.example.org/${kind}`;
    const isTaken = attempt > 1 || Math.floor(now / SECOND_MS) % 9 !== 0;
    if (isTaken)
      return { kind: "sent", summary, excerpt: kind === "email" ? "250 2.0.0 Ok: queued" : "ok", code: 200 };
    const reason = "The server answered 503 Service Unavailable";
    return {
      kind: "failed",
      summary,
      excerpt: "upstream is restarting",
      code: 503,
      permanent: false,
      retryAfterMs: null,
      reason,
    };
  },
};
