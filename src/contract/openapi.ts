// The OpenAPI 3.1 documents of the Management API (version 3) and of the Overdue API, generated from their routes.
import type { TSchema } from "typebox";
import { ENDPOINT_RIGHTS, neededScope, type TokenScope } from "../core/access.ts";
import { ERROR_TEXT, FIELD_PROBLEM, fieldText } from "../core/errors.ts";
import { IDEMPOTENCY_KEY_LENGTH_MAX } from "../core/limits.ts";
import * as account from "./api/account.ts";
import * as admin from "./api/admin.ts";
import * as board from "./api/board.ts";
import * as channels from "./api/channels.ts";
import * as checkPage from "./api/check-page.ts";
import * as checks from "./api/checks.ts";
import { exampleOf, EXAMPLE_UUID } from "./api/examples.ts";
import * as fireDrills from "./api/fire-drills.ts";
import * as forecast from "./api/forecast.ts";
import * as history from "./api/history.ts";
import * as incidents from "./api/incidents.ts";
import * as live from "./api/live.ts";
import * as overview from "./api/overview.ts";
import * as problems from "./api/problem.ts";
import * as projects from "./api/projects.ts";
import {
  API_TAGS,
  errorStatuses,
  isRead,
  type KeyAccess,
  paramsOf,
  type RouteDefinition,
} from "./api/route.ts";
import { API_ROUTES } from "./api/routes.ts";
import * as policies from "./api/policies.ts";
import * as nearMisses from "./api/near-misses.ts";
import * as report from "./api/report.ts";
import * as silences from "./api/silences.ts";
import * as statusPages from "./api/status-pages.ts";
import * as timeline from "./api/timeline.ts";
import * as tokens from "./api/tokens.ts";
import { UuidText } from "./api/types.ts";
import { BadgeUrlsSchema } from "./badges.ts";
import { ListedChannelSchema } from "./channels.ts";
import { type CheckBody, checkBodySchema, checkSchema, RULE } from "./check.ts";
import { flipListSchema, pingListSchema } from "./pings.ts";
import type { QueryParameter, Route, RouteResponse } from "./route.ts";
import { ErrorBody, refusalStatuses, ROUTES } from "./routes.ts";
import { type ApiEndpoint, hasEndpoint, UniqueKey, Uuid, type VersionColumn } from "./versions.ts";

type Content = Readonly<Record<string, { schema: JsonSchema; example: unknown }>>;
export type OpenApiParameter = {
  name: string;
  in: "path" | "query" | "header";
  required: boolean;
  description: string;
  schema: JsonSchema;
  explode?: boolean;
  example?: ParameterExample;
};
type OpenApiResponse = {
  description: string;
  headers?: Readonly<Record<string, unknown>>;
  content?: Content;
};
/** `Id` is the type of the operation ids. */
export type OpenApiOperation<Id extends string = string> = {
  operationId: Id;
  summary: string;
  description: string;
  tags: readonly string[];
  security: readonly Readonly<Record<string, readonly string[]>>[];
  parameters: readonly OpenApiParameter[];
  requestBody?: { required: boolean; description: string; content: Content };
  responses: Readonly<Record<string, OpenApiResponse>>;
  /** The scope that a personal access token needs. */
  "x-scope"?: TokenScope;
  /** The least privileged kind of project API key that may call it. */
  "x-api-key"?: KeyAccess;
};
export type OpenApiDocument<Id extends string = string> = {
  openapi: "3.1.0";
  info: Readonly<Record<string, unknown>> & { title: string; version: string; description: string };
  servers: readonly { url: string; description: string }[];
  tags: readonly { name: string; description: string }[];
  paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation<Id>>>>>;
  components: {
    securitySchemes: Readonly<Record<string, unknown>>;
    schemas: Readonly<Record<string, JsonSchema>>;
  };
};

type Headers = Readonly<Record<string, { description: string; schema: { type: "string" | "integer" } }>>;

