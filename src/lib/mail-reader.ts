// Parses untrusted emails and delivery reports with bounded work: the parser needs a minute for half a
// megabyte of nested messages or tiny parts, and blocks the process.
import type { Email } from "postal-mime";

export type MailBounds = {
  /** Text after these limits is not parsed. Most of the work is per line. */
  bytesMax: number;
  linesMax: number;
  /** An email with larger headers, or with deeper nesting, is not parsed. */
  headerBytesMax: number;
  nestingMax: number;
};

const LINE_FEED = 10;
/** Runs of base64 that end with padding. Each is decoded separately; mailers write one per part, or one per line. */
const BASE64_RUNS_MAX = 3_000;
const PADDING_RUN = /=+/g;
const OTHER_ENCODING = /content-transfer-encoding(?!\s*:[ \t]*quoted-printable[ \t]*\r?$)/gim;

/**
 * The email as it is passed to the parser. A quarter of a megabyte of `a=a=a=` in base64 takes half a second to
 * decode, so an email with that many runs is parsed as if it contained no base64. Comments in a header can hide the
 * word, so every encoding except quoted-printable is ignored then.
 */
export function withBoundedBase64(mail: Uint8Array): Uint8Array {
  const text = Buffer.from(mail.buffer, mail.byteOffset, mail.byteLength).toString("latin1");
  const isBounded = (text.match(PADDING_RUN)?.length ?? 0) <= BASE64_RUNS_MAX;
  return isBounded ? mail : Buffer.from(text.replace(OTHER_ENCODING, "x-encoding"), "latin1");
}

/** The parsed beginning of an email; a nested message is an attachment. Null if it cannot be parsed. */
export async function readMail(raw: Uint8Array, bounds: MailBounds): Promise<Email | null> {
  const { default: PostalMime } = await import("postal-mime");
  try {
    return await PostalMime.parse(withBoundedBase64(beginningOf(raw, bounds)), {
      attachmentEncoding: "utf8",
      forceRfc822Attachments: true,
      maxNestingDepth: bounds.nestingMax,
      maxHeadersSize: bounds.headerBytesMax,
    });
  } catch {
    // Too deep, too large, or not an email.
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
  /** The local part of the address that the report was sent to; empty if there is none. */
  localPart: string;
  /** For example 5.1.1; empty if the email is not a report. */
  status: string;
  /** The response of the other server, in one line. */
  diagnostic: string;
};

const REPORT_TYPE = "message/delivery-status";
/** Anyone can post a report. Its fields precede the email that it quotes, and no report is nested deeper. */
const BOUNDS: MailBounds = {
  bytesMax: 256 * 1024,
  linesMax: 2_000,
  headerBytesMax: 32 * 1024,
  nestingMax: 10,
};

/** Parses a raw email. Null if it cannot be parsed. */
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

/** The fields of a report by lower-case name, the first of each; folded lines are joined. */
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
