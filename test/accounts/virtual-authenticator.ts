// An authenticator made of nothing but a key pair: it answers the questions of WebAuthn as a phone or a security key
// does, with the bytes put together by hand. It can be told to do it wrong.
import { createHash, createSign, generateKeyPairSync, randomBytes } from "node:crypto";

export type Faults = {
  origin?: string;
  isVerified?: boolean;
  rpId?: string;
  signWithOther?: boolean;
  transports?: readonly string[];
};

type Creation = { challenge: string; rp: { id?: string }; user: { id: string } };
type Request = { challenge: string; rpId?: string };

const USER_PRESENT = 0x01;
const USER_VERIFIED = 0x04;
const HAS_CREDENTIAL = 0x40;

export class VirtualAuthenticator {
  readonly id: string;
  readonly #origin: string;
  readonly #pair = generateKeyPairSync("ec", { namedCurve: "P-256" });
  readonly #other = generateKeyPairSync("ec", { namedCurve: "P-256" });
  #count = 0;
  #userHandle = "";

  constructor(origin: string, { idBytes = 32 }: { idBytes?: number } = {}) {
    this.#origin = origin;
    this.id = randomBytes(idBytes).toString("base64url");
  }

  /** Answers `navigator.credentials.create`. */
  create(options: Creation, faults: Faults = {}): Record<string, unknown> {
    this.#userHandle = options.user.id;
    const data = this.#data(options.rp.id ?? "", { faults, isNew: true });
    const attestation = Buffer.concat([
      Buffer.from([0xa3]),
      text("fmt"),
      text("none"),
      text("attStmt"),
      Buffer.from([0xa0]),
      text("authData"),
      bytes(data),
    ]);
    return this.#answer({
      clientDataJSON: this.#client("webauthn.create", options.challenge, faults).toString("base64url"),
      attestationObject: attestation.toString("base64url"),
      transports: faults.transports ?? ["internal"],
    });
  }

  /** Answers `navigator.credentials.get`. */
  get(options: Request, faults: Faults = {}): Record<string, unknown> {
    this.#count += 1;
    const client = this.#client("webauthn.get", options.challenge, faults);
    const data = this.#data(options.rpId ?? "", { faults, isNew: false });
    const signed = Buffer.concat([data, createHash("sha256").update(client).digest()]);
    const { privateKey } = faults.signWithOther === true ? this.#other : this.#pair;
    return this.#answer({
      clientDataJSON: client.toString("base64url"),
      authenticatorData: data.toString("base64url"),
      signature: createSign("sha256").update(signed).sign(privateKey).toString("base64url"),
      userHandle: this.#userHandle,
    });
  }

  /** As if a copy of it had been used meanwhile. */
  forgetCount(): void {
    this.#count = 0;
  }

  #answer(response: Record<string, unknown>): Record<string, unknown> {
    return { id: this.id, rawId: this.id, type: "public-key", clientExtensionResults: {}, response };
  }

  #client(type: string, challenge: string, { origin = this.#origin }: Faults): Buffer {
    return Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }));
  }

  #data(rpId: string, { faults, isNew }: { faults: Faults; isNew: boolean }): Buffer {
    const { isVerified = true } = faults;
    const flags = USER_PRESENT | (isVerified ? USER_VERIFIED : 0) | (isNew ? HAS_CREDENTIAL : 0);
    const head = Buffer.alloc(37);
    createHash("sha256")
      .update(faults.rpId ?? rpId)
      .digest()
      .copy(head, 0);
    head.writeUInt8(flags, 32);
    head.writeUInt32BE(this.#count, 33);
    return isNew ? Buffer.concat([head, this.#credential()]) : head;
  }

  #credential(): Buffer {
    const id = Buffer.from(this.id, "base64url");
    const length = Buffer.alloc(2);
    length.writeUInt16BE(id.length);
    const { x = "", y = "" } = this.#pair.publicKey.export({ format: "jwk" });
    // A COSE key: EC2, ES256, P-256, and the point.
    const key = Buffer.concat([
      Buffer.from([0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21]),
      bytes(Buffer.from(x, "base64url")),
      Buffer.from([0x22]),
      bytes(Buffer.from(y, "base64url")),
    ]);
    return Buffer.concat([Buffer.alloc(16), length, id, key]);
  }
}

/** CBOR of a short text. */
function text(value: string): Buffer {
  return Buffer.concat([Buffer.from([0x60 + value.length]), Buffer.from(value)]);
}

/** CBOR of bytes. */
function bytes(value: Buffer): Buffer {
  const head =
    value.length < 256
      ? Buffer.from([0x58, value.length])
      : Buffer.from([0x59, value.length >> 8, value.length & 0xff]);
  return Buffer.concat([head, value]);
}
