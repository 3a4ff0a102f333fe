import { once } from "node:events";
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Forwarder, forwarder, type ForwardOptions, type ForwardResult } from "./forward.ts";

let passing: Forwarder;
const servers: Server[] = [];

beforeEach(() => {
  passing = forwarder();
});

afterEach(() => {
  passing.close();
  for (const server of servers.splice(0)) server.closeAllConnections();
});

async function serve(
  handle: (incoming: IncomingMessage, response: ServerResponse) => Promise<void> | void,
): Promise<string> {
  const server = createServer((incoming, response) => void handle(incoming, response));
  servers.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const DEFAULTS = {
  headers: { "x-by": "front" },
  without: ["cookie"],
  connectTimeoutMs: 60_000,
  timeoutMs: 60_000,
  bodyBytesMax: 1_000,
};

/** A server that forwards everything; the results arrive in `results`. */
async function front(options: Partial<ForwardOptions> & { url: string }) {
  const results: ForwardResult[] = [];
  const url = await serve(async (incoming, response) => {
    const result = await passing.forward(incoming, response, { ...DEFAULTS, ...options });
    results.push(result);
    if (result !== "forwarded" && !response.destroyed) response.writeHead(503).end(result);
  });
  return { url, results };
}

type Sent = { status: number | undefined; headers: IncomingMessage["headers"]; text: string };

async function send(
  url: string,
  { body = [], ...options }: { method?: string; headers?: Record<string, string>; body?: string[] } = {},
): Promise<Sent> {
  const outgoing = request(url, options);
  for (const piece of body) outgoing.write(piece);
  outgoing.end();
  const [response] = (await once(outgoing, "response")) as [IncomingMessage];
  const text = (await response.toArray()).join("");
  return { status: response.statusCode, headers: response.headers, text };
}

/** Answers with what it received. */
async function echo(): Promise<string> {
  return serve(async (incoming, response) => {
    const body = (await incoming.toArray()).join("");
    const { method, url, headers } = incoming;
    response.writeHead(201, { "Set-Cookie": ["a=1", "b=2"], Connection: "close, X-Hop", "X-Hop": "1" });
    response.end(JSON.stringify({ method, url, headers, body }));
  });
}

test("passes on method, path, headers and body, without the headers of the connection", async () => {
  const { url, results } = await front({ url: await echo() });
  const headers = {
    Host: "ping.example.org",
    "X-By": "client",
    Connection: "X-Own",
    "X-Own": "1",
    TE: "trailers",
    Cookie: "session=1",
  };
  const sent = await send(`${url}/a?b=1`, { method: "PUT", headers, body: ["one", "two"] });
  expect([sent.status, results]).toEqual([201, ["forwarded"]]);
  expect(sent.headers["set-cookie"]).toEqual(["a=1", "b=2"]);
  expect(sent.headers["x-hop"]).toBeUndefined();
  const seen = JSON.parse(sent.text) as { headers: Record<string, string> };
  expect(seen).toMatchObject({ method: "PUT", url: "/a?b=1", body: "onetwo" });
  expect(seen.headers).toMatchObject({ host: "ping.example.org", "x-by": "front" });
  const { "x-own": own, te, cookie } = seen.headers;
  expect([own, te, cookie]).toEqual([undefined, undefined, undefined]);
});

/** What a server answers to these bytes; it closes the connection. */
async function sendRaw(url: string, text: string): Promise<string> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  socket.write(text);
  return (await socket.toArray()).join("");
}

test.each(["GET", "POST", "DELETE"])(
  "a body of %s is never a second request, whatever Connection names",
  async (method) => {
    const seen: string[] = [];
    const target = await serve(async (incoming, response) => {
      const body = (await incoming.toArray()).join("");
      seen.push(`${incoming.method} ${incoming.url} ${incoming.headers.host} ${body}`);
      response.end("OK");
    });
    const { url } = await front({ url: target });
    const body = "GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n";
    const named = "close, Content-Length, Host, Transfer-Encoding";
    const head = `${method} /seen HTTP/1.1\r\nHost: here\r\nConnection: ${named}\r\n`;
    const answer = await sendRaw(url, `${head}Content-Length: ${body.length}\r\n\r\n${body}`);
    expect(answer).toContain("200 OK");
    const chunked = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
    expect(await sendRaw(url, `${head}Transfer-Encoding: chunked\r\n\r\n${chunked}`)).toContain("200 OK");
    expect(seen).toEqual([1, 2].map(() => `${method} /seen here ${body}`));
  },
);

