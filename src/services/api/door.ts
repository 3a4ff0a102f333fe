// What another API of the same process shares with this one, handed to it by whoever joins them: whose key a request
// carries, how often it may ask, and how a body is read. Both count in the same buckets.
import type { IncomingMessage } from "node:http";
import type { Credential } from "../../core/access.ts";
import { API_ANSWER_MS_MAX } from "../../core/limits.ts";
import type { RateVerdict } from "../../core/request/rate-limit.ts";
import type { Db } from "../../store/db.ts";
import type { KeyWithProject } from "../../store/keys.ts";
import { identify, TooManyRequestsError } from "./credentials.ts";
import { parseBody } from "./json-body.ts";
import { readRequestBody, SenderGoneError } from "./request-body.ts";
import type { RespondParts } from "./respond.ts";
import { inTime } from "./trouble.ts";

/** Who asks. */
export type Visitor = {
  /** Null: too many have come, and nobody has looked at the key. */
  credential: Credential | null;
  found: KeyWithProject | null;
  rate: RateVerdict | null;
};

export type ApiDoor = {
  /** Finds out whose key the header of a request carries, counts the request, and notes the use of a good key. */
  identify(request: IncomingMessage): Promise<Visitor>;
  /** The same for a key that came in another way than in that header, and without noting its use. */
  identifyKey(request: IncomingMessage, key: string | undefined): Promise<Visitor>;
  /** The JSON object in the body; null when the sender has gone. Throws AppError for what is none, or too large. */
  readObject(
    request: IncomingMessage,
    onEndless: () => void,
  ): Promise<Readonly<Record<string, unknown>> | null>;
  /** What `work` comes to, or AppError `unavailable` when nobody would wait for it any longer. */
  inTime<T>(work: Promise<T>): Promise<T>;
};

export type DoorParts = Pick<RespondParts, "limiter" | "budget" | "networkOf" | "keyUsed"> & {
  house: { database: Db; secretKey: string };
};

/** The way in for others, made of what this API works with itself. */
export function doorOf({ house, limiter, budget, networkOf, keyUsed }: DoorParts): ApiDoor {
  const { database, secretKey } = house;
  const identifyKey: ApiDoor["identifyKey"] = async (request, key) => {
    const presented = { header: key, body: undefined, network: networkOf(request) };
    try {
      return await identify({ database, secretKey, limiter }, presented, async () => null);
    } catch (error) {
      if (!(error instanceof TooManyRequestsError)) throw error;
      return { credential: null, found: null, rate: error.rate };
    }
  };
  return {
    identify: async (request) => {
      const given = request.headers["x-api-key"];
      const who = await identifyKey(request, Array.isArray(given) ? given.join(",") : given);
      if (who.found !== null) keyUsed({ keyId: who.found.key.id, at: who.found.at });
      return who;
    },
    identifyKey,
    readObject: async (request, onEndless) => {
      try {
        return parseBody(await readRequestBody(request, { budget, onEndless }));
      } catch (error) {
        if (error instanceof SenderGoneError) return null;
        throw error;
      }
    },
    inTime: (work) => inTime(work, API_ANSWER_MS_MAX),
  };
}
