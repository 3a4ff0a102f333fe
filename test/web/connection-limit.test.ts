// More connections than the limit, each with a request that used to be held for ever, and then a ping. The program runs
// in a process of its own with the default limit of 10,000.
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { UNKNOWN_UUID } from "../management/cast.ts";
import { RawConnection, rawRequest } from "../ping/raw-http.ts";
import { useOwnPostgres } from "../support/own-postgres.ts";
import { type PingProcess, startPingProcess } from "../support/ping-process.ts";
import { freePort } from "../support/ports.ts";
import { sampleCheck, sampleProject } from "../support/sample.ts";

const CONNECTIONS = 10_150;
/** Each end of the connections needs a descriptor for each of them, and some for other things. */
const DESCRIPTORS_MIN = CONNECTIONS + 500;
const AT_ONCE = 200;
const TEST_MS_MAX = 240_000;

const postgres = useOwnPostgres();
let program: PingProcess | undefined;
let port: number;
let uuid: string;
const sockets = new Set<Socket>();

beforeAll(async () => {
  const { id } = await sampleProject(postgres.db);
  ({ uuid } = await sampleCheck(postgres.db, { projectId: id }));
  port = await freePort();
  program = await startPingProcess({
    databaseUrl: postgres.server.url(),
    port,
    roles: "ping,api,web",
  });
});

afterEach(async () => {
  await Promise.all([...sockets].map((socket) => once(socket.destroy(), "close")));
});

afterAll(async () => {
  await program?.stop();
});

function descriptorLimit(): number {
  const found = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"));
  return Number(found?.[1] ?? 0);
}

/** Resolves once the request is sent, or the connection was refused. */
function openOne({ text, isHalfClosed }: { text: string; isHalfClosed: boolean }): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect({ port: port, host: "127.0.0.1", allowHalfOpen: true });
    sockets.add(socket);
    socket.once("close", () => {
      sockets.delete(socket);
      resolve();
    });
    socket.on("error", () => socket.destroy());
    socket.once("connect", () => {
      socket.resume();
      socket.write(text, () => resolve());
      if (isHalfClosed) socket.end();
    });
  });
}

async function openAll(text: string, { isHalfClosed = false } = {}): Promise<void> {
  for (let opened = 0; opened < CONNECTIONS; opened += AT_ONCE) {
    await Promise.all(Array.from({ length: AT_ONCE }, () => openOne({ text, isHalfClosed })));
  }
}

const HOST = "Host: localhost\r\nContent-Type: application/json\r\n";

test.skipIf(descriptorLimit() < DESCRIPTORS_MIN).each([
  ["POST without a length", `POST /accounts/login/password/ HTTP/1.1\r\n${HOST}\r\n`, {}],
  [
    "DELETE without a length, half closed",
    `DELETE /api/overdue/v1/checks/${UNKNOWN_UUID} HTTP/1.1\r\n${HOST}\r\n`,
    { isHalfClosed: true },
  ],
  [
    "a body that never ends",
    `POST /accounts/login/password/ HTTP/1.1\r\n${HOST}Content-Length: 9\r\n\r\nhalf`,
    {},
  ],
])(
  `10,150 connections with %s do not keep a ping out`,
  async (_, text, options) => {
    await openAll(text, options);
    for (let n = 0; n < 20; n += 1) {
      const answer = await rawRequest(port, `GET /ping/${uuid} HTTP/1.1\r\nHost: x\r\n\r\n`);
      expect(answer).toMatchObject({ status: 200, body: "OK" });
    }
  },
  TEST_MS_MAX,
);

test("a half-closed connection whose request was answered is gone", async () => {
  const connection = await RawConnection.open(
    port,
    `DELETE /api/overdue/v1/checks/${UNKNOWN_UUID} HTTP/1.1\r\n${HOST}\r\n`,
  );
  connection.closeHalf();
  expect((await connection.next())?.status).toBeLessThan(500);
  await connection.closed();
});
