// The public port of a process: one listener that its roles share. Roles are notified when the port opens and before it
// closes. While the database is unavailable, the port opens for the roles that do not need it; the others follow.
import type { IncomingMessage } from "node:http";
import type { Config } from "../config/config.ts";
import { SECOND_MS } from "../core/instant.ts";
import { SCHEME_LENGTH_MAX } from "../core/limits.ts";
import type { ListenAddress } from "../lib/address.ts";
import { clientAddressReader } from "../lib/http/client-address.ts";
import {
  type HttpHandler,
  type HttpListener,
  httpListener,
  type HttpListenerOptions,
  type RefusedConnection,
} from "../lib/http/listener.ts";
import { sendPlainResponse } from "../lib/http/response.ts";
import { type UnmatchedRequests, unmatchedRequests } from "../lib/http/unmatched-requests.ts";
import type { Log } from "../lib/log.ts";
import { addFigures, type Metrics } from "../lib/metrics.ts";
import type { Service } from "../lib/service.ts";

/** A role that is served on the public port, or opens and closes with it. */
export type ServerRole = {
  name: string;
  /** False: it starts, and keeps running, while the database is unavailable. */
  needsDatabase: boolean;
  /** Prepares the part; the port is not open yet. If it throws, it must have cleaned up. */
  open(): Promise<readonly HttpHandler[]>;
  /** The port is open. */
  opened?(): Promise<void>;
  /** A connection was rejected, or closed during a request, because there were too many. */
  connectionRefused?(refused: RefusedConnection): void;
  /** The port is about to close; running requests are still answered. */
  closing?(): void;
  /** No more requests. Called once, after `open`. */
  close(): Promise<void>;
  problem(): string | null;
  /** Its own listen address; it then needs no public port. */
  ownAddress?: () => ListenAddress | null;
};

export type PublicServer = Service & {
  /** The listen address with the actual port instead of 0; null before the start. */
  address(): ListenAddress | null;
  /** Null while it listens, otherwise the problem. */
  problem(): string | null;
  /** The parts that were not opened because the database was unavailable: to be started once it is available. */
  rest: Service;
};

export type PublicServerResources = {
  config: Config;
  log: Log;
  metrics: Metrics;
  /** False: the port opens without the parts that need the database. */
  isPrepared?: () => boolean;
  misses?: UnmatchedRequests;
};

/** Until the other roles are open, an unknown path cannot be answered with 404. */
const NOT_YET: HttpHandler = {
  handles: () => true,
  handle: (_request, response) => sendPlainResponse(response, UNAVAILABLE),
};
const UNAVAILABLE = 503;

/**
 * The port as a part of a process. A request goes to the first handler that accepts it, in the order of the parts.
 */
export function publicServer(parts: readonly ServerRole[], resources: PublicServerResources): PublicServer {
  const { isPrepared = () => true } = resources;
  let listener: HttpListener | null = null;
  let hasStarted = false;
  const openParts: ServerRole[] = [];
  const handlers: HttpHandler[] = [];
  addConnectionFigures(resources.metrics, () => listener);
  const open = (some: readonly ServerRole[]) => openInOrder(some, openParts);
  const closeParts = async () => {
    for (const part of openParts.splice(0).toReversed()) await part.close();
  };
  return {
    name: "site",
    start: async () => {
      const first = isPrepared() ? parts : parts.filter(({ needsDatabase }) => !needsDatabase);
      try {
        handlers.push(...(await open(first)), ...(first.length < parts.length ? [NOT_YET] : []));
        const onRefused = (refused: RefusedConnection) =>
          openParts.forEach((part) => part.connectionRefused?.(refused));
        if (parts.some(({ ownAddress }) => ownAddress === undefined)) {
          const page = await pageOf(parts, resources);
          const opening = makeListener({ handlers, onRefused, ...page }, resources);
          await opening.start();
          listener = opening;
        }
        hasStarted = true;
        for (const part of first) await part.opened?.();
      } catch (error) {
        await listener?.stop();
        await closeParts();
        throw error;
      }
    },
    rest: {
      name: "site, remaining handlers",
      start: async () => {
        const rest = parts.filter((part) => !openParts.includes(part));
        if (rest.length === 0) return;
        const brought = await open(rest);
        handlers.splice(handlers.indexOf(NOT_YET), 1, ...brought);
        for (const part of rest) await part.opened?.();
      },
      // They are closed with the port.
      stop: async () => {},
    },
    stop: async () => {
      for (const part of openParts) part.closing?.();
      try {
        await listener?.stop();
      } finally {
        await closeParts();
      }
    },
    address: () => listener?.address() ?? null,
    problem: () => (hasStarted ? (listener?.problem() ?? null) : "has not started"),
  };
}

/**
 * Opens the parts one after the other and records each open one, so that all of them are closed if a later one fails.
 */
async function openInOrder(parts: readonly ServerRole[], openParts: ServerRole[]): Promise<HttpHandler[]> {
  const brought: HttpHandler[] = [];
  for (const part of parts) {
    brought.push(...(await part.open()));
    openParts.push(part);
  }
  return brought;
}

/** With a dashboard, the 404 page links to it. */
async function pageOf(
  parts: readonly ServerRole[],
  { config }: PublicServerResources,
): Promise<Pick<HttpListenerOptions, "unmatchedPage">> {
  if (!parts.some(({ name }) => name === "web")) return {};
  const { nothingHere } = await import("../services/web/respond.ts");
  return { unmatchedPage: nothingHere({ name: config.siteName, url: config.siteUrl }) };
}

function makeListener(
  served: Pick<HttpListenerOptions, "handlers" | "onRefused" | "unmatchedPage">,
  { config, log, misses }: PublicServerResources,
): HttpListener {
  return httpListener({
    name: "site",
    ...served,
    ...(misses !== undefined && { onUnmatched: (request) => misses.note(request) }),
    listen: config.listen,
    reusePort: config.reusePort,
    connectionsMax: config.connectionsMax,
    requestTimeoutMs: config.requestTimeoutSeconds * SECOND_MS,
    trustedProxies: config.trustedProxies,
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
      help: "Rejected connections.",
      kind: "counter",
      read: () => listener()?.connectionCounts().refused ?? null,
    },
  ]);
}

/** Unmatched requests of the whole process. */
export function missesOf({ trustedProxies }: Config): UnmatchedRequests {
  const clientOf = clientAddressReader(trustedProxies, { schemeLengthMax: SCHEME_LENGTH_MAX });
  const remoteAddrOf = ({ socket, headers }: IncomingMessage) =>
    clientOf({
      peer: socket.remoteAddress,
      forwardedFor: headers["x-forwarded-for"],
      forwardedProto: headers["x-forwarded-proto"],
    }).remoteAddr;
  return unmatchedRequests({ remoteAddrOf });
}
