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
  /** The address of the installation, such as `https://overdue.example.org`. */
  siteUrl: string;
  apiKey?: string;
  /** Where version 3 begins, if that is not `/api/v3` on the site. */
  apiUrl?: string;
  /** What stands in front of the UUID in ping URLs, if that is not `/ping` on the site. */
  pingUrl?: string;
  /** How long a request may take. */
  timeoutMs?: number;
  fetch?: typeof globalThis.fetch;
};

/** What a signal says besides that it came. */
export type Signal = {
  /** A success when nothing is said. A number is an exit status. */
  action?: "start" | "fail" | "log" | number;
  /** The run that it belongs to. */
  rid?: string;
  body?: string | Uint8Array;
};

/** A check by its UUID, or by ping key and slug; the latter can make the check that is missing. */
export type PingTarget = string | { pingKey: string; slug: string; create?: boolean };

export type FlipFilter = { seconds?: number; start?: number; end?: number };

const TIMEOUT_MS = 10_000;
/** Of an answer that is no JSON, such as one of a proxy, an error repeats no more than this. */
const ERROR_TEXT_LENGTH_MAX = 200;

/** A request that was refused, or that the server could not answer: the status and the server's own words. */
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

/** Nothing that version 3 can do may be missing here. */
type Operations = Readonly<Record<ApiEndpoint, (...given: never[]) => Promise<unknown>>>;

/**
 * One method for each operation of version 3, by its operation id, and `ping`. A refusal is thrown as OverdueError;
 * what keeps a request from being answered at all is thrown as fetch throws it. Nothing is tried twice.
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

  /** All checks, or those with a slug, or with all of some tags. */
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

  /** The check, and whether it was made; with `unique` an existing one may have been updated instead. */
  async createCheck(body: CheckBody): Promise<{ check: Check; isNew: boolean }> {
    const response = await this.#send({ method: "POST", path: "/checks/", body });
    return { check: (await response.json()) as Check, isNew: response.status === 201 };
  }

  /** Changes what is given, and nothing else. */
  updateCheck(uuid: string, body: Omit<CheckBody, "unique">): Promise<Check> {
    return this.#json({ method: "POST", path: `/checks/${segment(uuid)}`, body });
  }

  pauseCheck(uuid: string): Promise<Check> {
    return this.#json({ method: "POST", path: `/checks/${segment(uuid)}/pause`, body: {} });
  }

  resumeCheck(uuid: string): Promise<Check> {
    return this.#json({ method: "POST", path: `/checks/${segment(uuid)}/resume`, body: {} });
  }

  /** Deletes a check for good; the answer is the check as it was. */
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

  /** The changes of a check to up and to down, newest first, in either dialect of the server. */
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

  /** Badge addresses by tag; `*` stands for all checks. */
  async listBadges(): Promise<Record<string, BadgeUrls>> {
    return (await this.#json<{ badges: Record<string, BadgeUrls> }>({ method: "GET", path: "/badges/" }))
      .badges;
  }

  /** Resolves when the service is well. */
  async getStatus(): Promise<void> {
    const response = await this.#send({ method: "GET", path: "/status/" });
    await response.arrayBuffer();
  }

  /** Sends a signal; "created" when it made its check. */
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

/** One segment of a path, whatever characters somebody passes as a UUID. */
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

/** The server's own words: the API says them in JSON, ping URLs and proxies plainly. */
function errorText(body: string): string {
  try {
    const { error } = JSON.parse(body) as { error?: unknown };
    if (typeof error === "string") return error;
  } catch {
    // It is no JSON: the text itself is all there is.
  }
  return body.trim().slice(0, ERROR_TEXT_LENGTH_MAX);
}
