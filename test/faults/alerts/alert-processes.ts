// The processes needed for alerts, each with one role as on separate machines, and signals for many checks.
import { type Entry, isAcknowledged } from "../signals/send.ts";
import type { KindLetter } from "../signals/outgoing.ts";
import { databaseNow, readIntakes } from "../stage/intake-rows.ts";
import type { PingProcess } from "../stage/ping-process.ts";
import type { ProcessWish, Stage } from "../stage/stage.ts";
import { demand } from "../waiting.ts";
import type { WatchedCheck } from "./watched-checks.ts";

const TOGETHER_MAX = 50;
const TAKEN_MS_MAX = 180_000;

type InnerWish = Omit<ProcessWish, "spool">;

/** A sweeper process; not started yet. */
export function makeSweeper(stage: Stage, wish: InnerWish): Promise<PingProcess> {
  const environment = { OVERDUE_ROLES: "sweeper", ...wish.environment };
  return stage.receiver({ ...wish, spool: null, environment });
}

const TO_THIS_MACHINE = { OVERDUE_CHANNELS_ALLOW_PRIVATE_IPS: "true" };

/** A notifier process that may also send to this machine; not started yet. */
export function makeNotifier(stage: Stage, wish: InnerWish): Promise<PingProcess> {
  const environment = { OVERDUE_ROLES: "notifier", ...TO_THIS_MACHINE, ...wish.environment };
  return stage.receiver({ ...wish, spool: null, environment });
}

/** Both roles in one process. */
export function makeBoth(stage: Stage, wish: InnerWish): Promise<PingProcess> {
  const environment = { OVERDUE_ROLES: "sweeper,notifier", ...TO_THIS_MACHINE, ...wish.environment };
  return stage.receiver({ ...wish, spool: null, environment });
}

/** One signal for each check, some at a time. */
export async function signalAll(
  stage: Stage,
  watched: readonly WatchedCheck[],
  { port, kind = "s" }: { port: number; kind?: KindLetter },
): Promise<Entry[]> {
  const entries: Entry[] = [];
  for (let at = 0; at < watched.length; at += TOGETHER_MAX) {
    const some = watched.slice(at, at + TOGETHER_MAX);
    const sent = some.map((member) => stage.ledger.send(stage.ledger.maker.make(member, { kind }), port));
    entries.push(...(await Promise.all(sent)));
  }
  return entries;
}

/** Like a job that retries until its signal is accepted. */
export async function signalUntilTaken(
  stage: Stage,
  watched: readonly WatchedCheck[],
  { port }: { port: number },
): Promise<void> {
  let left = [...watched];
  await demand(
    async () => {
      const entries = await signalAll(stage, left, { port });
      left = left.filter((_, index) => !isAcknowledged(entries[index] as Entry));
      return left.length === 0;
    },
    { withinMs: TAKEN_MS_MAX, what: `all ${watched.length} signals are accepted` },
  );
}

/** Resolves when all receiving processes know that the watermarks of all intakes have passed an instant. */
export async function untilConfirmed(stage: Stage, at: number): Promise<void> {
  let since: number | null = null;
  await stage.withClient((client) =>
    demand(
      async () => {
        const open = (await readIntakes(client)).filter(({ closedAt }) => closedAt === null);
        if (since === null && open.every(({ watermarkAt }) => watermarkAt > at))
          since = await databaseNow(client);
        // The watermarks of other intakes are read with each heartbeat, so every intake has to send another one.
        return since !== null && open.every(({ heartbeatAt }) => heartbeatAt > (since ?? 0));
      },
      { withinMs: TAKEN_MS_MAX, what: "the watermarks have passed the deadlines" },
    ),
  );
}
