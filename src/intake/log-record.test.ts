import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { LOG_RECORD_BYTES_MAX, type LogRecord, NO_REFUSALS } from "../core/log.ts";
import type { AcceptedSignal } from "../core/signal.ts";
import { countThatFit, decodeRecord, encodeForLog, encodeRecord } from "./log-record.ts";

const UUID = "0a1b2c3d-0000-4000-8000-00000000001f";
const AT = 1_800_000_000_000;

const PING: AcceptedSignal = {
  target: { by: "uuid", uuid: UUID },
  source: { by: "http", action: "success", method: "GET" },
  rid: null,
  exitStatus: null,
  scheme: "https",
  remoteAddr: "203.0.113.9",
  ua: "curl/8.5.0",
  body: null,
  at: AT,
};

const HEADER: Omit<LogRecord, "signals"> = {
  edge: "5bf66975-d4c7-4bf5-bcc8-b8d8a82ea278",
  kind: "more",
  n: 7,
  at: AT,
  watermarkAt: AT - 1_000,
  givenUp: [],
  refused: [],
  attributed: NO_REFUSALS,
};

const FORMAT_1 =
  "AQE1YmY2Njk3NS1kNGM3LTRiZjUtYmNjOC1iOGQ4YTgyZWEyNzgAAAAAAAcBoxhcUAABoxhcTBgAAABGAAAAAnsiZ2l2ZW5VcCI6WzVdLCJyZWZ1" +
  "c2VkIjpbXSwiYXR0cmlidXRlZCI6eyJ0YXJnZXRzIjpbXSwibmV0d29ya3MiOltdfX0AAAB/ADBhMWIyYzNkLTAwMDAtNDAwMC04MDAwLTAwMDAw" +
  "MDAwMDAxZgGjGFxQAAD//wADAANHRVQAJDBhMWIyYzNkLTAwMDAtNDAwMC04MDAwLTAwMDAwMDAwMDAxZgAFaHR0cHMACzIwMy4wLjExMy45AApj" +
  "dXJsLzguNS4wAQAB/wAAAPABAQAAAOYAAAAAeyJ0YXJnZXQiOnsiYnkiOiJ1dWlkIiwidXVpZCI6IjBhMWIyYzNkLTAwMDAtNDAwMC04MDAwLTAw" +
  "MDAwMDAwMDAxZiJ9LCJzb3VyY2UiOnsiYnkiOiJlbWFpbCIsInN1YmplY3QiOiLDvCIsInRleHQiOiJ4In0sInJpZCI6bnVsbCwiZXhpdFN0YXR1" +
  "cyI6bnVsbCwic2NoZW1lIjoiaHR0cHMiLCJyZW1vdGVBZGRyIjoiMjAzLjAuMTEzLjkiLCJ1YSI6ImN1cmwvOC41LjAiLCJhdCI6MTgwMDAwMDAw" +
  "MDAwMH0=";

function roundTrip(signals: readonly AcceptedSignal[], header = HEADER) {
  return decodeRecord(encodeRecord(header, signals.map(encodeForLog)));
}

function bodiesAsArrays({ body, ...rest }: AcceptedSignal) {
  return { ...rest, body: body === null ? null : [...body] };
}

