// The OpenAPI 3.1 document of the Overdue API, generated from its routes, schemas, and the channel kinds passed to it.
import { OWN_ENDPOINT_RIGHTS, type OwnEndpoint } from "../core/access.ts";
import { IDEMPOTENCY_KEY_LENGTH_MAX } from "../core/limits.ts";
import {
  ChannelSchema,
  CreatedChannelSchema,
  DeliverySchema,
  type KindFacts,
  PROBLEM_TYPE,
  problemOf,
  ProblemSchema,
  REQUEST_FIELDS,
  SeenChannelSchema,
} from "./channels.ts";
import {
  type Headers,
  type JsonSchema,
  type OpenApiDocument,
  type OpenApiOperation,
  type OpenApiParameter,
  type OpenApiResponse,
  plain,
  RATE,
  referring,
  RETRY,
  TAG,
} from "./openapi.ts";
import { EXAMPLE_CHANNEL, EXAMPLE_DELIVERY, OWN_ROUTES, ownRefusals, type OwnRoute } from "./own-routes.ts";

const DESCRIPTION = `Manage the channels of a project and read their delivery log. This API is separate from the Healthchecks-compatible Management API and does not change it.

Requests and responses are JSON. Times are in ISO 8601 format with an offset. Unknown fields are rejected.

**Authentication.** Send an API key of the project in the \`X-Api-Key\` header. The keys are the same as for the Management API. With a read-only key, you can list kinds and channels, and see only the \`id\`, \`kind\`, and \`name\` of a channel. **Secrets** of a channel are write-only: responses contain \`********\` instead. A generated secret is returned once, in the response to the request that created it.

**Lists** are paginated: send the \`next_cursor\` of a page as \`cursor\` to get the next one. **Concurrent changes**: send the \`ETag\` of the resource in \`If-Match\` to reject the change with 412 if the resource was changed in the meantime. **Errors** use the problem details format (RFC 9457). In programs, use \`type\`; \`detail\` is a message for people. Unsupported methods are answered with 405.`;

const TAGS = [
  { name: "Channels", description: "Where notifications are sent." },
  { name: "Deliveries", description: "Notifications and their results." },
] as const;

const REFUSALS: Readonly<Record<number, { description: string; problem: ReturnType<typeof problemOf> }>> = {
  400: {
    description: "A field or parameter is invalid. Only the first problem is reported.",
    problem: problemOf("invalid", "topic must be 1 to 64 letters, digits, hyphens, or underscores."),
  },
  401: {
    description: "The API key is missing or invalid.",
    problem: problemOf("unauthenticated", "missing api key"),
  },
  403: {
    description: "The API key is read-only, or the project has reached its channel limit.",
    problem: problemOf("forbidden", "A read-write API key is required."),
  },
  404: {
    description: "Not found in the project of the API key.",
    problem: problemOf("not_found", "Channel not found."),
  },
  409: {
    description: "The request conflicts with the current state; see `detail`.",
    problem: problemOf("conflict", "The group has no members."),
  },
  412: {
    description: "The channel does not match the revision in `If-Match`.",
    problem: problemOf("precondition_failed", "The channel was changed after you loaded it."),
  },
  413: {
    description: "The request body is larger than 2.5 MiB.",
    problem: problemOf("too_large", "request body too large"),
  },
  422: {
    description: "The `Idempotency-Key` was already used for a different request.",
    problem: problemOf("unprocessable", "The Idempotency-Key was already used for a different request."),
  },
  429: {
    description:
      "Too many requests with this API key, too many test notifications for the channel, or too many email address confirmations.",
    problem: problemOf("rate_limited", "too many requests"),
  },
  500: { description: "Internal server error.", problem: problemOf("internal", "internal server error") },
  503: {
    description: "The service is temporarily unavailable.",
    problem: problemOf("unavailable", "service unavailable"),
  },
};

/** The document of an installation whose own API has this address. */
export function ownDocument({
  kinds,
  serverUrl,
}: {
  kinds: readonly KindFacts[];
  serverUrl: string;
}): OpenApiDocument<OwnEndpoint> {
  const named = namedSchemas(kinds);
  const paths: Record<string, Record<string, OpenApiOperation<OwnEndpoint>>> = {};
  for (const route of OWN_ROUTES) {
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operation(route, named) };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Overdue Channels API",
      version: "1",
      description: DESCRIPTION,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: serverUrl, description: "This server" }],
    tags: TAGS,
    paths,
    components: {
      securitySchemes: {
        apiKey: {
          type: "apiKey",
          in: "header",
          name: "X-Api-Key",
          description: "An API key of the project.",
        },
      },
      schemas: named,
    },
  };
}

type Named = Readonly<Record<string, JsonSchema>>;

