// Near misses: requests to ping URLs that reached no check but probably belong to a project. Aliases: further addresses
// of a check.
import { type Static, Type } from "typebox";
import {
  NAME_LENGTH_MAX,
  NEAR_MISSES_MAX,
  PERIOD_SECONDS_MAX,
  PERIOD_SECONDS_MIN,
} from "../../core/limits.ts";
import { NEAR_MISS_KINDS, SPARK_BARS } from "../../core/near-miss.ts";
import { RULE } from "../check.ts";
import { route } from "./route.ts";
import { nullable, Time, UuidText } from "./types.ts";

export const NearMiss = Type.Object({
  id: Type.Integer(),
  kind: Type.Enum([...NEAR_MISS_KINDS], {
    description:
      "`uuid`: no check has this UUID, but `check` has a similar one. `slug`: the ping key is valid, but no check has the slug. `deleted`: the check was deleted. `method`: the check exists, but the method is not accepted. `suffix`: the check exists, but the end of the URL is not valid. `http`: the ping was recorded, but was sent over http although the site uses https.",
  }),
  bySlug: Type.Boolean({ description: "Whether the URL has a ping key and a slug, not a UUID." }),
  address: Type.String({
    description: "The part of the URL after the ping URL or, with `bySlug`, after the ping key.",
  }),
  check: nullable(
    Type.Object({
      id: UuidText,
      name: Type.String(),
      slug: Type.String(),
      deletedAt: nullable(Time, "When it was moved to the trash. Null if it was not deleted."),
    }),
    "The check that the request was probably meant for.",
  ),
  deleted: nullable(
    Type.Object({ name: Type.String(), at: Time }),
    "The deleted check, if it can't be restored any more.",
  ),
  method: Type.String({ description: "Of the newest request, like `remoteAddr` and `ua`." }),
  remoteAddr: nullable(Type.String()),
  ua: Type.String(),
  count: Type.Integer({ description: "All requests since `firstAt`." }),
  weekCount: Type.Integer({ description: "Requests in the last 7 days." }),
  spark: Type.Array(Type.Integer(), {
    description: `Requests in the last 7 days, in ${SPARK_BARS} steps of 6 hours, oldest first.`,
  }),
  firstAt: Time,
  lastAt: Time,
  schedule: nullable(
    Type.Object({ timeoutSeconds: Type.Integer(), graceSeconds: Type.Integer() }),
    "The schedule that the times of the requests suggest. Null if they are irregular or too few.",
  ),
  actions: Type.Array(Type.Enum(["alias", "create", "restore"]), {
    description: "What can be done about it, apart from ignoring it. The first is the most likely one.",
  }),
  ignoredAt: nullable(Time),
});
export type NearMiss = Static<typeof NearMiss>;

const NearMissList = Type.Object({
  nearMisses: Type.Array(NearMiss),
  counts: Type.Object({ open: Type.Integer(), ignored: Type.Integer() }),
});
export type NearMissList = Static<typeof NearMissList>;

export const CheckAlias = Type.Object({
  id: Type.Integer(),
  address: Type.String({
    description: "What replaces the UUID in the ping URL or, with `bySlug`, the slug.",
  }),
  bySlug: Type.Boolean(),
  createdAt: Time,
  createdBy: nullable(
    Type.String(),
    "Email address. Null if an API key added it, or the account was closed.",
  ),
});
export type CheckAlias = Static<typeof CheckAlias>;

const ListQuery = Type.Object(
  {
    state: Type.Optional(Type.Enum(["open", "ignored"], { description: "Default: `open`." })),
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: NEAR_MISSES_MAX,
        description: `Maximum number of near misses. Default: ${NEAR_MISSES_MAX}.`,
      }),
    ),
  },
  { additionalProperties: false },
);

const NewCheckFields = Type.Partial(
  Type.Object({
    name: Type.String({ maxLength: NAME_LENGTH_MAX, [RULE]: "storable" }),
    timeoutSeconds: Type.Integer({ minimum: PERIOD_SECONDS_MIN, maximum: PERIOD_SECONDS_MAX }),
    graceSeconds: Type.Integer({ minimum: PERIOD_SECONDS_MIN, maximum: PERIOD_SECONDS_MAX }),
  }),
  { additionalProperties: false },
);

