// The OpenAPI 3.1 document of version 3 of the Management API, made from the routes and the schemas. Nothing is
// said here that they do not say, apart from the words of the introduction.
import { ENDPOINT_RIGHTS } from "../../core/access.ts";
import type { QueryParameter, Route, RouteResponse } from "../route.ts";
import { ROUTES, refusalStatuses } from "../routes.ts";
import { type ApiEndpoint, hasEndpoint, type VersionColumn } from "../versions.ts";
import { UniqueKey, Uuid } from "../check-fields.ts";
import { type JsonSchema, namedSchemas, plain, referring } from "./components.ts";
import { headersOf } from "./headers.ts";
import { refusalOf } from "./refusals.ts";
import { type ParameterExample, REQUEST_EXAMPLES } from "./request-examples.ts";

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
