// Authorization: API keys on endpoints of the Management API, and roles of members in the dashboard.
import { ERROR_TEXT, type ErrorCode } from "./errors.ts";
import { ACCESS_TOKEN_PREFIX, isAccessTokenShaped, isKeyShaped, type KeyKind } from "./identity.ts";
import type { Instant } from "./instant.ts";

type Rights = Readonly<Record<KeyKind, boolean>>;

const BOTH: Rights = { readWrite: true, readOnly: true };
const WRITE: Rights = { readWrite: true, readOnly: false };
const READ_ONLY: Rights = { readWrite: false, readOnly: true };

/** The kinds of key that each endpoint accepts; "open" needs none. */
export const ENDPOINT_RIGHTS = {
  listChecks: BOTH,
  getCheck: BOTH,
  createCheck: WRITE,
  updateCheck: WRITE,
  pauseCheck: WRITE,
  resumeCheck: WRITE,
  deleteCheck: WRITE,
  listPings: WRITE,
  getPingBody: WRITE,
  listFlips: BOTH,
  listChannels: WRITE,
  listBadges: BOTH,
  getStatus: "open",
  getBadge: "open",
  /** A scrape URL is stored in configuration files, so only the key with the fewest rights works. */
  scrapeMetrics: READ_ONLY,
} as const satisfies Record<string, Rights | "open">;

export type Endpoint = keyof typeof ENDPOINT_RIGHTS;

/** The key of a request. */
export type Credential = "missing" | "malformed" | "unknown" | KeyKind;

/**
 * The check of a request: "none" if it is about no single one. A check of another project named by its unique
 * key is "absent".
 */
export type Target = "none" | "own" | "foreign" | "absent";

type Reason = "missing" | "malformed" | "unknown" | "notAllowed" | "absent" | "foreign";
type Refusal = { code: ErrorCode; text: string };

/** Whether to follow the reference server where it differs. */
export type Dialect = "standard" | "healthchecks";

const STANDARD: Readonly<Record<Reason, Refusal>> = {
  missing: { code: "unauthenticated", text: ERROR_TEXT.missingKey },
  malformed: { code: "unauthenticated", text: ERROR_TEXT.missingKey },
  unknown: { code: "unauthenticated", text: ERROR_TEXT.wrongKey },
  notAllowed: { code: "forbidden", text: ERROR_TEXT.wrongKey },
  absent: { code: "not_found", text: ERROR_TEXT.notFound },
  foreign: { code: "forbidden", text: ERROR_TEXT.wrongKey },
};

/** The answer for each reason. An empty text means an empty body. */
export const REFUSALS: Readonly<Record<Dialect, Readonly<Record<Reason, Refusal>>>> = {
  standard: STANDARD,
  healthchecks: {
    ...STANDARD,
    notAllowed: { code: "unauthenticated", text: ERROR_TEXT.wrongKey },
    foreign: { code: "forbidden", text: "" },
  },
};

/** Scrapers know these answers from the reference server, in either dialect. */
const METRICS_REFUSALS: Readonly<Record<Reason, Refusal>> = {
  ...STANDARD,
  malformed: { code: "invalid", text: ERROR_TEXT.wrongKey },
  unknown: { code: "forbidden", text: ERROR_TEXT.wrongKey },
};

export type Access = { allowed: true } | ({ allowed: false } & Refusal);

/**
 * Whether a request is allowed, or how it is rejected. The key is checked before the check, so that existing
 * checks are not revealed without a key; an unknown check is reported before a foreign one.
 */
export function decideAccess(request: {
  endpoint: Endpoint;
  credential: Credential;
  target: Target;
  dialect: Dialect;
}): Access {
  const reason = refusalReason(request);
  if (reason === null) return { allowed: true };
  const table = request.endpoint === "scrapeMetrics" ? METRICS_REFUSALS : REFUSALS[request.dialect];
  return { allowed: false, ...table[reason] };
}

function refusalReason(request: {
  endpoint: Endpoint;
  credential: Credential;
  target: Target;
}): Reason | null {
  const rights: Rights | "open" = ENDPOINT_RIGHTS[request.endpoint];
  if (rights === "open") return null;
  const { credential, target } = request;
  if (credential === "missing" || credential === "malformed" || credential === "unknown") return credential;
  if (!rights[credential]) return "notAllowed";
  return target === "absent" || target === "foreign" ? target : null;
}

/** What a personal access token may do: read, change, or also what needs a re-authentication or a server admin. */
export const TOKEN_SCOPES = ["read", "write", "admin"] as const;
export type TokenScope = (typeof TOKEN_SCOPES)[number];

