// The encryption of push messages by the example of RFC 8291 and by a browser of our own, and the key pair of the server.
import { createECDH } from "node:crypto";
import { describe, expect, test } from "vitest";
import { decryptPush, vapidClaims } from "../receivers/kinds/webpush.ts";
import {
  arePushKeys,
  derivedScalar,
  derivedSecrets,
  encryptPush,
  PUSH_PAYLOAD_BYTES_MAX,
  vapidHeader,
  vapidKeysOf,
} from "../../src/lib/web-push.ts";

/** Section 5 and appendix A of RFC 8291. */
const RFC = {
  plaintext: "When I grow up, I want to be a watermelon",
  senderPrivateKey: "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw",
  p256dh: "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
  auth: "BTBZMqHH6r4Tts7J_aSIgg",
  salt: "DGv6ra1nlYgDCS1FRnbzlw",
  body:
    "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27ml" +
    "mlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPT" +
    "pK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN",
};

const SERVER = vapidKeysOf("a secret key");
const bytes = (text: string) => Buffer.from(text, "base64url");

function newBrowser() {
  const browser = createECDH("prime256v1");
  browser.generateKeys();
  const auth = Buffer.alloc(16, 7);
  return {
    browser,
    auth,
    keys: { p256dh: browser.getPublicKey("base64url"), auth: auth.toString("base64url") },
  };
}

describe("a message", () => {
  test("is encrypted as in the example of RFC 8291", () => {
    const secrets = { salt: bytes(RFC.salt), privateKey: bytes(RFC.senderPrivateKey) };
    const body = encryptPush(Buffer.from(RFC.plaintext), { keys: RFC, secrets });
    expect(Buffer.from(body).toString("base64url")).toBe(RFC.body);
  });

  test.each([0, 1, 41, PUSH_PAYLOAD_BYTES_MAX])("of %i bytes can be read by its browser only", (length) => {
    const { browser, auth, keys } = newBrowser();
    const payload = Buffer.alloc(length, "ü");
    const secrets = derivedSecrets(payload, { keys, server: SERVER, dedupeKey: "1" });
    const body = encryptPush(payload, { keys, secrets });
    expect(body.length).toBe(length + 103);
    expect(decryptPush(body, { browser, auth })).toBe(payload.toString("utf8"));
    expect(() => decryptPush(body, { browser: newBrowser().browser, auth })).toThrow(/authenticate/);
    expect(() => decryptPush(body, { browser, auth: Buffer.alloc(16) })).toThrow(/authenticate/);
  });

  test("that does not fit in the 4096 bytes of push services is refused", () => {
    const { keys } = newBrowser();
    const payload = Buffer.alloc(PUSH_PAYLOAD_BYTES_MAX + 1);
    const secrets = derivedSecrets(payload, { keys, server: SERVER, dedupeKey: "1" });
    expect(() => encryptPush(payload, { keys, secrets })).toThrow("too long");
  });

  test("has the same bytes in every attempt, and another salt and key if anything differs", () => {
    const { keys } = newBrowser();
    const of = { keys, server: SERVER, dedupeKey: "1" };
    const first = derivedSecrets(Buffer.from("one"), of);
    expect(derivedSecrets(Buffer.from("one"), of)).toEqual(first);
    const others = [
      derivedSecrets(Buffer.from("two"), of),
      derivedSecrets(Buffer.from("one"), { ...of, dedupeKey: "2" }),
      derivedSecrets(Buffer.from("one"), { ...of, server: vapidKeysOf("another secret key") }),
      derivedSecrets(Buffer.from("one"), { ...of, keys: newBrowser().keys }),
    ];
    for (const which of ["salt", "privateKey"] as const) {
      const values = [first, ...others].map((secrets) => Buffer.from(secrets[which]).toString("hex"));
      expect(new Set(values).size).toBe(values.length);
    }
  });
});

describe("keys", () => {
  test("of the server follow from its secret key", () => {
    expect(vapidKeysOf("a secret key")).toEqual(SERVER);
    expect(vapidKeysOf("another").publicKey).not.toBe(SERVER.publicKey);
    expect(bytes(SERVER.publicKey)).toHaveLength(65);
    const ecdh = createECDH("prime256v1");
    ecdh.setPrivateKey(bytes(SERVER.privateKey));
    expect(ecdh.getPublicKey("base64url")).toBe(SERVER.publicKey);
  });

  test("outside of the range of the curve are passed over", () => {
    const order = "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551";
    const candidates = ["00".repeat(32), order, "ff".repeat(32), `${"00".repeat(31)}01`];
    const tried: number[] = [];
    const scalar = derivedScalar((round) => {
      tried.push(round);
      return Buffer.from(candidates[round] ?? "", "hex");
    });
    expect(scalar.toString("hex")).toBe(candidates[3]);
    expect(tried).toEqual([0, 1, 2, 3]);
  });

  test("of a browser have to be a point on the curve and a secret of 16 bytes", () => {
    const { keys } = newBrowser();
    expect(arePushKeys(keys)).toBe(true);
    expect(arePushKeys({ ...keys, auth: "AAAA" })).toBe(false);
    expect(arePushKeys({ ...keys, p256dh: keys.p256dh.slice(0, 40) })).toBe(false);
    const off = Buffer.alloc(65, 1);
    off[0] = 4;
    expect(arePushKeys({ ...keys, p256dh: off.toString("base64url") })).toBe(false);
  });
});

describe("the header for a push service", () => {
  const now = Date.UTC(2026, 0, 1, 10, 59, 59);
  const headerAt = (nowMs: number) =>
    vapidHeader("https://push.example.net/a/b?c", {
      server: SERVER,
      subject: "https://overdue.example.org",
      nowMs,
    });

  test("is signed for its origin and expires within a day", () => {
    expect(vapidClaims(headerAt(now), SERVER.publicKey)).toEqual({
      aud: "https://push.example.net",
      exp: Date.UTC(2026, 0, 1, 23) / 1_000,
      sub: "https://overdue.example.org",
    });
    expect(vapidClaims(headerAt(now), vapidKeysOf("another").publicKey)).toMatch(/not the one/);
    const forged = headerAt(now).replace(/\.[\w-]{86},/, `.${"A".repeat(86)},`);
    expect(vapidClaims(forged, SERVER.publicKey)).toBe("badly signed");
  });

  test("says the same for an hour", () => {
    const claimsAt = (nowMs: number) => vapidClaims(headerAt(nowMs), SERVER.publicKey);
    expect(claimsAt(now - 3_599_000)).toEqual(claimsAt(now));
    expect(claimsAt(now + 1_000)).not.toEqual(claimsAt(now));
  });
});
