// Requests and responses of the setup pages: the public URL and email.
import { type Static, Type } from "typebox";
import { EMAIL_ADDRESS_LENGTH_MAX } from "../../core/limits.ts";

const SITE_ADDRESS_LENGTH_MAX = 500;

/** GET /web/api/set-up (operator). */
export type SetUp = { site: { url: string; pingUrl: string; port: number }; mail: MailState };

export type MailState = {
  /** False: no mail leaves, because OVERDUE_SMTP_HOST is not set. */
  isSet: boolean;
  host: string | null;
  from: string | null;
};

/** GET /web/api/set-up/address?at=<address of the page, without its path> (operator). */
export type AddressReport = {
  /** What the browser used, what this server takes for its address, whether they agree. */
  used: string;
  set: string;
  agrees: boolean;
  /** What came with the request: what browsers send, and what proxies add. Null: it did not come. */
  headers: { name: string; value: string | null }[];
  /** The address of the browser as this server sees it; a proxy that is not trusted shows as itself. */
  remoteAddr: string;
  /** What is wrong, each with what to do about it; empty: nothing. */
  problems: Problem[];
};

export type Problem = { text: string; advice: string };

/** POST /web/api/set-up/address-test (operator): this server calls its own public address. */
export type AddressTest = {
  url: string;
  /** Null: no answer came. */
  status: number | null;
  tookMs: number;
  /** Whether the answer was given by this installation. */
  isOurs: boolean;
  /** Headers that were sent and did not arrive, and those that were added on the way. */
  lost: string[];
  added: { name: string; value: string }[];
  problems: Problem[];
};

/** POST /web/api/set-up/mail-test (operator). */
export const MailTestRequest = Type.Object(
  { to: Type.String({ minLength: 3, maxLength: EMAIL_ADDRESS_LENGTH_MAX }) },
  { additionalProperties: false },
);
export type MailTestRequest = Static<typeof MailTestRequest>;

/** What the mail server answered, in its own words, and a sentence about it. */
export type MailTest = {
  isSent: boolean;
  /** A sentence for people. */
  said: string;
  /** Of the server; null when it did not answer. */
  code: number | null;
  answer: string | null;
  tookMs: number;
};

/** GET /web/api/set-up/echo (anyone): what arrived of a request, for the test above and for whoever tries a proxy. */
export type Echo = { overdue: string; headers: Record<string, string> };

export const AddressQuery = Type.Object({
  at: Type.String({ minLength: 1, maxLength: SITE_ADDRESS_LENGTH_MAX }),
});
export type AddressQuery = Static<typeof AddressQuery>;
