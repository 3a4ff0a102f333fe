// Every route of our own API, as data: the server, the document and the tests read this list. Who may call what is
// said in core/access.ts.
import type { TSchema } from "typebox";
import type { OwnEndpoint } from "../../core/access.ts";
import type { QueryParameter } from "../route.ts";
import {
  ChannelListSchema,
  ChannelSchema,
  CreatedChannelSchema,
  HeardCheckListSchema,
  KindListSchema,
  SeenChannelSchema,
} from "./channel.ts";
import { DeliveryListSchema, DeliverySchema, PlannedTestSchema } from "./delivery.ts";
import {
  EXAMPLE_CHANGE,
  EXAMPLE_CHANNEL,
  EXAMPLE_CHECK,
  EXAMPLE_CREATE,
  EXAMPLE_DELIVERY,
  EXAMPLE_KIND,
  EXAMPLE_NEW_CHANNEL,
  EXAMPLE_TEST,
} from "./examples.ts";
import { PAGE_QUERY } from "./page.ts";

/** Below the site. */
export const OWN_API_PATH = "/api/overdue/v1";

export type OwnMethod = "GET" | "POST" | "PATCH" | "DELETE";

export type OwnRoute = {
  /** The operation id. */
  endpoint: OwnEndpoint;
  method: OwnMethod;
  /** Below the prefix, with `{channel}` and `{delivery}` for what varies. */
  path: string;
  summary: string;
  description: string;
  query: readonly QueryParameter[];
  /** Which body it takes, and an example; null: it looks at none. */
  body: { schema: "NewChannel" | "ChannelChange"; example: object } | null;
  /** The good answer; without a schema it has no body. */
  status: number;
  answer: { description: string; schema: TSchema | null; example?: unknown };
  /** The statuses of refusals besides those that every route of its kind has. */
  refusals: readonly number[];
  /** Whether the answer has an ETag. */
  isTagged?: true;
  /** Request headers that it looks at. */
  conditions?: readonly ("If-Match" | "Idempotency-Key")[];
};

const CHANNEL_ROUTES: readonly OwnRoute[] = [
  {
    endpoint: "listChannels",
    method: "GET",
    path: "/channels",
    summary: "List channels",
    description:
      "The channels of the project, oldest first. A read-only key sees `id`, `kind` and `name` only. A page may be shorter than `limit` without being the last.",
    query: PAGE_QUERY,
    body: null,
    status: 200,
    answer: {
      description: "A page of channels.",
      schema: ChannelListSchema,
      example: { channels: [EXAMPLE_CHANNEL], next_cursor: null },
    },
    refusals: [400],
  },
  {
    endpoint: "createChannel",
    method: "POST",
    path: "/channels",
    summary: "Create a channel",
    description:
      "Makes a channel. Without `checks` it hears of every check that the project has now. An email address is asked by mail before anything else is sent to it. Of a request that is repeated with the same `Idempotency-Key` within a day, one makes a channel, and all have the same answer, except that secrets are shown in the first one only.",
    query: [],
    body: { schema: "NewChannel", example: EXAMPLE_CREATE },
    status: 201,
    answer: {
      description: "The channel.",
      schema: CreatedChannelSchema,
      example: { ...EXAMPLE_NEW_CHANNEL, made: {} },
    },
    refusals: [400, 409, 413, 422],
    isTagged: true,
    conditions: ["Idempotency-Key"],
  },
  {
    endpoint: "getChannel",
    method: "GET",
    path: "/channels/{channel}",
    summary: "Get a channel",
    description: "One channel, without its secrets. A read-only key sees `id`, `kind` and `name` only.",
    query: [],
    body: null,
    status: 200,
    answer: { description: "The channel.", schema: SeenChannelSchema, example: EXAMPLE_CHANNEL },
    refusals: [404],
    isTagged: true,
  },
  {
    endpoint: "updateChannel",
    method: "PATCH",
    path: "/channels/{channel}",
    summary: "Change a channel",
    description:
      "Changes what is given; of the configuration, too, fields that are not given stay as they are. A new configuration gives a new chance to a channel that was disabled because its receiver refused; one that was disabled with `enabled` stays so until `enabled` is true.",
    query: [],
    body: { schema: "ChannelChange", example: EXAMPLE_CHANGE },
    status: 200,
    answer: { description: "The channel as it is now.", schema: ChannelSchema, example: EXAMPLE_CHANNEL },
    refusals: [400, 404, 412, 413],
    isTagged: true,
    conditions: ["If-Match"],
  },
  {
    endpoint: "deleteChannel",
    method: "DELETE",
    path: "/channels/{channel}",
    summary: "Delete a channel",
    description:
      "Deletes a channel, with its delivery log. What is still to be told through it is withdrawn. Groups lose it as a member.",
    query: [],
    body: null,
    status: 204,
    answer: { description: "It is gone.", schema: null },
    refusals: [404, 409, 412],
    conditions: ["If-Match"],
  },
  {
    endpoint: "listChecksOfChannel",
    method: "GET",
    path: "/channels/{channel}/checks",
    summary: "List the checks of a channel",
    description: "The checks that a channel hears of, oldest first.",
    query: PAGE_QUERY,
    body: null,
    status: 200,
    answer: {
      description: "A page of checks.",
      schema: HeardCheckListSchema,
      example: { checks: [EXAMPLE_CHECK], next_cursor: null },
    },
    refusals: [400, 404],
  },
];

