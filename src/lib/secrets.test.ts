// Passwords, seals, tokens and authenticator codes: their guarantees, and published test vectors if there are any.
import { describe, expect, test } from "vitest";
import { hashPassword, isPassword } from "./password-hash.ts";
import {
  digestOfToken,
  hmacSha1,
  hmacSha256Hex,
  isSameText,
  newToken,
  randomText,
  seal,
  sha1,
  sha1Hex,
  unseal,
} from "./secrets.ts";
import { newTotpSecret, qrFields, totpStep, totpUri } from "./totp.ts";

describe("A password", () => {
  test("is stored as Argon2id with its own salt, and verified", async () => {
    const [one, other] = [await hashPassword("correct horse"), await hashPassword("correct horse")];
    expect(one).toMatch(/^\$argon2id\$v=19\$m=38912,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
    expect(one).not.toBe(other);
    expect(await isPassword("correct horse", one)).toBe(true);
    expect(await isPassword("correct horsf", one)).toBe(false);
    // The same characters, composed differently by another keyboard.
    expect(await isPassword("caf\u0065\u0301 latte", await hashPassword("caf\u00e9 latte"))).toBe(true);
  });

  test("is wrong for an account whose hash is missing, broken or too expensive", async () => {
    expect(await isPassword("x", null)).toBe(false);
    expect(await isPassword("x", "$2b$10$abc")).toBe(false);
    expect(await isPassword("x", "$argon2id$v=19$m=9999999,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAA")).toBe(false);
  });

  test("hash matches a known result of the reference implementation", async () => {
    const known = "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc";
    expect(await isPassword("password", known)).toBe(true);
    expect(await isPassword("Password", known)).toBe(false);
  });
});

describe("A seal", () => {
  const of = { secretKey: "secret of the instance", purpose: "totp", owner: "7" };

  test("opens only for the same owner, purpose and key", () => {
    const sealed = seal("JBSWY3DPEHPK3PXP", of);
    expect(unseal(sealed, of)).toBe("JBSWY3DPEHPK3PXP");
    for (const other of [{ secretKey: "another" }, { purpose: "x" }, { owner: "8" }]) {
      expect(unseal(sealed, { ...of, ...other })).toBeNull();
    }
    const changed = Buffer.from(sealed);
    changed.writeUInt8((changed.at(-1) ?? 0) ^ 1, changed.length - 1);
    expect(unseal(changed, of)).toBeNull();
    expect(unseal(Buffer.alloc(3), of)).toBeNull();
    expect(seal("x", of)).not.toEqual(seal("x", of));
  });
});

describe("Tokens", () => {
  test("have 256 bits, and only their digest is kept", () => {
    expect(newToken()).toMatch(/^[\w-]{43}$/);
    expect(newToken()).not.toBe(newToken());
    expect(digestOfToken("abc").toString("hex")).toMatch(/^ba7816bf8f01cfea/);
  });
});

describe("Codes of apps", () => {
  const shape = { digits: 8, stepSeconds: 30 };
  /** The secret of RFC 6238, "12345678901234567890". */
  const secret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";

  test.each([
    [59, "94287082"],
    [1_111_111_109, "07081804"],
    [1_234_567_890, "89005924"],
    [2_000_000_000, "69279037"],
  ])("at %i seconds are those of RFC 6238", (seconds, code) => {
    const at = { ...shape, secret, now: seconds * 1_000, window: 0 };
    expect(totpStep(code, at)).toBe(Math.floor(seconds / 30));
    expect(totpStep("00000000", at)).toBeNull();
  });

  test("are accepted in a window of steps", () => {
    const at = (now: number, window: number) => totpStep("94287082", { ...shape, secret, now, window });
    expect([at(59_000 + 30_000, 0), at(59_000 + 30_000, 1), at(59_000 + 60_000, 1)]).toEqual([null, 1, null]);
  });

  test("come from a secret of 160 bits, passed to the app as a URI and a QR code", () => {
    const fresh = newTotpSecret();
    expect(fresh).toMatch(/^[A-Z2-7]{32}$/);
    const uri = totpUri(fresh, { issuer: "Over due", label: "a@example.org", digits: 6, stepSeconds: 30 });
    expect(uri).toBe(
      `otpauth://totp/Over%20due:a%40example.org?issuer=Over%20due&secret=${fresh}&algorithm=SHA1&digits=6&period=30`,
    );
    const fields = qrFields(uri);
    expect(fields.every((row) => row.length === fields.length)).toBe(true);
    expect(fields[0]?.some(Boolean)).toBe(false);
    expect(fields[4]?.slice(4, 11)).toEqual(Array.from({ length: 7 }, () => true));
  });
});

// Hashes compared with published values, and with the values that the rules derive.

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");

test("SHA-1 of abc matches the standard, for bytes and text", () => {
  expect(sha1Hex("abc")).toBe("a9993e364706816aba3e25717850c26c9cd0d89d");
  expect(hex(sha1("abc"))).toBe(sha1Hex("abc"));
});

test("texts are encoded as UTF-8", () => {
  expect(sha1Hex("ā")).toBe("78a4468de0673f9f91e9000c7cf55e2bafe4df29");
});

test("HMAC-SHA-1 matches RFC 2202", () => {
  const key = Buffer.from("Jefe");
  expect(hex(hmacSha1({ key, message: "what do ya want for nothing?" }))).toBe(
    "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79",
  );
});

test("HMAC-SHA-256 matches RFC 4231", () => {
  expect(hmacSha256Hex({ key: "Jefe", message: "what do ya want for nothing?" })).toBe(
    "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
  );
});

test("texts are equal or not, whatever their lengths", () => {
  expect(isSameText("abc", "abc")).toBe(true);
  expect(isSameText("abc", "abd")).toBe(false);
  expect(isSameText("abc", "abcd")).toBe(false);
  expect(isSameText("", "")).toBe(true);
});

// Random text cannot be compared with an expected value, but its form and distribution can.

test("it has the requested length and only characters of the alphabet", () => {
  expect(randomText({ alphabet: "ab", length: 50 })).toMatch(/^[ab]{50}$/);
  expect(randomText({ alphabet: "ab", length: 0 })).toBe("");
});

test("every character of the alphabet occurs, about equally often", () => {
  const counts = Map.groupBy(
    randomText({ alphabet: "abcdefghij", length: 20_000 }),
    (character) => character,
  );
  expect(counts.size).toBe(10);
  // 2000 expected of each; seven standard deviations are about 300.
  for (const [, all] of counts) expect(Math.abs(all.length - 2_000)).toBeLessThan(300);
});

test("no two are the same", () => {
  const texts = Array.from({ length: 1_000 }, () => randomText({ alphabet: "0123456789", length: 22 }));
  expect(new Set(texts).size).toBe(1_000);
});
