// Responses that are prepared once and sent many times: compressed, with all headers.
import type { IncomingMessage, ServerResponse } from "node:http";
import { compress, encodingFor } from "../../lib/http/compress.ts";
import { entityTag, matchesTag } from "../../lib/http/entity-tag.ts";
import { SAFETY_HEADERS } from "../../lib/http/response.ts";

type Encoded = { headers: readonly string[]; body: Buffer };

export type Prepared = {
  status: number;
  tag: string;
  plain: Encoded;
  gzip: Encoded;
  br: Encoded;
  /** The headers of a 304. */
  unchanged: readonly string[];
  byteCount: number;
};

export type Content = {
  status?: number;
  type: string;
  body: Buffer;
  headers: Readonly<Record<string, string>>;
  /** False: an image or a font, which compression would not make smaller. */
  isText?: boolean;
};

export async function prepare({
  status = 200,
  type,
  body,
  headers,
  isText = true,
}: Content): Promise<Prepared> {
  const tag = entityTag(body);
  // The tag is the same for each encoding.
  const common = { ...headers, ETag: `W/${tag}`, ...(isText && { Vary: "Accept-Encoding" }) };
  const encoded = ({ bytes, encoding }: { bytes: Buffer; encoding: string | null }): Encoded => ({
    headers: flat({
      "Content-Type": type,
      "Content-Length": String(bytes.length),
      ...(encoding !== null && { "Content-Encoding": encoding }),
      ...common,
    }),
    body: bytes,
  });
  const plain = encoded({ bytes: body, encoding: null });
  const gzip = isText ? encoded(await compress(body, "gzip")) : plain;
  const br = isText ? encoded(await compress(body, "br")) : plain;
  const bodies = new Set([plain.body, gzip.body, br.body]);
  const byteCount = [...bodies].reduce((sum, { length }) => sum + length, 0);
  return { status, tag, plain, gzip, br, unchanged: flat(common), byteCount };
}

function flat(headers: Readonly<Record<string, string>>): string[] {
  return Object.entries({ ...headers, ...SAFETY_HEADERS }).flat();
}

/** Sends a prepared response to a GET or HEAD; returns its status. */
export function sendPrepared(request: IncomingMessage, response: ServerResponse, prepared: Prepared): number {
  const { status, tag, unchanged } = prepared;
  if (status === 200 && matchesTag(request.headers["if-none-match"], tag)) {
    response.writeHead(304, unchanged as string[]);
    response.end();
    return 304;
  }
  const { headers, body } = prepared[encodingFor(request.headers["accept-encoding"]) ?? "plain"];
  response.writeHead(status, headers as string[]);
  // The server sends no body in response to HEAD.
  response.end(body);
  return status;
}