const RETRY: Headers = {
  "Retry-After": { description: "Seconds to wait before retrying.", schema: { type: "integer" } },
};
const TAG: Headers = {
  ETag: { description: "Identifies this version of the response.", schema: { type: "string" } },
};
const RATE: Headers = {
  "RateLimit-Limit": {
    description: "Number of requests per minute allowed for the API key.",
    schema: { type: "integer" },
  },
  "RateLimit-Remaining": { description: "Number of requests left.", schema: { type: "integer" } },
  "RateLimit-Reset": {
    description: "Seconds until the limit is fully restored.",
    schema: { type: "integer" },
  },
};

/** JSON Schema as it appears in the document. */
export type JsonSchema = { readonly [keyword: string]: unknown };

/** Internal keywords of a schema, which are of no use to readers. */
const INTERNAL_KEYWORDS: readonly string[] = [RULE];

/** A schema as plain JSON, without internal keywords. */
function plain(schema: TSchema): JsonSchema {
  return JSON.parse(
    JSON.stringify(schema, (key, value: unknown) => (INTERNAL_KEYWORDS.includes(key) ? undefined : value)),
  ) as JsonSchema;
}

/** The schema with references to named schemas. */
function referring(schema: JsonSchema, names: Names): JsonSchema {
  const walk = (value: unknown): unknown => {
    if (typeof value !== "object" || value === null) return value;
    const name = names.get(JSON.stringify(value));
    return name === undefined ? walkInside(value) : refTo(name);
  };
  const walkInside = (value: object): unknown =>
    Array.isArray(value)
      ? value.map(walk)
      : Object.fromEntries(Object.entries(value).map(([key, one]) => [key, walk(one)]));
  return walk(schema) as JsonSchema;
}

function refTo(name: string): JsonSchema {
  return { $ref: `#/components/schemas/${name}` };
}

/** The names of schemas by their JSON. */
type Names = ReadonlyMap<string, string>;

function namesOf(named: Readonly<Record<string, JsonSchema>>): Names {
  return new Map(Object.entries(named).map(([name, one]) => [JSON.stringify(one), name]));
}

type Parts<Id extends string> = {
  title: string;
  version: string;
  description: string;
  serverUrl: string;
  tags: OpenApiDocument["tags"];
  operations: readonly { path: string; method: string; operation: OpenApiOperation<Id> }[];
  securitySchemes: Readonly<Record<string, unknown>>;
  schemas: Readonly<Record<string, JsonSchema>>;
};

function documentOf<Id extends string>(parts: Parts<Id>): OpenApiDocument<Id> {
  const { title, version, description, serverUrl, tags, operations, securitySchemes, schemas } = parts;
  const paths: Record<string, Record<string, OpenApiOperation<Id>>> = {};
  for (const { path, method, operation } of operations) {
    paths[path] = { ...paths[path], [method.toLowerCase()]: operation };
  }
  return {
    openapi: "3.1.0",
    info: { title, version, description, license: { name: "Apache-2.0", identifier: "Apache-2.0" } },
    servers: [{ url: serverUrl, description: "This server" }],
    tags,
    paths,
    components: { securitySchemes, schemas },
  };
}

// The Management API.

/** The headers of a response, as a field of its description; nothing if there are none. */
function headersOf(
  { endpoint, isTagged }: Pick<Route, "endpoint" | "isTagged">,
  status: number,
): { headers?: Headers } {
  const isKeyed = ENDPOINT_RIGHTS[endpoint] !== "open";
  const isGood = status < 300;
  const headers = {
    ...(isTagged && isGood && TAG),
    ...(isKeyed && (isGood || status === 429) && RATE),
    ...((status === 429 || status === 503) && RETRY),
  };
  return Object.keys(headers).length === 0 ? {} : { headers };
}

type Refusal = { description: string; text: string };

const REFUSALS: Readonly<Record<number, Refusal>> = {
  400: {
    description:
      "The body is not a JSON object, or a field has an invalid type or value. Only the first problem is reported.",
    text: fieldText("timeout", FIELD_PROBLEM.tooSmall),
  },
  401: { description: "The API key is missing or invalid.", text: ERROR_TEXT.missingKey },
  403: {
    description:
      "The API key does not allow this operation: it is read-only, or it belongs to another project.",
    text: ERROR_TEXT.wrongKey,
  },
  404: { description: "The check does not exist.", text: ERROR_TEXT.notFound },
  409: { description: "The check is not paused.", text: ERROR_TEXT.notPaused },
  413: { description: "The request body is larger than 2.5 MiB.", text: ERROR_TEXT.bodyTooLarge },
  429: {
    description: "Too many requests with this API key. `Retry-After` contains the number of seconds to wait.",
    text: ERROR_TEXT.tooManyRequests,
  },
  500: { description: "Internal server error.", text: ERROR_TEXT.internal },
  503: { description: "The service is temporarily unavailable.", text: ERROR_TEXT.unavailable },
};

