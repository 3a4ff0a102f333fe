// The routes of the Management API as data, with example responses. Which versions have a route is in versions.ts, and
// permissions are in core/access.ts.
import { type Static, type TSchema, Type } from "typebox";
import { ENDPOINT_RIGHTS } from "../core/access.ts";
import { BadgeListSchema } from "./badges.ts";
import { ListedChannelListSchema } from "./channels.ts";
import { type Check, checkBodySchema, checkSchema } from "./check.ts";
import { FLIP_QUERY, type FlipJson, flipListSchema, type PingJson, pingListSchema } from "./pings.ts";
import type { CheckNaming, QueryParameter, Route, RouteResponse } from "./route.ts";
import type { ApiEndpoint, VersionColumn } from "./versions.ts";

const JSON_ANSWER = { status: "ok" } as const;
const TEXT_ANSWER = "OK";

/** The status response of a dialect. */
export function presentStatus(
  shape: VersionColumn["statusAnswer"],
): { json: typeof JSON_ANSWER } | { content: typeof TEXT_ANSWER } {
  return shape === "json" ? { json: JSON_ANSWER } : { content: TEXT_ANSWER };
}

/** The schema of that response. */
function statusSchema(shape: VersionColumn["statusAnswer"]): TSchema {
  return shape === "json"
    ? Type.Object({ status: Type.Literal("ok") }, { additionalProperties: false })
    : Type.Literal(TEXT_ANSWER);
}

// An example check, as version 3 returns it for a read-write key. A test compares it with the schemas.

const UUID = "31365bce-8da9-4729-8ff3-aaa71d56b712";
const API = `https://overdue.example.org/api/v3/checks/${UUID}`;

const EXAMPLE_CHECK: Check = {
  name: "Nightly backup",
  slug: "nightly-backup",
  tags: "prod backup",
  desc: "Dumps the database and copies it away.",
  grace: 3600,
  n_pings: 112,
  status: "up",
  started: false,
  last_ping: "2026-03-01T02:31:07+00:00",
  next_ping: "2026-03-02T02:30:00+00:00",
  manual_resume: false,
  methods: "",
  start_kw: "",
  success_kw: "",
  failure_kw: "",
  filter_subject: false,
  filter_body: false,
  badge_url: "https://overdue.example.org/b/2/803f680d-e89b-492b-82ef-2be7b774a92d.svg",
  uuid: UUID,
  ping_url: `https://overdue.example.org/ping/${UUID}`,
  update_url: API,
  pause_url: `${API}/pause`,
  resume_url: `${API}/resume`,
  channels: "1bdea468-03bf-47b8-ab27-29a9dd0e4b94,51c6eb2b-2ae1-456b-99fe-6f1e0a36cd3c",
  schedule: "30 2 * * *",
  tz: "UTC",
};

/** The response of changes, which also contains the deprecated fields. */
const CHANGED: Check = { ...EXAMPLE_CHECK, subject: "", subject_fail: "" };
const NO_PINGS = { started: false, last_ping: null, next_ping: null } as const;

/** The check as each endpoint returns it; the last one is a created check. */
const EXAMPLE_ANSWERS = {
  getCheck: EXAMPLE_CHECK,
  createCheck: CHANGED,
  updateCheck: CHANGED,
  pauseCheck: { ...CHANGED, status: "paused", next_ping: null },
  resumeCheck: { ...CHANGED, ...NO_PINGS, status: "new" },
  deleteCheck: CHANGED,
  created: { ...CHANGED, ...NO_PINGS, status: "new", n_pings: 0 },
} as const satisfies Record<string, Check>;

/** The check of the other examples. */
const CHECK = "https://overdue.example.org/api/v3/checks/31365bce-8da9-4729-8ff3-aaa71d56b712";

