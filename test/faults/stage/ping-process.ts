// One process under test, started as in production: the real program with the role that receives pings. It can be
// killed, stopped, suspended and started again on the same port.
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, existsSync, openSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import { fileURLToPath } from "node:url";
import { COMPILE_CACHE } from "../../support/compile-cache.ts";
import { demand } from "../waiting.ts";
import type { Guardian } from "./guardian.ts";
import { HealthProbe } from "./health-probe.ts";

const MAIN = fileURLToPath(new URL("../../../src/main.ts", import.meta.url));
const START_MS_MAX = 240_000;
const STOP_MS_MAX = 60_000;
const LOG_TAIL_LINES = 15;
const LOG_LINE_LENGTH_MAX = 300;

export type PingProcessOptions = {
  name: string;
  port: number;
  adminPort: number;
  logPath: string;
  environment: Readonly<Record<string, string>>;
  /** Modules that are loaded before the program. */
  preloads: readonly string[];
  guardian: Guardian;
};

export class PingProcess {
  readonly name: string;
  readonly port: number;
  readonly logPath: string;
  readonly #options: PingProcessOptions;
  readonly #probe: HealthProbe;
  #child: ChildProcess | null = null;
  #isEnding = false;
  #exited: Promise<number | null> = Promise.resolve(null);

  constructor(options: PingProcessOptions) {
    this.name = options.name;
    this.port = options.port;
    this.logPath = options.logPath;
    this.#options = options;
    const pid = () => (this.isRunning && !this.#isEnding ? this.pid : null);
    this.#probe = new HealthProbe({ name: options.name, adminPort: options.adminPort, pid });
  }

  /** When it did not answer /healthz although it should have. */
  get healthComplaints(): readonly string[] {
    return this.#probe.complaints;
  }

  /** Stops requesting /healthz. */
  stopProbe(): void {
    this.#probe.stop();
  }

  get pid(): number {
    const pid = this.#child?.pid;
    if (pid === undefined) throw new Error(`${this.name} does not run`);
    return pid;
  }

  get isRunning(): boolean {
    return this.#child !== null && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Starts it and returns immediately. */
  launch(changes: Readonly<Record<string, string>> = {}): void {
    if (this.isRunning) throw new Error(`${this.name} runs already`);
    const { environment, preloads, adminPort, guardian } = this.#options;
    const log = openSync(this.logPath, "a");
    const { OVERDUE_ROLES: roles = "ping" } = environment;
    const args = [...preloads.flatMap((path) => ["--import", path]), MAIN, "serve", "--roles", roles];
    const child = spawn(process.execPath, args, {
      env: {
        ...COMPILE_CACHE,
        ...environment,
        OVERDUE_LISTEN: `127.0.0.1:${this.port}`,
        OVERDUE_ADMIN_LISTEN: `127.0.0.1:${adminPort}`,
        ...changes,
      },
      stdio: ["ignore", log, log],
    });
    closeSync(log);
    guardian.watch(child);
    this.#child = child;
    this.#isEnding = false;
    this.#exited = new Promise((resolve) => child.once("exit", (code) => resolve(code)));
  }

  /** Starts it and waits until it accepts connections. */
  async start(changes: Readonly<Record<string, string>> = {}): Promise<void> {
    this.launch(changes);
    await this.listening();
  }

  /** Resolves when it accepts connections. */
  async listening(withinMs = START_MS_MAX): Promise<void> {
    let ended = false;
    await demand(
      async () => {
        ended = !this.isRunning;
        return ended || (await accepts(this.port));
      },
      { withinMs, what: `${this.name} listens; its log ends with\n${this.logTail()}` },
    );
    if (ended) throw new Error(`${this.name} ended while it was starting:\n${this.logTail()}`);
  }

  /** Starts it and waits until all its roles are ready; for processes that accept no connections. */
  async startInner(changes: Readonly<Record<string, string>> = {}): Promise<void> {
    this.launch(changes);
    await this.ready();
  }

  /** Resolves when the process reports that all its roles are ready. */
  async ready(withinMs = START_MS_MAX): Promise<void> {
    await demand(
      async () => {
        if (!this.isRunning) return true;
        return (await fetch(`http://127.0.0.1:${this.#options.adminPort}/readyz`)).status === 200;
      },
      { withinMs, what: `${this.name} is ready; its log ends with\n${this.logTail()}` },
    );
    if (!this.isRunning) throw new Error(`${this.name} ended while it was starting:\n${this.logTail()}`);
  }

  /** Like a crash or the OOM killer: immediately, without cleanup. */
  async kill(): Promise<void> {
    if (!this.isRunning) return;
    this.#isEnding = true;
    process.kill(this.pid, "SIGKILL");
    await this.#exited;
  }

  /** Stops it gracefully, and returns its exit code. */
  async terminate(): Promise<number | null> {
    if (!this.isRunning) return null;
    this.#isEnding = true;
    const timer = setTimeout(() => void this.kill(), STOP_MS_MAX);
    process.kill(this.pid, "SIGTERM");
    const code = await this.#exited;
    clearTimeout(timer);
    return code;
  }

  freeze(): void {
    process.kill(this.pid, "SIGSTOP");
  }

  thaw(): void {
    process.kill(this.pid, "SIGCONT");
  }

  /** The metrics of the process as text. */
  async metrics(): Promise<string> {
    const response = await fetch(`http://127.0.0.1:${this.#options.adminPort}/metrics`);
    return response.text();
  }

  /** Whether signals go through the spool, according to the process. */
  async isSpooling(): Promise<boolean> {
    const found = /^overdue_intake_detour (\d)/m.exec(await this.metrics());
    if (found === null) throw new Error("the metrics do not say whether signals go through the spool");
    return found[1] === "1";
  }

  /** How many signals it has recorded from the spool since it was started. */
  async replayedCount(): Promise<number> {
    const found = /^overdue_intake_replayed_total (\d+)/m.exec(await this.metrics());
    if (found?.[1] === undefined) throw new Error("the metrics do not say how much was replayed");
    return Number(found[1]);
  }

  log(): string {
    return existsSync(this.logPath) ? readFileSync(this.logPath, "utf8") : "";
  }

  logTail(): string {
    const lines = this.log().trimEnd().split("\n").slice(-LOG_TAIL_LINES);
    return lines.map((line) => line.slice(0, LOG_LINE_LENGTH_MAX)).join("\n");
  }
}

/** Whether a process accepts connections there. */
function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port });
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
