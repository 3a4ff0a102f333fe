// Parses the output of strace, and determines in which order a signal was read, synced and answered.
import { readFileSync } from "node:fs";

/** One system call that has returned. Times are seconds of the system's clock. */
export type Syscall = {
  pid: number;
  name: string;
  /** Arguments and result as strace prints them, with paths and texts. */
  shown: string;
  result: number;
  beganAt: number;
  endedAt: number;
};

const WHOLE = /^(\d+) +(\d+\.\d+) (\w+)\((.*)\) += (-?\d+)[^<]*(?:<(\d+\.\d+)>)?$/;
const UNFINISHED = /^(\d+) +(\d+\.\d+) (\w+)\((.*) <unfinished \.\.\.>$/;
const RESUMED = /^(\d+) +(\d+\.\d+) <\.\.\. (\w+) resumed>(.*)\) += (-?\d+)[^<]*(?:<(\d+\.\d+)>)?$/;

/** Every call in the file, by the time at which it returned. */
export function readTrace(path: string): Syscall[] {
  const calls: Syscall[] = [];
  const begun = new Map<string, { beganAt: number; shown: string }>();
  for (const line of readFileSync(path, "utf8").split("\n")) {
    const whole = WHOLE.exec(line);
    if (whole !== null) {
      const [, pid, at, name, shown, result, took] = whole;
      calls.push(callOf({ pid, name, shown, result }, { beganAt: Number(at), took: Number(took ?? 0) }));
      continue;
    }
    const unfinished = UNFINISHED.exec(line);
    if (unfinished !== null) {
      const [, pid, at, , shown] = unfinished;
      begun.set(pid ?? "", { beganAt: Number(at), shown: shown ?? "" });
      continue;
    }
    const resumed = RESUMED.exec(line);
    if (resumed === null) continue;
    const [, pid, at, name, rest, result, took] = resumed;
    const beginning = begun.get(pid ?? "");
    const shown = `${beginning?.shown ?? ""}${rest ?? ""}`;
    const beganAt = beginning?.beganAt ?? Number(at);
    calls.push(callOf({ pid, name, shown, result }, { beganAt, took: Number(took ?? 0) }));
  }
  return calls.toSorted((one, other) => one.endedAt - other.endedAt);
}

type Parts = Record<"pid" | "name" | "shown" | "result", string | undefined>;

function callOf(parts: Parts, { beganAt, took }: { beganAt: number; took: number }): Syscall {
  const { pid, name = "", shown = "", result } = parts;
  return { pid: Number(pid), name, shown, result: Number(result), beganAt, endedAt: beganAt + took };
}

const READS = new Set(["read", "recvfrom"]);
const WRITES = new Set(["write", "writev", "sendto", "sendmsg"]);
const SYNCS = new Set(["fsync", "fdatasync"]);

/**
 * One process of the database has read the signal, received the commit, synced the WAL and confirmed it, and only
 * then the response was written.
 */
export function walSyncedFirst(
  marker: string,
  { receiver, database }: { receiver: readonly Syscall[]; database: readonly Syscall[] },
): boolean {
  const answeredAt = answerTime(marker, receiver);
  const arrival = database.find(({ name, shown }) => READS.has(name) && mentions(shown, marker));
  if (answeredAt === null || arrival === undefined) return false;
  const after = database.filter(({ pid, endedAt }) => pid === arrival.pid && endedAt >= arrival.endedAt);
  const said = after.findIndex(({ name, shown }) => WRITES.has(name) && shown.includes("COMMIT"));
  const confirmation = after[said];
  if (confirmation === undefined || confirmation.beganAt > answeredAt) return false;
  return after
    .slice(0, said)
    .some(({ name, shown, result }) => SYNCS.has(name) && result === 0 && shown.includes("pg_wal"));
}

/** A thread of the process has synced a file of the spool between reading the signal and answering it. */
export function spoolSyncedFirst(marker: string, receiver: readonly Syscall[]): boolean {
  const arrival = requestOf(marker, receiver);
  const answeredAt = answerTime(marker, receiver);
  if (arrival === undefined || answeredAt === null) return false;
  return receiver.some(
    ({ name, shown, result, beganAt, endedAt }) =>
      SYNCS.has(name) &&
      result === 0 &&
      shown.includes("spool-") &&
      beganAt >= arrival.endedAt &&
      endedAt <= answeredAt,
  );
}

function requestOf(marker: string, receiver: readonly Syscall[]): Syscall | undefined {
  return receiver.find(
    ({ name, shown }) => READS.has(name) && mentions(shown, marker) && / HTTP\/1/.test(shown),
  );
}

/** When the process began to write the response: the first 200 after the request on the same socket. */
function answerTime(marker: string, receiver: readonly Syscall[]): number | null {
  const request = requestOf(marker, receiver);
  if (request === undefined) return null;
  const socket = /^\d+<[^>]*>/.exec(request.shown)?.[0];
  const answer = receiver.find(
    ({ name, shown, beganAt }) =>
      WRITES.has(name) &&
      beganAt >= request.beganAt &&
      shown.includes("HTTP/1.1 200") &&
      (socket === undefined || shown.startsWith(socket)),
  );
  return answer?.beganAt ?? null;
}

/** The complete marker, not the prefix of a longer one. */
function mentions(shown: string, marker: string): boolean {
  return new RegExp(`${marker}(?!\\d)`).test(shown);
}
