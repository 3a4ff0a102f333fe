// What the mail kind is handed to send with: the server behind it, and what has to be known of whoever reads the mail.
// It is put together by whoever runs the senders.
import type { Mail, MailResult } from "../lib/mail/mail.ts";

/** Whoever reads the mails of a channel. */
export type Recipient = {
  /** They have agreed to be written to, or nobody has to. */
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
  /** Whoever owns the channel is told that its address was never verified. Does so once in a while. */
  tellUnverified(of: { channelUuid: string }): Promise<void>;
  send(mail: BounceableMail): Promise<MailResult>;
};
