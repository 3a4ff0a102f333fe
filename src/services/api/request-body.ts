// Reads the body of an API request, whole and of a bounded size. A body that is too large is read on for a while
// and dropped, so that the sender gets to read the answer and the connection stays usable.
import type { IncomingMessage } from "node:http";
import { AppError, ERROR_TEXT } from "../../core/errors.ts";
import { API_BODY_BYTES_MAX } from "../../core/limits.ts";
import { announcesBody, type ByteBudget, readBody } from "../../lib/http/body.ts";

/** Beyond this nothing is read any more, and the connection is closed after the answer. */
const READ_BYTES_MAX = 8 * API_BODY_BYTES_MAX;

/** The sender went away in the middle of its request; there is nobody to answer. */
export class SenderGoneError extends Error {
  override readonly name = "SenderGoneError";
}

/** The bytes of a body, or null for none. `endless` tells that the rest of the request will not be read. */
export function readRequestBody(
  request: IncomingMessage,
  { budget, onEndless }: { budget: ByteBudget; onEndless: () => void },
): Promise<Uint8Array | null> {
  if (!announcesBody(request)) return Promise.resolve(null);
  // It went away while others of its connection had their turn; nothing will be heard of it any more.
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
