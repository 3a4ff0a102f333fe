// The public port and its parts: which part is notified when, in which order, and that nothing stays open if one
// fails.
import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import { loadConfig } from "../config/config.ts";
import type { HttpHandler } from "../lib/http/listener.ts";
import { createLog } from "../lib/log.ts";
import { createMetrics } from "../lib/metrics.ts";
import { publicServer, type ServerRole } from "./public-server.ts";

function resources(listen = "127.0.0.1:0") {
  return {
    config: loadConfig({ OVERDUE_LISTEN: listen }).config,
    log: createLog({ level: "fatal" }),
    metrics: createMetrics({ version: "0" }),
  };
}

/** Answers its own path, and records its calls. */
function part(name: string, calls: string[], failing: "open" | "opened" | null = null): ServerRole {
  const handler: HttpHandler = {
    handles: ({ url }) => url === `/${name}`,
    handle: (_request, response) => void response.end(name),
  };
  const step = async (what: "open" | "opened") => {
    calls.push(`${name} ${what}`);
    if (failing === what) throw new Error(`${name} cannot`);
  };
  return {
    name,
    needsDatabase: false,
    open: async () => {
      await step("open");
      return [handler];
    },
    opened: () => step("opened"),
    closing: () => void calls.push(`${name} closing`),
    close: async () => void calls.push(`${name} close`),
    problem: () => null,
  };
}

describe("the public server", () => {
  test("opens its parts, then the port, and closes in reverse order", async () => {
    const calls: string[] = [];
    const parts = [part("one", calls), part("two", calls)];
    const site = publicServer(parts, resources());
    expect(site.problem()).toBe("has not started");
    await site.start();
    expect(calls.splice(0)).toEqual(["one open", "two open", "one opened", "two opened"]);
    const origin = `http://127.0.0.1:${site.address()?.port}`;
    const answers = ["one", "two"].map(async (name) => (await fetch(`${origin}/${name}`)).text());
    expect(await Promise.all(answers)).toEqual(["one", "two"]);
    expect((await fetch(`${origin}/three`)).status).toBe(404);
    expect(site.problem()).toBeNull();
    await site.stop();
    expect(calls).toEqual(["one closing", "two closing", "two close", "one close"]);
    await expect(fetch(`${origin}/one`)).rejects.toThrow("fetch failed");
  });

  test("the port is open when a part is notified, and still answers while it closes", async () => {
    const heard: (string | number)[] = [];
    const calls: string[] = [];
    const role: ServerRole = {
      ...part("one", calls),
      opened: async () =>
        void heard.push((await fetch(`http://127.0.0.1:${site.address()?.port}/one`)).status),
      closing: () => void heard.push(site.problem() ?? "listens"),
    };
    const site = publicServer([role], resources());
    await site.start();
    await site.stop();
    expect(heard).toEqual([200, "listens"]);
  });

  test("a part that cannot open closes those before it, and no port is left", async () => {
    const calls: string[] = [];
    const site = publicServer([part("one", calls), part("two", calls, "open")], resources());
    await expect(site.start()).rejects.toThrow("two cannot");
    expect(calls).toEqual(["one open", "two open", "one close"]);
    expect(site.address()).toBeNull();
  });

  test("a part that fails once the port is open closes everything", async () => {
    const calls: string[] = [];
    const site = publicServer([part("one", calls), part("two", calls, "opened")], resources());
    await expect(site.start()).rejects.toThrow("two cannot");
    expect(calls.slice(-2)).toEqual(["two close", "one close"]);
    const port = site.address()?.port;
    await expect(fetch(`http://127.0.0.1:${port}/one`)).rejects.toThrow("fetch failed");
  });

  test("a port that is in use leaves no part open", async () => {
    const first = publicServer([part("one", [])], resources());
    await first.start();
    const calls: string[] = [];
    const second = publicServer([part("two", calls)], resources(`127.0.0.1:${first.address()?.port}`));
    await expect(second.start()).rejects.toThrow("EADDRINUSE");
    expect(calls).toEqual(["two open", "two close"]);
    await first.stop();
  });

  test("without the database it opens for the parts that do not need it, and answers 503 for the others", async () => {
    const calls: string[] = [];
    let isPrepared = false;
    const parts = [part("one", calls), { ...part("two", calls), needsDatabase: true }];
    const site = publicServer(parts, { ...resources(), isPrepared: () => isPrepared });
    await site.start();
    expect(calls.splice(0)).toEqual(["one open", "one opened"]);
    const origin = `http://127.0.0.1:${site.address()?.port}`;
    const statuses = () =>
      Promise.all(["one", "two", "three"].map(async (path) => (await fetch(`${origin}/${path}`)).status));
    expect(await statuses()).toEqual([200, 503, 503]);
    isPrepared = true;
    await site.rest.start();
    expect(calls.splice(0)).toEqual(["two open", "two opened"]);
    expect(await statuses()).toEqual([200, 200, 404]);
    await site.rest.stop();
    await site.stop();
    expect(calls).toEqual(["one closing", "two closing", "two close", "one close"]);
  });

  test("closed before the database was available, it closes what was open", async () => {
    const calls: string[] = [];
    const parts = [part("one", calls), { ...part("two", calls), needsDatabase: true }];
    const site = publicServer(parts, { ...resources(), isPrepared: () => false });
    await site.start();
    await site.stop();
    expect(calls).toEqual(["one open", "one opened", "one closing", "one close"]);
  });

  test("every part is notified of a rejected connection", async () => {
    const calls: string[] = [];
    const connectionRefused = () => void calls.push("turned away");
    const slow: ServerRole = { ...part("one", []), connectionRefused };
    const waiting: ServerResponse[] = [];
    slow.open = async () => [
      { handles: () => true, handle: (_request, response) => void waiting.push(response) },
    ];
    const { config, ...rest } = resources();
    const site = publicServer([slow, { ...part("two", []), connectionRefused }], {
      ...rest,
      config: { ...config, connectionsMax: 2 },
    });
    await site.start();
    const origin = `http://127.0.0.1:${site.address()?.port}`;
    const held = [fetch(origin), fetch(origin)];
    await expect.poll(() => waiting.length).toBe(2);
    expect((await fetch(origin)).status).toBe(503);
    expect(calls).toEqual(["turned away", "turned away"]);
    for (const response of waiting) response.end();
    await Promise.all(held);
    await site.stop();
  });
});
