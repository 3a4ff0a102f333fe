// Examples for the API reference, made from schemas where a route has none of its own.
type Schema = { readonly [keyword: string]: unknown };

export const EXAMPLE_UUID = "5c2bbd30-6b2e-4a0f-9d3b-0f6f2f3c8a11";
/** 15 November 2026, 09:30 UTC. */
const EXAMPLE_TIME = 1_794_735_000_000;

/** Texts by field name; others are "text". */
const TEXTS: Readonly<Record<string, string>> = {
  id: EXAMPLE_UUID,
  name: "Nightly backup",
  email: "ada@example.org",
  who: "ada@example.org",
  to: "ada@example.org",
  invitedBy: "ada@example.org",
  zone: "Europe/Riga",
  tz: "Europe/Riga",
  schedule: "30 2 * * *",
  slug: "nightly-backup",
  tags: "prod backup",
  groupBy: "source",
  url: "https://overdue.example.org/",
  link: "https://overdue.example.org/",
};

/** A value that matches a schema, with all optional fields. */
export function exampleOf(schema: Schema, name = ""): unknown {
  const { const: only, enum: values, anyOf, type, default: fallback } = schema;
  if (only !== undefined) return only;
  if (fallback !== undefined) return fallback;
  if (Array.isArray(values)) return values[0];
  if (Array.isArray(anyOf)) return exampleOf((anyOf as Schema[])[0] ?? {}, name);
  switch (type) {
    case "object":
      return exampleObject(schema);
    case "array":
      return [exampleOf((schema["items"] ?? {}) as Schema, name)];
    case "string":
      return exampleText(schema, name);
    case "integer":
    case "number":
      return exampleNumber(schema, name);
    case "boolean":
      return true;
    default:
      return null;
  }
}

function exampleObject({ properties }: Schema): object {
  const fields = Object.entries((properties ?? {}) as Readonly<Record<string, Schema>>);
  return Object.fromEntries(fields.map(([name, field]) => [name, exampleOf(field, name)]));
}

function exampleText({ pattern, maxLength }: Schema, name: string): string {
  const candidates = [TEXTS[name], "text", EXAMPLE_UUID, "1", "2026-11-15T09:30", "#1d2433", "5d1c0b7a"];
  const matches = (text: string | undefined): text is string =>
    text !== undefined &&
    (typeof pattern !== "string" || new RegExp(pattern).test(text)) &&
    (typeof maxLength !== "number" || text.length <= maxLength);
  return candidates.find(matches) ?? "";
}

function exampleNumber({ description, minimum, maximum }: Schema, name: string): number {
  const isTime = /At$|^at$|^since$/.test(name) || String(description).startsWith("Unix timestamp");
  const number = isTime ? EXAMPLE_TIME : 1;
  const least = typeof minimum === "number" ? Math.max(minimum, number) : number;
  return typeof maximum === "number" ? Math.min(maximum, least) : least;
}
