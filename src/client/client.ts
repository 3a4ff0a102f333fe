// The published clients: OverdueClient for the Management API (version 3) and ping URLs, ApiClient for the Overdue API.
// They only need global fetch, and import no code of the server.
import type { BadgeUrls } from "../contract/badges.ts";
import type { ListedChannel } from "../contract/channels.ts";
import type { Check, CheckBody, ReadOnlyCheck } from "../contract/check.ts";
import type { FlipJson, FullPing } from "../contract/pings.ts";
import type { ApiEndpoint } from "../contract/versions.ts";

export {
  ApiClient,
  type ApiClientOptions,
  ApiResponseError,
  type InputOf,
  type OutputOf,
} from "./api-client.ts";

/** What a key may do; the answers depend on it. */
export type ClientKeyKind = "readWrite" | "readOnly";
export type ShownCheck<Kind extends ClientKeyKind> = Kind extends "readWrite" ? Check : ReadOnlyCheck;

export type ClientOptions = {
  /** The URL of the server, such as `https://overdue.example.org`. */
  siteUrl: string;
  apiKey?: string;
  /** The base URL of version 3, if it is not `/api/v3` on the site. */
  apiUrl?: string;
  /** The base URL of pings, if it is not `/ping` on the site. */
  pingUrl?: string;
  /** Time limit of a request. */
  timeoutMs?: number;
  fetch?: typeof globalThis.fetch;
};

/** Details of a ping. */
export type Signal = {
  /** Success by default. A number is an exit status. */
  action?: "start" | "fail" | "log" | number;
  /** The ID of its run. */
  rid?: string;
  body?: string | Uint8Array;
};

/** A check by its UUID, or by ping key and slug; the latter can create a missing check. */
export type PingTarget = string | { pingKey: string; slug: string; create?: boolean };

export type FlipFilter = { seconds?: number; start?: number; end?: number };

const TIMEOUT_MS = 10_000;
/** Maximum length of a response that is not JSON, such as one of a proxy, in an error. */
const ERROR_TEXT_LENGTH_MAX = 200;

/** A rejected or failed request, with the status and the server's error text. */
export class OverdueError extends Error {
  override readonly name = "OverdueError";
  readonly status: number;
  readonly text: string;

  constructor({ status, text }: { status: number; text: string }) {
    super(`${status} ${text}`);
    this.status = status;
    this.text = text;
  }
}

type Query = Readonly<Record<string, string | number | readonly string[] | undefined>>;
type Call = { method: "GET" | "POST" | "DELETE"; path: string; query?: Query; body?: unknown };

/** Every operation of version 3 must be present here. */
type Operations = Readonly<Record<ApiEndpoint, (...given: never[]) => Promise<unknown>>>;

/**
 * One method for each operation of version 3, by its operation ID, and `ping`. Error responses are thrown as
 * OverdueError; network errors are thrown as fetch throws them. Nothing is retried.
 */
export class OverdueClient<Kind extends ClientKeyKind = "readWrite"> implements Operations {
  readonly #api: string;
  readonly #ping: string;
  readonly #key: string | undefined;
  readonly #timeoutMs: number;
  readonly #fetch: typeof globalThis.fetch;

  constructor(options: ClientOptions) {
    const site = withoutSlash(options.siteUrl);
    this.#api = withoutSlash(options.apiUrl ?? `${site}/api/v3`);
    this.#ping = withoutSlash(options.pingUrl ?? `${site}/ping`);
    this.#key = options.apiKey;
    this.#timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
    this.#fetch = options.fetch ?? globalThis.fetch;
  }

