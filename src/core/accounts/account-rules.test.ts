// The rules of accounts as tables and properties: lifetimes, tries, codes, next pages, who may do what to whom, and
// what is kept in the record.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../instant.ts";
import { ATTEMPTS, type AttemptKind, countedAddress, takeAttempt } from "./attempt-rules.ts";
import { AUDIT_HIDDEN, auditDifference, auditSide } from "./audit-words.ts";
import {
  closingObstacle,
  doesInvitationStand,
  invitesBy,
  mayBeAsked,
  mayChangeRole,
  mayGiveRole,
} from "./member-rules.ts";
import { passwordProblem } from "./password-rules.ts";
import { isProofEnough, isStepFresh, readTypedCode, shownRecoveryCode } from "./second-factor-rules.ts";
import { isAlive, isProven, isProvenAnew, isSeenDue, provenByProvider } from "./session-rules.ts";
import { confirmCode, isTokenGood, linkToken, safeNext } from "./token-rules.ts";

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
    expect(isAlive({ createdAt: NOW - agedDays * DAY_MS, seenAt: NOW - unusedDays * DAY_MS }, NOW)).toBe(
      alive,
    );
  });

  test("is proven for half an hour, and always where a proxy vouches", () => {
    const session = (method: "password" | "proxy") => ({ method, provenAt: NOW });
    expect(isProven(session("password"), NOW + 30 * MINUTE_MS - 1)).toBe(true);
    expect(isProven(session("password"), NOW + 30 * MINUTE_MS)).toBe(false);
    expect(isProven(session("proxy"), NOW + DAY_MS)).toBe(true);
  });

  test.each([
    ["at once", NOW + 1, true],
    ["a minute before we asked, by a clock that is behind", NOW - MINUTE_MS, true],
    ["earlier than that", NOW - MINUTE_MS - 1, false],
    ["by a clock that is ahead", NOW + 6 * MINUTE_MS, true],
    ["far in the future", NOW + 6 * MINUTE_MS + 1, false],
    ["at no time that the provider says", null, false],
  ])("is proven anew at a provider %s", (_, authenticatedAt, anew) => {
    expect(isProvenAnew(authenticatedAt, { begunAt: NOW, now: NOW + 5 * MINUTE_MS })).toBe(anew);
  });

  test("that a provider vouches for is proven since its owner has proven it there", () => {
    const proven = (authenticatedAt: number | null) =>
      isProven({ method: "oidc", provenAt: provenByProvider(authenticatedAt, NOW) }, NOW);
    expect([NOW, NOW + HOUR_MS, NOW - 29 * MINUTE_MS, NOW - 30 * MINUTE_MS, null].map(proven)).toEqual([
      true,
      true,
      true,
      false,
      false,
    ]);
    expect(provenByProvider(NOW + HOUR_MS, NOW)).toBe(NOW);
  });

  test("is written down as seen once a minute", () => {
    expect(isSeenDue({ createdAt: NOW, seenAt: NOW }, NOW + MINUTE_MS - 1)).toBe(false);
    expect(isSeenDue({ createdAt: NOW, seenAt: NOW }, NOW + MINUTE_MS)).toBe(true);
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
    isSame: Object.is,
  };

  test("is good until it is used or its time is over", () => {
    expect(isTokenGood({ expiresAt: NOW + 1, usedAt: null }, NOW)).toBe(true);
    expect(isTokenGood({ expiresAt: NOW, usedAt: null }, NOW)).toBe(false);
    expect(isTokenGood({ expiresAt: NOW + 1, usedAt: NOW }, NOW)).toBe(false);
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
    ["/web/api/account", false],
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
    expect(isProofEnough(set, { ...nothing, ...shown })).toBe(isEnough);
  });
});

describe("People", () => {
  test.each([
    ["by the command line, into a project", null, "manager", true],
    ["by the command line, into the installation", null, null, true],
    ["by an owner", { role: "owner", isOperator: false }, "manager", true],
    ["by a manager", { role: "manager", isOperator: false }, "member", true],
    ["by who is a member now", { role: "member", isOperator: false }, "readOnly", false],
    ["by who only reads now", { role: "readOnly", isOperator: false }, "readOnly", false],
    ["by who is no member any more", { role: null, isOperator: false }, "member", false],
    ["into a project by an operator who is no member", { role: null, isOperator: true }, "member", false],
    ["into the installation by an operator", { role: null, isOperator: true }, null, true],
    ["into the installation by who is none any more", { role: "owner", isOperator: false }, null, false],
  ] as const)("were invited %s", (_, inviter, role, stands) => {
    expect(doesInvitationStand(inviter, { role })).toBe(stands);
  });

  test("are invited by mail where some is sent, and by a link of an operator where none is", () => {
    expect(invitesBy({ sendsMail: true, isOperator: false })).toBe("mail");
    expect(invitesBy({ sendsMail: false, isOperator: true })).toBe("link");
    expect(invitesBy({ sendsMail: false, isOperator: false })).toBeNull();
  });

  test("owner and managers give roles, never that of the owner", () => {
    expect(mayGiveRole("owner", "manager")).toBe(true);
    expect(mayGiveRole("manager", "manager")).toBe(true);
    expect(mayGiveRole("member", "readOnly")).toBe(false);
    expect(mayGiveRole("owner", "owner")).toBe(false);
    expect(mayChangeRole("manager", { role: "owner", isChanger: false })).toBe(false);
    expect(mayChangeRole("manager", { role: "manager", isChanger: true })).toBe(false);
    expect([mayBeAsked({ role: "member" }), mayBeAsked({ role: "owner" }), mayBeAsked(null)]).toEqual([
      true,
      false,
      false,
    ]);
  });

  test("an account is closed when nobody depends on it", () => {
    const plain = { isOperator: false, operatorCount: 1, sharedProjects: [] };
    expect(closingObstacle(plain)).toBeNull();
    expect(closingObstacle({ ...plain, isOperator: true })).toContain("only admin account");
    expect(closingObstacle({ ...plain, isOperator: true, operatorCount: 2 })).toBeNull();
    expect(closingObstacle({ ...plain, sharedProjects: ["Shop"] })).toContain("“Shop”");
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

  test("tells only what differs", () => {
    expect(auditDifference({ a: 1, b: [1] }, { a: 2, b: [1] })).toEqual({
      before: { a: 1 },
      after: { a: 2 },
    });
    expect(auditDifference({ a: 1 }, { a: 1 })).toBeNull();
  });
});
