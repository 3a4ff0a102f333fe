// The remains of a process that died in an outage: an intake that was not closed, and its batches in the spool.
// Created with the spool itself, so that any number of signals with any receive time can be left.
import { randomUUID } from "node:crypto";
import type { AcceptedSignal } from "../../../src/core/signal.ts";
import { openSpool } from "../../../src/intake/spool.ts";
import { registerIntake } from "../../../src/store/intakes.ts";
import { inTransaction } from "../../../src/store/transaction.ts";
import { userAgentOf } from "../signals/outgoing.ts";
import type { Stage } from "./stage.ts";

const BATCH_SIGNALS = 500;
const SPOOL_BYTES_MAX = 16 * 1024 ** 3;
const LEASE_MS = 600_000;

export type Left = { marker: string; checkId: number; uuid: string; at: number; body: Buffer | null };

/** Leaves the signals in a folder as if they had been acknowledged; returns the ID of the intake. */
export async function leaveOrphan(
  stage: Stage,
  { folder, left }: { folder: string; left: Iterable<Left> },
): Promise<string> {
  const intakeId = randomUUID();
  const spool = await openSpool({ folder, intakeId, bytesMax: SPOOL_BYTES_MAX, freeDiskBytesMin: 0 });
  let seq = 0;
  let oldestAt = Number.POSITIVE_INFINITY;
  let signals: AcceptedSignal[] = [];
  const append = async () => {
    if (signals.length === 0) return;
    seq += 1;
    await spool.append({ intakeId, lane: 0, seq, signals });
    signals = [];
  };
  for (const one of left) {
    oldestAt = Math.min(oldestAt, one.at);
    signals.push(signalOf(one));
    noteEntry(stage, one);
    if (signals.length === BATCH_SIGNALS) await append();
  }
  await append();
  await spool.close();
  const startedAt = oldestAt - 1_000;
  await inTransaction(stage.database, (tx) =>
    registerIntake(tx, {
      id: intakeId,
      name: "died",
      startedAt,
      watermarkAt: startedAt,
      leaseUntilAt: Date.now() + LEASE_MS,
      spoolEmpty: false,
    }),
  );
  return intakeId;
}

function signalOf({ marker, uuid, at, body }: Left): AcceptedSignal {
  return {
    target: { by: "uuid", uuid },
    source: { by: "http", action: "success", method: body === null ? "GET" : "POST" },
    rid: null,
    exitStatus: null,
    scheme: "http",
    remoteAddr: "127.0.0.1",
    ua: userAgentOf(marker),
    body,
    at,
  };
}

function noteEntry({ ledger }: Stage, { marker, checkId, at, body }: Left): void {
  ledger.note({ marker, checkId, kind: "s", rid: null, body, sentAt: at });
}