/** For endpoints where a status has another or an additional meaning. */
const SPECIAL: Readonly<Partial<Record<`${ApiEndpoint} ${number}`, Refusal>>> = {
  "createCheck 403": {
    description: "The API key is read-only, or the account has reached its check limit.",
    text: ERROR_TEXT.checkLimit,
  },
  "pauseCheck 400": { description: "The body is not a JSON object.", text: ERROR_TEXT.unparsableBody },
  "resumeCheck 400": { description: "The body is not a JSON object.", text: ERROR_TEXT.unparsableBody },
  "listFlips 400": {
    description: "A filter is invalid.",
    text: "invalid query parameter: seconds",
  },
  "getPingBody 404": {
    description: "The check or ping does not exist, or the ping has no stored body.",
    text: ERROR_TEXT.notFound,
  },
  "getStatus 503": {
    description: "The database query failed or took more than two seconds.",
    text: ERROR_TEXT.unavailable,
  },
};

/** The meaning of a status in the response of an endpoint. Throws if the status has no description. */
function refusalOf(endpoint: ApiEndpoint, status: number): Refusal {
  const found = SPECIAL[`${endpoint} ${status}`] ?? REFUSALS[status];
  if (found === undefined) throw new Error(`no description for status ${status}`);
  return found;
}

/** The named schemas in a column of the version table. */
function namedSchemas(column: VersionColumn): Readonly<Record<string, JsonSchema>> {
  const check = (endpoint: "getCheck" | "createCheck", keyKind: "readWrite" | "readOnly") =>
    checkSchema({ column, endpoint, keyKind });
  const schemas: Record<string, TSchema> = {
    Check: check("getCheck", "readWrite"),
    ChangedCheck: check("createCheck", "readWrite"),
    ReadOnlyCheck: check("getCheck", "readOnly"),
    CheckRequest: checkBodySchema(column.params),
    Ping: itemsOf(pingListSchema(column.pingFields), "pings"),
    Flip: itemsOf(flipListSchema("array"), null),
    Integration: ListedChannelSchema,
    BadgeUrls: BadgeUrlsSchema,
    Error: ErrorBody,
  };
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, plain(schema)]));
}

type Listing = { items?: TSchema };

/** The schema of the items of a list, which may be a field of an object. */
function itemsOf(schema: TSchema, field: string | null): TSchema {
  const { properties, items } = schema as Listing & { properties?: Record<string, Listing> };
  const found = field === null ? items : properties?.[field]?.items;
  if (found === undefined) throw new Error(`a list has no items in ${field ?? "itself"}`);
  return found;
}

// Example requests. A test sends them to a running server and compares the responses with the examples of the routes.

/** A value in a path or a query; several texts are repeated parameters. */
export type ParameterExample = string | number | readonly string[];

export type RequestExample = {
  query?: Readonly<Record<string, ParameterExample>>;
  body?: Readonly<CheckBody>;
};

export const REQUEST_EXAMPLES: Readonly<Partial<Record<ApiEndpoint, RequestExample>>> = {
  listChecks: { query: { tag: ["prod", "backup"] } },
  createCheck: {
    body: {
      name: "Nightly backup",
      slug: "nightly-backup",
      tags: "prod backup",
      desc: "Dumps the database and copies it away.",
      schedule: "30 2 * * *",
      tz: "UTC",
      grace: 3600,
      channels: "*",
      unique: ["slug"],
    },
  },
  updateCheck: { body: { grace: 3600, tags: "prod backup" } },
  listFlips: { query: { seconds: 86_400 } },
};

const KEY_SCHEME = "apiKey";

