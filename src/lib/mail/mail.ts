// What a mail is, and how sending one can end. Knows no server and no reason to write.

/** One mail to one address, finished: nothing is added to it but the date and the address of the sender. */
export type Mail = {
  to: string;
  subject: string;
  text: string;
  html: string;
  /** With its angle brackets. The same mail sent again has the same one. */
  messageId: string;
  /** The mails that this one goes on from, oldest first. */
  references?: readonly string[];
  headers?: Readonly<Record<string, string>>;
  /** Where a mail that cannot be delivered goes back to; without it, to the sender. */
  returnPath?: string;
};

export type MailResult = SentMail | UnsentMail;

export type SentMail = { kind: "sent"; code: number | null; response: string };

export type UnsentMail = {
  kind: "failed";
  /** The server refuses this address for good. Whatever else is wrong may be mended. */
  permanent: boolean;
  /** A sentence for people. */
  reason: string;
  /** What the server answered; null when it did not. */
  code: number | null;
  response: string | null;
  /** Whether the server may have taken it all the same. */
  inDoubt: boolean;
};

/** Sends mails, so many at a time. */
export type MailSender = {
  /** Never throws: whatever goes wrong is a result. */
  send(mail: Mail): Promise<MailResult>;
  /** Asks the server whether it would take mails; null when it would, otherwise what is the matter. */
  trouble(): Promise<string | null>;
  /** Nothing is sent any more; what has begun gets a moment to end. */
  close(): Promise<void>;
};
