// What an endpoint of the Management API receives and returns, and how an answer becomes bytes.
import { createHash } from "node:crypto";
import type { BodySchema, Route } from "../../contract/route.ts";
import type { PublicUrls } from "../../contract/urls.ts";
import type { ApiEndpoint, VersionColumn } from "../../contract/versions.ts";
import type { Visibility } from "../../core/deadline.ts";
import { AppError, ERROR_TEXT, type ErrorCode, HTTP_STATUS } from "../../core/errors.ts";
import type { KeyKind } from "../../core/identity.ts";
import type { Instant } from "../../core/instant.ts";
import { API_ANSWER_MS_MAX } from "../../core/limits.ts";
import type { RateVerdict } from "../../core/rate-limit.ts";
import { type ByteBudget, byteBudget } from "../../lib/http/body.ts";
import { SAFETY_HEADERS } from "../../lib/http/response.ts";
import type { Log } from "../../lib/log.ts";
import type { ObjectStore } from "../../lib/object-store.ts";
import type { CheckWithState } from "../../store/checks.ts";
import type { Database } from "../../store/db.ts";

/** What `work` comes to, or AppError `unavailable` when that takes too long; the work itself is left to its fate. */
export async function withTimeout<T>(work: Promise<T>, limitMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new AppError("unavailable", ERROR_TEXT.unavailable)), limitMs);
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
}

// Lists are rendered in pieces: small ones are sent whole with an ETag and a length, large ones are streamed, which bounds
// the memory for large projects and slow clients.

/** A longer answer is streamed: without an ETag and without a Content-Length. */
const WHOLE_LENGTH_MAX = 10 * 1024 * 1024;
/** All answers that are collected at once. Beyond it they are streamed, however short they are. */
const COLLECTED_LENGTH_MAX = 32 * 1024 * 1024;
/** Streams at once, in the process and of one project. Each holds a piece or two. */
const STREAMS_MAX = 100;
const STREAMS_PER_PROJECT_MAX = 10;

/** Everything, or a stream of everything. `release` is called once, when the answer was sent or its client is gone. */
export type CollectedAnswer = ({ content: string } | { stream: AsyncGenerator<string> }) & {
  release: () => void;
};

export class AnswerCollector {
  readonly #budget: ByteBudget = byteBudget(COLLECTED_LENGTH_MAX);
  readonly #streams = new Map<number, number>();
  #streamCount = 0;

