// The interface of a channel kind, and what it receives to send with. To add a kind, write a file in kinds/ and add a line
// to registry.ts.
import type { TObject } from "typebox";
import type { Rate, SendResult, SubscribedEvent } from "../core/delivery.ts";
import type { Instant } from "../core/instant.ts";
import type { Quota } from "../core/quota.ts";
import type { AlertMessage, ChannelFacts, CheckFacts, TestMessage } from "../core/message.ts";
import type { Mail, MailResult } from "../lib/mail-sender.ts";
import type { GuardedHttp } from "../lib/outgoing-http.ts";
import type { ProviderKeys, Providers } from "./providers.ts";

/** `Config` is what the schema describes: JSON as users send it, with its defaults filled in. */
export type ChannelKind<Config> = {
  /** Its name in the API. */
  name: string;
  /** Its name for users, and a sentence about what it does. */
  title: string;
  about: string;
  category: Category;
  /** The name of its icon in the package simple-icons; null: it has none there. */
  icon: string | null;
  /** How to set it up, step by step: Markdown with links and `code` only. */
  guide: readonly string[];
  /** A short configuration for the docs; null: nobody writes one by hand. */
  example: Readonly<Partial<Config>> | null;
  /** One source for validation, the API and the docs; built from the fields below. */
  schema: TObject;
  /** Checks that the schema cannot express: an error text for the user, or null. */
  validate?(config: Config): string | null;
  isSubscribed(config: Config, what: SubscribedEvent): boolean;
  /** Rate limit of one channel; null: none. */
  rate: Rate | null;
  /** The monthly quota of the account that its messages use. */
  quota?: Quota;
  /** Why the kind cannot be used until an admin changes the server's settings; null: it can be. */
  unavailable?(server: Pick<Outgoing, "keys" | "providers">): string | null;
  /** Why its receiver would reject all messages, which disables the channel; for the docs. */
  rejections?(config: Config, server: Pick<Outgoing, "keys">): readonly string[];
  /** Sends one message. Errors are results; only bugs are thrown. */
  send(message: ChannelMessage, config: Config, out: Outgoing): Promise<SendResult>;
};

/** A kind of unknown configuration type; a configuration must be validated before it is passed. */
export type AnyKind = ChannelKind<Readonly<Record<string, unknown>>>;

/** Where a kind is listed. */
export type Category = (typeof CATEGORIES)[number];

/** In the order of display. */
export const CATEGORIES = ["chat", "push", "phone", "incidents", "automation"] as const;

/** Everything that a kind may need to send one message. */
export type Outgoing = {
  /** The only way to send requests to addresses from users. */
  http: Pick<GuardedHttp, "send">;
  /** For addresses that an admin has set, which may be private. */
  adminHttp: Pick<GuardedHttp, "send">;
  /** Null: this server sends no email. */
  mail: MailPort | null;
  site: Site;
  keys: ProviderKeys;
  providers: Providers;
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
