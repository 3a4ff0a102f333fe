// The benchmark of status pages: requests per second, beside a minimal static file server in Node and nginx, which send the
// same bytes. All of them run alternately, so that a busy moment affects all.
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { createAccount } from "../../src/operations/accounts.ts";
import { createProject } from "../../src/operations/projects.ts";
import { secretKeyOf } from "../../src/operations/secrets.ts";
import { type Database, openDatabase } from "../../src/store/db.ts";
import { readDatabaseClock } from "../../src/store/instance.ts";
import { migrate } from "../../src/store/migrate.ts";
import { findProjectByUuid } from "../../src/store/projects.ts";
import { samplePage } from "../../test/status/pages.ts";
import { endWithUs } from "../../test/support/end-with-us.ts";
import { startPingProcess } from "../../test/support/ping-process.ts";
import { freePort } from "../../test/support/ports.ts";
import { sampleCheck } from "../../test/support/sample.ts";
import { onEngine } from "../store/engine.ts";
import { mean, printTable, rounded, shown } from "../store/figures.ts";
import type { StatusSize } from "./sizes.ts";

type Figures = Record<string, number>;

const run = promisify(execFile);
const STATIC_SERVER = join(import.meta.dirname, "static-server.ts");
const NGINX = "/usr/sbin/nginx";
const SLUG = "bench";
const END_GRACE_MS = 30_000;
const LOOKS_MAX = 600;
const LOOK_PAUSE_MS = 100;

type Contestant = { name: "ours" | "static" | "nginx"; url: string; rates: number[] };

/** Prints the comparison and returns the figures under flat keys. */
export async function benchStatus(
  size: StatusSize,
  whenInterrupted: (cleanUp: () => Promise<void>) => void,
): Promise<Figures> {
  console.log(`status: ${size.about}`);
  return onEngine(whenInterrupted, async (engine, folder) => {
    const creator = await engine.connect("postgres");
    await creator.query("create database status");
    await creator.end();
    const options = { url: engine.url("status"), applicationName: "overdue-bench", onError: () => {} };
    await migrate(options);
    const database = openDatabase(options);
    await createPage(database, size.entries);
    await database.close();
    const ours = await startPingProcess({ databaseUrl: options.url, port: await freePort(), roles: "web" });
    const servers: ChildProcess[] = [];
    try {
      const url = `http://127.0.0.1:${ours.port}/status/${SLUG}/`;
      const bytes = await pageBytes(url);
      const contestants: Contestant[] = [
        { name: "ours", url, rates: [] },
        { name: "static", url: await startStatic(folder, bytes, servers), rates: [] },
      ];
      if (existsSync(NGINX)) {
        contestants.push({ name: "nginx", url: await startNginx(folder, servers), rates: [] });
      }
      await measure(contestants, size);
      print(contestants, bytes.length);
      return figuresOf(contestants);
    } finally {
      for (const server of servers) {
        const ended = once(server, "exit");
        server.kill("SIGTERM");
        await ended;
      }
      await ours.stop();
    }
  });
}

async function createPage(database: Database, count: number): Promise<void> {
  const now = await readDatabaseClock(database);
  const secretKey = await secretKeyOf(database, null);
  const account = { email: "bench@example.org", name: "", isAdmin: false, checkLimit: null, now };
  const { id: ownerId } = await createAccount(database, account);
  const { uuid } = await createProject(database, { ownerId, name: "Bench", secretKey, now });
  const project = await findProjectByUuid(database, uuid);
  if (project === null) throw new Error("the project that was just created is not there");
  const entries = [];
  for (let index = 0; index < count; index += 1) {
    const check = await sampleCheck(database, { projectId: project.id, name: `job ${index}` });
    entries.push({ name: `Service ${index + 1}`, check: check.uuid, tag: null });
  }
  const groups = [{ name: "Services", entries }];
  await samplePage(database, { projectId: project.id, slug: SLUG, title: "Bench", groups });
}

/** The compressed page, once it is served. */
async function pageBytes(url: string): Promise<Buffer> {
  for (let look = 0; look < LOOKS_MAX; look += 1) {
    const { stdout } = await run("curl", ["-sS", "-H", "Accept-Encoding: gzip", "-w", "%{http_code}", url], {
      encoding: "buffer",
    });
    const code = stdout.subarray(-3).toString("latin1");
    if (code === "200") return stdout.subarray(0, -3);
    await pause(LOOK_PAUSE_MS);
  }
  throw new Error("the status page was not served");
}

