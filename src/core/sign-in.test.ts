// The rules of accounts as tables and properties: lifetimes, attempts, codes, redirects, permissions, and what is
// stored in the audit log.
import fc from "fast-check";
import { createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import {
  closingProblem,
  invitationMethod,
  isInvitationValid,
  mayChangeRole,
  mayGiveRole,
  mayReceiveProject,
} from "./access.ts";
import { AUDIT_HIDDEN, auditDifference, auditSide } from "./audit.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "./instant.ts";
import {
  type AttemptKind,
  ATTEMPTS,
  authenticatedByProvider,
  confirmCode,
  countedAddress,
  type CountedAttempt,
  deviceToken,
  hasSignInMethod,
  isReauthenticatedByProvider,
  isReauthenticationComplete,
  isRecentlyAuthenticated,
  isSeenUpdateDue,
  isSessionValid,
  isStepFresh,
  isTokenValid,
  linkAttempts,
  linkToken,
  passwordAttempts,
  passwordProblem,
  readDevice,
  readTypedCode,
  safeNext,
  shownRecoveryCode,
  takeAttempt,
} from "./sign-in.ts";

const NOW = Date.UTC(2026, 10, 16, 12);

describe("A session", () => {
  test.each([
    ["fresh", 0, 0, true],
    ["unused for 29 days", 29, 29, true],
    ["unused for 30 days", 30, 30, false],
    ["used today, 179 days old", 179, 0, true],
    ["used today, 180 days old", 180, 0, false],
    ["of tomorrow", -1, 0, false],
  ])("that is %s", (_, agedDays, unusedDays, alive) => {
    expect(
      isSessionValid({ createdAt: NOW - agedDays * DAY_MS, seenAt: NOW - unusedDays * DAY_MS }, NOW),
    ).toBe(alive);
  });

  test("is authenticated for half an hour, and always behind a proxy", () => {
    const session = (method: "password" | "proxy") => ({ method, authenticatedAt: NOW });
    expect(isRecentlyAuthenticated(session("password"), NOW + 30 * MINUTE_MS - 1)).toBe(true);
    expect(isRecentlyAuthenticated(session("password"), NOW + 30 * MINUTE_MS)).toBe(false);
    expect(isRecentlyAuthenticated(session("proxy"), NOW + DAY_MS)).toBe(true);
  });

  test.each([
    ["at once", NOW + 1, true],
    ["a minute before we asked, by a clock that is behind", NOW - MINUTE_MS, true],
    ["earlier than that", NOW - MINUTE_MS - 1, false],
    ["by a clock that is ahead", NOW + 6 * MINUTE_MS, true],
    ["far in the future", NOW + 6 * MINUTE_MS + 1, false],
    ["at no time that the provider says", null, false],
  ])("is re-authenticated by a provider %s", (_, authenticatedAt, anew) => {
    expect(isReauthenticatedByProvider(authenticatedAt, { begunAt: NOW, now: NOW + 5 * MINUTE_MS })).toBe(
      anew,
    );
  });

  test("of a provider is authenticated since the user authenticated there", () => {
    const proven = (authenticatedAt: number | null) =>
      isRecentlyAuthenticated(
        { method: "oidc", authenticatedAt: authenticatedByProvider(authenticatedAt, NOW) },
        NOW,
      );
    expect([NOW, NOW + HOUR_MS, NOW - 29 * MINUTE_MS, NOW - 30 * MINUTE_MS, null].map(proven)).toEqual([
      true,
      true,
      true,
      false,
      false,
    ]);
    expect(authenticatedByProvider(NOW + HOUR_MS, NOW)).toBe(NOW);
  });

  test("is written down as seen once a minute", () => {
    expect(isSeenUpdateDue({ createdAt: NOW, seenAt: NOW }, NOW + MINUTE_MS - 1)).toBe(false);
    expect(isSeenUpdateDue({ createdAt: NOW, seenAt: NOW }, NOW + MINUTE_MS)).toBe(true);
  });
});

describe("Tries", () => {
  test.each(Object.keys(ATTEMPTS) as AttemptKind[])(
    "of %s are as many at once as their span allows",
    (kind) => {
      let fullAt: number | null = null;
      for (let count = 0; count < ATTEMPTS[kind].count; count++) {
        const verdict = takeAttempt(kind, { fullAt, now: NOW });
        if (!verdict.allowed) throw new Error(`the try ${count} was refused`);
        ({ fullAt } = verdict);
      }
      const refused = takeAttempt(kind, { fullAt, now: NOW });
      if (refused.allowed) throw new Error("one too many was allowed");
      expect(takeAttempt(kind, { fullAt, now: refused.retryAt }).allowed).toBe(true);
      expect(takeAttempt(kind, { fullAt, now: refused.retryAt - 2 }).allowed).toBe(false);
    },
  );

  test("are never more in any span than twice the count", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 2 * HOUR_MS }), { maxLength: 200 }), (gaps) => {
        let [fullAt, now, allowed]: [number | null, number, number[]] = [null, NOW, []];
        for (const gap of gaps) {
          now += gap;
          const verdict = takeAttempt("linkByAddress", { fullAt, now });
          if (verdict.allowed) [fullAt, allowed] = [verdict.fullAt, [...allowed, now]];
        }
        const { count, spanMs } = ATTEMPTS.linkByAddress;
        return allowed.every(
          (from) => allowed.filter((at) => at >= from && at < from + spanMs).length <= 2 * count,
        );
      }),
    );
  });

  test("of addresses that one mailbox has are counted together", () => {
    expect(countedAddress("a.li.ce+shop@example.org")).toBe("alice@example.org");
    expect(countedAddress("alice@example.org")).toBe("alice@example.org");
  });
});

