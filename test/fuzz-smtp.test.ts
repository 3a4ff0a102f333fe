// A short run of the fuzzer of mail, and the fuzzer itself: it must notice what it looks for, and make the same again.
import { createServer, type Server } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { chanceOf } from "../fuzz/chance.ts";
import { faultOf, fuzzSmtp, holdDialogue } from "../fuzz/smtp/fuzz-smtp.ts";
import { FAULT_NAMES, malformedDialogue } from "../fuzz/smtp/malformed.ts";

/** A bound for what hangs: a quiet machine needs a tenth of it. */
const RUN_MS_MAX = 600_000;
const TARGETS = {
  domain: "ping.example.org",
  uuids: ["0f3a4b5c-1111-4222-8333-444455556666"],
  pingKey: "key",
  slug: "slug",
} as const;

test("finds nothing that the process cannot stand", { timeout: RUN_MS_MAX }, async () => {
  expect(await fuzzSmtp({ seed: 4, first: 0, count: 400, triesAgainMax: 20 })).toBe(true);
});

test("makes the same dialogue of the same seed and number, and every kind of fault", () => {
  const made = (number: number) => malformedDialogue(chanceOf({ seed: 1, number }), TARGETS);
  const numbers = Array.from({ length: 1_000 }, (_, number) => number);
  expect(new Set(numbers.map((number) => made(number).fault))).toEqual(new Set(FAULT_NAMES));
  for (const number of numbers.slice(0, 100)) expect(made(number).fault).toBe(made(number).fault);
});

describe("A dialogue", () => {
  const servers: Server[] = [];
  afterEach(() => {
    for (const server of servers.splice(0)) server.close();
  });

  /** A server that says one thing, and closes the connection or does not. */
  async function listening(text: string, { closes }: { closes: boolean }): Promise<number> {
    const server = createServer({ allowHalfOpen: true }, (socket) => {
      socket.on("error", () => socket.destroy()).resume();
      socket.write(text);
      if (closes) socket.on("end", () => socket.end());
      else setTimeout(() => socket.destroy(), 2_000);
    });
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    return address === null || typeof address === "string" ? 0 : address.port;
  }

  const quit = { pieces: [Buffer.from("QUIT\r\n")], end: "finish" } as const;
  const holding = { localAddress: "127.0.0.1", isPolite: true, quietMs: 10, closedWithinMs: 500 };

  test.each([
    ["220 a\r\n221 b\r\n", true, null],
    ["220 a\r\nTypeError: x\r\n", true, /without a code/],
    ["220 a\r\n", false, /hung/],
  ])("that hears %j and is closed: %s", async (text, closes, fault) => {
    const result = faultOf(await holdDialogue(await listening(text, { closes }), quit, holding));
    if (fault === null) expect(result).toBeNull();
    else expect(result).toMatch(fault);
  });
});
