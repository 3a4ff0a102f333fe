// Which key is accepted by which endpoint, the texts of rejections, and what each role may do.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type Action,
  ACTION_ROLES,
  type ApiCaller,
  type ApiRule,
  type Credential,
  decideAccess,
  decideApiCaller,
  decideApiRole,
  isAccessTokenValid,
  type Endpoint,
  ENDPOINT_RIGHTS,
  mayDo,
  mayRemoveMember,
  presentedKey,
  presentedToken,
  REFUSALS,
  type Role,
  type Target,
  TOKEN_SCOPES,
} from "./access.ts";

const ENDPOINTS = Object.keys(ENDPOINT_RIGHTS) as Endpoint[];
const OPEN: Endpoint[] = ["getStatus", "getBadge"];
const READABLE: Endpoint[] = ["listChecks", "getCheck", "listFlips", "listBadges"];
const KEYED = ENDPOINTS.filter((endpoint) => !OPEN.includes(endpoint) && endpoint !== "scrapeMetrics");

const ask = (endpoint: Endpoint, credential: Credential, target: Target = "none") =>
  decideAccess({ endpoint, credential, target, dialect: "standard" });
const refused = (code: string, text: string) => ({ allowed: false, code, text });

describe("API keys", () => {
  test("a read-write key may call everything but the scrape address", () => {
    for (const endpoint of KEYED) expect(ask(endpoint, "readWrite", "own")).toEqual({ allowed: true });
  });

  test("a read-only key reads checks, flips and badges and nothing else", () => {
    const allowed = KEYED.filter((endpoint) => ask(endpoint, "readOnly", "own").allowed);
    expect(allowed.toSorted()).toEqual(READABLE.toSorted());
  });

  test("status and badges need no key, and look at none", () => {
    for (const endpoint of OPEN) {
      for (const credential of ["missing", "malformed", "unknown", "readOnly", "readWrite"] as const) {
        expect(ask(endpoint, credential)).toEqual({ allowed: true });
      }
    }
  });

  test.each(KEYED)("%s without a key, or with one of another length, is refused with 401", (endpoint) => {
    expect(ask(endpoint, "missing")).toEqual(refused("unauthenticated", "missing api key"));
    expect(ask(endpoint, "malformed")).toEqual(refused("unauthenticated", "missing api key"));
    expect(ask(endpoint, "unknown")).toEqual(refused("unauthenticated", "wrong api key"));
  });

  test("a valid key that the endpoint does not take is refused with 403", () => {
    for (const endpoint of KEYED.filter((one) => !READABLE.includes(one))) {
      expect(ask(endpoint, "readOnly", "own")).toEqual(refused("forbidden", "wrong api key"));
    }
  });

  test("a check of another project is refused with 403, one that does not exist with 404", () => {
    expect(ask("getCheck", "readWrite", "foreign")).toEqual(refused("forbidden", "wrong api key"));
    expect(ask("getCheck", "readOnly", "foreign")).toEqual(refused("forbidden", "wrong api key"));
    expect(ask("getCheck", "readWrite", "absent")).toEqual(refused("not_found", "not found"));
  });

  test("the key is judged before the check", () => {
    for (const target of ["own", "foreign", "absent"] as const) {
      expect(ask("getCheck", "missing", target)).toEqual(refused("unauthenticated", "missing api key"));
      expect(ask("getCheck", "unknown", target)).toEqual(refused("unauthenticated", "wrong api key"));
      expect(ask("updateCheck", "readOnly", target)).toEqual(refused("forbidden", "wrong api key"));
    }
  });

  test("without a valid key, existing checks are not revealed", () => {
    const target = fc.constantFrom<Target>("own", "foreign", "absent");
    const credential = fc.constantFrom<Credential>("missing", "malformed", "unknown");
    fc.assert(
      fc.property(fc.constantFrom(...ENDPOINTS), credential, target, target, (endpoint, key, one, other) => {
        expect(ask(endpoint, key, one)).toEqual(ask(endpoint, key, other));
      }),
    );
  });
});

