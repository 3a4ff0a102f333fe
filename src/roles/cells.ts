// Forwards a request once to the cell of its id, if the id is not in this one: the router may have an older map.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Config } from "../config/config.ts";
import {
  type Cell,
  type CellView,
  idInApi,
  idInPage,
  idInPing,
  otherCellOf,
  type RequestId,
} from "../core/cells.ts";
import { MINUTE_MS, SECOND_MS } from "../core/instant.ts";
import { PING_ANSWER_MS_MAX, PING_READ_BYTES_MAX } from "../core/limits.ts";
import type { Secrets } from "../core/secrets.ts";
import { networkReader, peerAddress, trustedPeers } from "../lib/http/client-address.ts";
import { type Forwarder, forwarder, type ForwardResult } from "../lib/http/forward.ts";
import type { HttpHandler } from "../lib/http/listener.ts";
import { sitePath } from "../lib/http/request-target.ts";
import { SAFETY_HEADERS } from "../lib/http/response.ts";
import { limitedWarning, type Log } from "../lib/log.ts";
import { addFigures, type Metrics } from "../lib/metrics.ts";
import { findOwnIds } from "../operations/cells.ts";
import { secretsOf } from "../operations/secrets.ts";
import { pingLocator } from "../services/ping/ping-url.ts";
import type { Database } from "../store/db.ts";
import type { RoleName } from "./names.ts";
import { publishedAddresses } from "./ping.ts";
import type { ServerRole } from "./public-server.ts";

export type CellResources = {
  config: Config;
  cells: CellView;
  database: Database;
  log: Log;
  metrics: Metrics;
};

/** Marks a forwarded request with the name of the cell that forwarded it. Such a request is not forwarded again. */
const MARK = "overdue-forwarded-by";
/** Forwarded requests of one target that are being answered; further ones get 503. */
const FORWARDS_AT_ONCE_MAX = 500;
/** Of these, from one network: senders that are slow on purpose must not use up all of them. */
const FORWARDS_PER_NETWORK_MAX = 100;
/** A ping is answered in time even if the other cell does not answer. */
const PING_TIMEOUT_MS = PING_ANSWER_MS_MAX - 500;
/** Below the time in which the listener expects a response to begin. */
const API_TIMEOUT_MS = 30 * SECOND_MS;
const RETRY_AFTER_SECONDS = 5;
/** What signs in to this cell is not for others. A request that needs it is not forwarded. */
const CREDENTIALS = ["authorization", "cookie"];

type Kind = "ping" | "api" | "page";
type Found = RequestId & { kind: Kind };
type FindId = (request: IncomingMessage) => Found | null;

/** A part of the public port, before the roles that serve requests. */
export function cellPart(roles: readonly RoleName[], resources: CellResources): ServerRole {
  const passing = forwarder();
  const counts: Record<string, number> = {};
  addFigures(resources.metrics, [
    {
      name: "overdue_forwarded_total",
      help: "Requests for other cells by result.",
      kind: "counter",
      label: "result",
      readEach: () => ({ ...counts }),
    },
  ]);
  return {
    name: "cells",
    needsDatabase: false,
    open: async () => [
      cellHandler(resources, { findId: await idFinder(roles, resources.config), passing, counts }),
    ],
    close: async () => passing.close(),
    problem: () => null,
  };
}

/** Finds the ids of requests to these roles. Code of other roles is not loaded. */
async function idFinder(roles: readonly RoleName[], config: Config): Promise<FindId> {
  const finders: FindId[] = [];
  if (roles.includes("ping")) {
    const locate = pingLocator(publishedAddresses(config));
    finders.push((request) => {
      const rest = locate(request.url ?? "", request.headers.host);
      const id = rest === null ? null : idInPing(rest, request);
      return id && { ...id, kind: "ping" };
    });
  }
  if (roles.includes("api")) {
    const { apiLocator } = await import("../services/management/server.ts");
    const siteUrl = new URL(config.siteUrl);
    const locate = apiLocator({ siteUrl, apiUrl: config.apiUrl === null ? null : new URL(config.apiUrl) });
    const pathOf = sitePath(siteUrl);
    finders.push((request) => {
      const { headers, method, url = "" } = request;
      const given = headers["x-api-key"];
      const apiKey = typeof given === "string" ? given : undefined;
      const path = locate(url, headers.host);
      if (path === null) {
        const id = idInPage(pathOf(url), { apiKey });
        return id && { ...id, kind: "page" };
      }
      const isPersonal = (headers.authorization ?? headers.cookie) !== undefined;
      const id = idInApi(path, { method, apiKey, isPersonal });
      return id && { ...id, kind: "api" };
    });
  }
  return (request) => {
    for (const find of finders) {
      const found = find(request);
      if (found !== null) return found;
    }
    return null;
  };
}

type Handling = {
  findId: FindId;
  passing: Forwarder;
  /** Requests by result. */
  counts: Record<string, number>;
};