  /** All checks, or those with a slug, or with all of the given tags. */
  async listChecks(filter: { slug?: string; tags?: readonly string[] } = {}): Promise<ShownCheck<Kind>[]> {
    const query = { slug: filter.slug, tag: filter.tags };
    const { checks } = await this.#json<{ checks: ShownCheck<Kind>[] }>({
      method: "GET",
      path: "/checks/",
      query,
    });
    return checks;
  }

  /** A check by its UUID or its unique key. */
  getCheck(id: string): Promise<ShownCheck<Kind>> {
    return this.#json({ method: "GET", path: `/checks/${segment(id)}` });
  }

  /** The check, and whether it was created; with `unique` an existing one may have been updated instead. */
  async createCheck(body: CheckBody): Promise<{ check: Check; isNew: boolean }> {
    const response = await this.#send({ method: "POST", path: "/checks/", body });
    return { check: (await response.json()) as Check, isNew: response.status === 201 };
  }

  /** Changes only the given fields. */
  updateCheck(uuid: string, body: Omit<CheckBody, "unique">): Promise<Check> {
    return this.#json({ method: "POST", path: `/checks/${segment(uuid)}`, body });
  }

  pauseCheck(uuid: string): Promise<Check> {
    return this.#json({ method: "POST", path: `/checks/${segment(uuid)}/pause`, body: {} });
  }

  resumeCheck(uuid: string): Promise<Check> {
    return this.#json({ method: "POST", path: `/checks/${segment(uuid)}/resume`, body: {} });
  }

  /** Deletes a check permanently; returns the check as it was. */
  deleteCheck(uuid: string): Promise<Check> {
    return this.#json({ method: "DELETE", path: `/checks/${segment(uuid)}` });
  }

  /** The logged pings of a check, newest first. */
  async listPings(uuid: string): Promise<FullPing[]> {
    const path = `/checks/${segment(uuid)}/pings/`;
    return (await this.#json<{ pings: FullPing[] }>({ method: "GET", path })).pings;
  }

  /** The logged body of a ping, byte for byte. */
  async getPingBody({ uuid, n }: { uuid: string; n: number }): Promise<Uint8Array> {
    const path = `/checks/${segment(uuid)}/pings/${n}/body`;
    const response = await this.#send({ method: "GET", path });
    return new Uint8Array(await response.arrayBuffer());
  }

  /** The flips of a check, newest first, in either dialect of the server. */
  async listFlips(id: string, filter: FlipFilter = {}): Promise<FlipJson[]> {
    const path = `/checks/${segment(id)}/flips/`;
    const answer = await this.#json<FlipJson[] | { flips: FlipJson[] }>({
      method: "GET",
      path,
      query: filter,
    });
    return "flips" in answer ? answer.flips : answer;
  }

  async listChannels(): Promise<ListedChannel[]> {
    return (await this.#json<{ channels: ListedChannel[] }>({ method: "GET", path: "/channels/" })).channels;
  }

  /** Badge URLs by tag; `*` means all checks. */
  async listBadges(): Promise<Record<string, BadgeUrls>> {
    return (await this.#json<{ badges: Record<string, BadgeUrls> }>({ method: "GET", path: "/badges/" }))
      .badges;
  }

  /** Resolves if the service is available. */
  async getStatus(): Promise<void> {
    const response = await this.#send({ method: "GET", path: "/status/" });
    await response.arrayBuffer();
  }

  /** Sends a ping; "created" if it created its check. */
  async ping(target: PingTarget, { action, rid, body }: Signal = {}): Promise<"recorded" | "created"> {
    const by = typeof target === "string" ? [target] : [target.pingKey, target.slug];
    const create = typeof target !== "string" && target.create === true ? 1 : undefined;
    const path = [...by, ...(action === undefined ? [] : [String(action)])].map(segment).join("/");
    const response = await this.#request(`${this.#ping}/${path}${queryText({ rid, create })}`, {
      method: "POST",
      ...(body !== undefined && { body: typeof body === "string" ? body : new Uint8Array(body) }),
    });
    await response.arrayBuffer();
    return response.status === 201 ? "created" : "recorded";
  }

  async #json<T>(call: Call): Promise<T> {
    const response = await this.#send(call);
    return (await response.json()) as T;
  }

  #send({ method, path, query = {}, body }: Call): Promise<Response> {
    const headers: Record<string, string> = {};
    if (this.#key !== undefined) headers["X-Api-Key"] = this.#key;
    if (body !== undefined) headers["Content-Type"] = "application/json";
    return this.#request(`${this.#api}${path}${queryText(query)}`, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  }

  async #request(url: string, init: RequestInit): Promise<Response> {
    const response = await this.#fetch(url, { ...init, signal: AbortSignal.timeout(this.#timeoutMs) });
    if (response.ok) return response;
    throw new OverdueError({ status: response.status, text: errorText(await response.text()) });
  }
}

function withoutSlash(url: string): string {
  return url.replace(/(?<!\/)\/+$/, "");
}

/** One segment of a path, with any characters in the UUID escaped. */
function segment(text: string): string {
  return encodeURIComponent(text);
}

function queryText(query: Query): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue;
    for (const one of typeof value === "object" ? value : [value]) parameters.append(name, String(one));
  }
  return parameters.size === 0 ? "" : `?${parameters.toString()}`;
}

/** The server's error text: JSON in the API, plain text from ping URLs and proxies. */
function errorText(body: string): string {
  try {
    const { error } = JSON.parse(body) as { error?: unknown };
    if (typeof error === "string") return error;
  } catch {
    // Not JSON: use the text itself.
  }
  return body.trim().slice(0, ERROR_TEXT_LENGTH_MAX);
}
