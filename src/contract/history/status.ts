// The answers of the status call while the service is well, one for each dialect. When it is not well, the answer
// is an error like any other.
import { type TSchema, Type } from "typebox";
import type { VersionColumn } from "../versions.ts";

const JSON_ANSWER = { status: "ok" } as const;
const TEXT_ANSWER = "OK";

/** The answer of a dialect. */
export function presentStatus(
  shape: VersionColumn["statusAnswer"],
): { json: typeof JSON_ANSWER } | { content: typeof TEXT_ANSWER } {
  return shape === "json" ? { json: JSON_ANSWER } : { content: TEXT_ANSWER };
}

/** What the answer of a dialect looks like. */
export function statusSchema(shape: VersionColumn["statusAnswer"]): TSchema {
  return shape === "json"
    ? Type.Object({ status: Type.Literal("ok") }, { additionalProperties: false })
    : Type.Literal(TEXT_ANSWER);
}
