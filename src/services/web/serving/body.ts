// The body of a request of the dashboard: JSON from scripts, fields from plain forms. It is taken in as bytes, bounded by
// the framework, and read when it is known who sent it: reading costs more than sending, and everything else waits.
import type { FastifyInstance, FastifyRequest } from "fastify";
import { isBeyondBounds, type JsonBounds } from "../../../lib/http/json-bounds.ts";
import { WebRefusal } from "../route.ts";

/** A form of ours has a handful of short fields. */
const FORM_BYTES_MAX = 32 * 1024;
/** A thousand ids and what belongs to them are far below; how deep a body may be, its judge says. */
const BOUNDS: JsonBounds = { valuesMax: 10_000, nestingMax: Number.POSITIVE_INFINITY };

/** Takes the bytes of bodies for all routes of an app. */
export function addBodyReader(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, bytes, done) => done(null, bytes));
}

/** What the body of a request says; null: it has none. One that cannot be read is refused with a sentence. */
export function readBody({ body, headers }: Pick<FastifyRequest, "body" | "headers">): unknown {
  if (!(body instanceof Uint8Array) || body.length === 0) return null;
  if (headers["content-type"]?.startsWith("application/x-www-form-urlencoded") === true) {
    if (body.length > FORM_BYTES_MAX) throw tooLarge();
    return Object.fromEntries(new URLSearchParams(textOf(body)));
  }
  if (isBeyondBounds(body, BOUNDS)) throw tooLarge();
  try {
    return JSON.parse(textOf(body));
  } catch {
    throw new WebRefusal("invalid", "The request body is not valid JSON.");
  }
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8");
}

function tooLarge(): WebRefusal {
  return new WebRefusal("too_large", "The request is too large.");
}
