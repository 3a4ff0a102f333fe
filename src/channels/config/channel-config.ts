// Configurations of channels, judged, completed and masked by the schema of their kind. It sends nothing and knows no
// kind by name.
import type { TObject } from "typebox";
import type { Checked } from "../../core/errors.ts";
import { isUuid } from "../../core/identity.ts";
import { didYouMean } from "../../lib/nearest-name.ts";
import { randomText } from "../../lib/secrets/random-text.ts";
import { MASK } from "../../lib/setting-value.ts";
import type { AnyKind } from "../channel-kind.ts";
import type { FieldMarks, MadeSecret } from "./config-fields.ts";
import { readAddress } from "./web-address.ts";
import { isPlainHeader, readHeaders } from "../webhook/webhook-headers.ts";

export type ChannelConfig = Readonly<Record<string, unknown>>;

/** The part of JSON Schema that configurations are made of; see config-fields.ts. */
export type Field = FieldMarks & {
  type?: "string" | "integer" | "boolean" | "array" | "object";
  enum?: readonly unknown[];
  default?: unknown;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  format?: "uri" | "uuid";
  minimum?: number;
  maximum?: number;
  maxItems?: number;
  maxProperties?: number;
};

/** How much of an unknown field name an error message repeats. */
const SHOWN_NAME_LENGTH_MAX = 100;

/** The fields of a kind in the order of its schema. */
export function fieldsOf({ schema }: { schema: TObject }): [string, Field][] {
  return Object.entries(schema.properties as Record<string, Field>);
}

/**
 * What somebody has sent as a configuration, completed by its defaults, or a sentence that says what is wrong with
 * it. With `strict` false, fields that the kind does not know are left out instead: a newer release may have written
 * them.
 */
export function readConfig(
  kind: AnyKind,
  input: unknown,
  { strict }: { strict: boolean },
): Checked<ChannelConfig> {
  if (typeof input !== "object" || input === null || Array.isArray(input)) {
    return { ok: false, text: "The configuration must be an object." };
  }
  const fields = fieldsOf(kind);
  const names = fields.map(([name]) => name);
  const unknown = Object.keys(input).find((name) => !names.includes(name));
  if (strict && unknown !== undefined) {
    const meant = didYouMean(unknown, names) || ` Valid fields: ${names.join(", ")}.`;
    return {
      ok: false,
      text: `${kind.title} has no field "${unknown.slice(0, SHOWN_NAME_LENGTH_MAX)}".${meant}`,
    };
  }
  const config: Record<string, unknown> = {};
  for (const [name, field] of fields) {
    const read = readField(field, (input as Record<string, unknown>)[name]);
    if (!read.ok) return { ok: false, text: `${name} ${read.text}.` };
    config[name] = read.value;
  }
  const text = kind.validate?.(config) ?? null;
  return text === null ? { ok: true, value: config } : { ok: false, text };
}

/** Either the value, or the end of a sentence that begins with the name of the field. */
type Read = Checked<unknown>;

function readField(field: Field, given: unknown): Read {
  if (given === undefined) {
    if (field.default !== undefined) return { ok: true, value: structuredClone(field.default) };
    return wrong(`is required: ${field.description.replace(/\.$/, "")}`);
  }
  if (
    field.writeOnly === true &&
    (typeof given === "string" ? given : JSON.stringify(given)).includes(MASK)
  ) {
    return wrong(
      "contains the mask shown in place of the stored secret; omit the field to keep the stored secret",
    );
  }
  if (field.enum !== undefined) {
    return field.enum.includes(given)
      ? { ok: true, value: given }
      : wrong(`must be one of ${field.enum.join(", ")}`);
  }
  if (field.type === undefined) throw new Error("a field without a type cannot be validated");
  return READERS[field.type](field, given);
}

