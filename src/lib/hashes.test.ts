// Hashes against values that others have published, and against what the rules make of them.
import { expect, test } from "vitest";
import { hmacSha1, sha1, sha1Hex } from "./hashes.ts";

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
