// The hashes that rules ask for: core says what is hashed, and is handed these. Texts are taken as UTF-8.
import { createHash, createHmac, timingSafeEqual } from "node:crypto";

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

/** HMAC-SHA-256 in lower-case hexadecimal. */
export function hmacSha256Hex({ key, message }: { key: string; message: string }): string {
  return createHmac("sha256", key).update(message, "utf8").digest("hex");
}

/** Whether two texts are the same; how long it takes tells nothing of where they differ. */
export function isSameText(one: string, other: string): boolean {
  const [a, b] = [one, other].map((text) => createHash("sha256").update(text, "utf8").digest());
  return a !== undefined && b !== undefined && timingSafeEqual(a, b);
}
