// The listener alone, with handlers made for the tests: which handler gets a request, and which connections are
// closed. Behavior over the wire is tested with the first service that uses it.
import { once } from "node:events";
import { type IncomingMessage, request as httpRequest, type ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import { createLog } from "../log.ts";
import { type HttpHandler, type HttpListener, httpListener, type HttpListenerOptions } from "./listener.ts";

const silent = createLog({ level: "fatal" });
const started: HttpListener[] = [];
const sockets: Socket[] = [];

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await Promise.all(started.splice(0).map((listener) => listener.stop()));
});

async function listen(
  handlers: readonly HttpHandler[],
  options: Partial<HttpListenerOptions> = {},
): Promise<{ listener: HttpListener; origin: string; port: number }> {
  const listener = httpListener({
    name: "test",
    listen: { host: "127.0.0.1", port: 0 },
    handlers,
    connectionsMax: 100,
    requestTimeoutMs: 5_000,
    stopGraceMs: 200,
    log: silent,
    ...options,
  });
  expect(listener.address()).toBeNull();
  expect(listener.problem()).toBe("not listening");
  await listener.start();
  started.push(listener);
  const port = listener.address()?.port ?? 0;
  return { listener, port, origin: `http://127.0.0.1:${port}` };
}

/** Answers requests below its path with its name. */
function under(path: string, name: string): HttpHandler {
  return {
    handles: ({ url }) => url?.startsWith(path) === true,
    handle: (_request, response) => void response.end(name),
  };
}

/** Answers when the test calls it. */
function waiting(): HttpHandler & { owed: ServerResponse[] } {
  const owed: ServerResponse[] = [];
  return { owed, handles: () => true, handle: (_request, response) => void owed.push(response) };
}

async function open(
  port: number,
  text = "",
  from = "127.0.0.1",
): Promise<{ socket: Socket; said: () => string }> {
  let said = "";
  const socket = connect({ port, host: "127.0.0.1", localAddress: from });
  sockets.push(socket);
  socket.setEncoding("latin1").on("data", (chunk: string) => {
    said += chunk;
  });
  socket.on("error", () => socket.destroy());
  await once(socket, "connect");
  socket.write(text);
  return { socket, said: () => said };
}

const GET = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

