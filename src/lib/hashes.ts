// The hashes that rules ask for: core says what is hashed, and is handed these. Texts are taken as UTF-8.
import { createHash, createHmac } from "node:crypto";

/** SHA-1 as bytes. For signatures that clients know; nothing secret rests on it alone. */
export function sha1(text: string): Uint8Array {
  return createHash("sha1").update(text, "utf8").digest();
}

/** SHA-1 in lower-case hexadecimal. */
export function sha1Hex(text: string): string {
  return createHash("sha1").update(text, "utf8").digest("hex");
}

/** HMAC-SHA-1 as bytes. */
export function hmacSha1({ key, message }: { key: Uint8Array; message: string }): Uint8Array {
  return createHmac("sha1", key).update(message, "utf8").digest();
}
