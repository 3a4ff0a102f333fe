// The fields that configurations of channels are made of: JSON Schema for the API and the docs, with the marks that
// validation and masking go by. What is wrong with a value is told in channel-config.ts.
import { type TSchema, Type } from "typebox";

/** Marks of a field beside JSON Schema's own. */
export type FieldMarks = {
  description: string;
  /** Secret: taken, and never shown again. */
  writeOnly?: boolean;
  /** A value is made when a channel is created without one, and shown once. */
  "x-made"?: MadeSecret;
  /** …unless this other field was given. */
  "x-unless"?: string;
  /** What a value must be, as the end of "… must be", where the type alone does not say it. */
  "x-must"?: string;
};

export type MadeSecret = "webhookSecret" | "setUpCode";

type Given<Value> = {
  about: string;
  /** What is stored when nothing was given. Without it the field has to be given. */
  fallback?: Value;
  secret?: boolean;
  made?: MadeSecret;
  unless?: string;
  must?: string;
};

function marksOf<Value>({ about, fallback, secret, made, unless, must }: Given<Value>) {
  return {
    description: about,
    ...(fallback === undefined ? {} : { default: fallback }),
    ...(secret === true ? { writeOnly: true } : {}),
    ...(made === undefined ? {} : { "x-made": made }),
    ...(unless === undefined ? {} : { "x-unless": unless }),
    ...(must === undefined ? {} : { "x-must": must }),
  };
}

/** A text of a bounded length; an empty one passes only where that is the fallback. */
export function textField(given: Given<string> & { lengthMax: number; pattern?: string }) {
  const { lengthMax, pattern } = given;
  return Type.String({
    ...marksOf(given),
    maxLength: lengthMax,
    ...(given.fallback === "" ? {} : { minLength: 1 }),
    ...(pattern === undefined ? {} : { pattern }),
  });
}

const ADDRESS_LENGTH_MAX = 1_000;

/** An http or https address. Secret where knowing it is enough to write to whom it belongs to. */
export function addressField(given: Given<string>) {
  return Type.String({ ...marksOf(given), format: "uri", maxLength: ADDRESS_LENGTH_MAX });
}

/** A whole number. */
export function numberField(given: Given<number> & { min: number; max: number }) {
  return Type.Integer({ ...marksOf(given), minimum: given.min, maximum: given.max });
}

export function switchField(given: Given<boolean>) {
  return Type.Boolean(marksOf(given));
}

/** One of a few words. */
export function choiceField<const Word extends string>(given: Given<Word> & { words: readonly Word[] }) {
  return Type.Enum([...given.words], marksOf(given));
}

const HEADERS_MAX = 30;

/** Headers by their names. A text with one `Name: value` a line is taken, too. */
export function headersField(given: Given<Record<string, string>>) {
  return Type.Record(Type.String(), Type.String(), { ...marksOf(given), maxProperties: HEADERS_MAX });
}

/** Some UUIDs, each once. */
export function uuidsField(given: Given<string[]> & { countMax: number }) {
  return Type.Array(Type.String({ format: "uuid" }), {
    ...marksOf(given),
    minItems: 1,
    maxItems: given.countMax,
    uniqueItems: true,
  });
}

/** A configuration; nothing else may stand in it. */
export function configSchema<Fields extends Record<string, TSchema>>(fields: Fields) {
  return Type.Object(fields, { additionalProperties: false });
}
