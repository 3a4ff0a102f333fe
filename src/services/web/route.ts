// The types of dashboard routes: the context they share, requests, answers, and route builders.
import type { ServerResponse } from "node:http";
import type { Reach } from "../../channels/registry.ts";
import type { PublicUrls } from "../../contract/urls.ts";
import type { Schema, ValueOf } from "../../contract/api/validate.ts";
import type { Action, Role } from "../../core/access.ts";
import type { ServiceState } from "../../core/database-identity.ts";
import type { Visibility } from "../../core/deadline.ts";
import type { Signing } from "../../core/email.ts";
import { AppError, ERROR_TEXT, type ErrorCode } from "../../core/errors.ts";
import type { Instant } from "../../core/instant.ts";
import type { Log } from "../../lib/log.ts";
import type { ObjectStore } from "../../lib/object-store.ts";
import type { FoundSession } from "../../operations/sessions.ts";
import type { CheckWithState } from "../../store/checks.ts";
import type { Database } from "../../store/db.ts";
import type { Project } from "../../store/projects.ts";
import type { Person } from "../../store/sessions.ts";
import type { Assets } from "./assets.ts";
import type { OidcClient } from "./oidc.ts";

export type SignInContext = {
  /** Whether registration is open. */
  registrationOpen: boolean;
  /** Whether mail is sent at all. */
  mail: boolean;
  /** The header in which a proxy says who is there, in lower case; every other way in is off then. */
  proxyHeader: string | null;
  oidc: OidcClient | null;
};

/** The session of a signed-in user. */
export type Session = FoundSession;

/** The parts of a request that identify the user. */
export type RequestSource = {
  cookies: Readonly<Record<string, string>>;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The other end of the connection. */
  peer: string | undefined;
  /** Where the request comes from, as far as proxies are believed. */
  remoteAddr: string | null;
  /** What rate limits go by: a client cannot choose it. */
  network: string;
  ua: string;
  now: Instant;
};

export type WebContext = {
  database: Database;
  urls: PublicUrls;
  site: { name: string; url: string };
  /** What stands behind the at sign of a check's mail address; null: signals by mail are not received. */
  mailDomain: string | null;
  version: string;
  /** Whether addresses of mail channels are asked before they are written to. */
  mailVerification: boolean;
  /** Which destinations are reachable, to warn about URLs in channel forms that are not. */
  destinations: Reach;
  /** The limit of an account that has none of its own; null means without limit. */
  checkLimitDefault: number | null;
  /** How many pings of a check are kept and listed, unless its account has a limit of its own. */
  pingLogLimit: number;
  /** How many signals of a check are logged in a minute. */
  signalsPerMinute: number;
  /** How far we have seen, as of a moment ago. */
  visibility: () => Visibility;
  /** What badge addresses are signed with. */
  secretKey: string;
  /** What links in mails are signed with. */
  signing: Signing;
  /** Where large bodies lie; null: all are in the database. */
  objects: Pick<ObjectStore, "get"> | null;
  /** The session, if any, and the cookies to set. */
  resolveSession(of: RequestSource): Promise<{ session: Session | null; setCookies: readonly string[] }>;
  /** What signing in works with. */
  signIn: SignInContext;
  /** The database's clock, or close to it. */
  now: () => Instant;
  /** The files of the browser's part. */
  assets: Assets;
  /** Whether this database is in service, or a restored copy that sends nothing. */
  serviceState: () => ServiceState;
  /** Our own delay from a missed deadline to the delivered alert; null: there was none to measure. */
  alertDelayMs(now: Instant): Promise<number | null>;
  log: Log;
};

// A route is data. The server does everything that routes share (session, lookups, access, same origin, validation), and
// the permission matrix is generated from it.

/**
 * Who may call a route: anyone, whoever is signed in, whoever runs the installation, or a member of the project that
 * the path names (by `:project` or `:check`) who may do this in it.
 */
export type WebAccess = "anyone" | "account" | "operator" | Action;

export type WebMethod = "GET" | "POST" | "PATCH" | "PUT" | "DELETE";

export type WebRoute = {
  /** Unique, for logs and the matrix of rights. */
  name: string;
  method: WebMethod;
  /** In Fastify's words. `:project` and `:check` are UUIDs, and looked up before the route is called. */
  path: string;
  access: WebAccess;
  /** Requires a recent re-authentication. */
  reauth?: true;
  /** Called from elsewhere by purpose: no origin is asked for. Only for what changes nothing, or carries its own proof. */
  fromAnywhere?: true;
  body?: Schema;
  query?: Schema;
  answer(request: WebRequest): Promise<WebAnswer>;
};

