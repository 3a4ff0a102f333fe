// Recording without HTTP, in its own process: the same batches as an intake under load sends, one after the other, each
// as soon as the one before is on disk.
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { FREE_PING_LOG_ROWS } from "../../src/core/limits.ts";
import type { AcceptedSignal } from "../../src/core/signal.ts";
import { recordSignals } from "../../src/operations/record-signals.ts";
import { openDatabase } from "../../src/store/db.ts";
import { closeIntake, registerIntake } from "../../src/store/intakes.ts";
import { inTransaction } from "../../src/store/transaction.ts";

/** The configuration of the process, its only argument, as JSON. */
export type RecordingOrder = {
  url: string;
  uuidsPath: string;
  bodyBytes: number;
  batchSize: number;
  warmUpSeconds: number;
  seconds: number;
};

const UUID_LENGTH = 36;
const LINE_LENGTH = UUID_LENGTH + 1;
const LETTER_A = "a".charCodeAt(0);
const LETTERS = 26;

const order = JSON.parse(process.argv[2] ?? "") as RecordingOrder;
const uuids = readFileSync(order.uuidsPath, "latin1");
const checkCount = uuids.length / LINE_LENGTH;
const body =
  order.bodyBytes === 0
    ? null
    : Uint8Array.from({ length: order.bodyBytes }, () => LETTER_A + Math.floor(Math.random() * LETTERS));

function drawSignal(): AcceptedSignal {
  const at = Math.floor(Math.random() * checkCount) * LINE_LENGTH;
  return {
    target: { by: "uuid", uuid: uuids.slice(at, at + UUID_LENGTH) },
    source: { by: "http", action: "success", method: body === null ? "GET" : "POST" },
    rid: null,
    exitStatus: null,
    scheme: "http",
    remoteAddr: "127.0.0.1",
    ua: "curl/8.5.0",
    body,
    at: Date.now(),
  };
}

const database = openDatabase({ url: order.url, applicationName: "overdue-bench", onError: () => {} });
const intakeId = randomUUID();
const now = Date.now();
const intake = { id: intakeId, name: "bench", startedAt: now, watermarkAt: now, leaseUntilAt: now };
await inTransaction(database, (tx) => registerIntake(tx, { ...intake, spoolEmpty: true }));
let seq = 0;

/** Records for this long; returns the number of pings, and the actual duration. */
async function record(seconds: number): Promise<{ signals: number; elapsedMs: number }> {
  const begin = performance.now();
  let batches = 0;
  while (performance.now() < begin + seconds * 1_000) {
    seq += 1;
    batches += 1;
    const signals = Array.from({ length: order.batchSize }, drawSignal);
    const result = await recordSignals(
      database,
      { intakeId, lane: 0, seq, signals },
      {
        visibility: { watermarkAt: Date.now(), blind: [] },
        rules: { ratePerMinute: 0 },
        replayed: false,
        pingLogRows: FREE_PING_LOG_ROWS,
        encode: () => Buffer.alloc(0),
      },
    );
    if (typeof result === "string" || result.some((one) => one !== "recorded")) {
      throw new Error(`batch ${seq} was not recorded whole`);
    }
  }
  return { signals: batches * order.batchSize, elapsedMs: performance.now() - begin };
}

await record(order.warmUpSeconds);
const recorded = await record(order.seconds);
await inTransaction(database, (tx) => closeIntake(tx, { intakeId, at: Date.now(), lost: false }));
await database.close();
console.log(JSON.stringify(recorded));
