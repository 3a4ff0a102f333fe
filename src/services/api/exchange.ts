// What an endpoint is handed and what it answers. Everything that all endpoints share (method, body, key, rate,
// target, access) has been decided before it is called; how an answer becomes bytes is decided after.
import type { BodySchema } from "../../contract/route.ts";
import type { PublicUrls } from "../../contract/urls.ts";
import type { ApiEndpoint, VersionColumn } from "../../contract/versions.ts";
import type { KeyKind } from "../../core/identity.ts";
import type { Instant } from "../../core/instant.ts";
import type { Sight } from "../../core/machine/deadline.ts";
import type { Log } from "../../lib/log.ts";
import type { ObjectStore } from "../../lib/object-store.ts";
import type { CheckWithState } from "../../store/checks/checks.ts";
import type { Database } from "../../store/db.ts";
import type { BegunAnswer } from "./begun-answer.ts";

/** A request that anyone may make. */
export type OpenExchange = {
  endpoint: ApiEndpoint;
  /** The version of the API in the dialect of the installation: the only thing that tells versions apart. */
  column: VersionColumn;
  query: URLSearchParams;
};

/** A request with a key that may make it. */
export type Exchange = OpenExchange & {
  project: { id: number; uuid: string; badgeKey: string };
  keyKind: KeyKind;
  /** For the record of changes. */
  keyId: number;
  /** The JSON object that was sent; empty where none is read. Not judged yet. */
  body: Readonly<Record<string, unknown>>;
  /** The schema that the body has to keep; null where the route has none. */
  bodySchema: BodySchema | null;
  /** The database's clock. */
  now: Instant;
};

/** A check with the UUIDs of its channels, in the order of their texts. */
export type FoundCheck = CheckWithState & { channelUuids: readonly string[] };

/** A request about one check of the key's project, as it was found just now; it may have vanished since. */
export type CheckExchange = Exchange & {
  check: FoundCheck;
  /** The number of a ping in the path; null where there is none. */
  n: number | null;
};

type AnswerHead = { status: number; headers?: Readonly<Record<string, string>> };

export type Answer = AnswerHead &
  (
    | { json: unknown }
    /** Sent as it is. */
    | { content: string | Uint8Array; type: string }
    /** JSON of any length, made piece by piece while it is sent. */
    | { pieces: AsyncGenerator<string> }
  );

/** An answer of which as much is there as may be held in memory. */
export type SentAnswer = Exclude<Answer, { pieces: unknown }> | (AnswerHead & BegunAnswer);

/** What endpoints work with. */
export type House = {
  database: Database;
  urls: PublicUrls;
  /** The limit of an account that has none of its own; null means without limit. */
  checkLimitDefault: number | null;
  /** How many pings of a check are kept and listed, unless its account has a limit of its own. */
  pingLogLimit: number;
  /** How far we have seen, as of a moment ago. */
  sight(): Sight;
  /** What badge addresses are signed with. */
  secretKey: string;
  /** Where large bodies lie; null: all are in the database. */
  objects: Pick<ObjectStore, "get"> | null;
  log: Log;
};

/** Throws AppError for what is refused; everything else that it throws is a fault of ours. */
export type OpenHandler = (exchange: OpenExchange, house: House) => Promise<Answer>;
export type Handler = (exchange: Exchange, house: House) => Promise<Answer>;
export type CheckHandler = (exchange: CheckExchange, house: House) => Promise<Answer>;
