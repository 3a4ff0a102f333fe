// Who may do what: API keys on the endpoints of the Management API, and members in the dashboard. Tables
// first; the functions only read them. Whether a key or a check exists is asked of the store before.
import { ERROR_TEXT, type ErrorCode } from "./errors.ts";
import { isKeyShaped, type KeyKind } from "./identity.ts";

type Rights = Readonly<Record<KeyKind, boolean>>;

const BOTH: Rights = { readWrite: true, readOnly: true };
const WRITE: Rights = { readWrite: true, readOnly: false };
const READ_ONLY: Rights = { readWrite: false, readOnly: true };

/** Which kinds of key each endpoint takes; "open" ones look at no key. */
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
  /** A scrape address ends up in configuration files, so only the key that can do no harm opens it. */
  scrapeMetrics: READ_ONLY,
} as const satisfies Record<string, Rights | "open">;

export type Endpoint = keyof typeof ENDPOINT_RIGHTS;

/**
 * The same for our own API. A read-only key sees the id, kind and name of channels. What leads from a check to its
 * channels, and deliveries, which name addresses, are for read-write keys.
 */
export const OWN_ENDPOINT_RIGHTS = {
  listKinds: BOTH,
  listChannels: BOTH,
  createChannel: WRITE,
  getChannel: BOTH,
  updateChannel: WRITE,
  deleteChannel: WRITE,
  listChecksOfChannel: WRITE,
  testChannel: WRITE,
  listDeliveries: WRITE,
  getDelivery: WRITE,
  retryDelivery: WRITE,
} as const satisfies Record<string, Rights>;

export type OwnEndpoint = keyof typeof OWN_ENDPOINT_RIGHTS;

/** What is known of the key that came with a request. */
export type Credential = "missing" | "malformed" | "unknown" | KeyKind;

/**
 * The check that a request is about: "none" where it is about no single one. One of another project that
 * was named by its unique key is "absent": such a key says nothing outside its project.
 */
export type Target = "none" | "own" | "foreign" | "absent";

type Reason = "missing" | "malformed" | "unknown" | "notAllowed" | "absent" | "foreign";
type Refusal = { code: ErrorCode; text: string };

/** Which side of the differences to the reference server an installation takes. */
export type Dialect = "standard" | "healthchecks";

const STANDARD: Readonly<Record<Reason, Refusal>> = {
  missing: { code: "unauthenticated", text: ERROR_TEXT.missingKey },
  malformed: { code: "unauthenticated", text: ERROR_TEXT.missingKey },
  unknown: { code: "unauthenticated", text: ERROR_TEXT.wrongKey },
  notAllowed: { code: "forbidden", text: ERROR_TEXT.wrongKey },
  absent: { code: "not_found", text: ERROR_TEXT.notFound },
  foreign: { code: "forbidden", text: ERROR_TEXT.wrongKey },
};

/** How each reason is answered. An empty text stands for an empty body. */
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
 * Whether a request may go on, or how it is refused. The key is judged before the check, so that nobody
 * without a key learns which checks exist; a check that does not exist is told before a foreign one.
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

/** Whether a key may call an endpoint of our own API. What it may not see there is not found. */
export function decideOwnAccess(request: { endpoint: OwnEndpoint; credential: Credential }): Access {
  const { endpoint, credential } = request;
  if (credential === "missing" || credential === "malformed" || credential === "unknown") {
    return { allowed: false, ...STANDARD[credential] };
  }
  return OWN_ENDPOINT_RIGHTS[endpoint][credential]
    ? { allowed: true }
    : { allowed: false, code: "forbidden", text: "A read-write API key is required." };
}

/**
 * The key that a request carries, if it is shaped like one: the header wins as soon as it is there, even
 * empty; a POST may carry it in the JSON body instead, of which `body` is the `api_key` field.
 */
export function presentedKey(request: {
  header: string | undefined;
  body: unknown;
}): { key: string } | "missing" | "malformed" {
  const key = request.header ?? request.body;
  if (typeof key !== "string" || key === "") return "missing";
  return isKeyShaped(key) ? { key } : "malformed";
}

