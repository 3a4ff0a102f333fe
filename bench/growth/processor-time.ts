// Processor time of processes, from /proc, in seconds. Times of ended processes are those that their parent waited for.
import { readdirSync, readFileSync } from "node:fs";

/** The unit of these files on every Linux that Node supports. */
const TICKS_PER_SECOND = 100;

type Stat = { parent: number; own: number; ended: number };

function statOf(pid: number): Stat | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name before it can contain anything.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    const ticks = (from: number) => (Number(fields[from]) + Number(fields[from + 1])) / TICKS_PER_SECOND;
    return { parent: Number(fields[1]), own: ticks(11), ended: ticks(13) };
  } catch {
    // It has ended.
    return null;
  }
}

/** The running children of a process. */
export function childrenOf(pid: number): number[] {
  const pids = readdirSync("/proc").map(Number).filter(Number.isInteger);
  return pids.filter((one) => statOf(one)?.parent === pid);
}

export function parentOf(pid: number): number {
  const stat = statOf(pid);
  if (stat === null) throw new Error(`process ${pid} has ended`);
  return stat.parent;
}

/** Of these processes. */
export function secondsOf(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + (statOf(pid)?.own ?? 0), 0);
}

/** Of a process and of all its children, also those that have ended. */
export function secondsOfTree(pid: number): number {
  return secondsOf([pid, ...childrenOf(pid)]) + (statOf(pid)?.ended ?? 0);
}

/** Of this process and its children that have ended, such as the programs that send pings. */
export function secondsOfSenders(): number {
  const stat = statOf(process.pid);
  return (stat?.own ?? 0) + (stat?.ended ?? 0);
}

/** Of all processes of the machine. */
export function secondsOfMachine(): number {
  const [line = ""] = readFileSync("/proc/stat", "utf8").split("\n");
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = line
    .split(/\s+/)
    .slice(1)
    .map(Number);
  return (user + nice + system + irq + softirq + steal) / TICKS_PER_SECOND;
}
