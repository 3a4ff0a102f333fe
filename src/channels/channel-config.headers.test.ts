// Webhook headers as entered by users.
import { expect, test } from "vitest";
import { readHeaders } from "./channel-config.ts";

const read = (given: unknown) => readHeaders(given, { countMax: 3 });

test("lines and objects are accepted alike", () => {
  const value = { "X-Token": "a:b", Accept: "*/*" };
  expect(read("X-Token: a:b\r\n\n  Accept :*/*  \n")).toEqual({ ok: true, value });
  expect(read({ "X-Token": " a:b ", Accept: "*/*" })).toEqual({ ok: true, value });
  expect(read("")).toEqual({ ok: true, value: {} });
});

test.each([
  ["no colon", /must be an object with string values, or lines/],
  ["X-Empty:", /must be an object with string values, or lines/],
  [": value", /must be an object with string values, or lines/],
  [["X-A: 1"], /must be an object with string values/],
  [{ "X-A": 1 }, /must be an object with string values/],
  [null, /must be an object with string values/],
  [{ "X-A": "" }, /"X-A", which has no value/],
  [{ "X Ä": "1" }, /not a valid header name/],
  [{ Host: "inside" }, /"Host", which is managed by the connection/],
  [{ "content-length": "3" }, /is managed by the connection/],
  [{ "Webhook-Signature": "v1,x" }, /is reserved for the request signature/],
  [{ "X-A": "1", "x-a": "2" }, /is given more than once/],
  [{ "X-A": "1\nX-B: 2" }, /control character/],
  [{ "X-A": "x".repeat(1_001) }, /longer than 1000/],
  [{ a: "1", b: "2", c: "3", d: "4" }, /at most 3 headers/],
])("%j is rejected with a reason", (given, reason) => {
  expect(read(given)).toEqual({ ok: false, text: expect.stringMatching(reason) });
});
