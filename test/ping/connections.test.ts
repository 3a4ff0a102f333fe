// What connections may do to the ping service, and may not: old versions, many requests at once, slowness,
// silence, garbage, and leaving early.
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startPingServer, stopPingServers, type TestServer, UUID } from "./ping-server.ts";
import { RawConnection, rawRequest } from "./raw-http.ts";

let server: TestServer;

beforeAll(async () => {
  server = await startPingServer();
});
beforeEach(() => {
  server.intake.signals.length = 0;
  server.intake.acceptance = null;
});
afterAll(stopPingServers);

const get = (path = `/ping/${UUID}`) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;

describe("HTTP/1.0", () => {
  test("is answered, and the connection closed", async () => {
    const connection = await RawConnection.open(server.port, `GET /ping/${UUID} HTTP/1.0\r\n\r\n`);
    const answer = await connection.next();
    expect(answer).toMatchObject({
      status: 200,
      body: "OK",
      headers: { connection: "close", "content-length": "2" },
    });
    expect(await connection.closed()).toBe("");
    expect(server.intake.signals).toHaveLength(1);
  });

  test("may have a body, and may use Expect: 100-continue", async () => {
    const text = `POST /ping/${UUID} HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nhi`;
    const connection = await RawConnection.open(server.port, text);
    expect(await connection.next()).toMatchObject({ status: 200, headers: { connection: "keep-alive" } });
    connection.send(text);
    expect(await connection.next()).toMatchObject({ status: 200 });
    connection.close();
  });

  test("by nc: a request, and its half of the connection closed", async () => {
    const connection = await RawConnection.open(server.port, `GET /ping/${UUID} HTTP/1.0\r\n\r\n`);
    connection.closeHalf();
    expect(await connection.next()).toMatchObject({ status: 200, body: "OK" });
  });
});

