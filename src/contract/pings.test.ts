// A ping in each version: its fields, their format, and absent values.
import { Value } from "typebox/value";
import { expect, test } from "vitest";
import { pingListSchema, presentPings, type ShownPing } from "./pings.ts";
import { type PingField, VERSIONS } from "./versions.ts";

const NOON = Date.UTC(2026, 10, 16, 12);
const ALL = VERSIONS.standard[3].pingFields;

const PING: ShownPing = {
  n: 4,
  at: NOON + 5,
  kind: "success",
  scheme: "http",
  remoteAddr: "2001:db8::1",
  method: "POST",
  ua: "curl/8",
  rid: "11111111-1111-4111-8111-111111111111",
  bodySize: 12,
};

function present(
  ping: Partial<ShownPing>,
  given: { fields?: readonly PingField[]; durations?: Map<number, number> } = {},
) {
  const bodyUrl = (n: number) => `https://example.org/body/${n}`;
  const view = { fields: ALL, durations: new Map<number, number>(), bodyUrl, ...given };
  return presentPings([{ ...PING, ...ping }], view);
}

test("a ping with all data has every field, in the order of the schema", () => {
  const shown = present({}, { durations: new Map([[4, 1_234]]) });
  expect(shown.pings).toEqual([
    {
      type: "success",
      date: "2026-11-16T12:00:00.005000+00:00",
      n: 4,
      scheme: "http",
      remote_addr: "2001:db8::1",
      method: "POST",
      ua: "curl/8",
      rid: "11111111-1111-4111-8111-111111111111",
      body_url: "https://example.org/body/4",
      duration: 1.23,
    },
  ]);
  expect(Object.keys(shown.pings[0] ?? {})).toEqual([...ALL, "duration"]);
  expect(Value.Check(pingListSchema(ALL), shown)).toBe(true);
});

test("missing values of a ping are null, and an unknown duration is absent", () => {
  const shown = present({ rid: null, remoteAddr: null, bodySize: null });
  expect(shown.pings[0]).toMatchObject({ rid: null, remote_addr: null, body_url: null });
  expect(shown.pings[0]).not.toHaveProperty("duration");
  expect(Value.Check(pingListSchema(ALL), shown)).toBe(true);
});

test.each([
  [0, 0],
  [4, 0],
  [5, 0.01],
  [10, 0.01],
  [61_500, 61.5],
  [259_200_000, 259_200],
])("a duration of %i ms is %d seconds", (ms, seconds) => {
  expect(present({}, { durations: new Map([[4, ms]]) }).pings[0]?.duration).toBe(seconds);
});

test("only the fields of the version are shown, and the duration if it is known", () => {
  const fields = VERSIONS.standard[1].pingFields;
  const shown = present({}, { fields, durations: new Map([[4, 10]]) });
  expect(Object.keys(shown.pings[0] ?? {})).toEqual([...fields, "duration"]);
  expect(shown.pings[0]).not.toHaveProperty("rid");
  expect(Value.Check(pingListSchema(fields), shown)).toBe(true);
  expect(Value.Check(pingListSchema(ALL), shown)).toBe(false);
});
