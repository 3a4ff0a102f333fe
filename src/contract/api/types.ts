// Schemas that several resources use. Times are Unix timestamps in milliseconds.
import { type TSchema, Type } from "typebox";
import { PAGE_LENGTH_DEFAULT, PAGE_LENGTH_MAX } from "../../core/limits.ts";

export const UUID_PATTERN = "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$";
export const UuidText = Type.String({ pattern: UUID_PATTERN });

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

/** The query of a list whose pages have a chosen length. */
export function pageQuery(limits: { maximum: number; default: number }) {
  return Type.Object(
    {
      ...CursorQuery.properties,
      limit: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: limits.maximum,
          description: `Maximum number of items on the page. Default: ${limits.default}.`,
        }),
      ),
    },
    { additionalProperties: false },
  );
}

export const PageQuery = pageQuery({ maximum: PAGE_LENGTH_MAX, default: PAGE_LENGTH_DEFAULT });
