// Reads the report that a mail server sends about a mail it could not deliver: to which address it came, and what it
// says. Knows nothing of what was sent.
import { type MailBounds, readMail } from "./bounded-mail.ts";

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