function namedSchemas(kinds: readonly KindFacts[]): Named {
  const configs = Object.fromEntries(
    kinds.map(({ name, schema }) => [configName(name), requestSchema(schema as JsonSchema)]),
  );
  const fields = Object.fromEntries(
    Object.entries(REQUEST_FIELDS).map(([name, schema]) => [name, plain(schema)]),
  );
  const change = { type: "object", additionalProperties: false };
  return {
    Channel: plain(ChannelSchema),
    SeenChannel: plain(SeenChannelSchema),
    CreatedChannel: plain(CreatedChannelSchema),
    Delivery: plain(DeliverySchema),
    NewChannel: {
      oneOf: kinds.map(({ name }) => ({
        type: "object",
        title: name,
        required: ["kind", "config"],
        properties: { kind: { const: name }, config: refTo(configName(name)), ...fields },
        additionalProperties: false,
      })),
    },
    ChannelChange: {
      ...change,
      properties: {
        kind: {
          type: "string",
          description: "Cannot be changed. If present, it must match the existing kind.",
        },
        config: { type: "object", description: "The configuration fields to change." },
        ...fields,
      },
    },
    ...configs,
    Problem: plain(ProblemSchema),
  };
}

/** What has a default may be left out. */
function requestSchema(schema: JsonSchema): JsonSchema {
  const plainly = JSON.parse(JSON.stringify(schema)) as JsonSchema;
  const properties = plainly["properties"] as Record<string, JsonSchema>;
  const required = Object.entries(properties)
    .filter(([, field]) => field["default"] === undefined)
    .map(([name]) => name);
  return { ...plainly, required };
}

function configName(kind: string): string {
  return `${kind.charAt(0).toUpperCase()}${kind.slice(1)}Config`;
}

function refTo(name: string): JsonSchema {
  return { $ref: `#/components/schemas/${name}` };
}

function operation(route: OwnRoute, named: Named): OpenApiOperation<OwnEndpoint> {
  const { endpoint, summary, description, body, path } = route;
  return {
    operationId: endpoint,
    summary,
    description,
    tags: [/deliver|\/test$/.test(path) ? "Deliveries" : "Channels"],
    security: [{ apiKey: [] }],
    parameters: [...pathParameters(route), ...queryParameters(route), ...conditionsOf(route)],
    ...(body !== null && {
      requestBody: {
        required: true,
        description: "",
        content: { "application/json": { schema: refTo(body.schema), example: body.example } },
      },
    }),
    responses: responsesOf(route, named),
  };
}

function pathParameters({ path }: OwnRoute): OpenApiParameter[] {
  const parameters: OpenApiParameter[] = [];
  const shared = { in: "path", required: true } as const;
  if (path.includes("{channel}")) {
    const schema = { type: "string", format: "uuid" };
    const example = EXAMPLE_CHANNEL.id;
    parameters.push({ name: "channel", description: "The UUID of the channel.", schema, example, ...shared });
  }
  if (path.includes("{delivery}")) {
    const schema = { type: "string", pattern: "^[1-9][0-9]{0,14}$" };
    const example = EXAMPLE_DELIVERY.id;
    parameters.push({ name: "delivery", description: "The ID of the delivery.", schema, example, ...shared });
  }
  return parameters;
}

function queryParameters({ query }: OwnRoute): OpenApiParameter[] {
  return query.map(({ name, description, schema }) => {
    return { name, in: "query", required: false, description, schema: plain(schema) };
  });
}

const CONDITIONS: Readonly<Record<"If-Match" | "Idempotency-Key", OpenApiParameter>> = {
  "If-Match": {
    name: "If-Match",
    in: "header",
    required: false,
    description: "The `ETag` of the version to change.",
    schema: { type: "string", pattern: '^("[0-9]{1,10}"|\\*)$' },
  },
  "Idempotency-Key": {
    name: "Idempotency-Key",
    in: "header",
    required: false,
    description: "A unique value for this request, such as a random UUID.",
    schema: { type: "string", pattern: `^[\\x21-\\x7e]{1,${IDEMPOTENCY_KEY_LENGTH_MAX}}$` },
  },
};

function conditionsOf({ conditions = [] }: OwnRoute): OpenApiParameter[] {
  return conditions.map((name) => CONDITIONS[name]);
}

function responsesOf(route: OwnRoute, named: Named): OpenApiOperation["responses"] {
  const { status, answer, isTagged } = route;
  const headers: Headers = { ...RATE, ...(isTagged && TAG) };
  const good: OpenApiResponse = {
    description: answer.description,
    headers,
    ...(answer.schema !== null && {
      content: {
        "application/json": { schema: referring(plain(answer.schema), named), example: answer.example },
      },
    }),
  };
  const refused = ownRefusals(route, OWN_ENDPOINT_RIGHTS[route.endpoint].readOnly).map((code) => [
    String(code),
    refusalResponse(code),
  ]);
  return { [status]: good, ...(Object.fromEntries(refused) as Record<string, OpenApiResponse>) };
}

function refusalResponse(status: number): OpenApiResponse {
  const known = REFUSALS[status];
  if (known === undefined) throw new Error(`no description for status ${status}`);
  const headers = { ...(status === 429 && RATE), ...((status === 429 || status === 503) && RETRY) };
  return {
    description: known.description,
    ...(Object.keys(headers).length > 0 && { headers }),
    content: { [PROBLEM_TYPE]: { schema: refTo("Problem"), example: known.problem } },
  };
}
