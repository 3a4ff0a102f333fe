// The interface of a channel kind, what it receives to send with, and the schema fields of configurations. To add a kind,
// write a file of this shape and add a line to registry.ts.
import { type TObject, type TSchema, Type } from "typebox";
import type { Rate, SendResult, SubscribedEvent } from "../core/delivery.ts";
import type { Instant } from "../core/instant.ts";
import type { AlertMessage, ChannelFacts, CheckFacts, TestMessage } from "../core/message.ts";
import type { Mail, MailResult } from "../lib/mail-sender.ts";
import type { GuardedHttp } from "../lib/outgoing-http.ts";

/** `Config` is what the schema describes: JSON as people send it, with its defaults filled in. */
export type ChannelKind<Config> = {
  /** The API's word for it. */
  name: string;
  /** The name that people know it by, and one sentence about what it does. */
  title: string;
  about: string;
  /** One source for validation, the API and the docs; made of the fields in config-fields.ts. */
  schema: TObject;
  /** Checks that the schema cannot express: an error text for the user, or null. */
  validate?(config: Config): string | null;
  isSubscribed(config: Config, what: SubscribedEvent): boolean;
  /** How much one channel takes; null: as much as there is. */
  rate: Rate | null;
  /** Sends one message. What went wrong is a result; only a fault of ours is thrown. */
  send(message: ChannelMessage, config: Config, out: Outgoing): Promise<SendResult>;
};

/** A kind of unknown configuration type; a configuration must be validated before it is passed. */
export type AnyKind = ChannelKind<Readonly<Record<string, unknown>>>;

/** What the installation has with providers. */
export type ProviderKeys = { telegramToken: string | null; ntfyShToken: string | null };

/** Everything outside of a kind that it may need to send one message. */
export type Outgoing = {
  /** The only way to other machines. */
  http: Pick<GuardedHttp, "send">;
  /** Null: this installation sends no mail. */
  mail: MailPort | null;
  site: Site;
  keys: ProviderKeys;
  channel: ChannelFacts;
  /** The time zone of the project, in which messages name times unless their reader has chosen another. */
  zone: string;
  /** The check as version 3 of the API shows it to a read-write key. */
  checkJson(check: CheckFacts): Readonly<Record<string, unknown>>;
  /** The same in every try of one message, and in no other; random, so it can stand for the message outside. */
  dedupeKey: string;
  attempt: number;
  now: Instant;
};

/** A test has become a message about a check that does not exist: see example-check.ts. */
export type ChannelMessage = Exclude<AlertMessage, TestMessage> & { isTest?: true };

/** What an installation calls itself, and its public address without a slash at the end. */
export type Site = { name: string; url: string };

/** The recipient of an email channel. */
export type Recipient = {
  /** The address is confirmed, or confirmation is switched off. */
  isVerified: boolean;
  /** The time zone that the reader has chosen; null: none. */
  zone: string | null;
  /** Ends the mails to this address; answers to one click of a mail program, too. */
  unsubscribeUrl: string;
};

/** A mail whose bounce can be told apart from others: `bounceId` says what it was. */
export type BounceableMail = Omit<Mail, "returnPath"> & { bounceId: string };

export type MailPort = {
  /** What stands behind the @ of a Message-ID. */
  idDomain: string;
  recipient(of: { channelUuid: string; address: string }): Promise<Recipient>;
  /** Notifies the owner of the channel, at a limited rate, that its address was never confirmed. */
  notifyUnverified(of: { channelUuid: string }): Promise<void>;
  send(mail: BounceableMail): Promise<MailResult>;
};

// Fields of configurations: JSON Schema for the API and the docs, with marks for validation and masking.

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
