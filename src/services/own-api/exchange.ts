// What an endpoint of our own API is handed and what it answers. Path, method, key and rights have been decided before
// it is called; how an answer becomes bytes is decided after.
import type { IncomingMessage } from "node:http";
import type { OwnRoute } from "../../contract/own/routes.ts";
import type { Credential } from "../../core/access.ts";
import type { KeyKind } from "../../core/identity.ts";
import type { Instant } from "../../core/instant.ts";
import type { RateVerdict } from "../../core/request/rate-limit.ts";
import type { Log } from "../../lib/log.ts";
import type { Reach } from "../../channels/config/address-warnings.ts";
import type { Database } from "../../store/db.ts";
import type { KeyWithProject } from "../../store/keys.ts";

/** What has to be shared with the other API of the process; it is handed in by whoever joins the two. */
export type Door = {
  /** `credential` is null when too many have come. */
  identify(
    request: IncomingMessage,
  ): Promise<{ credential: Credential | null; found: KeyWithProject | null; rate: RateVerdict | null }>;
  /** The JSON object in the body; null when the sender has gone. */
  readObject(
    request: IncomingMessage,
    onEndless: () => void,
  ): Promise<Readonly<Record<string, unknown>> | null>;
  inTime<T>(work: Promise<T>): Promise<T>;
};

/** What endpoints work with. */
export type House = {
  database: Database;
  /** The published address of this API, without a slash at its end. */
  baseUrl: string;
  /** Whether this installation asks addresses before it writes to them. */
  mailVerification: boolean;
  /** How far messages get, to warn of an address that nothing will reach. */
  destinations: Reach;
  log: Log;
};

/** A request with a key that may make it. */
export type Exchange = {
  route: OwnRoute;
  /** What the path has in place of `{channel}` and `{delivery}`, in the right form; zero and empty where it has none. */
  channel: string;
  delivery: number;
  query: URLSearchParams;
  headers: IncomingMessage["headers"];
  /** The JSON object that was sent; empty where none is read. Not judged yet. */
  body: Readonly<Record<string, unknown>>;
  projectId: number;
  key: { id: number; kind: KeyKind };
  /** The database's clock. */
  now: Instant;
};

export type Answer = { status: number; headers?: Readonly<Record<string, string>>; json: unknown };

/** Throws AppError for what is refused; everything else that it throws is a fault of ours. */
export type Handler = (exchange: Exchange, house: House) => Promise<Answer>;
