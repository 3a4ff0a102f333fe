// A real HAProxy in front of several receiving processes. It sends a request to another one if it got no answer.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { freePort } from "../../support/ports.ts";
import type { Guardian } from "../stage/guardian.ts";
import { demand } from "../waiting.ts";

const PROGRAM = "/usr/sbin/haproxy";
const START_MS_MAX = 60_000;
/** A request that does not fit into a buffer cannot be repeated. */
const BUFFER_BYTES = 128 * 1024;

export const isRouterInstalled = existsSync(PROGRAM);

export class Router {
  readonly port: number;
  readonly #child: ChildProcess;

  private constructor(port: number, child: ChildProcess) {
    this.port = port;
    this.#child = child;
  }

  /** Resolves when it accepts connections. */
  static async start(given: {
    ports: readonly number[];
    folder: string;
    guardian: Guardian;
  }): Promise<Router> {
    const { ports, folder, guardian } = given;
    const port = await freePort();
    const path = join(folder, "haproxy.cfg");
    writeFileSync(path, settings(port, ports));
    const child = spawn(PROGRAM, ["-db", "-q", "-f", path], { stdio: "ignore" });
    guardian.watch(child);
    await demand(() => accepts(port), { withinMs: START_MS_MAX, what: "HAProxy accepts connections" });
    return new Router(port, child);
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await exited;
  }
}

function settings(port: number, ports: readonly number[]): string {
  const servers = ports.map(
    (one, index) => `  server edge${index + 1} 127.0.0.1:${one} check inter 200ms fall 2 rise 1`,
  );
  return `global
  maxconn 4000
  tune.bufsize ${BUFFER_BYTES}
defaults
  mode http
  timeout connect 1s
  timeout client 60s
  timeout server 4s
  timeout http-request 20s
  option http-buffer-request
  option redispatch 1
  retries 3
  retry-on conn-failure empty-response response-timeout 503
frontend pings
  bind 127.0.0.1:${port}
  default_backend edges
backend edges
  balance roundrobin
${servers.join("\n")}
`;
}

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
