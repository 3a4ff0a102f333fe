// Secrets that a stranger must not guess, and what is kept of them: random texts and their digests.
import { createHash, randomBytes } from "node:crypto";

const TOKEN_BYTES = 32;

/** A new secret of 256 bits, in letters that a cookie and an address can hold. */
export function newToken(): string {
  return randomBytes(TOKEN_BYTES).toString("base64url");
}

/** What is stored of a secret. Plain SHA-256 is enough: nobody can try all the texts that it may have come from. */
export function digestOfToken(token: string): Buffer {
  return createHash("sha256").update(token, "utf8").digest();
}