describe("several requests on one connection", () => {
  test("one after the other", async () => {
    const connection = await RawConnection.open(server.port);
    for (let n = 0; n < 5; n += 1) {
      connection.send(get());
      const answer = await connection.next();
      expect(answer).toMatchObject({ status: 200, body: "OK" });
      expect(answer?.headers["connection"]).toBeUndefined();
    }
    connection.send(`GET /ping/${UUID} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    expect(await connection.next()).toMatchObject({ status: 200, headers: { connection: "close" } });
    expect(await connection.closed()).toBe("");
  });

  test("fifty at once are answered in order, however long each of them takes", async () => {
    server.intake.acceptance = async (signal) => {
      server.intake.signals.push(signal);
      // The earlier, the slower.
      await pause(60 - (signal.exitStatus ?? 0));
      return signal.exitStatus === null || signal.exitStatus % 3 === 0
        ? { kind: "recorded" }
        : { kind: "unknown" };
    };
    const texts = Array.from({ length: 50 }, (_, n) => get(`/ping/${UUID}/${n}`));
    const connection = await RawConnection.open(server.port, texts.join(""));
    const statuses: (number | undefined)[] = [];
    for (let n = 0; n < 50; n += 1) statuses.push((await connection.next())?.status);
    expect(statuses).toEqual(texts.map((_, n) => (n % 3 === 0 ? 200 : 404)));
    expect(server.intake.signals.map(({ exitStatus }) => exitStatus)).toEqual(texts.map((_, n) => n));
    connection.close();
  });

  test("with and without bodies are handed over in the order in which they were sent", async () => {
    const line = (method: string, n: number) => `${method} /ping/${UUID}/${n} HTTP/1.1\r\nHost: x\r\n`;
    const kinds = [
      (n: number) => `${line("GET", n)}\r\n`,
      (n: number) => `${line("POST", n)}Content-Length: 3\r\n\r\nabc`,
      (n: number) => `${line("POST", n)}Content-Length: 90000\r\n\r\n${"y".repeat(90_000)}`,
      (n: number) => `${line("POST", n)}Transfer-Encoding: chunked\r\n\r\n${"1\r\nx\r\n".repeat(9)}0\r\n\r\n`,
    ];
    const requestOf = (n: number) => kinds[(n * 7 + (n >> 2)) % kinds.length]?.(n);
    const numbers = Array.from({ length: 60 }, (_, n) => n);
    const connection = await RawConnection.open(server.port, numbers.map(requestOf).join(""));
    for (const _ of numbers) expect(await connection.next()).toMatchObject({ status: 200 });
    expect(server.intake.signals.map(({ exitStatus }) => exitStatus)).toEqual(numbers);
    expect(new Set(server.intake.signals.map(({ body }) => body?.length))).toEqual(
      new Set([undefined, 3, 9, 10_000]),
    );
    connection.close();
  });

  test("garbage behind a request does not cost it its answer", async () => {
    server.intake.acceptance = async () => {
      await pause(100);
      return { kind: "recorded" };
    };
    const connection = await RawConnection.open(server.port, `${get()}\x00garbage\r\n\r\n`);
    expect(await connection.next()).toMatchObject({ status: 200, body: "OK" });
    expect(await connection.next()).toMatchObject({ status: 400, headers: { connection: "close" } });
    await connection.closed();
  });
});

describe("a half-closed connection", () => {
  test("gets its answer, also when that takes a while", async () => {
    server.intake.acceptance = async () => {
      await pause(150);
      return { kind: "recorded" };
    };
    const connection = await RawConnection.open(server.port, get() + get());
    connection.closeHalf();
    expect(await connection.next()).toMatchObject({ status: 200, body: "OK" });
    expect(await connection.next()).toMatchObject({ status: 200, body: "OK" });
    expect(await connection.closed()).toBe("");
  });

  test("that never sent a request is closed", async () => {
    const connection = await RawConnection.open(server.port);
    connection.closeHalf();
    expect(await connection.closed()).toBe("");
  });
});

test("a sender that does not wait for its answer has sent its signal all the same", async () => {
  const connection = await RawConnection.open(server.port, get());
  connection.closeHalf();
  connection.socket.destroySoon();
  await expect.poll(() => server.intake.signals.length).toBe(1);
});

describe("a connection that is too slow", () => {
  let hasty: TestServer;

  beforeAll(async () => {
    hasty = await startPingServer({ requestTimeoutMs: 1_000 });
  });
  beforeEach(() => {
    hasty.intake.signals.length = 0;
  });

  test.each([
    ["without a byte", ""],
    ["within its first line", "GET /ping/"],
    ["within its headers", `GET /ping/${UUID} HTTP/1.1\r\nHost: x\r\nX-A`],
    ["within its body", `POST /ping/${UUID} HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf`],
  ])("%s gets 408, while others are served", async (_, text) => {
    const startedAt = performance.now();
    const slow = await Promise.all(Array.from({ length: 20 }, () => RawConnection.open(hasty.port, text)));
    expect(await rawRequest(hasty.port, get())).toMatchObject({ status: 200 });
    for (const connection of slow) {
      const answer = await connection.next();
      expect(answer).toMatchObject({
        status: 408,
        body: "request timeout",
        headers: { connection: "close" },
      });
      await connection.closed();
    }
    const takenMs = performance.now() - startedAt;
    expect(takenMs).toBeGreaterThan(900);
    expect(takenMs).toBeLessThan(20_000);
    expect(hasty.intake.signals).toHaveLength(1);
  });

  test("drip by drip is no faster", async () => {
    const connection = await RawConnection.open(hasty.port, `GET /ping/${UUID} HTTP/1.1\r\n`);
    const drip = setInterval(() => connection.send("X-A: b\r\n"), 50);
    const answer = await connection.next();
    clearInterval(drip);
    expect(answer).toMatchObject({ status: 408 });
  });

  test("with its second request keeps the answer to its first", async () => {
    const connection = await RawConnection.open(hasty.port, `${get()}GET /ping/`);
    expect(await connection.next()).toMatchObject({ status: 200 });
    expect(await connection.next()).toMatchObject({ status: 408 });
  });

  test("after its request was refused is closed without another answer", async () => {
    const text = "POST /ping/abc HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf";
    const connection = await RawConnection.open(hasty.port, text);
    expect(await connection.next()).toMatchObject({ status: 404 });
    expect(await connection.closed()).toBe("");
  });

  test("may be idle between two requests", async () => {
    const connection = await RawConnection.open(hasty.port, get());
    expect(await connection.next()).toMatchObject({ status: 200 });
    await pause(2_200);
    connection.send(get());
    expect(await connection.next()).toMatchObject({ status: 200 });
    connection.close();
  });
});

test("a sender that never reads its responses is disconnected, and delays no other", async () => {
  const hasty = await startPingServer({ requestTimeoutMs: 1_500 });
  const deaf = await RawConnection.open(hasty.port);
  deaf.socket.pause();
  const flood = get().repeat(2_000);
  // Until it is cut off. How much that takes is a matter of the system's buffers, and how long, of the machine.
  const feed = setInterval(() => {
    if (!deaf.socket.writableNeedDrain) deaf.send(flood);
  }, 1);
  try {
    const isCutOff = () => hasty.service.connectionCounts().open === 0;
    for (let others = 0; !isCutOff(); others += 1) {
      expect([others, await rawRequest(hasty.port, get())]).toMatchObject([others, { status: 200 }]);
      await pause(50);
    }
  } finally {
    clearInterval(feed);
    deaf.close();
  }
  // It had been taken seriously before, and what it is still owed does not weigh on the service.
  expect(hasty.intake.signals.length).toBeGreaterThan(2_000);
  expect(hasty.service.pingCounts().pending).toBe(0);
}, 120_000);

test("a thousand idle connections do not stop others", async () => {
  const idle = await Promise.all(Array.from({ length: 1_000 }, () => RawConnection.open(server.port)));
  const startedAt = performance.now();
  const answers = await Promise.all(Array.from({ length: 50 }, () => rawRequest(server.port, get())));
  expect(answers.every(({ status }) => status === 200)).toBe(true);
  expect(performance.now() - startedAt).toBeLessThan(10_000);
  expect(server.service.connectionCounts().open).toBeGreaterThanOrEqual(1_000);
  for (const connection of idle) connection.close();
  await expect.poll(() => server.service.connectionCounts().open).toBeLessThan(100);
});

test("when idle connections fill the limit, they make room for those that send", async () => {
  const narrow = await startPingServer({ connectionsMax: 50 });
  const idle: RawConnection[] = [];
  for (let n = 0; n < 200; n += 1)
    idle.push(await RawConnection.open(narrow.port, n % 2 === 0 ? "" : "GET /ping/"));
  for (let n = 0; n < 100; n += 1)
    expect(await rawRequest(narrow.port, get())).toMatchObject({ status: 200 });
  expect(narrow.service.connectionCounts().open).toBeLessThanOrEqual(51);
  expect(narrow.service.connectionCounts().evicted).toBeGreaterThanOrEqual(150);
  // None of those that had to go was in the middle of a request.
  expect(narrow.intake.refusals).toEqual([]);
  for (const connection of idle) connection.close();
});

test("the intake is notified of connections rejected at once, or during a request", async () => {
  const narrow = await startPingServer({ connectionsMax: 20, answerWithinMs: 60_000 });
  const gate = Promise.withResolvers<void>();
  narrow.intake.acceptance = async () => {
    await gate.promise;
    return { kind: "recorded" };
  };
  const half = `POST /ping/${UUID} HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf`;
  const unfinished = await RawConnection.open(narrow.port, half);
  const waiting: RawConnection[] = [];
  for (let n = 0; n < 19; n += 1) waiting.push(await RawConnection.open(narrow.port, get()));
  await expect.poll(() => narrow.service.pingCounts().pending).toBe(19);
  // The first newcomer takes the place of the one who has not come to an end; for the second there is none.
  waiting.push(await RawConnection.open(narrow.port, get()));
  await unfinished.closed();
  expect(narrow.intake.refusals).toHaveLength(1);
  expect(await rawRequest(narrow.port, get())).toMatchObject({ status: 503 });
  expect(narrow.intake.refusals).toHaveLength(2);
  gate.resolve();
  for (const connection of waiting) expect(await connection.next()).toMatchObject({ status: 200 });
  for (const connection of waiting) connection.close();
});

describe("garbage", () => {
  test.each([
    ["a line that is no request", "hello\r\n\r\n", 400],
    ["TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400],
    ["a method that nobody knows", `BREW /ping/${UUID} HTTP/1.1\r\nHost: x\r\n\r\n`, 400],
    ["a version from the future", `GET /ping/${UUID} HTTP/9.9\r\nHost: x\r\n\r\n`, 400],
    ["no host", `GET /ping/${UUID} HTTP/1.1\r\n\r\n`, 400],
    ["a header without a colon", `GET /ping/${UUID} HTTP/1.1\r\nHost: x\r\nbroken\r\n\r\n`, 400],
    ["a NUL in a header", `GET /ping/${UUID} HTTP/1.1\r\nHost: x\r\nX: a\x00b\r\n\r\n`, 400],
    [
      "two lengths",
      `POST /ping/${UUID} HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab`,
      400,
    ],
    ["a negative length", `POST /ping/${UUID} HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n`, 400],
    ["too many headers", `GET /ping/${UUID} HTTP/1.1\r\nHost: x\r\nX: ${"x".repeat(20_000)}\r\n\r\n`, 431],
    ["a path without an end", `GET /ping/${"a".repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 431],
    ["a tunnel", "CONNECT example.org:443 HTTP/1.1\r\nHost: x\r\n\r\n", 405],
  ])("%s is answered and never a signal", async (_, text, status) => {
    const connection = await RawConnection.open(server.port, text);
    expect(await connection.next()).toMatchObject({ status });
    await connection.closed();
    expect(server.intake.signals).toEqual([]);
    expect(await rawRequest(server.port, get())).toMatchObject({ status: 200 });
  });

  test("a request in the manner of 1991 is one", async () => {
    expect(await rawRequest(server.port, `GET /ping/${UUID}\r\n\r\n`)).toMatchObject({
      status: 200,
      body: "OK",
    });
  });

  test("a wish for another protocol is not granted, and the request counts", async () => {
    const text = `GET /ping/${UUID} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`;
    expect(await rawRequest(server.port, text)).toMatchObject({ status: 200 });
  });
});

describe("stopping", () => {
  test("finishes running requests, closes idle connections, and accepts nothing new", async () => {
    const stopping = await startPingServer({ stopGraceMs: 30_000, answerWithinMs: 30_000 });
    const gate = Promise.withResolvers<void>();
    stopping.intake.acceptance = async () => {
      await gate.promise;
      return { kind: "recorded" };
    };
    const silent = await RawConnection.open(stopping.port);
    const busy = await RawConnection.open(stopping.port, get());
    const half = await RawConnection.open(
      stopping.port,
      `POST /ping/${UUID} HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nha`,
    );
    // Whoever comes later has been heard: so have they.
    expect(await rawRequest(stopping.port, get("/ping/abc"))).toMatchObject({ status: 404 });
    const stopped = stopping.service.stop();
    expect(await silent.closed()).toBe("");
    half.send("lf");
    await expect(RawConnection.open(stopping.port)).rejects.toThrow("ECONNREFUSED");
    gate.resolve();
    expect(await busy.next()).toMatchObject({ status: 200 });
    expect(await half.next()).toMatchObject({ status: 200 });
    await Promise.all([busy.closed(), half.closed(), stopped]);
    expect(stopping.service.problem()).toBe("not listening");
  });

  test("does not wait for ever for those that do not come to an end", async () => {
    const stopping = await startPingServer({ stopGraceMs: 300 });
    const slow = await RawConnection.open(stopping.port, "GET /ping/");
    const startedAt = performance.now();
    await pause(50);
    await stopping.service.stop();
    expect(performance.now() - startedAt).toBeLessThan(10_000);
    expect(await slow.closed()).toBe("");
  });

  test("two processes may share a port, so that one can take over from the other", async () => {
    const first = await startPingServer({ reusePort: true });
    const second = await startPingServer({
      reusePort: true,
      listen: { host: "127.0.0.1", port: first.port },
    });
    for (let n = 0; n < 40; n += 1)
      expect(await rawRequest(first.port, get())).toMatchObject({ status: 200 });
    expect(first.intake.signals.length + second.intake.signals.length).toBe(40);
    await first.service.stop();
    for (let n = 0; n < 10; n += 1)
      expect(await rawRequest(second.port, get())).toMatchObject({ status: 200 });
  });
});