const DESCRIPTION = `Manage checks, and read pings, flips, integrations, and badges.

Requests and responses are JSON, regardless of the content type; only the body of a ping is plain text. Paths work with and without a trailing slash. Unknown fields are ignored.

**Authentication.** An API key belongs to one project. Send it in the \`X-Api-Key\` header, or, in a POST request, in the \`api_key\` field of the JSON body. With a read-only key, you can list and get checks, flips, and badges. Responses then contain \`unique_key\` instead of \`uuid\`, \`channels\`, and the URLs to ping or change a check.

**Errors** have the form \`{"error": "<text>"}\`, with the status codes listed for each operation. Unsupported methods are answered with 405.

**Extensions.** Fields marked \`x-extension\` are additions to the Healthchecks API. They do not rename or replace other fields, and responses include them only if they differ from their default.`;

const TAGS = [
  { name: "Checks", description: "The monitored jobs." },
  { name: "History", description: "Pings, ping bodies, and flips of a check." },
  { name: "Project", description: "Integrations and badges of the project." },
  { name: "Service", description: "Status of the service." },
] as const;

const HISTORY: readonly ApiEndpoint[] = ["listPings", "getPingBody", "listFlips"];

function tagOf({ endpoint, path }: Route): (typeof TAGS)[number]["name"] {
  if (endpoint === "getStatus") return "Service";
  if (HISTORY.includes(endpoint)) return "History";
  return path.startsWith("/checks/") ? "Checks" : "Project";
}

/** The document of a version of the Management API, served at `serverUrl`. */
export function openApiDocument({
  column,
  serverUrl,
}: {
  column: VersionColumn;
  serverUrl: string;
}): OpenApiDocument<ApiEndpoint> {
  const schemas = namedSchemas(column);
  const context = { column, names: namesOf(schemas) };
  return documentOf({
    title: "Overdue Management API",
    version: `${column.number}`,
    description: DESCRIPTION,
    serverUrl,
    tags: TAGS,
    operations: ROUTES.filter(({ endpoint }) => hasEndpoint(column, endpoint)).map((route) => ({
      path: route.path,
      method: route.method,
      operation: managementOperation(route, context),
    })),
    securitySchemes: {
      [KEY_SCHEME]: {
        type: "apiKey",
        in: "header",
        name: "X-Api-Key",
        description:
          "An API key of the project. In a POST request, you can send it in the `api_key` field of the JSON body instead. The header takes precedence.",
        "x-body-field": "api_key",
      },
    },
    schemas,
  });
}

type Context = { column: VersionColumn; names: Names };

function managementOperation(route: Route, context: Context): OpenApiOperation<ApiEndpoint> {
  return {
    operationId: route.endpoint,
    summary: route.summary,
    description: route.description,
    tags: [tagOf(route)],
    security: securityOf(route),
    parameters: [...pathParameters(route), ...queryParameters(route), ...conditionOf(route)],
    ...requestBody(route, context),
    responses: responsesOf(route, context),
  };
}

/** A POST without the header is valid, because its body may contain the key. */
function securityOf({ endpoint, method }: Route): OpenApiOperation["security"] {
  if (ENDPOINT_RIGHTS[endpoint] === "open") return [];
  return method === "POST" ? [{ [KEY_SCHEME]: [] }, {}] : [{ [KEY_SCHEME]: [] }];
}

const EXAMPLE_CHECK_UUID = "31365bce-8da9-4729-8ff3-aaa71d56b712";

function pathParameters({ path, namedBy }: Route): OpenApiParameter[] {
  const byKey = namedBy.includes("uniqueKey");
  const parameters: OpenApiParameter[] = [];
  if (path.includes("{check}")) {
    parameters.push({
      name: "check",
      in: "path",
      required: true,
      description: byKey ? "The check's UUID or its unique key." : "The check's UUID.",
      schema: byKey ? { anyOf: [plain(Uuid), plain(UniqueKey)] } : plain(Uuid),
      example: EXAMPLE_CHECK_UUID,
    });
  }
  if (path.includes("{n}")) {
    parameters.push({
      name: "n",
      in: "path",
      required: true,
      description: "The sequence number of the ping within its check.",
      schema: { type: "integer", minimum: 1 },
      example: 2,
    });
  }
  return parameters;
}

