// Faults that are planted between the simulation and the server, to prove that a run detects them.
import { randomUUID } from "node:crypto";
import type { Visibility } from "../../src/core/deadline.ts";
import type { Instant } from "../../src/core/instant.ts";
import type { Tally } from "./comparison.ts";
import type { Environment } from "./driver/environment.ts";
import { type Database, statement } from "../../src/store/db.ts";
import type { Answer, Message, ServerUnderTest } from "./server-under-test.ts";

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
  /** It affects only worlds with policies. */
  needsPolicies?: true;
};

/** Replaces what happens to messages; without a result, they are sent. */
function withSend(
  replace: (message: Message, at: { database: Database; now: Instant }) => Promise<Answer | null>,
): (server: ServerUnderTest) => ServerUnderTest {
  return (server) => ({
    ...server,
    deliverDue: (database, { send, ...moment }) => {
      const { now } = moment;
      const replaced = async (message: Message) =>
        (await replace(message, { database, now })) ?? send(message);
      return server.deliverDue(database, { ...moment, send: replaced });
    },
  });
}

const FIND_SILENCE = statement({
  name: "sim.find_silence",
  text: `select from silences where from_at <= to_timestamp($1 / 1000::float8)
    and until_at > to_timestamp($1 / 1000::float8) and ended_at is null`,
});
const HELD_MS = 3_600_000;

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
  "recovery-silenced": {
    about: "a recovery is not sent while there is a silence",
    detectedBy: "lost",
    needsPolicies: true,
    server: withSend(async (message, { database, now }) => {
      if (message.about !== "flips" || message.flips.at(-1)?.to !== "up") return null;
      const { rows } = await database.query(FIND_SILENCE, [now]);
      return rows.length > 0 ? "accepted" : null;
    }),
  },
  "timers-not-held": {
    about:
      "the time until a repeat counts from the beginning of the problem, although a silence held the message",
    detectedBy: "false",
    needsPolicies: true,
    beforeSending: async (environment) => {
      await environment.rows(`with sent as (
          update deliveries d set settled_at = a.opened_at from alerts a
          where a.id = d.alert_id and d.kind = 'flip' and d.state = 'sent' and d.flip_id = a.opened_flip_id
          returning d.incident_id
        )
        update incidents set next_step_at = to_timestamp(0)
        where next_step_at is not null and id in (select incident_id from sent)`);
    },
  },
  "parent-without-channels": {
    about: "a check that is down holds the alerts of those that depend on it, although it has no channels",
    detectedBy: "missed",
    needsPolicies: true,
    beforeSending: async (environment) => {
      await environment.rows(`update alerts a set plan_at = 'infinity', held_by = 'dependency'
        from check_parents p join alerts o on o.check_id = p.parent_id and o.closed_at is null
        where p.check_id = a.check_id and a.planned_at is null and a.closed_at is null
          and not exists (select from check_channels cc where cc.check_id = p.parent_id)`);
    },
  },
  "window-kept": {
    about: "failures before a recovery still count after it",
    detectedBy: "false",
    needsPolicies: true,
    beforeSending: async (environment) => {
      await environment.rows(`update check_states s
        set judged = '{"outcomes": 6, "missed": 0, "problem": null, "runBeganAt": null, "chain": null}'
        from checks c
        where c.id = s.check_id and c.rules is not null and s.status = 'up' and s.judged is null
          and exists (select from alerts a where a.check_id = c.id and a.close_cause = 'recovered')`);
    },
  },
  "held-given-up": {
    about: "a message is given up by the age of the problem, although a silence held it",
    detectedBy: "missed",
    needsPolicies: true,
    server: withSend(async (message, { now }) => {
      if (message.about !== "flips") return null;
      return message.flips.some(({ at }) => at < now - HELD_MS) ? "accepted" : null;
    }),
  },
};
