// A listener of its own with nothing but pings on it, for tests and benchmarks of ping URLs alone. In the product
// the handler shares a port with others: src/roles/public-server.ts.
import { type HttpListener, httpListener, type HttpListenerOptions } from "../../src/lib/http/listener.ts";
import { type PingCounts, pingHandler, type PingHandlerOptions } from "../../src/services/ping/handler.ts";

export type PingServiceOptions = PingHandlerOptions &
  Omit<HttpListenerOptions, "name" | "handlers" | "onRefused">;

export type PingService = HttpListener & { pingCounts(): PingCounts };

/** Starts after the intake, and stops before it: what was taken is answered, then nothing new comes. */
export function pingService(options: PingServiceOptions): PingService {
  const handler = pingHandler(options);
  const listener = httpListener({
    ...options,
    name: "ping",
    handlers: [handler],
    onRefused: (refused) => handler.refused(refused),
  });
  return { ...listener, pingCounts: () => handler.counts() };
}
