// Signs webhooks as the Standard Webhooks specification says, so that receivers can check them with any of its
// libraries: that a request is ours, that it was not changed, and that it is not an old one sent again.
import { createHmac } from "node:crypto";
import { type Instant, SECOND_MS } from "../../core/instant.ts";

const PREFIX = "whsec_";
/** Bytes of a secret, as the specification has them. */
const SECRET_BYTES_MIN = 24;
const SECRET_BYTES_MAX = 64;

/** Whether a text is a secret: 24 to 64 bytes in base64 after the prefix. */
export function isWebhookSecret(text: string): boolean {
  if (!text.startsWith(PREFIX)) return false;
  const bytes = bytesOf(text);
  const isWhole = bytes.toString("base64") === text.slice(PREFIX.length);
  return isWhole && bytes.length >= SECRET_BYTES_MIN && bytes.length <= SECRET_BYTES_MAX;
}

function bytesOf(secret: string): Buffer {
  return Buffer.from(secret.slice(PREFIX.length), "base64");
}

/** The headers that sign a body. `id` is the same in every try of one message. */
export function signatureHeaders(given: {
  secret: string;
  id: string;
  at: Instant;
  body: string;
}): Record<string, string> {
  const timestamp = String(Math.floor(given.at / SECOND_MS));
  const signature = createHmac("sha256", bytesOf(given.secret))
    .update(`${given.id}.${timestamp}.${given.body}`, "utf8")
    .digest("base64");
  return {
    "webhook-id": given.id,
    "webhook-timestamp": timestamp,
    "webhook-signature": `v1,${signature}`,
  };
}
