// What a sender hears, and what that promises: addresses, recipients together, senders of every kind, encryption.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import { describe, expect, onTestFinished, test } from "vitest";
import type { AcceptedSignal } from "../../src/core/signal.ts";
import type { Acceptance } from "../../src/intake/intake.ts";
import type { MailServerOptions } from "../../src/services/smtp/server.ts";
import { bareClient, mailClient } from "./client.ts";
import { ADDRESS, DOMAIN, startMailServer, UUID } from "./server.ts";

const MESSAGE = Buffer.from("Subject: x\r\n\r\nhello\r\n");
const OTHER = "00000000-0000-4000-8000-000000000001";

async function stage(
  options: Partial<MailServerOptions> = {},
  accept?: (signal: AcceptedSignal) => Promise<Acceptance>,
) {
  const started = await startMailServer(options, accept);
  onTestFinished(() => started.server.stop());
  const client = await mailClient(started);
  onTestFinished(() => client.close());
  return { ...started, client };
}

describe("A recipient", () => {
  test.each([
    [`${UUID}@PING.Example.ORG`, "250 OK"],
    [`${UUID.toUpperCase()}@${DOMAIN}`, "250 OK"],
    [`${"k".repeat(22)}+my-job@${DOMAIN}`, "250 OK"],
    [`${UUID}@example.com`, "550 5.1.1 Recipient rejected"],
    ["postmaster", "550 5.1.1 Recipient rejected"],
    [`postmaster@${DOMAIN}`, "550 5.1.1 Invalid mailbox"],
    [`${"k".repeat(22)}+${"s".repeat(101)}@${DOMAIN}`, "550 5.1.1 Invalid mailbox"],
  ])("%s is answered %s", async (address, answer) => {
    const { client } = await stage();
    await client.say("MAIL FROM:<a@b.example>");
    expect(await client.say(`RCPT TO:<${address}>`)).toBe(answer);
  });
});

describe("A sender", () => {
  test.each([
    ["MAIL FROM:<>", "Email from <>"],
    ["MAIL FROM:<root>", "Email from root"],
    ["MAIL FROM: root@nas", "Email from root@nas"],
    ["MAIL FROM:<ilo.@example.org>", "Email from ilo.@example.org"],
    ["MAIL FROM:<jürgen@example.org> SMTPUTF8", "Email from jürgen@example.org"],
    ["mail from:<A@Example.org> BODY=8BITMIME SIZE=20", "Email from A@Example.org"],
  ])("%s is shown as %s", async (command, ua) => {
    const { client, signals } = await stage();
    expect(await client.say(command)).toBe("250 OK");
    await client.say(`RCPT TO:<${ADDRESS}>`);
    await client.say("DATA");
    client.socket.write(MESSAGE);
    expect(await client.say(".")).toBe("250 OK");
    expect(signals[0]).toMatchObject({
      ua,
      scheme: "email",
      remoteAddr: "127.0.0.1",
      rid: null,
      exitStatus: null,
      target: { by: "uuid", uuid: UUID },
      source: { by: "email", subject: "x", text: "hello\n" },
    });
  });

  test("that disconnects in the middle of a message has sent none", async () => {
    const { client, signals, server } = await stage();
    await client.say("MAIL FROM:<a@b.example>");
    await client.say(`RCPT TO:<${ADDRESS}>`);
    await client.say("DATA");
    client.socket.end(MESSAGE);
    await expect.poll(() => server.counts().answers.broken).toBe(1);
    expect(signals).toEqual([]);
  });
});

describe("Several recipients", () => {
  const to = [ADDRESS, `${OTHER}@${DOMAIN}`];

  test("are acknowledged together: if one cannot be recorded, the sender must retry", async () => {
    const kindOf = ({ target }: AcceptedSignal): Acceptance =>
      target.by === "uuid" && target.uuid === OTHER
        ? { kind: "busy", retryAfterSeconds: 5 }
        : { kind: "recorded" };
    const { client, signals } = await stage({}, async (signal) => kindOf(signal));
    expect(await client.send(MESSAGE, { to })).toMatch(/^451 4\.3\.0 /);
    expect(signals).toHaveLength(2);
  });

  test("that do not exist are accepted, and discarded", async () => {
    const { client, server } = await stage({}, async () => ({ kind: "unknown" }));
    expect(await client.send(MESSAGE, { to })).toBe("250 OK");
    expect(server.counts().answers.unknown).toBe(2);
  });

  test("get their answer when the last of them is durable, and not before", async () => {
    const held = Promise.withResolvers<Acceptance>();
    const { client, signals } = await stage({}, async ({ target }) =>
      target.by === "uuid" && target.uuid === OTHER ? held.promise : { kind: "recorded" },
    );
    let answer = "";
    const answered = client.send(MESSAGE, { to }).then((line) => (answer = line));
    await expect.poll(() => signals.length).toBe(2);
    expect(answer).toBe("");
    held.resolve({ kind: "recorded" });
    expect(await answered).toBe("250 OK");
  });

  test("share what a message may weigh", async () => {
    const { client, signals } = await stage({ keptBytes: 4 * 1024 * 1024 });
    const many = Array.from({ length: 50 }, (_, at) => `${OTHER.slice(0, -2)}${10 + at}@${DOMAIN}`);
    const large = Buffer.concat([MESSAGE, Buffer.alloc(1024 * 1024, "x\r\n")]);
    expect(await client.send(large, { to: many })).toBe("250 OK");
    const bytes = signals.map(
      ({ body, source }) => (body?.length ?? 0) + (source.by === "email" ? source.text.length : 0),
    );
    expect(bytes.reduce((sum, one) => sum + one, 0)).toBeLessThanOrEqual(8 * 1024 * 1024);
  });
});

