// Web Push without a library: encryption of a message (RFC 8291, content coding aes128gcm of RFC 8188) and the
// identification of the server to push services (VAPID, RFC 8292).
import { createCipheriv, createECDH, createHash, createPrivateKey, ECDH, hkdfSync, sign } from "node:crypto";

/** Bytes of a payload, so that the encrypted body has at most 4096, which every push service accepts. */
export const PUSH_PAYLOAD_BYTES_MAX = 3_993;

/** What a browser hands over, in base64url: its public key and a secret that push services do not see. */
export type PushKeys = { p256dh: string; auth: string };

/** The key pair of the server in base64url: an uncompressed point and a scalar. */
export type VapidKeys = { publicKey: string; privateKey: string };

const CURVE = "prime256v1";
/** The order of P-256: private keys are from 1 to one less. */
const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
const SCALAR_BYTES = 32;
const POINT_BYTES = 65;
const SALT_BYTES = 16;
const AUTH_BYTES = 16;
const RECORD_BYTES = 4_096;
const CEK_BYTES = 16;
const NONCE_BYTES = 12;

const bytesOf = (text: string) => Buffer.from(text, "base64url");

function hkdf(key: Uint8Array, { salt, info, length }: { salt: Uint8Array; info: string; length: number }) {
  return Buffer.from(hkdfSync("sha256", key, salt, info, length));
}

/** A private key from key material. About one candidate in four billion is outside of the range: then the next is used. */
export function derivedScalar(candidate: (round: number) => Buffer): Buffer {
  for (let round = 0; ; round += 1) {
    const scalar = candidate(round);
    const value = BigInt(`0x${scalar.toString("hex")}`);
    if (value > 0n && value < ORDER) return scalar;
  }
}

function publicKeyOf(privateKey: Uint8Array): Buffer {
  const ecdh = createECDH(CURVE);
  ecdh.setPrivateKey(privateKey);
  return ecdh.getPublicKey();
}

/** The key pair of a private key in base64url. */
export function vapidKeysFrom(privateKey: string): VapidKeys {
  return { privateKey, publicKey: publicKeyOf(bytesOf(privateKey)).toString("base64url") };
}

/** The key pair that belongs to a secret key of the server. Subscriptions are valid for one key pair. */
export function vapidKeysOf(secretKey: string): VapidKeys {
  const material = Buffer.from(secretKey, "utf8");
  const scalar = derivedScalar((round) =>
    hkdf(material, { salt: Buffer.alloc(0), info: `vapid ${round}`, length: SCALAR_BYTES }),
  );
  return vapidKeysFrom(scalar.toString("base64url"));
}

/** Whether messages can be encrypted for these keys: the public key has to be a point on the curve. */
export function arePushKeys({ p256dh, auth }: PushKeys): boolean {
  if (bytesOf(auth).length !== AUTH_BYTES || bytesOf(p256dh).length !== POINT_BYTES) return false;
  try {
    ECDH.convertKey(bytesOf(p256dh), CURVE);
    return true;
  } catch {
    return false;
  }
}

/** The salt and the private key for one message. */
export type PushSecrets = { salt: Uint8Array; privateKey: Uint8Array };

/**
 * Salt and key of a message, derived instead of random, so that all attempts to send it are the same bytes. This is safe:
 * AES-GCM only forbids two plaintexts with one key and nonce, and those depend on the salt and the key derived here. The
 * hash of the payload is part of the derivation, so another text has another salt, even under the same deduplication key;
 * and without the server's private key nothing can be derived.
 */
export function derivedSecrets(
  payload: Uint8Array,
  { keys, server, dedupeKey }: { keys: PushKeys; server: VapidKeys; dedupeKey: string },
): PushSecrets {
  const hash = createHash("sha256").update(payload).digest("base64url");
  const derive = (what: string, length: number) =>
    hkdf(bytesOf(server.privateKey), {
      salt: bytesOf(keys.auth),
      info: `web push ${what} ${keys.p256dh} ${hash} ${dedupeKey}`,
      length,
    });
  return {
    salt: derive("salt", SALT_BYTES),
    privateKey: derivedScalar((round) => derive(`key ${round}`, SCALAR_BYTES)),
  };
}

/** The body of a push message: one record, with the salt and the public key of the sender before it. */
export function encryptPush(
  payload: Uint8Array,
  { keys, secrets }: { keys: PushKeys; secrets: PushSecrets },
): Uint8Array {
  if (payload.length > PUSH_PAYLOAD_BYTES_MAX) throw new Error("a push message is too long");
  const { salt, privateKey } = secrets;
  const receiver = bytesOf(keys.p256dh);
  const ecdh = createECDH(CURVE);
  ecdh.setPrivateKey(privateKey);
  const sender = ecdh.getPublicKey();
  const { cek, nonce } = contentKeys({
    shared: ecdh.computeSecret(receiver),
    auth: bytesOf(keys.auth),
    receiver,
    sender,
    salt,
  });
  const cipher = createCipheriv("aes-128-gcm", cek, nonce);
  // The delimiter of the last record; there is no padding after it.
  const text = Buffer.concat([payload, Buffer.of(2)]);
  const record = Buffer.concat([cipher.update(text), cipher.final(), cipher.getAuthTag()]);
  const size = Buffer.alloc(4);
  size.writeUInt32BE(RECORD_BYTES);
  return Buffer.concat([salt, size, Buffer.of(sender.length), sender, record]);
}

type Agreement = {
  /** What both sides compute of their private and the other's public key. */
  shared: Uint8Array;
  auth: Uint8Array;
  receiver: Uint8Array;
  sender: Uint8Array;
  salt: Uint8Array;
};

/** The key and nonce of the record. */
function contentKeys({ shared, auth, receiver, sender, salt }: Agreement) {
  const info = Buffer.concat([Buffer.from("WebPush: info\0"), receiver, sender]);
  const material = Buffer.from(hkdfSync("sha256", shared, auth, info, SCALAR_BYTES));
  return {
    cek: hkdf(material, { salt, info: "Content-Encoding: aes128gcm\0", length: CEK_BYTES }),
    nonce: hkdf(material, { salt, info: "Content-Encoding: nonce\0", length: NONCE_BYTES }),
  };
}

const HOUR_S = 3_600;
/** Push services accept at most 24 hours. */
const VALID_HOURS = 12;

/** The Authorization header for a push service: a JWT for its origin, signed with ES256, and the server's public key. */
export function vapidHeader(
  endpoint: string,
  { server, subject, nowMs }: { server: VapidKeys; subject: string; nowMs: number },
): string {
  const hour = Math.floor(nowMs / 1_000 / HOUR_S);
  const claims = { aud: new URL(endpoint).origin, exp: (hour + 1 + VALID_HOURS) * HOUR_S, sub: subject };
  const signed = [{ typ: "JWT", alg: "ES256" }, claims].map(encoded).join(".");
  const signature = sign("sha256", Buffer.from(signed), {
    key: signingKey(server),
    dsaEncoding: "ieee-p1363",
  });
  return `vapid t=${signed}.${signature.toString("base64url")}, k=${server.publicKey}`;
}

function encoded(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString("base64url");
}

function signingKey({ publicKey, privateKey }: VapidKeys) {
  const point = bytesOf(publicKey);
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((part) => part.toString("base64url"));
  return createPrivateKey({
    format: "jwk",
    key: { kty: "EC", crv: "P-256", d: privateKey, x: x ?? "", y: y ?? "" },
  });
}
