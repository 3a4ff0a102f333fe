// What an error of sending means: whether the address is at fault, what to tell people, and whether the mail may have
// arrived all the same. Secrets of ours are taken out of what servers say.
import { MASK } from "../setting-value.ts";
import type { UnsentMail } from "./mail.ts";

/** The errors of the mail library, as far as they are looked at. */
export type SmtpError = {
  code?: unknown;
  originalCode?: unknown;
  command?: unknown;
  response?: unknown;
  responseCode?: unknown;
  message?: unknown;
};

/** What is shown of an answer. */
const RESPONSE_LENGTH_MAX = 300;

/** Class, subject and detail of an enhanced status, which most servers put behind the three digits. */
const ENHANCED = /^\d{3}[ -](?<class>[245])\.(?<subject>\d{1,3})\.(?<detail>\d{1,3})\b/;

/** Reads an error. `isHandedOver`: all of the mail had been given to the server. */
export function troubleOf(
  error: SmtpError,
  { isHandedOver, secrets }: { isHandedOver: boolean; secrets: readonly string[] },
): UnsentMail {
  const response = typeof error.response === "string" ? cleaned(error.response, secrets) : null;
  const code = typeof error.responseCode === "number" ? error.responseCode : null;
  return {
    kind: "failed",
    permanent: error.command === "RCPT TO" && code !== null && isForGood(code, response ?? ""),
    reason: reasonOf(error, { code, response }),
    code,
    response,
    inDoubt: code === null && isHandedOver,
  };
}

/**
 * Whether a refused recipient will be refused tomorrow. A refusal of us (relaying, blocked, not signed in) and a full
 * mailbox are no fault of the address: taking them for one would silence every address at once.
 */
function isForGood(code: number, response: string): boolean {
  if (code < 550 || code > 559 || code === 552) return false;
  const { class: digit, subject, detail } = ENHANCED.exec(response)?.groups ?? {};
  if (digit === undefined) return !/\brelay/i.test(response);
  if (digit !== "5") return false;
  if (subject === "2") return detail !== "2";
  return subject === "0" || subject === "1" || subject === "5" || subject === "6";
}

function reasonOf(
  error: SmtpError,
  { code, response }: { code: number | null; response: string | null },
): string {
  const said = response === null ? "" : `: ${response}`;
  if (error.code === "EAUTH" || error.code === "ENOAUTH") return `The mail server rejected the login${said}`;
  if (code !== null) {
    if (error.command === "RCPT TO") return `The mail server rejected the recipient address${said}`;
    return `The mail server rejected the email${said}`;
  }
  switch (error.code) {
    case "EDNS":
      return "Could not resolve the host name of the mail server";
    case "ETLS":
      return "Could not establish a trusted encrypted connection to the mail server";
    case "ETIMEDOUT":
      return "The mail server did not respond in time";
    case "ECONNECTION":
      return "The mail server closed the connection";
    case "EENVELOPE":
      return "The email address is invalid";
    case "ESOCKET":
      return socketReason(error.originalCode);
    default:
      return "The email could not be sent";
  }
}

function socketReason(code: unknown): string {
  if (code === "ECONNREFUSED") return "The mail server refused the connection";
  if (typeof code !== "string") return "The connection to the mail server failed";
  // Codes of the handshake may have CERTIFICATE in them: then the server refuses ours.
  const isHandshake = /^ERR_SSL_|^EPROTO$/.test(code);
  if (!isHandshake && /CERT|SELF_SIGNED|UNABLE_TO/.test(code)) {
    return `The mail server's certificate is not trusted (${code})`;
  }
  if (isHandshake || /TLS|SSL/.test(code)) return `The TLS handshake with the mail server failed (${code})`;
  return "The connection to the mail server failed";
}

function cleaned(response: string, secrets: readonly string[]): string {
  let text = response.replace(/\s+/g, " ").trim();
  for (const secret of secrets) {
    if (secret === "") continue;
    for (const form of [secret, Buffer.from(secret).toString("base64")]) text = text.replaceAll(form, MASK);
  }
  return text.slice(0, RESPONSE_LENGTH_MAX);
}
