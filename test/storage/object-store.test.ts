// The four verbs against a real server, and against one that misbehaves.
import { randomBytes } from "node:crypto";
import { createServer, type RequestListener } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ObjectStoreError, openObjectStore } from "../../src/lib/object-store.ts";
import { isS3ServerInstalled, S3Server, WHY_SKIPPED } from "../support/s3-server.ts";

const errorOf = async (call: Promise<unknown>) => {
  const error = await call.then(
    () => null,
    (reason: unknown) => reason,
  );
  return error instanceof ObjectStoreError ? error.kind : error;
};

describe.skipIf(!isS3ServerInstalled)(`with a real store${WHY_SKIPPED}`, () => {
  let server: S3Server;
  beforeAll(async () => {
    server = await S3Server.make();
    await server.start();
  });
  afterAll(() => server.remove());

  test("it gives back every byte under the key it was put, however the key is spelt", async () => {
    const store = server.open();
    const body = randomBytes(10_000);
    for (const key of ["plain", "a/b-1", "ü &<>'\"+ %2F/(x)!*~"]) {
      await store.put(key, body);
      expect((await store.get(key)).equals(body), key).toBe(true);
    }
    await store.put("empty", Buffer.alloc(0));
    expect(await store.get("empty")).toHaveLength(0);
  });

  test("it takes the same object twice, and the later bytes win", async () => {
    const store = server.open();
    await store.put("twice", Buffer.from("first"));
    await store.put("twice", Buffer.from("second"));
    expect(String(await store.get("twice"))).toBe("second");
  });

  test("deletes objects; deleting again is no error", async () => {
    const store = server.open();
    await store.put("short-lived", Buffer.from("x"));
    await store.delete("short-lived");
    expect(await errorOf(store.get("short-lived"))).toBe("missing");
    await store.delete("short-lived");
  });

  test("it lists by prefix, in order, and no more than asked for", async () => {
    const store = server.open();
    for (const key of ["list/b", "list/a&b", "list/c", "other/a"]) await store.put(key, Buffer.from("x"));
    expect(await store.list("list/", { limit: 10 })).toEqual(["list/a&b", "list/b", "list/c"]);
    expect(await store.list("list/", { limit: 2 })).toEqual(["list/a&b", "list/b"]);
    expect(await store.list("nothing/", { limit: 2 })).toEqual([]);
  });

  test("it refuses a wrong secret, a wrong name, a bucket that is not there", async () => {
    const bytes = Buffer.from("x");
    expect(await errorOf(server.open({ secretKey: "wrong" }).put("k", bytes))).toBe("refused");
    expect(await errorOf(server.open({ accessKey: "nobody" }).put("k", bytes))).toBe("refused");
    expect(await errorOf(server.open({ bucket: "elsewhere" }).put("k", bytes))).toBe("refused");
    // A bucket that is gone must not look like an object that never was.
    expect(await errorOf(server.open({ bucket: "elsewhere" }).get("k"))).toBe("refused");
  });

  test("limits the size of objects in both directions", async () => {
    expect(await errorOf(server.open({ objectBytesMax: 9 }).put("large", Buffer.alloc(10)))).toBe("refused");
    await server.open().put("large", Buffer.alloc(10));
    expect(await errorOf(server.open({ objectBytesMax: 9 }).get("large"))).toBe("refused");
    expect(await server.open({ objectBytesMax: 10 }).get("large")).toHaveLength(10);
  });
});

describe("a store that misbehaves", () => {
  async function against<T>(listener: RequestListener, work: (endpoint: string) => Promise<T>): Promise<T> {
    const server = createServer(listener).listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const address = server.address();
    const port = address !== null && typeof address === "object" ? address.port : 0;
    try {
      return await work(`http://127.0.0.1:${port}`);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  }

  const options = {
    bucket: "b",
    region: "us-east-1",
    accessKey: "a",
    secretKey: "s",
    timeoutMs: 10_000,
    objectBytesMax: 100,
  };

  test("and confirms fewer bytes than it was given has confirmed nothing", async () => {
    const listener: RequestListener = (request, response) => {
      request.resume();
      response.writeHead(200, { "content-length": request.method === "HEAD" ? 2 : 0 }).end();
    };
    await against(listener, async (endpoint) => {
      const store = openObjectStore({ ...options, endpoint });
      expect(await errorOf(store.put("k", Buffer.from("xx")))).toBeNull();
      expect(await errorOf(store.put("k", Buffer.from("xxx")))).toBe("unavailable");
    });
  });

  test("for a moment only is asked again; for longer, three times and no more", async () => {
    let calls = 0;
    let failures = 2;
    const listener: RequestListener = (request, response) => {
      request.resume();
      calls += 1;
      response.writeHead(calls <= failures ? 503 : 200).end(calls <= failures ? "" : "fine");
    };
    await against(listener, async (endpoint) => {
      const store = openObjectStore({ ...options, endpoint });
      expect(String(await store.get("k"))).toBe("fine");
      [calls, failures] = [0, 100];
      expect(await errorOf(store.get("k"))).toBe("unavailable");
      expect(calls).toBe(3);
    });
  });

  test("and stops sending in the middle of a download is not waited for", async () => {
    const listener: RequestListener = (_, response) => void response.writeHead(200).write("begin");
    await against(listener, async (endpoint) => {
      const store = openObjectStore({ ...options, endpoint, timeoutMs: 200 });
      const read: string[] = [];
      const reading = (async () => {
        for await (const chunk of store.download("k")) read.push(Buffer.from(chunk).toString());
      })();
      expect(await errorOf(reading)).toBe("unavailable");
      expect(read).toEqual(["begin"]);
    });
  });

  test("and rejects permanently is not retried, and redirects are not followed", async () => {
    for (const status of [301, 307, 400, 403]) {
      let calls = 0;
      const listener: RequestListener = (_, response) => {
        calls += 1;
        response.writeHead(status, { location: "/elsewhere" }).end("<Code>Whatever</Code>");
      };
      await against(listener, async (endpoint) => {
        const store = openObjectStore({ ...options, endpoint });
        await expect(store.get("k")).rejects.toThrow(`GET: HTTP ${status} Whatever`);
      });
      expect(calls).toBe(1);
    }
  });

  test("and never answers, or never ends, is given up in time", async () => {
    const listeners: RequestListener[] = [
      () => {},
      (_, response) => response.writeHead(200).write("x"),
      (request) => request.socket.destroy(),
    ];
    for (const listener of listeners) {
      await against(listener, async (endpoint) => {
        const store = openObjectStore({ ...options, endpoint, timeoutMs: 300 });
        const startedAt = performance.now();
        expect(await errorOf(store.get("k"))).toBe("unavailable");
        expect(performance.now() - startedAt).toBeLessThan(10_000);
      });
    }
  });

  test("is left at once when the process stops", async () => {
    await against(
      () => {},
      async (endpoint) => {
        const stop = new AbortController();
        const store = openObjectStore({ ...options, endpoint, signal: stop.signal, timeoutMs: 60_000 });
        const call = errorOf(store.get("k"));
        stop.abort();
        expect(await call).toBe("unavailable");
      },
    );
  });
});
