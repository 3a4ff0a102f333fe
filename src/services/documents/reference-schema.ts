// Schemas as people read them on the reference page: each field with its type, its bounds and its meaning.
import type { JsonSchema } from "../../contract/openapi/components.ts";
import { escapeHtml } from "../../lib/http/html.ts";
import { proseHtml } from "./reference-text.ts";

/** The fields of an object, or a link to where they are described, or the type of anything else. */
export function fieldsHtml(schema: JsonSchema): string {
  const link = linkHtml(schema);
  if (link !== null) return `<p>${link}</p>`;
  const properties = (schema["properties"] ?? {}) as Readonly<Record<string, JsonSchema>>;
  const required = (schema["required"] ?? []) as readonly string[];
  const items = Object.entries(properties).map(([name, field]) =>
    fieldHtml(name, { field, isRequired: required.includes(name) }),
  );
  return items.length === 0 ? `<p>${escapeHtml(schemaType(schema))}</p>` : `<dl>${items.join("")}</dl>`;
}

function fieldHtml(name: string, { field, isRequired }: { field: JsonSchema; isRequired: boolean }): string {
  const facts = [linkHtml(field) ?? escapeHtml(schemaType(field)), ...boundsOf(field).map(escapeHtml)];
  if (isRequired) facts.push("required");
  const flags = [
    ...(field["deprecated"] === true ? ["deprecated"] : []),
    ...(field["x-extension"] === true ? ["extension"] : []),
  ].map((flag) => ` <span class="flag">${flag}</span>`);
  const description = typeof field["description"] === "string" ? proseHtml(field["description"]) : "";
  return `<dt><code>${escapeHtml(name)}</code> <span class="muted">${facts.join(", ")}</span>${flags.join("")}</dt><dd>${description.replace(/^<p>|<\/p>$/g, "")}</dd>`;
}

function linkHtml(schema: JsonSchema): string | null {
  const target = typeof schema["$ref"] === "string" ? schema["$ref"] : null;
  const name = target?.split("/").at(-1);
  return name === undefined ? null : `<a href="#schema-${name}">${name}</a>`;
}

/** What a value is, in few words: "string or null", "array of string". */
export function schemaType(schema: JsonSchema): string {
  const { $ref, type, anyOf, enum: values, const: only, format, items, additionalProperties } = schema;
  if (typeof $ref === "string") return $ref.split("/").at(-1) ?? "";
  if (Array.isArray(anyOf)) {
    return [...new Set((anyOf as JsonSchema[]).map((one) => schemaType(one)))].join(" or ");
  }
  if (only !== undefined) return JSON.stringify(only);
  if (Array.isArray(values)) return values.map((value) => JSON.stringify(value)).join(" or ");
  if (type === "array") return `array of ${schemaType((items ?? {}) as JsonSchema)}`;
  if (type === "object" && typeof additionalProperties === "object") {
    return `map of ${schemaType(additionalProperties as JsonSchema)}`;
  }
  const name = typeof type === "string" ? type : "any value";
  return typeof format === "string" ? `${name} (${format})` : name;
}

type Bounds = { minimum?: number; maximum?: number; maxLength?: number; default?: unknown };

function boundsOf(schema: JsonSchema): string[] {
  const { minimum, maximum, maxLength, default: fallback } = schema as Bounds;
  const bounds: string[] = [];
  if (minimum !== undefined && maximum !== undefined) bounds.push(`${minimum} to ${maximum}`);
  else if (minimum !== undefined) bounds.push(`at least ${minimum}`);
  if (maxLength !== undefined) bounds.push(`at most ${maxLength} characters`);
  if (fallback !== undefined) bounds.push(`default ${JSON.stringify(fallback)}`);
  return bounds;
}