const EXAMPLE_MISS: NearMiss = {
  id: 41,
  kind: "slug",
  bySlug: true,
  address: "nigthly-backup",
  check: {
    id: "f618072a-7bde-4eee-af63-71a77c5723bc",
    name: "Nightly backup",
    slug: "nightly-backup",
    deletedAt: null,
  },
  deleted: null,
  method: "POST",
  remoteAddr: "203.0.113.7",
  ua: "curl/8.5.0",
  count: 7,
  weekCount: 7,
  spark: Array.from({ length: SPARK_BARS }, (_, bar) => Number(bar % 4 === 3)),
  firstAt: 1_794_196_800_000,
  lastAt: 1_794_715_200_000,
  schedule: { timeoutSeconds: 86_400, graceSeconds: 3_600 },
  actions: ["alias", "create"],
  ignoredAt: null,
};

const EXAMPLE_ALIAS: CheckAlias = {
  id: 3,
  address: "nigthly-backup",
  bySlug: true,
  createdAt: 1_794_735_000_000,
  createdBy: "ada@example.org",
};

const NEAR_MISSES = "/projects/{project}/near-misses";
const NEAR_MISS = `${NEAR_MISSES}/{nearMiss}`;
const ALIASES = "/checks/{check}/aliases";

export const nearMissRoutes = {
  listNearMisses: route({
    method: "GET",
    path: NEAR_MISSES,
    access: "view",
    keys: "readWrite",
    tag: "Near misses",
    summary: "List near misses",
    description:
      "Lists requests to ping URLs that reached no check of the project but probably belong to it, last seen first. A project has at most 200; those not seen for 30 days are deleted.",
    query: ListQuery,
    success: {
      status: 200,
      description: "The near misses.",
      schema: NearMissList,
      example: { nearMisses: [EXAMPLE_MISS], counts: { open: 1, ignored: 0 } },
    },
  }),
  updateNearMiss: route({
    method: "PATCH",
    path: NEAR_MISS,
    access: "editChecks",
    keys: "readWrite",
    tag: "Near misses",
    summary: "Ignore a near miss",
    description: "Hides a near miss from the list, or shows it again.",
    body: Type.Object({ isIgnored: Type.Boolean() }, { additionalProperties: false }),
    bodyExample: { isIgnored: true },
    success: {
      status: 200,
      description: "The near miss.",
      schema: NearMiss,
      example: { ...EXAMPLE_MISS, ignoredAt: 1_794_735_000_000 },
    },
  }),
  createMissedCheck: route({
    method: "POST",
    path: `${NEAR_MISS}/check`,
    access: "editChecks",
    keys: "readWrite",
    tag: "Near misses",
    summary: "Create a check for a near miss",
    description:
      "Creates a check with the slug of the near miss or, for a UUID, with its address as an alias. Without fields, name and schedule are those that the requests suggest. The check gets all channels of the project.",
    body: NewCheckFields,
    bodyExample: { timeoutSeconds: 21_600 },
    success: {
      status: 201,
      description: "The new check.",
      schema: Type.Object({ id: UuidText }),
      example: { id: "f618072a-7bde-4eee-af63-71a77c5723bc" },
    },
    errors: [409],
  }),
  createAlias: route({
    method: "POST",
    path: `${NEAR_MISS}/alias`,
    access: "editChecks",
    keys: "readWrite",
    tag: "Near misses",
    summary: "Add an alias to a check",
    description:
      "From now on, requests to the address of the near miss are pings of the check. An address that is not a UUID takes effect within a few seconds.",
    body: Type.Object({ check: UuidText }, { additionalProperties: false }),
    bodyExample: { check: "f618072a-7bde-4eee-af63-71a77c5723bc" },
    success: { status: 201, description: "The new alias.", schema: CheckAlias, example: EXAMPLE_ALIAS },
    errors: [409],
  }),
  listAliases: route({
    method: "GET",
    path: ALIASES,
    access: "view",
    keys: "readWrite",
    tag: "Near misses",
    summary: "List aliases of a check",
    description: "Lists the further addresses at which a check is pinged. A check has at most 20.",
    success: {
      status: 200,
      description: "The aliases.",
      schema: Type.Object({ aliases: Type.Array(CheckAlias) }),
      example: { aliases: [EXAMPLE_ALIAS] },
    },
  }),
  deleteAlias: route({
    method: "DELETE",
    path: `${ALIASES}/{alias}`,
    access: "editChecks",
    keys: "readWrite",
    tag: "Near misses",
    summary: "Remove an alias of a check",
    description: "Requests to its address are near misses again.",
    success: { status: 204, description: "The alias was removed.", schema: null },
  }),
} as const;
