import { describe, expect, test } from "vitest";
import { IMPORT_TEXT_LENGTH_MAX } from "../core/limits.ts";
import { readBoolean, readDuration, readInteger, readText, readTime, readUuid } from "./source-value.ts";

describe("A time", () => {
  const AT = Date.UTC(2026, 10, 16, 12, 30, 15);

  test.each([
    ["2026-11-16 12:30:15", AT],
    ["2026-11-16 12:30:15.1", AT + 100],
    ["2026-11-16 12:30:15.123999", AT + 123],
    ["2026-11-16 12:30:15.000001+00", AT],
    ["2026-11-16T12:30:15+00:00", AT],
    ["2026-11-16T12:30:15Z", AT],
    ["2026-11-16 14:30:15+02", AT],
    ["2026-11-16 09:00:15.5-03:30", AT + 500],
    ["2024-02-29 00:00:00", Date.UTC(2024, 1, 29)],
  ])("%s is read", (text, at) => {
    expect(readTime(text)).toEqual({ value: at });
  });

  test.each([
    "",
    "infinity",
    "2026-02-30 10:00:00",
    "2025-02-29 10:00:00",
    "2026-13-01 10:00:00",
    "2026-00-01 10:00:00",
    "2026-01-00 10:00:00",
    "2026-01-01 24:00:00",
    "2026-01-01 10:60:00",
    "0000-00-00 00:00:00",
    "0044-03-15 00:00:00 BC",
    "10000-01-01 00:00:00",
    "2026-11-16",
    1_794_831_015,
    null,
  ])("%j is not valid", (raw) => {
    expect(readTime(raw)).toEqual({ value: null, why: "is not a valid date and time" });
  });
});

describe("A UUID", () => {
  const UUID = "31365bce-8da9-4729-8ff3-aaa71d56b712";

  test.each([UUID, UUID.toUpperCase(), UUID.replaceAll("-", "")])("%s is read", (text) => {
    expect(readUuid(text)).toEqual({ value: UUID });
  });

  test.each(["", UUID.slice(1), `${UUID}0`, "g".repeat(32), 7, null, undefined])("%j is none", (raw) => {
    expect(readUuid(raw)).toEqual({ value: null, why: "is not a UUID" });
  });
});

describe("A text", () => {
  test.each(["", "größer 🚀", "a\0b"])("%j is read", (text) => {
    expect(readText(text)).toEqual({ value: text });
  });

  test("can be bytes or a number", () => {
    expect(readText(Buffer.from("größer"))).toEqual({ value: "größer" });
    expect(readText(7n)).toEqual({ value: "7" });
    expect(readText(true)).toEqual({ value: null, why: "is not text" });
  });

  test("that is not UTF-8 is read with replaced characters", () => {
    expect(readText(Buffer.from([0x61, 0xff]))).toEqual({
      value: "a\uFFFD",
      why: "contains characters that are not valid UTF-8",
    });
    expect(readText("a\uD800")).toEqual({ value: "a\uFFFD", why: "contains half of a character" });
  });

  test("that is too long is cut between characters", () => {
    const text = "🚀".repeat(IMPORT_TEXT_LENGTH_MAX);
    expect(readText(text)).toEqual({ value: text });
    expect(readText(`${text}a`)).toEqual({
      value: text,
      why: `is longer than ${IMPORT_TEXT_LENGTH_MAX} characters and was cut`,
    });
  });
});

describe("A number", () => {
  test.each([
    [7, 7],
    ["7", 7],
    [-7n, -7],
    ["86400", 86_400],
  ])("%s is read", (raw, value) => {
    expect(readInteger(raw)).toEqual({ value });
  });

  test.each(["", " ", "1.5", 1.5, 2n ** 63n, "x", null, true])("%s is not a whole number", (raw) => {
    expect(readInteger(raw)).toEqual({ value: null, why: "is not a whole number" });
  });
});

describe("A duration", () => {
  test.each([
    ["86400000000.000000", 86_400],
    [1_500_000, 1.5],
    [60_000_000n, 60],
  ])("%s is read as seconds", (raw, value) => {
    expect(readDuration(raw)).toEqual({ value });
  });

  test.each(["soon", "Infinity", null])("%s is none", (raw) => {
    expect(readDuration(raw)).toEqual({ value: null, why: "is not a duration" });
  });
});

test("A boolean has several forms", () => {
  for (const raw of [true, 1, 1n, "1", "t", "true"]) expect(readBoolean(raw)).toEqual({ value: true });
  for (const raw of [false, 0, 0n, "0", "f", "false"]) expect(readBoolean(raw)).toEqual({ value: false });
  expect(readBoolean("maybe")).toEqual({ value: null, why: "is neither true nor false" });
});
