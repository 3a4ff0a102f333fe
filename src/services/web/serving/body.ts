// The body of a request of the dashboard: JSON from scripts, fields from plain forms. Bounded by the framework.
import type { FastifyInstance } from "fastify";
import { WebRefusal } from "../route.ts";

/** Reads bodies for all routes of an app. A body that cannot be read is refused with a sentence. */
export function addBodyReader(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "buffer" }, (request, bytes, done) => {
    const type = request.headers["content-type"] ?? "";
    try {
      done(null, readFields(type, Buffer.from(bytes).toString("utf8")));
    } catch {
      done(new WebRefusal("invalid", "The body of the request cannot be read as JSON."), undefined);
    }
  });
}

function readFields(type: string, text: string): unknown {
  if (text === "") return null;
  if (!type.startsWith("application/x-www-form-urlencoded")) return JSON.parse(text);
  return Object.fromEntries(new URLSearchParams(text));
}
