// Hashes, random secrets, and sealing of secrets. Texts are encoded as UTF-8.
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  hkdfSync,
  randomBytes,
  randomInt,
  timingSafeEqual,
} from "node:crypto";

/** SHA-1 as bytes. For signatures that clients expect; nothing secret depends on it alone. */
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

/** HMAC-SHA-256 as bytes. */
export function hmacSha256({ key, message }: { key: string; message: string }): Buffer {
  return createHmac("sha256", key).update(message, "utf8").digest();
}

/** HMAC-SHA-256 in lower-case hexadecimal. */
export function hmacSha256Hex({ key, message }: { key: string; message: string }): string {
  return createHmac("sha256", key).update(message, "utf8").digest("hex");
}

/** Compares two texts in constant time. */
export function isSameText(one: string, other: string): boolean {
  const [a, b] = [one, other].map((text) => createHash("sha256").update(text, "utf8").digest());
  return a !== undefined && b !== undefined && timingSafeEqual(a, b);
}

/** A text of `length` characters, each drawn evenly and unpredictably from the alphabet. */
export function randomText({ alphabet, length }: { alphabet: string; length: number }): string {
  return Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join("");
}

const TOKEN_BYTES = 32;

/** A new secret of 256 bits, in characters that are valid in cookies and URLs. */
export function newToken(): string {
  return randomBytes(TOKEN_BYTES).toString("base64url");
}

/** The stored form of a secret. Plain SHA-256 is enough, because random secrets cannot be guessed. */
export function digestOfToken(token: string): Buffer {
  return createHash("sha256").update(token, "utf8").digest();
}

const SECRET_ID_LENGTH = 16;

/** The last result: every request with an API key asks for the same one. */
let lastId = { secretKey: "", id: "" };

/** Names a secret key in stored rows, without revealing it. */
export function secretIdOf(secretKey: string): string {
  if (lastId.secretKey !== secretKey) {
    const id = hmacSha256Hex({ key: secretKey, message: "secret id" }).slice(0, SECRET_ID_LENGTH);
    lastId = { secretKey, id };
  }
  return lastId.id;
}

// Sealing: AES-256-GCM with a key derived from the instance's secret.

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;

/** Purpose and owner of a seal: one that was copied to another row cannot be opened. */
export type SealOf = { secretKey: string; purpose: string; owner: string };

/** Seals a secret. */
export function seal(text: string, of: SealOf): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv("aes-256-gcm", keyOf(of), nonce).setAAD(Buffer.from(of.owner));
  const sealed = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]);
}

/** Opens a seal; null if it was made with another key or for another owner, or was changed. */
export function unseal(sealed: Buffer, of: SealOf): string | null {
  try {
    const nonce = sealed.subarray(0, NONCE_BYTES);
    const tag = sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
    const decipher = createDecipheriv("aes-256-gcm", keyOf(of), nonce, { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.from(of.owner)).setAuthTag(tag);
    const text = Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]);
    return text.toString("utf8");
  } catch {
    return null;
  }
}

function keyOf({ secretKey, purpose }: SealOf): Buffer {
  return Buffer.from(hkdfSync("sha256", secretKey, "", purpose, KEY_BYTES));
}
