// Spools for tests: opened with large limits, closed after the test, drained into a list.
import { onTestFinished } from "vitest";
import type { SpoolOptions } from "../../../src/intake/spool.ts";
import { openSpool, type Spool, type SpooledBatch } from "../../../src/intake/spool.ts";

export const MEGABYTE = 1024 * 1024;

/** Opens a spool that is closed after the test. */
export async function spoolIn(
  folder: string,
  intakeId: string,
  bounds: Partial<SpoolOptions> = {},
): Promise<Spool> {
  const spool = await openSpool({
    folder,
    intakeId,
    bytesMax: 100 * MEGABYTE,
    freeDiskBytesMin: 0,
    ...bounds,
  });
  onTestFinished(() => spool.close());
  return spool;
}

/** Everything in the spool, in order; the spool is empty afterwards. */
export async function drain(spool: Spool): Promise<SpooledBatch[]> {
  const batches: SpooledBatch[] = [];
  for (let batch = await spool.oldest(); batch !== null; batch = await spool.oldest()) {
    batches.push(batch);
    await spool.remove(batch);
  }
  return batches;
}

/** The numbers of a list of batches. */
export function numbersOf(batches: readonly { seq: number }[]): number[] {
  return batches.map(({ seq }) => seq);
}
