// How an answer of the dashboard becomes bytes: headers, compression, redirects below the site, refusals as JSON for
// scripts and as a page for people.
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import type { FastifyReply } from "fastify";
import type { WebTrouble } from "../../../contract/web/boot.ts";
import { SAFETY_HEADERS } from "../../../lib/http/answer.ts";
import { PAGE_HEADERS, renderPage } from "./plain-page.ts";
import type { WebAnswer } from "../route.ts";

/** Below this a packet is not saved. */
const COMPRESSED_BYTES_MIN = 1_400;
/** Answers are compressed while somebody waits. */
const GZIP_LEVEL = 5;
const BROTLI_QUALITY = 4;

const OK = 200;
const FOUND = 303;

/** Headers of every answer that is not meant for a person to look at. */
const DATA_HEADERS = {
  "Cache-Control": "no-store",
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
};

export type Sending = { acceptEncoding: string | undefined; isHead: boolean; base: string };

/** Gives the answer; resolves to its status. */
export async function sendAnswer(
  reply: FastifyReply,
  answer: WebAnswer,
  { acceptEncoding, isHead, base }: Sending,
): Promise<number> {
  const { status = OK, headers = {}, cookies = [] } = answer;
  if ("stream" in answer) {
    if (isHead) {
      await reply
        .code(status)
        .headers({ ...SAFETY_HEADERS, ...DATA_HEADERS })
        .send();
      return status;
    }
    reply.hijack();
    answer.stream(reply.raw);
    return status;
  }
  reply.headers({ ...SAFETY_HEADERS });
  if (cookies.length > 0) reply.header("Set-Cookie", cookies);
  if ("redirect" in answer) {
    const { redirect } = answer;
    const isStatus = status >= 300 && status < 400;
    reply.code(isStatus ? status : FOUND).headers({ ...DATA_HEADERS, ...headers });
    await reply.header("Location", redirect.startsWith("/") ? `${base}${redirect}` : redirect).send();
    return reply.statusCode;
  }
  const { type, bytes, more } = contentOf(answer);
  const encoded =
    "packed" in answer ? { bytes, encoding: answer.encoding } : await encode(bytes, acceptEncoding);
  reply.code(status).headers({ "Content-Type": type, Vary: "Accept-Encoding", ...more, ...headers });
  if (encoded.encoding !== null) reply.header("Content-Encoding", encoded.encoding);
  await reply.send(encoded.bytes);
  return status;
}

type Content = { type: string; bytes: Buffer; more: Readonly<Record<string, string>> };

function contentOf(answer: Exclude<WebAnswer, { redirect: string } | { stream: unknown }>): Content {
  if ("json" in answer) {
    const bytes = Buffer.from(JSON.stringify(answer.json) ?? "null");
    return { type: "application/json; charset=utf-8", bytes, more: DATA_HEADERS };
  }
  if ("html" in answer) {
    return {
      type: "text/html; charset=utf-8",
      bytes: Buffer.from(answer.html),
      more: { "Cache-Control": "no-store" },
    };
  }
  const content = "packed" in answer ? answer.packed : answer.content;
  const bytes = typeof content === "string" ? Buffer.from(content) : bufferOf(content);
  return { type: answer.type, bytes, more: DATA_HEADERS };
}

function bufferOf({ buffer, byteOffset, length }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, length);
}

/** The better of the two encodings that the other side takes; null: as it is. */
export function encodingFor(acceptEncoding: string | undefined): "br" | "gzip" | null {
  const accepted = (acceptEncoding ?? "").split(",").map((item) => item.trim().toLowerCase());
  const takes = (name: string) =>
    accepted.some((item) => item === name || (item.startsWith(`${name};`) && !/;\s*q=0(\.0*)?$/.test(item)));
  if (takes("br")) return "br";
  return takes("gzip") ? "gzip" : null;
}

const brotli = promisify(brotliCompress);
const zip = promisify(gzip);

async function encode(
  bytes: Buffer,
  acceptEncoding: string | undefined,
): Promise<{ bytes: Buffer; encoding: string | null }> {
  const encoding = bytes.length < COMPRESSED_BYTES_MIN ? null : encodingFor(acceptEncoding);
  if (encoding === null) return { bytes, encoding };
  const params = { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY };
  const packed =
    encoding === "br" ? await brotli(bytes, { params }) : await zip(bytes, { level: GZIP_LEVEL });
  return { bytes: packed, encoding };
}

const TITLES: Readonly<Record<number, string>> = {
  403: "Access denied",
  404: "Page not found",
  503: "Something went wrong",
};

const HOME = "Go to the dashboard";

/** What is shown at an address that leads to no part of the program. */
export function nothingHere(site: { name: string; url: string }): {
  headers: Readonly<Record<string, string>>;
  html: string;
} {
  const page = { title: TITLES[404] ?? "", sentences: ["No page exists at this URL."], home: HOME };
  return { headers: PAGE_HEADERS, html: renderPage(page, site) };
}

/** A refusal: data for a script, and a page for a person. */
export function refusalAnswer(
  { status, trouble, isPage }: { status: number; trouble: WebTrouble; isPage: boolean },
  site: { name: string; url: string },
): WebAnswer {
  const headers: Record<string, string> = status === 503 ? { "Retry-After": "5" } : {};
  if (!isPage) return { status, json: trouble, headers };
  const title = TITLES[status] ?? "Something went wrong";
  const { "Content-Type": _, ...pageHeaders } = PAGE_HEADERS;
  return {
    status,
    html: renderPage({ title, sentences: [trouble.error], home: HOME }, site),
    headers: { ...pageHeaders, ...headers },
  };
}
