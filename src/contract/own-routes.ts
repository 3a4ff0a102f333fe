// The routes of the Overdue API as data, with example responses. Permissions are in core/access.ts.
import type { TSchema } from "typebox";
import type { OwnEndpoint } from "../core/access.ts";
import {
  ChannelCheckListSchema,
  type ChannelJson,
  ChannelListSchema,
  ChannelSchema,
  CreatedChannelSchema,
  type DeliveryJson,
  DeliveryListSchema,
  DeliverySchema,
  KindListSchema,
  PAGE_QUERY,
  PlannedTestSchema,
  SeenChannelSchema,
} from "./channels.ts";
import type { QueryParameter } from "./route.ts";

const CHANNEL_ID = "5c2bbd30-6b2e-4a0f-9d3b-0f6f2f3c8a11";
const CHECK_ID = "f618072a-7bde-4eee-af63-71a77c5723bc";

export const EXAMPLE_CHANNEL: ChannelJson = {
  id: CHANNEL_ID,
  kind: "ntfy",
  name: "Phones",
  config: {
    topic: "********",
    url: "https://ntfy.sh",
    token: "",
    priority: 5,
    priority_up: 3,
    priority_notice: 2,
  },
  enabled: true,
  disabled_at: null,
  disabled_reason: null,
  verified: null,
  check_count: 2,
  created_at: "2026-11-15T08:00:00.000000+00:00",
  last_notified_at: "2026-11-15T09:30:01.250000+00:00",
  last_duration_ms: 180,
  last_error: null,
  failure_count: 0,
  warnings: [],
  revision: 1,
};

const EXAMPLE_NEW_CHANNEL: ChannelJson = {
  ...EXAMPLE_CHANNEL,
  last_notified_at: null,
  last_duration_ms: null,
};

export const EXAMPLE_DELIVERY: DeliveryJson = {
  id: "4711",
  channel: CHANNEL_ID,
  group: null,
  kind: "flip",
  check: CHECK_ID,
  check_name: "Nightly backup",
  state: "sent",
  attempts: 1,
  created_at: "2026-11-15T09:30:00.900000+00:00",
  attempted_at: "2026-11-15T09:30:01.250000+00:00",
  next_try_at: null,
  settled_at: "2026-11-15T09:30:01.430000+00:00",
  request: "POST ntfy.sh",
  response_code: 200,
  response_excerpt: '{"id":"sPs71M8A2T","event":"message"}',
  reason: null,
  message: "4711",
};

const EXAMPLE_TEST: DeliveryJson = {
  ...EXAMPLE_DELIVERY,
  id: "4712",
  kind: "test",
  check: null,
  check_name: null,
  state: "pending",
  attempts: 0,
  attempted_at: null,
  next_try_at: "2026-11-15T09:30:00.900000+00:00",
  settled_at: null,
  request: null,
  response_code: null,
  response_excerpt: null,
  message: null,
};

const EXAMPLE_CHECK = { id: CHECK_ID, name: "Nightly backup" };

const EXAMPLE_KIND = {
  kind: "slack",
  title: "Slack",
  about: "Sends messages to a Slack channel.",
  rate: { per_minute: 60, burst: 10 },
  config: { type: "object", required: ["url"], properties: { url: { type: "string", writeOnly: true } } },
};

const EXAMPLE_CREATE = {
  kind: "ntfy",
  name: "Phones",
  config: { topic: "our-secret-topic", priority: 5 },
  checks: "*",
};

const EXAMPLE_CHANGE = { name: "Phones", config: { priority: 4 }, enabled: true };

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
      "Lists the channels of the project, oldest first. With a read-only key, only `id`, `kind`, and `name` are returned. A page can contain fewer items than `limit` even if it is not the last one.",
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
      "Creates a channel. Without `checks`, it notifies for all existing checks of the project. For email channels, the recipient must confirm the address before alerts are sent to it. If you repeat a request with the same `Idempotency-Key` within a day, only one channel is created. All responses are the same, except that only the first one contains generated secrets.",
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
    description:
      "Returns a channel without its secrets. With a read-only key, only `id`, `kind`, and `name` are returned.",
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
    summary: "Update a channel",
    description:
      "Changes the given fields. Other fields, including those in `config`, stay the same. Changing `config` re-enables a channel that was disabled because its receiver rejected messages. A channel disabled with `enabled` stays disabled until you set `enabled` to true.",
    query: [],
    body: { schema: "ChannelChange", example: EXAMPLE_CHANGE },
    status: 200,
    answer: { description: "The updated channel.", schema: ChannelSchema, example: EXAMPLE_CHANNEL },
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
      "Deletes a channel and its delivery log. Pending notifications to it are canceled. The channel is removed from its groups.",
    query: [],
    body: null,
    status: 204,
    answer: { description: "The channel was deleted.", schema: null },
    refusals: [404, 409, 412],
    conditions: ["If-Match"],
  },
  {
    endpoint: "listChecksOfChannel",
    method: "GET",
    path: "/channels/{channel}/checks",
    summary: "List the checks of a channel",
    description: "Lists the checks that a channel notifies for, oldest first.",
    query: PAGE_QUERY,
    body: null,
    status: 200,
    answer: {
      description: "A page of checks.",
      schema: ChannelCheckListSchema,
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
    summary: "Send a test notification",
    description:
      "Sends a notification about a fictitious check named TEST, even if the channel is disabled. For a group, sends one to each member. It is sent within seconds; get the delivery to see the result.",
    query: [],
    body: null,
    status: 202,
    answer: {
      description: "The test notification is queued.",
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
      "Lists the deliveries of a channel, newest first, with attempts, request, response, time of the next attempt, and result. For a group, lists the deliveries of its members.",
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
    description: "Returns a delivery, for example of a test notification.",
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
    summary: "Retry a delivery",
    description: "Immediately retries a delivery that is waiting for its next attempt or has failed.",
    query: [],
    body: null,
    status: 202,
    answer: { description: "The delivery is queued.", schema: DeliverySchema, example: EXAMPLE_TEST },
    refusals: [404, 409],
  },
];

export const OWN_ROUTES: readonly OwnRoute[] = [
  {
    endpoint: "listKinds",
    method: "GET",
    path: "/kinds",
    summary: "List channel kinds",
    description: "Lists the available kinds of channels with the schemas of their configurations.",
    query: [],
    body: null,
    status: 200,
    answer: { description: "The channel kinds.", schema: KindListSchema, example: { kinds: [EXAMPLE_KIND] } },
    refusals: [],
  },
  ...CHANNEL_ROUTES,
  ...DELIVERY_ROUTES,
];

/** The statuses that a route may answer with instead of its good one. */
export function ownRefusals({ refusals }: OwnRoute, isRead: boolean): number[] {
  return [...new Set([401, ...(isRead ? [] : [403]), ...refusals, 429, 500, 503])].toSorted((a, b) => a - b);
}
