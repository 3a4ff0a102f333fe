// The sweeper and the notifier as they are built, behind the doors that the simulation knocks at. Only the last step
// is another one: a message goes to a receiver of the world instead of into the network.
import type { SendResult } from "../../src/core/delivery.ts";
import type { AlertMessage } from "../../src/core/message.ts";
import { deliverDue } from "../../src/operations/deliveries.ts";
import { sweepDeadlines } from "../../src/operations/sweep.ts";
import type { Answer, House, Message } from "./house.ts";

const SENT = { summary: "POST receiver.example", excerpt: null };

function resultOf(answer: Answer): SendResult {
  if (answer === "taken") return { kind: "sent", ...SENT, code: 200 };
  const permanent = answer === "refused for good";
  const code = permanent ? 410 : 503;
  return { kind: "failed", ...SENT, code, permanent, retryAfterMs: null, reason: `HTTP ${code}` };
}

function contentsOf(message: AlertMessage) {
  if (message.kind === "notice") return { about: "notice" as const, blind: message.blind };
  if (message.kind !== "down" && message.kind !== "up") return { about: "other" as const };
  const flips = message.flips.map(({ at, to }) => ({ at, to }));
  return { about: "flips" as const, checkUuid: message.check.uuid, flips };
}

export const realHouse: House = {
  sweepDeadlines: async (database, moment) => {
    for (;;) {
      const { isComplete, quarantined } = await sweepDeadlines(database, moment);
      const [first] = quarantined;
      if (first !== undefined) throw new Error(`check ${first.checkId} could not be judged: ${first.reason}`);
      if (isComplete) return;
    }
  },
  deliverDue: async (database, { now, send }) => {
    const ports = {
      isSubscribed: () => true,
      rateOf: () => null,
      send: async (
        channel: { uuid: string },
        message: AlertMessage,
        { dedupeKey }: { dedupeKey: string },
      ) => {
        const sent: Message = { channelUuid: channel.uuid, dedupeKey, ...contentsOf(message) };
        return resultOf(await send(sent));
      },
    };
    await deliverDue(database, { now, ports });
  },
};
