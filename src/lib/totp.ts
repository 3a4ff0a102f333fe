// Codes of authenticator apps (RFC 6238): a new secret, its URI and QR code, and whether a code is valid. Whether a
// valid code may be used is decided elsewhere.
import { Secret, TOTP } from "otpauth";
import { encode } from "uqr";

const SECRET_BYTES = 20;

export type TotpShape = { digits: number; stepSeconds: number };

/** A new shared secret, in base32. */
export function newTotpSecret(): string {
  return new Secret({ size: SECRET_BYTES }).base32;
}

/** The URI for the app: `otpauth://…`. */
export function totpUri(
  secret: string,
  { issuer, label, digits, stepSeconds }: TotpShape & { issuer: string; label: string },
): string {
  return new TOTP({
    issuer,
    label,
    secret: Secret.fromBase32(secret),
    digits,
    period: stepSeconds,
  }).toString();
}

/** The time step of this code, within some steps of an instant; null: no match. */
export function totpStep(
  code: string,
  { secret, now, window, digits, stepSeconds }: TotpShape & { secret: string; now: number; window: number },
): number | null {
  const totp = new TOTP({ secret: Secret.fromBase32(secret), digits, period: stepSeconds });
  const delta = totp.validate({ token: code, timestamp: now, window });
  return delta === null ? null : totp.counter({ timestamp: now }) + delta;
}

/** A text as a QR code: rows of dark (true) and light modules, with its quiet zone. */
export function qrFields(text: string): boolean[][] {
  return encode(text, { ecc: "M", border: 4 }).data;
}
