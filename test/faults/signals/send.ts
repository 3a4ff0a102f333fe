// Sends one signal and returns its result. It never retries: whether a signal was accepted is what the run tests.
import { type Agent, request } from "node:http";
import { digestOf, type KindLetter, type Outgoing, userAgentOf } from "./outgoing.ts";

/** What is recorded about a signal, to be compared with the log. */
export type Entry = {
  marker: string;
  checkId: number;
  kind: KindLetter;
  rid: string | null;
  /** Of the stored part of the body; null without a body. */
  digest: string | null;
  /** 0: no response. */
  status: number;
  /** Why there was no response. */
  trouble: string | null;
  /** When it was sent, on this machine's clock: once there was a connection. */
  sentAt: number;
  /** Time until the response, or until the end without one. */
  ms: number;
  port: number;
};

/** Far beyond the guaranteed time, so that late responses are seen and counted. */
const ANSWER_MS_MAX = 60_000;

/** Resolves when there is a response, or when there will be none. */
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
    // The time is measured from the request on. After a kill, the system may delay a new connection for seconds
    // because the old one with the same ports has not ended yet.
    asked.on("socket", (socket) => {
      if (!socket.connecting) return;
      socket.once("connect", () => {
        sentAt = Date.now();
        beganMs = performance.now();
      });
    });
    asked.on("response", (response) => {
      // The status line is the acknowledgment; whether the rest arrives does not matter.
      settle(response.statusCode ?? 0, null);
      response.on("error", () => {});
      response.resume();
    });
    asked.on("timeout", () => asked.destroy(new Error("no response")));
    asked.on("error", (error) => settle(0, "code" in error ? String(error.code) : error.message));
    asked.end(body ?? undefined);
  });
}

/** Whether the response acknowledges the signal. */
export function isAcknowledged({ status }: Entry): boolean {
  return status === 200 || status === 201;
}
