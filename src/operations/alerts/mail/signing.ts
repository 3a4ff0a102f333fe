// Signatures with the instance's secret, for links in mails and the addresses that bounces come to.
import type { Signing } from "../../../core/alerts/mail-tokens.ts";
import { hmacSha256Hex, isSameText } from "../../../lib/secrets/hashes.ts";

/** Signs with a secret; HMAC-SHA-256. */
export function signingWith(secretKey: string): Signing {
  return { sign: (message) => hmacSha256Hex({ key: secretKey, message }), isSame: isSameText };
}
