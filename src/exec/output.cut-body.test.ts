import fc from "fast-check";
import { expect, test } from "vitest";
import { cutBody } from "./output.ts";

test("output within the limit is sent as it is", () => {
  const output = Buffer.from("a€b");
  expect(cutBody(output, 5)).toBe(output);
});

test("of more, the end is sent with a line on what is missing, and no broken character", () => {
  const text = cutBody(Buffer.from("€".repeat(100)), 100).toString("utf8");
  expect(text).toBe(`[overdue] Earlier output omitted. Last 48 bytes:\n${"€".repeat(16)}`);
});

test("never more than the limit, whatever the bytes", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 500 }), fc.nat(300), (bytes, limit) => {
      expect(cutBody(Buffer.from(bytes), limit).length).toBeLessThanOrEqual(limit);
    }),
  );
});

test("text stays valid UTF-8 if the limit leaves room for it", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: "grapheme", maxLength: 400 }),
      fc.integer({ min: 60, max: 300 }),
      (text, limit) => {
        const cut = cutBody(Buffer.from(text), limit);
        expect(Buffer.from(cut.toString("utf8")).equals(cut)).toBe(true);
      },
    ),
  );
});
