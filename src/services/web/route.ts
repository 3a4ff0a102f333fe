// A route of the dashboard as data: who may call it, what it takes, what it answers. Everything that routes share
// (session, lookups, access, same origin, judging) is done by the server from this, and the matrix of rights walks it.
import type { Said, Schema } from "../../contract/web/requests/judge.ts";
import type { Action, Role } from "../../core/access.ts";
import type { EditConflict } from "../../contract/web/boot.ts";
import type { ErrorCode } from "../../core/errors.ts";
import type { Instant } from "../../core/instant.ts";
import type { Channel } from "../../store/alerts/channels.ts";
import type { CheckWithState } from "../../store/checks/checks.ts";
import type { Project } from "../../store/accounts/projects.ts";
import type { Person } from "../../store/accounts/sessions.ts";
import type { WebHouse, Session } from "./house.ts";
import type { ServerResponse } from "node:http";

/**
 * Who may call a route: anyone, whoever is signed in, whoever runs the installation, or a member of the project that
 * the path names (by `:project`, `:check` or `:channel`) who may do this in it.
 */
export type WebAccess = "anyone" | "account" | "operator" | Action;

export type WebMethod = "GET" | "POST" | "PATCH" | "PUT" | "DELETE";

export type WebRoute = {
  /** Unique, for logs and the matrix of rights. */
  name: string;
  method: WebMethod;
  /** In Fastify's words. `:project`, `:check` and `:channel` are UUIDs, and looked up before the route is called. */
  path: string;
  access: WebAccess;
  /** Dangerous: whoever is signed in has to have proved it a short time ago. */
  reauth?: true;
  /** The check that the path names is one that was deleted and can be taken back. */
  deleted?: true;
  /** Called from elsewhere by purpose: no origin is asked for. Only for what changes nothing, or carries its own proof. */
  fromAnywhere?: true;
  body?: Schema;
  query?: Schema;
  answer(ask: Asking): Promise<WebAnswer>;
};

/** A check with the UUIDs of its channels. */
export type CheckRecord = CheckWithState & { channelUuids: readonly string[] };

/** A request that may be made. What its route does not name is null. */
export type Asking = {
  house: WebHouse;
  session: Session | null;
  account: Person | null;
  project: Project | null;
  role: Role | null;
  check: CheckRecord | null;
  channel: Channel | null;
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
  /** What tries are counted by: an address or a network that nobody can choose. */
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

/** A refusal as a sentence for the person who asked. Operations throw AppError, which is told as well. */
export class WebRefusal extends Error {
  override readonly name = "WebRefusal";
  readonly code: ErrorCode;
  readonly field: string | null;
  readonly conflict: EditConflict | null;

  constructor(
    code: ErrorCode,
    sentence: string,
    field: string | null = null,
    conflict: EditConflict | null = null,
  ) {
    super(sentence);
    this.code = code;
    this.field = field;
    this.conflict = conflict;
  }
}

type Typed<Ask, Body extends Schema, Query extends Schema> = Omit<WebRoute, "answer" | "body" | "query"> & {
  body?: Body;
  query?: Query;
  answer: (ask: Ask & { body: Said<Body>; query: Said<Query> }) => Promise<WebAnswer>;
};

type Given<Name extends keyof Asking> = Omit<Asking, Name> & {
  [Key in Name]: NonNullable<Asking[Key]>;
};

export type AccountAsk = Given<"session" | "account">;
export type ProjectAsk = Given<"session" | "account" | "project" | "role">;
export type CheckAsk = Given<"session" | "account" | "project" | "role" | "check">;
export type ChannelAsk = Given<"session" | "account" | "project" | "role" | "channel">;

/** Makes a route whose answer is handed a typed body and query, and who is needed to be there. */
function builder<Ask>(needed: readonly (keyof Asking)[]) {
  return <Body extends Schema, Query extends Schema>({
    answer,
    ...route
  }: Typed<Ask, Body, Query>): WebRoute => ({
    ...route,
    answer: (ask) => {
      const missing = needed.find((name) => ask[name] === null);
      if (missing !== undefined) throw new Error(`${route.name} is called without ${missing}`);
      // The server has judged both by the schemas of the route, and the names above are there.
      return answer(ask as unknown as Ask & { body: Said<Body>; query: Said<Query> });
    },
  });
}

/** A route for anyone; the session may be there. */
export const openRoute = builder<Asking>([]);
/** A route for whoever is signed in, or runs the installation. */
export const accountRoute = builder<AccountAsk>(["session", "account"]);
/** A route about a project: its path has `:project`. */
export const projectRoute = builder<ProjectAsk>(["session", "account", "project", "role"]);
/** A route about a check: its path has `:check`. */
export const checkRoute = builder<CheckAsk>(["session", "account", "project", "role", "check"]);
/** A route about a channel: its path has `:channel`. */
export const channelRoute = builder<ChannelAsk>(["session", "account", "project", "role", "channel"]);
