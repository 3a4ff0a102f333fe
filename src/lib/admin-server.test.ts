// The admin server on a free port, tested over real HTTP.
import { once } from "node:events";
import { connect } from "node:net";
import { afterEach, expect, test } from "vitest";
import { type AdminServer, adminServer, type ReadyCheck } from "./admin-server.ts";
import { createLog } from "./log.ts";
import { createMetrics } from "./metrics.ts";

const log = createLog({ level: "fatal" });
let server: AdminServer | null = null;

afterEach(async () => {
  await server?.stop();
  server = null;
});

async function serve(
  checks: ReadyCheck[] = [],
  { readyTimeoutMs = 50 }: { readyTimeoutMs?: number } = {},
): Promise<(path: string, init?: RequestInit) => Promise<Response>> {
  const { registry } = createMetrics({ version: "1.2.3" });
  server = adminServer({
    listen: { host: "127.0.0.1", port: 0 },
    registry,
    readyChecks: () => checks,
    readyTimeoutMs,
    log,
  });
  expect(server.address()).toBeNull();
  await server.start();
  const port = server.address()?.port;
  return (path, init) => fetch(`http://127.0.0.1:${port}${path}`, init);
}

test("port 0 uses a free port and reports it", async () => {
  await serve();
  expect(server?.address()?.port).toBeGreaterThan(0);
});

test("/healthz answers 200 although nothing is ready", async () => {
  const ask = await serve([{ name: "database", problem: async () => "away" }]);
  const response = await ask("/healthz");
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual({ status: "ok" });
  expect(response.headers.get("cache-control")).toBe("no-store");
});

test("/readyz is 200 if every check passes", async () => {
  const ask = await serve([{ name: "database", problem: async () => null }]);
  const response = await ask("/readyz");
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual({ status: "ready", checks: { database: "ok" } });
});

test("/readyz is 503 and names the failed checks with reasons, also if one throws", async () => {
  const ask = await serve([
    { name: "database", problem: async () => null },
    { name: "schema", problem: () => Promise.reject(new Error("relation is missing")) },
    { name: "loop", problem: async () => "no tick" },
  ]);
  const response = await ask("/readyz");
  expect(response.status).toBe(503);
  expect(await response.json()).toEqual({
    status: "not ready",
    checks: { database: "ok", schema: "relation is missing", loop: "no tick" },
  });
});

test("/readyz does not wait for a check that hangs", async () => {
  const ask = await serve([{ name: "database", problem: () => new Promise(() => {}) }]);
  const response = await ask("/readyz");
  expect(response.status).toBe(503);
  expect(await response.text()).toContain("no response within 50 ms");
});

test("concurrent probes share one check", async () => {
  let count = 0;
  const release = Promise.withResolvers<null>();
  const problem = () => {
    count += 1;
    return release.promise;
  };
  const ask = await serve([{ name: "database", problem }], { readyTimeoutMs: 10_000 });
  const first = ask("/readyz");
  const health = await ask("/healthz");
  expect(health.status).toBe(200);
  const rest = [ask("/readyz"), ask("/readyz")];
  await ask("/healthz");
  release.resolve(null);
  const statuses = (await Promise.all([first, ...rest])).map((response) => response.status);
  expect(statuses).toEqual([200, 200, 200]);
  expect(count).toBe(1);
});

test("/metrics shows the process and its build", async () => {
  const ask = await serve();
  const response = await ask("/metrics");
  const text = await response.text();
  expect(response.headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/);
  expect(text).toContain(`overdue_build_info{version="1.2.3",node="${process.versions.node}"} 1`);
  expect(text).toContain("process_resident_memory_bytes");
});

test("a query is ignored, another path is 404, another method 405", async () => {
  const ask = await serve();
  expect((await ask("/healthz?verbose")).status).toBe(200);
  expect((await ask("/")).status).toBe(404);
  const post = await ask("/healthz", { method: "POST" });
  expect(post.status).toBe(405);
  expect(post.headers.get("allow")).toBe("GET, HEAD");
});

test("HEAD is answered without a body", async () => {
  const ask = await serve();
  const response = await ask("/healthz", { method: "HEAD" });
  expect(response.status).toBe(200);
  expect(await response.text()).toBe("");
});

test("connections with an unfinished request do not block a probe", async () => {
  const ask = await serve();
  const { port = 0 } = server?.address() ?? {};
  const held = Array.from({ length: 210 }, () => connect({ port, host: "127.0.0.1" }));
  try {
    for (const socket of held) {
      socket.on("error", () => socket.destroy());
      socket.write("GET /healthz HTTP/1.1\r\n");
    }
    await Promise.all(held.map((socket) => once(socket, "connect").catch(() => {})));
    expect((await ask("/healthz")).status).toBe(200);
  } finally {
    for (const socket of held) socket.destroy();
  }
});

test("a port in use is a start error", async () => {
  await serve();
  const port = server?.address()?.port ?? 0;
  const { registry } = createMetrics({ version: "0" });
  const second = adminServer({ listen: { host: "127.0.0.1", port }, registry, readyChecks: () => [], log });
  await expect(second.start()).rejects.toThrow("EADDRINUSE");
});