describe("a record", () => {
  test.each([
    ["a plain ping", PING],
    ["a body", { ...PING, body: Buffer.from([0, 1, 255]) }],
    ["an empty body", { ...PING, body: Buffer.alloc(0) }],
    ["a run id and an exit status", { ...PING, rid: UUID, exitStatus: 0 }],
    [
      "an action by exit status",
      { ...PING, source: { by: "http", action: { exitStatus: 3 }, method: "HEAD" }, exitStatus: 3 },
    ],
    ["no address", { ...PING, remoteAddr: null }],
    ["an empty user agent", { ...PING, ua: "" }],
    ["texts that are not Latin-1", { ...PING, ua: "тест \u0000 \ud800" }],
    ["a slug", { ...PING, target: { by: "slug", pingKey: "k", slug: "backup" } }],
    ["an email", { ...PING, source: { by: "email", subject: "ünïcode", text: "x" } }],
    ["a late end", { ...PING, lateEnd: { endedAt: AT - 5, ranMs: null } }],
    ["a negative exit status", { ...PING, exitStatus: -1 }],
  ] as [string, AcceptedSignal][])("keeps %s", (_, signal) => {
    const decoded = roundTrip([signal, PING]);
    if (!decoded.ok) throw new Error(decoded.reason);
    expect(decoded.record.signals.map(bodiesAsArrays)).toEqual([signal, PING].map(bodiesAsArrays));
    expect(decoded.unreadable).toEqual([]);
  });

  test("keeps its header and reports", () => {
    const header: Omit<LogRecord, "signals"> = {
      ...HEADER,
      kind: "leave",
      givenUp: [5, 6],
      refused: [{ from: AT - 10, to: null }],
      attributed: { targets: [], networks: [{ network: "203.0.113.0/24", from: AT, to: AT }] },
    };
    expect(roundTrip([], header)).toEqual({ ok: true, record: { ...header, signals: [] }, unreadable: [] });
  });

  test("of a newer version waits for an upgrade, whatever its length", () => {
    const bytes = encodeRecord(HEADER, [encodeForLog(PING)]);
    const newer = { ok: false, reason: "format 2 instead of 1", isNewer: true };
    expect(decodeRecord(Buffer.from([2, ...bytes.subarray(1)]))).toEqual(newer);
    expect(decodeRecord(Buffer.from([2]))).toEqual(newer);
  });

  test("of another program, or cut short, is refused with a reason", () => {
    const bytes = encodeRecord(HEADER, [encodeForLog(PING)]);
    expect(decodeRecord(Buffer.from(JSON.stringify({ text: "x".repeat(100) })))).toEqual({
      ok: false,
      reason: "version 123, expected 1",
      isNewer: false,
    });
    expect(decodeRecord(bytes.subarray(0, 20))).toEqual({ ok: false, reason: "too short", isNewer: false });
    const cut = decodeRecord(bytes.subarray(0, -3));
    expect(cut).toMatchObject({ ok: true, record: { signals: [] }, unreadable: [{ reason: "truncated" }] });
  });

  // If this fails, VERSION must change, and this one must still be decoded: records stay in a topic for a week.
  test("has the bytes of format 1, which are still read", () => {
    const header = { ...HEADER, givenUp: [5] };
    const signals: AcceptedSignal[] = [
      { ...PING, rid: UUID, exitStatus: 3, body: Buffer.from([0, 1, 255]) },
      { ...PING, source: { by: "email", subject: "ü", text: "x" } },
    ];
    expect(encodeRecord(header, signals.map(encodeForLog)).toString("base64")).toBe(FORMAT_1);
    const decoded = decodeRecord(Buffer.from(FORMAT_1, "base64"));
    if (!decoded.ok) throw new Error(decoded.reason);
    expect(decoded.record.signals.map(bodiesAsArrays)).toEqual(signals.map(bodiesAsArrays));
    expect(decoded).toMatchObject({ record: header, unreadable: [] });
  });

  test.each([
    ["an edge that is not a UUID", { edge: "x".repeat(36) }],
    ["a watermark after it was made", { watermarkAt: AT + 1 }],
    [
      "a target that is not a UUID",
      { attributed: { targets: [{ target: { by: "uuid", uuid: "x" }, from: 1, to: 1 }], networks: [] } },
    ],
    [
      "a slug that is not a text",
      {
        attributed: {
          targets: [{ target: { by: "slug", pingKey: "k", slug: "\0" }, from: 1, to: 1 }],
          networks: [],
        },
      },
    ],
    [
      "a network that is none",
      { attributed: { targets: [], networks: [{ network: "x\0", from: 1, to: 1 }] } },
    ],
    [
      "a time that is none",
      { attributed: { targets: [], networks: [{ network: "10.0.0.0/24", from: 1.5, to: 1 }] } },
    ],
    ["a time beyond all times", { refused: [{ from: 1, to: 9e15 }] }],
    ["a number that is none", { givenUp: ["1"] }],
  ] as unknown as [string, Partial<LogRecord>][])("with %s is refused", (_, given) => {
    expect(roundTrip([PING], { ...HEADER, ...given }).ok).toBe(false);
  });

  test.each(["10.1.2.0/24", "10.0.0.0/8", "2001:db8::/48", "2001:db8::/32", "203.0.113.9"])(
    "keeps the network %s",
    (network) => {
      const attributed = { targets: [], networks: [{ network, from: AT, to: AT }] };
      expect(roundTrip([], { ...HEADER, attributed })).toMatchObject({ ok: true, record: { attributed } });
    },
  );

  test("damaged anywhere never throws", () => {
    const bytes = encodeRecord({ ...HEADER, givenUp: [6] }, [
      encodeForLog({ ...PING, body: Buffer.from("x") }),
    ]);
    fc.assert(
      fc.property(fc.nat({ max: bytes.length - 1 }), fc.nat({ max: 255 }), (index, value) => {
        const damaged = Buffer.from(bytes);
        damaged[index] = value;
        decodeRecord(damaged);
      }),
    );
  });
});

test("a record holds as many signals as fit, and at least one", () => {
  const small = encodeForLog(PING);
  const large = encodeForLog({ ...PING, body: Buffer.alloc(LOG_RECORD_BYTES_MAX / 2) });
  expect(countThatFit([small, large, large, small])).toBe(2);
  expect(countThatFit([small, small])).toBe(2);
  expect(countThatFit([encodeForLog({ ...PING, body: Buffer.alloc(LOG_RECORD_BYTES_MAX) })])).toBe(1);
  // Beside reports there may be no room; they are sent alone, and signals follow.
  expect(countThatFit([large, small], LOG_RECORD_BYTES_MAX / 2)).toBe(0);
  expect(countThatFit([small, large], LOG_RECORD_BYTES_MAX / 2)).toBe(1);
});

test.each([
  ["a body", { ...PING, body: Buffer.alloc(3 * LOG_RECORD_BYTES_MAX, "x") }],
  [
    "an email whose texts are long when they are encoded",
    {
      ...PING,
      source: { by: "email", subject: "\u0001".repeat(200_000), text: "\u0001".repeat(200_000) },
      body: Buffer.alloc(500_000, "x"),
    },
  ],
] as [string, AcceptedSignal][])("%s that is too long for a record is truncated", (_, signal) => {
  const encoded = encodeForLog(signal);
  const record = encodeRecord(HEADER, [encoded]);
  expect(record.length).toBeLessThanOrEqual(LOG_RECORD_BYTES_MAX);
  expect(record.length).toBeGreaterThan(LOG_RECORD_BYTES_MAX / 2);
  const decoded = decodeRecord(record);
  expect(decoded).toMatchObject({ ok: true, record: { signals: [{ at: AT }] }, unreadable: [] });
});