/** What a person may be in a project. */
export type Role = "owner" | "manager" | "member" | "readOnly";

const EVERYONE: readonly Role[] = ["owner", "manager", "member", "readOnly"];
const EDITORS: readonly Role[] = ["owner", "manager", "member"];

/** Which roles may do what in the dashboard. */
export const ACTION_ROLES = {
  view: EVERYONE,
  testChannel: EVERYONE,
  editChecks: EDITORS,
  editChannels: EDITORS,
  renameProject: EDITORS,
  manageKeys: EDITORS,
  manageMembers: ["owner", "manager"],
  transferProject: ["owner"],
  removeProject: ["owner"],
  /** An owner hands the project over instead: none may be left without one. */
  leaveProject: ["manager", "member", "readOnly"],
} as const satisfies Record<string, readonly Role[]>;

export type Action = keyof typeof ACTION_ROLES;

/** Whether a member of a project may do something in it. */
export function mayDo(role: Role, action: Action): boolean {
  const roles: readonly Role[] = ACTION_ROLES[action];
  return roles.includes(role);
}

/** Whether one member may remove another. Nobody removes the owner, and leaving is an action of its own. */
export function mayRemoveMember(remover: Role, member: { role: Role; isRemover: boolean }): boolean {
  return mayDo(remover, "manageMembers") && member.role !== "owner" && !member.isRemover;
}

// Who may bring people into a project, and take them out: on top of what a role may do at all, which is access.ts.

/** What somebody can be invited as, or become. There is one owner, and only a transfer makes another. */
export type GivenRole = Exclude<Role, "owner">;

/** Whether somebody may give a role: managers make no managers' superiors, and nobody makes owners. */
export function mayGiveRole(giver: Role, role: Role): boolean {
  return mayDo(giver, "manageMembers") && role !== "owner";
}

/** Whoever has sent an invitation, as they are now: their role in its project, and whether they run the installation. */
export type Inviter = { role: Role | null; isOperator: boolean };

/**
 * Whether an invitation still stands: whoever has sent it would have to be able to send it now. Null: the command line
 * has. `role` null: it is into the installation and no project of it.
 */
export function isInvitationValid(inviter: Inviter | null, { role }: { role: GivenRole | null }): boolean {
  if (inviter === null) return true;
  if (role === null) return inviter.isOperator;
  return inviter.role !== null && mayGiveRole(inviter.role, role);
}

/** How an invitation gets to whom it is for: by mail, or by a link that whoever invites passes on. */
export type InvitationMethod = "mail" | "link";

/**
 * How somebody who may invite does it; null: not at all. A link that goes through the inviter's hands makes accounts
 * for addresses that nobody has proven, so that where no mail is sent only operators get one.
 */
export function invitationMethod({
  sendsMail,
  isOperator,
}: {
  sendsMail: boolean;
  isOperator: boolean;
}): InvitationMethod | null {
  if (sendsMail) return "mail";
  return isOperator ? "link" : null;
}

/** Whether one member may change what another is. */
export function mayChangeRole(changer: Role, member: { role: Role; isChanger: boolean }): boolean {
  return mayRemoveMember(changer, { role: member.role, isRemover: member.isChanger });
}

/** Whether somebody may be asked to take a project over: members only, and not its owner. */
export function mayReceiveProject(member: { role: Role } | null): boolean {
  return member !== null && member.role !== "owner";
}

export type ClosingAccount = {
  isOperator: boolean;
  operatorCount: number;
  /** Names of owned projects in which others are members, too. */
  sharedProjects: readonly string[];
};

/** What stands in the way of closing an account, as a sentence; null: nothing. */
export function closingProblem({ isOperator, operatorCount, sharedProjects }: ClosingAccount): string | null {
  if (isOperator && operatorCount <= 1) {
    return "This is the only admin account. Make another account an admin first.";
  }
  if (sharedProjects.length === 0) return null;
  const names = sharedProjects.map((name) => `“${name}”`).join(", ");
  return `You own projects with other members: ${names}. Transfer or delete them first.`;
}
