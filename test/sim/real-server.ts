// The real sweeper and notifier. Messages go to a simulated receiver instead of the network.
import { once } from "node:events";
import type pg from "pg";
import type { SendResult } from "../../src/core/delivery.ts";
import type { AlertMessage } from "../../src/core/message.ts";
import { deliverDue } from "../../src/operations/send-loop.ts";
import { sweepDeadlines } from "../../src/operations/sweep.ts";
import type { Database } from "../../src/store/db.ts";
import type { Answer, ServerUnderTest, Message } from "./server-under-test.ts";

const SENT = { summary: "POST receiver.example", excerpt: null };

function resultOf(answer: Answer): SendResult {
  if (answer === "accepted") return { kind: "sent", ...SENT, code: 200 };
  const permanent = answer === "permanently refused";
  const code = permanent ? 410 : 503;
  return { kind: "failed", ...SENT, code, permanent, retryAfterMs: null, reason: `HTTP ${code}` };
}

function contentsOf(message: AlertMessage) {
  if (message.kind === "notice") return { about: "notice" as const, blind: message.blind };
  if (message.kind === "group") return { about: "group" as const };
  if (message.kind !== "down" && message.kind !== "up") return { about: "other" as const };
  if (message.isRepeat) return { about: "repeat" as const, checkUuid: message.check.uuid };
  const flips = message.flips.map(({ at, to }) => ({ at, to }));
  const corrections = message.corrections.map(({ at, to }) => ({ at, to }));
  return { about: "flips" as const, checkUuid: message.check.uuid, flips, corrections };
}

/**
 * The database connection of a process that may be killed: after the kill, no statement or transaction starts. A
 * transaction in progress still ends, as if the kill came right after its commit.
 */
function untilKilled(database: Database, killed: AbortSignal): Database {
  const call = <T>(work: () => Promise<T>): Promise<T> => (killed.aborted ? new Promise(() => {}) : work());
  return {
    ...database,
    pool: { connect: () => call(() => database.pool.connect()) } as pg.Pool,
    query: (what, values) => call(() => database.query(what, values)),
  };
}

export const realServer: ServerUnderTest = {
  sweepDeadlines: async (database, moment) => {
    for (;;) {
      const { isComplete, quarantined } = await sweepDeadlines(database, moment);
      const [first] = quarantined;
      if (first !== undefined) throw new Error(`check ${first.checkId} was quarantined: ${first.reason}`);
      if (isComplete) return;
    }
  },
  deliverDue: async (database, { now, send, killed }) => {
    const ports = {
      isSubscribed: () => true,
      rateOf: () => null,
      send: async (
        channel: { uuid: string },
        message: AlertMessage,
        { dedupeKey }: { dedupeKey: string },
      ) => {
        const { kind } = message;
        const sent: Message = { channelUuid: channel.uuid, dedupeKey, kind, ...contentsOf(message) };
        return resultOf(await send(sent));
      },
    };
    const delivering = deliverDue(untilKilled(database, killed), { now, ports });
    await Promise.race([delivering, once(killed, "abort")]);
  },
};
