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

const DESCRIPTION = `Manages checks, and reads pings, flips, integrations and badges.

Requests and answers are JSON, whatever their content type says; only the body of a ping is plain text. Paths work with and without a final slash. Fields that are not known are ignored.

**Keys.** An API key belongs to one project. It is sent in the header \`X-Api-Key\`; a POST may carry it as the field \`api_key\` of its JSON body instead. A read-only key may list and get checks, flips and badges; it sees \`unique_key\` in place of \`uuid\`, \`channels\` and the addresses by which a check is pinged or changed.

**Errors** have the form \`{"error": "<text>"}\`, with the status codes that each operation lists. Any path answers 405 to a method that it does not know.

**Extensions.** Fields marked \`x-extension\` are beyond what compatible servers promise. They rename and replace nothing, and an answer shows them only where they differ from their default.`;

const TAGS = [
  { name: "Checks", description: "What is watched." },
  { name: "History", description: "What was heard of a check: pings, their bodies, flips." },
  { name: "Project", description: "What belongs to the project as a whole." },
  { name: "Service", description: "The service itself." },
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
    servers: [{ url: serverUrl, description: "This installation" }],
    tags: TAGS,
    paths,
    components: {
      securitySchemes: {
        [KEY_SCHEME]: {
          type: "apiKey",
          in: "header",
          name: "X-Api-Key",
          description:
            "The key of a project. A POST may send it as the field `api_key` of its JSON body instead; the header wins.",
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
      description: "The number of the ping within its check.",
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
        "The `ETag` of an earlier answer: if nothing has changed since, the answer is 304. A list of more than 10 MiB is streamed and has no `ETag`.",
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
  const description = BODY_DESCRIPTIONS[endpoint] ?? "Nothing but the key, if the header does not carry it.";
  const example = REQUEST_EXAMPLES[endpoint]?.body ?? {};
  return {
    requestBody: { required: false, description, content: { "application/json": { schema, example } } },
  };
}

const BODY_DESCRIPTIONS: Readonly<Partial<Record<ApiEndpoint, string>>> = {
  createCheck: "Every field is optional; what is not given has its default.",
  updateCheck: "Every field is optional; what is not given stays as it is.",
};

const API_KEY_FIELD = { type: "string", description: "The API key, where the header does not carry it." };

function responsesOf(route: Route, context: Context): OpenApiOperation["responses"] {
  const responses: Record<string, OpenApiResponse> = {};
  for (const [status, response] of Object.entries(route.responses)) {
    responses[status] = goodResponse(route, { status: Number(status), response, context });
  }
  if (route.isTagged)
    responses["304"] = { description: "Nothing has changed since the `ETag` that was sent." };
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
