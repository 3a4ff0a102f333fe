// The load process: a steady rate of random signals over persistent connections, with a limited number in flight. It
// shares no event loop with the run, so that neither delays the other.
import { createWriteStream } from "node:fs";
import { Agent } from "node:http";
import { chanceFrom } from "../chance.ts";
import type { FromLoad, LoadCounts, LoadOptions, ToLoad } from "./load-messages.ts";
import { type Outgoing, signalMaker } from "./outgoing.ts";
import { type Entry, isAcknowledged, send } from "./send.ts";

const TICK_MS = 5;
const TELL_EVERY_MS = 1_000;
/** After a pause of this process, only this much of the missed load is made up for. */
const CATCH_UP_MS_MAX = 100;
const SOCKETS_PER_PORT_MAX = 1_000;

const counts: LoadCounts = {
  sent: 0,
  acknowledged: 0,
  refused: 0,
  unanswered: 0,
  other: 0,
  leftOut: 0,
  inFlight: 0,
  slowestMs: 0,
};

function tell(kind: FromLoad["kind"]): void {
  process.send?.({ kind, counts } satisfies FromLoad);
}

function begin(options: LoadOptions): { pace(perSecond: number): void; stop(): Promise<void> } {
  const chance = chanceFrom(options.seed);
  const maker = signalMaker({ prefix: options.prefix, chance });
  const agent = new Agent({ keepAlive: true, maxSockets: SOCKETS_PER_PORT_MAX });
  const ledger = createWriteStream(options.ledgerPath);
  let { perSecond } = options;
  let due = 0;
  let lastMs = performance.now();
  let whenIdle: (() => void) | null = null;

  const sendOne = async (signal: Outgoing) => {
    counts.sent += 1;
    counts.inFlight += 1;
    const entry = await send(signal, { port: chance.pick(options.ports), agent });
    counts.inFlight -= 1;
    note(entry);
    ledger.write(`${JSON.stringify(entry)}\n`);
    if (counts.inFlight === 0) whenIdle?.();
  };
  const tick = setInterval(() => {
    const nowMs = performance.now();
    due += (Math.min(nowMs - lastMs, CATCH_UP_MS_MAX) * perSecond) / 1_000;
    lastMs = nowMs;
    for (; due >= 1; due -= 1) {
      if (counts.inFlight >= options.inFlightMax) counts.leftOut += 1;
      else void sendOne(maker.any(options.targets));
    }
  }, TICK_MS);
  const telling = setInterval(() => tell("counts"), TELL_EVERY_MS);
  return {
    pace: (next) => {
      perSecond = next;
    },
    stop: async () => {
      clearInterval(tick);
      if (counts.inFlight > 0) await new Promise<void>((resolve) => (whenIdle = resolve));
      clearInterval(telling);
      await new Promise<void>((resolve) => void ledger.end(() => resolve()));
      agent.destroy();
    },
  };
}

function note(entry: Entry): void {
  if (isAcknowledged(entry)) counts.acknowledged += 1;
  else if (entry.status === 503) counts.refused += 1;
  else if (entry.status === 0) counts.unanswered += 1;
  else counts.other += 1;
  if (entry.status !== 0) counts.slowestMs = Math.max(counts.slowestMs, entry.ms);
}

let load: ReturnType<typeof begin> | null = null;

async function apply(message: ToLoad): Promise<void> {
  if (message.kind === "begin") load = begin(message.options);
  else if (message.kind === "pace") load?.pace(message.perSecond);
  else {
    await load?.stop();
    tell("done");
    process.disconnect();
  }
}

process.on("message", (message: ToLoad) => void apply(message));
// The parent process is gone.
process.on("disconnect", () => process.exit());
