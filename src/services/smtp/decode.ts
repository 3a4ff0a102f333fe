// Decodes the subject and the text of an email, for keyword matching.
import { Tokenizer, type TokenizerCallbacks } from "htmlparser2";
import { isAscii } from "node:buffer";
import { setImmediate as nextTurn } from "node:timers/promises";
import PostalMime, { decodeWords, type Email } from "postal-mime";
import { EMAIL_SEARCHED_BYTES_MAX } from "../../core/limits.ts";
import { withBoundedBase64 } from "../../lib/mail-reader.ts";

/** Elements whose content is not displayed. */
const HIDDEN: ReadonlySet<string> = new Set(["script", "style"]);
const SPACE = /\s+/g;

const ignore = () => {};

/** The visible text. A text without tags is returned with its white space collapsed. */
export function htmlText(html: string): string {
  const pieces: string[] = [];
  let isHidden = false;
  // The tokenizer reads each character once. The library's parser keeps a stack of open elements, which costs
  // quadratic time on a document that opens elements and never closes them.
  const callbacks: TokenizerCallbacks = {
    ontext: (start, end) => void (isHidden || pieces.push(html.slice(start, end))),
    ontextentity: (codePoint) => void (isHidden || pieces.push(String.fromCodePoint(codePoint))),
    onopentagname: (start, end) => {
      isHidden = HIDDEN.has(html.slice(start, end).toLowerCase());
    },
    onclosetag: () => {
      isHidden = false;
    },
    onattribdata: ignore,
    onattribend: ignore,
    onattribentity: ignore,
    onattribname: ignore,
    oncdata: ignore,
    oncomment: ignore,
    ondeclaration: ignore,
    onend: ignore,
    onopentagend: ignore,
    onprocessinginstruction: ignore,
    onselfclosingtag: ignore,
  };
  const tokenizer = new Tokenizer({ decodeEntities: true }, callbacks);
  tokenizer.write(html);
  tokenizer.end();
  return pieces.join("").replace(SPACE, " ").trim();
}

// A fast path for what most machines send: a single unencoded ASCII text. It gives the same result as the library in
// a tenth of the time; everything else is left to the library.

export type PlainMail = {
  /** As in the header, unfolded; encoded words are still encoded. */
  subject: string;
  text: string;
};

const HEADERS_LENGTH_MAX = 64 * 1024;
const EMPTY_LINE = /\r?\n\r?\n/;
const LONE_RETURN = /\r(?!\n)/;
/** White space that some programs trim and others keep. */
const ODD_SPACE = /[\v\f]/;
const FOLD = /\r?\n(?=[ \t])/g;
const SUBJECT = /^subject[ \t]*(?::(.*))?$/im;
/** Headers that determine how a text is decoded. */
const CONTENT = /^content-(?:type|transfer-encoding|disposition).*$/gim;
/** Character sets in which ASCII characters are unchanged. */
const PLAIN_TYPE =
  /^content-type:[ \t]*text\/plain(?:[ \t]*;[ \t]*charset=(?:"(?:us-ascii|utf-8|iso-8859-1)"|us-ascii|utf-8|iso-8859-1))?[ \t]*$/i;
const PLAIN_ENCODING = /^content-transfer-encoding:[ \t]*(?:7bit|8bit|binary)[ \t]*$/i;

/** Subject and text of a message that needs no decoding; null for any other. */
export function plainMail(message: Uint8Array): PlainMail | null {
  if (!isAscii(message)) return null;
  const whole = Buffer.from(message.buffer, message.byteOffset, message.byteLength).toString("latin1");
  const empty = EMPTY_LINE.exec(whole);
  // Headers that begin with a space, or are missing, are left to the library.
  if (empty === null || empty.index > HEADERS_LENGTH_MAX || /^\s/.test(whole)) return null;
  const headers = whole.slice(0, empty.index).replace(FOLD, "");
  if (LONE_RETURN.test(whole) || ODD_SPACE.test(headers)) return null;
  const contents = headers.match(CONTENT) ?? [];
  const types = contents.filter((line) => PLAIN_TYPE.test(line)).length;
  const encodings = contents.filter((line) => PLAIN_ENCODING.test(line)).length;
  if (types > 1 || encodings > 1 || types + encodings < contents.length) return null;
  const subject = (SUBJECT.exec(headers)?.[1] ?? "").trim();
  const body = whole.slice(empty.index + empty[0].length).replaceAll("\r\n", "\n");
  return { subject, text: body === "" || body.endsWith("\n") ? body : `${body}\n` };
}

