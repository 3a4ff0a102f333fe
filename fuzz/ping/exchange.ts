// One connection: sends bytes, waits for the other side to close, and reads the response. It waits for a bounded time,
// and does not judge the result.
import { connect } from "node:net";
import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";
import type { Attempt } from "./malformed.ts";

export type Exchange =
  /** Statuses in order; none when the connection was closed without a response. */
  | { kind: "answered"; statuses: readonly number[] }
  /** We closed without waiting. */
  | { kind: "abandoned" }
  /** Not closed in time. */
  | { kind: "hung"; heard: string }
  | { kind: "unreachable"; reason: string };

/** The guarantee is two seconds after the last byte; a busy machine gets more. */
const CLOSED_WITHIN_MS = 15_000;
/** The pause before a deferred request is sent again. */
export const AGAIN_AFTER_MS = 1_000;
const RESPONSE_BYTES_MAX = 1_000_000;
const STATUS_LINE = /(?:^|[^\n]*?)HTTP\/1\.1 (\d{3}) /g;

/** Runs one attempt on its own connection. */
export async function exchange(
  port: number,
  { pieces, end }: Omit<Attempt, "fault">,
  { closedWithinMs = CLOSED_WITHIN_MS }: { closedWithinMs?: number } = {},
): Promise<Exchange> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true, allowHalfOpen: true });
  const { promise, resolve } = Promise.withResolvers<Exchange>();
  let received = "";
  let isConnected = false;
  socket.setEncoding("latin1");
  socket.on("connect", () => {
    isConnected = true;
  });
  socket.on("data", (text: string) => {
    if (received.length < RESPONSE_BYTES_MAX) received += text;
  });
  const timer = setTimeout(() => {
    resolve({ kind: "hung", heard: received.slice(0, 200) });
    socket.destroy();
  }, closedWithinMs);
  socket.on("error", (error) => {
    // A server that has responded may reset a connection whose bytes it does not read.
    if (!isConnected) resolve({ kind: "unreachable", reason: error.message });
    socket.destroy();
  });
  socket.on("end", () => socket.end());
  socket.on("close", () => resolve({ kind: "answered", statuses: statusesIn(received) }));
  for (const piece of pieces) {
    socket.write(piece);
    if (pieces.length > 1) await nextTurn();
  }
  if (end === "abandon") {
    await nextTurn();
    resolve({ kind: "abandoned" });
    socket.destroy();
  } else if (end === "finish") {
    socket.end();
  }
  const result = await promise;
  clearTimeout(timer);
  return result;
}

/** Repeats a deferred request, up to the limit. */
export async function exchangePatiently(
  port: number,
  attempt: Omit<Attempt, "fault">,
  options: { triesAgainMax: number; onPutOff?: () => void; closedWithinMs?: number },
): Promise<Exchange> {
  const { triesAgainMax, onPutOff = () => {}, closedWithinMs = CLOSED_WITHIN_MS } = options;
  for (let again = 0; ; again += 1) {
    const result = await exchange(port, attempt, { closedWithinMs });
    if (!isPutOff(result)) return result;
    onPutOff();
    if (again >= triesAgainMax) return result;
    await pause(AGAIN_AFTER_MS);
  }
}

/** Whether a server must never behave like this, whatever it was sent. */
export function isServersFault(result: Exchange): boolean {
  if (result.kind === "answered") return result.statuses.some((status) => status >= 500);
  return result.kind !== "abandoned";
}

/** Whether the server only asked to retry later. */
export function isPutOff(result: Exchange): boolean {
  if (result.kind !== "answered") return false;
  const faults = result.statuses.filter((status) => status >= 500);
  return faults.length > 0 && faults.every((status) => status === 503);
}

/** One word for the outcome; several responses on one connection are not distinguished. */
export function outcomeOf(result: Exchange): string {
  if (result.kind !== "answered") return result.kind;
  if (result.statuses.length === 0) return "closed";
  return result.statuses.length === 1 ? String(result.statuses[0]) : "several";
}

/** Our responses have a length and never contain a status line in their text. */
function statusesIn(text: string): number[] {
  return [...text.matchAll(STATUS_LINE)].map((match) => Number(match[1]));
}
