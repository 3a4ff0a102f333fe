// What a route of the Management API is: data, and no behaviour. The routes themselves are listed in routes.ts.
import type { TSchema } from "typebox";
import type { KeyKind } from "../core/identity.ts";
import type { ApiEndpoint, VersionColumn } from "./versions.ts";

/** For those who hand a schema on without looking into it. */
export type BodySchema = TSchema;

export type RouteMethod = "GET" | "POST" | "DELETE";

/** How a check can be named in a path. */
export type CheckNaming = "uuid" | "uniqueKey";

export type QueryParameter = { name: string; description: string; schema: TSchema; isRepeatable: boolean };

/** What an answer depends on: the version, and what the key may do. */
export type AnswerSight = { column: VersionColumn; keyKind: KeyKind };

export type RouteResponse = {
  description: string;
  /** Of the JSON, or of the text when `type` says that it is one. */
  schema: (sight: AnswerSight) => TSchema;
  /** The content type; JSON when absent. */
  type?: string;
  /** What version 3 answers to a read-write key. */
  example: unknown;
};

export type Route = {
  /** The operation id; core/access.ts says who may call it. */
  endpoint: ApiEndpoint;
  method: RouteMethod;
  /**
   * Below the version, with `{check}` and `{n}` for what varies, in the form that is published. The form with a
   * slash more or less at the end is served as well.
   */
  path: string;
  /** How the check in the path may be named; empty where there is none. */
  namedBy: readonly CheckNaming[];
  summary: string;
  description: string;
  query: readonly QueryParameter[];
  /** The schema of the request body in a version; null where only `api_key` is looked at, or nothing. */
  body: ((column: VersionColumn) => TSchema) | null;
  /** The good answers, by status. */
  responses: Readonly<Record<number, RouteResponse>>;
  /** The statuses of refusals besides those that every route of its kind has. */
  refusals: readonly number[];
  /** Clients are in use that POST to the form without a slash; it is answered like GET, and no body is read. */
  isPostedWithoutSlash?: boolean;
  /** Whether the answer has an ETag, and may be a 304. */
  isTagged: boolean;
};
