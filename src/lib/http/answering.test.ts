// Answers that have to be found out first: each is given once, whatever becomes of the finding out.
import { once } from "node:events";
import { createServer, request as send } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { type Answering, type AnsweringOptions, answering, type HttpAnswer } from "./answering.ts";

const servers = new Set<ReturnType<typeof createServer>>();
afterEach(() => {
  for (const server of servers) {
    server.close();
    server.closeAllConnections();
  }
  servers.clear();
});

type Served = { url: string; counts: Answering["counts"] };

async function serve(given: Partial<AnsweringOptions>): Promise<Served> {
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

function wrapped(options: AnsweringOptions) {
  const answers = answering(options);
  const handle: Answering["handle"] = (request, response) => answers.handle(request, response);
  return { handle, counts: () => answers.counts() };
}

function plain(status: number, body: HttpAnswer["body"]): HttpAnswer {
  return { status, headers: { "Content-Type": "text/plain" }, body };
}

test("an answer goes out with its length and the headers of every answer", async () => {
  const { url, counts } = await serve({ answer: async () => plain(200, "später") });
  const response = await fetch(url);
  expect(await response.text()).toBe("später");
  expect(response.headers.get("content-length")).toBe("7");
  expect(response.headers.get("x-content-type-options")).toBe("nosniff");
  expect(counts()).toEqual({ 200: 1 });
});

test("one that fails is answered with what is said instead", async () => {
  const { url, counts } = await serve({ answer: async () => Promise.reject(new Error("no luck")) });
  const response = await fetch(url);
  expect([response.status, await response.text()]).toEqual([503, "no luck"]);
  expect(counts()).toEqual({ 503: 1 });
});

test("whoever comes while too many are worked on is sent away, and served later", async () => {
  const gate = Promise.withResolvers<HttpAnswer>();
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

test("pieces are sent as they come; to HEAD none is sent", async () => {
  const { url } = await serve({ answer: async () => plain(200, pieces(["a", "b", "c"])) });
  expect(await (await fetch(url)).text()).toBe("abc");
  const head = await fetch(url, { method: "HEAD" });
  expect([head.status, await head.text()]).toEqual([200, ""]);
});

test("pieces that break off are not taken for a whole", async () => {
  const broken = pieces(["a"], new Error("no more"));
  const { url } = await serve({ answer: async () => plain(200, broken) });
  await expect(fetch(url).then((response) => response.text())).rejects.toThrow("terminated");
});

test("an answer that cannot be sent is no answer", async () => {
  const { url } = await serve({
    answer: async () => ({ status: 200, headers: { Broken: "two\nlines" }, body: "" }),
  });
  await expect(fetch(url)).rejects.toThrow("fetch failed");
});

test("a caller who has gone frees the place", async () => {
  const gate = Promise.withResolvers<HttpAnswer>();
  const { url } = await serve({ atOnceMax: 1, answer: () => gate.promise });
  const gone = send(url).end();
  gone.on("error", () => {});
  await expect.poll(async () => (await fetch(url)).text()).toBe("busy");
  gone.destroy();
  gate.resolve(plain(200, pieces(["x".repeat(1_000_000)])));
  await expect.poll(async () => (await fetch(url)).status).toBe(200);
});