const READERS: Readonly<Record<NonNullable<Field["type"]>, (field: Field, given: unknown) => Read>> = {
  string: readText,
  integer: ({ minimum = -Infinity, maximum = Infinity, ...field }, given) =>
    typeof given === "number" && Number.isInteger(given) && given >= minimum && given <= maximum
      ? { ok: true, value: given }
      : wrong(`must be ${field["x-must"] ?? `a whole number from ${minimum} to ${maximum}`}`),
  boolean: (_field, given) =>
    typeof given === "boolean" ? { ok: true, value: given } : wrong("must be true or false"),
  array: readUuids,
  object: ({ maxProperties = 0 }, given) => readHeaders(given, { countMax: maxProperties }),
};

function readText(field: Field, given: unknown): Read {
  if (typeof given !== "string") return wrong("must be a string");
  if (given.includes("\0") || !given.isWellFormed())
    return wrong("contains a character that cannot be stored");
  if (given === "" && field.default === "") return { ok: true, value: "" };
  const must = field["x-must"];
  if (given.length < (field.minLength ?? 0)) return wrong(`must be ${must ?? "non-empty"}`);
  if (given.length > (field.maxLength ?? Infinity)) {
    return wrong(`must be at most ${field.maxLength} characters long`);
  }
  if (field.format === "uri") return readAddress(given);
  if (field.pattern !== undefined && !new RegExp(field.pattern, "u").test(given)) {
    return wrong(`must ${must === undefined ? `match ${field.pattern}` : `be ${must}`}`);
  }
  return { ok: true, value: given };
}

function readUuids({ maxItems = 0 }: Field, given: unknown): Read {
  const uuids = Array.isArray(given) ? new Set<unknown>(given) : new Set<unknown>();
  const good = [...uuids].filter((uuid): uuid is string => typeof uuid === "string" && isUuid(uuid));
  if (good.length === 0 || good.length < uuids.size) return wrong("must be a list of one or more UUIDs");
  return good.length > maxItems ? wrong(`must contain at most ${maxItems} items`) : { ok: true, value: good };
}

function wrong(text: string): { ok: false; text: string } {
  return { ok: false, text };
}

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const SET_UP_CODE_LENGTH = 24;
const WEBHOOK_SECRET_BYTES = 32;

const MAKERS: Readonly<Record<MadeSecret, () => string>> = {
  webhookSecret: () => {
    const bytes = Buffer.from(randomText({ alphabet: ALPHABET, length: WEBHOOK_SECRET_BYTES }), "ascii");
    return `whsec_${bytes.toString("base64")}`;
  },
  setUpCode: () => randomText({ alphabet: ALPHABET, length: SET_UP_CODE_LENGTH }),
};

/**
 * A new channel's configuration with the secrets that its kind has made for it. `made` holds them by their fields:
 * nobody can read them again, so they are shown to whoever creates the channel.
 */
export function withMadeSecrets(
  kind: AnyKind,
  config: ChannelConfig,
): { config: ChannelConfig; made: Readonly<Record<string, string>> } {
  const made: Record<string, string> = {};
  for (const [name, { "x-made": secret, "x-unless": other }] of fieldsOf(kind)) {
    const isNeeded = config[name] === "" && (other === undefined || config[other] === "");
    if (secret !== undefined && isNeeded) made[name] = MAKERS[secret]();
  }
  return { config: { ...config, ...made }, made };
}

/** What may be shown of a configuration: everything but its secrets, and of secret addresses where they lead. */
export function shownConfig(kind: AnyKind, config: ChannelConfig): ChannelConfig {
  return Object.fromEntries(
    fieldsOf(kind)
      .filter(([name]) => Object.hasOwn(config, name))
      .map(([name, field]) => [name, field.writeOnly === true ? masked(field, config[name]) : config[name]]),
  );
}

function masked(field: Field, value: unknown): unknown {
  if (value === "") return "";
  if (field.format === "uri" && typeof value === "string" && URL.canParse(value)) {
    return `${new URL(value).origin}/${MASK}`;
  }
  if (field.type !== "object" || typeof value !== "object" || value === null) return MASK;
  return Object.fromEntries(
    Object.entries(value).map(([name, header]) => [name, isPlainHeader(name) ? header : MASK]),
  );
}
