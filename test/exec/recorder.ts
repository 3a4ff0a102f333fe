// Runs the real commands against a recorder of pings on loopback.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach } from "vitest";
import { COMPILE_CACHE } from "../support/compile-cache.ts";
import { endWithUs } from "../support/end-with-us.ts";

const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url));

export type Recorded = {
  atMs: number;
  method: string;
  /** Below /ping. */
  path: string;
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
  body: string;
};

export type Recorder = {
  url: string;
  requests: Recorded[];
  /** The last part of each path: what was sent, in order. */
  sent(): string[];
  /** How to answer; replaced by tests. */
  answer: (response: ServerResponse, request: Recorded) => void;
};

const cleanups: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).toReversed()) await clean();
});

/** A server that records pings, and announces what ours does. */
export async function startRecorder(): Promise<Recorder> {
  const recorder: Recorder = {
    url: "",
    requests: [],
    sent: () => recorder.requests.map(({ path }) => path.split("/")[2] ?? ""),
    answer: (response) => {
      response.setHeader("Ping-Body-Limit", "10000");
      response.setHeader("Ping-Features", "at");
      response.end("OK");
    },
  };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const url = new URL(request.url ?? "", "http://recorder");
      const recorded: Recorded = {
        atMs: performance.now(),
        method: request.method ?? "",
        path: url.pathname.replace("/ping/", ""),
        query: url.searchParams,
        headers: request.headers,
        body: Buffer.concat(chunks).toString("utf8"),
      };
      recorder.requests.push(recorded);
      recorder.answer(response, recorded);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  recorder.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/ping`;
  cleanups.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return recorder;
}

export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "overdue-exec-test-"));
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export type Ended = {
  code: number | null;
  signal: NodeJS.Signals | null;
  out: string;
  err: string;
  ms: number;
};

export type Started = { child: ChildProcess; ended: Promise<Ended> };

/** The environment of a job that reports to a URL. Nothing of the environment of the tests. */
export function environmentFor(url: string, more: Record<string, string | undefined> = {}) {
  const environment: Record<string, string | undefined> = {
    PATH: "/usr/local/bin:/usr/bin:/bin",
    HC_API_URL: url,
    PING_KEY: "secret-ping-key",
    CHECK_SLUG: "job",
    ...COMPILE_CACHE,
    ...more,
  };
  environment["OVERDUE_QUEUE"] ??= join(newFolder(), "queue");
  return environment;
}

/** Starts `overdue` with the arguments. */
export function start(
  args: readonly string[],
  environment: Record<string, string | undefined>,
  input = "",
): Started {
  const startedAt = performance.now();
  const child = spawn(process.execPath, [MAIN, ...args], { env: environment, stdio: "pipe" });
  endWithUs(child);
  child.stdin.on("error", () => {});
  child.stdin.end(input);
  let out = "";
  let err = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    err += text;
  });
  const ended = new Promise<Ended>((resolve) => {
    child.once("exit", (code, signal) => {
      const ms = performance.now() - startedAt;
      // A process that the job has left may hold the output open.
      const finish = () => resolve({ code, signal, out, err, ms });
      const timer = setTimeout(finish, 1_000);
      child.once("close", () => {
        clearTimeout(timer);
        finish();
      });
    });
  });
  return { child, ended };
}

export function run(
  args: readonly string[],
  environment: Record<string, string | undefined>,
  input = "",
): Promise<Ended> {
  return start(args, environment, input).ended;
}
