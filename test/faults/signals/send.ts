// Sends one signal and says what became of it. It never tries again: whether a signal was taken is what the run
// is about.
import { type Agent, request } from "node:http";
import { digestOf, type KindLetter, type Outgoing, userAgentOf } from "./outgoing.ts";

/** What is remembered of a signal, to be held against the log. */
export type Entry = {
  marker: string;
  checkId: number;
  kind: KindLetter;
  rid: string | null;
  /** Of the part of the body that is kept; null without a body. */
  digest: string | null;
  /** 0: no answer. */
  status: number;
  /** Why there was no answer. */
  trouble: string | null;
  /** When it was sent, on this machine's clock: once there was a connection. */
  sentAt: number;
  /** How long it took until the answer, or until the end without one. */
  ms: number;
  port: number;
};

/** Far beyond what the program promises, so that what is late is seen and counted, not cut off. */
const ANSWER_MS_MAX = 60_000;

/** Resolves when there is an answer, or when there will be none. */
export function send(signal: Outgoing, { port, agent }: { port: number; agent: Agent }): Promise<Entry> {
  const { marker, checkId, kind, rid, body, method, path } = signal;
  let sentAt = Date.now();
  let beganMs = performance.now();
  const digest = body === null || body.length === 0 ? null : digestOf(body);
  return new Promise((resolve) => {
    const settle = (status: number, trouble: string | null) =>
      resolve({
        marker,
        checkId,
        kind,
        rid,
        digest,
        status,
        trouble,
        sentAt,
        ms: Math.round(performance.now() - beganMs),
        port,
      });
    const headers: Record<string, string | number> = { "user-agent": userAgentOf(marker) };
    if (body !== null) headers["content-length"] = body.length;
    const asked = request({ host: "127.0.0.1", port, method, path, headers, agent, timeout: ANSWER_MS_MAX });
    // The clock runs from the request on. After a kill, the system may let a new connection wait for seconds
    // because the old one of the same two ports has not ended for it yet.
    asked.on("socket", (socket) => {
      if (!socket.connecting) return;
      socket.once("connect", () => {
        sentAt = Date.now();
        beganMs = performance.now();
      });
    });
    asked.on("response", (response) => {
      // The status line is the promise; whether the rest arrives changes nothing about it.
      settle(response.statusCode ?? 0, null);
      response.on("error", () => {});
      response.resume();
    });
    asked.on("timeout", () => asked.destroy(new Error("no answer")));
    asked.on("error", (error) => settle(0, "code" in error ? String(error.code) : error.message));
    asked.end(body ?? undefined);
  });
}

/** Whether the answer promises that the signal is recorded. */
export function isAcknowledged({ status }: Entry): boolean {
  return status === 200 || status === 201;
}
