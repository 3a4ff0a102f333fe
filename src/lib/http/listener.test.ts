// The listener by itself, with handlers made for the occasion: who gets a request, and who has to go. What a
// service can rely on over the wire is tested with the first one that uses it.
import { once } from "node:events";
import { request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import { type HttpHandler, type HttpListener, type HttpListenerOptions, httpListener } from "./listener.ts";
import { createLog } from "../log.ts";

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
  expect(listener.trouble()).toBe("does not listen");
  await listener.start();
  started.push(listener);
  const port = listener.address()?.port ?? 0;
  return { listener, port, origin: `http://127.0.0.1:${port}` };
}

/** Answers with its name what begins with its path. */
function under(path: string, name: string): HttpHandler {
  return {
    handles: ({ url }) => url?.startsWith(path) === true,
    handle: (_request, response) => void response.end(name),
  };
}

/** Answers when it is told to. */
function waiting(): HttpHandler & { owed: ServerResponse[] } {
  const owed: ServerResponse[] = [];
  return { owed, handles: () => true, handle: (_request, response) => void owed.push(response) };
}

async function open(port: number, text = ""): Promise<{ socket: Socket; said: () => string }> {
  let said = "";
  const socket = connect({ port, host: "127.0.0.1" });
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
  test("go to the first handler that wants them", async () => {
    const { origin } = await listen([under("/a", "first"), under("/a/b", "never"), under("/b", "second")]);
    expect(await (await fetch(`${origin}/a/b`)).text()).toBe("first");
    expect(await (await fetch(`${origin}/b`)).text()).toBe("second");
  });

  test("that nobody wants are answered 404, a HEAD without a body", async () => {
    const { origin } = await listen([under("/a", "a")]);
    const response = await fetch(`${origin}/c`);
    expect(response.status).toBe(404);
    expect(await response.text()).toBe("not found");
    expect(response.headers.get("x-frame-options")).toBe("DENY");
    const head = await fetch(`${origin}/c`, { method: "HEAD" });
    expect(head.status).toBe(404);
    expect(head.headers.get("content-length")).toBe("9");
  });

  test("that nobody wants are shown as a page to a browser, and to nobody else", async () => {
    const unwantedPage = {
      headers: { "Content-Type": "text/html; charset=utf-8" },
      html: "<p>Nothing – here</p>",
    };
    const { origin } = await listen([], { unwantedPage });
    const get = (headers: Record<string, string>, method = "GET") =>
      fetch(`${origin}/a`, { method, headers });
    const shown = await get({ accept: "text/html,application/xhtml+xml,*/*;q=0.8" });
    expect([shown.status, await shown.text()]).toEqual([404, unwantedPage.html]);
    expect(shown.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(shown.headers.get("x-content-type-options")).toBe("nosniff");
    expect(await (await get({ accept: "*/*" })).text()).toBe("not found");
    expect(await (await get({ accept: "text/html" }, "POST")).text()).toBe("not found");
  });

  test("on which a handler throws are answered 500, and the next one as usual", async () => {
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

describe("connections beyond the limit", () => {
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
    // The first round spares both because they have just sent something; the second only the one that waits.
    const late = await open(port, GET);
    await expect.poll(() => listener.connectionCounts()).toMatchObject({ open: 2, evicted: 1, refused: 0 });
    await expect.poll(() => handler.owed.length).toBe(3);
    for (const response of handler.owed) response.end("served");
    await expect.poll(waits.said).toContain("served");
    await expect.poll(late.said).toContain("served");
  });

  test("are told to come again when everyone else waits for an answer", async () => {
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

  test("are fewer than wished for where the system allows no more", async () => {
    let lines = "";
    const log = createLog({ level: "info", destination: { write: (line) => void (lines += line) } });
    await listen([], { connectionsMax: 1_000_000_000, log });
    const allowed = /"connectionsMax":(\d+)/.exec(lines)?.[1];
    expect(Number(allowed)).toBeGreaterThanOrEqual(16);
    if (process.platform === "linux") expect(Number(allowed)).toBeLessThan(1_000_000_000);
  });
});

describe("starting and stopping", () => {
  test("a port that is taken is an error of start", async () => {
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

test("a connection that is reset at any moment harms nobody", async () => {
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
