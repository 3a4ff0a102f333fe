// Bodies of pings on the wire: which bytes are kept, that none is refused, and that what breaks off is nothing.
import { createHash } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  BODY_LIMIT_BYTES,
  NO_SUCH_UUID,
  startPingServer,
  stopPingServers,
  type TestServer,
  UUID,
} from "./ping-server.ts";
import { RawConnection, rawRequest } from "./raw-http.ts";

let server: TestServer;

beforeAll(async () => {
  server = await startPingServer();
});
beforeEach(() => {
  server.intake.signals.length = 0;
});
afterAll(stopPingServers);

const kept = () => server.intake.signals.map(({ body }) => body && Buffer.from(body).toString("latin1"));

async function post(
  body: Uint8Array<ArrayBuffer> | string,
  headers: Record<string, string> = {},
): Promise<string> {
  const response = await fetch(`${server.origin}/ping/${UUID}`, { method: "POST", body, headers });
  return `${response.status} ${await response.text()}`;
}

const send = (text: string) => rawRequest(server.port, text);
const head = (lines: string) => `POST /ping/${UUID} HTTP/1.1\r\nHost: x\r\n${lines}\r\n`;

describe("stored bytes", () => {
  test("a body as it came, under any content type", async () => {
    for (const type of [
      "application/json",
      "application/x-www-form-urlencoded",
      "multipart/form-data; boundary=x",
      "nonsense",
    ]) {
      expect(await post(`{not ${type}`, { "content-type": type })).toBe("200 OK");
    }
    expect(kept()).toHaveLength(4);
    expect(kept()[3]).toBe("{not nonsense");
  });

  test("bytes that are no text", async () => {
    const bytes = Uint8Array.from({ length: 512 }, (_, n) => n & 255);
    await post(bytes);
    await post(Uint8Array.from([0xff, 0xfe, 0x00, 0x81, 0xc3, 0x28]));
    expect(server.intake.signals[0]?.body).toEqual(Buffer.from(bytes));
    expect(kept()[1]).toBe("\xff\xfe\x00\x81\xc3(");
  });

  test("compressed bytes, compressed", async () => {
    const bytes = new Uint8Array(gzipSync("hello"));
    expect(await post(bytes, { "content-encoding": "gzip" })).toBe("200 OK");
    expect(server.intake.signals[0]?.body).toEqual(Buffer.from(bytes));
  });

  test("up to the limit all, beyond it the beginning, even inside a character", async () => {
    await post("x".repeat(BODY_LIMIT_BYTES));
    await post("y".repeat(BODY_LIMIT_BYTES + 1));
    await post("ā".repeat(5_001));
    await post(`x${"ā".repeat(5_001)}`);
    const lengths = server.intake.signals.map(({ body }) => body?.length);
    expect(lengths).toEqual([10_000, 10_000, 10_000, 10_000]);
    expect(kept()[1]).toBe("y".repeat(BODY_LIMIT_BYTES));
    expect(kept()[2]).toBe("\xc4\x81".repeat(5_000));
    expect(kept()[3]?.endsWith("\xc4\x81\xc4")).toBe(true);
  });

  test("of 3 MiB the first bytes, and the answer is the usual one", async () => {
    const bytes = new Uint8Array(3 * 1024 * 1024).map((_, n) => (n * 31 + (n >> 8)) & 255);
    expect(await post(bytes)).toBe("200 OK");
    const body = server.intake.signals[0]?.body ?? new Uint8Array();
    const hash = (given: Uint8Array) => createHash("sha256").update(given).digest("hex");
    expect(hash(body)).toBe(hash(bytes.subarray(0, BODY_LIMIT_BYTES)));
    // What is kept must not keep the rest alive.
    expect(body.buffer.byteLength).toBeLessThan(4 * BODY_LIMIT_BYTES);
  });

  test("an empty body is none", async () => {
    await post("");
    await send(head("Content-Length: 0\r\n"));
    await send(head(""));
    await send(head("Transfer-Encoding: chunked\r\n") + "0\r\n\r\n");
    expect(kept()).toEqual([null, null, null, null]);
  });

  test("a GET and a HEAD may have a body", async () => {
    const text = (method: string) =>
      `${method} /ping/${UUID} HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\nfrom a`;
    expect(await send(text("GET"))).toMatchObject({ status: 200, body: "OK" });
    await rawRequest(server.port, text("HEAD"), { withoutBody: true });
    expect(kept()).toEqual(["from a", "from a"]);
  });

  test("with a limit of 0 nothing is kept, and everything is taken", async () => {
    const other = await startPingServer({ bodyLimitBytes: 0 });
    const response = await fetch(`${other.origin}/ping/${UUID}`, {
      method: "POST",
      body: "x".repeat(100_000),
    });
    expect(response.status).toBe(200);
    expect(response.headers.get("ping-body-limit")).toBe("0");
    expect(other.intake.signals.map(({ body }) => body)).toEqual([null]);
  });
});

