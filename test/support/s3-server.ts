// A real S3-compatible server (Versity's gateway over a folder), on loopback, for tests that move bodies. Started and
// stopped by the test, so that outages are real.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type ObjectStore, type ObjectStoreOptions, openObjectStore } from "../../src/lib/object-store.ts";
import { freePort } from "./ports.ts";

/** Where .ci/install puts it. */
const PROGRAM = "/usr/local/bin/versitygw";
const START_ATTEMPTS_MAX = 600;
const START_POLL_MS = 50;
const CALL_MS_MAX = 10_000;
const OBJECT_BYTES_MAX = 1_000_000;

/** It is built with Go; without it these tests are skipped. */
export const isS3ServerInstalled = existsSync(PROGRAM);

/** For the name of a suite that needs it: why it is skipped. */
export const WHY_SKIPPED = isS3ServerInstalled
  ? ""
  : `, but there is no ${PROGRAM}: .ci/install makes it with Go`;

export class S3Server {
  readonly bucket = "bodies";
  readonly accessKey = "overdue";
  readonly secretKey = "not-a-real-secret";
  readonly port: number;
  readonly #folder: string;
  #child: ChildProcess | null = null;

  private constructor(port: number) {
    this.port = port;
    this.#folder = mkdtempSync(join(tmpdir(), "overdue-s3-"));
    mkdirSync(join(this.#folder, this.bucket));
  }

  /** With an empty bucket, and not running yet. */
  static async make(): Promise<S3Server> {
    return new S3Server(await freePort());
  }

  async start(): Promise<void> {
    const child = spawn(PROGRAM, ["--quiet", "--port", `127.0.0.1:${this.port}`, "posix", this.#folder], {
      env: { ROOT_ACCESS_KEY: this.accessKey, ROOT_SECRET_KEY: this.secretKey },
      stdio: "ignore",
    });
    this.#child = child;
    const kill = () => child.kill("SIGKILL");
    process.once("exit", kill);
    child.once("exit", () => process.off("exit", kill));
    for (let attempt = 1; !(await isListening(this.port)); attempt++) {
      if (attempt === START_ATTEMPTS_MAX || child.exitCode !== null) throw new Error("no S3 server came up");
      await sleep(START_POLL_MS);
    }
  }

  async stop(): Promise<void> {
    const child = this.#child;
    this.#child = null;
    if (child === null) return;
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
  }

  async remove(): Promise<void> {
    await this.stop();
    rmSync(this.#folder, { recursive: true });
  }

  /** The server for our client. */
  open(changes: Partial<ObjectStoreOptions> = {}): ObjectStore {
    return openObjectStore({
      endpoint: `http://127.0.0.1:${this.port}`,
      bucket: this.bucket,
      region: "us-east-1",
      accessKey: this.accessKey,
      secretKey: this.secretKey,
      timeoutMs: CALL_MS_MAX,
      objectBytesMax: OBJECT_BYTES_MAX,
      ...changes,
    });
  }

  /** The server as in the settings. */
  settings(): Record<string, string> {
    return {
      S3_ENDPOINT: `127.0.0.1:${this.port}`,
      S3_SECURE: "False",
      S3_BUCKET: this.bucket,
      S3_ACCESS_KEY: this.accessKey,
      S3_SECRET_KEY: this.secretKey,
      S3_TIMEOUT: "5",
    };
  }
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => socket.end(() => resolve(true)));
    socket.once("error", () => resolve(false));
  });
}