function queryParameters({ endpoint, query }: Route): OpenApiParameter[] {
  return query.map((parameter: QueryParameter) => {
    const { name, description, isRepeatable } = parameter;
    const schema = plain(parameter.schema);
    const example = REQUEST_EXAMPLES[endpoint]?.query?.[name];
    return {
      name,
      in: "query",
      required: false,
      description,
      schema: isRepeatable ? { type: "array", items: schema } : schema,
      ...(isRepeatable && { explode: true }),
      ...(example !== undefined && { example }),
    };
  });
}

/** The characters that HTTP allows in a header; a request with any other is rejected before it reaches an operation. */
const HEADER_VALUE = "^[\\t\\u0020-\\u007e\\u0080-\\u00ff]*$";

function conditionOf({ isTagged }: Route): OpenApiParameter[] {
  if (!isTagged) return [];
  return [
    {
      name: "If-None-Match",
      in: "header",
      required: false,
      description:
        "The `ETag` of an earlier response. If nothing has changed since, the response is 304. Lists larger than 10 MiB are streamed and have no `ETag`.",
      schema: { type: "string", pattern: HEADER_VALUE },
    },
  ];
}

function requestBody(
  { endpoint, method, body }: Route,
  { column, names }: Context,
): Pick<OpenApiOperation, "requestBody"> {
  if (method !== "POST") return {};
  const schema =
    body === null
      ? { type: "object", properties: { api_key: API_KEY_FIELD } }
      : referring(plain(body(column)), names);
  const description =
    BODY_DESCRIPTIONS[endpoint] ?? "Contains only the API key, if it is not sent in the header.";
  const example = REQUEST_EXAMPLES[endpoint]?.body ?? {};
  return {
    requestBody: { required: false, description, content: { "application/json": { schema, example } } },
  };
}

const BODY_DESCRIPTIONS: Readonly<Partial<Record<ApiEndpoint, string>>> = {
  createCheck: "All fields are optional. Omitted fields get their default value.",
  updateCheck: "All fields are optional. Omitted fields stay unchanged.",
};

const API_KEY_FIELD = { type: "string", description: "The API key, if it is not sent in the header." };

function responsesOf(route: Route, context: Context): OpenApiOperation["responses"] {
  const responses: Record<string, OpenApiResponse> = {};
  for (const [status, response] of Object.entries(route.responses)) {
    responses[status] = goodResponse(route, { status: Number(status), response, context });
  }
  if (route.isTagged) responses["304"] = { description: "Nothing has changed since the given `ETag`." };
  for (const status of refusalStatuses(route)) {
    const { description, text } = refusalOf(route.endpoint, status);
    const schema = refTo("Error");
    responses[status] = {
      description,
      ...headersOf(route, status),
      content: { "application/json": { schema, example: { error: text } } },
    };
  }
  return responses;
}

function goodResponse(
  route: Route,
  { status, response, context }: { status: number; response: RouteResponse; context: Context },
): OpenApiResponse {
  const { column, names } = context;
  const rights = ENDPOINT_RIGHTS[route.endpoint];
  const full = plain(response.schema({ column, keyKind: "readWrite" }));
  const reduced = plain(response.schema({ column, keyKind: "readOnly" }));
  const differs = rights !== "open" && rights.readOnly && JSON.stringify(full) !== JSON.stringify(reduced);
  const schema = differs
    ? { anyOf: [referring(full, names), referring(reduced, names)] }
    : referring(full, names);
  return {
    description: response.description,
    ...headersOf(route, status),
    content: { [response.type ?? "application/json"]: { schema, example: response.example } },
  };
}

// The Overdue API.

const OVERDUE_DESCRIPTION = `Manage everything in Overdue: projects and their members, checks, channels, and your account. The dashboard uses this API, so that programs can do whatever users can. It is separate from the Healthchecks-compatible Management API.

Requests and responses are JSON. Times are Unix timestamps in milliseconds. Unknown fields in request bodies are rejected. Ignore unknown fields in responses: later releases may add some.

**Authentication.** Send a personal access token in the header \`Authorization: Bearer …\`, or an API key of a project in the header \`X-Api-Key\`. A token has the permissions of your account, limited by its scope: \`read\` allows requests that change nothing, \`write\` also allows changes, and \`admin\` also allows requests that require re-authentication in the dashboard, and server administration. An API key can access one project, and cannot manage projects, members, or keys. Browsers use the session cookie; requests that change something must then come from the dashboard's own origin.

**Permissions.** Each operation lists the credentials that it accepts. Resources that you have no access to are answered with 404.

**Lists** have at most one page of items. Send \`next\` as the query parameter \`cursor\` to get the next page; on the last page, it is null.

**Concurrent changes.** Send the \`ETag\` of a resource in \`If-Match\` to reject a change with 412 if the resource was changed in the meantime. **Retries.** Send an \`Idempotency-Key\` to repeat a request safely.

**Errors** use the problem details format (RFC 9457). In programs, use \`type\` and \`field\`; \`detail\` is a message for people. Unsupported methods are answered with 405. **Rate limits** apply to each API key and token; see the \`RateLimit-*\` headers.`;

