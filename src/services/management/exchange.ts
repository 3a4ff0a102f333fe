// What an endpoint of the Management API receives and returns, and how a response is serialized.
import {
  type CheckSerializer,
  checkSerializer,
  type Showing,
  type Surroundings,
} from "../../contract/check.ts";
import type { BodySchema, Route } from "../../contract/route.ts";
import type { PublicUrls } from "../../contract/urls.ts";
import type { ApiEndpoint, VersionColumn } from "../../contract/versions.ts";
import type { Visibility } from "../../core/deadline.ts";
import { AppError, ERROR_TEXT, type ErrorCode, HTTP_STATUS } from "../../core/errors.ts";
import type { KeyKind } from "../../core/identity.ts";
import type { Instant } from "../../core/instant.ts";
import { API_ANSWER_MS_MAX } from "../../core/limits.ts";
import type { RateVerdict } from "../../core/rate-limit.ts";
import type { Secrets } from "../../core/secrets.ts";
import { type ByteBudget, byteBudget } from "../../lib/http/body.ts";
import { entityTag, matchesTag } from "../../lib/http/entity-tag.ts";
import { SAFETY_HEADERS } from "../../lib/http/response.ts";
import type { Log } from "../../lib/log.ts";
import type { ObjectStore } from "../../lib/object-store.ts";
import type { ListVersion, ShownCheckWithChannels } from "../../store/checks.ts";
import type { Database } from "../../store/db.ts";
import { RETRY_AFTER_SECONDS, rateHeaders } from "../api/auth.ts";
import { withTimeout } from "../api/with-timeout.ts";

// Lists are rendered in pieces: small ones are sent whole with an ETag and a length, large ones are streamed, which bounds
// the memory for large projects and slow clients.

/** A longer response is streamed: without an ETag and without a Content-Length. */
const WHOLE_LENGTH_MAX = 10 * 1024 * 1024;
/** Bytes of all responses that are collected at once. Beyond it they are streamed, whatever their size. */
const COLLECTED_LENGTH_MAX = 32 * 1024 * 1024;
/** Concurrent streams of the process and of one project. Each holds a piece or two. */
const STREAMS_MAX = 100;
const STREAMS_PER_PROJECT_MAX = 10;

/**
 * The whole response, or a stream of it. `release` is called once, when the response was sent or its client
 * disconnected.
 */
export type CollectedAnswer = ({ content: Uint8Array } | { stream: AsyncGenerator<string | Uint8Array> }) & {
  release: () => void;
};

export class AnswerCollector {
  readonly #budget: ByteBudget = byteBudget(COLLECTED_LENGTH_MAX);
  readonly #streams = new Map<number, number>();
  #streamCount = 0;

  /**
   * Renders as much as may be held in memory. Throws AppError `unavailable` if that takes too long, or if too many
   * responses are being streamed.
   */
  async begin(
    source: AsyncGenerator<string>,
    { projectId }: { projectId: number },
  ): Promise<CollectedAnswer> {
    const pieces: Buffer[] = [];
    let length = 0;
    const endMs = performance.now() + API_ANSWER_MS_MAX;
    const release = () => {
      this.#budget.giveBack(length);
      length = 0;
    };
    try {
      for (;;) {
        const next = await withTimeout(source.next(), Math.max(1, endMs - performance.now()));
        if (next.done === true) return { content: Buffer.concat(pieces), release };
        const piece = Buffer.from(next.value);
        pieces.push(piece);
        const isRoom = length + piece.length <= WHOLE_LENGTH_MAX && this.#budget.take(piece.length);
        if (!isRoom) break;
        length += piece.length;
      }
      const endStream = this.#takeStream(projectId);
      const done = () => {
        release();
        endStream();
      };
      return { stream: continued(pieces, source), release: done };
    } catch (error) {
      release();
      abandon(source);
      throw error;
    }
  }

  #takeStream(projectId: number): () => void {
    const count = this.#streams.get(projectId) ?? 0;
    if (this.#streamCount >= STREAMS_MAX || count >= STREAMS_PER_PROJECT_MAX) {
      throw new AppError("unavailable", ERROR_TEXT.unavailable);
    }
    this.#streamCount += 1;
    this.#streams.set(projectId, count + 1);
    return () => {
      this.#streamCount -= 1;
      const left = (this.#streams.get(projectId) ?? 1) - 1;
      if (left === 0) this.#streams.delete(projectId);
      else this.#streams.set(projectId, left);
    };
  }
}

