// Tokens in emails: only our own are accepted, and only for their purpose.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  bounceLocalPart,
  bounceVerdict,
  isOurBounce,
  isTokenFor,
  readBounceLocalPart,
  readReportsToken,
  reportsToken,
  type Signing,
  unsubscribeToken,
  verificationToken,
} from "./email.ts";
import { HOUR_MS } from "./instant.ts";

/** Replaces a hash: the signed text cannot be derived from the beginning of the signature. */
function signingWith(key: string): Signing {
  const sign = (message: string) => {
    let state = 0x811c9dc5;
    let digits = "";
    for (let round = 0; round < 8; round += 1) {
      for (const character of `${key}/${round}/${message}`) {
        state = Math.imul(state ^ (character.codePointAt(0) ?? 0), 0x01000193) >>> 0;
      }
      digits += state.toString(16).padStart(8, "0");
    }
    return digits;
  };
  return { sign, previous: null, isSame: (one, other) => one === other };
}

const signing = signingWith("secret");
const CHANNEL = "8d6f7d1a-3b64-4f5e-9a30-2f1de1f5c001";
const ACCOUNT = "1e7f33c2-52a4-4a8b-8f5e-0c6a4a6e1d77";
const NOW = Date.UTC(2026, 10, 15, 12);
const of = { channelUuid: CHANNEL, address: "ann@example.org" };

describe("A link of a channel", () => {
  test("is good for its purpose, its channel and its address, and for no other", () => {
    const verify = verificationToken(signing, of);
    const unsubscribe = unsubscribeToken(signing, of);
    expect(isTokenFor(verify, { signing, purpose: "verify", of })).toBe(true);
    expect(isTokenFor(unsubscribe, { signing, purpose: "unsubscribe", of })).toBe(true);
    expect(isTokenFor(verify, { signing, purpose: "unsubscribe", of })).toBe(false);
    expect(isTokenFor(verify, { signing: signingWith("other"), purpose: "verify", of })).toBe(false);
    expect(
      isTokenFor(verify, { signing, purpose: "verify", of: { ...of, address: "eve@example.org" } }),
    ).toBe(false);
    expect(isTokenFor(verify, { signing, purpose: "verify", of: { ...of, channelUuid: ACCOUNT } })).toBe(
      false,
    );
  });
});

describe("A link of reports", () => {
  test("names the account, and cannot be made to name another", () => {
    const token = reportsToken(signing, ACCOUNT);
    expect(readReportsToken(signing, token)).toBe(ACCOUNT);
    expect(readReportsToken(signing, token.replace(ACCOUNT, CHANNEL))).toBeNull();
    expect(readReportsToken(signing, ACCOUNT)).toBeNull();
    expect(readReportsToken(signing, "")).toBeNull();
  });
});

describe("The address that a bounce comes to", () => {
  const address = "ann@example.org";
  const localPart = bounceLocalPart(signing, { id: `n.${CHANNEL}`, address, at: NOW });
  const isOurs = (text: string, more: { now?: number; address?: string } = {}) => {
    const bounce = readBounceLocalPart(text);
    return bounce !== null && isOurBounce(bounce, { signing, address, now: NOW, ...more });
  };

  test("fits before an @ and says what came back, also in capitals", () => {
    expect(localPart.length).toBeLessThanOrEqual(64);
    for (const text of [localPart, localPart.toUpperCase()]) {
      expect(readBounceLocalPart(text)).toMatchObject({ kind: "n", uuid: CHANNEL });
      expect(isOurs(text)).toBe(true);
    }
  });

  test("is good for two days, and for the address that was written to", () => {
    expect(isOurs(localPart, { now: NOW + 48 * HOUR_MS })).toBe(true);
    expect(isOurs(localPart, { now: NOW + 48 * HOUR_MS + 1 })).toBe(false);
    expect(isOurs(localPart, { now: NOW - HOUR_MS })).toBe(false);
    expect(isOurs(localPart, { address: "bob@example.org" })).toBe(false);
  });

  test("is not ours when a single character of it is another one", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: localPart.length - 1 }),
        fc.constantFrom(...Array.from("0123456789abcdef.nl-@\n")),
        (at, character) => {
          const altered = localPart.slice(0, at) + character + localPart.slice(at + 1);
          fc.pre(altered !== localPart);
          expect(isOurs(altered)).toBe(false);
        },
      ),
    );
  });
});

describe("A delivery report", () => {
  test.each([
    ["5.1.1", "permanent"],
    ["5.0.0", "permanent"],
    ["5.4.4", "transient"],
    ["4.2.2", "transient"],
    ["2.0.0", "ignored"],
    ["", "ignored"],
    ["5.1.1.1", "ignored"],
    ["51.1", "ignored"],
  ])("with status %s is %s", (status, verdict) => {
    expect(bounceVerdict(status)).toBe(verdict);
  });
});