const EXAMPLE_PINGS: { pings: PingJson[] } = {
  pings: [
    {
      type: "success",
      date: "2026-11-16T12:00:04.250000+00:00",
      n: 2,
      scheme: "https",
      remote_addr: "192.0.2.7",
      method: "POST",
      ua: "curl/8.14.1",
      rid: "2f9e4c5a-6d0b-4f43-9c61-8a7e5d1b3c20",
      body_url: `${CHECK}/pings/2/body`,
      duration: 4.25,
    },
    {
      type: "start",
      date: "2026-11-16T12:00:00.000000+00:00",
      n: 1,
      scheme: "https",
      remote_addr: "192.0.2.7",
      method: "GET",
      ua: "curl/8.14.1",
      rid: "2f9e4c5a-6d0b-4f43-9c61-8a7e5d1b3c20",
      body_url: null,
    },
  ],
};

const EXAMPLE_BODY = "42 tables dumped, 0 errors\n";

const EXAMPLE_FLIPS: FlipJson[] = [
  { timestamp: "2026-11-16T12:30:00+00:00", up: 1 },
  { timestamp: "2026-11-16T12:00:00+00:00", up: 0 },
];

const EXAMPLE_CHANNELS: Static<typeof ListedChannelListSchema> = {
  channels: [
    { id: "1bdea468-03bf-47b8-ab27-29a9dd0e4b94", name: "On call", kind: "email" },
    { id: "51c6eb2b-2ae1-456b-99fe-6f1e0a36cd3c", name: "", kind: "sms" },
  ],
};

const BADGES = "https://overdue.example.org/badge/67541b37-8b9c-4d17-b952-690eae1d2f30";

const EXAMPLE_BADGES: Static<typeof BadgeListSchema> = {
  badges: {
    backup: {
      svg: `${BADGES}/LOegDs5M-2/backup.svg`,
      svg3: `${BADGES}/LOegDs5M/backup.svg`,
      json: `${BADGES}/LOegDs5M-2/backup.json`,
      json3: `${BADGES}/LOegDs5M/backup.json`,
      shields: `${BADGES}/LOegDs5M-2/backup.shields`,
      shields3: `${BADGES}/LOegDs5M/backup.shields`,
    },
    "*": {
      svg: `${BADGES}/9X7kcZoe-2.svg`,
      svg3: `${BADGES}/9X7kcZoe.svg`,
      json: `${BADGES}/9X7kcZoe-2.json`,
      json3: `${BADGES}/9X7kcZoe.json`,
      shields: `${BADGES}/9X7kcZoe-2.shields`,
      shields3: `${BADGES}/9X7kcZoe.shields`,
    },
  },
};

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
    // The ping has no body or is no longer in the log; the object store is unavailable.
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
        schema: () => ListedChannelListSchema,
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

/** The body of every error response. */
export const ErrorBody = Type.Object({
  error: Type.String({ description: "A short error message." }),
});

const LIST_QUERY: readonly QueryParameter[] = [
  {
    name: "slug",
    description: "Return only checks with this slug. Versions 2 and 3 only.",
    schema: Type.String(),
    isRepeatable: false,
  },
  {
    name: "tag",
    description: "Return only checks with this tag. If repeated, checks must have all given tags.",
    schema: Type.String(),
    isRepeatable: true,
  },
];

/** A response that contains one check. */
function oneCheck(
  endpoint: ApiEndpoint & keyof typeof EXAMPLE_ANSWERS,
  description: string,
  example: Check = EXAMPLE_ANSWERS[endpoint],
): RouteResponse {
  return { description, schema: (sight) => checkSchema({ ...sight, endpoint }), example };
}

