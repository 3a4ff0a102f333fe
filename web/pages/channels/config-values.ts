// A configuration between the form, where everything is text or a flag, and the server, where it has types.
import type { ChannelCard, KindField } from "../../../src/contract/web/channels.ts";
import { fieldLabel } from "../../words/channels.ts";

/** What the form holds for each field. */
export type FormValues = Record<string, string | boolean | string[]>;

/** What the form begins with: what is stored and may be shown, or what the kind falls back to. */
export function valuesOf(fields: readonly KindField[], channel: ChannelCard | null): FormValues {
  return Object.fromEntries(
    fields.map((field) => [field.name, shownValue(field, storedValue(field, channel))]),
  );
}

/** A secret is never shown, so the form begins without it. */
function storedValue({ name, isSecret, fallback }: KindField, channel: ChannelCard | null): unknown {
  if (channel === null) return fallback;
  return isSecret ? null : (channel.config[name] ?? fallback);
}

function shownValue({ type, choices }: KindField, value: unknown): FormValues[string] {
  if (type === "flag") return value === true;
  if (type === "channels") return Array.isArray(value) ? value.map(String) : [];
  if (type === "headers") return headersText(value);
  if (type === "choice") return typeof value === "string" ? value : (choices[0] ?? "");
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

/** The addresses that stand in the form, by their fields. */
export function typedAddresses(fields: readonly KindField[], values: FormValues): Record<string, string> {
  return Object.fromEntries(
    fields
      .filter(({ type }) => type === "address")
      .map(({ name }) => [name, String(values[name] ?? "").trim()] as const)
      .filter(([, text]) => text !== ""),
  );
}

/**
 * What is sent: of a channel that exists the fields that were changed, so that two who edit it at once do not undo each
 * other's work, and a secret that was left empty stays as it is stored. `before` null: it is new.
 */
export function configOf(
  fields: readonly KindField[],
  { values, before }: { values: FormValues; before: FormValues | null },
): Record<string, unknown> {
  const isSame = (name: string) => JSON.stringify(values[name]) === JSON.stringify(before?.[name]);
  const sent = fields.filter(({ name }) => before === null || !isSame(name));
  return Object.fromEntries(sent.map((field) => [field.name, typedValue(field, values[field.name])]));
}

function typedValue({ type }: KindField, value: FormValues[string] | undefined): unknown {
  if (type === "number") return Number(value);
  if (type === "headers") return headersOf(String(value ?? ""));
  return value;
}

function headersText(value: unknown): string {
  if (typeof value !== "object" || value === null) return "";
  return Object.entries(value)
    .map(([name, text]) => `${name}: ${String(text)}`)
    .join("\n");
}

/** "Name: value" on each line; a line without a colon is a name without a value, which the server refuses. */
function headersOf(text: string): Record<string, string> {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(":");
      return colon === -1 ? [line.trim(), ""] : [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
    }),
  );
}

/** What is wrong, and with which field; null: with none of them. */
export type Wrong = { text: string; field: string | null };

/** The server's sentence begins with the name of the field that it is about; people know the field by its label. */
export function mistakeOf(text: string, fields: readonly KindField[]): Wrong {
  const lower = text.toLowerCase();
  const field = fields.find(({ name }) => lower.startsWith(`${name} `))?.name ?? null;
  return field === null ? { text, field } : { text: fieldLabel(field) + text.slice(field.length), field };
}
