// Writes an answer piece by piece, as fast as the client reads and no faster.
import type { ServerResponse } from "node:http";
import { setImmediate as nextTurn } from "node:timers/promises";

/** A client that takes nothing for so long is disconnected: its answer holds memory. */
const STALLED_MS_MAX = 30_000;

/**
 * Writes all pieces and ends the response. Stops, and ends the source, when the client disconnects or stalls. Other
 * requests are served between two pieces. Rejects when the source fails; the response is then half sent.
 */
export async function writePieces(
  response: ServerResponse,
  pieces: AsyncIterable<string>,
  { stalledMsMax = STALLED_MS_MAX }: { stalledMsMax?: number } = {},
): Promise<void> {
  for await (const piece of pieces) {
    if (response.destroyed) return;
    if (response.write(piece)) await nextTurn();
    else await drained(response, stalledMsMax);
  }
  response.end();
}

/** Resolves when the client has taken what was written, or has gone. */
async function drained(response: ServerResponse, stalledMsMax: number): Promise<void> {
  if (response.destroyed) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(() => response.destroy(), stalledMsMax);
  response.on("drain", resolve).on("close", resolve);
  await promise;
  clearTimeout(timer);
  response.off("drain", resolve).off("close", resolve);
}