async function startStatic(folder: string, bytes: Buffer, servers: ChildProcess[]): Promise<string> {
  const files = join(folder, "files");
  await mkdir(files, { recursive: true });
  await writeFile(join(files, "page"), bytes);
  const port = await freePort();
  const server = spawn(process.execPath, [STATIC_SERVER, join(files, "page"), String(port)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  endWithUs(server);
  servers.push(server);
  await once(server.stdout, "data");
  return `http://127.0.0.1:${port}/page`;
}

/** One worker, because the other two have one process each. */
async function startNginx(folder: string, servers: ChildProcess[]): Promise<string> {
  const port = await freePort();
  const place = join(folder, "nginx");
  await mkdir(place, { recursive: true });
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((name) => `${name}_temp_path ${place}/${name};`)
    .join("\n");
  // Started by root, its worker would not be allowed to read our folder.
  const user = process.getuid?.() === 0 ? "user root;" : "";
  const config = `${user}
worker_processes 1;
pid ${place}/pid;
error_log stderr;
events { worker_connections 1024; }
http {
  access_log off;
  sendfile on;
  keepalive_requests 100000000;
  ${temporary}
  server {
    listen 127.0.0.1:${port};
    location = /page {
      root ${join(folder, "files")};
      default_type "text/html; charset=utf-8";
      add_header Content-Encoding gzip;
      add_header Cache-Control "public, max-age=15";
    }
  }
}
`;
  await writeFile(join(place, "nginx.conf"), config);
  const args = ["-p", place, "-c", join(place, "nginx.conf"), "-e", "stderr", "-g", "daemon off;"];
  const server = spawn(NGINX, args, { stdio: ["ignore", "ignore", "inherit"] });
  endWithUs(server);
  servers.push(server);
  const url = `http://127.0.0.1:${port}/page`;
  for (let look = 0; look < LOOKS_MAX; look += 1) {
    const response = await fetch(url).catch(() => null);
    if (response?.ok === true) return url;
    await pause(LOOK_PAUSE_MS);
  }
  throw new Error("nginx did not start");
}

async function measure(contestants: readonly Contestant[], size: StatusSize): Promise<void> {
  for (const { url } of contestants) await load(url, { ...size, seconds: size.warmUpSeconds });
  for (let round = 0; round < size.rounds; round += 1) {
    const order = round % 2 === 0 ? contestants : contestants.toReversed();
    for (const { url, rates } of order) rates.push(await load(url, size));
  }
}

/** Responses per second. Throws if one failed. */
async function load(
  url: string,
  { connections, seconds }: Pick<StatusSize, "connections" | "seconds">,
): Promise<number> {
  const args = [
    "-t",
    "1",
    "-c",
    String(connections),
    "-d",
    `${seconds}s`,
    "-H",
    "Accept-Encoding: gzip",
    url,
  ];
  const { stdout } = await run("wrk", args, {
    timeout: seconds * 1_000 + END_GRACE_MS,
    killSignal: "SIGKILL",
  });
  if (/Non-2xx|Socket errors/.test(stdout)) throw new Error(`not all requests were answered well: ${stdout}`);
  const rate = /Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1];
  if (rate === undefined) throw new Error(`wrk said nothing about its rate: ${stdout}`);
  return Number(rate);
}

function rateOf(contestants: readonly Contestant[], name: Contestant["name"]): number | null {
  const found = contestants.find((one) => one.name === name);
  return found === undefined ? null : mean(found.rates);
}

function figuresOf(contestants: readonly Contestant[]): Figures {
  const ours = rateOf(contestants, "ours") ?? 0;
  const plain = rateOf(contestants, "static") ?? 0;
  const nginx = rateOf(contestants, "nginx");
  return {
    "status.per_second": rounded(ours),
    "status.static_per_second": rounded(plain),
    "status.over_static": rounded(ours / plain),
    ...(nginx !== null && {
      "status.nginx_per_second": rounded(nginx),
      "status.over_nginx": rounded(ours / nginx),
    }),
  };
}

function print(contestants: readonly Contestant[], byteCount: number): void {
  printTable(`Requests a second for a page of ${byteCount} compressed bytes`, [
    ["", "mean", "by round"],
    ...contestants.map(({ name, rates }) => [
      name,
      shown(mean(rates), 1),
      rates.map((rate) => shown(rate, 0)).join(" "),
    ]),
  ]);
}
