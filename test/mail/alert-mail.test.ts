// What holds for every mail: nothing of somebody else's becomes markup, both parts say the same, colours can be read,
// and the mails of one incident find each other.
import { describe, expect, test } from "vitest";
import { readConfig } from "../../src/channels/channel-config.ts";
import { DARK, LIGHT, type Palette } from "../../src/channels/email-layout.ts";
import { email } from "../../src/channels/kinds/email.ts";
import { kindNamed } from "../../src/channels/registry.ts";
import {
  DOWN,
  EXTREME,
  GROUP_DOWN,
  GROUP_UP,
  MERGED,
  NOTICE,
  REPEAT,
  TAKEN_BACK,
  TEST,
  UP,
} from "../channels/sample-messages.ts";
import { sampleAlert, sampleMails } from "./sample-mails.ts";

const MAILS = Object.entries(sampleMails());

describe.each(MAILS)("The email %s", (_name, { subject, text, html }) => {
  test("holds no markup but our own", () => {
    const tags = new Set([...html.matchAll(/<([a-z0-9]+)/g)].map(([, tag]) => tag));
    const ours = "html head meta title style body div table tr td th a h1 p span ul li br".split(" ");
    expect([...tags].filter((tag) => !ours.includes(tag ?? ""))).toEqual([]);
    expect(html).not.toMatch(/<(script|img|b)\b|\son\w+=|javascript:/i);
  });

  test("loads nothing: opening it is not tracked", () => {
    expect(html).not.toMatch(/url\(|@import|<link|\ssrc=/i);
  });

  test("has a subject of one line, and no sign that turns what follows", () => {
    expect(subject).not.toMatch(/[\r\n]/);
    expect(subject.length).toBeLessThanOrEqual(200);
    expect(subject + text + html).not.toMatch(/[\u202a-\u202e\u2066-\u2069\0]/);
  });

  test("leads to the same places in both parts", () => {
    const inHtml = new Set([...html.matchAll(/href="([^"]+)"/g)].map(([, url]) => url));
    const inText = new Set(text.match(/https:\/\/\S+/g));
    for (const url of inText) expect(inHtml).toContain(url);
  });

  test("is short enough that no program cuts it", () => {
    expect(Buffer.byteLength(html)).toBeLessThan(102_000);
  });
});

/** The contrast of two colours, as the guidelines for people with weak eyes define it. */
function contrast(one: string, other: string): number {
  const [a = 0, b = 0] = [one, other].map(luminance).toSorted((x, y) => y - x);
  return (a + 0.05) / (b + 0.05);
}

function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const value = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

describe.each<[string, Palette]>([
  ["light", LIGHT],
  ["dark", DARK],
])("In %s colours", (_name, palette) => {
  test.each(["ink", "ink2", "ink3", "accent", "bad", "good", "notice"] as const)("%s can be read", (ink) => {
    for (const ground of ["ground", "surface"] as const) {
      expect(contrast(palette[ink], palette[ground])).toBeGreaterThanOrEqual(4.5);
    }
  });

  test("the text of buttons and boxes is readable, too", () => {
    expect(contrast(palette.onAccent, palette.accent)).toBeGreaterThanOrEqual(4.5);
    expect(contrast(palette.ink, palette.raised)).toBeGreaterThanOrEqual(4.5);
  });
});

describe("The thread of an incident", () => {
  test("begins with the alert, and all later emails refer to it", () => {
    const down = sampleAlert(DOWN);
    const up = sampleAlert(UP, { dedupeKey: "11111111-61b1-4bd0-8c4a-0f4f2f2f9d11" });
    const correction = sampleAlert(TAKEN_BACK, { dedupeKey: "22222222-61b1-4bd0-8c4a-0f4f2f2f9d11" });
    expect(down.references).toBeUndefined();
    expect(up.references).toEqual([down.messageId]);
    expect(correction.references).toEqual([down.messageId]);
    expect(new Set([down, up, correction].map(({ messageId }) => messageId)).size).toBe(3);
  });

  test("is joined by reminders", () => {
    const down = sampleAlert(DOWN);
    const first = sampleAlert(REPEAT);
    const second = sampleAlert(REPEAT, { dedupeKey: "11111111-61b1-4bd0-8c4a-0f4f2f2f9d11" });
    expect(first.references).toEqual([down.messageId]);
    expect(new Set([down, first, second].map(({ messageId }) => messageId)).size).toBe(3);
  });

  test("is the same for all emails about several checks, and another one for the next incident", () => {
    const down = sampleAlert(GROUP_DOWN);
    const up = sampleAlert(GROUP_UP, { dedupeKey: "11111111-61b1-4bd0-8c4a-0f4f2f2f9d11" });
    const next = sampleAlert({ ...GROUP_DOWN, incident: { number: 43, ackUrl: null } });
    expect(up.references).toEqual(down.references);
    expect(up.messageId).not.toBe(down.messageId);
    expect(next.references).not.toEqual(down.references);
  });

  test("has the same ids in every try, and in no other incident", () => {
    expect(sampleAlert(DOWN)).toEqual(sampleAlert(DOWN));
    const later = { ...DOWN, since: DOWN.since + 60_000 };
    expect(sampleAlert(later).messageId).not.toBe(sampleAlert(DOWN).messageId);
    const other = { ...DOWN, check: { ...DOWN.check, uuid: "99999999-8da9-4729-8ff3-aaa71d56b712" } };
    expect(sampleAlert(other).messageId).not.toBe(sampleAlert(DOWN).messageId);
  });

  test("does not contain the UUID of the check", () => {
    for (const message of [DOWN, UP, MERGED, NOTICE, EXTREME]) {
      expect(JSON.stringify(sampleAlert(message))).not.toContain(DOWN.check.uuid);
    }
  });

  test("is not joined by a test or a notice", () => {
    for (const message of [TEST, NOTICE]) expect(sampleAlert(message).references).toBeUndefined();
  });
});

describe("An email of a channel", () => {
  test("can be unsubscribed from with one click", () => {
    const { headers = {}, text, html } = sampleAlert(DOWN);
    const url = /^<(https:\/\/[^>]+\/unsub\/[^>]+\/)>$/.exec(headers["List-Unsubscribe"] ?? "")?.[1] ?? "";
    expect(headers["List-Unsubscribe-Post"]).toBe("List-Unsubscribe=One-Click");
    expect(text).toContain(url);
    expect(html).toContain(`href="${url}"`);
  });

  test("speaks in the time of its reader", () => {
    expect(sampleAlert(DOWN, { zone: "America/New_York" }).text).toContain(
      "2026-11-14 23:00 America/New_York",
    );
    expect(sampleAlert(DOWN, { zone: "Asia/Tokyo" }).text).toContain("2026-11-15 13:00 Asia/Tokyo");
    // Who has chosen none reads the times of the project.
    expect(sampleAlert(DOWN, { zone: null }).text).toContain("2026-11-15 05:00 Europe/Berlin");
  });

  test("has the end of a long output, cut at a line, and says so", () => {
    const { text, html } = sampleAlert(EXTREME);
    expect(text).toContain("(last 10,000 characters):");
    const output = text.slice(text.indexOf("10,000 characters"));
    expect(output.length).toBeLessThan(10_400);
    expect(output).toContain("\n…\nļoti </pre>");
    expect(html).toContain("ļoti &lt;/pre&gt;");
  });
});

describe("The configuration of an email channel", () => {
  const kind = kindNamed("email");
  const read = (input: unknown) => (kind === null ? null : readConfig(kind, input, { strict: true }));

  test("is an address and two switches, which are on", () => {
    expect(read({ value: "ann@example.org" })).toEqual({
      ok: true,
      value: { value: "ann@example.org", up: true, down: true },
    });
  });

  test.each([
    "ann",
    "ann@",
    "@example.org",
    "ann@exa mple.org",
    "ann@example.org, eve@example.org",
    "Ann <ann@example.org>",
    "ann@example.org\r\nBcc: eve@example.org",
    `${"a".repeat(90)}@example.org`,
    "",
  ])("does not take %j for an address", (value) => {
    expect(read({ value })).toMatchObject({ ok: false });
  });

  test("refuses a channel that would never write", () => {
    expect(read({ value: "ann@example.org", up: false, down: false })).toEqual({
      ok: false,
      text: "At least one of up and down must be true.",
    });
  });

  test("defines the subscribed events: one direction, and notices always", () => {
    const config = { value: "ann@example.org", up: false, down: true };
    expect(email.isSubscribed(config, "down")).toBe(true);
    expect(email.isSubscribed(config, "up")).toBe(false);
    expect(email.isSubscribed(config, "notice")).toBe(true);
  });
});
