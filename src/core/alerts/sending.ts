// What sending a message can lead to, in the words that those who send and those who keep the record share.

/** How a message fared. `summary` and `excerpt` are kept and shown: no secret may be in them. */
export type SendResult = SentResult | FailedResult;

export type SentResult = {
  kind: "sent";
  /** What was asked of whom, for instance "POST hooks.example.org". */
  summary: string;
  code: number | null;
  /** The beginning of the answer. */
  excerpt: string | null;
  /** The receiver has told us to use this configuration from now on. */
  config?: Readonly<Record<string, unknown>>;
};

export type FailedResult = {
  kind: "failed";
  /** Trying again cannot help: the channel is disabled, with the reason. */
  permanent: boolean;
  /** Trying again cannot help this message, but the channel is kept. */
  keepsChannel?: true;
  /** The receiver asked to be left alone for so long. */
  retryAfterMs: number | null;
  summary: string;
  code: number | null;
  excerpt: string | null;
  /** Shown to the owner of the channel. */
  reason: string;
  /** Whether the receiver may have taken the message all the same. Absent: yes, unless it has answered. */
  inDoubt?: boolean;
};

/** How many messages one channel takes: so many at once, and so many a minute in the long run. */
export type Rate = { perMinute: number; burst: number };

/** What a channel is asked whether it wants to hear of. A correction is asked for as "up". */
export type Hearing = "down" | "up" | "notice";

/** A message of which nobody knows whether it arrived has to be repeated as it was. */
export function isInDoubt({ inDoubt, code }: FailedResult): boolean {
  return inDoubt ?? code === null;
}
