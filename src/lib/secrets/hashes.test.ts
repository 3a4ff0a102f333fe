// Hashes against values that others have published, and against what the rules make of them.
import { expect, test } from "vitest";
import { hmacSha1, hmacSha256Hex, isSameText, sha1, sha1Hex } from "./hashes.ts";

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");

test("SHA-1 of abc is the one of the standard, as bytes and as text", () => {
  expect(sha1Hex("abc")).toBe("a9993e364706816aba3e25717850c26c9cd0d89d");
  expect(hex(sha1("abc"))).toBe(sha1Hex("abc"));
});

test("texts are taken as UTF-8", () => {
  expect(sha1Hex("ā")).toBe("78a4468de0673f9f91e9000c7cf55e2bafe4df29");
});

test("HMAC-SHA-1 is the one of RFC 2202", () => {
  const key = Buffer.from("Jefe");
  expect(hex(hmacSha1({ key, message: "what do ya want for nothing?" }))).toBe(
    "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79",
  );
});

test("HMAC-SHA-256 is the one of RFC 4231", () => {
  expect(hmacSha256Hex({ key: "Jefe", message: "what do ya want for nothing?" })).toBe(
    "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
  );
});

test("texts are the same or not, whatever their lengths", () => {
  expect(isSameText("abc", "abc")).toBe(true);
  expect(isSameText("abc", "abd")).toBe(false);
  expect(isSameText("abc", "abcd")).toBe(false);
  expect(isSameText("", "")).toBe(true);
});
