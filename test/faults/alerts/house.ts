// The processes that alerts need, each with one role as on machines of their own, and signals for many checks.
import { type Entry, isAcknowledged } from "../signals/send.ts";
import type { KindLetter } from "../signals/outgoing.ts";
import { databaseNow, readIntakes } from "../stage/intake-rows.ts";
import type { PingProcess } from "../stage/ping-process.ts";
import type { ProcessWish, Stage } from "../stage/stage.ts";
import { demand } from "../waiting.ts";
import type { Member } from "./crowd.ts";

const TOGETHER_MAX = 50;
const TAKEN_MS_MAX = 180_000;

type InnerWish = Omit<ProcessWish, "spool">;

/** A process that lets deadlines fire; not started yet. */
export function makeSweeper(stage: Stage, wish: InnerWish): Promise<PingProcess> {
  const environment = { OVERDUE_ROLES: "sweeper", ...wish.environment };
  return stage.receiver({ ...wish, spool: null, environment });
}

const TO_THIS_MACHINE = { OVERDUE_CHANNELS_ALLOW_PRIVATE_IPS: "true" };

/** A process that sends messages, also to this machine; not started yet. */
export function makeNotifier(stage: Stage, wish: InnerWish): Promise<PingProcess> {
  const environment = { OVERDUE_ROLES: "notifier", ...TO_THIS_MACHINE, ...wish.environment };
  return stage.receiver({ ...wish, spool: null, environment });
}

/** Both in one process, where it does not matter. */
export function makeBoth(stage: Stage, wish: InnerWish): Promise<PingProcess> {
  const environment = { OVERDUE_ROLES: "sweeper,notifier", ...TO_THIS_MACHINE, ...wish.environment };
  return stage.receiver({ ...wish, spool: null, environment });
}

/** One signal for each check, some at a time. */
export async function signalAll(
  stage: Stage,
  crowd: readonly Member[],
  { port, kind = "s" }: { port: number; kind?: KindLetter },
): Promise<Entry[]> {
  const entries: Entry[] = [];
  for (let at = 0; at < crowd.length; at += TOGETHER_MAX) {
    const some = crowd.slice(at, at + TOGETHER_MAX);
    const sent = some.map((member) => stage.ledger.send(stage.ledger.maker.make(member, { kind }), port));
    entries.push(...(await Promise.all(sent)));
  }
  return entries;
}

/** As a job that tries again until it is heard. */
export async function signalUntilTaken(
  stage: Stage,
  crowd: readonly Member[],
  { port }: { port: number },
): Promise<void> {
  let left = [...crowd];
  await demand(
    async () => {
      const entries = await signalAll(stage, left, { port });
      left = left.filter((_, index) => !isAcknowledged(entries[index] as Entry));
      return left.length === 0;
    },
    { withinMs: TAKEN_MS_MAX, what: `all of ${crowd.length} signals are taken` },
  );
}

/** Whoever receives has seen that everybody vouches for everything before an instant. */
export async function untilVouched(stage: Stage, at: number): Promise<void> {
  let since: number | null = null;
  await stage.withClient((client) =>
    demand(
      async () => {
        const open = (await readIntakes(client)).filter(({ closedAt }) => closedAt === null);
        if (since === null && open.every(({ watermarkAt }) => watermarkAt > at))
          since = await databaseNow(client);
        // What others vouch for is read with each sign of life, so everybody has to give another one.
        return since !== null && open.every(({ beatAt }) => beatAt > (since ?? 0));
      },
      { withinMs: TAKEN_MS_MAX, what: "those who receive vouch for everything before the deadlines" },
    ),
  );
}
