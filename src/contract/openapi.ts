// The OpenAPI 3.1 document of version 3 of the Management API, generated from its routes and schemas.
import type { TSchema } from "typebox";
import { ENDPOINT_RIGHTS } from "../core/access.ts";
import { ERROR_TEXT, FIELD_PROBLEM, fieldText } from "../core/errors.ts";
import { BadgeUrlsSchema } from "./badges.ts";
import { ListedChannelSchema } from "./channels.ts";
import { type CheckBody, checkBodySchema, checkSchema, RULE } from "./check.ts";
import { flipListSchema, pingListSchema } from "./pings.ts";
import type { QueryParameter, Route, RouteResponse } from "./route.ts";
import { ErrorBody, refusalStatuses, ROUTES } from "./routes.ts";
import { type ApiEndpoint, hasEndpoint, UniqueKey, Uuid, type VersionColumn } from "./versions.ts";

export type Headers = Readonly<
  Record<string, { description: string; schema: { type: "string" | "integer" } }>
>;

export const RETRY: Headers = {
  "Retry-After": { description: "Seconds to wait before retrying.", schema: { type: "integer" } },
};
export const TAG: Headers = {
  ETag: { description: "Identifies this version of the response.", schema: { type: "string" } },
};
export const RATE: Headers = {
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

/** The headers of an answer, as a field of its description; nothing where there are none. */
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

export type Refusal = { description: string; text: string };

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

/** Where a status means something else, or something more. */
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

/** What a status means in the answer to an endpoint. Throws for one that nobody has described. */
function refusalOf(endpoint: ApiEndpoint, status: number): Refusal {
  const found = SPECIAL[`${endpoint} ${status}`] ?? REFUSALS[status];
  if (found === undefined) throw new Error(`no description for status ${status}`);
  return found;
}

// The named schemas, and the references to them.

/** JSON Schema as it stands in the document. */
export type JsonSchema = { readonly [keyword: string]: unknown };

/** Marks what is ours in a schema, or of no use to readers. */
const INTERNAL_KEYWORDS: readonly string[] = [RULE];

/** The schemas that have a name in a column of the version table. */
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

/** What the items of a list look like, which may be a field of an object. */
function itemsOf(schema: TSchema, field: string | null): TSchema {
  const { properties, items } = schema as Listing & { properties?: Record<string, Listing> };
  const found = field === null ? items : properties?.[field]?.items;
  if (found === undefined) throw new Error(`a list has no items in ${field ?? "itself"}`);
  return found;
}

/** A schema as plain JSON, without what only the program reads. */
export function plain(schema: TSchema): JsonSchema {
  return JSON.parse(
    JSON.stringify(schema, (key, value: unknown) => (INTERNAL_KEYWORDS.includes(key) ? undefined : value)),
  ) as JsonSchema;
}

/** The schema with a reference in place of everything that has a name. */
export function referring(schema: JsonSchema, named: Readonly<Record<string, JsonSchema>>): JsonSchema {
  const names = new Map(Object.entries(named).map(([name, one]) => [JSON.stringify(one), name]));
  const walk = (value: unknown): unknown => {
    if (typeof value !== "object" || value === null) return value;
    const name = names.get(JSON.stringify(value));
    if (name !== undefined) return { $ref: `#/components/schemas/${name}` };
    if (Array.isArray(value)) return value.map(walk);
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, walk(one)]));
  };
  return walk(schema) as JsonSchema;
}

// Example requests. A test sends them to a running server and compares the responses with the examples of the routes.

/** What stands in a path or a query; several texts are given one after the other. */
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
export type OpenApiResponse = {
  description: string;
  headers?: Readonly<Record<string, unknown>>;
  content?: Content;
};
/** `Id` is the names of the operations; our own API has others than the compatible one. */
export type OpenApiOperation<Id extends string = ApiEndpoint> = {
  operationId: Id;
  summary: string;
  description: string;
  tags: readonly string[];
  security: readonly Readonly<Record<string, readonly string[]>>[];
  parameters: readonly OpenApiParameter[];
  requestBody?: { required: boolean; description: string; content: Content };
  responses: Readonly<Record<string, OpenApiResponse>>;
};
export type OpenApiDocument<Id extends string = ApiEndpoint> = {
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

/** The document for a column of the version table, served under an address that ends in its version. */
export function openApiDocument({
  column,
  serverUrl,
}: {
  column: VersionColumn;
  serverUrl: string;
}): OpenApiDocument {
  const named = namedSchemas(column);
  const paths: Record<string, Record<string, OpenApiOperation>> = {};
  for (const route of ROUTES) {
    if (!hasEndpoint(column, route.endpoint)) continue;
    paths[route.path] = {
      ...paths[route.path],
      [route.method.toLowerCase()]: operation(route, { column, named }),
    };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Overdue Management API",
      version: `${column.number}`,
      description: DESCRIPTION,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: serverUrl, description: "This server" }],
    tags: TAGS,
    paths,
    components: {
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
      schemas: named,
    },
  };
}

type Context = { column: VersionColumn; named: Readonly<Record<string, JsonSchema>> };

function operation(route: Route, context: Context): OpenApiOperation {
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

/** A POST without the header is all right, since its body may carry the key. */
function securityOf({ endpoint, method }: Route): OpenApiOperation["security"] {
  if (ENDPOINT_RIGHTS[endpoint] === "open") return [];
  return method === "POST" ? [{ [KEY_SCHEME]: [] }, {}] : [{ [KEY_SCHEME]: [] }];
}

const EXAMPLE_UUID = "31365bce-8da9-4729-8ff3-aaa71d56b712";

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
      example: EXAMPLE_UUID,
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

/** What HTTP can carry in a header; a request with anything else is none, and no operation gets to see it. */
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
  { column, named }: Context,
): Pick<OpenApiOperation, "requestBody"> {
  if (method !== "POST") return {};
  const schema =
    body === null
      ? { type: "object", properties: { api_key: API_KEY_FIELD } }
      : referring(plain(body(column)), named);
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
    const schema = { $ref: "#/components/schemas/Error" };
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
  const { column, named } = context;
  const rights = ENDPOINT_RIGHTS[route.endpoint];
  const full = plain(response.schema({ column, keyKind: "readWrite" }));
  const reduced = plain(response.schema({ column, keyKind: "readOnly" }));
  const differs = rights !== "open" && rights.readOnly && JSON.stringify(full) !== JSON.stringify(reduced);
  const schema = differs
    ? { anyOf: [referring(full, named), referring(reduced, named)] }
    : referring(full, named);
  return {
    description: response.description,
    ...headersOf(route, status),
    content: { [response.type ?? "application/json"]: { schema, example: response.example } },
  };
}
