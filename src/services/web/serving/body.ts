// The body of a request of the dashboard: JSON from scripts, fields from plain forms. It is taken in as bytes, bounded by
// the framework, and read when it is known who sent it: reading costs more than sending, and everything else waits.
import type { FastifyInstance, FastifyRequest } from "fastify";
import { WebRefusal } from "../route.ts";

/** A form of ours has a handful of short fields. */
const FORM_BYTES_MAX = 32 * 1024;
/** A thousand ids and what belongs to them are far below. */
const VALUES_MAX = 10_000;

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
  if (hasTooManyValues(body)) throw tooLarge();
  try {
    return JSON.parse(textOf(body));
  } catch {
    throw new WebRefusal("invalid", "The body of the request cannot be read as JSON.");
  }
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8");
}

function tooLarge(): WebRefusal {
  return new WebRefusal("too_large", "The request is too large.");
}

const QUOTE = 34;
const BACKSLASH = 92;
/** A comma, a bracket, a brace: one of them stands before each value but the first. */
const BEFORE_VALUES: ReadonlySet<number | undefined> = new Set([44, 91, 123]);

/** Counted without reading it: an object with a hundred thousand names takes seconds to judge. */
function hasTooManyValues(bytes: Uint8Array): boolean {
  let count = 0;
  let isInText = false;
  for (let at = 0; at < bytes.length && count < VALUES_MAX; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE) isInText = !isInText;
    else if (isInText) at += byte === BACKSLASH ? 1 : 0;
    else if (BEFORE_VALUES.has(byte)) count += 1;
  }
  return count >= VALUES_MAX;
}
