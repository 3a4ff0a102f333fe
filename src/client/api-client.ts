// The typed client of the Overdue API: one call for every operation, on global fetch and nothing else.
import { OPERATIONS } from "../contract/api/operations.ts";
import type { Problem } from "../contract/api/problem.ts";
import type { BodyOf, ParamsOf, QueryOf, ResponseOf, RouteDefinition } from "../contract/api/route.ts";
import type { ApiRoutes, OperationId } from "../contract/api/routes.ts";

type Params<D extends RouteDefinition> = { readonly [Name in ParamsOf<D["path"]>]: string | number };
type Body<D extends RouteDefinition> = BodyOf<D> extends undefined ? unknown : { readonly body: BodyOf<D> };

type IfMatch<D extends RouteDefinition> = D extends { etag: true; method: "PATCH" | "PUT" | "DELETE" }
  ? {
      /** The version that the change is based on. If there is a newer one, the request is rejected with 412. */
      readonly ifMatch?: number | undefined;
    }
  : unknown;

/** The parameters of the path by name, and `query`, `body`, and `ifMatch` if the operation has them. */
export type InputOf<Id extends OperationId> = Params<ApiRoutes[Id]> & {
  readonly query?: QueryOf<ApiRoutes[Id]>;
} & Body<ApiRoutes[Id]> &
  IfMatch<ApiRoutes[Id]>;
export type OutputOf<Id extends OperationId> = ResponseOf<ApiRoutes[Id]>;

export type ApiClientOptions = {
  /** The public URL of the server. */
  siteUrl: string;
  /** A personal access token, or the API key of a project. A browser uses its session instead. */
  token?: string;
  apiKey?: string;
  /** How long a request may take. */
  timeoutMs?: number;
  fetch?: typeof globalThis.fetch;
};

const TIMEOUT_MS = 40_000;

/** An error response. `problem` is null if the response is not from Overdue, such as one of a proxy. */
export class ApiResponseError extends Error {
  override readonly name = "ApiResponseError";
  readonly status: number;
  readonly problem: Problem | null;

  constructor(status: number, problem: Problem | null) {
    super(problem?.detail ?? `The server responded with status ${status}.`);
    this.status = status;
    this.problem = problem;
  }
}

export class ApiClient {
  readonly #base: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #timeoutMs: number;
  readonly #fetch: typeof globalThis.fetch;

  constructor({ siteUrl, token, apiKey, timeoutMs = TIMEOUT_MS, fetch }: ApiClientOptions) {
    this.#base = `${siteUrl.replace(/(?<!\/)\/+$/, "")}/api/overdue/v1`;
    this.#headers = {
      Accept: "application/json",
      ...(token !== undefined && { Authorization: `Bearer ${token}` }),
      ...(apiKey !== undefined && { "X-Api-Key": apiKey }),
    };
    this.#timeoutMs = timeoutMs;
    this.#fetch = fetch ?? ((...given) => globalThis.fetch(...given));
  }

  /** Sends a request and returns its JSON, or null. Throws ApiResponseError; network errors are thrown as they are. */
  async call<Id extends OperationId>(
    id: Id,
    input: InputOf<Id>,
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<OutputOf<Id>> {
    const [method = "GET"] = OPERATIONS[id].split(" ", 1);
    const { body, ifMatch } = input as { body?: unknown; ifMatch?: number };
    const limit = AbortSignal.timeout(this.#timeoutMs);
    const response = await this.#fetch(this.url(id, input), {
      method,
      headers: {
        ...this.#headers,
        ...(body !== undefined && { "Content-Type": "application/json" }),
        ...(ifMatch !== undefined && { "If-Match": `"${ifMatch}"` }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      credentials: "same-origin",
      signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
    });
    const json = readJson(await response.text());
    if (!response.ok) throw new ApiResponseError(response.status, json as Problem | null);
    return json as OutputOf<Id>;
  }

  /** The URL of a request, for what a browser loads on its own: downloads, images, event streams. */
  url<Id extends OperationId>(id: Id, input: Omit<InputOf<Id>, "body">): string {
    const { query = {}, ...params } = input as { query?: object } & Readonly<Record<string, unknown>>;
    const path = OPERATIONS[id]
      .slice(OPERATIONS[id].indexOf(" ") + 1)
      .replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(params[name])));
    return `${this.#base}${path}${queryText(query)}`;
  }
}

function readJson(text: string): unknown {
  try {
    return text === "" ? null : JSON.parse(text);
  } catch {
    return null;
  }
}

function queryText(query: object): string {
  const given = Object.entries(query).filter(
    ([, value]) => value !== undefined && value !== null && value !== "",
  );
  if (given.length === 0) return "";
  return `?${new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)])).toString()}`;
}
