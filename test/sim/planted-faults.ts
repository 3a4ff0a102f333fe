// Faults that are put in on purpose, between the simulation and the server, to prove that a run would see them. The
// server itself knows nothing of them.
import { randomUUID } from "node:crypto";
import type { Visibility } from "../../src/core/deadline.ts";
import type { Instant } from "../../src/core/instant.ts";
import type { Tally } from "./comparison.ts";
import type { Environment } from "./driver/environment.ts";
import type { ServerUnderTest, Message } from "./server-under-test.ts";

export type PlantedFault = {
  about: string;
  /** The count that must not be 0 then. */
  detectedBy: keyof Tally;
  /** What the sweeper is told instead of what can be seen. */
  sweeperVisibility?: (visibility: Visibility, now: Instant) => Visibility;
  /** What everybody is told instead. */
  visibility?: (visibility: Visibility) => Visibility;
  /** Done to the database before messages are sent. */
  beforeSending?: (environment: Environment) => Promise<void>;
  /** Used instead of the real one. */
  server?: (server: ServerUnderTest) => ServerUnderTest;
  /** What reaches the receiver instead. */
  message?: (message: Message) => Message;
  /** The notifier is killed after every so many messages, besides what the world has planned. */
  killsEvery?: number;
  /** How far the sweeper has to be behind before it looks again. */
  sweepEveryMs?: number;
};

const NO_BLIND = (visibility: Visibility): Visibility => ({ ...visibility, blind: [] });

export const PLANTED_FAULTS: Readonly<Record<string, PlantedFault>> = {
  "watermark-off": {
    about: "deadlines fire by the clock, whatever is still in transit",
    detectedBy: "false",
    sweeperVisibility: (visibility, now) => ({ ...visibility, watermarkAt: now }),
  },
  "excuse-off": {
    about: "time in which nobody could be received excuses nothing",
    detectedBy: "false",
    sweeperVisibility: NO_BLIND,
    visibility: NO_BLIND,
  },
  "delivery-dropped": {
    about: "one in twenty deliveries vanishes before it is sent",
    detectedBy: "missed",
    beforeSending: async (environment) => {
      await environment.rows("delete from deliveries where state = 'pending' and id % 20 = 0");
    },
  },
  "dedupe-off": {
    about: "every attempt has a key of its own, and the notifier dies after every tenth message",
    detectedBy: "duplicated",
    message: (message) => ({ ...message, dedupeKey: randomUUID() }),
    killsEvery: 10,
  },
  "settled-first": {
    about:
      "messages are recorded as sent before they are sent, and the notifier dies after every tenth message",
    detectedBy: "missed",
    server: (server) => ({
      ...server,
      deliverDue: async (database, { send, ...moment }) => {
        const unsent: Message[] = [];
        const settle = async (message: Message) => {
          unsent.push(message);
          return "accepted" as const;
        };
        await server.deliverDue(database, { ...moment, send: settle });
        for (const message of unsent) await send(message);
      },
    }),
    killsEvery: 10,
  },
  "sweeper-delayed": {
    about: "deadlines are looked for every half an hour",
    detectedBy: "late",
    sweepEveryMs: 1_800_000,
  },
};