/** A check with the UUIDs of its channels. */
export type CheckRecord = CheckWithState & { channelUuids: readonly string[] };

/** A request that may be made. What its route does not name is null. */
export type WebRequest = {
  context: WebContext;
  session: Session | null;
  account: Person | null;
  project: Project | null;
  role: Role | null;
  check: CheckRecord | null;
  params: Readonly<Record<string, string>>;
  /** As the route's schema has it; without a schema an empty object. */
  query: unknown;
  /** As the route's schema has it; without a schema null. */
  body: unknown;
  /** The path with its query, below the site. */
  url: string;
  /** The database's clock, or close to it. */
  now: Instant;
  /** The other end of the connection; a proxy's where there is one. */
  peer: string | undefined;
  remoteAddr: string;
  /** What rate limits go by: an address or a network that a client cannot choose. */
  network: string;
  ua: string;
  cookies: Readonly<Record<string, string>>;
  headers: Readonly<Record<string, string | string[] | undefined>>;
};

export type WebAnswer = {
  status?: number;
  headers?: Readonly<Record<string, string>>;
  /** Values of Set-Cookie. */
  cookies?: readonly string[];
} & (
  | { json: unknown }
  | { html: string }
  /** Anything else, sent as it is. */
  | { content: string | Uint8Array; type: string }
  /** The same, in the encoding in which it is to be sent. */
  | { packed: Uint8Array; encoding: string | null; type: string }
  /** A path below the site, or a whole address. */
  | { redirect: string }
  /** The route writes the answer itself, and ends it. */
  | { stream: (response: ServerResponse) => void }
);

/** A refusal as a sentence for the user. Operations throw AppError, which is shown as well. */
export class WebRefusal extends Error {
  override readonly name = "WebRefusal";
  readonly code: ErrorCode;
  readonly field: string | null;

  constructor(code: ErrorCode, sentence: string, field: string | null = null) {
    super(sentence);
    this.code = code;
    this.field = field;
  }
}

type Typed<R, Body extends Schema, Query extends Schema> = Omit<WebRoute, "answer" | "body" | "query"> & {
  body?: Body;
  query?: Query;
  answer: (request: R & { body: ValueOf<Body>; query: ValueOf<Query> }) => Promise<WebAnswer>;
};

type Given<Name extends keyof WebRequest> = Omit<WebRequest, Name> & {
  [Key in Name]: NonNullable<WebRequest[Key]>;
};

export type AccountRequest = Given<"session" | "account">;
export type ProjectRequest = Given<"session" | "account" | "project" | "role">;
export type CheckRequest = Given<"session" | "account" | "project" | "role" | "check">;

/** Makes a route whose answer is handed a typed body and query, and who is needed to be there. */
function builder<R>(needed: readonly (keyof WebRequest)[]) {
  return <Body extends Schema, Query extends Schema>({
    answer,
    ...route
  }: Typed<R, Body, Query>): WebRoute => ({
    ...route,
    answer: (request) => {
      const missing = needed.find((name) => request[name] === null);
      if (missing !== undefined) throw new Error(`${route.name} is called without ${missing}`);
      // The server has judged both by the schemas of the route, and the names above are there.
      return answer(request as unknown as R & { body: ValueOf<Body>; query: ValueOf<Query> });
    },
  });
}

/** A route for anyone; the session may be there. */
export const openRoute = builder<WebRequest>([]);
/** A route for signed-in users, or for admins. */
export const accountRoute = builder<AccountRequest>(["session", "account"]);
/** A route about a project: its path has `:project`. */
export const projectRoute = builder<ProjectRequest>(["session", "account", "project", "role"]);
/** A route about a check: its path has `:check`. */
export const checkRoute = builder<CheckRequest>(["session", "account", "project", "role", "check"]);

/** The number; throws "not found" for anything else. */
export function pathNumber(text: string | undefined): number {
  if (!/^[1-9]\d{0,14}$/.test(text ?? "")) throw new AppError("not_found", ERROR_TEXT.notFound);
  return Number(text);
}

/** "not paused" as "Not paused.", and a sentence as it is. */
export function sentenceOf(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;
}
