// Renders the generated part of docs/guide/channels/index.md: every channel kind with its fields.
import { type Field, fieldsOf } from "../src/channels/channel-config.ts";
import type { AnyKind } from "../src/channels/channel-kind.ts";
import { KINDS } from "../src/channels/registry.ts";

/** A table of all kinds, and of each how it is set up and its fields. */
export function renderChannelKinds(kinds: readonly AnyKind[] = KINDS): string {
  const overview = kinds.map(({ name, title, about, rate }) => {
    const takes = rate === null ? "none" : `${rate.perMinute} per minute, bursts of ${rate.burst}`;
    return [`[\`${name}\`](#${name})`, title, about, takes];
  });
  return [
    table(["Kind", "Name", "What it does", "Rate limit per channel"], overview),
    ...kinds.flatMap((kind) => [`### ${kind.name}`, steps(kind), fieldTable(kind)]),
  ].join("\n\n");
}

function steps({ guide }: AnyKind): string {
  return guide.map((step, index) => `${index + 1}. ${step}`).join("\n");
}

function fieldTable(kind: AnyKind): string {
  const rows = fieldsOf(kind).map(([name, field]) => [
    `\`${name}\``,
    typeText(field),
    field.default === undefined ? "required" : code(JSON.stringify(field.default)),
    field.writeOnly === true ? "yes" : "",
    field.description,
  ]);
  return table(["Field", "Type", "Default", "Secret", "Meaning"], rows);
}

function typeText(field: Field): string {
  if (field.enum !== undefined) return field.enum.map((word) => code(String(word))).join(", ");
  if (field.format === "phone") return "phone number in international format";
  if (field.format === "uri") return `URL, at most ${field.maxLength} characters`;
  const { type } = field;
  switch (type) {
    case "string":
      return field["x-must"] ?? `string, at most ${field.maxLength} characters`;
    case "integer":
      return `${field.minimum} to ${field.maximum}`;
    case "boolean":
      return "boolean";
    case "array":
      return `array of UUIDs, at most ${field.maxItems}`;
    case "object":
      return `object with string values, or lines of \`Name: value\`; at most ${field.maxProperties}`;
    case undefined:
      break;
  }
  throw new Error("a field has no type");
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => "---"), ...rows]
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`)
    .join("\n");
}

function code(text: string): string {
  return `\`${text}\``;
}
