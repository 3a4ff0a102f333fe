// Reads the JSON body of an API request, within limits.
import type { IncomingMessage } from "node:http";
import { AppError, ERROR_TEXT } from "../../core/errors.ts";
import { API_BODY_BYTES_MAX } from "../../core/limits.ts";
import {
  announcesBody,
  type ByteBudget,
  isBeyondBounds,
  type JsonBounds,
  readBody,
} from "../../lib/http/body.ts";

/** More than any body needs. A million values would take seconds, and the caller is not authenticated yet. */
const BOUNDS: JsonBounds = { nestingMax: 100, valuesMax: 10_000 };

/** A number that overflows has an exponent of at least two digits, or hundreds of digits. */
const MAY_OVERFLOW = /[eE]\+?\d{2}|\d{300}/;

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The value in a body. Throws AppError if it is not JSON, or has too many values. */
export function parseJson(bytes: Uint8Array): unknown {
  if (isBeyondBounds(bytes, BOUNDS)) throw new AppError("invalid", ERROR_TEXT.unparsableBody);
  try {
    return parseNumbers(decoder.decode(bytes));
  } catch (error) {
    // The message of the parser quotes the body, which may contain a key.
    if (error instanceof SyntaxError || error instanceof TypeError)
      throw new AppError("invalid", ERROR_TEXT.unparsableBody);
    throw error;
  }
}

/**
 * A whole number with hundreds of digits becomes infinite, so it is rejected as too large. With a fraction or an exponent
 * it becomes NaN, so it is rejected as not a whole number.
 */
function parseNumbers(text: string): unknown {
  if (!MAY_OVERFLOW.test(text)) return JSON.parse(text);
  const reviver = (_key: string, value: unknown, { source = "" }: { source?: string }): unknown =>
    (value === Infinity || value === -Infinity) && /[.eE]/.test(source) ? Number.NaN : value;
  // The types of TypeScript lack the third argument.
  return JSON.parse(text, reviver as (key: string, value: unknown) => unknown);
}

/**
 * The rest of a body that is too large is read and dropped up to this size, so that the client can read the response.
 * Beyond it, the connection is closed after the response.
 */
const READ_BYTES_MAX = 8 * API_BODY_BYTES_MAX;

/** The client disconnected in the middle of its request. */
export class SenderGoneError extends Error {
  override readonly name = "SenderGoneError";
}

/** The bytes of a body, or null for none. Calls `onEndless` if the rest of the request will not be read. */
export function readRequestBody(
  request: IncomingMessage,
  { budget, onEndless }: { budget: ByteBudget; onEndless: () => void },
): Promise<Uint8Array | null> {
  if (!announcesBody(request)) return Promise.resolve(null);
  // The client disconnected while earlier requests of its connection were served; no event will follow.
  if (request.destroyed) return Promise.reject(new SenderGoneError("the request was not completed"));
  const limits = { keepBytes: API_BODY_BYTES_MAX + 1, readBytesMax: READ_BYTES_MAX, budget };
  return new Promise((resolve, reject) => {
    readBody(request, limits, (read) => {
      if (read.kind === "broken") return reject(new SenderGoneError("the request was not completed"));
      if (read.kind === "whole" && (read.body?.length ?? 0) <= API_BODY_BYTES_MAX) return resolve(read.body);
      if (read.kind !== "whole") onEndless();
      reject(
        read.kind === "overflow"
          ? new AppError("unavailable", ERROR_TEXT.unavailable)
          : new AppError("too_large", ERROR_TEXT.bodyTooLarge),
      );
    });
  });
}
