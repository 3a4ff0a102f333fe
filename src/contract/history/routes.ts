// The routes of what is only read: pings, bodies, flips, integrations, badges, status. routes.ts joins them to the
// others.
import { Type } from "typebox";
import { BadgeListSchema } from "./badge.ts";
import { ChannelListSchema } from "./channel.ts";
import { FLIP_QUERY, flipListSchema } from "./flip.ts";
import { pingListSchema } from "./ping.ts";
import { statusSchema } from "./status.ts";
import { EXAMPLE_BADGES, EXAMPLE_BODY, EXAMPLE_CHANNELS, EXAMPLE_FLIPS, EXAMPLE_PINGS } from "./examples.ts";
import type { Route } from "../route.ts";

export const HISTORY_ROUTES: readonly Route[] = [
  {
    endpoint: "listPings",
    method: "GET",
    path: "/checks/{check}/pings/",
    namedBy: ["uuid"],
    summary: "List pings",
    description: "Lists the logged pings of a check, newest first.",
    query: [],
    body: null,
    responses: {
      200: {
        description: "The logged pings, at most 1000.",
        schema: ({ column }) => pingListSchema(column.pingFields),
        example: EXAMPLE_PINGS,
      },
    },
    refusals: [],
    isPostedWithoutSlash: true,
    isTagged: false,
  },
  {
    endpoint: "getPingBody",
    method: "GET",
    path: "/checks/{check}/pings/{n}/body",
    namedBy: ["uuid"],
    summary: "Get a ping's body",
    description: "Returns the logged body of a ping, byte for byte.",
    query: [],
    body: null,
    responses: {
      200: {
        description: "The body.",
        schema: () => Type.String(),
        type: "text/plain",
        example: EXAMPLE_BODY,
      },
    },
    // The ping has no body or has left the log; the store that holds it is away.
    refusals: [404, 503],
    isTagged: false,
  },
  {
    endpoint: "listFlips",
    method: "GET",
    path: "/checks/{check}/flips/",
    namedBy: ["uuid", "uniqueKey"],
    summary: "List flips",
    description:
      "Lists the status changes of a check between up and down, newest first. If several filters are given, all must match.",
    query: FLIP_QUERY,
    body: null,
    responses: {
      200: {
        description: "The flips.",
        schema: ({ column }) => flipListSchema(column.flips),
        example: EXAMPLE_FLIPS,
      },
    },
    refusals: [400],
    isPostedWithoutSlash: true,
    isTagged: false,
  },
  {
    endpoint: "listChannels",
    method: "GET",
    path: "/channels/",
    namedBy: [],
    summary: "List integrations",
    description: "Lists the integrations of the project.",
    query: [],
    body: null,
    responses: {
      200: {
        description: "The integrations, oldest first.",
        schema: () => ChannelListSchema,
        example: EXAMPLE_CHANNELS,
      },
    },
    refusals: [],
    isTagged: false,
  },
  {
    endpoint: "listBadges",
    method: "GET",
    path: "/badges/",
    namedBy: [],
    summary: "List badges",
    description:
      "Returns the badge URLs for each tag and for all checks. If the project has more than 10,000 tags, only the first 10,000 in code point order are included.",
    query: [],
    body: null,
    responses: {
      200: { description: "The badges, by tag.", schema: () => BadgeListSchema, example: EXAMPLE_BADGES },
    },
    refusals: [],
    isTagged: false,
  },
  {
    endpoint: "getStatus",
    method: "GET",
    path: "/status/",
    namedBy: [],
    summary: "Service status",
    description: "Runs a database query to check the status of the service. Does not require an API key.",
    query: [],
    body: null,
    responses: {
      200: {
        description: "The query completed in time.",
        schema: ({ column }) => statusSchema(column.statusAnswer),
        example: { status: "ok" },
      },
    },
    // The query failed, or took more than two seconds.
    refusals: [503],
    isTagged: false,
  },
];
