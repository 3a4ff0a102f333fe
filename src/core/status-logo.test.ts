import { expect, test } from "vitest";
import { isLogoSize, readLogo } from "./status-logo.ts";

const bytes = (...parts: (string | number[])[]) =>
  Uint8Array.from(
    parts.flatMap((part) => (typeof part === "string" ? [...Buffer.from(part, "latin1")] : part)),
  );
const zeros = (count: number) => Array.from({ length: count }, () => 0);

const PNG = bytes([0x89], "PNG\r\n\u001A\n", [0, 0, 0, 13], "IHDR", [0, 0, 1, 0], [0, 0, 0, 64], zeros(9));
const JPEG = bytes(
  [0xff, 0xd8, 0xff, 0xe0, 0, 4, 0, 0],
  [0xff, 0xff, 0xc0, 0, 11, 8],
  [0, 50, 1, 44],
  zeros(5),
);
const LOSSY = bytes("RIFF", zeros(4), "WEBP", "VP8 ", zeros(10), [0x2c, 0x01, 0x32, 0x00], zeros(4));
const LOSSLESS = bytes("RIFF", zeros(4), "WEBP", "VP8L", zeros(4), [0x2f], [0x2b, 0x41, 0x0c, 0], zeros(9));
const EXTENDED = bytes("RIFF", zeros(4), "WEBP", "VP8X", zeros(8), [0x2b, 1, 0], [0x31, 0, 0], zeros(2));

test.each([
  ["PNG", PNG, { type: "image/png", width: 256, height: 64 }],
  ["JPEG", JPEG, { type: "image/jpeg", width: 300, height: 50 }],
  ["lossy WebP", LOSSY, { type: "image/webp", width: 300, height: 50 }],
  ["lossless WebP", LOSSLESS, { type: "image/webp", width: 300, height: 50 }],
  ["extended WebP", EXTENDED, { type: "image/webp", width: 300, height: 50 }],
])("%s", (_, image, size) => {
  expect(readLogo(image)).toEqual(size);
});

test.each([PNG, JPEG, LOSSY, LOSSLESS, EXTENDED])(
  "a part of an image is none, or one with its size",
  (image) => {
    const whole = readLogo(image);
    for (let length = 0; length < image.length; length += 1) {
      expect([null, whole]).toContainEqual(readLogo(image.subarray(0, length)));
    }
  },
);

test.each([
  ["nothing", bytes("")],
  ["SVG", bytes('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"></svg>')],
  ["HTML", bytes("<!doctype html><script>alert(1)</script>")],
  ["GIF", bytes("GIF89a", zeros(40))],
  ["a JPEG without a frame", bytes([0xff, 0xd8, 0xff, 0xe0, 0, 2], zeros(40))],
  ["a JPEG with an impossible length", bytes([0xff, 0xd8, 0xff, 0xe0, 0, 0], zeros(40))],
  ["an empty image", bytes([0x89], "PNG\r\n\u001A\n", [0, 0, 0, 13], "IHDR", zeros(17))],
])("%s is not accepted", (_, image) => {
  expect(readLogo(image)).toBeNull();
});

test("a logo has a limited size", () => {
  expect(isLogoSize({ type: "image/png", width: 2_000, height: 1 })).toBe(true);
  expect(isLogoSize({ type: "image/png", width: 2_001, height: 1 })).toBe(false);
  expect(isLogoSize({ type: "image/png", width: 1, height: 2_001 })).toBe(false);
});
