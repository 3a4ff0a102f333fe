// Requests /healthz from one process all the time, whatever the scenario does to it. A process whose event loop runs
// responds immediately; only one that is stopped by SIGSTOP, is ending or has ended need not respond.
import { readFileSync } from "node:fs";
import { get } from "node:http";
import { awakeMs } from "../../support/awake.ts";

/** The guaranteed time, on a clock that stops while this process is stopped. */
const ANSWER_MS_MAX = 2_000;
const PROBE_EVERY_MS = 100;
const COMPLAINTS_MAX = 5;

export type Probed = {
  name: string;
  adminPort: number;
  /** Null if it is not running, or is being ended on purpose. */
  pid: () => number | null;
};

export class HealthProbe {
  readonly complaints: string[] = [];
  readonly #probed: Probed;
  readonly #timer: NodeJS.Timeout;
  /** The process that has responded before: until then it is starting. */
  #answeredPid: number | null = null;
  #current: { pid: number; sinceMs: number; isExcused: boolean; isLate: boolean } | null = null;

  constructor(probed: Probed) {
    this.#probed = probed;
    this.#timer = setInterval(() => this.#tick(), PROBE_EVERY_MS);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #tick(): void {
    const pid = this.#probed.pid();
    const current = this.#current;
    if (current === null) {
      if (pid !== null) this.#ask(pid);
      return;
    }
    current.isExcused ||= pid !== current.pid || isStopped(current.pid);
    if (current.isLate || awakeMs() - current.sinceMs <= ANSWER_MS_MAX) return;
    current.isLate = true;
    this.#complain(current, `has not answered /healthz for ${ANSWER_MS_MAX} ms`);
  }

  #ask(pid: number): void {
    const current = { pid, sinceMs: awakeMs(), isExcused: isStopped(pid), isLate: false };
    this.#current = current;
    const end = (trouble: string | null) => {
      if (this.#current !== current) return;
      this.#current = null;
      current.isExcused ||= this.#probed.pid() !== pid || isStopped(pid);
      if (trouble === null) this.#answeredPid = pid;
      else if (!current.isLate) this.#complain(current, `did not answer /healthz: ${trouble}`);
    };
    const asked = get({ host: "127.0.0.1", port: this.#probed.adminPort, path: "/healthz", agent: false });
    asked.on("response", (response) => {
      response.resume().on("error", () => {});
      end(response.statusCode === 200 ? null : `status ${response.statusCode}`);
    });
    asked.on("error", (error) => end(error.message));
  }

  #complain({ pid, isExcused }: { pid: number; isExcused: boolean }, what: string): void {
    if (isExcused || this.#answeredPid !== pid || this.complaints.length >= COMPLAINTS_MAX) return;
    this.complaints.push(`${this.#probed.name} ${what}`);
  }
}

/** Whether SIGSTOP, or a tracer, keeps the process from running; also if it is gone. */
function isStopped(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return "TtZX".includes(stat.charAt(stat.lastIndexOf(")") + 2));
  } catch {
    return true;
  }
}
