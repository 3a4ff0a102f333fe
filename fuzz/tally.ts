// The results of a run of raw requests: outcomes, the memory of the process, and failures.
import type { PingProcess } from "../test/support/ping-process.ts";

export type Tally = {
  sent: number;
  /** How often each outcome was seen, over all kinds of requests and by kind. */
  outcomes: Map<string, number>;
  byKind: Map<string, Map<string, number>>;
  failures: string[];
  residentBytes: number;
};

export type RunLimits = {
  /** Numbers of the requests. */
  first: number;
  count: number;
  /** The memory limit of the process. */
  residentBytesMax: number;
  minutesMax: number;
  /** How many are sent at once. */
  senders?: number;
};

export const RESIDENT_BYTES_MAX = 640 * 1024 * 1024;
const FAILURES_SHOWN = 20;
export const SENDERS = 24;
const MEMORY_EVERY_MS = 250;

export function emptyTally(): Tally {
  return { sent: 0, outcomes: new Map(), byKind: new Map(), failures: [], residentBytes: 0 };
}

export function note(tally: Tally, kind: string, outcome: string): void {
  tally.outcomes.set(outcome, (tally.outcomes.get(outcome) ?? 0) + 1);
  const mine = tally.byKind.get(kind) ?? new Map<string, number>();
  tally.byKind.set(kind, mine);
  mine.set(outcome, (mine.get(outcome) ?? 0) + 1);
}

/** Sends all requests, many at once, until there are too many failures, the process has ended or time is over. */
export async function sendAll(
  running: PingProcess,
  { tally, limits, sendOne }: { tally: Tally; limits: RunLimits; sendOne: (number: number) => Promise<void> },
): Promise<void> {
  const { first, count, residentBytesMax, minutesMax, senders = SENDERS } = limits;
  const giveUpAt = performance.now() + minutesMax * 60_000;
  const watch = setInterval(() => void watchMemory(running, { tally, residentBytesMax }), MEMORY_EVERY_MS);
  let next = first;
  const sender = async () => {
    while (next < first + count && tally.failures.length < FAILURES_SHOWN) {
      if (running.end() !== null || performance.now() > giveUpAt) return;
      const number = next;
      next += 1;
      tally.sent += 1;
      await sendOne(number);
    }
  };
  await Promise.all(Array.from({ length: senders }, sender));
  clearInterval(watch);
  await watchMemory(running, { tally, residentBytesMax });
  if (performance.now() > giveUpAt) tally.failures.push(`not done after ${minutesMax} minutes`);
}

async function watchMemory(
  running: PingProcess,
  { tally, residentBytesMax }: { tally: Tally; residentBytesMax: number },
): Promise<void> {
  if (running.end() !== null) return;
  const bytes = await running.residentBytes().catch(() => 0);
  tally.residentBytes = Math.max(tally.residentBytes, bytes);
  const complaint = `the process occupies more than ${megabytes(residentBytesMax)}`;
  if (bytes > residentBytesMax && !tally.failures.includes(complaint)) tally.failures.push(complaint);
}

/** Stops the process gracefully; a wrong exit, or an error in its log, is a failure. */
export async function judgeEnd(running: PingProcess, tally: Tally): Promise<void> {
  const end = running.end();
  if (end === null) {
    try {
      await running.stop();
    } catch (error) {
      tally.failures.push(`the process did not stop well: ${String(error)}`);
    }
  } else {
    tally.failures.push(`the process died (${end}):\n${running.said()}`);
  }
  if (running.said().includes('"level":"error"'))
    tally.failures.push(`it logged an error:\n${running.said()}`);
}

type Printed = { name: string; residentBytesMax: number; seconds: number; more?: string };

/** Prints the distribution of responses and the verdict. */
export function print(tally: Tally, { name, residentBytesMax, seconds, more = "" }: Printed): void {
  const table = (counts: ReadonlyMap<string, number>) =>
    [...counts]
      .toSorted(([, one], [, other]) => other - one)
      .map(([outcome, count]) => `${outcome} ${count.toLocaleString("en")}`)
      .join(", ");
  const kinds = [...tally.byKind].toSorted(([one], [other]) => (one < other ? -1 : 1));
  for (const [kind, counts] of kinds) console.log(`  ${kind.padEnd(24)} ${table(counts)}`);
  console.log(`answers: ${table(tally.outcomes)}`);
  console.log(`memory: ${megabytes(tally.residentBytes)} of at most ${megabytes(residentBytesMax)}${more}`);
  for (const failure of tally.failures.slice(0, FAILURES_SHOWN)) console.log(`FAILED ${failure}`);
  const rate = Math.round(tally.sent / seconds);
  const verdict = tally.failures.length === 0 ? "ok" : `${tally.failures.length} failures`;
  console.log(
    `fuzz ${name}: ${tally.sent.toLocaleString("en")} requests in ${Math.round(seconds)} s (${rate}/s), ${verdict}`,
  );
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1024 / 1024)} MiB`;
}
