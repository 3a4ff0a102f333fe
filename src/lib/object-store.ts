// A client for S3-compatible stores: put, get, delete, list, and streams of any size. Each call is limited in time and
// size, and retries only temporary failures. Keys are left out of messages.
import { AwsClient } from "aws4fetch";
import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

/** missing: the object does not exist. refused: a permanent error. unavailable: it may work later. */
export type ObjectErrorKind = "missing" | "refused" | "unavailable";

export class ObjectStoreError extends Error {
  override readonly name = "ObjectStoreError";
  readonly kind: ObjectErrorKind;

  constructor(kind: ObjectErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}

export type ObjectStoreOptions = {
  /** The URL, http or https, without the bucket. */
  endpoint: string;
  bucket: string;
  region: string;
  accessKey: string;
  secretKey: string;
  /** For one call, including all its attempts. */
  timeoutMs: number;
  objectBytesMax: number;
  /** When it is aborted, every call ends as if the store were unavailable. */
  signal?: AbortSignal;
};

export type ObjectStore = {
  /** Resolves when the store has confirmed exactly these bytes. Idempotent. */
  put(key: string, bytes: Uint8Array): Promise<void>;
  /** Throws "missing" if the object does not exist. */
  get(key: string): Promise<Buffer>;
  /** Resolves when the object does not exist any more. */
  delete(key: string): Promise<void>;
  /** The first keys with this prefix, in order, at most `limit` and never more than a thousand. */
  list(prefix: string, options: { limit: number }): Promise<string[]>;
  /** Begins an object of unknown size, which exists after `finish`. */
  upload(key: string): Promise<Upload>;
  /** The bytes of an object of any size. Only waiting for the next bytes is limited in time. Throws "missing". */
  download(key: string): AsyncIterable<Uint8Array>;
};

export type Upload = {
  /** Resolves when the next bytes may be written. */
  write(bytes: Buffer): Promise<void>;
  finish(): Promise<void>;
  /** Deletes what was written. */
  abort(): Promise<void>;
};

const ATTEMPTS_MAX = 3;
const RETRY_PAUSE_MS = 100;
const RETRY_PAUSE_FACTOR = 4;
/** An error response, or a list of a thousand keys of maximum length. */
const TEXT_BYTES_MAX = 4 * 1024 * 1024;
const LIST_KEYS_MAX = 1_000;

/** S3 requires at least 5 MiB, and allows 10,000 parts: an object can have 160 GB. */
const UPLOAD_PART_BYTES = 16 * 1024 * 1024;
const UPLOAD_PARTS_MAX = 10_000;
/** A part on a connection of 1 Mbit/s. */
const UPLOAD_PART_TIMEOUT_MS = 5 * 60_000;

type Method = "PUT" | "HEAD" | "GET" | "DELETE" | "POST";
type Call = { method: Method; url: string; body?: Uint8Array };
/** `bytes` is empty if not needed. */
type Answer = { headers: Headers; bytes: Buffer };

/** Opens nothing: the first call opens the first connection. */
export function openObjectStore(options: ObjectStoreOptions): ObjectStore {
  const { accessKey, secretKey, region } = options;
  const signer = new AwsClient({
    accessKeyId: accessKey,
    secretAccessKey: secretKey,
    region,
    service: "s3",
  });
  const bucketUrl = `${options.endpoint}/${encodeURIComponent(options.bucket)}`;
  const urlOf = (key: string) => `${bucketUrl}/${key.split("/").map(encodeURIComponent).join("/")}`;
  const call = (asked: Call, bytesMax = TEXT_BYTES_MAX) =>
    withRetries(endOf(options), (signal) => callOnce({ signer, asked, signal, bytesMax }));
  return {
    put: async (key, bytes) => {
      if (bytes.length > options.objectBytesMax) {
        throw new ObjectStoreError("refused", `an object can have at most ${options.objectBytesMax} bytes`);
      }
      await call({ method: "PUT", url: urlOf(key), body: bytes });
      const { headers } = await call({ method: "HEAD", url: urlOf(key) });
      // The digest was checked on arrival; this checks that the object is stored completely.
      if (headers.get("content-length") === String(bytes.length)) return;
      throw new ObjectStoreError("unavailable", "the store confirmed an object but reports a different size");
    },
    get: async (key) => (await call({ method: "GET", url: urlOf(key) }, options.objectBytesMax)).bytes,
    delete: async (key) => {
      await call({ method: "DELETE", url: urlOf(key) }).catch((error: unknown) => {
        if (!(error instanceof ObjectStoreError && error.kind === "missing")) throw error;
      });
    },
    list: async (prefix, { limit }) => {
      const count = String(Math.min(limit, LIST_KEYS_MAX));
      const query = new URLSearchParams({ "list-type": "2", "max-keys": count, prefix });
      const { bytes } = await call({ method: "GET", url: `${bucketUrl}?${query.toString()}` });
      return keysIn(bytes.toString("utf8"));
    },
    upload: (key) => {
      const slow = { ...options, timeoutMs: Math.max(options.timeoutMs, UPLOAD_PART_TIMEOUT_MS) };
      return beginUpload(urlOf(key), (asked) =>
        withRetries(endOf(slow), (signal) => callOnce({ signer, asked, signal, bytesMax: TEXT_BYTES_MAX })),
      );
    },
    download: (key) => downloadFrom(urlOf(key), { signer, options }),
  };
}

async function beginUpload(url: string, call: (asked: Call) => Promise<Answer>): Promise<Upload> {
  const begun = await call({ method: "POST", url: `${url}?uploads=` });
  const id = /<UploadId>([^<]{1,2000})<\/UploadId>/.exec(begun.bytes.toString("utf8"))?.[1];
  if (id === undefined) throw new ObjectStoreError("refused", "POST: the response has no upload ID");
  const uploadId = encodeURIComponent(withoutEntities(id));
  const tags: string[] = [];
  let waiting: Buffer[] = [];
  let length = 0;
  const send = async () => {
    if (tags.length === UPLOAD_PARTS_MAX) {
      throw new ObjectStoreError("refused", `an object can have at most ${UPLOAD_PARTS_MAX} parts`);
    }
    const body = Buffer.concat(waiting, length);
    waiting = [];
    length = 0;
    const number = tags.length + 1;
    const { headers } = await call({
      method: "PUT",
      url: `${url}?partNumber=${number}&uploadId=${uploadId}`,
      body,
    });
    tags.push(headers.get("etag") ?? "");
  };
  return {
    write: async (bytes) => {
      waiting.push(bytes);
      length += bytes.length;
      if (length >= UPLOAD_PART_BYTES) await send();
    },
    finish: async () => {
      if (length > 0) await send();
      const parts = tags.map(
        (tag, index) =>
          `<Part><PartNumber>${index + 1}</PartNumber><ETag>${tag.replaceAll('"', "&quot;")}</ETag></Part>`,
      );
      const body = Buffer.from(`<CompleteMultipartUpload>${parts.join("")}</CompleteMultipartUpload>`);
      const { bytes } = await call({ method: "POST", url: `${url}?uploadId=${uploadId}`, body });
      // Servers may answer 200 before they know the result.
      const text = bytes.toString("utf8");
      if (!text.includes("CompleteMultipartUploadResult")) throw errorOf("POST", 500, text);
    },
    abort: async () => void (await call({ method: "DELETE", url: `${url}?uploadId=${uploadId}` })),
  };
}

async function* downloadFrom(
  url: string,
  { signer, options }: { signer: AwsClient; options: ObjectStoreOptions },
): AsyncGenerator<Uint8Array> {
  const headers = { "x-amz-content-sha256": createHash("sha256").digest("hex") };
  const stalled = new AbortController();
  const startTimer = () =>
    setTimeout(() => stalled.abort(new Error("the store sends nothing")), options.timeoutMs);
  let timer = startTimer();
  try {
    const request = await signer.sign(url, { method: "GET", headers });
    const signals = options.signal === undefined ? [stalled.signal] : [stalled.signal, options.signal];
    const response = await fetch(request, { redirect: "manual", signal: AbortSignal.any(signals) });
    if (!response.ok) {
      throw errorOf("GET", response.status, (await readAtMost(response, TEXT_BYTES_MAX)).toString("utf8"));
    }
    for await (const chunk of response.body ?? []) {
      // The time that the reader takes does not count.
      clearTimeout(timer);
      yield chunk;
      timer = startTimer();
    }
  } catch (error) {
    if (error instanceof ObjectStoreError) throw error;
    throw new ObjectStoreError("unavailable", `GET: ${reasonOf(error)}`, { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

function endOf({ timeoutMs, signal }: ObjectStoreOptions): AbortSignal {
  const timeout = AbortSignal.timeout(timeoutMs);
  return signal === undefined ? timeout : AbortSignal.any([timeout, signal]);
}

async function withRetries<T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work(signal);
    } catch (error) {
      if (!(error instanceof ObjectStoreError) || error.kind !== "unavailable") throw error;
      if (attempt === ATTEMPTS_MAX || signal.aborted) throw error;
      const pauseMs = RETRY_PAUSE_MS * RETRY_PAUSE_FACTOR ** (attempt - 1);
      // If the time limit is reached during the pause, the last response is reported.
      await sleep(pauseMs, undefined, { signal }).catch(() => Promise.reject(error));
    }
  }
}

type Attempt = { signer: AwsClient; asked: Call; signal: AbortSignal; bytesMax: number };

async function callOnce({ signer, asked, signal, bytesMax }: Attempt): Promise<Answer> {
  const { method, url, body } = asked;
  const digest = createHash("sha256").update(body ?? "");
  const request = await signer.sign(url, {
    method,
    headers: { "x-amz-content-sha256": digest.digest("hex") },
    ...(body === undefined ? {} : { body: body as Uint8Array<ArrayBuffer> }),
  });
  try {
    // A signature is for one URL, so a redirect is a configuration error.
    const response = await fetch(request, { signal, redirect: "manual" });
    if (response.ok) return { headers: response.headers, bytes: await readAtMost(response, bytesMax) };
    throw errorOf(method, response.status, (await readAtMost(response, TEXT_BYTES_MAX)).toString("utf8"));
  } catch (error) {
    if (error instanceof ObjectStoreError) throw error;
    throw new ObjectStoreError("unavailable", `${method}: ${reasonOf(error)}`, { cause: error });
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  // The message of fetch is only "fetch failed"; the reason is its cause.
  return cause instanceof Error && cause.message !== "" ? cause.message : error.message;
}

const TOO_MANY_REQUESTS = 429;
const REQUEST_TIMEOUT = 408;
const NOT_FOUND = 404;

function errorOf(method: Method, status: number, text: string): ObjectStoreError {
  const code = /<Code>([A-Za-z]{1,60})<\/Code>/.exec(text)?.[1] ?? "";
  const message = `${method}: HTTP ${status}${code === "" ? "" : ` ${code}`}`;
  // A missing bucket also returns 404, which says nothing about its objects.
  if (status === NOT_FOUND && code === "NoSuchKey") return new ObjectStoreError("missing", message);
  const mayWork = status >= 500 || status === TOO_MANY_REQUESTS || status === REQUEST_TIMEOUT;
  return new ObjectStoreError(mayWork ? "unavailable" : "refused", message);
}

async function readAtMost(response: Response, bytesMax: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body ?? []) {
    length += chunk.length;
    if (length > bytesMax) {
      throw new ObjectStoreError("refused", `the response is larger than ${bytesMax} bytes`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

function keysIn(xml: string): string[] {
  return [...xml.matchAll(/<Key>([^<]*)<\/Key>/g)].map(([, key = ""]) => withoutEntities(key));
}

function withoutEntities(text: string): string {
  return text.replace(
    /&(?:#(\d+)|#x([0-9A-Fa-f]+)|(\w+));/g,
    (whole, decimal?: string, hex?: string, name = "") => {
      if (decimal !== undefined) return String.fromCodePoint(Number(decimal));
      if (hex !== undefined) return String.fromCodePoint(Number.parseInt(hex, 16));
      return ENTITIES[name] ?? whole;
    },
  );
}
