// Processor time of processes, from /proc. Unlike a rate, it hardly depends on what else runs on the machine.
import { readdirSync, readFileSync } from "node:fs";

/** The unit of /proc on Linux. */
const TICK_MS = 10;

type Stat = { parent: number; ownMs: number; endedChildrenMs: number };

function readStat(pid: number): Stat | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name before it can contain anything.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    const at = (index: number) => Number(fields[index]);
    return {
      parent: at(1),
      ownMs: (at(11) + at(12)) * TICK_MS,
      endedChildrenMs: (at(13) + at(14)) * TICK_MS,
    };
  } catch {
    // It has ended.
    return null;
  }
}

/** Of all threads of a process. */
export function processorMs(pid: number): number {
  return readStat(pid)?.ownMs ?? 0;
}

/** Of the PostgreSQL server that this session belongs to: all sessions, also those that have ended. */
export function serverProcessorMs(sessionPid: number): number {
  const server = readStat(sessionPid)?.parent ?? 0;
  const own = readStat(server);
  let sum = (own?.ownMs ?? 0) + (own?.endedChildrenMs ?? 0);
  for (const name of readdirSync("/proc")) {
    const stat = /^\d+$/.test(name) ? readStat(Number(name)) : null;
    if (stat?.parent === server) sum += stat.ownMs;
  }
  return sum;
}
