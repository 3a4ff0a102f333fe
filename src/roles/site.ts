// The public port of a process: one listener that its roles share. Each role brings handlers, and is told when
// the port is open and when it is about to close, because what it promises to the outside depends on that.
import { SECOND_MS } from "../core/instant.ts";
import type { Config } from "../config.ts";
import type { ListenAddress } from "../lib/address.ts";
import { type HttpHandler, type HttpListener, httpListener } from "../lib/http/listener.ts";
import type { Log } from "../lib/log.ts";
import { addFigures, type Metrics } from "../lib/metrics.ts";
import type { Service } from "../lib/service.ts";

/** A role that is served on the public port. */
export type SitePart = {
  name: string;
  /** False: its work goes on while the database is away. */
  needsDatabase: boolean;
  /** Makes it ready to answer; the port is not open yet. When it throws, it must have cleaned up after itself. */
  open(): Promise<readonly HttpHandler[]>;
  /** The port is open. */
  opened?(): Promise<void>;
  /** The port closes now; what has begun is still answered. */
  closing?(): void;
  /** Nobody asks any more. Called once, after `open`. */
  close(): Promise<void>;
  trouble(): string | null;
};

export type Site = Service & {
  /** Where it listens, the real port instead of 0; null before it has started. */
  address(): ListenAddress | null;
  /** Null while it listens, otherwise what is the matter. */
  trouble(): string | null;
};

export type SiteResources = { config: Config; log: Log; metrics: Metrics };

/** The port as a part of a process. A request goes to the first handler that wants it, in the order of the parts. */
export function siteService(parts: readonly SitePart[], resources: SiteResources): Site {
  let listener: HttpListener | null = null;
  const openParts: SitePart[] = [];
  addConnectionFigures(resources.metrics, () => listener);
  const closeParts = async () => {
    for (const part of openParts.splice(0).toReversed()) await part.close();
  };
  return {
    name: "site",
    start: async () => {
      const handlers: HttpHandler[] = [];
      try {
        for (const part of parts) {
          handlers.push(...(await part.open()));
          openParts.push(part);
        }
        const opening = makeListener(handlers, resources);
        await opening.start();
        listener = opening;
        for (const part of parts) await part.opened?.();
      } catch (error) {
        await listener?.stop();
        await closeParts();
        throw error;
      }
    },
    stop: async () => {
      for (const part of parts) part.closing?.();
      try {
        await listener?.stop();
      } finally {
        await closeParts();
      }
    },
    address: () => listener?.address() ?? null,
    trouble: () => (listener === null ? "has not started" : listener.trouble()),
  };
}

function makeListener(handlers: readonly HttpHandler[], { config, log }: SiteResources): HttpListener {
  return httpListener({
    name: "site",
    handlers,
    listen: config.listen,
    reusePort: config.reusePort,
    connectionsMax: config.connectionsMax,
    requestTimeoutMs: config.requestTimeoutSeconds * SECOND_MS,
    log,
  });
}

function addConnectionFigures(metrics: Metrics, listener: () => HttpListener | null): void {
  addFigures(metrics, [
    {
      name: "overdue_connections",
      help: "Open connections to the public port.",
      kind: "gauge",
      read: () => listener()?.connectionCounts().open ?? null,
    },
    {
      name: "overdue_connections_refused_total",
      help: "Connections turned away.",
      kind: "counter",
      read: () => listener()?.connectionCounts().refused ?? null,
    },
  ]);
}
