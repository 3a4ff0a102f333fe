// What counts as a way into an account.
import { describe, expect, test } from "vitest";
import { hasWayIn } from "./ways-in.ts";

const NOTHING = { proxy: false, mail: false, passkeys: false, issuer: null };
const NONE = { hasPassword: false, passkeyCount: 0, issuers: [] };
const PROVIDER = "https://id.example.org";

describe("a way in is left", () => {
  test.each([
    [{ proxy: true }, {}],
    [{ mail: true }, {}],
    [{}, { hasPassword: true }],
    [{ passkeys: true }, { passkeyCount: 1 }],
    [{ issuer: PROVIDER }, { issuers: ["https://elsewhere.example", PROVIDER] }],
    [{ issuer: PROVIDER }, { issuers: [`${PROVIDER}/`] }],
    [{ issuer: `${PROVIDER}/` }, { issuers: [PROVIDER] }],
  ])("where there is %j and the account has %j", (offered, own) => {
    expect(hasWayIn({ ...NOTHING, ...offered }, { ...NONE, ...own })).toBe(true);
  });

  test.each([
    [{}, {}],
    [{}, { passkeyCount: 2 }],
    [{ passkeys: true }, {}],
    [{}, { issuers: [PROVIDER] }],
    [{ issuer: PROVIDER }, {}],
    [{ issuer: PROVIDER }, { issuers: ["https://elsewhere.example"] }],
  ])("but not where there is %j and the account has %j", (offered, own) => {
    expect(hasWayIn({ ...NOTHING, ...offered }, { ...NONE, ...own })).toBe(false);
  });
});
