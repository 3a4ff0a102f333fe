// Parses untrusted emails and delivery reports with bounded work: the parser needs a minute for half a
// megabyte of nested messages or tiny parts, and blocks the process.
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

export type DeliveryStatus = {
  /** The part before the @ of the address that the report came to; empty when it has none. */
  localPart: string;
  /** For instance 5.1.1; empty when the mail is no report. */
  status: string;
  /** What the other server said, in one line. */
  diagnostic: string;
};

const REPORT_TYPE = "message/delivery-status";
/** Anybody may post a report. What it says stands before the mail that it quotes, and no report is nested deeper. */
const BOUNDS: MailBounds = {
  bytesMax: 256 * 1024,
  linesMax: 2_000,
  headerBytesMax: 32 * 1024,
  nestingMax: 10,
};

/** Reads a mail as it came over the wire. Null when it cannot be read as one. */
export async function readDeliveryStatus(raw: Uint8Array): Promise<DeliveryStatus | null> {
  const mail = await readMail(raw, BOUNDS);
  if (mail === null) return null;
  const address = mail.to?.[0]?.address ?? mail.deliveredTo ?? "";
  const report = mail.attachments.find(({ mimeType }) => mimeType === REPORT_TYPE)?.content;
  const fields = typeof report === "string" ? fieldsOf(report) : new Map<string, string>();
  return {
    localPart: address.slice(0, Math.max(0, address.lastIndexOf("@"))),
    status: /^\d\.\d{1,3}\.\d{1,3}/.exec(fields.get("status") ?? "")?.[0] ?? "",
    diagnostic: (fields.get("diagnostic-code") ?? "").replace(/^[\w-]+;\s*/, ""),
  };
}

/** The fields of a report by their names in lower case, the first of each; folded lines are put together. */
function fieldsOf(report: string): Map<string, string> {
  const fields = new Map<string, string>();
  for (const line of report
    .replace(/\r\n/g, "\n")
    .replace(/\n[ \t]+/g, " ")
    .split("\n")) {
    const colon = line.indexOf(":");
    const name = line.slice(0, Math.max(0, colon)).trim().toLowerCase();
    if (name !== "" && !fields.has(name)) fields.set(name, line.slice(colon + 1).trim());
  }
  return fields;
}