function cellHandler(resources: CellResources, { findId, passing, counts }: Handling): HttpHandler {
  const { cells, config, database, log } = resources;
  const lookups = new OwnIds(database, config);
  const targets = new Map(cells.cells.list.map((cell) => [cell.name, new Target(cell)]));
  const isTrusted = trustedPeers(config.trustedProxies);
  const networkOf = networkReader(config.trustedProxies);
  const warn = limitedWarning(log, () => performance.now());
  /** Requests for ids of other cells that are in this one. */
  const own = new WeakSet<IncomingMessage>();
  const serve = async (
    { request, response, found, cell }: Forwarding,
    again: NonNullable<Parameters<HttpHandler["handle"]>[2]>,
  ) => {
    const isOwn = await lookups.has(found);
    if (response.destroyed) return;
    // The spool may take a ping while the database does not answer; nothing else can be served then.
    if (isOwn === true || (isOwn === "unsure" && found.kind === "ping")) {
      own.add(request);
      return again(request, response);
    }
    const target = targets.get(cell.name) ?? new Target(cell);
    const headers = forwardedHeaders(request, { isTrusted, by: cells.cell.name });
    const forwardedFor = request.headers["x-forwarded-for"];
    const network = networkOf({ peer: request.socket.remoteAddress, forwardedFor });
    const result =
      isOwn === false ? await target.forward(passing, { request, response, found, headers, network }) : isOwn;
    counts[result] = (counts[result] ?? 0) + 1;
    const { name: to } = cell;
    if (result === "forwarded")
      return warn({ to }, "forwarded a request to another cell; update the maps of the router");
    warn({ to, result }, "a request for another cell was rejected");
    reject(response, { result, cell, kind: found.kind });
  };
  return {
    handles: (request) => {
      const found = findId(request);
      if (found === null || otherCellOf(cells, found.id) === null) return false;
      return request.headers[MARK] === undefined && !own.has(request) && !lookups.isKnown(found.id);
    },
    handle: (request, response, again) => {
      const found = findId(request);
      const cell = found === null ? null : otherCellOf(cells, found.id);
      if (found === null || cell === null || again === undefined)
        throw new Error("not a request of another cell");
      serve({ request, response, found, cell }, again).catch((error: unknown) => {
        log.error({ err: error }, "a request could not be forwarded");
        reject(response, { result: "answer", cell, kind: found.kind });
      });
    },
  };
}

type Forwarding = { request: IncomingMessage; response: ServerResponse; found: Found; cell: Cell };

/** The client is named as a proxy does it, so that the other cell applies its limits to the same address. */
function forwardedHeaders(
  { headers, socket }: IncomingMessage,
  { isTrusted, by }: { isTrusted: (peer: string) => boolean; by: string },
): Record<string, string> {
  const peer = peerAddress(socket.remoteAddress ?? "");
  const before = isTrusted(peer) ? headers : {};
  const clients = [before["x-forwarded-for"] ?? []].flat();
  return {
    [MARK]: by,
    "x-forwarded-for": [...clients, peer].join(", "),
    "x-forwarded-proto": String(before["x-forwarded-proto"] ?? "http"),
  };
}

type PassedOn = Omit<Forwarding, "cell"> & { headers: Record<string, string>; network: string };

/** Another cell, as the target of forwarded requests. */
class Target {
  readonly #cell: Cell;
  /** The URL in use; the next one after a request failed. */
  #at = 0;
  #running = 0;
  readonly #byNetwork = new Map<string, number>();

  constructor(cell: Cell) {
    this.#cell = cell;
  }

