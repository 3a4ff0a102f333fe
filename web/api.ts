// Requests to the server: `call` for the Overdue API, `get` and `send` for what needs a browser. A failed request throws
// an ApiError whose message can be shown as it is.
import { QueryClient } from "@tanstack/react-query";
import type { EditConflict, WebError } from "../src/contract/api/boot.ts";
import type { Problem, REAUTH_PROBLEM as ReauthProblem } from "../src/contract/api/problem.ts";
import type { OperationId } from "../src/contract/api/routes.ts";
import { ApiClient, ApiResponseError, type InputOf, type OutputOf } from "../src/client/api-client.ts";
import { boot, siteUrl } from "./boot.ts";
import { words } from "./words/shared.ts";

/** Longer than the server waits for its database (30 s), so that the server's own message is shown. */
const ANSWER_MS_MAX = 40_000;

const UNAUTHENTICATED = 401;
const FORBIDDEN = 403;
const NOT_FOUND = 404;
const CONFLICT = 409;
const TOO_MANY = 429;

/** The same as in src/contract/api/problem.ts, which would load the schemas. */
const REAUTH_PROBLEM: typeof ReauthProblem = "urn:overdue:problem:reauthentication-required";

const apiClient = new ApiClient({ siteUrl: siteUrl("/"), timeoutMs: ANSWER_MS_MAX });

type Method = "GET" | "POST" | "PATCH" | "PUT" | "DELETE";

/** Why a request failed. `message` can be shown to the user; `status` 0 means that there was no response. */
export class ApiError extends Error {
  readonly status: number;
  readonly field: string | null;
  /** The user has to re-authenticate; the same request works afterwards. */
  readonly needsProof: boolean;
  /** What another user has changed since. */
  readonly conflict: EditConflict | null;

  constructor(status: number, body: Partial<WebError>) {
    super(body.error ?? sentenceFor(status));
    this.name = "Trouble";
    this.status = status;
    this.field = body.field ?? null;
    this.needsProof = body.reauth === true;
    this.conflict = body.conflict ?? null;
  }
}

/** The message of anything that was thrown. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : words.errors.unknown;
}

/** Whether the resource does not exist, or the user has no access to it. */
export function isNotFound(error: unknown): boolean {
  return error instanceof ApiError && error.status === NOT_FOUND;
}

/** Calls an operation of the Overdue API: `call("getProject", { project })`. */
export async function call<Id extends OperationId>(
  id: Id,
  input: InputOf<Id>,
  signal?: AbortSignal,
): Promise<OutputOf<Id>> {
  try {
    return await apiClient.call(id, input, { signal });
  } catch (error) {
    if (signal?.aborted === true) throw error;
    if (!(error instanceof ApiResponseError)) throw new ApiError(0, {});
    const { status, problem } = error;
    if (status === UNAUTHENTICATED && boot.account !== null) leaveForSignIn();
    const trouble = new ApiError(status, problem === null ? {} : webErrorOf(problem));
    if (trouble.needsProof) leaveForReauthentication();
    throw trouble;
  }
}

function webErrorOf({ type, detail, field, conflict }: Problem): WebError {
  return {
    error: detail,
    ...(field !== undefined && { field }),
    ...(type === REAUTH_PROBLEM && { reauth: true }),
    ...(conflict !== undefined && { conflict }),
  };
}

/** The URL of what the browser loads on its own, such as a download. */
export function operationUrl<Id extends OperationId>(id: Id, input: Omit<InputOf<Id>, "body">): string {
  return apiClient.url(id, input);
}

/** Reads what only browsers use: `get("/account")`. `path` is relative to /web. */
export function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return ask<T>("GET", path, undefined, signal);
}

/** Sends a change. `path` is relative to /web. */
export function send<T = null>(method: Exclude<Method, "GET">, path: string, body?: unknown): Promise<T> {
  return ask<T>(method, path, body);
}

async function ask<T>(method: Method, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const limit = AbortSignal.timeout(ANSWER_MS_MAX);
  let response: Response;
  let text: string;
  try {
    response = await fetch(siteUrl(`/web${path}`), {
      method,
      headers: {
        accept: "application/json",
        ...(body !== undefined && { "content-type": "application/json" }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      credentials: "same-origin",
      signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
    });
    // An incomplete response counts as none.
    text = await response.text();
  } catch (error) {
    if (signal?.aborted === true) throw error;
    throw new ApiError(0, {});
  }
  if (response.status === UNAUTHENTICATED && boot.account !== null) leaveForSignIn();
  const answer = readJson(text);
  if (response.ok) return answer as T;
  const trouble = new ApiError(response.status, answer ?? {});
  if (trouble.needsProof) leaveForReauthentication();
  throw trouble;
}

function readJson(text: string): unknown {
  try {
    return text === "" ? null : JSON.parse(text);
  } catch {
    // A proxy's page instead of our answer.
    return null;
  }
}

/** The current path without the base path; the server adds the base path again. */
function thisPage(): string {
  const { pathname, search } = location;
  const { base } = boot.site;
  return `${pathname.startsWith(`${base}/`) ? pathname.slice(base.length) : pathname}${search}`;
}

/** The session has ended: sign in, and return to this page. */
function leaveForSignIn(): void {
  location.assign(siteUrl(`/accounts/login/?next=${encodeURIComponent(thisPage())}`));
}

/** The request requires re-authentication: go there, and return to this page. */
export function leaveForReauthentication(): void {
  location.assign(siteUrl(`/accounts/confirm/?next=${encodeURIComponent(thisPage())}`));
}

function sentenceFor(status: number): string {
  switch (status) {
    case 0:
      return words.errors.offline;
    case UNAUTHENTICATED:
      return words.errors.signedOut;
    case FORBIDDEN:
      return words.errors.forbidden;
    case NOT_FOUND:
      return words.errors.notFound;
    case CONFLICT:
      return words.errors.conflict;
    case TOO_MANY:
      return words.errors.tooMany;
    default:
      return words.errors.server;
  }
}

// The cache of responses. Requests that got no response are retried; refused ones are not.

const FRESH_MS = 15_000;
const TRIES_MAX = 3;
const SERVER_FAULT = 500;

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: FRESH_MS,
      retry: (failures, error) =>
        failures < TRIES_MAX &&
        !(error instanceof ApiError && error.status > 0 && error.status < SERVER_FAULT),
    },
    mutations: { retry: false },
  },
});

// Refetching everything about a check.

/** All cached data of a check has this key as its prefix. */
export const checkKey = (id: string) => ["check", id] as const;

/**
 * Refetches everything about a check, its row first: data read after it is at least as new, and newer changes arrive by
 * the stream. In parallel, the runs could be older than the row, and stay so.
 */
export async function refreshCheck(client: QueryClient, id: string): Promise<void> {
  const queryKey = checkKey(id);
  await client.invalidateQueries({ queryKey, exact: true });
  await client.invalidateQueries({ queryKey, predicate: (query) => query.queryKey.length > queryKey.length });
}
