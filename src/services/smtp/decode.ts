// What a message says: its subject and its text, decoded, for looking for keywords in them. Attachments and
// messages inside the message are not read. Whatever bytes come, it answers, with as much as can be read.
import { setImmediate as nextTurn } from "node:timers/promises";
import PostalMime, { decodeWords, type Email } from "postal-mime";
import { EMAIL_SEARCHED_BYTES_MAX } from "../../core/limits.ts";
import { withBoundedBase64 } from "../../lib/mail/bounded-mail.ts";
import { htmlText } from "./html-text.ts";
import { plainMail } from "./plain-mail.ts";

export type DecodedMail = { subject: string; text: string };

/** Deeper parts and larger headers than anybody's mail has. */
const NESTING_MAX = 50;
const HEADER_BYTES_MAX = 32 * 1024;
/** Longer subjects are cut; the limit of a line, a hundred times folded. */
const SUBJECT_LENGTH_MAX = 10_000;

type Said = { subject: string; text: string; html: string };

/** Smaller messages cost next to nothing. */
const HEAVY_BYTES = 4 * 1024;

/** Decodes at most one large message at a time, and pauses in between, so that the process goes on receiving. */
export class MailDecoder {
  #last: Promise<unknown> = Promise.resolve();

  async decode(message: Uint8Array): Promise<DecodedMail> {
    const plain = plainMail(message);
    if (plain !== null) return decoded({ ...plain, html: "" });
    if (message.length < HEAVY_BYTES) return decodeMail(message);
    const decoding = this.#last.then(() => decodeMail(message));
    // Whatever became of this one, the next one gets its turn.
    this.#last = decoding.then(nextTurn, nextTurn);
    return decoding;
  }
}

/** The subject, and the plain and the HTML part as one text, at most so long as what is searched. */
export async function decodeMail(message: Uint8Array): Promise<DecodedMail> {
  let said: Said;
  try {
    const email = await PostalMime.parse(withBoundedBase64(message), {
      forceRfc822Attachments: true,
      maxNestingDepth: NESTING_MAX,
      maxHeadersSize: HEADER_BYTES_MAX,
    });
    const subject = email.headers.find(({ key }) => key === "subject")?.value ?? "";
    said = { subject, text: email.text ?? untyped(email), html: email.html ?? "" };
  } catch {
    // Too deep, or too much of something: the words are there all the same.
    said = plainly(message);
  }
  return decoded(said);
}

function decoded({ subject, text, html }: Said): DecodedMail {
  const parts = [text, html === "" ? "" : htmlText(html)].filter((part) => part !== "");
  return {
    subject: decodedSubject(subject).slice(0, SUBJECT_LENGTH_MAX),
    text: parts.join("\n").slice(0, EMAIL_SEARCHED_BYTES_MAX),
  };
}

/** Two encoded words of one alphabet with nothing but blanks between them. */
const NEIGHBOURS = /=\?([^?\s]+)\?([BbQq])\?([^?]*)\?=[ \t\r\n]+=\?\1\?\2\?([^?]*)\?=/g;
const NEIGHBOURS_MAX = 100;

/** Mailers cut encoded words in the middle of a character, so that they have to be joined before they are decoded. */
function decodedSubject(found: string): string {
  if (!found.includes("=?")) return found;
  let joined = found.slice(0, SUBJECT_LENGTH_MAX);
  for (let times = 0; times < NEIGHBOURS_MAX; times += 1) {
    const before = joined;
    joined = joined.replace(
      NEIGHBOURS,
      (_both, charset: string, how: string, first: string, second: string) => {
        const isBase64 = how.toUpperCase() === "B";
        const text = isBase64 ? joinBase64(first, second) : first + second;
        return `=?${charset}?${how}?${text}?=`;
      },
    );
    if (joined === before) break;
  }
  try {
    return decodeWords(joined);
  } catch {
    return found;
  }
}

function joinBase64(...words: string[]): string {
  return Buffer.concat(words.map((word) => Buffer.from(word, "base64"))).toString("base64");
}

/** A part whose type makes no sense is a text, as if it had none. */
function untyped({ attachments }: Email): string {
  const parts = attachments.filter(
    ({ mimeType, disposition }) => !mimeType.includes("/") && disposition !== "attachment",
  );
  return parts
    .map(({ content }) => (typeof content === "string" ? content : new TextDecoder("utf-8").decode(content)))
    .join("\n");
}

const EMPTY_LINE = /\r?\n\r?\n/;
const SUBJECT = /^subject:[ \t]*(.*(?:\r?\n[ \t].*)*)/im;

/** A message as text, without looking at its structure. */
function plainly(message: Uint8Array): Said {
  const whole = new TextDecoder("utf-8").decode(message);
  const { index = whole.length } = EMPTY_LINE.exec(whole) ?? {};
  const subject = SUBJECT.exec(whole.slice(0, index))?.[1] ?? "";
  return { subject: subject.replace(/\r?\n/g, ""), text: whole.slice(index), html: "" };
}
