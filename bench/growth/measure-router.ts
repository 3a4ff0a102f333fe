// What a router costs: HAProxy that finds the cell of a ping in map files, on kept connections with and without exceptions,
// and with a new TLS connection for every ping. Another HAProxy stands for the cell and answers at once.
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { endWithUs } from "../../test/support/end-with-us.ts";
import { freePort } from "../../test/support/ports.ts";
import { countAnswered } from "../ping/wrk.ts";
import { secondsOf } from "./processor-time.ts";
import type { Costs } from "./sizing.ts";
import type { GrowthSize } from "./sizes.ts";

const run = promisify(execFile);

const HAPROXY = "/usr/sbin/haproxy";
/** Slots of ids: three hexadecimal digits. */
const SLOTS = 4_096;
const CELLS = 100;
const START_LOOKS_MAX = 600;
const LOOK_PAUSE_MS = 100;
/** Lines of a map file that are written at a time. */
const LINES_AT_A_TIME = 100_000;
const US = 1_000_000;

export const isHaproxyInstalled = existsSync(HAPROXY);

/** Microseconds of the router for a ping. */
export async function measureRouter(
  size: GrowthSize,
  { uuidsPath, folder }: { uuidsPath: string; folder: string },
): Promise<Pick<Costs, "tlsUs" | "routeUs">> {
  const routers: Router[] = [];
  const cell = await startCell(folder);
  try {
    const { some, many } = size.exceptions;
    for (const exceptions of [0, some, many]) {
      routers.push(await startRouter({ folder, exceptions, cellPort: cell.port, uuidsPath, isTls: false }));
    }
    routers.push(await startRouter({ folder, exceptions: 0, cellPort: cell.port, uuidsPath, isTls: true }));
    const used = routers.map(() => 0);
    const answered = routers.map(() => 0);
    // In turns, so that a busy moment affects all.
    for (let round = 0; round < size.routerRounds; round += 1) {
      for (const [index, { pid, url }] of routers.entries()) {
        const before = secondsOf([pid]);
        const load = { url, uuidsPath, bodyBytes: 0, connections: size.connections };
        const count = await countAnswered({ ...load, seconds: size.routerSeconds });
        used[index] = (used[index] ?? 0) + secondsOf([pid]) - before;
        answered[index] = (answered[index] ?? 0) + count;
      }
    }
    const [none = 0, hundredThousand = 0, million = 0, tlsUs = 0] = used.map(
      (seconds, index) => (seconds * US) / (answered[index] ?? 1),
    );
    return { tlsUs, routeUs: { none, hundredThousand, million } };
  } finally {
    for (const { child } of [...routers, cell]) {
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
    }
  }
}

type Router = { child: ChildProcess; pid: number; port: number; url: string };

/** Responds 200 to everything. */
async function startCell(folder: string): Promise<Router> {
  const port = await freePort();
  const lines = [
    "frontend cell",
    `  bind 127.0.0.1:${port}`,
    `  http-request return status 200 content-type text/plain string OK`,
  ];
  return startHaproxy({ folder: join(folder, "cell"), port, scheme: "http", lines });
}

async function startRouter(given: {
  folder: string;
  exceptions: number;
  cellPort: number;
  uuidsPath: string;
  isTls: boolean;
}): Promise<Router> {
  const { exceptions, cellPort, isTls } = given;
  const folder = join(given.folder, `router-${exceptions}${isTls ? "-tls" : ""}`);
  await mkdir(folder, { recursive: true });
  const port = await freePort();
  await writeFile(join(folder, "slots.map"), slotLines());
  await writeExceptions(join(folder, "exceptions.map"), exceptions);
  const certificate = isTls ? ` ssl crt ${await createCertificate(folder)} no-tls-tickets` : "";
  const servers = Array.from({ length: CELLS }, (_, cell) => [
    `backend cell-${cell}`,
    `  server edge 127.0.0.1:${cellPort}`,
  ]);
  const lines = [
    "frontend pings",
    `  bind 127.0.0.1:${port}${certificate}`,
    ...(isTls ? ["  http-after-response set-header Connection close", "  option httpclose"] : []),
    "  http-request set-var(txn.id) path,field(3,/)",
    `  http-request set-var(txn.cell) var(txn.id),map_str(${join(folder, "exceptions.map")})`,
    `  http-request set-var(txn.cell) var(txn.id),bytes(0,3),map_str(${join(folder, "slots.map")},0) unless { var(txn.cell) -m found }`,
    "  use_backend cell-%[var(txn.cell)]",
    ...servers.flat(),
  ];
  return startHaproxy({ folder, port, scheme: isTls ? "https" : "http", lines });
}

function slotLines(): string {
  return Array.from(
    { length: SLOTS },
    (_, slot) => `${slot.toString(16).padStart(3, "0")} ${slot % CELLS}\n`,
  ).join("");
}

/** Ids that no ping of this benchmark has, which costs most: nothing is found, and the slot is looked up, too. */
async function writeExceptions(path: string, count: number): Promise<void> {
  await writeFile(path, "");
  for (let written = 0; written < count; written += LINES_AT_A_TIME) {
    const lines = Array.from(
      { length: Math.min(LINES_AT_A_TIME, count - written) },
      (_, index) => `${randomUUID()} ${index % CELLS}\n`,
    );
    await writeFile(path, lines.join(""), { flag: "a" });
  }
}

/** A certificate of its own, with a key as public authorities use it now. */
async function createCertificate(folder: string): Promise<string> {
  const [key, certificate] = [join(folder, "key.pem"), join(folder, "certificate.pem")];
  const kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
  await run("openssl", [
    "req",
    "-x509",
    ...kind,
    "-subj",
    "/CN=localhost",
    "-keyout",
    key,
    "-out",
    certificate,
  ]);
  const both = join(folder, "both.pem");
  await writeFile(both, (await readFile(certificate, "utf8")) + (await readFile(key, "utf8")));
  return both;
}

async function startHaproxy(given: {
  folder: string;
  port: number;
  scheme: string;
  lines: readonly string[];
}): Promise<Router> {
  const { folder, port, scheme, lines } = given;
  await mkdir(folder, { recursive: true });
  const path = join(folder, "haproxy.cfg");
  const common = [
    "global",
    "  maxconn 4096",
    "  nbthread 1",
    // No session is resumed: cron jobs start a new process for every ping.
    "  tune.ssl.cachesize 0",
    "defaults",
    "  mode http",
    "  timeout connect 5s",
    "  timeout client 60s",
    "  timeout server 60s",
  ];
  await writeFile(path, `${[...common, ...lines].join("\n")}\n`);
  const child = spawn(HAPROXY, ["-db", "-q", "-f", path], { stdio: ["ignore", "ignore", "inherit"] });
  endWithUs(child);
  for (let look = 0; look < START_LOOKS_MAX; look += 1) {
    if (await isListening(port)) {
      return { child, pid: child.pid ?? 0, port, url: `${scheme}://127.0.0.1:${port}` };
    }
    await pause(LOOK_PAUSE_MS);
  }
  throw new Error("HAProxy did not start");
}

async function isListening(port: number): Promise<boolean> {
  const socket = connect({ port, host: "127.0.0.1" });
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
