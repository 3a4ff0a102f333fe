// Reads a mail that anybody may have sent, with an end to the work. The library that takes mails apart needs a minute
// for half a megabyte of messages inside messages or of tiny parts; while it works, the process does nothing else.
import PostalMime, { type Email } from "postal-mime";

export type MailBounds = {
  /** What stands behind these is not read. Most of the work is done by the line. */
  bytesMax: number;
  linesMax: number;
  /** A mail with larger headers, or with deeper parts, is not read at all. */
  headerBytesMax: number;
  nestingMax: number;
};

const LINE_FEED = 10;
/** Runs of base64 that end with padding. Each is decoded by itself; mailers write one for each part, or each line. */
const BASE64_RUNS_MAX = 3_000;
const PADDING_RUN = /=+/g;
const OTHER_ENCODING = /content-transfer-encoding(?!\s*:[ \t]*quoted-printable[ \t]*\r?$)/gim;

/**
 * The mail as it may be taken apart. A quarter of a megabyte of `a=a=a=` in base64 takes half a second to decode, so a
 * mail with that many runs is read as if nothing in it were base64. Comments in a header can hide the word, so every
 * encoding but quoted-printable is ignored then.
 */
export function withBoundedBase64(mail: Uint8Array): Uint8Array {
  const text = Buffer.from(mail.buffer, mail.byteOffset, mail.byteLength).toString("latin1");
  const isBounded = (text.match(PADDING_RUN)?.length ?? 0) <= BASE64_RUNS_MAX;
  return isBounded ? mail : Buffer.from(text.replace(OTHER_ENCODING, "x-encoding"), "latin1");
}

/** The beginning of a mail, taken apart; a message inside is an attachment like others. Null: it cannot be read as one. */
export async function readMail(raw: Uint8Array, bounds: MailBounds): Promise<Email | null> {
  try {
    return await PostalMime.parse(withBoundedBase64(beginningOf(raw, bounds)), {
      attachmentEncoding: "utf8",
      forceRfc822Attachments: true,
      maxNestingDepth: bounds.nestingMax,
      maxHeadersSize: bounds.headerBytesMax,
    });
  } catch {
    // Too deep, too much of something, or no mail at all.
    return null;
  }
}

function beginningOf(raw: Uint8Array, { bytesMax, linesMax }: MailBounds): Uint8Array {
  const bytes = raw.subarray(0, bytesMax);
  let end = -1;
  for (let count = 0; count < linesMax; count += 1) {
    end = bytes.indexOf(LINE_FEED, end + 1);
    if (end === -1) return bytes;
  }
  return bytes.subarray(0, end + 1);
}