describe("how it may come", () => {
  test("in chunks, with extensions and trailers", async () => {
    const chunks = "5\r\nhello\r\n1;a=b\r\n \r\n5\r\nworld\r\n0\r\nX-Trailer: t\r\n\r\n";
    expect(await send(head("Transfer-Encoding: chunked\r\n") + chunks)).toMatchObject({ status: 200 });
    expect(kept()).toEqual(["hello world"]);
  });

  test("in more chunks than it is worth, beyond the limit", async () => {
    const one = "1\r\nx\r\n".repeat(BODY_LIMIT_BYTES + 500);
    expect(await send(`${head("Transfer-Encoding: chunked\r\n")}${one}0\r\n\r\n`)).toMatchObject({
      status: 200,
    });
    expect(kept()[0]).toBe("x".repeat(BODY_LIMIT_BYTES));
  });

  test("byte by byte", async () => {
    const connection = await RawConnection.open(server.port);
    connection.socket.setNoDelay(true);
    for (const byte of `${head("Content-Length: 5\r\n")}hello`) {
      connection.send(byte);
      await pause(1);
    }
    expect(await connection.next()).toMatchObject({ status: 200 });
    expect(kept()).toEqual(["hello"]);
    connection.close();
  });

  test("after a go-ahead, for those who ask for one", async () => {
    const connection = await RawConnection.open(
      server.port,
      head("Content-Length: 5\r\nExpect: 100-continue\r\n"),
    );
    expect(await connection.next()).toMatchObject({ status: 100 });
    expect(server.intake.signals).toEqual([]);
    connection.send("hello");
    expect(await connection.next()).toMatchObject({ status: 200, body: "OK" });
    expect(kept()).toEqual(["hello"]);
    connection.close();
  });

  test("with an unknown expectation", async () => {
    expect(await send(`${head("Content-Length: 2\r\nExpect: miracles\r\n")}hi`)).toMatchObject({
      status: 200,
    });
    expect(kept()).toEqual(["hi"]);
  });

  test("to a check that does not exist: the next request on the connection is read as usual", async () => {
    const body = "x".repeat(200_000);
    const first = `POST /ping/${NO_SUCH_UUID} HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const connection = await RawConnection.open(server.port, `${first}${head("Content-Length: 2\r\n")}ok`);
    expect(await connection.next()).toMatchObject({ status: 404 });
    expect(await connection.next()).toMatchObject({ status: 200 });
    expect(kept()).toEqual(["ok"]);
    connection.close();
  });
});

describe("malformed requests", () => {
  async function expectNothingOf(text: string, leave: (connection: RawConnection) => void): Promise<string> {
    const connection = await RawConnection.open(server.port, text);
    await pause(50);
    leave(connection);
    const rest = await connection.closed();
    await pause(50);
    expect(server.intake.signals).toEqual([]);
    return rest;
  }

  test("a body that breaks off", async () => {
    await expectNothingOf(`${head("Content-Length: 10\r\n")}half`, (connection) => connection.close());
    await expectNothingOf(`${head("Transfer-Encoding: chunked\r\n")}5\r\nhello\r\n`, (connection) =>
      connection.close(),
    );
    await expectNothingOf(`${head("Content-Length: 10\r\n")}half`, (connection) =>
      connection.socket.resetAndDestroy(),
    );
  });

  test("a body whose sender says that it is over before it is", async () => {
    const rest = await expectNothingOf(`${head("Content-Length: 10\r\n")}half`, (connection) =>
      connection.closeHalf(),
    );
    expect(rest).toMatch(/^HTTP\/1\.1 400 /);
  });

  test("an incomplete body after an Upgrade header, which parsers treat as a special case", async () => {
    const wish = "Connection: upgrade\r\nUpgrade: websocket\r\n";
    const text = `${head(`${wish}Transfer-Encoding: chunked\r\n`)}5\r\nhe`;
    const rest = await expectNothingOf(text, (connection) => connection.closeHalf());
    expect(rest).toMatch(/^HTTP\/1\.1 400 /);
  });

  test("a chunk that is none", async () => {
    const rest = await expectNothingOf(
      `${head("Transfer-Encoding: chunked\r\n")}5\r\nhello\r\nzz\r\n`,
      () => {},
    );
    expect(rest).toMatch(/^HTTP\/1\.1 400 .*bad request$/s);
  });

  test("a length and chunks at once, which two readers could understand in two ways", async () => {
    const rest = await expectNothingOf(
      head("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n") + "0\r\n\r\n",
      () => {},
    );
    expect(rest).toMatch(/^HTTP\/1\.1 400 /);
  });
});

describe("what never ends", () => {
  test("is answered once enough is read, and cut off after a while", async () => {
    const small = await startPingServer({ readBytesMax: 1_000_000 });
    const connection = await RawConnection.open(small.port, head("Transfer-Encoding: chunked\r\n"));
    const chunk = `10000\r\n${"x".repeat(65_536)}\r\n`;
    // As much as the other side reads, until it reads no more.
    const feed = setInterval(() => {
      if (!connection.socket.writableNeedDrain) connection.send(chunk);
    }, 1);
    const answer = await connection.next();
    const answeredAt = performance.now();
    await connection.closed();
    clearInterval(feed);
    expect(performance.now() - answeredAt).toBeGreaterThan(1_500);
    expect(answer).toMatchObject({ status: 200, body: "OK" });
    expect(small.intake.signals.map(({ body }) => body?.length)).toEqual([BODY_LIMIT_BYTES]);
  });

  test("may still end: the connection then continues", async () => {
    const small = await startPingServer({ readBytesMax: 1_000 });
    const body = "x".repeat(500_000);
    const connection = await RawConnection.open(
      small.port,
      `${head(`Content-Length: ${body.length}\r\n`)}${body}`,
    );
    expect(await connection.next()).toMatchObject({ status: 200 });
    connection.send(`${head("Content-Length: 2\r\n")}ok`);
    expect(await connection.next()).toMatchObject({ status: 200 });
    await pause(2_200);
    connection.send(`${head("Content-Length: 2\r\n")}ok`);
    expect(await connection.next()).toMatchObject({ status: 200 });
    connection.close();
  });
});

test("bodies together are limited by memory: beyond that, senders get 503", async () => {
  const narrow = await startPingServer({ bodyBytesHeldMax: 25_000 });
  const open = (length: number) =>
    RawConnection.open(narrow.port, `${head("Content-Length: 10000\r\n")}${"x".repeat(length)}`);
  const first = await open(9_000);
  const second = await open(9_000);
  await pause(50);
  const third = await open(9_000);
  const refused = await third.next();
  expect(refused).toMatchObject({ status: 503, body: "service unavailable" });
  expect(refused?.headers["retry-after"]).toBe("5");
  expect(narrow.intake.refusals).toHaveLength(1);
  for (const connection of [first, second]) {
    connection.send("x".repeat(1_000));
    expect(await connection.next()).toMatchObject({ status: 200 });
    connection.close();
  }
  const fourth = await open(10_000);
  expect(await fourth.next()).toMatchObject({ status: 200 });
  for (const connection of [third, fourth]) connection.close();
});
