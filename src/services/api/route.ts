// What a handler of the Overdue API receives and returns. The server has checked credentials, path, role, query and body.
import type { ServerResponse } from "node:http";
import type { Outgoing } from "../../channels/channel-kind.ts";
import type { Reach } from "../../channels/registry.ts";
import type { ProblemExtras } from "../../contract/api/problem.ts";
import type { BodyOf, ParamsOf, QueryOf, ResponseOf, RouteDefinition } from "../../contract/api/route.ts";
import type { PublicUrls } from "../../contract/urls.ts";
import type { Role } from "../../core/access.ts";
import type { ServiceState } from "../../core/database-identity.ts";
import type { Visibility } from "../../core/deadline.ts";
import type { Signing } from "../../core/email.ts";
import { AppError, type ErrorCode } from "../../core/errors.ts";
import type { Instant } from "../../core/instant.ts";
import type { RetentionDays } from "../../core/retention.ts";
import type { Secrets } from "../../core/secrets.ts";
import type { UnmatchedRequest } from "../../lib/http/unmatched-requests.ts";
import type { Log } from "../../lib/log.ts";
import type { MailResult } from "../../lib/mail-sender.ts";
import type { ObjectStore } from "../../lib/object-store.ts";
import type { Channel } from "../../store/channels.ts";
import type { CheckWithState } from "../../store/checks.ts";
import type { Database } from "../../store/db.ts";
import type { Project } from "../../store/projects.ts";
import type { Person } from "../../store/sessions.ts";
import type { LiveHub } from "./live-hub.ts";

/** The context of handlers. */
export type ApiContext = {
  database: Database;
  urls: PublicUrls;
  site: { name: string; url: string };
  /** The domain of email addresses to ping; null: pings by email are not received. */
  mailDomain: string | null;
  version: string;
  /** Whether the recipients of email channels have to confirm their address. */
  mailVerification: boolean;
  /** Whether the server sends email. */
  sendsMail: boolean;
  /** The configured mail server; null: none. */
  mail: {
    host: string;
    from: string;
    /** Sends one email over a new connection. Never throws. */
    send(mail: { to: string; subject: string; text: string; html: string }): Promise<MailResult>;
  } | null;
  /** The port that the server listens on. */
  port: number;
  signIn: { registrationOpen: boolean; oidcIssuer: string | null; proxyHeader: string | null };
  /** Which destinations are reachable, to warn about channels that are not. */
  destinations: Reach;
  /** The server's accounts at providers, which decide about the available kinds of channels. */
  accounts: Pick<Outgoing, "keys" | "providers">;
  /** The check limit of accounts without their own; null: unlimited. */
  checkLimitDefault: number | null;
  /** How many pings of a check are kept, unless its account has its own limit. */
  pingLogLimit: number;
  retention: RetentionDays;
  /** How many pings of a check are logged per minute. */
  signalsPerMinute: number;
  visibility: () => Visibility;
  /** Signs badge URLs. */
  secrets: Secrets;
  /** Signs links in emails. */
  signing: Signing;
  /** Stores large bodies; null: all are in the database. */
  objects: Pick<ObjectStore, "get"> | null;
  /** With a log: waits a moment until the pings of a check that were acknowledged before are recorded. */
  awaitLog: ((uuid: string) => Promise<void>) | null;
  live: LiveHub;
  /** Requests to this process that matched nothing, since a time, newest first. */
  missesSince(at: number): UnmatchedRequest[];
  /** The database's clock, or close to it. */
  now: () => Instant;
  serviceState: () => ServiceState;
  log: Log;
};

/** A check with the UUIDs of its channels. */
export type CheckRecord = CheckWithState & { channelUuids: readonly string[] };

/** Who makes a change, for the audit log. */
export type Actor = { accountId: number | null; keyId: number | null };

type IsProject<D extends RouteDefinition> = D["access"] extends "anyone" | "account" | "admin" ? false : true;
type If<Condition extends boolean, T> = Condition extends true ? T : null;
type Names<D extends RouteDefinition, Name extends string> = Name extends ParamsOf<D["path"]> ? true : false;

/** An authorized request. Resources that are not in the path are null. */
export type ApiRequest<D extends RouteDefinition = RouteDefinition> = {
  context: ApiContext;
  actor: Actor;
  /** Null for project API keys. */
  account: D["access"] extends "anyone" ? Person | null : D["keys"] extends null ? Person : Person | null;
  /** The id of the browser session; null for API keys and tokens. */
  sessionId: number | null;
  project: If<IsProject<D>, Project>;
  /** The role in the project; of API keys, the one they stand for. */
  role: If<IsProject<D>, Role>;
  /** The kind of the API key, if the request has one. */
  keyKind: "readOnly" | "readWrite" | null;
  /** The project of the API key, if the request has one. */
  keyProject: { id: number; uuid: string } | null;
  check: If<Names<D, "check">, CheckRecord>;
  channel: If<Names<D, "channel">, Channel>;
  params: Readonly<Record<ParamsOf<D["path"]>, string>>;
  query: QueryOf<D>;
  body: BodyOf<D>;
  now: Instant;
  remoteAddr: string | null;
  /** What rate limits apply to. */
  network: string;
  ua: string;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Whether the same credentials would still be allowed now; for streams. */
  isStillAllowed(): Promise<boolean>;
};

export type ApiAnswer<Json = unknown> = {
  /** If it is not the status of the definition. */
  status?: number;
  headers?: Readonly<Record<string, string>>;
} & (
  | { json: Json }
  /** Sent as is. */
  | { content: string | Uint8Array; type: string }
  /** The handler writes and ends the response. */
  | { stream: (response: ServerResponse) => void }
);

/** Throws AppError or ApiProblem for what is refused; anything else is an internal error. */
export type ApiHandler<D extends RouteDefinition = RouteDefinition> = (
  request: ApiRequest<D>,
) => Promise<ApiAnswer<ResponseOf<D>>>;

/** The handlers of a group of routes. */
export type ApiHandlers<Routes extends Readonly<Record<string, RouteDefinition>>> = {
  readonly [Id in keyof Routes]: ApiHandler<Routes[Id]>;
};

/** An error with more data than a sentence. */
export class ApiProblem extends AppError {
  readonly conflict: ProblemExtras["conflict"] | null;

  constructor(code: ErrorCode, text: string, extras: ProblemExtras = {}) {
    super(code, text, extras.field ?? null);
    this.conflict = extras.conflict ?? null;
  }
}
