// Latency of pings that are sent at a steady rate, whether or not earlier ones have been answered. The time counts from
// when each was due, so that a pause of the server affects all pings in it.
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { once } from "node:events";
import { quantile } from "../store/figures.ts";

export type SteadyLoad = {
  port: number;
  uuidsPath: string;
  bodyBytes: number;
  perSecond: number;
  seconds: number;
};

export type Latency = { count: number; p50Ms: number; p99Ms: number; p999Ms: number; maxMs: number };

const UUID_LENGTH = 36;
const LINE_LENGTH = UUID_LENGTH + 1;
/** More than are ever needed at once, so that a busy one is never waited for. */
const CONNECTIONS_MAX = 1_000;
const CONNECTIONS_AT_FIRST = 64;
/** For responses that are still missing after the last request. */
const DRAIN_MS = 60_000;
const CHECK_MS = 1;
const OK = "HTTP/1.1 200 OK\r\n";
const ANSWER_END = "OK";

type Sender = { socket: Socket; dueMs: number; heard: string };

/** Sends at the rate and waits for all responses. Throws if one is missing or not 200. */
export async function measureLatency(load: SteadyLoad): Promise<Latency> {
  const { port, perSecond, seconds } = load;
  const draw = requestDrawer(load);
  const idle: Sender[] = [];
  const open: Sender[] = [];
  const took: number[] = [];
  let failure: Error | null = null;
  const fail = (why: string) => (failure ??= new Error(`steady load: ${why}`));
  const addSender = async () => {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true });
    const sender: Sender = { socket, dueMs: 0, heard: "" };
    open.push(sender);
    socket.setEncoding("latin1");
    socket.on("error", (error) => fail(String(error)));
    socket.on("data", (text: string) => {
      sender.heard += text;
      // Only the text of the response ends in this.
      if (!sender.heard.endsWith(ANSWER_END)) return;
      if (!sender.heard.startsWith(OK)) fail(`answered ${sender.heard.slice(0, 40)}`);
      took.push(performance.now() - sender.dueMs);
      sender.heard = "";
      idle.push(sender);
    });
    await once(socket, "connect");
    idle.push(sender);
  };
  await Promise.all(Array.from({ length: CONNECTIONS_AT_FIRST }, addSender));
  const count = perSecond * seconds;
  const begin = performance.now();
  const dueAt = (number: number) => begin + (number * 1_000) / perSecond;
  let sent = 0;
  try {
    while (took.length < count) {
      if (failure !== null) throw failure;
      const now = performance.now();
      while (sent < count && dueAt(sent) <= now) {
        const sender = idle.pop();
        if (sender === undefined) break;
        sender.dueMs = dueAt(sent);
        sender.socket.write(draw(), "latin1");
        sent += 1;
      }
      if (idle.length === 0 && open.length < CONNECTIONS_MAX) await addSender();
      if (now > dueAt(count) + DRAIN_MS) throw new Error(`${count - took.length} answers did not come`);
      await new Promise((resolve) => setTimeout(resolve, CHECK_MS));
    }
  } finally {
    for (const { socket } of open) socket.destroy();
  }
  return {
    count,
    p50Ms: quantile(took, 0.5),
    p99Ms: quantile(took, 0.99),
    p999Ms: quantile(took, 0.999),
    maxMs: Math.max(...took),
  };
}

function requestDrawer({ uuidsPath, bodyBytes }: SteadyLoad): () => string {
  const uuids = readFileSync(uuidsPath, "latin1");
  const checkCount = uuids.length / LINE_LENGTH;
  const head = `${bodyBytes === 0 ? "GET" : "POST"} /ping/`;
  const length = bodyBytes === 0 ? "" : `Content-Length: ${bodyBytes}\r\n`;
  const tail = ` HTTP/1.1\r\nHost: localhost\r\nUser-Agent: curl/8.5.0\r\n${length}\r\n${"x".repeat(bodyBytes)}`;
  return () => {
    const at = Math.floor(Math.random() * checkCount) * LINE_LENGTH;
    return head + uuids.slice(at, at + UUID_LENGTH) + tail;
  };
}
