// The named schemas of the OpenAPI document, and putting references to them wherever one of them occurs. Which
// schema an answer has is said by its route; this file only gives names to what is found there.
import type { TSchema } from "typebox";
import { checkBodySchema, RULE } from "../check-body.ts";
import { checkSchema } from "../check-schemas.ts";
import { BadgeUrlsSchema } from "../history/badge.ts";
import { ChannelSchema } from "../history/channel.ts";
import { flipListSchema } from "../history/flip.ts";
import { pingListSchema } from "../history/ping.ts";
import { ErrorBody } from "../routes.ts";
import type { VersionColumn } from "../versions.ts";

/** JSON Schema as it stands in the document. */
export type JsonSchema = { readonly [keyword: string]: unknown };

/** Marks what is ours in a schema, or of no use to readers. */
const INTERNAL_KEYWORDS: readonly string[] = [RULE];

/** The schemas that have a name in a column of the version table. */
export function namedSchemas(column: VersionColumn): Readonly<Record<string, JsonSchema>> {
  const check = (endpoint: "getCheck" | "createCheck", keyKind: "readWrite" | "readOnly") =>
    checkSchema({ column, endpoint, keyKind });
  const schemas: Record<string, TSchema> = {
    Check: check("getCheck", "readWrite"),
    ChangedCheck: check("createCheck", "readWrite"),
    ReadOnlyCheck: check("getCheck", "readOnly"),
    CheckRequest: checkBodySchema(column.params),
    Ping: itemsOf(pingListSchema(column.pingFields), "pings"),
    Flip: itemsOf(flipListSchema("array"), null),
    Integration: ChannelSchema,
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
