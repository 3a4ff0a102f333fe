// What a route of the Management API is: data without behavior. The routes themselves are listed in routes.ts.
import type { TSchema } from "typebox";
import type { KeyKind } from "../core/identity.ts";
import type { ApiEndpoint, VersionColumn } from "./versions.ts";

/** For code that passes a schema on without reading it. */
export type BodySchema = TSchema;

export type RouteMethod = "GET" | "POST" | "DELETE";

/** How a check can be named in a path. */
export type CheckNaming = "uuid" | "uniqueKey";

export type QueryParameter = { name: string; description: string; schema: TSchema; isRepeatable: boolean };

/** What a response depends on: the version, and what the key may do. */
export type AnswerSight = { column: VersionColumn; keyKind: KeyKind };

export type RouteResponse = {
  description: string;
  /** The schema of the JSON, or of the text if `type` is a text type. */
  schema: (sight: AnswerSight) => TSchema;
  /** The content type; JSON if absent. */
  type?: string;
  /** The response of version 3 to a read-write key. */
  example: unknown;
};

export type Route = {
  /** The operation id; permissions are in core/access.ts. */
  endpoint: ApiEndpoint;
  method: RouteMethod;
  /**
   * Below the version, with `{check}` and `{n}` as parameters, in the published form. The form with or without the
   * trailing slash is served as well.
   */
  path: string;
  /** How the check in the path may be named; empty if there is none. */
  namedBy: readonly CheckNaming[];
  summary: string;
  description: string;
  query: readonly QueryParameter[];
  /** The schema of the request body in a version; null if only `api_key` is read, or nothing. */
  body: ((column: VersionColumn) => TSchema) | null;
  /** The success responses, by status. */
  responses: Readonly<Record<number, RouteResponse>>;
  /** The statuses of errors in addition to those that every route of its kind has. */
  refusals: readonly number[];
  /** Existing clients POST to the path without a slash; it is answered like GET, and no body is read. */
  isPostedWithoutSlash?: boolean;
  /** Whether the response has an ETag, and may be a 304. */
  isTagged: boolean;
};
