// Those who send too much, too slowly or nothing at all: they are bounded, and stop nobody else.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import type { SMTPServerSession } from "smtp-server";
import { describe, expect, onTestFinished, test } from "vitest";
import { EMAIL_BYTES_MAX, EMAIL_CHECK_MESSAGES_PER_MINUTE } from "../../src/core/limits.ts";
import type { SignalIntake } from "../../src/intake/intake.ts";
import { createLog } from "../../src/lib/log.ts";
import { MailReceiver } from "../../src/services/smtp/receive.ts";
import type { MailServerOptions } from "../../src/services/smtp/server.ts";
import { bareClient, type ClientOptions, mailClient } from "./client.ts";
import { ADDRESS, DOMAIN, type StartedServer, startMailServer } from "./server.ts";

const CROWD = 10_000;
const CROWD_MS_MAX = 600_000;
const MESSAGE = Buffer.from("Subject: x\r\n\r\nhello\r\n");

async function started(options: Partial<MailServerOptions> = {}): Promise<StartedServer> {
  const one = await startMailServer(options);
  onTestFinished(() => one.server.stop());
  return one;
}

async function client(options: ClientOptions) {
  const one = await mailClient(options);
  onTestFinished(() => one.close());
  return one;
}

/** Sends as mail programs do: one that is put off, or cut off before it was answered, comes again. */
async function deliverPatiently(port: number): Promise<void> {
  const giveUpMs = performance.now() + PATIENCE_MS;
  for (let tries = 1; ; tries += 1) {
    const said = await deliverOnce(port).catch((error: unknown) => String(error));
    if (said === "250 OK") return;
    if (performance.now() > giveUpMs) throw new Error(`put off ${tries} times, at last: ${said}`);
    await pause(RETRY_MS);
  }
}

async function deliverOnce(port: number): Promise<string> {
  const sender = await mailClient({ port });
  try {
    return await sender.send(MESSAGE, { to: [ADDRESS] });
  } finally {
    sender.close();
  }
}

/** Mail programs have days. This is only for a test that should end; on a busy machine a try takes seconds. */
const PATIENCE_MS = 120_000;
const RETRY_MS = 100;

describe("Too many", () => {
  test(
    "connections, ten thousand of them, do not stop a sender",
    async () => {
      const { server, port, signals } = await started({ connectionsMax: 1_000, peerConnectionsMax: 100 });
      const crowd = spawn(process.execPath, [
        join(import.meta.dirname, "crowd-process.ts"),
        String(port),
        String(CROWD),
      ]);
      onTestFinished(() => void crowd.kill("SIGKILL"));
      await once(crowd.stdout, "data");
      const tookMs: number[] = [];
      for (let at = 0; at < 10; at += 1) {
        const beginMs = performance.now();
        await deliverPatiently(port);
        tookMs.push(performance.now() - beginMs);
      }
      const { connections } = server.counts();
      console.log(
        `smtp crowd: ${CROWD} opened, ${connections.open} held, ${connections.cutOff} cut off, ` +
          `slowest of 10 messages ${Math.round(Math.max(...tookMs))} ms`,
      );
      // One that was cut off right before its answer has sent its message twice.
      expect(signals.length).toBeGreaterThanOrEqual(10);
      expect(connections.open).toBeLessThanOrEqual(1_000);
      expect(connections.cutOff).toBeGreaterThan(CROWD / 2);
    },
    CROWD_MS_MAX,
  );

  test("connections from one network are rejected, those of another are not", async () => {
    const { server, port, refusals } = await started({ peerConnectionsMax: 3 });
    for (let at = 0; at < 3; at += 1) await client({ port });
    const fourth = bareClient({ port });
    expect(await fourth.hear()).toMatch(/^421 /);
    const stranger = await client({ port, localAddress: "127.0.0.2" });
    expect(await stranger.send(MESSAGE, { to: [ADDRESS] })).toBe("250 OK");
    expect(server.counts().connections.refused).toBe(1);
    // One of the network's own checks may have been refused; no other network's.
    expect(refusals).toMatchObject([{ target: null, network: "127.0.0.1" }]);
  });

  test("messages from one network are put off", async () => {
    const { port, refusals } = await started({ peerMessagesPerMinute: 2 });
    const sender = await client({ port });
    for (let at = 0; at < 2; at += 1) expect(await sender.send(MESSAGE, { to: [ADDRESS] })).toBe("250 OK");
    expect(await sender.send(MESSAGE, { to: [ADDRESS] })).toMatch(/^450 4\.7\.1 /);
    const stranger = await client({ port, localAddress: "127.0.0.2" });
    expect(await stranger.send(MESSAGE, { to: [ADDRESS] })).toBe("250 OK");
    expect(refusals).toMatchObject([{ target: null, network: "127.0.0.1" }]);
  });

  test("messages for one check are put off, those for another are not", async () => {
    const { port, server, refusals } = await started();
    const sender = await client({ port });
    for (let at = 0; at < EMAIL_CHECK_MESSAGES_PER_MINUTE; at += 1)
      await sender.send(MESSAGE, { to: [ADDRESS] });
    let answer = "250 OK";
    // Time goes on, and with it a message every tenth of a second is allowed again.
    for (let at = 0; at < EMAIL_CHECK_MESSAGES_PER_MINUTE && answer === "250 OK"; at += 1) {
      answer = await sender.send(MESSAGE, { to: [ADDRESS] });
    }
    expect(answer).toMatch(/^450 4\.2\.1 /);
    await sender.say("RSET");
    const other = `00000000-0000-4000-8000-000000000001@${DOMAIN}`;
    expect(await sender.send(MESSAGE, { to: [other] })).toBe("250 OK");
    expect(server.counts().answers.tooMany).toBe(1);
    expect(refusals).toMatchObject([{ target: { by: "uuid" }, network: "127.0.0.1" }]);
  });

  test("recipients of one message are put off", async () => {
    const { port } = await started();
    const sender = await client({ port });
    const to = Array.from(
      { length: 101 },
      (_, at) => `00000000-0000-4000-8000-${String(at).padStart(12, "0")}@${DOMAIN}`,
    );
    expect(await sender.send(MESSAGE, { to })).toMatch(/^452 /);
  });
});

