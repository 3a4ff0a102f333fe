// The door: what a kind of channel is. Whoever adds one writes a file of this shape in kinds/ and adds a line to
// registry.ts. A kind looks nothing up and keeps nothing; what it needs is handed to it.
import type { TObject } from "typebox";
import type { ChannelFacts, CheckFacts } from "../core/alerts/message.ts";
import type { Hearing, Rate, SendResult } from "../core/alerts/sending.ts";
import type { Instant } from "../core/instant.ts";
import type { GuardedHttp } from "../lib/outgoing/guarded-http.ts";
import type { MailPort } from "./mail-port.ts";
import type { Site, ToldMessage } from "./told-message.ts";

/** `Config` is what the schema describes: JSON as people send it, with its defaults filled in. */
export type ChannelKind<Config> = {
  /** The API's word for it. */
  name: string;
  /** The name that people know it by, and one sentence about what it does. */
  title: string;
  about: string;
  /** One source for validation, the API and the docs; made of the fields in config-fields.ts. */
  schema: TObject;
  /** What the schema cannot say: a sentence for whoever typed it, or null. */
  validate?(config: Config): string | null;
  hears(config: Config, what: Hearing): boolean;
  /** How much one channel takes; null: as much as there is. */
  rate: Rate | null;
  /** Sends one message. What went wrong is a result; only a fault of ours is thrown. */
  send(message: ToldMessage, config: Config, out: Outgoing): Promise<SendResult>;
};

/** A kind whose configuration nobody knows; the schema has to be asked before it is handed one. */
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
