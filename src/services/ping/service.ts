// The ping service: a listener of its own with nothing but pings on it, as a part of a process that starts and
// stops. Where pings share a port with other services, src/roles.ts gives the handler to their listener.
import { type HttpListener, type HttpListenerOptions, httpListener } from "../../lib/http-listener.ts";
import { type PingCounts, type PingHandlerOptions, pingHandler } from "./handler.ts";

export type PingServiceOptions = PingHandlerOptions & Omit<HttpListenerOptions, "name" | "handlers">;

export type PingService = HttpListener & { pingCounts(): PingCounts };

/** Starts after the intake, and stops before it: what was taken is answered, then nothing new comes. */
export function pingService(options: PingServiceOptions): PingService {
  const handler = pingHandler(options);
  const listener = httpListener({ ...options, name: "ping", handlers: [handler] });
  return { ...listener, pingCounts: () => handler.counts() };
}