  async forward(passing: Forwarder, passed: PassedOn): Promise<ForwardResult | "busy"> {
    const { request, response, found, headers, network } = passed;
    const ofNetwork = this.#byNetwork.get(network) ?? 0;
    if (this.#running >= FORWARDS_AT_ONCE_MAX || ofNetwork >= FORWARDS_PER_NETWORK_MAX) return "busy";
    this.#count(network, 1);
    response.once("close", () => this.#count(network, -1));
    const endsAt = performance.now() + (found.kind === "ping" ? PING_TIMEOUT_MS : API_TIMEOUT_MS);
    const { urls } = this.#cell;
    for (let at = this.#at, left = urls.length; ; at += 1, left -= 1) {
      const timeoutMs = Math.max(1, endsAt - performance.now());
      const result = await passing.forward(request, response, {
        url: urls[at % urls.length] ?? "",
        headers,
        without: CREDENTIALS,
        connectTimeoutMs: timeoutMs / left,
        timeoutMs,
        bodyBytesMax: PING_READ_BYTES_MAX,
      });
      const isOver = response.destroyed || response.headersSent;
      // Of requests that fail at the same time, one moves on.
      if ((result === "connect" || (result === "answer" && !isOver)) && this.#at === at) this.#at += 1;
      if (result !== "connect" || left <= 1 || response.destroyed || performance.now() >= endsAt)
        return result;
    }
  }

  #count(network: string, change: 1 | -1): void {
    this.#running += change;
    const count = (this.#byNetwork.get(network) ?? 0) + change;
    if (count > 0) this.#byNetwork.set(network, count);
    else this.#byNetwork.delete(network);
  }
}

const REJECTIONS: Readonly<Record<string, { status: number; text: (name: string) => string }>> = {
  connect: { status: 503, text: (name) => `Cell "${name}" cannot be reached. Try again later.` },
  answer: { status: 503, text: (name) => `Cell "${name}" did not answer. Try again later.` },
  busy: { status: 503, text: (name) => `Too many requests for cell "${name}". Try again later.` },
  unsure: { status: 503, text: () => "The database is not available. Try again later." },
  tooLarge: { status: 413, text: () => "The request body is too large." },
};

function reject(
  response: ServerResponse,
  { result, cell, kind }: { result: string; cell: Cell; kind: Kind },
): void {
  // The listener has answered because of its time limits.
  if (response.writableEnded || response.destroyed) return;
  if (response.headersSent) return void response.destroy();
  const { status = 503, text = () => "" } = REJECTIONS[result] ?? {};
  const said = text(cell.name);
  const body = kind === "api" ? JSON.stringify({ error: said }) : said;
  response.writeHead(status, {
    "Content-Type": kind === "api" ? "application/json" : "text/plain; charset=utf-8",
    "Content-Length": String(Buffer.byteLength(body)),
    "Cache-Control": "no-store",
    "Retry-After": String(RETRY_AFTER_SECONDS),
    "Access-Control-Allow-Origin": "*",
    ...SAFETY_HEADERS,
  });
  response.end(body);
  // What remains of the body is not needed; the listener limits how long it may take.
  response.req.resume();
}

// Ids of other cells' slots that are in this database: those of projects from before there were cells, and imported ones.

/** 10 MB at most. */
const KNOWN_IDS_MAX = 100_000;
/** A check that was deleted here and created in its cell is found there after this time. */
const KNOWN_MS_MAX = 10 * MINUTE_MS;
const LOOKUPS_WAITING_MAX = 10_000;
const LOOKUPS_AT_ONCE_MAX = 500;
/** If the database does not answer in this time, it is not known whether an id is our own. */
const LOOKUP_MS_MAX = 500;

type IsOwn = boolean | "unsure";
type Waiting = RequestId & { resolve: (isOwn: IsOwn) => void };

class OwnIds {
  readonly #database: Database;
  readonly #settings: Config;
  /** When each id was found; the oldest first. */
  readonly #known = new Map<string, number>();
  /** Running and waiting lookups by id: requests for one id stay in order. */
  readonly #lookups = new Map<string, Promise<IsOwn>>();
  /** Those that no statement looks for yet, by id. */
  readonly #waiting = new Map<string, Waiting>();
  #isSending = false;
  #secrets: Promise<Secrets> | null = null;

  constructor(database: Database, settings: Config) {
    this.#database = database;
    this.#settings = settings;
  }

  /** Whether an id was found lately. */
  isKnown(id: string): boolean {
    const at = this.#known.get(id);
    return at !== undefined && performance.now() - at < KNOWN_MS_MAX;
  }

  /** Whether an id is in this database. */
  has({ by, id }: RequestId): Promise<IsOwn | "busy"> {
    const running = this.#lookups.get(id);
    if (running !== undefined) return running;
    if (this.#waiting.size >= LOOKUPS_WAITING_MAX) return Promise.resolve("busy");
    const { promise, resolve } = Promise.withResolvers<IsOwn>();
    const timer = setTimeout(() => resolve("unsure"), LOOKUP_MS_MAX);
    const lookup = promise.finally(() => {
      clearTimeout(timer);
      this.#lookups.delete(id);
      this.#waiting.delete(id);
    });
    this.#lookups.set(id, lookup);
    this.#waiting.set(id, { by, id, resolve });
    if (!this.#isSending) void this.#send();
    return lookup;
  }

  /** One statement at a time; what arrives in the meantime shares the next one. */
  async #send(): Promise<void> {
    this.#isSending = true;
    // Requests of the same turn share the first one, too.
    await Promise.resolve();
    while (this.#waiting.size > 0) {
      const some = [...this.#waiting.values()].slice(0, LOOKUPS_AT_ONCE_MAX);
      for (const { id } of some) this.#waiting.delete(id);
      await this.#lookUp(some);
    }
    this.#isSending = false;
  }

  async #lookUp(some: readonly Waiting[]): Promise<void> {
    try {
      const found = await findOwnIds(this.#database, { ids: some, secrets: () => this.#readSecrets() });
      for (const { id, resolve } of some) {
        if (found.has(id)) this.#remember(id);
        resolve(found.has(id));
      }
    } catch {
      for (const { resolve } of some) resolve("unsure");
    }
  }

  #remember(id: string): void {
    this.#known.delete(id);
    this.#known.set(id, performance.now());
    if (this.#known.size <= KNOWN_IDS_MAX) return;
    const { value: oldest } = this.#known.keys().next();
    if (oldest !== undefined) this.#known.delete(oldest);
  }

  async #readSecrets(): Promise<Secrets> {
    this.#secrets ??= secretsOf(this.#database, this.#settings);
    try {
      return await this.#secrets;
    } catch (error) {
      this.#secrets = null;
      throw error;
    }
  }
}
