// A flip on the wire, and the two shapes that a list of them has: a bare array, or wrapped where the dialect
// wants it.
import { type Static, type TSchema, Type } from "typebox";
import type { Instant } from "../../core/instant.ts";
import { FLIP_FILTER_SECONDS_MAX, FLIP_FILTER_UNIX_SECONDS_MAX } from "../../core/limits.ts";
import type { QueryParameter } from "../route.ts";
import { isoSeconds } from "../timestamp.ts";

const FlipSchema = Type.Object(
  {
    timestamp: Type.String({ format: "date-time", description: "When the status changed." }),
    up: Type.Union([Type.Literal(0), Type.Literal(1)], {
      description: "1 when the check changed to up, 0 when it changed to down.",
    }),
  },
  { additionalProperties: false },
);

export type FlipShape = "array" | "object";

/** The list in the shape of a dialect. */
export function flipListSchema(shape: FlipShape): TSchema {
  const list = Type.Array(FlipSchema);
  return shape === "array" ? list : Type.Object({ flips: list }, { additionalProperties: false });
}

/** The filters of the list. Their rules, which say more than a schema can, are in core/request/filters.ts. */
export const FLIP_QUERY: readonly QueryParameter[] = [
  {
    name: "seconds",
    description: "Return only flips from this many seconds ago until now. 0 means no filter.",
    schema: Type.Integer({ minimum: 0, maximum: FLIP_FILTER_SECONDS_MAX }),
    isRepeatable: false,
  },
  {
    name: "start",
    description: "Return only flips at or after this UNIX timestamp.",
    schema: Type.Integer({ minimum: 0, maximum: FLIP_FILTER_UNIX_SECONDS_MAX }),
    isRepeatable: false,
  },
  {
    name: "end",
    description: "Return only flips before this UNIX timestamp.",
    schema: Type.Integer({ minimum: 0, maximum: FLIP_FILTER_UNIX_SECONDS_MAX }),
    isRepeatable: false,
  },
];

export type FlipJson = Static<typeof FlipSchema>;

/** One flip as JSON. */
export function presentFlip({ at, to }: { at: Instant; to: "up" | "down" }): FlipJson {
  return { timestamp: isoSeconds(at), up: to === "up" ? 1 : 0 };
}