type ProblemCase = { description: string; problem: problems.Problem };

const PROBLEMS: Readonly<Record<number, ProblemCase>> = {
  400: {
    description: "A field or parameter is invalid. Only the first problem is reported.",
    problem: problems.problemOf("invalid", "The name must not be empty.", { field: "name" }),
  },
  401: {
    description: "The credentials are missing or invalid.",
    problem: problems.problemOf("unauthenticated", "The API key or token is invalid, expired, or revoked."),
  },
  403: {
    description:
      "Your role, the scope of the token, or the kind of API key does not allow this, or a limit has been reached.",
    problem: problems.problemOf("forbidden", "Your role in this project doesn't allow this."),
  },
  404: {
    description: "The resource does not exist, or you have no access to it.",
    problem: problems.problemOf("not_found", "It doesn't exist, or you don't have access to it."),
  },
  409: {
    description: "The request conflicts with the current state; see `detail`.",
    problem: problems.problemOf("conflict", "The group has no members."),
  },
  412: {
    description: "The resource was changed after the version in `If-Match`.",
    problem: problems.problemOf("precondition_failed", "The channel was changed after you loaded it."),
  },
  413: {
    description: "The request body is larger than 2.5 MiB.",
    problem: problems.problemOf("too_large", "Request body too large."),
  },
  422: {
    description: "The `Idempotency-Key` was already used for a different request.",
    problem: problems.problemOf(
      "unprocessable",
      "The Idempotency-Key was already used for a different request.",
    ),
  },
  429: {
    description: "Too many requests. `Retry-After` contains the number of seconds to wait.",
    problem: problems.problemOf("rate_limited", "Too many requests."),
  },
  500: {
    description: "Internal server error.",
    problem: problems.problemOf("internal", "Internal server error."),
  },
  503: {
    description: "The service is temporarily unavailable.",
    problem: problems.problemOf("unavailable", "The server is temporarily unavailable. Try again later."),
  },
};

/** The properties of a channel kind that the contract needs. */
export type KindSchema = { name: string; schema: object };

/** The document of the Overdue API, served at `serverUrl`. */
export function overdueDocument({
  kinds,
  serverUrl,
}: {
  kinds: readonly KindSchema[];
  serverUrl: string;
}): OpenApiDocument {
  const named = overdueSchemas(kinds);
  const names = namesOf(named);
  const operations = Object.entries(DEFINITIONS).map(([id, definition]) => ({
    path: definition.path,
    method: definition.method,
    operation: overdueOperation(id, { definition, names }),
  }));
  const schemas = usedSchemas(operations, { named, names });
  return documentOf({
    title: "Overdue API",
    version: "1",
    description: OVERDUE_DESCRIPTION,
    serverUrl,
    tags: Object.entries(API_TAGS)
      .map(([name, description]) => ({ name, description }))
      .filter(({ name }) => operations.some(({ operation: { tags } }) => tags.includes(name))),
    operations,
    securitySchemes: {
      token: {
        type: "http",
        scheme: "bearer",
        description: "A personal access token. `x-scope` of an operation is the scope that the token needs.",
      },
      apiKey: {
        type: "apiKey",
        in: "header",
        name: "X-Api-Key",
        description:
          "An API key of a project. `x-api-key` of an operation is the least privileged kind of key that it accepts.",
      },
      session: {
        type: "apiKey",
        in: "cookie",
        name: "overdue_session",
        description:
          "The session of the dashboard. If the server has an https URL, the name starts with `__Host-` or `__Secure-`.",
      },
    },
    schemas,
  });
}

