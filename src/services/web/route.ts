// The types of dashboard routes: the context they share, requests, responses, and route builders.
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
import type { Secrets } from "../../core/secrets.ts";
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
  /** Whether the server sends email. */
  mail: boolean;
  /** The header in which a proxy names the user, in lower case; all other sign-in methods are off then. */
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
  /** The client address, as far as proxies are trusted. */
  remoteAddr: string | null;
  /** The key of rate limits: a client cannot choose it. */
  network: string;
  ua: string;
  now: Instant;
};

export type WebContext = {
  database: Database;
  urls: PublicUrls;
  site: { name: string; url: string };
  /** The domain of a check's email address; null: pings by email are not received. */
  mailDomain: string | null;
  version: string;
  /** Whether the recipients of email channels have to confirm their address. */
  mailVerification: boolean;
  /** Which destinations are reachable, to warn about URLs in channel forms that are not. */
  destinations: Reach;
  /** The limit of accounts without their own; null means no limit. */
  checkLimitDefault: number | null;
  /** How many pings of a check are kept and listed, unless its account has a limit of its own. */
  pingLogLimit: number;
  /** How many signals of a check are logged per minute. */
  signalsPerMinute: number;
  /** The watermark as of a moment ago. */
  visibility: () => Visibility;
  /** The secret that signs badge URLs. */
  secrets: Secrets;
  /** The secret that signs links in emails. */
  signing: Signing;
  /** The public key with which browsers subscribe to push messages. */
  pushKey: string;
  /** Stores large bodies; null: all are in the database. */
  objects: Pick<ObjectStore, "get"> | null;
  /** The session, if any, and the cookies to set. */
  resolveSession(of: RequestSource): Promise<{ session: Session | null; setCookies: readonly string[] }>;
  /** The dependencies of signing in. */
  signIn: SignInContext;
  /** The database's clock, or close to it. */
  now: () => Instant;
  /** The built browser files. */
  assets: Assets;
  /** Whether this database is in service, or a restored copy that sends nothing. */
  serviceState: () => ServiceState;
  /** Our own delay from a missed deadline to the delivered alert; null: there was no alert to measure. */
  alertDelayMs(now: Instant): Promise<number | null>;
  log: Log;
};

// A route is data. The server handles everything that routes share (session, lookups, access, same origin, validation),
// and
// the permission matrix is generated from it.

/**
 * Who may call a route: anyone, any signed-in user, an admin, or a member of the project in the path (`:project` or
 * `:check`) whose role allows the action.
 */
export type WebAccess = "anyone" | "account" | "operator" | Action;

export type WebMethod = "GET" | "POST" | "PATCH" | "PUT" | "DELETE";

export type WebRoute = {
  /** Unique, for logs and the permission matrix. */
  name: string;
  method: WebMethod;
  /** In Fastify's syntax. `:project` and `:check` are UUIDs, and looked up before the route is called. */
  path: string;
  access: WebAccess;
  /** Requires a recent re-authentication. */
  reauth?: true;
  /**
   * Called from other sites on purpose: the origin is not checked. Only for routes that change nothing, or carry their
   * own proof.
   */
  fromAnywhere?: true;
  body?: Schema;
  query?: Schema;
  answer(request: WebRequest): Promise<WebAnswer>;
};

/** A check with the UUIDs of its channels. */
export type CheckRecord = CheckWithState & { channelUuids: readonly string[] };

/** An authorized request. Resources that are not in the path are null. */
export type WebRequest = {
  context: WebContext;
  session: Session | null;
  account: Person | null;
  project: Project | null;
  role: Role | null;
  check: CheckRecord | null;
  params: Readonly<Record<string, string>>;
  /** Validated by the route's schema; without a schema an empty object. */
  query: unknown;
  /** Validated by the route's schema; without a schema null. */
  body: unknown;
  /** The path with its query, below the site. */
  url: string;
  /** The database's clock, or close to it. */
  now: Instant;
  /** The other end of the connection; the proxy's address if there is one. */
  peer: string | undefined;
  remoteAddr: string;
  /** The key of rate limits: an address or a network that a client cannot choose. */
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
  /** Anything else, sent unchanged. */
  | { content: string | Uint8Array; type: string }
  /** The same, in the encoding in which it is sent. */
  | { packed: Uint8Array; encoding: string | null; type: string }
  /** A path below the site, or a full URL. */
  | { redirect: string }
  /** The route writes and ends the response itself. */
  | { stream: (response: ServerResponse) => void }
);

/** An error as a sentence for the user. Operations throw AppError, which is shown as well. */
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

/** Makes a route whose handler receives a typed body and query, and the required session or resources. */
function builder<R>(needed: readonly (keyof WebRequest)[]) {
  return <Body extends Schema, Query extends Schema>({
    answer,
    ...route
  }: Typed<R, Body, Query>): WebRoute => ({
    ...route,
    answer: (request) => {
      const missing = needed.find((name) => request[name] === null);
      if (missing !== undefined) throw new Error(`${route.name} is called without ${missing}`);
      // The server has validated both by the schemas of the route, and the fields above are present.
      return answer(request as unknown as R & { body: ValueOf<Body>; query: ValueOf<Query> });
    },
  });
}

/** A route for anyone; there may be a session. */
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

/** "not paused" as "Not paused."; a sentence is unchanged. */
export function sentenceOf(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;
}