  /**
   * Renders as much as may be held. Throws AppError `unavailable` when that takes too long, or too many answers are
   * being streamed.
   */
  async begin(
    source: AsyncGenerator<string>,
    { projectId }: { projectId: number },
  ): Promise<CollectedAnswer> {
    const pieces: string[] = [];
    let length = 0;
    const endMs = performance.now() + API_ANSWER_MS_MAX;
    const release = () => {
      this.#budget.giveBack(length);
      length = 0;
    };
    try {
      for (;;) {
        const next = await withTimeout(source.next(), Math.max(1, endMs - performance.now()));
        if (next.done === true) return { content: pieces.join(""), release };
        pieces.push(next.value);
        const isRoom = length + next.value.length <= WHOLE_LENGTH_MAX && this.#budget.take(next.value.length);
        if (!isRoom) break;
        length += next.value.length;
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
  pieces: string[],
  source: AsyncGenerator<string>,
): AsyncGenerator<string, void, void> {
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

/** Ends a source. It may still wait for the database, and is not waited for. */
function abandon(source: AsyncGenerator<string>): void {
  source.return(undefined).catch(() => undefined);
}

// Method, body, key, rate, target and access have been checked before an endpoint is called.

/** A request that anyone may make. */
export type OpenExchange = {
  endpoint: ApiEndpoint;
  /** The version of the API in the dialect of the installation: the only thing that tells versions apart. */
  column: VersionColumn;
  query: URLSearchParams;
};

/** A request with a key that may make it. */
export type Exchange = OpenExchange & {
  project: { id: number; uuid: string; badgeKey: string };
  keyKind: KeyKind;
  /** For the record of changes. */
  keyId: number;
  /** The JSON object that was sent; empty where none is read. Not judged yet. */
  body: Readonly<Record<string, unknown>>;
  /** The schema that the body has to keep; null where the route has none. */
  bodySchema: BodySchema | null;
  /** The database's clock. */
  now: Instant;
};

/** A check with the UUIDs of its channels, in the order of their texts. */
export type FoundCheck = CheckWithState & { channelUuids: readonly string[] };

/** A request about one check of the key's project, as it was found just now; it may have vanished since. */
export type CheckExchange = Exchange & {
  check: FoundCheck;
  /** The number of a ping in the path; null where there is none. */
  n: number | null;
};

type AnswerHead = { status: number; headers?: Readonly<Record<string, string>> };

export type Answer = AnswerHead &
  (
    | { json: unknown }
    /** Sent as it is. */
    | { content: string | Uint8Array; type: string }
    /** JSON of any length, made piece by piece while it is sent. */
    | { pieces: AsyncGenerator<string> }
  );

/** An answer of which as much is there as may be held in memory. */
export type SentAnswer = Exclude<Answer, { pieces: unknown }> | (AnswerHead & CollectedAnswer);

/** What endpoints work with. */
export type ApiContext = {
  database: Database;
  urls: PublicUrls;
  /** The limit of an account that has none of its own; null means without limit. */
  checkLimitDefault: number | null;
  /** How many pings of a check are kept and listed, unless its account has a limit of its own. */
  pingLogLimit: number;
  /** How far we have seen, as of a moment ago. */
  visibility(): Visibility;
  /** What badge addresses are signed with. */
  secretKey: string;
  /** Where large bodies lie; null: all are in the database. */
  objects: Pick<ObjectStore, "get"> | null;
  log: Log;
};

/** Throws AppError for what is refused; everything else that it throws is a fault of ours. */
export type OpenHandler = (exchange: OpenExchange, context: ApiContext) => Promise<Answer>;
export type Handler = (exchange: Exchange, context: ApiContext) => Promise<Answer>;
export type CheckHandler = (exchange: CheckExchange, context: ApiContext) => Promise<Answer>;

export type Rendered = {
  status: number;
  headers: Record<string, string>;
  /** Null: no body, or a stream. */
  bytes: Uint8Array | null;
  stream?: AsyncGenerator<string>;
  /** To be called once when the answer was sent, or cannot be. */
  release?: () => void;
};

const OK = 200;
const NO_CONTENT = 204;
const NOT_MODIFIED = 304;
const JSON_TYPE = "application/json";
const PREFLIGHT_SECONDS = 600;
/** Retry-After of requests that could not be served. */
const RETRY_AFTER_SECONDS = 5;
const ALL_METHODS = ["DELETE", "GET", "POST"];

/** Browsers on any site may call the API: what protects it is the key, which no browser sends by itself. */
function corsHeaders(methods: readonly string[] = ALL_METHODS): Record<string, string> {
  return {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Headers": "X-Api-Key",
    "Access-Control-Allow-Methods": [...methods, "OPTIONS"].toSorted().join(", "),
    "Access-Control-Max-Age": String(PREFLIGHT_SECONDS),
  };
}

/** What a request learns about how many more it may make. */
function rateHeaders(rate: RateVerdict | null): Record<string, string> {
  if (rate === null) return {};
  return {
    "RateLimit-Limit": String(rate.limit),
    "RateLimit-Remaining": String(rate.remaining),
    "RateLimit-Reset": String(rate.resetSeconds),
    ...(!rate.isAllowed && { "Retry-After": String(rate.retryAfterSeconds) }),
  };
}

/** A refusal as an answer. An empty text stands for an empty body, as one of the dialects wants it. */
export function refusal(code: ErrorCode, text: string): SentAnswer {
  const status = HTTP_STATUS[code];
  const headers = code === "unavailable" ? { "Retry-After": String(RETRY_AFTER_SECONDS) } : {};
  return text === ""
    ? { status, headers, content: "", type: "text/plain" }
    : { status, headers, json: { error: text } };
}

/** The answer to a preflight. */
export function preflight(methods: readonly string[]): Rendered {
  return { status: NO_CONTENT, headers: { ...SAFETY_HEADERS, ...corsHeaders(methods) }, bytes: null };
}

export type RenderOptions = {
  route: Pick<Route, "isTagged"> | null;
  methods?: readonly string[];
  rate: RateVerdict | null;
  ifNoneMatch: string | undefined;
};

/** Renders an answer. One that the sender has already, by its tag, is not sent again. */
export function render(answer: SentAnswer, { route, methods, rate, ifNoneMatch }: RenderOptions): Rendered {
  const bytes = bytesOf(answer);
  const isTagged = route?.isTagged === true && answer.status === OK;
  // A streamed answer has no ETag: its content is not known yet.
  const tag = isTagged && bytes !== null ? entityTag(bytes) : null;
  const headers = {
    // What is true of a check now need not be so a second later; a tag only saves sending it again.
    "Cache-Control": tag === null ? "no-store" : "private, no-cache",
    ...SAFETY_HEADERS,
    ...corsHeaders(methods),
    ...rateHeaders(rate),
    ...answer.headers,
    ...(tag !== null && { ETag: tag }),
  };
  const release = "release" in answer ? { release: answer.release } : {};
  if (tag !== null && matches(ifNoneMatch, tag)) {
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

function bytesOf(answer: SentAnswer): Buffer | null {
  if ("stream" in answer) return null;
  return Buffer.from("json" in answer ? JSON.stringify(answer.json) : answer.content);
}

function entityTag(bytes: Uint8Array): string {
  return `"${createHash("sha1").update(bytes).digest("base64url")}"`;
}

/** Whether the sender has the answer already. Proxies that compress mark tags as weak; the content is the same. */
function matches(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false;
  if (header.trim() === "*") return true;
  return header.split(",").some((item) => item.trim().replace(/^W\//, "") === tag);
}
