// The interface of a channel kind, what it receives to send with, and the schema fields of configurations. To add a
// kind, write a file with this interface and add a line to registry.ts.
import { type TObject, type TSchema, Type } from "typebox";
import type { Rate, SendResult, SubscribedEvent } from "../core/delivery.ts";
import type { Instant } from "../core/instant.ts";
import type { AlertMessage, ChannelFacts, CheckFacts, TestMessage } from "../core/message.ts";
import type { Mail, MailResult } from "../lib/mail-sender.ts";
import type { GuardedHttp } from "../lib/outgoing-http.ts";

/** `Config` is what the schema describes: JSON as users send it, with its defaults filled in. */
export type ChannelKind<Config> = {
  /** Its name in the API. */
  name: string;
  /** Its name for users, and a sentence about what it does. */
  title: string;
  about: string;
  /** One source for validation, the API and the docs; built from the fields below. */
  schema: TObject;
  /** Checks that the schema cannot express: an error text for the user, or null. */
  validate?(config: Config): string | null;
  isSubscribed(config: Config, what: SubscribedEvent): boolean;
  /** Rate limit of one channel; null: none. */
  rate: Rate | null;
  /** Sends one message. Errors are results; only bugs are thrown. */
  send(message: ChannelMessage, config: Config, out: Outgoing): Promise<SendResult>;
};

/** A kind of unknown configuration type; a configuration must be validated before it is passed. */
export type AnyKind = ChannelKind<Readonly<Record<string, unknown>>>;

/** The server's credentials at providers. */
export type ProviderKeys = { telegramToken: string | null; ntfyShToken: string | null };

/** Everything that a kind may need to send one message. */
export type Outgoing = {
  /** The only way to send requests. */
  http: Pick<GuardedHttp, "send">;
  /** Null: this server sends no email. */
  mail: MailPort | null;
  site: Site;
  keys: ProviderKeys;
  channel: ChannelFacts;
  /** The time zone of the project, used for times unless the recipient has chosen another. */
  zone: string;
  /** The check as version 3 of the API shows it to a read-write key. */
  checkJson(check: CheckFacts): Readonly<Record<string, unknown>>;
  /** The same in every attempt of one message, and unique; random, so it can identify the message externally. */
  dedupeKey: string;
  attempt: number;
  now: Instant;
};

/** A test has been converted to a message about a check that does not exist. */
export type ChannelMessage = Exclude<AlertMessage, TestMessage> & { isTest?: true };

/** The name of the server, and its public URL without a trailing slash. */
export type Site = { name: string; url: string };

/** The recipient of an email channel. */
export type Recipient = {
  /** The address is confirmed, or confirmation is disabled. */
  isVerified: boolean;
  /** The time zone that the recipient has chosen; null: none. */
  zone: string | null;
  /** The unsubscribe URL, also for one-click unsubscription. */
  unsubscribeUrl: string;
};

/** An email whose bounce can be identified: `bounceId` says which email it was. */
export type BounceableMail = Omit<Mail, "returnPath"> & { bounceId: string };

export type MailPort = {
  /** The domain of a Message-ID. */
  idDomain: string;
  recipient(of: { channelUuid: string; address: string }): Promise<Recipient>;
  /** Notifies the owner of the channel, at a limited rate, that its address was never confirmed. */
  notifyUnverified(of: { channelUuid: string }): Promise<void>;
  send(mail: BounceableMail): Promise<MailResult>;
};

// Fields of configurations: JSON Schema for the API and the docs, with marks for validation and masking.

/** Attributes of a field in addition to JSON Schema. */
export type FieldMarks = {
  description: string;
  /** Secret: can be written but not read. */
  writeOnly?: boolean;
  /** A value is generated when a channel is created without one, and shown once. */
  "x-made"?: MadeSecret;
  /** …unless this other field is given. */
  "x-unless"?: string;
  /** What a value must be, as the end of "… must be", if the type alone does not say it. */
  "x-must"?: string;
};

export type MadeSecret = "webhookSecret" | "setUpCode";

type Given<Value> = {
  about: string;
  /** The default. Without it the field is required. */
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

/** A text of limited length; an empty one is valid only if it is the default. */
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

/** An http or https URL. Secret if knowing it is enough to send messages. */
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

/** One of several values. */
export function choiceField<const Word extends string>(given: Given<Word> & { words: readonly Word[] }) {
  return Type.Enum([...given.words], marksOf(given));
}

const HEADERS_MAX = 30;

/** Headers by name. A text with one `Name: value` per line is accepted, too. */
export function headersField(given: Given<Record<string, string>>) {
  return Type.Record(Type.String(), Type.String(), { ...marksOf(given), maxProperties: HEADERS_MAX });
}

/** A list of distinct UUIDs. */
export function uuidsField(given: Given<string[]> & { countMax: number }) {
  return Type.Array(Type.String({ format: "uuid" }), {
    ...marksOf(given),
    minItems: 1,
    maxItems: given.countMax,
    uniqueItems: true,
  });
}

/** A configuration; no other fields are allowed. */
export function configSchema<Fields extends Record<string, TSchema>>(fields: Fields) {
  return Type.Object(fields, { additionalProperties: false });
}