const CHECK_ROUTES: readonly Route[] = [
  {
    endpoint: "listChecks",
    method: "GET",
    path: "/checks/",
    namedBy: [],
    summary: "List checks",
    description: "Lists the checks of the project, optionally filtered.",
    query: LIST_QUERY,
    body: null,
    responses: {
      200: {
        description: "The checks.",
        schema: (sight) =>
          Type.Object({ checks: Type.Array(checkSchema({ ...sight, endpoint: "listChecks" })) }),
        example: { checks: [EXAMPLE_CHECK] },
      },
    },
    refusals: [],
    isTagged: true,
  },
  {
    endpoint: "createCheck",
    method: "POST",
    path: "/checks/",
    namedBy: [],
    summary: "Create a check",
    description: "Creates a check, or updates the existing check that matches the fields in `unique`.",
    query: [],
    body: (column) => checkBodySchema(column.params),
    responses: {
      200: oneCheck("createCheck", "The existing check, updated."),
      201: oneCheck("createCheck", "The new check.", EXAMPLE_ANSWERS.created),
    },
    // In addition to a key without write access: the account has reached its check limit.
    refusals: [403],
    isTagged: false,
  },
  {
    endpoint: "getCheck",
    method: "GET",
    path: "/checks/{check}",
    namedBy: ["uuid", "uniqueKey"],
    summary: "Get a check",
    description: "Returns a check by its UUID or unique key.",
    query: [],
    body: null,
    responses: { 200: oneCheck("getCheck", "The check.") },
    refusals: [],
    isTagged: true,
  },
  {
    endpoint: "updateCheck",
    method: "POST",
    path: "/checks/{check}",
    namedBy: ["uuid"],
    summary: "Update a check",
    description: "Updates the given fields of a check.",
    query: [],
    body: (column) => checkBodySchema(column.params),
    responses: { 200: oneCheck("updateCheck", "The updated check.") },
    refusals: [],
    isTagged: false,
  },
  {
    endpoint: "deleteCheck",
    method: "DELETE",
    path: "/checks/{check}",
    namedBy: ["uuid"],
    summary: "Delete a check",
    description: "Permanently deletes a check and its history.",
    query: [],
    body: null,
    responses: { 200: oneCheck("deleteCheck", "The deleted check.") },
    refusals: [],
    isTagged: false,
  },
  {
    endpoint: "pauseCheck",
    method: "POST",
    path: "/checks/{check}/pause",
    namedBy: ["uuid"],
    summary: "Pause a check",
    description: "Pauses monitoring of a check.",
    query: [],
    body: null,
    responses: { 200: oneCheck("pauseCheck", "The paused check.") },
    refusals: [],
    isTagged: false,
  },
  {
    endpoint: "resumeCheck",
    method: "POST",
    path: "/checks/{check}/resume",
    namedBy: ["uuid"],
    summary: "Resume a check",
    description: "Resumes monitoring of a paused check. Its status changes to `new`.",
    query: [],
    body: null,
    responses: { 200: oneCheck("resumeCheck", "The resumed check.") },
    refusals: [409],
    isTagged: false,
  },
];

export const ROUTES: readonly Route[] = [...CHECK_ROUTES, ...HISTORY_ROUTES];

/** The error statuses of a route, without those that any request to any server may get. */
export function refusalStatuses(route: Route): number[] {
  const rights = ENDPOINT_RIGHTS[route.endpoint];
  const statuses = new Set<number>(route.refusals);
  if (route.method === "POST") statuses.add(400).add(413);
  if (rights !== "open") statuses.add(401).add(429);
  if (rights !== "open" && (!rights.readOnly || route.namedBy.length > 0)) statuses.add(403);
  if (route.namedBy.length > 0) statuses.add(404);
  return [...statuses.add(500).add(503)].toSorted((one, other) => one - other);
}

/** The routes of a path, by how it names a check. */
export function routesOf(path: string, naming: CheckNaming | null): Route[] {
  return ROUTES.filter((route) => route.path === path && (naming === null || route.namedBy.includes(naming)));
}

/** Each path once, in the order of the routes. */
export const ROUTE_PATHS: readonly string[] = [...new Set(ROUTES.map(({ path }) => path))];