/** Who sends a request to the Overdue API. */
export type ApiCaller =
  | { kind: "none"; why: "missing" | "malformed" | "unknown" | "twice" }
  | { kind: "session"; isAdmin: boolean; isReauthenticated: boolean }
  | { kind: "token"; scope: TokenScope; isAdmin: boolean }
  | { kind: "key"; key: KeyKind };

/** What a route of the Overdue API requires. */
export type ApiRule = {
  access: "anyone" | "account" | "admin" | Action;
  /** The least privileged kind of API key that may call it; null: none may. */
  keys: KeyKind | null;
  /** It changes nothing. */
  isRead: boolean;
  /** It needs a recent re-authentication, or a token with the scope `admin`. */
  needsReauth: boolean;
};

/** The role that an API key has in its project. */
export const KEY_ROLES: Readonly<Record<KeyKind, Role>> = { readWrite: "member", readOnly: "readOnly" };

export type ApiAccess = { allowed: true } | { allowed: false; code: ErrorCode; text: string; reauth?: true };

/**
 * Whether a caller may send this request at all, before anything is looked up. Admin routes do not exist for
 * other accounts.
 */
export function decideApiCaller(rule: ApiRule, caller: ApiCaller): ApiAccess {
  if (rule.access === "anyone") return { allowed: true };
  if (caller.kind === "none") return refused("unauthenticated", CREDENTIAL_TEXT[caller.why]);
  if (caller.kind === "key") return decideKey(rule, caller.key);
  if (rule.access === "admin" && !caller.isAdmin) return refused("not_found", "Not found.");
  return caller.kind === "token" ? decideScope(rule, caller.scope) : { allowed: true };
}

/** Whether the caller may do it in the project, given the role there. */
export function decideApiRole(rule: ApiRule, caller: ApiCaller, role: Role | null): ApiAccess {
  const { access } = rule;
  if (access !== "anyone" && access !== "account" && access !== "admin") {
    if (role === null || !mayDo(role, access)) {
      return refused("forbidden", "Your role in this project doesn't allow this.");
    }
  }
  if (rule.needsReauth && caller.kind === "session" && !caller.isReauthenticated) {
    return { ...refused("forbidden", "Re-authenticate to continue."), reauth: true };
  }
  return { allowed: true };
}

const CREDENTIAL_TEXT = {
  missing: "Sign in, or send an API key or a personal access token.",
  malformed: "The API key or token is malformed.",
  unknown: "The API key or token is invalid, expired, or revoked.",
  twice: "Send either an API key or a personal access token, not both.",
} as const;

function decideKey({ keys }: ApiRule, key: KeyKind): ApiAccess {
  if (keys === null) {
    return refused("forbidden", "API keys can't be used for this. Use a personal access token.");
  }
  return keys === "readOnly" || key === "readWrite"
    ? { allowed: true }
    : refused("forbidden", "A read-write API key is required.");
}

/** The least scope of a personal access token that may call a route. */
export function neededScope({ access, isRead, needsReauth }: ApiRule): TokenScope {
  if (access === "admin" || needsReauth) return "admin";
  return isRead ? "read" : "write";
}

function decideScope(rule: ApiRule, scope: TokenScope): ApiAccess {
  const needed = neededScope(rule);
  return TOKEN_SCOPES.indexOf(scope) >= TOKEN_SCOPES.indexOf(needed)
    ? { allowed: true }
    : refused("forbidden", `A token with the scope "${needed}" is required.`);
}

function refused(code: ErrorCode, text: string): { allowed: false; code: ErrorCode; text: string } {
  return { allowed: false, code, text };
}

/**
 * The API key of a request, if well-formed: from the header if present, even empty; a POST may have it in the
 * JSON body instead (`body` is the `api_key` field).
 */
export function presentedKey(request: {
  header: string | undefined;
  body: unknown;
}): { key: string } | "missing" | "malformed" {
  const key = request.header ?? request.body;
  if (typeof key !== "string" || key === "") return "missing";
  return isKeyShaped(key) ? { key } : "malformed";
}

/**
 * The personal access token in an Authorization header. "missing": the header has another scheme. "foreign": a
 * bearer token of another program; authenticating proxies add one.
 */
export function presentedToken(
  header: string | undefined,
): { token: string } | "missing" | "malformed" | "foreign" {
  if (header === undefined || !/^bearer /i.test(header)) return "missing";
  const token = header.slice("bearer ".length).trim();
  if (/\s/.test(token)) return "missing";
  if (!token.startsWith(ACCESS_TOKEN_PREFIX)) return "foreign";
  return isAccessTokenShaped(token) ? { token } : "malformed";
}

