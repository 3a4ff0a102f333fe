// Faults that are planted between the simulation and the server, to prove that a run detects them.
import { randomUUID } from "node:crypto";
import type { Visibility } from "../../src/core/deadline.ts";
import type { Instant } from "../../src/core/instant.ts";
import type { Tally } from "./comparison.ts";
import type { Environment } from "./driver/environment.ts";
import type { ServerUnderTest, Message } from "./server-under-test.ts";

export type PlantedFault = {
  about: string;
  /** The count that must be greater than 0. */
  detectedBy: keyof Tally;
  /** Replaces the visibility of the sweeper. */
  sweeperVisibility?: (visibility: Visibility, now: Instant) => Visibility;
  /** Replaces the visibility of recording and commands. */
  visibility?: (visibility: Visibility) => Visibility;
  /** Runs before messages are sent. */
  beforeSending?: (environment: Environment) => Promise<void>;
  /** Replaces the real server. */
  server?: (server: ServerUnderTest) => ServerUnderTest;
  /** Replaces the message that the receiver gets. */
  message?: (message: Message) => Message;
  /** Kills the notifier after this many messages, in addition to the faults of the world. */
  killsEvery?: number;
  /** Minimum time between two sweeps. */
  sweepEveryMs?: number;
};

const NO_BLIND = (visibility: Visibility): Visibility => ({ ...visibility, blind: [] });

export const PLANTED_FAULTS: Readonly<Record<string, PlantedFault>> = {
  "watermark-off": {
    about: "deadlines fire by the clock, ignoring pings in transit",
    detectedBy: "false",
    sweeperVisibility: (visibility, now) => ({ ...visibility, watermarkAt: now }),
  },
  "excuse-off": {
    about: "blind intervals excuse nothing",
    detectedBy: "false",
    sweeperVisibility: NO_BLIND,
    visibility: NO_BLIND,
  },
  "delivery-dropped": {
    about: "one in twenty deliveries is deleted before it is sent",
    detectedBy: "missed",
    beforeSending: async (environment) => {
      await environment.rows("delete from deliveries where state = 'pending' and id % 20 = 0");
    },
  },
  "dedupe-off": {
    about: "every attempt has a new key, and the notifier is killed after every tenth message",
    detectedBy: "duplicated",
    message: (message) => ({ ...message, dedupeKey: randomUUID() }),
    killsEvery: 10,
  },
  "settled-first": {
    about:
      "messages are recorded as sent before they are sent, and the notifier is killed after every tenth message",
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
    about: "deadlines are swept every half hour",
    detectedBy: "late",
    sweepEveryMs: 1_800_000,
  },
};