const DEFINITIONS: Readonly<Record<string, RouteDefinition>> = API_ROUTES;
const CREATE_CHANNEL = "createChannel";

/** Exporting a schema from one of these files gives it a name in the document. */
const SCHEMA_MODULES: readonly Readonly<Record<string, unknown>>[] = [
  projects,
  overview,
  timeline,
  checks,
  checkPage,
  history,
  incidents,
  channels,
  policies,
  silences,
  nearMisses,
  forecast,
  board,
  fireDrills,
  report,
  statusPages,
  live,
  account,
  tokens,
  admin,
  problems,
];

function overdueSchemas(kinds: readonly KindSchema[]): Record<string, JsonSchema> {
  const named: Record<string, JsonSchema> = {};
  const add = (name: string, schema: JsonSchema) => {
    if (name in named && JSON.stringify(named[name]) !== JSON.stringify(schema)) {
      throw new Error(`two schemas are named ${name}`);
    }
    named[name] = schema;
  };
  for (const exports of SCHEMA_MODULES) {
    for (const [name, value] of Object.entries(exports)) {
      if (isObjectSchema(value)) add(name.replace(/Schema$/, ""), plain(value));
    }
  }
  for (const { name, schema } of kinds) add(configName(name), configSchema(schema));
  const { body } = DEFINITIONS[CREATE_CHANNEL] ?? {};
  if (body !== undefined) add("NewChannel", newChannelSchema(plain(body), kinds));
  return named;
}

/** The body of a new channel, with the configuration of its kind. */
function newChannelSchema(body: JsonSchema, kinds: readonly KindSchema[]): JsonSchema {
  const { kind: _, config: __, ...fields } = body["properties"] as Record<string, JsonSchema>;
  return {
    oneOf: kinds.map(({ name }) => ({
      type: "object",
      title: name,
      required: ["kind", "config"],
      properties: { kind: { const: name }, config: refTo(configName(name)), ...fields },
      additionalProperties: false,
    })),
  };
}

/** Whether a value is the schema of an object, or of one of several. */
function isObjectSchema(value: unknown): value is TSchema {
  if (typeof value !== "object" || value === null || !("~kind" in value)) return false;
  const { properties = {}, anyOf = [] } = value as { properties?: object; anyOf?: readonly object[] };
  return (
    Object.keys(properties).length > 1 || (anyOf.length > 1 && anyOf.every((one) => "properties" in one))
  );
}

/** The configuration of a channel in a request: fields with a default are optional. */
function configSchema(schema: object): JsonSchema {
  const json = JSON.parse(JSON.stringify(schema)) as JsonSchema;
  const properties = json["properties"] as Record<string, JsonSchema>;
  const required = Object.entries(properties)
    .filter(([, field]) => field["default"] === undefined)
    .map(([name]) => name);
  return { ...json, required };
}

function configName(kind: string): string {
  return `${kind.charAt(0).toUpperCase()}${kind.slice(1)}Config`;
}

type Naming = { named: Readonly<Record<string, JsonSchema>>; names: Names };

/** The named schemas that operations refer to, directly or through another one. */
function usedSchemas(operations: unknown, { named, names }: Naming): Record<string, JsonSchema> {
  const used = new Map<string, JsonSchema>();
  const visit = (value: unknown) => {
    for (const [, name = ""] of JSON.stringify(value).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      const schema = named[name];
      if (schema === undefined || used.has(name)) continue;
      const inner = Object.entries(schema).map(([key, one]) => [key, referInside(one, names)]);
      const written = Object.fromEntries(inner) as JsonSchema;
      used.set(name, written);
      visit(written);
    }
  };
  visit(operations);
  return Object.fromEntries(
    Object.keys(named).flatMap((name) => {
      const schema = used.get(name);
      return schema === undefined ? [] : [[name, schema]];
    }),
  );
}

function referInside(value: unknown, names: Names): unknown {
  return typeof value === "object" && value !== null ? referring(value as JsonSchema, names) : value;
}

type Defined = { definition: RouteDefinition; names: Names };