/** Whether a token may be used at an instant. */
export function isAccessTokenValid({ expiresAt }: { expiresAt: Instant }, now: Instant): boolean {
  return now < expiresAt;
}

/** Roles in a project. */
export type Role = "owner" | "manager" | "member" | "readOnly";

const EVERYONE: readonly Role[] = ["owner", "manager", "member", "readOnly"];
const EDITORS: readonly Role[] = ["owner", "manager", "member"];

/** Which roles may do what in the dashboard. */
export const ACTION_ROLES = {
  view: EVERYONE,
  testChannel: EVERYONE,
  editChecks: EDITORS,
  editChannels: EDITORS,
  /** Of a project and its tags; those of a check belong to its settings. */
  editPolicies: ["owner", "manager"],
  silence: EDITORS,
  startFireDrill: EDITORS,
  /** With messages; also weekly. */
  sendFireDrill: ["owner", "manager"],
  /** Also notes, and resolving. */
  acknowledge: EDITORS,
  /** Also what is published on them, and their subscribers. */
  editStatusPages: EDITORS,
  renameProject: EDITORS,
  manageKeys: EDITORS,
  manageMembers: ["owner", "manager"],
  transferProject: ["owner"],
  removeProject: ["owner"],
  /** An owner has to transfer the project instead. */
  leaveProject: ["manager", "member", "readOnly"],
} as const satisfies Record<string, readonly Role[]>;

export type Action = keyof typeof ACTION_ROLES;

/** Whether a member of a project may do something in it. */
export function mayDo(role: Role, action: Action): boolean {
  const roles: readonly Role[] = ACTION_ROLES[action];
  return roles.includes(role);
}

/** Whether one member may remove another. The owner cannot be removed, and leaving is a separate action. */
export function mayRemoveMember(remover: Role, member: { role: Role; isRemover: boolean }): boolean {
  return mayDo(remover, "manageMembers") && member.role !== "owner" && !member.isRemover;
}

/** Roles that can be assigned. There is one owner, changed only by a transfer. */
export type GivenRole = Exclude<Role, "owner">;

/** Whether a role may assign another role. The owner role cannot be assigned. */
export function mayGiveRole(giver: Role, role: Role): boolean {
  return mayDo(giver, "manageMembers") && role !== "owner";
}

/** The inviter's current role in the project, and whether they are an admin. */
export type Inviter = { role: Role | null; isAdmin: boolean };

/**
 * Whether an invitation is still valid: the inviter must still be allowed to send it. Null: sent by the
 * command line. `role` null: an invitation to the server.
 */
export function isInvitationValid(inviter: Inviter | null, { role }: { role: GivenRole | null }): boolean {
  if (inviter === null) return true;
  if (role === null) return inviter.isAdmin;
  return inviter.role !== null && mayGiveRole(inviter.role, role);
}

/** How an invitation is delivered: by email, or by a link that the inviter passes on. */
export type InvitationMethod = "mail" | "link";

/**
 * How an inviter may invite; null: not at all. A link passed on by the inviter creates accounts with
 * unverified addresses, so that without email only admins get one.
 */
export function invitationMethod({
  sendsMail,
  isAdmin,
}: {
  sendsMail: boolean;
  isAdmin: boolean;
}): InvitationMethod | null {
  if (sendsMail) return "mail";
  return isAdmin ? "link" : null;
}

/** Whether one member may change the role of another. */
export function mayChangeRole(changer: Role, member: { role: Role; isChanger: boolean }): boolean {
  return mayRemoveMember(changer, { role: member.role, isRemover: member.isChanger });
}

/** Whether a member may be asked to take over a project: not its owner. */
export function mayReceiveProject(member: { role: Role } | null): boolean {
  return member !== null && member.role !== "owner";
}

export type ClosingAccount = {
  isAdmin: boolean;
  adminCount: number;
  /** Names of owned projects with other members. */
  sharedProjects: readonly string[];
};

/** Why an account cannot be closed, as a sentence; null if it can. */
export function closingProblem({ isAdmin, adminCount, sharedProjects }: ClosingAccount): string | null {
  if (isAdmin && adminCount <= 1) {
    return "This is the only admin account. Make another account an admin first.";
  }
  if (sharedProjects.length === 0) return null;
  const names = sharedProjects.map((name) => `“${name}”`).join(", ");
  return `You own projects with other members: ${names}. Transfer or delete them first.`;
}
