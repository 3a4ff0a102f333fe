import { createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import { ackNonce, ackUrl, isAckLinkValid, isAckNonce, readAckToken } from "./ack-link.ts";
import type { Signing } from "./email.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "./instant.ts";

const NOON = Date.UTC(2026, 10, 16, 12);
const signingWith = (secret: string): Signing => ({
  sign: (message) => createHmac("sha256", secret).update(message).digest("hex"),
  previous: null,
  isSame: (one, other) => one === other,
});
const signing = signingWith("secret");
const LINK = { incidentId: 12, channelId: 3 };
const SITE = "https://overdue.example.org";

const tokenOf = (url: string) => url.slice(`${SITE}/ack/`.length);

describe("a link", () => {
  const token = tokenOf(ackUrl({ site: SITE, signing }, LINK));

  test("names its incident and its channel", () => {
    expect(token).toMatch(/^12\.3\.[0-9a-f]{64}$/);
    expect(readAckToken(signing, token)).toEqual(LINK);
  });

  test.each([
    ["another incident", token.replace("12.", "13.")],
    ["another channel", token.replace(".3.", ".4.")],
    ["another signature", token.replace(/.$/, (digit) => (digit === "0" ? "1" : "0"))],
    ["a number with a leading zero", `0${token}`],
    ["numbers divided differently", token.replace("12.3", "1.23")],
    ["nothing", ""],
    ["too much", `${token}0`],
  ])("with %s is invalid", (_, changed) => {
    expect(readAckToken(signing, changed)).toBeNull();
  });

  test("of another server is invalid", () => {
    expect(readAckToken(signingWith("other"), token)).toBeNull();
  });

  test("is valid until seven days after the incident was resolved", () => {
    expect(isAckLinkValid({ state: "open", resolvedAt: null }, NOON)).toBe(true);
    const resolved = { state: "resolved", resolvedAt: NOON } as const;
    expect(isAckLinkValid(resolved, NOON + 7 * DAY_MS)).toBe(true);
    expect(isAckLinkValid(resolved, NOON + 7 * DAY_MS + 1)).toBe(false);
  });
});

describe("a nonce", () => {
  const form = { link: LINK, action: "acknowledge" } as const;
  const nonce = ackNonce(signing, form, NOON);
  const isValid = (given: Partial<typeof form> & { text?: string; now?: number }) =>
    isAckNonce(given.text ?? nonce, {
      signing,
      form: { link: given.link ?? form.link, action: given.action ?? form.action },
      now: given.now ?? NOON,
    });

  test("works for an hour, and with a clock that is a minute behind", () => {
    expect(isValid({})).toBe(true);
    expect(isValid({ now: NOON + HOUR_MS })).toBe(true);
    expect(isValid({ now: NOON + HOUR_MS + MINUTE_MS })).toBe(false);
    expect(isValid({ now: NOON - MINUTE_MS })).toBe(true);
    expect(isValid({ now: NOON - 2 * MINUTE_MS })).toBe(false);
  });

  test("belongs to its link and its action", () => {
    expect(isValid({ link: { ...LINK, incidentId: 13 } })).toBe(false);
    expect(isValid({ link: { ...LINK, channelId: 4 } })).toBe(false);
    expect(isAckNonce(nonce, { signing, form: { ...form, action: "unacknowledge" }, now: NOON })).toBe(false);
    expect(isValid({ text: "" })).toBe(false);
    expect(isValid({ text: nonce.replace(/^./, "0") })).toBe(false);
    expect(isValid({ text: tokenOf(ackUrl({ site: SITE, signing }, LINK)) })).toBe(false);
  });
});
