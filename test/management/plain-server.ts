// Handlers that need no framework, on a real listener of their own: for tests that choose the time at which they
// are asked. How the program joins them is tested with the whole server.
import { afterAll } from "vitest";
import { type HttpHandler, type HttpListener, httpListener } from "../../src/lib/http/listener.ts";
import { createLog } from "../../src/lib/log.ts";

const running = new Set<HttpListener>();

/** Starts to serve; returns the address. The end of the file ends it. */
export async function servePlainly(handler: HttpHandler): Promise<string> {
  const listener = httpListener({
    name: "test",
    listen: { host: "127.0.0.1", port: 0 },
    handlers: [handler],
    connectionsMax: 100,
    requestTimeoutMs: 10_000,
    stopGraceMs: 500,
    log: createLog({ level: "fatal" }),
  });
  await listener.start();
  running.add(listener);
  return `http://127.0.0.1:${listener.address()?.port}`;
}

/** Call at the top of a test file that serves. */
export function stopServingAtEnd(): void {
  afterAll(async () => {
    await Promise.all([...running].map((listener) => listener.stop()));
    running.clear();
  });
}
