// A short run of the fuzzer, and the fuzzer itself: it must see what it looks for, and make the same thing again.
import { createServer, type Server, type Socket } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { chanceOf } from "../fuzz/chance.ts";
import { exchange, isPutOff, isServersFault, outcomeOf } from "../fuzz/ping/exchange.ts";
import { fuzzPing } from "../fuzz/ping/fuzz-ping.ts";
import { malformedAttempt } from "../fuzz/ping/malformed.ts";

/** A bound for what hangs: a quiet machine needs a tenth of it. */
const RUN_MS_MAX = 600_000;
const TARGETS = { uuids: ["0f3a4b5c-1111-4222-8333-444455556666"], pingKey: "key", slug: "slug" } as const;

// Each of these has a server and a process of its own, and waits for them most of the time.
describe.concurrent("The fuzzer", { timeout: RUN_MS_MAX }, () => {
  test("finds nothing that the ping process cannot stand", async () => {
    expect(await fuzzPing({ seed: 4, first: 0, count: 600, triesAgainMax: 20 })).toBe(true);
  });

  test("does not let more memory pass than it states", async () => {
    const one = { seed: 4, first: 0, count: 1, triesAgainMax: 20 };
    expect(await fuzzPing({ ...one, residentBytesMax: 1_000_000 })).toBe(false);
  });
});

describe("What is sent", () => {
  test("makes the same request of the same seed and number, and another of another", () => {
    const made = (seed: number, number: number) =>
      JSON.stringify(malformedAttempt(chanceOf({ seed, number }), TARGETS));
    const numbers = Array.from({ length: 300 }, (_, number) => number);
    expect(numbers.map((number) => made(1, number))).toEqual(numbers.map((number) => made(1, number)));
    expect(new Set(numbers.map((number) => made(1, number))).size).toBeGreaterThan(240);
    expect(numbers.filter((number) => made(1, number) === made(2, number)).length).toBeLessThan(30);
  });

  test("makes every kind of fault", () => {
    const faults = new Set(
      Array.from(
        { length: 2_000 },
        (_, number) => malformedAttempt(chanceOf({ seed: 3, number }), TARGETS).fault,
      ),
    );
    expect(faults.size).toBe(28);
  });
});

describe("An exchange", () => {
  const servers: Server[] = [];
  afterEach(() => {
    for (const server of servers.splice(0)) server.close();
  });

  /** A server that does one thing to everybody. */
  async function listening(serve: (socket: Socket) => void): Promise<number> {
    const server = createServer({ allowHalfOpen: true }, (socket) => {
      socket.on("error", () => socket.destroy());
      serve(socket);
    });
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    return address === null || typeof address === "string" ? 0 : address.port;
  }

  const hello = { pieces: [Buffer.from("hel"), Buffer.from("lo")], end: "finish" } as const;
  const say = (text: string) => (socket: Socket) => void socket.resume().on("end", () => socket.end(text));

  test.each([
    ["HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nOK", "200", false],
    ["HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nOKHTTP/1.1 404 No\r\n\r\n", "several", false],
    ["HTTP/1.1 503 Busy\r\n\r\n", "503", true],
    ["HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nOKHTTP/1.1 500 No\r\n\r\n", "several", true],
    ["", "closed", false],
  ])("that hears %j is told as %s", async (text, outcome, isFault) => {
    const result = await exchange(await listening(say(text)), hello);
    expect([outcomeOf(result), isServersFault(result)]).toEqual([outcome, isFault]);
  });

  test("that hears nothing and is not let go has hung", async () => {
    const sockets: Socket[] = [];
    const port = await listening((socket) => void sockets.push(socket.resume()));
    const result = await exchange(port, hello, { closedWithinMs: 50 });
    for (const socket of sockets) socket.destroy();
    expect([outcomeOf(result), isServersFault(result)]).toEqual(["hung", true]);
  });

  test("is put off only by those who say nothing worse", () => {
    const answered = (...statuses: number[]) => isPutOff({ kind: "answered", statuses });
    expect([answered(503), answered(200, 503), answered(503, 500), answered(200), answered()]).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
    expect(isPutOff({ kind: "hung", heard: "" })).toBe(false);
  });

  test("with nobody there is a fault", async () => {
    const port = await listening(() => {});
    servers.splice(0).forEach((server) => server.close());
    expect(isServersFault(await exchange(port, hello))).toBe(true);
  });

  test("that is abandoned is nobody's fault", async () => {
    const result = await exchange(await listening(say("")), { ...hello, end: "abandon" });
    expect([outcomeOf(result), isServersFault(result)]).toEqual(["abandoned", false]);
  });
});
