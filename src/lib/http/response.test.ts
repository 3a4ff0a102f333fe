// Asynchronous responses: each is sent once, however the handler ends.
import { once } from "node:events";
import { createServer, request as send, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import {
  type AsyncHandler,
  asyncHandler,
  type AsyncHandlerOptions,
  type HttpResponse,
  writePieces,
} from "./response.ts";

const servers = new Set<ReturnType<typeof createServer>>();
afterEach(() => {
  for (const server of servers) {
    server.close();
    server.closeAllConnections();
  }
  servers.clear();
});

type Served = { url: string; counts: AsyncHandler["counts"] };

async function serve(given: Partial<AsyncHandlerOptions>): Promise<Served> {
  const { handle, counts } = wrapped({
    answer: async () => plain(200, "fine"),
    instead: (error) => plain(503, error instanceof Error ? error.message : "busy"),
    atOnceMax: 10,
    ...given,
  });
  const server = createServer(handle).listen(0, "127.0.0.1");
  servers.add(server);
  await once(server, "listening");
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, counts };
}

function wrapped(options: AsyncHandlerOptions) {
  const answers = asyncHandler(options);
  const handle: AsyncHandler["handle"] = (request, response) => answers.handle(request, response);
  return { handle, counts: () => answers.counts() };
}

function plain(status: number, body: HttpResponse["body"]): HttpResponse {
  return { status, headers: { "Content-Type": "text/plain" }, body };
}

test("a response is sent with its length and the common headers", async () => {
  const { url, counts } = await serve({ answer: async () => plain(200, "später") });
  const response = await fetch(url);
  expect(await response.text()).toBe("später");
  expect(response.headers.get("content-length")).toBe("7");
  expect(response.headers.get("x-content-type-options")).toBe("nosniff");
  expect(counts()).toEqual({ 200: 1 });
});

test("a failed one gets the replacement response", async () => {
  const { url, counts } = await serve({ answer: async () => Promise.reject(new Error("no luck")) });
  const response = await fetch(url);
  expect([response.status, await response.text()]).toEqual([503, "no luck"]);
  expect(counts()).toEqual({ 503: 1 });
});

test("requests beyond the limit are rejected, and served later", async () => {
  const gate = Promise.withResolvers<HttpResponse>();
  const { url } = await serve({ atOnceMax: 1, answer: () => gate.promise });
  const first = fetch(url);
  await expect.poll(async () => (await fetch(url)).text()).toBe("busy");
  gate.resolve(plain(200, "at last"));
  expect(await (await first).text()).toBe("at last");
  expect(await (await fetch(url)).text()).toBe("at last");
});

async function* pieces(list: readonly string[], end?: Error): AsyncGenerator<string> {
  yield* list;
  if (end !== undefined) throw end;
}

test("pieces are sent as they are produced; none are sent to HEAD", async () => {
  const { url } = await serve({ answer: async () => plain(200, pieces(["a", "b", "c"])) });
  expect(await (await fetch(url)).text()).toBe("abc");
  const head = await fetch(url, { method: "HEAD" });
  expect([head.status, await head.text()]).toEqual([200, ""]);
});

test("an interrupted stream does not look complete", async () => {
  const broken = pieces(["a"], new Error("no more"));
  const { url } = await serve({ answer: async () => plain(200, broken) });
  await expect(fetch(url).then((response) => response.text())).rejects.toThrow("terminated");
});

test("a response that cannot be sent closes the connection", async () => {
  const { url } = await serve({
    answer: async () => ({ status: 200, headers: { Broken: "two\nlines" }, body: "" }),
  });
  await expect(fetch(url)).rejects.toThrow("fetch failed");
});

test("a client that disconnects frees its slot", async () => {
  const gate = Promise.withResolvers<HttpResponse>();
  const { url } = await serve({ atOnceMax: 1, answer: () => gate.promise });
  const gone = send(url).end();
  gone.on("error", () => {});
  await expect.poll(async () => (await fetch(url)).text()).toBe("busy");
  gone.destroy();
  gate.resolve(plain(200, pieces(["x".repeat(1_000_000)])));
  await expect.poll(async () => (await fetch(url)).status).toBe(200);
});

// Streamed responses: at the speed of the client, and no longer than it is connected.

const PIECE = "x".repeat(256 * 1024);
const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

type Counted = { made: number; isEnded: boolean };

async function* endless(counted: Counted): AsyncGenerator<string> {
  try {
    for (;;) {
      counted.made += 1;
      yield PIECE;
    }
  } finally {
    counted.isEnded = true;
  }
}

/** A server that responds with `work`, and a client that has sent a request and does not read. */
async function stalledClient(
  work: (response: ServerResponse) => Promise<void>,
): Promise<{ client: Socket; done: Promise<void> }> {
  const done = Promise.withResolvers<void>();
  const server = createServer((_, response) => {
    work(response).then(done.resolve, done.reject);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
  ends.push(() => {
    client.destroy();
    server.close();
    server.closeAllConnections();
  });
  client.on("error", () => undefined);
  await once(client, "connect");
  client.pause();
  client.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  return { client, done: done.promise };
}

test("no more chunks are produced than the client reads, and a stalled client is disconnected", async () => {
  const counted = { made: 0, isEnded: false };
  const { done } = await stalledClient((response) =>
    writePieces(response, endless(counted), { stalledMsMax: 500 }),
  );
  await done;
  expect(counted.isEnded).toBe(true);
  // What the sockets of both sides buffer, and no more.
  expect(counted.made).toBeLessThan(200);
});

test("the source ends when the client disconnects", async () => {
  const counted = { made: 0, isEnded: false };
  const { client, done } = await stalledClient((response) => writePieces(response, endless(counted)));
  await expect.poll(() => counted.made).toBeGreaterThan(0);
  client.destroy();
  await done;
  expect(counted.isEnded).toBe(true);
});

test("a source that fails rejects", async () => {
  const failing = async function* failing(): AsyncGenerator<string> {
    yield "a";
    throw new Error("planted");
  };
  const { done } = await stalledClient(async (response) => {
    await writePieces(response, failing()).finally(() => response.destroy());
  });
  await expect(done).rejects.toThrow("planted");
});
