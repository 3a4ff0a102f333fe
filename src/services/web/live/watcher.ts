// One browser at the end of a stream of server-sent events: what is written to it, when it is given up, and that it
// hears something every few seconds even when nothing happens.
import type { ServerResponse } from "node:http";
import { HERE_EVENT } from "../../../contract/web/live.ts";
import { SAFETY_HEADERS } from "../../../lib/http/answer.ts";

/** A proxy closes connections on which nothing is heard for a minute or so; a browser gives them up after 45 s. */
const HERE_EVERY_MS = 5_000;
/** An event and no comment: scripts do not hear comments. Without data it would be none. */
const HERE = `event: ${HERE_EVENT}\ndata: {}\n\n`;
/** Whoever has left so much unread does not read any more. */
const UNREAD_BYTES_MAX = 4 * 1024 * 1024;
/** How long a browser waits before it comes back. */
const RETRY_MS = 2_000;

const HEADERS = {
  "Content-Type": "text/event-stream; charset=utf-8",
  "Cache-Control": "no-store, no-transform",
  // nginx would collect what is meant to be seen at once.
  "X-Accel-Buffering": "no",
};

export type Watcher = {
  projectId: number;
  accountId: number;
  sessionId: number;
  /** Finished text of events. What is sent before `begin` waits for it. */
  send(text: string): void;
  /** Sends this first, and then what has come meanwhile. */
  begin(text: string): void;
  /** Tells the browser goodbye: it comes back by itself, to whoever is there then. */
  end(): void;
};

export type WatcherOptions = {
  projectId: number;
  accountId: number;
  sessionId: number;
  /** The other side has gone, or was given up. Called once. */
  onClose: () => void;
};

/** Opens the stream on an answer that has not begun. */
export function openWatcher(response: ServerResponse, options: WatcherOptions): Watcher {
  const { projectId, accountId, sessionId, onClose } = options;
  let waiting: string[] | null = [];
  response.writeHead(200, { ...HEADERS, ...SAFETY_HEADERS });
  const write = (text: string) => {
    if (response.destroyed || response.writableEnded) return;
    response.write(text);
    if (response.writableLength > UNREAD_BYTES_MAX) response.destroy();
  };
  write(`retry: ${RETRY_MS}\n\n`);
  const timer = setInterval(() => write(HERE), HERE_EVERY_MS).unref();
  response.on("close", () => {
    clearInterval(timer);
    socket?.off("end", gone);
    onClose();
  });
  // The listener lets senders close their half and still answers them; nobody who does that reads a stream.
  const gone = () => response.destroy();
  const { socket } = response;
  // It may have done so while the request was looked up; the caller notes the stream first.
  if (socket?.readableEnded === true) setImmediate(gone);
  else socket?.once("end", gone);
  // Without a listener a broken connection would end the process.
  response.on("error", () => response.destroy());
  return {
    projectId,
    accountId,
    sessionId,
    send: (text) => {
      if (waiting === null) write(text);
      else waiting.push(text);
    },
    begin: (text) => {
      const before = waiting ?? [];
      waiting = null;
      write(text + before.join(""));
    },
    end: () => void response.end(),
  };
}