const DELIVERY_ROUTES: readonly OwnRoute[] = [
  {
    endpoint: "testChannel",
    method: "POST",
    path: "/channels/{channel}/test",
    summary: "Test a channel",
    description:
      "Sends a message about a check named TEST that does not exist, also through a disabled channel, and to each member of a group. It is sent within seconds, and its delivery tells what came of it.",
    query: [],
    body: null,
    status: 202,
    answer: {
      description: "The test is on its way.",
      schema: PlannedTestSchema,
      example: { deliveries: [EXAMPLE_TEST] },
    },
    refusals: [404, 409],
  },
  {
    endpoint: "listDeliveries",
    method: "GET",
    path: "/channels/{channel}/deliveries",
    summary: "List deliveries",
    description:
      "What was told through a channel, newest first: tries, what was sent, what was answered, when the next try is due, how it ended. Of a group, the log of its members.",
    query: PAGE_QUERY,
    body: null,
    status: 200,
    answer: {
      description: "A page of deliveries.",
      schema: DeliveryListSchema,
      example: { deliveries: [EXAMPLE_DELIVERY], next_cursor: null },
    },
    refusals: [400, 404],
  },
  {
    endpoint: "getDelivery",
    method: "GET",
    path: "/deliveries/{delivery}",
    summary: "Get a delivery",
    description: "One delivery, for instance of a test.",
    query: [],
    body: null,
    status: 200,
    answer: { description: "The delivery.", schema: DeliverySchema, example: EXAMPLE_DELIVERY },
    refusals: [404],
  },
  {
    endpoint: "retryDelivery",
    method: "POST",
    path: "/deliveries/{delivery}/retry",
    summary: "Try a delivery again",
    description: "Tries at once what waits for its next try, or was given up.",
    query: [],
    body: null,
    status: 202,
    answer: { description: "It is due now.", schema: DeliverySchema, example: EXAMPLE_TEST },
    refusals: [404, 409],
  },
];

export const OWN_ROUTES: readonly OwnRoute[] = [
  {
    endpoint: "listKinds",
    method: "GET",
    path: "/kinds",
    summary: "List kinds of channels",
    description: "The kinds that a channel can be of, each with the schema of its configuration.",
    query: [],
    body: null,
    status: 200,
    answer: { description: "All of them.", schema: KindListSchema, example: { kinds: [EXAMPLE_KIND] } },
    refusals: [],
  },
  ...CHANNEL_ROUTES,
  ...DELIVERY_ROUTES,
];

/** The statuses that a route may answer with instead of its good one. */
export function ownRefusals({ refusals }: OwnRoute, isRead: boolean): number[] {
  return [...new Set([401, ...(isRead ? [] : [403]), ...refusals, 429, 500, 503])].toSorted((a, b) => a - b);
}