describe("A token", () => {
  const signing = {
    sign: (message: string) => Buffer.from(message).toString("hex").padEnd(64, "0"),
    previous: null,
    isSame: Object.is,
  };

  test("is good until it is used or its time is over", () => {
    expect(isTokenValid({ expiresAt: NOW + 1, usedAt: null }, NOW)).toBe(true);
    expect(isTokenValid({ expiresAt: NOW, usedAt: null }, NOW)).toBe(false);
    expect(isTokenValid({ expiresAt: NOW + 1, usedAt: NOW }, NOW)).toBe(false);
  });

  test("of one purpose is none of another, and a code has six digits", () => {
    const of = (purpose: "signIn" | "changeEmail" | "invite") => linkToken(signing, { purpose, uuid: "u" });
    expect(new Set([of("signIn"), of("changeEmail"), of("invite")]).size).toBe(3);
    expect(confirmCode({ ...signing, sign: () => "000000000001".padEnd(64, "f") }, "u")).toBe("000001");
    expect(confirmCode(signing, "u")).toMatch(/^\d{6}$/);
  });

  test.each([
    ["/projects/x/checks/?tag=a", true],
    ["/accounts/invitation/abc/", true],
    ["//evil.example", false],
    ["/\\evil.example", false],
    ["https://evil.example", false],
    ["/accounts/logout/", false],
    ["/accounts/oidc/?code=1", false],
    ["/web/account", false],
    ["/x\r\nSet-Cookie: a=b", false],
    ["", false],
    [`/${"x".repeat(600)}`, false],
  ])("leads on to %j: %s", (next, isTaken) => {
    expect(safeNext(next)).toBe(isTaken ? next : null);
  });
});

describe("Passwords and codes", () => {
  test.each([
    ["seven77", false],
    ["eight888", true],
    ["pässwörd", true],
    ["aaaaaaaa", false],
    ["alice@example.org", false],
    ["x".repeat(1_001), false],
  ])("%s", (password, isGood) => {
    expect(passwordProblem(password, { email: "alice@example.org" }) === null).toBe(isGood);
  });

  test("a typed code is read with spaces, hyphens and either case", () => {
    expect(readTypedCode(" 123 456 ")).toEqual({ kind: "totp", code: "123456" });
    expect(readTypedCode("ABCDE-fghjk")).toEqual({ kind: "recovery", code: "abcdefghjk" });
    expect(readTypedCode("12345")).toBeNull();
    expect(readTypedCode("abcde-fghi1")).toBeNull();
    expect(shownRecoveryCode("abcdefghjk")).toBe("abcde-fghjk");
  });

  test("a step is used once, and none before it", () => {
    expect([isStepFresh(5, null), isStepFresh(5, 4), isStepFresh(5, 5), isStepFresh(4, 5)]).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });
});