async function* continued(
  pieces: Buffer[],
  source: AsyncGenerator<string>,
): AsyncGenerator<string | Uint8Array, void, void> {
  try {
    pieces.reverse();
    for (let piece = pieces.pop(); piece !== undefined; piece = pieces.pop()) yield piece;
    for (;;) {
      const next = await withTimeout(source.next(), API_ANSWER_MS_MAX);
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    abandon(source);
  }
}

/** Ends a source. It may still wait for the database, so it is not awaited. */
function abandon(source: AsyncGenerator<string>): void {
  source.return(undefined).catch(() => undefined);
}

// Method, body, key, rate, target and access have been checked before an endpoint is called.

/** A request that anyone may make. */
export type OpenExchange = {
  endpoint: ApiEndpoint;
  /** The version of the API in the server's dialect; handlers never compare version numbers. */
  column: VersionColumn;
  query: URLSearchParams;
};

/** A request with a key that allows it. */
export type Exchange = OpenExchange & {
  project: { id: number; uuid: string; badgeKey: string };
  keyKind: KeyKind;
  /** For the audit log. */
  keyId: number;
  /** The JSON object that was sent; empty if no body is read. Not validated yet. */
  body: Readonly<Record<string, unknown>>;
  /** The schema of the body; null if the route has none. */
  bodySchema: BodySchema | null;
  /** The If-None-Match header. */
  ifNoneMatch: string | undefined;
  /** The database's clock. */
  now: Instant;
};

/** A request about one check of the key's project, as it was just read; it may have been deleted since. */
export type CheckExchange = Exchange & {
  check: ShownCheckWithChannels;
  /** The number of a ping in the path; null if there is none. */
  n: number | null;
};

type AnswerHead = { status: number; headers?: Readonly<Record<string, string>> };

export type Answer = AnswerHead &
  (
    | { json: unknown }
    /** Sent as it is. */
    | { content: string | Uint8Array; type: string }
    /** JSON of any length, rendered in pieces while it is sent. `onTag` is called if it gets an ETag. */
    | { pieces: AsyncGenerator<string>; onTag?: (tag: string) => void }
    /** The client has the current response, which has this ETag. */
    | { unchanged: string }
  );

/** A response, rendered as far as may be held in memory. */
export type SentAnswer =
  | Exclude<Answer, { pieces: unknown }>
  | (AnswerHead & CollectedAnswer & { onTag?: (tag: string) => void });

/** The context of endpoints. */
export type ApiContext = {
  database: Database;
  urls: PublicUrls;
  /** The limit of accounts without their own; null means no limit. */
  checkLimitDefault: number | null;
  /** How many pings of a check are kept and listed, unless its account has a limit of its own. */
  pingLogLimit: number;
  /** The watermark as of a moment ago. */
  visibility(): Visibility;
  /** The secret that signs badge URLs. */
  secrets: Secrets;
  /** Stores large bodies; null: all are in the database. */
  objects: Pick<ObjectStore, "get"> | null;
  /** With a log: waits a moment until the pings of a check that were acknowledged before are recorded. */
  awaitLog: ((uuid: string) => Promise<void>) | null;
  log: Log;
};

/** The context of a handler: what endpoints use, and what they cache between requests. */
export type HandlerContext = ApiContext & { lists: KnownLists; serializerOf: SerializerOf };

/** The serializer for one type of response; always the same instance. */
export type SerializerOf = (showing: Showing) => CheckSerializer;

/** One for each combination of version, endpoint and kind of key. */
export function cachedSerializers(surroundings: Surroundings): SerializerOf {
  const serializers = new Map<string, CheckSerializer>();
  return (showing) => {
    const { column, endpoint, keyKind } = showing;
    const name = `${column.dialect} ${column.number} ${endpoint} ${keyKind}`;
    const known = serializers.get(name);
    if (known !== undefined) return known;
    const made = checkSerializer(showing, surroundings);
    serializers.set(name, made);
    return made;
  };
}

/** Maximum number of cached lists: beyond it, the least recently used one is dropped. About 500 bytes each. */
const KNOWN_LISTS_MAX = 1_000;
/** A list with a longer name is not cached. */
const LIST_NAME_LENGTH_MAX = 500;

/** A list that was sent: its ETag, and the inputs that its content depends on. */
export type KnownList = {
  tag: string;
  version: ListVersion;
  /** It shows the statuses at this instant, which do not change before `until`. */
  from: Instant;
  until: Instant;
};

/** The newest versions of lists that this process has sent, to detect whether they would be the same now. */
export class KnownLists {
  readonly #byName = new Map<string, KnownList>();

  get(name: string): KnownList | null {
    return this.#byName.get(name) ?? null;
  }

  set(name: string, list: KnownList): void {
    if (name.length > LIST_NAME_LENGTH_MAX) return;
    this.#byName.delete(name);
    this.#byName.set(name, list);
    if (this.#byName.size <= KNOWN_LISTS_MAX) return;
    const { value: oldest } = this.#byName.keys().next();
    if (oldest !== undefined) this.#byName.delete(oldest);
  }
}

/** Throws AppError for rejected requests; any other error is a bug. */
export type OpenHandler = (exchange: OpenExchange, context: HandlerContext) => Promise<Answer>;
export type Handler = (exchange: Exchange, context: HandlerContext) => Promise<Answer>;
export type CheckHandler = (exchange: CheckExchange, context: HandlerContext) => Promise<Answer>;

export type Rendered = {
  status: number;
  headers: Record<string, string>;
  /** Null: no body, or a stream. */
  bytes: Uint8Array | null;
  stream?: AsyncGenerator<string | Uint8Array>;
  /** Must be called once when the response was sent, or cannot be sent. */
  release?: () => void;
};

const OK = 200;
const NO_CONTENT = 204;
const NOT_MODIFIED = 304;
export const JSON_TYPE = "application/json";
const PREFLIGHT_SECONDS = 600;
const ALL_METHODS = ["DELETE", "GET", "POST"];

/** By method; each resource has one list. */
const CORS_HEADERS = new WeakMap<readonly string[], Readonly<Record<string, string>>>();

/** Browsers on any site may call the API: it is protected by the key, which no browser sends on its own. */
function corsHeaders(methods: readonly string[] = ALL_METHODS): Readonly<Record<string, string>> {
  const known = CORS_HEADERS.get(methods);
  if (known !== undefined) return known;
  const made = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Headers": "X-Api-Key",
    "Access-Control-Allow-Methods": [...methods, "OPTIONS"].toSorted().join(", "),
    "Access-Control-Max-Age": String(PREFLIGHT_SECONDS),
  };
  CORS_HEADERS.set(methods, made);
  return made;
}

/** An error as a response. An empty text means an empty body, which one of the dialects requires. */
export function refusal(code: ErrorCode, text: string): SentAnswer {
  const status = HTTP_STATUS[code];
  const headers = code === "unavailable" ? { "Retry-After": RETRY_AFTER_SECONDS } : {};
  return text === ""
    ? { status, headers, content: "", type: "text/plain" }
    : { status, headers, json: { error: text } };
}

/** The response to a preflight request. */
export function preflight(methods: readonly string[]): Rendered {
  return { status: NO_CONTENT, headers: { ...SAFETY_HEADERS, ...corsHeaders(methods) }, bytes: null };
}

export type RenderOptions = {
  route: Pick<Route, "isTagged"> | null;
  methods?: readonly string[];
  rate: RateVerdict | null;
  ifNoneMatch: string | undefined;
};

/** Renders a response. If the client already has it, according to its ETag, the body is not sent again. */
export function render(answer: SentAnswer, { route, methods, rate, ifNoneMatch }: RenderOptions): Rendered {
  const bytes = bytesOf(answer);
  const isTagged = route?.isTagged === true && answer.status === OK;
  // A streamed response has no ETag: its content is not known yet.
  const tag = isTagged ? tagOf(answer, bytes) : null;
  if (tag !== null && "onTag" in answer) answer.onTag?.(tag);
  const headers = {
    // A check may change within a second; an ETag only saves sending the same content again.
    "Cache-Control": tag === null ? "no-store" : "private, no-cache",
    ...SAFETY_HEADERS,
    ...corsHeaders(methods),
    ...rateHeaders(rate),
    ...answer.headers,
    ...(tag !== null && { ETag: tag }),
  };
  const release = "release" in answer ? { release: answer.release } : {};
  if (tag !== null && matchesTag(ifNoneMatch, tag)) {
    return { status: NOT_MODIFIED, headers, bytes: null, ...release };
  }
  const type = "type" in answer ? answer.type : JSON_TYPE;
  const stream = "stream" in answer ? { stream: answer.stream } : {};
  return {
    status: answer.status,
    headers: { ...headers, "Content-Type": type },
    bytes,
    ...stream,
    ...release,
  };
}

function bytesOf(answer: SentAnswer): Uint8Array | null {
  if ("stream" in answer || "unchanged" in answer) return null;
  if ("json" in answer) return Buffer.from(JSON.stringify(answer.json));
  return typeof answer.content === "string" ? Buffer.from(answer.content) : answer.content;
}

function tagOf(answer: SentAnswer, bytes: Uint8Array | null): string | null {
  if ("unchanged" in answer) return answer.unchanged;
  return bytes === null ? null : entityTag(bytes);
}