// Attachments and nested messages are skipped. Never throws: it returns what can be read.

export type DecodedMail = { subject: string; text: string };

/** Deeper nesting and larger headers than in real emails. */
const NESTING_MAX = 50;
const HEADER_BYTES_MAX = 32 * 1024;
/** Longer subjects are truncated; a hundred times the maximum line length. */
const SUBJECT_LENGTH_MAX = 10_000;

type MailParts = { subject: string; text: string; html: string };

/** Smaller messages cost almost nothing. */
const HEAVY_BYTES = 4 * 1024;

/** Decodes at most one large message at a time, and pauses in between, so that the process keeps receiving. */
export class MailDecoder {
  #last: Promise<unknown> = Promise.resolve();

  async decode(message: Uint8Array): Promise<DecodedMail> {
    const plain = plainMail(message);
    if (plain !== null) return decoded({ ...plain, html: "" });
    if (message.length < HEAVY_BYTES) return decodeMail(message);
    const decoding = this.#last.then(() => decodeMail(message));
    // The next message is decoded in any case.
    this.#last = decoding.then(nextTurn, nextTurn);
    return decoding;
  }
}

/** The subject, and the plain and the HTML part as one text, limited to the searched length. */
export async function decodeMail(message: Uint8Array): Promise<DecodedMail> {
  let said: MailParts;
  try {
    const email = await PostalMime.parse(withBoundedBase64(message), {
      forceRfc822Attachments: true,
      maxNestingDepth: NESTING_MAX,
      maxHeadersSize: HEADER_BYTES_MAX,
    });
    const subject = email.headers.find(({ key }) => key === "subject")?.value ?? "";
    said = { subject, text: email.text ?? untyped(email), html: email.html ?? "" };
  } catch {
    // Too deep or too large: the text is searched without structure.
    said = undecodedParts(message);
  }
  return decoded(said);
}

function decoded({ subject, text, html }: MailParts): DecodedMail {
  const parts = [text, html === "" ? "" : htmlText(html)].filter((part) => part !== "");
  return {
    subject: decodedSubject(subject).slice(0, SUBJECT_LENGTH_MAX),
    text: parts.join("\n").slice(0, EMAIL_SEARCHED_BYTES_MAX),
  };
}

/** Two encoded words of one character set with only spaces between them. */
const ADJACENT_WORDS = /=\?([^?\s]+)\?([BbQq])\?([^?]*)\?=[ \t\r\n]+=\?\1\?\2\?([^?]*)\?=/g;
const ADJACENT_WORDS_MAX = 100;

/** Mailers split encoded words in the middle of a character, so they must be joined before decoding. */
function decodedSubject(found: string): string {
  if (!found.includes("=?")) return found;
  let joined = found.slice(0, SUBJECT_LENGTH_MAX);
  for (let times = 0; times < ADJACENT_WORDS_MAX; times += 1) {
    const before = joined;
    joined = joined.replace(
      ADJACENT_WORDS,
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

/** A part with an invalid type is treated as text, as if it had none. */
function untyped({ attachments }: Email): string {
  const parts = attachments.filter(
    ({ mimeType, disposition }) => !mimeType.includes("/") && disposition !== "attachment",
  );
  return parts
    .map(({ content }) => (typeof content === "string" ? content : new TextDecoder("utf-8").decode(content)))
    .join("\n");
}

const SUBJECT_LINES = /^subject:[ \t]*(.*(?:\r?\n[ \t].*)*)/im;

/** A message as text, ignoring its structure. */
function undecodedParts(message: Uint8Array): MailParts {
  const whole = new TextDecoder("utf-8").decode(message);
  const { index = whole.length } = EMPTY_LINE.exec(whole) ?? {};
  const subject = SUBJECT_LINES.exec(whole.slice(0, index))?.[1] ?? "";
  return { subject: subject.replace(/\r?\n/g, ""), text: whole.slice(index), html: "" };
}