describe("Proving once more who is there", () => {
  const ways = { password: true, app: true };
  const nothing = { password: false, mailedCode: false, appCode: false };
  test.each([
    ["the password without an app", { ...ways, app: false }, { password: true }, true],
    ["a mailed code without an app", { password: false, app: false }, { mailedCode: true }, true],
    ["nothing", { password: false, app: false }, {}, false],
    ["the password alone beside an app", ways, { password: true }, false],
    ["a mailed code alone beside an app", { ...ways, password: false }, { mailedCode: true }, false],
    ["password and mailed code beside an app", ways, { password: true, mailedCode: true }, false],
    ["the app's code alone beside a password", ways, { appCode: true }, false],
    ["the app's code alone without a password", { ...ways, password: false }, { appCode: true }, true],
    ["password and code", ways, { password: true, appCode: true }, true],
    ["mailed code and code", ways, { mailedCode: true, appCode: true }, true],
  ])("by %s", (_, set, shown, isEnough) => {
    expect(isReauthenticationComplete(set, { ...nothing, ...shown })).toBe(isEnough);
  });
});

describe("Invitations and roles", () => {
  test.each([
    ["by the command line, into a project", null, "manager", true],
    ["by the command line, into the installation", null, null, true],
    ["by an owner", { role: "owner", isAdmin: false }, "manager", true],
    ["by a manager", { role: "manager", isAdmin: false }, "member", true],
    ["by who is a member now", { role: "member", isAdmin: false }, "readOnly", false],
    ["by who only reads now", { role: "readOnly", isAdmin: false }, "readOnly", false],
    ["by who is no member any more", { role: null, isAdmin: false }, "member", false],
    ["into a project by an operator who is no member", { role: null, isAdmin: true }, "member", false],
    ["into the installation by an operator", { role: null, isAdmin: true }, null, true],
    ["into the installation by who is none any more", { role: "owner", isAdmin: false }, null, false],
  ] as const)("were invited %s", (_, inviter, role, stands) => {
    expect(isInvitationValid(inviter, { role })).toBe(stands);
  });

  test("are sent by email if possible, and otherwise as a link by an admin", () => {
    expect(invitationMethod({ sendsMail: true, isAdmin: false })).toBe("mail");
    expect(invitationMethod({ sendsMail: false, isAdmin: true })).toBe("link");
    expect(invitationMethod({ sendsMail: false, isAdmin: false })).toBeNull();
  });

  test("owner and managers give roles, never that of the owner", () => {
    expect(mayGiveRole("owner", "manager")).toBe(true);
    expect(mayGiveRole("manager", "manager")).toBe(true);
    expect(mayGiveRole("member", "readOnly")).toBe(false);
    expect(mayGiveRole("owner", "owner")).toBe(false);
    expect(mayChangeRole("manager", { role: "owner", isChanger: false })).toBe(false);
    expect(mayChangeRole("manager", { role: "manager", isChanger: true })).toBe(false);
    expect([
      mayReceiveProject({ role: "member" }),
      mayReceiveProject({ role: "owner" }),
      mayReceiveProject(null),
    ]).toEqual([true, false, false]);
  });

  test("an account can be closed if nothing depends on it", () => {
    const plain = { isAdmin: false, adminCount: 1, sharedProjects: [] };
    expect(closingProblem(plain)).toBeNull();
    expect(closingProblem({ ...plain, isAdmin: true })).toContain("only admin account");
    expect(closingProblem({ ...plain, isAdmin: true, adminCount: 2 })).toBeNull();
    expect(closingProblem({ ...plain, sharedProjects: ["Shop"] })).toContain("“Shop”");
  });
});

