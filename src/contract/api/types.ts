// Schemas that several resources use. Times are Unix timestamps in milliseconds.
import { type TSchema, Type } from "typebox";

export const UuidText = Type.String({ pattern: "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$" });

export const Time = Type.Integer({ description: "Unix timestamp in milliseconds." });

/** The schema, or null. */
export function nullable<S extends TSchema>(schema: S, description?: string) {
  return Type.Union([schema, Type.Null()], description === undefined ? {} : { description });
}

/** Where the next page of a list begins. */
export const Cursor = Type.Union([Type.String(), Type.Null()], {
  description: "Send as `cursor` to get the next page. Null on the last page.",
});

export const CursorQuery = Type.Object(
  {
    cursor: Type.Optional(
      Type.String({ pattern: "^[0-9]{1,15}$", description: "The `next` of the previous page." }),
    ),
  },
  { additionalProperties: false },
);
