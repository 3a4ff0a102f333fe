// Answers in pieces: at the speed of the client, and no longer than it is there.
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import { writePieces } from "./write-pieces.ts";

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

/** A server that answers with `work`, and a client that has asked and does not read. */
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

test("no more is made than the client takes, and a stalled client is disconnected", async () => {
  const counted = { made: 0, isEnded: false };
  const { done } = await stalledClient((response) =>
    writePieces(response, endless(counted), { stalledMsMax: 500 }),
  );
  await done;
  expect(counted.isEnded).toBe(true);
  // What the sockets of both sides hold, and no more.
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