test("of a whole URL, as proxies get it, the host counts", async () => {
  const { url } = await front({ url: await echo() });
  const answer = await sendRaw(
    url,
    "GET http://ping.example.org/a?b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
  );
  expect(answer).toContain('"url":"/a?b"');
  expect(answer).toContain('"host":"ping.example.org"');
});

test("an answer that comes after the client was answered otherwise is dropped", async () => {
  const answering = Promise.withResolvers<void>();
  const arrived = Promise.withResolvers<void>();
  const target = await serve(async (_incoming, response) => {
    arrived.resolve();
    await answering.promise;
    response.end("late");
  });
  const result = Promise.withResolvers<ForwardResult>();
  const url = await serve((incoming, response) => {
    result.resolve(passing.forward(incoming, response, { ...DEFAULTS, url: target }));
    // As for a request that takes too long.
    void arrived.promise.then(() => response.writeHead(408).end("early", () => answering.resolve()));
  });
  expect(await send(url, { method: "POST", body: ["x"] })).toMatchObject({ status: 408, text: "early" });
  expect(await result.promise).toBe("answer");
});

test("an early answer reaches a client that is still sending", async () => {
  const target = await serve((_incoming, response) => void response.writeHead(400).end("no"));
  const { url } = await front({ url: target, bodyBytesMax: 100_000_000 });
  const body = Array.from({ length: 40 }, () => "x".repeat(100_000));
  const outgoing = request(url, { method: "POST" });
  for (const piece of body) outgoing.write(piece);
  outgoing.end();
  const [response] = (await once(outgoing, "response")) as [IncomingMessage];
  expect([response.statusCode, (await response.toArray()).join("")]).toEqual([400, "no"]);
  if (!outgoing.writableFinished) await once(outgoing, "finish");
});

test("a request whose server was not reached can be sent to another one, with its body", async () => {
  const gone = await serve(() => {});
  servers.at(-1)?.close();
  const target = await echo();
  const url = await serve(async (incoming, response) => {
    const first = await passing.forward(incoming, response, { ...DEFAULTS, url: gone });
    if (first === "connect") await passing.forward(incoming, response, { ...DEFAULTS, url: target });
  });
  const sent = await send(url, { method: "POST", body: ["one", "two"] });
  expect([sent.status, JSON.parse(sent.text)]).toMatchObject([201, { body: "onetwo" }]);
});

test("a GET has no body, and a HEAD no response body", async () => {
  const { url } = await front({ url: await echo() });
  const got = JSON.parse((await send(url)).text) as { headers: Record<string, string>; body: string };
  expect([got.body, got.headers["transfer-encoding"]]).toEqual(["", undefined]);
  expect(await send(url, { method: "HEAD" })).toMatchObject({ status: 201, text: "" });
});

test("a server that does not run was not reached", async () => {
  const gone = await serve(() => {});
  servers.at(-1)?.close();
  const { url, results } = await front({ url: gone });
  expect(await send(url, { method: "POST", body: ["x"] })).toMatchObject({ status: 503, text: "connect" });
  expect(results).toEqual(["connect"]);
});

test("a server that does not answer in time, or closes the connection, may have received it", async () => {
  const silent = await front({ url: await serve(() => {}), timeoutMs: 300 });
  expect(await send(silent.url)).toMatchObject({ status: 503, text: "answer" });
  const closing = await front({ url: await serve((incoming) => void incoming.socket.destroy()) });
  expect(await send(closing.url)).toMatchObject({ status: 503, text: "answer" });
});

test("a body beyond the limit is not passed on", async () => {
  const { url, results } = await front({
    url: await serve((incoming) => void incoming.resume()),
    bodyBytesMax: 10,
  });
  expect(await send(url, { method: "POST", body: ["x".repeat(11)] })).toMatchObject({ text: "tooLarge" });
  expect(results).toEqual(["tooLarge"]);
});

test("a response that breaks off does not look complete", async () => {
  const broken = await serve((_incoming, response) => {
    response.writeHead(200, { "Content-Length": "10" });
    response.write("half", () => response.destroy());
  });
  const { url } = await front({ url: broken });
  await expect(send(url)).rejects.toThrow("aborted");
});

test("if the client goes away, so does the forwarded request", async () => {
  const closed = Promise.withResolvers<void>();
  const arrived = Promise.withResolvers<void>();
  const target = await serve((_incoming, response) => {
    arrived.resolve();
    response.once("close", () => closed.resolve());
  });
  const { url } = await front({ url: target });
  const outgoing = request(url);
  outgoing.on("error", () => {});
  outgoing.end();
  await arrived.promise;
  outgoing.destroy();
  await expect(closed.promise).resolves.toBeUndefined();
});