describe("Too large", () => {
  test("a message is refused for good, whether or not it said so before", async () => {
    const { port, signals } = await started();
    const sender = await client({ port });
    expect(await sender.say(`MAIL FROM:<a@b.example> SIZE=${EMAIL_BYTES_MAX + 1}`)).toMatch(/^552 /);
    const large = Buffer.alloc(EMAIL_BYTES_MAX + 1, "x");
    expect(await sender.send(large, { to: [ADDRESS] })).toMatch(/^552 /);
    expect(signals).toEqual([]);
  });

  test("all messages together: the one that is too much is put off, and its time is excused", async () => {
    const { port, signals, refusals } = await started({ bytesHeldMax: 100_000 });
    const sender = await client({ port });
    expect(await sender.send(Buffer.alloc(200_000, "x"), { to: [ADDRESS] })).toMatch(/^451 /);
    expect(await sender.send(MESSAGE, { to: [ADDRESS] })).toBe("250 OK");
    expect([signals.length, refusals.length]).toEqual([1, 1]);
  });

  test("a message counts until it has been decoded", async () => {
    const held = { bytes: 0, whileDecoding: 0, whenAccepted: 0 };
    const intake: SignalIntake = {
      now: () => Date.now(),
      accept: async () => {
        held.whenAccepted = held.bytes;
        return { kind: "recorded" };
      },
      refused: () => {},
      resolve: async () => "known",
    };
    const receiver = new MailReceiver({
      intake,
      keptBytes: 1_000,
      keptBytesBeyond: 1_000,
      peerMessagesPerMinute: 0,
      budget: {
        take: (bytes) => {
          held.bytes += bytes;
          return true;
        },
        giveBack: (bytes) => void (held.bytes -= bytes),
      },
      log: createLog({ level: "fatal" }),
    });
    const stream = Object.assign(new PassThrough(), { byteLength: 0, sizeExceeded: false });
    const envelope = { mailFrom: false, rcptTo: [{ address: ADDRESS, args: false }] };
    // The part of a session that is read here.
    const session = { envelope, remoteAddress: "127.0.0.1" } as unknown as SMTPServerSession;
    const onWhole = () => queueMicrotask(() => (held.whileDecoding = held.bytes));
    const received = receiver.receive(stream, { session, network: "127.0.0.1", onWhole });
    stream.end("Content-Type: text/html\r\n\r\n<b>x</b>\r\n");
    await received;
    expect(held).toEqual({ bytes: 0, whileDecoding: 1_024, whenAccepted: 0 });
  });

  test("a check that has used up its bytes of the day keeps the beginning of a message", async () => {
    const { port, signals } = await started({ keptBytes: 4 * 1024 * 1024, keptBytesBeyond: 10_000 });
    const sender = await client({ port });
    const message = Buffer.concat([MESSAGE, Buffer.alloc(4 * 1024 * 1024, "x\r\n")]);
    for (let at = 0; at < 9; at += 1) expect(await sender.send(message, { to: [ADDRESS] })).toBe("250 OK");
    expect(signals.map(({ body }) => body?.length)).toEqual([...Array(8).fill(4 * 1024 * 1024), 10_000]);
  });

  test("a command line closes the connection", async () => {
    const { port } = await started();
    const sender = await client({ port });
    expect(await sender.say(`NOOP ${"x".repeat(5_000)}`)).toMatch(/^421 /);
  });
});

describe("Too slow", () => {
  test("a silent connection is closed", async () => {
    const { port } = await started({ idleMs: 300 });
    const sender = await client({ port });
    expect(await sender.hear()).toMatch(/^421 /);
  });

  test("a slow connection is closed when its time is over, however steadily it sends", async () => {
    const { port, signals } = await started({ unproductiveMs: 1_000 });
    const sender = await client({ port });
    await sender.say("MAIL FROM:<a@b.example>");
    await sender.say(`RCPT TO:<${ADDRESS}>`);
    await sender.say("DATA");
    sender.socket.on("error", () => {});
    const drip = setInterval(() => sender.socket.write("x"), 50);
    onTestFinished(() => clearInterval(drip));
    expect(await sender.hear()).toMatch(/^421 /);
    await pause(50);
    expect(signals).toEqual([]);
  });
});
