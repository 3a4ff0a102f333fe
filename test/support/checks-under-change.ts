// Setup for tests that change checks: plain requests, channels, and an intake through which checks get signals.
import { randomUUID } from "node:crypto";
import type { Visibility } from "../../src/core/deadline.ts";
import type { Instant } from "../../src/core/instant.ts";
import type { AcceptedSignal, HttpAction } from "../../src/core/signal.ts";
import type { CreateRequest, Edit } from "../../src/operations/checks.ts";
import { type RecordResult, recordSignals } from "../../src/operations/record-signals.ts";
import { type Channel, insertChannel } from "../../src/store/channels.ts";
import type { Database } from "../../src/store/db.ts";
import { CommitInDoubtError, postgresErrorName } from "../../src/store/errors.ts";
import { registerIntake } from "../../src/store/intakes.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { MONDAY_NOON } from "./sample.ts";

/** The watermark is unknown: no deadline fires. */
export const UNSEEN: Visibility = { watermarkAt: null, blind: [] };

/** Everything received before an instant has been applied, without gaps. */
export function seenUntil(watermarkAt: Instant): Visibility {
  return { watermarkAt, blind: [] };
}

/** An edit that changes only the given fields. */
export function edit(given: Partial<Edit> = {}): Edit {
  return {
    params: {},
    channels: null,
    deriveSlug: false,
    accountId: null,
    at: MONDAY_NOON,
    visibility: UNSEEN,
    ...given,
  };
}

/** A plain create without a limit, except for the given fields. */
export function creation(projectId: number, given: Partial<CreateRequest> = {}): CreateRequest {
  // Only the slot of the new ids depends on it.
  const projectUuid = randomUUID();
  return { ...edit(), projectId, projectUuid, unique: [], checkLimitDefault: null, ...given };
}

/** A channel of a project; its kind and config do not matter here. */
export async function sampleChannel(
  db: Database,
  { projectId, name = "" }: { projectId: number; name?: string },
): Promise<Channel> {
  const channel = {
    uuid: randomUUID(),
    kind: "webhook",
    config: { token: "s3cret" },
    createdAt: MONDAY_NOON,
  };
  return inTransaction(db, (tx) => insertChannel(tx, { ...channel, projectId, name }));
}

export type Sent = {
  uuid: string;
  action?: HttpAction;
  method?: string;
  at?: Instant;
  body?: string | Uint8Array;
} & Partial<Pick<AcceptedSignal, "rid" | "scheme" | "remoteAddr" | "ua">>;

const RECORD_TRIES_MAX = 10;

type RecordBatch = (sent: readonly Sent[], how?: { replayed: boolean }) => Promise<RecordResult>;

/** A running intake: each call records one batch, as a ping process would. Without visibility unless given. */
export async function sampleIntake(
  db: Database,
  { visibility = UNSEEN }: { visibility?: Visibility } = {},
): Promise<RecordBatch> {
  const intakeId = randomUUID();
  const startedAt = MONDAY_NOON;
  const clocks = { startedAt, watermarkAt: startedAt, leaseUntilAt: startedAt };
  await inTransaction(db, (tx) =>
    registerIntake(tx, { id: intakeId, name: "test", ...clocks, spoolEmpty: true }),
  );
  const options = {
    visibility,
    rules: { ratePerMinute: 0 },
    pingLogRows: 10_000,
    encode: ({ ua }: AcceptedSignal) => Buffer.from(ua),
  };
  let seq = 0;
  return async (sent, { replayed } = { replayed: false }) => {
    seq += 1;
    const batch = { intakeId, lane: 0, seq, signals: sent.map(signalOf) };
    for (let tries = 1; ; tries++) {
      try {
        return await recordSignals(db, batch, { ...options, replayed });
      } catch (error) {
        // On a busy machine a check may stay locked for too long; the same batch is then recorded again.
        const isPassing =
          postgresErrorName(error) === "lock_not_available" || error instanceof CommitInDoubtError;
        if (!isPassing || tries === RECORD_TRIES_MAX) throw error;
      }
    }
  };
}

function signalOf(sent: Sent): AcceptedSignal {
  const { uuid, action = "success", method = "POST", at = MONDAY_NOON, body } = sent;
  return {
    target: { by: "uuid", uuid },
    source: { by: "http", action, method },
    rid: sent.rid ?? null,
    exitStatus: null,
    scheme: sent.scheme ?? "http",
    remoteAddr: sent.remoteAddr ?? null,
    ua: sent.ua ?? "",
    body: body === undefined ? null : Buffer.from(body),
    at,
  };
}
