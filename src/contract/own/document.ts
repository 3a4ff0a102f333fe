// The OpenAPI 3.1 document of our own API, made from its routes and schemas and from the kinds of channels that it is
// told of.
import { OWN_ENDPOINT_RIGHTS, type OwnEndpoint } from "../../core/access.ts";
import { IDEMPOTENCY_KEY_LENGTH_MAX } from "../../core/limits.ts";
import { type JsonSchema, plain, referring } from "../openapi/components.ts";
import type {
  OpenApiDocument,
  OpenApiOperation,
  OpenApiParameter,
  OpenApiResponse,
} from "../openapi/document.ts";
import { type Headers, RATE, RETRY, TAG } from "../openapi/headers.ts";
import {
  ChannelSchema,
  CreatedChannelSchema,
  type KindFacts,
  REQUEST_FIELDS,
  SeenChannelSchema,
} from "./channel.ts";
import { DeliverySchema } from "./delivery.ts";
import { EXAMPLE_CHANNEL, EXAMPLE_DELIVERY } from "./examples.ts";
import { PROBLEM_TYPE, problemOf, ProblemSchema } from "./problem.ts";
import { OWN_ROUTES, type OwnRoute, ownRefusals } from "./routes.ts";

const DESCRIPTION = `Manages the channels of a project, and reads what was told through them. It stands beside the compatible Management API and adds nothing to it.

Requests and answers are JSON. Times are ISO 8601 with an offset. Fields that are not known are refused.

**Keys** are those of the Management API, in the header \`X-Api-Key\`. A read-only key may list kinds and channels, and sees no more of a channel than its \`id\`, \`kind\` and \`name\`. **Secrets** of a channel can be written and never be read: \`********\` stands in their place. A secret that was made by us is shown once, in the answer that made it.

**Lists** come in pages: send \`next_cursor\` of one as \`cursor\` for the next. **Changes** may carry \`If-Match\` with the \`ETag\` of what was read, and are refused with 412 if somebody else was quicker. **Errors** are problems as RFC 9457 has them: programs go by \`type\`, people by \`detail\`. Any path answers 405 to a method that it does not know.`;

const TAGS = [
  { name: "Channels", description: "Where people are told." },
  { name: "Deliveries", description: "What was told, and what came of it." },
] as const;

const REFUSALS: Readonly<Record<number, { description: string; problem: ReturnType<typeof problemOf> }>> = {
  400: {
    description: "A field or a parameter cannot be taken. Only the first problem is told.",
    problem: problemOf("invalid", "topic must be 1 to 64 letters, digits, hyphens and underscores."),
  },
  401: {
    description: "The API key is missing, or nobody has it.",
    problem: problemOf("unauthenticated", "missing api key"),
  },
  403: {
    description: "The key is read-only, or the project has as many channels as it may have.",
    problem: problemOf("forbidden", "this needs a read-write key"),
  },
  404: {
    description: "The project of the key has nothing of this name.",
    problem: problemOf("not_found", "there is no such channel"),
  },
  409: {
    description: "Something has to be done first; the detail says what.",
    problem: problemOf("conflict", "the group has no members"),
  },
  412: {
    description: "The channel is not at the revision that `If-Match` names.",
    problem: problemOf("precondition_failed", "the channel has been changed since it was read"),
  },
  413: {
    description: "The request body is larger than 2.5 MiB.",
    problem: problemOf("too_large", "request body too large"),
  },
  422: {
    description: "The `Idempotency-Key` was used for another request.",
    problem: problemOf("unprocessable", "the Idempotency-Key was used for another request"),
  },
  429: {
    description: "Too many requests of the key, or too many tests of a channel, or too many addresses asked.",
    problem: problemOf("rate_limited", "too many requests"),
  },
  500: { description: "A fault of the server.", problem: problemOf("internal", "internal server error") },
  503: {
    description: "The service cannot answer now.",
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
      title: "Overdue API for channels",
      version: "1",
      description: DESCRIPTION,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: serverUrl, description: "This installation" }],
    tags: TAGS,
    paths,
    components: {
      securitySchemes: {
        apiKey: { type: "apiKey", in: "header", name: "X-Api-Key", description: "The key of a project." },
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
        kind: { type: "string", description: "Cannot be changed; the same is taken." },
        config: { type: "object", description: "The fields of its kind that are to be changed." },
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
    parameters.push({ name: "delivery", description: "The id of the delivery.", schema, example, ...shared });
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
    description: "The `ETag` of what the change is meant for.",
    schema: { type: "string", pattern: '^("[0-9]{1,10}"|\\*)$' },
  },
  "Idempotency-Key": {
    name: "Idempotency-Key",
    in: "header",
    required: false,
    description: "A name for this request that no other request has, such as a random UUID.",
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
  if (known === undefined) throw new Error(`nobody has said what ${status} means`);
  const headers = { ...(status === 429 && RATE), ...((status === 429 || status === 503) && RETRY) };
  return {
    description: known.description,
    ...(Object.keys(headers).length > 0 && { headers }),
    content: { [PROBLEM_TYPE]: { schema: refTo("Problem"), example: known.problem } },
  };
}
