// Runs as bytes: each its end, outcome and duration, in 3 to 10 bytes, so that a quarter of a year fits where
// the log keeps a day. Pure; it knows no SQL.
import type { Instant } from "../../core/instant.ts";

/** A run that has ended. Its start is its end less its duration, where that is known. */
export type EndedRun = { endAt: Instant; outcome: "success" | "fail"; durationMs: number | null };

const FAILED = 1;
const TIMED = 2;
const FLAG_COUNT = 4;

/**
 * Packs runs in their order. Each is a number made of the outcome, whether a duration follows, and the
 * distance to the end of the run before it (back and forth by turns); then the duration.
 */
export function packRuns(runs: readonly EndedRun[]): Buffer {
  const bytes: number[] = [];
  let before = 0;
  for (const { endAt, outcome, durationMs } of runs) {
    const distance = endAt - before;
    // Two runs may end in either order when one of them was replayed, so the sign is folded into the number.
    const folded = distance >= 0 ? distance * 2 : -distance * 2 - 1;
    const flags = (outcome === "fail" ? FAILED : 0) + (durationMs === null ? 0 : TIMED);
    writeNumber(bytes, folded * FLAG_COUNT + flags);
    if (durationMs !== null) writeNumber(bytes, durationMs);
    before = endAt;
  }
  return Buffer.from(bytes);
}

/** The runs that were packed, in the same order. Throws when the bytes are not what `packRuns` makes. */
export function unpackRuns(bytes: Uint8Array): EndedRun[] {
  const runs: EndedRun[] = [];
  const from = { offset: 0 };
  let before = 0;
  while (from.offset < bytes.length) {
    const number = readNumber(bytes, from);
    const flags = number % FLAG_COUNT;
    const folded = Math.floor(number / FLAG_COUNT);
    before += folded % 2 === 0 ? folded / 2 : -(folded + 1) / 2;
    runs.push({
      endAt: before,
      outcome: (flags & FAILED) === 0 ? "success" : "fail",
      durationMs: (flags & TIMED) === 0 ? null : readNumber(bytes, from),
    });
  }
  return runs;
}

/** Seven bits a byte, lowest first; the eighth says that more follow. By division: numbers exceed 32 bits. */
function writeNumber(bytes: number[], value: number): void {
  let rest = value;
  while (rest >= 128) {
    bytes.push((rest % 128) + 128);
    rest = Math.floor(rest / 128);
  }
  bytes.push(rest);
}

function readNumber(bytes: Uint8Array, from: { offset: number }): number {
  let value = 0;
  for (let factor = 1; ; factor *= 128) {
    const byte = bytes[from.offset++];
    if (byte === undefined) throw new Error("packed runs end in the middle of a number");
    value += (byte % 128) * factor;
    if (byte < 128) return value;
  }
}