function overdueOperation(id: string, { definition, names }: Defined): OpenApiOperation {
  const { summary, description = `${summary}.`, tag, access, keys, body, bodyExample, reauth } = definition;
  const rule = { access, keys, isRead: isRead(definition), needsReauth: reauth === true };
  const schema = id === CREATE_CHANNEL ? refTo("NewChannel") : body && referring(plain(body), names);
  return {
    operationId: id,
    summary,
    description,
    tags: [tag],
    security:
      access === "anyone" ? [] : [{ token: [] }, ...(keys === null ? [] : [{ apiKey: [] }]), { session: [] }],
    ...(access !== "anyone" && { "x-scope": neededScope(rule), "x-api-key": keys }),
    parameters: [...overdueParameters(definition), ...queryFields(definition), ...headerFields(definition)],
    ...(body !== undefined &&
      schema !== undefined && {
        requestBody: {
          required: true,
          description: "",
          content: {
            "application/json": { schema, example: bodyExample ?? exampleOf(plain(body)) },
          },
        },
      }),
    responses: overdueResponses(definition, names),
  };
}

const UUID_PARAMETERS: readonly string[] = [
  "project",
  "check",
  "channel",
  "account",
  "invitation",
  "passkey",
  "silence",
  "page",
  "post",
  "subscriber",
  "token",
];
const NUMBER_SCHEMA = { type: "integer", minimum: 1, maximum: 999_999_999_999_999 };

function overdueParameters({ path }: RouteDefinition): OpenApiParameter[] {
  return paramsOf(path).map((name) => {
    const isUuid = UUID_PARAMETERS.includes(name);
    return {
      name,
      in: "path",
      required: true,
      description: `The ID of the ${name}.`,
      schema: isUuid ? plain(UuidText) : NUMBER_SCHEMA,
      example: isUuid ? EXAMPLE_UUID : 1,
    };
  });
}

function queryFields({ query }: RouteDefinition): OpenApiParameter[] {
  if (query === undefined) return [];
  const { properties = {}, required = [] } = plain(query) as {
    properties?: Readonly<Record<string, JsonSchema>>;
    required?: readonly string[];
  };
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: "query",
    required: required.includes(name),
    description: typeof description === "string" ? description : "",
    schema,
  }));
}

function headerFields({ etag, method, idempotencyKey }: RouteDefinition): OpenApiParameter[] {
  const parameters: OpenApiParameter[] = [];
  if (etag === true && method !== "GET" && method !== "POST") {
    parameters.push({
      name: "If-Match",
      in: "header",
      required: false,
      description: "The `ETag` of the version to change.",
      schema: { type: "string", pattern: '^("[0-9]{1,10}"|\\*)$' },
    });
  }
  if (idempotencyKey === true) {
    parameters.push({
      name: "Idempotency-Key",
      in: "header",
      required: false,
      description: "A unique value for this request, such as a random UUID.",
      schema: { type: "string", pattern: `^[\\x21-\\x7e]{1,${IDEMPOTENCY_KEY_LENGTH_MAX}}$` },
    });
  }
  return parameters;
}

function overdueResponses(definition: RouteDefinition, names: Names): OpenApiOperation["responses"] {
  const { success, access, method, etag } = definition;
  const { status, description, schema: type, example } = success;
  const json = type === null ? null : plain(type);
  const rate = access === "anyone" ? {} : RATE;
  const headers = { ...rate, ...(etag === true && method !== "DELETE" && TAG) };
  const responses: Record<string, OpenApiResponse> = {
    [status]: {
      description,
      ...(Object.keys(headers).length > 0 && { headers }),
      ...(json !== null && {
        content: {
          [success.type ?? "application/json"]: {
            schema: referring(json, names),
            example: example ?? exampleOf(json),
          },
        },
      }),
    },
  };
  for (const code of errorStatuses(definition)) responses[code] = problemResponse(code, rate);
  return responses;
}

function problemResponse(status: number, rate: Headers): OpenApiResponse {
  const known = PROBLEMS[status];
  if (known === undefined) throw new Error(`no description for status ${status}`);
  const headers = { ...(status === 429 && rate), ...((status === 429 || status === 503) && RETRY) };
  return {
    description: known.description,
    ...(Object.keys(headers).length > 0 && { headers }),
    content: { [problems.PROBLEM_TYPE]: { schema: refTo("Problem"), example: known.problem } },
  };
}