describe("the healthchecks dialect", () => {
  const other = (endpoint: Endpoint, credential: Credential, target: Target) =>
    decideAccess({ endpoint, credential, target, dialect: "healthchecks" });

  test("says 401 where a valid key is not taken", () => {
    expect(other("listChannels", "readOnly", "none")).toEqual(refused("unauthenticated", "wrong api key"));
    expect(other("updateCheck", "readOnly", "absent")).toEqual(refused("unauthenticated", "wrong api key"));
  });

  test("says 403 without a word for a check of another project", () => {
    expect(other("getCheck", "readWrite", "foreign")).toEqual(refused("forbidden", ""));
  });

  test("differs in nothing else", () => {
    for (const reason of ["missing", "malformed", "unknown", "absent"] as const) {
      expect(REFUSALS.healthchecks[reason]).toEqual(REFUSALS.standard[reason]);
    }
  });

  test("lets exactly the same requests through", () => {
    const endpoint = fc.constantFrom(...ENDPOINTS);
    const credential = fc.constantFrom<Credential>(
      "missing",
      "malformed",
      "unknown",
      "readOnly",
      "readWrite",
    );
    const target = fc.constantFrom<Target>("none", "own", "foreign", "absent");
    fc.assert(
      fc.property(endpoint, credential, target, (one, key, check) => {
        expect(other(one, key, check).allowed).toBe(ask(one, key, check).allowed);
      }),
    );
  });
});

describe("the scrape address", () => {
  test.each([
    ["readOnly", { allowed: true }],
    ["readWrite", refused("forbidden", "wrong api key")],
    ["unknown", refused("forbidden", "wrong api key")],
    ["malformed", refused("invalid", "wrong api key")],
    ["missing", refused("unauthenticated", "missing api key")],
  ] as const)("with a %s key is answered as scrapers expect, in either dialect", (credential, expected) => {
    for (const dialect of ["standard", "healthchecks"] as const) {
      expect(decideAccess({ endpoint: "scrapeMetrics", credential, target: "none", dialect })).toEqual(
        expected,
      );
    }
  });
});

describe("the key of a request", () => {
  const KEY = "odw_0123456789012345678901234567";

  test.each([
    ["in the header", KEY, undefined, { key: KEY }],
    ["in the body", undefined, KEY, { key: KEY }],
    ["in both: the header wins", KEY, "x".repeat(32), { key: KEY }],
    ["an empty header beside a good body is no key", "", KEY, "missing"],
    ["a short header beside a good body is no key", "wrong", KEY, "malformed"],
    ["nowhere", undefined, undefined, "missing"],
    ["a null in the body", undefined, null, "missing"],
    ["a number in the body", undefined, 1, "missing"],
    ["a list in the body", undefined, [KEY], "missing"],
    ["an empty text in the body", undefined, "", "missing"],
    ["one character too many", `${KEY}x`, undefined, "malformed"],
  ])("%s", (_, header, body, expected) => {
    expect(presentedKey({ header, body })).toEqual(expected);
  });
});

describe("roles", () => {
  const ROLES: Role[] = ["owner", "manager", "member", "readOnly"];

  test.each([
    ["view", "yyyy"],
    ["testChannel", "yyyy"],
    ["editChecks", "yyy-"],
    ["editChannels", "yyy-"],
    ["editPolicies", "yy--"],
    ["silence", "yyy-"],
    ["startFireDrill", "yyy-"],
    ["sendFireDrill", "yy--"],
    ["editStatusPages", "yyy-"],
    ["acknowledge", "yyy-"],
    ["renameProject", "yyy-"],
    ["manageKeys", "yyy-"],
    ["manageMembers", "yy--"],
    ["transferProject", "y---"],
    ["removeProject", "y---"],
    ["leaveProject", "-yyy"],
  ] as [Action, string][])("%s: owner, manager, member, read-only = %s", (action, expected) => {
    expect(ROLES.map((role) => (mayDo(role, action) ? "y" : "-")).join("")).toBe(expected);
  });

  test("the table above names every action", () => {
    expect(Object.keys(ACTION_ROLES)).toHaveLength(16);
  });

  test("owners and managers remove members, but neither the owner nor themselves", () => {
    const member = { role: "member", isRemover: false } as const;
    expect(ROLES.map((role) => mayRemoveMember(role, member))).toEqual([true, true, false, false]);
    expect(mayRemoveMember("manager", { role: "owner", isRemover: false })).toBe(false);
    expect(mayRemoveMember("manager", { role: "manager", isRemover: true })).toBe(false);
    expect(mayRemoveMember("manager", { role: "manager", isRemover: false })).toBe(true);
  });
});

