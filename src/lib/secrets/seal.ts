// Seals a secret that has to be read again: AES-256-GCM with a key that is derived from the instance's secret.
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;

/** What a seal is for and whose it is: one that was moved to another row does not open. */
export type SealOf = { secretKey: string; purpose: string; owner: string };

/** The secret, sealed. */
export function seal(text: string, of: SealOf): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv("aes-256-gcm", keyOf(of), nonce).setAAD(Buffer.from(of.owner));
  const sealed = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]);
}

/** The secret again; null when it was sealed with another key, for another owner, or was changed. */
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