describe("The record", () => {
  test("hides what may be a secret, however deep, and leaves out too much", () => {
    const side = { name: "x", password: "p", config: { api_key: "k", list: [{ token: "t" }] }, hasKey: true };
    expect(auditSide(side)).toEqual({
      name: "x",
      password: AUDIT_HIDDEN,
      config: { api_key: AUDIT_HIDDEN, list: [{ token: AUDIT_HIDDEN }] },
      hasKey: true,
    });
    expect(auditSide({ text: "x".repeat(20_000) })).toEqual({ tooLong: true });
    expect(auditSide(null)).toBeNull();
  });

  test("contains only the differences", () => {
    expect(auditDifference({ a: 1, b: [1] }, { a: 2, b: [1] })).toEqual({
      before: { a: 1 },
      after: { a: 2 },
    });
    expect(auditDifference({ a: 1 }, { a: 1 })).toBeNull();
  });
});

// Which sign-in methods count.

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
    expect(hasSignInMethod({ ...NOTHING, ...offered }, { ...NONE, ...own })).toBe(true);
  });

  test.each([
    [{}, {}],
    [{}, { passkeyCount: 2 }],
    [{ passkeys: true }, {}],
    [{}, { issuers: [PROVIDER] }],
    [{ issuer: PROVIDER }, {}],
    [{ issuer: PROVIDER }, { issuers: ["https://elsewhere.example"] }],
  ])("but not where there is %j and the account has %j", (offered, own) => {
    expect(hasSignInMethod({ ...NOTHING, ...offered }, { ...NONE, ...own })).toBe(false);
  });
});

// Known browsers: which ones are recognized, and how attempts are counted.

const ID = "a-browser-that-was-here";
const signing = {
  sign: (message: string) => createHmac("sha256", "secret").update(message).digest("hex"),
  previous: null,
  isSame: Object.is,
};
const token = deviceToken(signing, { accountId: 7, id: ID, at: NOW });
const read = (given: string, { accountId = 7, now = NOW, knownFromAt = null as number | null } = {}) =>
  readDevice(given, { signing, accountId, knownFromAt, now });

describe("A browser", () => {
  test.each([
    ["on the same day", read(token), ID],
    ["after 179 days", read(token, { now: NOW + 179 * DAY_MS }), ID],
    ["after 180 days", read(token, { now: NOW + 180 * DAY_MS }), null],
    ["from the day after tomorrow", read(token, { now: NOW - 2 * DAY_MS }), null],
    ["from before the others were made strangers", read(token, { knownFromAt: NOW + 1 }), null],
    ["from the very moment", read(token, { knownFromAt: NOW }), ID],
    ["from after it", read(token, { knownFromAt: NOW - 1 }), ID],
    ["of another account", read(token, { accountId: 8 }), null],
    ["of nobody", read(token, { accountId: 0 }), null],
    ["with another id", read(token.replace(ID, `${ID}x`)), null],
    ["with a later date", read(token.replace(/\.\d+\./, (all) => `.${Number(all.slice(1, -1)) + 1}.`)), null],
    ["with nothing", read(""), null],
    ["with no signature", read(`${ID}.${NOW}.`), null],
    ["with a line break in it", read(`${token}\n`), null],
  ])("%s", (_, found, expected) => {
    expect(found).toBe(expected);
  });
});

describe("Tries are counted", () => {
  const stranger = { email: "a.lice+x@example.org", network: "192.0.2.1", deviceId: null };
  const lines = (tries: readonly CountedAttempt[]) => tries.map(({ kind, subject }) => `${kind} ${subject}`);

  test.each([
    [
      "of a password by strangers: for the network, the address from there, and the address",
      passwordAttempts(stranger),
      [
        "passwordByNetwork 192.0.2.1",
        "passwordByAddressThere alice@example.org\n192.0.2.1",
        "passwordByAddress alice@example.org",
      ],
    ],
    [
      "of a password by a known browser: for itself, and all of the account's",
      passwordAttempts({ ...stranger, deviceId: ID }),
      [`passwordByDevice ${ID}`, "passwordByDevices a.lice+x@example.org"],
    ],
    [
      "of a link by strangers: for the network and the address",
      linkAttempts(stranger),
      ["linkByNetwork 192.0.2.1", "linkByAddress alice@example.org"],
    ],
    [
      "of a link by a known browser: for itself, and all of the account's",
      linkAttempts({ ...stranger, deviceId: ID }),
      [`linkByDevice ${ID}`, "linkByDevices a.lice+x@example.org"],
    ],
  ])("%s", (_, tries, expected) => {
    expect(lines(tries)).toEqual(expected);
  });
});