describe("callers of the Overdue API", () => {
  const rule = (change: Partial<ApiRule>): ApiRule => ({
    access: "view",
    keys: null,
    isRead: true,
    needsReauth: false,
    ...change,
  });
  const READ = rule({});
  const WRITE = rule({ access: "editChecks", isRead: false });
  const REAUTH = rule({ access: "removeProject", isRead: false, needsReauth: true });
  const REAUTH_READ = rule({ access: "account", needsReauth: true });
  const ADMIN = rule({ access: "admin" });
  const ANYONE = rule({ access: "anyone" });
  const token = (scope: (typeof TOKEN_SCOPES)[number], isAdmin = false): ApiCaller => ({
    kind: "token",
    scope,
    isAdmin,
  });
  const scopeNeeded = (scope: string) =>
    refused("forbidden", `A token with the scope "${scope}" is required.`);

  test.each([
    ["read", READ, "yes"],
    ["read", WRITE, "write"],
    ["read", REAUTH, "admin"],
    ["read", REAUTH_READ, "admin"],
    ["write", READ, "yes"],
    ["write", WRITE, "yes"],
    ["write", REAUTH, "admin"],
    ["write", REAUTH_READ, "admin"],
    ["admin", READ, "yes"],
    ["admin", WRITE, "yes"],
    ["admin", REAUTH, "yes"],
    ["admin", REAUTH_READ, "yes"],
  ] as const)("a token with the scope %s", (scope, to, wanted) => {
    const decided = decideApiCaller(to, token(scope));
    expect(decided).toEqual(wanted === "yes" ? { allowed: true } : scopeNeeded(wanted));
  });

  test("admin routes need the scope admin and an admin, and do not exist for other accounts", () => {
    expect(decideApiCaller(ADMIN, token("admin", true))).toEqual({ allowed: true });
    expect(decideApiCaller(ADMIN, token("write", true))).toEqual(scopeNeeded("admin"));
    for (const scope of TOKEN_SCOPES) {
      expect(decideApiCaller(ADMIN, token(scope))).toEqual(refused("not_found", "Not found."));
    }
  });

  test("a token is not asked to re-authenticate, a session is", () => {
    expect(decideApiRole(REAUTH, token("admin"), "owner")).toEqual({ allowed: true });
    expect(decideApiRole(REAUTH, token("admin"), "manager").allowed).toBe(false);
    const session = { kind: "session", isAdmin: false, isReauthenticated: false } as const;
    expect(decideApiRole(REAUTH, session, "owner")).toMatchObject({ allowed: false, reauth: true });
  });

  test("open routes take anyone, all others refuse callers without valid credentials", () => {
    for (const why of ["missing", "malformed", "unknown", "twice"] as const) {
      expect(decideApiCaller(ANYONE, { kind: "none", why })).toEqual({ allowed: true });
      expect(decideApiCaller(READ, { kind: "none", why })).toMatchObject({ code: "unauthenticated" });
    }
  });

  test.each([
    [undefined, "missing"],
    ["", "missing"],
    ["Basic dXNlcjpwYXNzd29yZA==", "missing"],
    ["Bearerovd_", "missing"],
    [`Bearer ovd_${"x".repeat(43)} x`, "missing"],
    ["Bearer eyJhbGciOiJIUzI1NiJ9.e30.x", "foreign"],
    ["Bearer ovd_", "malformed"],
    [`Bearer ovd_${"x".repeat(42)}`, "malformed"],
    [`Bearer ovd_${"x".repeat(44)}`, "malformed"],
    [`Bearer ovd_${"x".repeat(42)}+`, "malformed"],
    [`Bearer ovd_${"x".repeat(43)}`, { token: `ovd_${"x".repeat(43)}` }],
    [`bearer  ovd_${"-_0".repeat(14)}A `, { token: `ovd_${"-_0".repeat(14)}A` }],
  ])("the header %j", (header, wanted) => {
    expect(presentedToken(header)).toEqual(wanted);
  });

  test("a token is valid until it expires", () => {
    expect(isAccessTokenValid({ expiresAt: 10 }, 9)).toBe(true);
    expect(isAccessTokenValid({ expiresAt: 10 }, 10)).toBe(false);
  });
});