test("An intake that breaks its word is a 451, and its time is excused", async () => {
  const { client, refusals } = await stage({}, async () => Promise.reject(new Error("broken")));
  expect(await client.send(MESSAGE, { to: [ADDRESS] })).toMatch(/^451 /);
  expect(refusals).toHaveLength(1);
});

test("An intake that never answers is a 451 when its time is over, and that time is excused", async () => {
  const { client, refusals, server } = await stage({ answerWithinMs: 300 }, () => new Promise(() => {}));
  expect(await client.send(MESSAGE, { to: [ADDRESS] })).toMatch(/^451 4\.3\.0 /);
  expect(refusals).toHaveLength(1);
  expect(server.counts().answers.busy).toBe(1);
});

test("A domain of another script is the same in both of its spellings", async () => {
  const { client } = await stage({ domain: "ping.bücher.example" });
  await client.say("MAIL FROM:<a@b.example> SMTPUTF8");
  for (const domain of ["ping.bücher.example", "PING.xn--bcher-kva.EXAMPLE"])
    expect(await client.say(`RCPT TO:<${UUID}@${domain}>`)).toBe("250 OK");
});

test("Mail for an alias of the domain is accepted, and mail for any other domain is not", async () => {
  const { client } = await stage({ aliases: ["hc-ping.example.net"] });
  await client.say("MAIL FROM:<a@b.example>");
  expect(await client.say(`RCPT TO:<${UUID}@HC-ping.example.net>`)).toBe("250 OK");
  expect(await client.say(`RCPT TO:<${UUID}@example.net>`)).toMatch(/^550 5\.1\.1 /);
});

test("A server that closes answers what has begun, and says goodbye to the others", async () => {
  const held = Promise.withResolvers<Acceptance>();
  const { client, server, signals, port } = await stage({}, () => held.promise);
  const idle = await mailClient({ port });
  const answered = client.send(MESSAGE, { to: [ADDRESS] });
  await expect.poll(() => signals.length).toBe(1);
  const stopped = server.stop();
  expect(await idle.hear()).toMatch(/^421 /);
  held.resolve({ kind: "recorded" });
  expect(await answered).toBe("250 OK");
  expect(await client.say("NOOP")).toMatch(/^421 /);
  await stopped;
});

describe("STARTTLS", () => {
  test("is neither offered nor known without a certificate", async () => {
    const { client } = await stage();
    expect(await client.say("STARTTLS")).toMatch(/^500 /);
  });

  test("uses the certificate that was given", async () => {
    const folder = mkdtempSync(join(tmpdir(), "overdue-mail-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const [cert, key] = [join(folder, "c.pem"), join(folder, "k.pem")];
    const request = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", `/CN=${DOMAIN}`];
    execFileSync("openssl", [...request, "-keyout", key, "-out", cert], { stdio: "ignore" });
    const certificate = { cert: readFileSync(cert, "utf8"), key: readFileSync(key, "utf8") };
    const { client, signals } = await stage({ certificate });
    expect(await client.say("STARTTLS")).toMatch(/^220 /);
    client.socket.removeAllListeners("data");
    const secure = connectTls({ socket: client.socket, ca: certificate.cert, servername: DOMAIN });
    await new Promise((resolve, reject) => secure.once("secureConnect", resolve).once("error", reject));
    expect(secure.getPeerCertificate().subject.CN).toBe(DOMAIN);
    let heard = "";
    secure.setEncoding("utf8").on("data", (text: string) => (heard += text));
    secure.write(`EHLO x\r\nMAIL FROM:<>\r\nRCPT TO:<${ADDRESS}>\r\nDATA\r\n`);
    await expect.poll(() => heard).toContain("354 ");
    // It is offered once.
    expect(heard).not.toContain("STARTTLS");
    secure.write(`${MESSAGE.toString()}.\r\n`);
    await expect.poll(() => heard).toMatch(/354 .*\r\n250 OK\r\n$/);
    expect(signals).toHaveLength(1);
    secure.destroy();
  });
});

test("Behind a balancer, its first line says who a message is from", async () => {
  const { server, port, signals } = await startMailServer({ isBehindProxy: true });
  onTestFinished(() => server.stop());
  const client = bareClient({ port });
  onTestFinished(() => client.close());
  client.socket.write("PROXY TCP4 192.0.2.9 192.0.2.1 5000 25\r\n");
  expect(await client.hear()).toMatch(/^220 /);
  await client.say("EHLO x");
  expect(await client.send(MESSAGE, { to: [ADDRESS] })).toBe("250 OK");
  expect(signals[0]?.remoteAddr).toBe("192.0.2.9");
});

test("Behind a load balancer, a connection without a PROXY line is closed", async () => {
  const { server, port, signals } = await startMailServer({ isBehindProxy: true });
  onTestFinished(() => server.stop());
  const client = bareClient({ port });
  onTestFinished(() => client.close());
  client.socket.write("EHLO x\r\nMAIL FROM:<>\r\n");
  expect(await client.hear().catch((error: Error) => error.message)).not.toMatch(/^2/);
  expect(signals).toEqual([]);
});