describe("requests", () => {
  test("are passed to the first handler that accepts them", async () => {
    const { origin } = await listen([under("/a", "first"), under("/a/b", "never"), under("/b", "second")]);
    expect(await (await fetch(`${origin}/a/b`)).text()).toBe("first");
    expect(await (await fetch(`${origin}/b`)).text()).toBe("second");
  });

  test.each([
    ["without bodies", "GET /%d HTTP/1.1\r\nHost: x\r\n\r\n"],
    ["with bodies", "POST /%d HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"],
  ])("that are sent without waiting for answers are handled a few at a time (%s)", async (_, text) => {
    const owed: ServerResponse[] = [];
    let bytesRead = 0;
    const handler: HttpHandler = {
      handles: () => true,
      handle: (request, response) => {
        bytesRead = request.socket.bytesRead;
        request.on("data", () => {}).on("end", () => owed.push(response));
      },
    };
    const { port } = await listen([handler]);
    const count = 20_000;
    const all = Array.from({ length: count }, (_unused, at) => text.replace("%d", String(at))).join("");
    const { said } = await open(port, all);
    const answered: string[] = [];
    while (answered.length < count) {
      await expect.poll(() => owed.length, { interval: 1 }).toBeGreaterThan(0);
      // What the server has read, answered or not, stays within a few reads from the socket.
      const readAhead = bytesRead - answered.length * (all.length / count);
      expect(readAhead).toBeLessThan(4 * 65_536);
      await pause(0);
      expect(owed.length).toBeLessThanOrEqual(32);
      for (const response of owed.splice(0)) {
        answered.push(response.req.url ?? "");
        response.end("ok");
      }
    }
    expect(answered).toEqual(Array.from({ length: count }, (_unused, at) => `/${at}`));
    await expect.poll(() => said().split("HTTP/1.1 200 OK").length - 1).toBe(count);
  });

  test("that match no handler are answered 404, HEAD without a body", async () => {
    const { origin } = await listen([under("/a", "a")]);
    const response = await fetch(`${origin}/c`);
    expect(response.status).toBe(404);
    expect(await response.text()).toBe("not found");
    expect(response.headers.get("x-frame-options")).toBe("DENY");
    const head = await fetch(`${origin}/c`, { method: "HEAD" });
    expect(head.status).toBe(404);
    expect(head.headers.get("content-length")).toBe("9");
  });

  test("that match no handler get a page in a browser, and plain text otherwise", async () => {
    const unmatchedPage = {
      headers: { "Content-Type": "text/html; charset=utf-8" },
      html: "<p>Nothing – here</p>",
    };
    const { origin } = await listen([], { unmatchedPage });
    const get = (headers: Record<string, string>, method = "GET") =>
      fetch(`${origin}/a`, { method, headers });
    const shown = await get({ accept: "text/html,application/xhtml+xml,*/*;q=0.8" });
    expect([shown.status, await shown.text()]).toEqual([404, unmatchedPage.html]);
    expect(shown.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(shown.headers.get("x-content-type-options")).toBe("nosniff");
    expect(await (await get({ accept: "*/*" })).text()).toBe("not found");
    expect(await (await get({ accept: "text/html" }, "POST")).text()).toBe("not found");
  });

  test("on which a handler throws are answered 500, and the next one normally", async () => {
    const broken: HttpHandler = {
      handles: ({ url }) => url === "/broken",
      handle: () => {
        throw new Error("planted");
      },
    };
    const doubtful: HttpHandler = {
      handles: ({ url }) => {
        if (url === "/doubtful") throw new Error("planted");
        return url === "/begun";
      },
      handle: (_request, response) => {
        response.write("half");
        throw new Error("planted");
      },
    };
    const { origin } = await listen([broken, doubtful, under("/", "fine")]);
    for (const path of ["/broken", "/doubtful"]) {
      const response = await fetch(origin + path);
      expect(response.status).toBe(500);
      expect(await response.text()).toBe("internal server error");
    }
    await expect(fetch(`${origin}/begun`).then((response) => response.text())).rejects.toThrow(
      /terminated|failed/,
    );
    expect(await (await fetch(`${origin}/`)).text()).toBe("fine");
  });

  test("with a body reach their handler as a stream", async () => {
    const echo: HttpHandler = {
      handles: () => true,
      handle: (request: IncomingMessage, response) => void request.pipe(response),
    };
    const { origin } = await listen([echo]);
    const body = "x".repeat(300_000);
    expect(await (await fetch(origin, { method: "POST", body })).text()).toBe(body);
  });
});

describe("deadlines", () => {
  test("a request without a body ends for a handler that waits for its end", async () => {
    const waitsForEnd: HttpHandler = {
      handles: () => true,
      handle: (request, response) => void request.resume().once("end", () => response.end("whole")),
    };
    const { port } = await listen([waitsForEnd]);
    for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE"]) {
      const { said } = await open(port, `${method} / HTTP/1.1\r\nHost: x\r\nContent-Type: a/b\r\n\r\n`);
      await expect.poll(said).toContain("whole");
    }
  });

  test("a request that its handler never answers gets 503, and its connection is closed", async () => {
    const handler = waiting();
    const { listener, port } = await listen([handler], { answerTimeoutMs: 300 });
    const plain = await open(port, GET);
    const halfClosed = await open(port, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi");
    halfClosed.socket.end();
    for (const { said, socket } of [plain, halfClosed]) {
      await expect.poll(said).toMatch(/^HTTP\/1\.1 503 .*\r\nConnection: close\r\n/s);
      await expect.poll(() => socket.readableEnded || socket.destroyed).toBe(true);
    }
    await expect.poll(() => listener.connectionCounts()).toMatchObject({ open: 0, unanswered: 2 });
  });

  test("an unanswered request is not kept by an unfinished one behind it", async () => {
    const { listener, port } = await listen([waiting()], { answerTimeoutMs: 500, requestTimeoutMs: 500 });
    await open(port, `${GET}POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf`);
    await expect.poll(() => listener.connectionCounts().timedOut).toBe(1);
    await expect.poll(() => listener.connectionCounts().open).toBe(0);
  });

  test("a response that stalls is closed, one that continues is not", async () => {
    const streams: HttpHandler = {
      handles: () => true,
      handle: ({ url }, response) => {
        response.write("begun");
        if (url === "/stops") return;
        const timer = setInterval(() => response.write("."), 50);
        response.once("close", () => clearInterval(timer));
      },
    };
    const { listener, port } = await listen([streams], { answerTimeoutMs: 1_000 });
    const goesOn = await open(port, "GET /goes-on HTTP/1.1\r\nHost: x\r\n\r\n");
    const stops = await open(port, "GET /stops HTTP/1.1\r\nHost: x\r\n\r\n");
    await expect.poll(() => stops.socket.destroyed || stops.socket.readableEnded).toBe(true);
    expect(stops.said()).toContain("begun");
    await pause(1_500);
    expect(goesOn.socket.readableEnded).toBe(false);
    expect(listener.connectionCounts().open).toBe(1);
  });

  test("a client that stops reading a long response is disconnected, and the response is notified", async () => {
    let closedAnswers = 0;
    const endless: HttpHandler = {
      handles: () => true,
      handle: (_request, response) => {
        const fill = () => {
          while (!response.destroyed && response.write("x".repeat(100_000)));
        };
        response.on("drain", fill).once("close", () => void (closedAnswers += 1));
        fill();
      },
    };
    const { listener, port } = await listen([endless], { requestTimeoutMs: 1_000 });
    const deaf = await open(port);
    deaf.socket.pause();
    deaf.socket.write(GET);
    await expect.poll(() => closedAnswers).toBe(1);
    expect(listener.connectionCounts().open).toBe(0);
  });
});

describe("connections beyond the limit", () => {
  test("take the place of an idle one, however many others wait for an answer", async () => {
    const handler = waiting();
    const { listener, port } = await listen([handler], { connectionsMax: 101 });
    for (let n = 0; n < 100; n += 1) await open(port, GET);
    await open(port);
    await expect.poll(() => handler.owed.length).toBe(100);
    await open(port, GET);
    await expect.poll(() => handler.owed.length).toBe(101);
    expect(listener.connectionCounts()).toMatchObject({ open: 101, evicted: 1, refused: 0 });
  });

  test("take the place of one of the network that holds the most", async () => {
    const handler = waiting();
    const { listener, port } = await listen([handler], { connectionsMax: 100, requestTimeoutMs: 60_000 });
    const unfinished = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf";
    const [quiet, slow] = [await open(port, "", "127.0.0.2"), await open(port, unfinished, "127.0.0.2")];
    for (let n = 0; n < 98; n += 1) await open(port, n % 2 === 0 ? unfinished : "", "127.0.0.3");
    await expect.poll(() => listener.connectionCounts().open).toBe(100);
    // There is room for all of them: nothing is limited before the limit is reached.
    expect(listener.connectionCounts()).toMatchObject({ evicted: 0, refused: 0 });
    for (let n = 0; n < 150; n += 1) await open(port, unfinished, "127.0.0.3");
    await expect.poll(() => listener.connectionCounts().evicted).toBe(150);
    expect([quiet, slow].map(({ socket }) => socket.readableEnded || socket.destroyed)).toEqual([
      false,
      false,
    ]);
    slow.socket.write("whole");
    await expect.poll(() => handler.owed.some(({ req }) => req.complete)).toBe(true);
  });

  test("behind a trusted proxy count for the client that the proxy names", async () => {
    const handler = waiting();
    const { listener, port } = await listen([handler], {
      connectionsMax: 100,
      requestTimeoutMs: 60_000,
      trustedProxies: ["127.0.0.0/8"],
    });
    const unfinished = (client: string) =>
      `POST / HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${client}\r\nContent-Length: 9\r\n\r\nhalf`;
    const slow = await open(port, unfinished("192.0.2.1"));
    for (let n = 0; n < 150; n += 1) await open(port, unfinished(`2001:db8::${n.toString(16)}`));
    await expect
      .poll(() => listener.connectionCounts())
      .toMatchObject({ open: 100, evicted: 51, refused: 0 });
    await expect.poll(() => handler.owed.length).toBe(151);
    expect(slow.socket.readableEnded || slow.socket.destroyed).toBe(false);
  });

  test("take the place of the one that has been idle for longest", async () => {
    const { listener, port } = await listen([under("/", "ok")], { connectionsMax: 3 });
    const used = await open(port, GET);
    await expect.poll(used.said).toContain("ok");
    const idle = await open(port);
    await open(port);
    await open(port);
    await once(idle.socket, "close");
    expect(used.socket.destroyed).toBe(false);
    expect(listener.connectionCounts()).toMatchObject({ open: 3, evicted: 1, refused: 0 });
  });

  test("take the place of one that is in the middle of a request, but never of one that waits", async () => {
    const handler = waiting();
    const { listener, port } = await listen([handler], { connectionsMax: 2 });
    const waits = await open(port, GET);
    await open(port, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf");
    await expect.poll(() => handler.owed.length).toBe(2);
    // The first round spares both because they have just sent something; the second only the one that is waiting.
    const late = await open(port, GET);
    await expect.poll(() => listener.connectionCounts()).toMatchObject({ open: 2, evicted: 1, refused: 0 });
    await expect.poll(() => handler.owed.length).toBe(3);
    for (const response of handler.owed) response.end("served");
    await expect.poll(waits.said).toContain("served");
    await expect.poll(late.said).toContain("served");
  });

  test("get 503 when all other connections wait for a response", async () => {
    const handler = waiting();
    const { listener, port } = await listen([handler], { connectionsMax: 2 });
    const waits = [await open(port, GET), await open(port, GET)];
    await expect.poll(() => handler.owed.length).toBe(2);
    const refused = await open(port, GET);
    await once(refused.socket, "close");
    expect(refused.said()).toMatch(/^HTTP\/1\.1 503 Service Unavailable\r\n/);
    expect(refused.said()).toMatch(/\r\nRetry-After: \d+\r\n/);
    await pause(50);
    expect(handler.owed).toHaveLength(2);
    for (const response of handler.owed) response.end("served");
    for (const { said } of waits) await expect.poll(said).toContain("served");
    expect(listener.connectionCounts()).toMatchObject({ refused: 1, evicted: 0 });
  });

  test("are reported with the client network when they are refused, or closed in the middle of a request", async () => {
    const refused: { network: string; url: string | null }[] = [];
    const handler = waiting();
    const { port } = await listen([handler], {
      connectionsMax: 2,
      trustedProxies: ["127.0.0.0/8"],
      onRefused: ({ network, request }) => void refused.push({ network, url: request?.url ?? null }),
    });
    const head = "Host: x\r\nX-Forwarded-For: 2001:db8:1:2:3::4\r\nContent-Length: 9\r\n\r\n";
    await open(port, `POST /half HTTP/1.1\r\n${head}half`);
    await expect.poll(() => handler.owed.length).toBe(1);
    await open(port, GET);
    await expect.poll(() => handler.owed.length).toBe(2);
    await open(port, GET);
    await expect.poll(() => refused).toEqual([{ network: "2001:db8:1:2::/64", url: "/half" }]);
    await expect.poll(() => handler.owed.length).toBe(3);
    await open(port, GET);
    await expect.poll(() => refused.slice(1)).toEqual([{ network: "127.0.0.1", url: null }]);
  });

  test("are fewer than configured if the system allows no more", async () => {
    let lines = "";
    const log = createLog({ level: "info", destination: { write: (line) => void (lines += line) } });
    await listen([], { connectionsMax: 1_000_000_000, log });
    const allowed = /"connectionsMax":(\d+)/.exec(lines)?.[1];
    expect(Number(allowed)).toBeGreaterThanOrEqual(16);
    if (process.platform === "linux") expect(Number(allowed)).toBeLessThan(1_000_000_000);
  });
});

describe("starting and stopping", () => {
  test("a kept connection may send one more request, and is then closed by its answer", async () => {
    const { listener, port } = await listen([under("/", "ok")], { stopGraceMs: 10_000 });
    started.length = 0;
    const kept = await open(port, GET);
    const fresh = await open(port);
    await expect.poll(kept.said).toContain("ok");
    const stopped = listener.stop();
    await pause(150);
    for (const { socket } of [kept, fresh]) socket.write(GET);
    await stopped;
    for (const { said, socket } of [kept, fresh]) {
      await expect.poll(() => socket.readableEnded || socket.destroyed).toBe(true);
      expect(said()).toMatch(/\r\nConnection: close\r\n[^]*ok$/);
    }
  });

  test("a port in use is a start error", async () => {
    const { port } = await listen([]);
    await expect(listen([], { listen: { host: "127.0.0.1", port } })).rejects.toThrow("EADDRINUSE");
  });

  test("a request that has begun is answered, on a connection that is then closed", async () => {
    const handler = waiting();
    const { listener, port } = await listen([handler], { stopGraceMs: 5_000 });
    started.length = 0;
    const busy = await open(port, GET);
    const next = await open(port, "GET / HTTP/1.1\r\n");
    await expect.poll(() => handler.owed.length).toBe(1);
    await pause(50);
    const stopped = listener.stop();
    next.socket.write("Host: x\r\n\r\n");
    await expect.poll(() => handler.owed.length).toBe(2);
    for (const response of handler.owed) response.end("served");
    await stopped;
    await expect.poll(() => busy.socket.destroyed && next.socket.destroyed).toBe(true);
    expect(busy.said()).toContain("served");
    expect(next.said()).toMatch(/\r\nConnection: close\r\n.*served/s);
  });

  test("a handler that never answers is not waited for longer than the grace", async () => {
    const handler = waiting();
    const { listener, port } = await listen([handler], { stopGraceMs: 100 });
    started.length = 0;
    await open(port, GET);
    await expect.poll(() => handler.owed.length).toBe(1);
    const startedAt = performance.now();
    await listener.stop();
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(95);
    expect(performance.now() - startedAt).toBeLessThan(10_000);
  });

  test("clients that keep their connections do not hold it up", async () => {
    const { listener, port } = await listen([under("/", "ok")], { stopGraceMs: 5_000 });
    started.length = 0;
    const outgoing = httpRequest({ port, host: "127.0.0.1", headers: { connection: "keep-alive" } }).end();
    const [response] = (await once(outgoing, "response")) as [IncomingMessage];
    await once(response.resume(), "end");
    const startedAt = performance.now();
    await listener.stop();
    expect(performance.now() - startedAt).toBeLessThan(4_500);
  });
});

test("a connection that is reset at any time affects no other", async () => {
  const handler = waiting();
  const { origin, port } = await listen([under("/ok", "ok"), handler]);
  for (const text of [
    "",
    "GET /",
    GET,
    GET + GET,
    "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf",
    "\x00",
  ]) {
    const { socket } = await open(port, text);
    await pause(10);
    socket.resetAndDestroy();
  }
  await pause(20);
  for (const response of handler.owed) response.end("too late");
  expect(await (await fetch(`${origin}/ok`)).text()).toBe("ok");
});
