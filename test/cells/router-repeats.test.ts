// A real HAProxy in front of two processes of a cell, one of which hangs, or is busy.
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener, type Server } from "node:http";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parseCells } from "../../src/core/cells.ts";
import { EXCEPTIONS_MAP, routerConfig, SLOTS_MAP, slotsMap } from "../../src/core/router.ts";
import { type Router, startRouter } from "../support/cells.ts";
import { freePort } from "../support/ports.ts";

const UUID = "00000000-0000-4000-8000-000000000001";
const BODY_LIMIT_BYTES = 10_000;
/** Longer than the router waits for the answer to a ping. */
const PAUSE_MS = 6_000;

const folder = mkdtempSync(join(tmpdir(), "overdue-router-"));
const servers: Server[] = [];
const hangs: string[] = [];
let first: "hangs" | "is busy" | "answers" = "hangs";
let router: Router;

beforeAll(async () => {
  const urls = [
    await serve((request, response) => {
      if (first === "hangs") hangs.push(request.method ?? "");
      else if (first === "is busy") response.writeHead(503).end();
      else answer(request, response);
    }),
    await serve(answer),
  ];
  const cells = parseCells(
    JSON.stringify([{ name: "a", urls, hosts: ["a.example.org"], slots: ["000-fff"] }]),
  );
  if ("problem" in cells) throw new Error(cells.problem);
  writeFileSync(join(folder, SLOTS_MAP), slotsMap(cells.value));
  writeFileSync(join(folder, EXCEPTIONS_MAP), "");
  const port = await freePort();
  const config = join(folder, "haproxy.cfg");
  const siteUrl = new URL("http://a.example.org");
  writeFileSync(
    config,
    routerConfig({
      cells: cells.value,
      directory: folder,
      binds: [`127.0.0.1:${port}`],
      siteUrl,
      pingUrl: null,
      pingAliases: [],
      apiUrl: null,
      bodyLimitBytes: BODY_LIMIT_BYTES,
    }),
  );
  router = await startRouter({ config, port });
});

afterAll(async () => {
  await router.stop();
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
  rmSync(folder, { recursive: true });
});

const answer: RequestListener = (request, response) =>
  void text(request).then((body) => response.end(`OK ${body.length}`));

/** Answers the router's health checks. */
async function serve(handler: RequestListener): Promise<string> {
  const port = await freePort();
  const server = createServer((request, response) => {
    if (request.method === "OPTIONS") response.writeHead(204).end();
    else handler(request, response);
  });
  servers.push(server.listen(port, "127.0.0.1"));
  await once(server, "listening");
  return `http://127.0.0.1:${port}`;
}

test("a ping that a process does not answer is answered by the other one", async () => {
  const responses = await Promise.all(
    ["", "body"].map((body) =>
      fetch(`${router.url}/ping/${UUID}`, { method: "POST", body, signal: AbortSignal.timeout(60_000) }),
    ),
  );
  expect(await Promise.all(responses.map((response) => response.text()))).toEqual(["OK 0", "OK 4"]);
  expect(hangs).toContain("POST");
});

test("a ping is sent to the other process if one is busy, unless its length is unknown", async () => {
  first = "is busy";
  const statuses = async (...request: [header: string, body: string]) => {
    const both = await Promise.all([text(post(...request)), text(post(...request))]);
    return both.map((response) => response.slice("HTTP/1.1 ".length).slice(0, 3)).toSorted();
  };
  expect(await statuses("Content-Length: 1", "x")).toEqual(["200", "200"]);
  expect(await statuses("Transfer-Encoding: chunked", "1\r\nx\r\n0\r\n\r\n")).toEqual(["200", "503"]);
});

function post(header: string, body = ""): Socket {
  const socket = connect({ port: Number(new URL(router.url).port), host: "127.0.0.1" });
  socket.write(
    `POST /ping/${UUID} HTTP/1.1\r\nHost: a.example.org\r\nConnection: close\r\n${header}\r\n\r\n${body}`,
  );
  return socket;
}

test.each([1_000, 100_000])("a client may take its time to send a body of %i bytes", async (size) => {
  // A large body is not sent again.
  first = "answers";
  const socket = post(`Content-Length: ${size}`);
  socket.write("x".repeat(size / 2));
  const response = text(socket);
  await sleep(PAUSE_MS);
  socket.write("x".repeat(size / 2));
  expect(await response).toMatch(new RegExp(`^HTTP/1.1 200 [^]*OK ${size}`));
});
