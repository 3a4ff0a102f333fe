// Signals and batches for the tests of the intake, and for the processes that they start.
import type { AcceptedSignal, Batch } from "../../../src/core/signal.ts";

export const T0 = Date.UTC(2026, 9, 1);

/** A plain success by UUID; `number` makes it unique. */
export function signalOf(number: number, changes: Partial<AcceptedSignal> = {}): AcceptedSignal {
  return {
    target: { by: "uuid", uuid: `00000000-0000-4000-8000-${String(number).padStart(12, "0")}` },
    source: { by: "http", action: "success", method: "POST" },
    rid: null,
    exitStatus: null,
    scheme: "https",
    remoteAddr: "192.0.2.7",
    ua: "curl/8.5.0",
    body: null,
    at: T0 + number,
    ...changes,
  };
}

/** A batch whose content can be derived from its number. */
export function batchOf(options: {
  intakeId: string;
  seq: number;
  signalCount?: number;
  bodyBytes?: number;
}): Batch {
  const { intakeId, seq, signalCount = 3, bodyBytes = 20 } = options;
  const signals = Array.from({ length: signalCount }, (_, index) =>
    signalOf(seq * 1_000 + index, { body: new Uint8Array(bodyBytes).fill(seq + index) }),
  );
  return { intakeId, lane: 0, seq, signals };
}
