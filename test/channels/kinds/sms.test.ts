// Text messages: what a segment holds, and what is left out to fit into one.
import { describe, expect, test } from "vitest";
import { segmentsOf, smsText } from "../../../src/channels/kinds/sms.ts";
import { messageText } from "../../../src/channels/message-text.ts";
import { SITE } from "../sample-kinds.ts";
import { downNamed, EXTREME, REPEAT } from "../sample-messages.ts";

const textOf = (message: Parameters<typeof messageText>[0], site = SITE) =>
  smsText(messageText(message, { site, zone: "UTC" }), site);

test.each([
  ["a".repeat(160), 1],
  ["a".repeat(161), 2],
  ["a".repeat(306), 2],
  ["a".repeat(307), 3],
  // Characters of the extension count twice.
  ["[".repeat(80), 1],
  ["[".repeat(81), 2],
  ["ж".repeat(70), 1],
  ["ж".repeat(71), 2],
  ["ж".repeat(135), 3],
])("%s needs %i segments", (text, count) => {
  expect(segmentsOf(text)).toBe(count);
});

describe("a text message", () => {
  test.each([
    ["a long name", "x".repeat(500)],
    ["emoji", "👩‍👩‍👧‍👦 backup 🔥 of\u00a0db"],
    ["typography", "“backup” — Málaga’s DB…"],
    ["brackets", "[[[{{{|||}}}]]]".repeat(10)],
  ])("with %s fits into one segment and says what happened", (_what, name) => {
    const text = textOf(downNamed(name));
    expect(segmentsOf(text)).toBe(1);
    expect(text).toMatch(/is DOWN\. Down since 2026-11-15 04:00 UTC: no success ping arrived in time\./);
    expect(text).not.toMatch(/\p{Extended_Pictographic}/u);
  });

  test("spells a name with the letters of a segment", () => {
    expect(textOf(downNamed("“backup” — Málaga’s DB…"))).toContain(`"backup" - Malaga's DB... is DOWN`);
    expect(textOf(downNamed("👩‍👩‍👧‍👦 backup 🔥 of\u00a0db"))).toContain(": backup of db is DOWN");
  });

  test("keeps other scripts, in two segments", () => {
    const text = textOf(downNamed("Ночное резервное копирование"));
    expect(text).toContain("Ночное резервное копирование is DOWN. Down since");
    expect(segmentsOf(text)).toBe(2);
  });

  test("has the link to acknowledge only if there is room", () => {
    const ackUrl = "https://o.example/ack/1";
    const incident = { number: 1, ackUrl };
    expect(textOf({ ...downNamed("x".repeat(60)), incident })).not.toContain(ackUrl);
    expect(textOf({ ...downNamed("db"), incident })).toContain(` ${ackUrl}`);
    expect(segmentsOf(textOf(REPEAT))).toBe(1);
  });

  test("is never longer than Twilio takes", () => {
    expect(textOf(EXTREME, { ...SITE, name: "x".repeat(5_000) }).length).toBeLessThanOrEqual(1_600);
  });
});
