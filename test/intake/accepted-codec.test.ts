// Signals are encoded and decoded without loss, and bytes that are not a signal are rejected.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { AcceptedSignal, LateEnd } from "../../src/core/signal.ts";
import { decodeSignal, decodeSignals, encodeSignal, encodeSignals } from "../../src/intake/accepted-codec.ts";
import { signalOf } from "./support/batches.ts";

/** Any sequence of code units, including broken surrogates and NUL. */
const text = fc
  .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 40 })
  .map((units) => String.fromCharCode(...units));
const textOrNull = fc.option(text);

const plain: fc.Arbitrary<AcceptedSignal> = fc.record({
  target: fc.oneof(
    fc.record({ by: fc.constant("uuid" as const), uuid: text }),
    fc.record({ by: fc.constant("slug" as const), pingKey: text, slug: text }),
  ),
  source: fc.oneof(
    fc.record({
      by: fc.constant("http" as const),
      action: fc.oneof(
        fc.constantFrom("success" as const, "start" as const, "fail" as const, "log" as const),
        fc.record({ exitStatus: fc.nat(255) }),
      ),
      method: text,
    }),
    fc.record({ by: fc.constant("email" as const), subject: text, text }),
  ),
  rid: textOrNull,
  exitStatus: fc.option(fc.nat(255)),
  scheme: text,
  remoteAddr: textOrNull,
  ua: text,
  body: fc.option(fc.uint8Array({ maxLength: 100 })),
  at: fc.maxSafeInteger(),
});
const lateEnd = fc.record({ endedAt: fc.maxSafeInteger(), ranMs: fc.option(fc.nat()) });
const signal: fc.Arbitrary<AcceptedSignal> = fc.oneof(
  plain,
  fc.tuple(plain, lateEnd).map(([one, late]) => ({ ...one, lateEnd: late })),
);

describe("A signal", () => {
  test("comes back as it was", () => {
    fc.assert(
      fc.property(signal, (one) => {
        expect(decodeSignal(encodeSignal(one))).toEqual({ ok: true, value: one });
      }),
    );
  });

  test("comes back without a late end that is null, and not at all with one that is invalid", () => {
    const one = signalOf(1);
    expect(decodeSignal(encodeSignal({ ...one, lateEnd: null }))).toEqual({ ok: true, value: one });
    for (const invalid of [{}, 5, { endedAt: "x", ranMs: null }, { endedAt: 1, ranMs: 0.5 }]) {
      const bytes = encodeSignal({ ...one, lateEnd: invalid as LateEnd });
      expect(decodeSignal(bytes)).toEqual({ ok: false, reason: "missing fields" });
    }
  });

  test("comes back from bytes that lie anywhere in a larger buffer", () => {
    fc.assert(
      fc.property(signal, fc.nat(9), (one, offset) => {
        const bytes = encodeSignal(one);
        const larger = new Uint8Array(bytes.length + 20).fill(0xee);
        larger.set(bytes, offset);
        expect(decodeSignal(larger.subarray(offset, offset + bytes.length))).toEqual({
          ok: true,
          value: one,
        });
      }),
    );
  });

  test("without a body differs from one with an empty body", () => {
    const bodies = [null, new Uint8Array(0)].map((body) => decodeSignal(encodeSignal(signalOf(1, { body }))));
    expect(bodies.map((decoded) => decoded.ok && decoded.value.body)).toEqual([null, new Uint8Array(0)]);
  });

  test("keeps NUL and half a surrogate pair", () => {
    const ua = "a\0b\ud800c";
    const decoded = decodeSignal(encodeSignal(signalOf(1, { ua })));
    expect(decoded.ok && decoded.value.ua).toBe(ua);
  });

  test("that is cut anywhere, or has a byte too many, is refused", () => {
    fc.assert(
      fc.property(signal, fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }), (one, share) => {
        const bytes = encodeSignal(one);
        expect(decodeSignal(bytes.subarray(0, Math.floor(share * bytes.length))).ok).toBe(false);
        expect(decodeSignal(new Uint8Array([...bytes, 0])).ok).toBe(false);
      }),
    );
  });

  test("of another version is refused by name", () => {
    const bytes = encodeSignal(signalOf(1));
    bytes[0] = 2;
    expect(decodeSignal(bytes)).toEqual({ ok: false, reason: "version 2, expected 1" });
  });
});

describe("Bytes that are no signal", () => {
  test("never throw, and every decoded signal can be encoded again", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const decoded = decodeSignal(bytes);
        if (decoded.ok) expect(decodeSignal(encodeSignal(decoded.value))).toEqual(decoded);
      }),
    );
  });

  test("never throw when they almost are one", () => {
    const flips = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(signal, flips, (one, changes) => {
        const bytes = encodeSignal(one);
        for (const [at, value] of changes) bytes[at % bytes.length] = value;
        const decoded = decodeSignal(bytes);
        if (decoded.ok) expect(decodeSignal(encodeSignal(decoded.value))).toEqual(decoded);
      }),
      { numRuns: 1_000 },
    );
  });

  test.each([
    ["a list", "[]"],
    ["nothing", "null"],
    ["no target", '{"source":{"by":"email","subject":"","text":""}}'],
    [
      "an unknown action",
      JSON.stringify({ ...signalOf(1), source: { by: "http", action: "x", method: "" } }),
    ],
    ["a fraction as its time", JSON.stringify({ ...signalOf(1), at: 1.5 })],
    ["a number as its run id", JSON.stringify({ ...signalOf(1), rid: 7 })],
    ["a text as its exit status", JSON.stringify({ ...signalOf(1), exitStatus: "7" })],
    ["half a target", JSON.stringify({ ...signalOf(1), target: { by: "slug", slug: "a" } })],
  ])("are refused when the header holds %s", (_what, json) => {
    const header = new TextEncoder().encode(json);
    const bytes = new Uint8Array(9 + header.length);
    bytes[0] = 1;
    new DataView(bytes.buffer).setUint32(1, header.length);
    bytes.set(header, 9);
    expect(decodeSignal(bytes)).toEqual({ ok: false, reason: "missing fields" });
  });
});

describe("The signals of a batch", () => {
  test("come back in order", () => {
    fc.assert(
      fc.property(fc.array(signal, { maxLength: 5 }), (signals) => {
        const wanted = signals.map((value) => ({ ok: true, value }));
        expect(decodeSignals(encodeSignals(signals))).toEqual(wanted);
      }),
    );
  });

  test("are read one by one, so that a bad one does not hide the others", () => {
    const [first, second, third] = [signalOf(1), signalOf(2), signalOf(3)];
    const bytes = encodeSignals([first, second, third]);
    const lengthOfFirst = encodeSignal(first).length;
    bytes[4 + lengthOfFirst + 4] = 9;
    const read = decodeSignals(bytes);
    expect(read.map(({ ok }) => ok)).toEqual([true, false, true]);
    expect(read[1]).toMatchObject({ reason: "version 9, expected 1", bytes: expect.any(Uint8Array) });
  });

  test("lose no byte to nonsense", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
        const read = decodeSignals(bytes);
        const seen = read.reduce((sum, one) => sum + (one.ok ? 0 : one.bytes.length), 0);
        const isWholeRead = read.every((one) => one.ok || one.reason !== "truncated");
        const lengths = 4 * (isWholeRead ? read.length : read.length - 1);
        if (read.every(({ ok }) => !ok)) expect(seen + lengths).toBe(bytes.length);
      }),
    );
  });
});
