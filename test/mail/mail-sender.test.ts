// The sender against a real SMTP server: what arrives, what is refused for good, what may be tried again, and what
// may have arrived although nobody said so.
import { afterEach, describe, expect, test } from "vitest";
import {
  type Mail,
  type MailSender,
  type MailSenderOptions,
  openMailSender,
} from "../../src/lib/mail-sender.ts";
import { type SmtpBehaviour, type SmtpOptions, type SmtpReceiver, startSmtp } from "../receivers/smtp.ts";

const MAIL: Mail = {
  to: "ann@example.org",
  subject: "DOWN | nächtliche Sicherung",
  text: "It is down.\n",
  html: "<p>It is down.</p>",
  messageId: "<one@overdue.test>",
};

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).toReversed()) await clean();
});

async function stage(
  server: SmtpOptions = {},
  options: Partial<MailSenderOptions> = {},
): Promise<{ smtp: SmtpReceiver; sender: MailSender }> {
  const smtp = await startSmtp(server);
  cleanups.push(() => smtp.close());
  const sender = openMailSender({
    host: "127.0.0.1",
    port: smtp.port,
    security: "none",
    user: null,
    password: null,
    from: "Overdue <alerts@overdue.test>",
    connectionsMax: 3,
    timeoutMs: 30_000,
    ...options,
  });
  cleanups.push(() => sender.close());
  return { smtp, sender };
}

async function sendTo(behaviour: SmtpBehaviour, options: Partial<MailSenderOptions> = {}) {
  const { smtp, sender } = await stage({}, options);
  smtp.behave(behaviour);
  return { smtp, result: await sender.send(MAIL) };
}

describe("An accepted email", () => {
  test("arrives with both parts, its id, its thread, and the headers that keep machines from answering", async () => {
    const { smtp, sender } = await stage();
    const result = await sender.send({
      ...MAIL,
      references: ["<root@overdue.test>", "<last@overdue.test>"],
      headers: { "List-Unsubscribe": "<https://overdue.test/unsub>" },
      returnPath: "n.1.2.3@bounces.overdue.test",
    });
    expect(result).toMatchObject({ kind: "sent", code: 250 });
    const [got] = smtp.received;
    expect(got?.from).toBe("n.1.2.3@bounces.overdue.test");
    expect(got?.to).toEqual(["ann@example.org"]);
    expect(got?.mail.subject).toBe(MAIL.subject);
    expect(got?.mail.text).toContain("It is down.");
    expect(got?.mail.html).toContain("<p>It is down.</p>");
    expect(got?.header("message-id")).toBe("<one@overdue.test>");
    expect(got?.header("in-reply-to")).toBe("<last@overdue.test>");
    expect(got?.header("references")).toBe("<root@overdue.test> <last@overdue.test>");
    expect(got?.header("auto-submitted")).toBe("auto-generated");
    expect(got?.header("list-unsubscribe")).toBe("<https://overdue.test/unsub>");
    expect(got?.header("from")).toBe("Overdue <alerts@overdue.test>");
  });

  test("cannot smuggle a second address or a header into the conversation", async () => {
    const { smtp, sender } = await stage();
    await sender.send({ ...MAIL, to: "ann@example.org, eve@example.org" });
    await sender.send({ ...MAIL, subject: "DOWN | x\r\nBcc: eve@example.org\r\n\r\nbody" });
    expect(smtp.received.length).toBeGreaterThan(0);
    for (const got of smtp.received) {
      expect(got.to.some((address) => address.startsWith("eve@"))).toBe(false);
      expect(got.header("bcc")).toBeNull();
    }
  });

  test("goes over few connections that are used again", async () => {
    const { smtp, sender } = await stage({}, { connectionsMax: 2 });
    const results = await Promise.all(Array.from({ length: 30 }, () => sender.send(MAIL)));
    expect(results.every(({ kind }) => kind === "sent")).toBe(true);
    expect(smtp.received).toHaveLength(30);
    expect(smtp.connections.most).toBeLessThanOrEqual(2);
    expect(smtp.connections.total).toBeLessThanOrEqual(4);
  });
});

describe("A refused recipient", () => {
  test.each([
    ["550 5.1.1 No such user here", true],
    ["550 No such user", true],
    ["553 5.1.3 Bad address syntax", true],
    ["550 5.2.1 Mailbox disabled", true],
    ["450 4.2.0 Greylisted, come back", false],
    ["451 4.3.0 Try again later", false],
    ["452 4.2.2 Mailbox full", false],
    ["552 5.2.2 Mailbox full", false],
    ["550 5.2.2 Over quota", false],
    ["554 5.7.1 Relay access denied", false],
    ["550 relay not permitted", false],
    ["550 5.7.26 This mail is not authenticated", false],
    ["530 5.7.0 Must issue STARTTLS first", false],
    ["550 5.4.4 Host not found", false],
  ])("by %s is permanent: %s", async (answer, permanent) => {
    const { result } = await sendTo({ onRcptTo: () => answer });
    expect(result).toMatchObject({
      kind: "failed",
      permanent,
      code: Number(answer.slice(0, 3)),
      inDoubt: false,
      reason: `The mail server rejected the recipient address: ${answer}`,
    });
  });

  test("does not end the connection for the next one", async () => {
    const { smtp, sender } = await stage({}, { connectionsMax: 1 });
    smtp.behave({ onRcptTo: (address) => (address === MAIL.to ? "550 5.1.1 No such user" : null) });
    expect((await sender.send(MAIL)).kind).toBe("failed");
    expect((await sender.send({ ...MAIL, to: "bob@example.org" })).kind).toBe("sent");
    expect(smtp.connections.total).toBe(1);
  });
});

describe("Errors that do not concern the recipient", () => {
  test.each<[string, SmtpBehaviour]>([
    ["a refused sender", { onMailFrom: "550 5.7.1 You may not send" }],
    ["a mail taken for spam", { onData: "554 5.7.1 Looks like spam" }],
    ["a server that is full", { onData: "452 4.3.1 Insufficient system storage" }],
  ])("is never permanent: %s", async (_name, behaviour) => {
    const { result } = await sendTo(behaviour);
    expect(result).toMatchObject({ kind: "failed", permanent: false, inDoubt: false });
    expect(result.kind === "failed" && result.reason).toMatch(/^The mail server rejected the email: \d{3} /);
  });

  test("the email was not sent if the server disconnects before it has all of it", async () => {
    for (const hangUp of ["greeting", "rcpt"] as const) {
      const { smtp, result } = await sendTo({ hangUp });
      expect(result).toMatchObject({ kind: "failed", permanent: false, code: null, inDoubt: false });
      expect(smtp.received).toEqual([]);
    }
  });

  test("the outcome is unknown if the server disconnects after it has the whole email", async () => {
    const { result } = await sendTo({ hangUp: "data" });
    expect(result).toMatchObject({ kind: "failed", permanent: false, code: null, inDoubt: true });
  });

  test("ends in time if the server is slow to accept the email, and then the outcome is unknown", async () => {
    const begun = performance.now();
    const { result } = await sendTo({ dataMs: 15_000 }, { timeoutMs: 2_000 });
    expect(performance.now() - begun).toBeLessThan(14_000);
    expect(result).toMatchObject({
      kind: "failed",
      inDoubt: true,
      reason: "The mail server did not respond in time",
    });
  });

  test("ends in time when the server never greets, and then there is no doubt", async () => {
    const { result } = await sendTo({ greetingMs: 15_000 }, { timeoutMs: 600 });
    expect(result).toMatchObject({ kind: "failed", permanent: false, inDoubt: false });
  });

  test("is over as soon as the server is well again, although a connection had hung", async () => {
    const { smtp, sender } = await stage({}, { timeoutMs: 3_000, connectionsMax: 1 });
    smtp.behave({ dataMs: 15_000 });
    expect((await sender.send(MAIL)).kind).toBe("failed");
    smtp.behave({});
    expect((await sender.send(MAIL)).kind).toBe("sent");
  });

  test("does not let one wait for ever behind others", async () => {
    const { smtp, sender } = await stage({}, { timeoutMs: 2_000, connectionsMax: 1 });
    smtp.behave({ dataMs: 15_000 });
    const [first, second] = await Promise.all([sender.send(MAIL), sender.send(MAIL)]);
    expect(first).toMatchObject({ kind: "failed", inDoubt: true });
    expect(second).toMatchObject({ kind: "failed", inDoubt: false });
  });

  test("an unreachable server is reported, and the email was not sent", async () => {
    const { smtp, sender } = await stage();
    await smtp.close();
    expect(await sender.send(MAIL)).toMatchObject({
      kind: "failed",
      inDoubt: false,
      reason: "The mail server refused the connection",
    });
    expect(await sender.problem()).toBe("The mail server refused the connection");
  });
});

describe("The conversation", () => {
  test.each(["starttls", "tls"] as const)(
    "is encrypted by %s with a trusted certificate",
    async (security) => {
      const smtp = await startSmtp({ security });
      cleanups.push(() => smtp.close());
      const options = { host: "127.0.0.1", port: smtp.port, security, user: null, password: null };
      const rest = { from: "a@overdue.test", connectionsMax: 1, timeoutMs: 30_000 };
      const trusting = openMailSender({ ...options, ...rest, ca: smtp.ca });
      cleanups.push(() => trusting.close());
      expect((await trusting.send(MAIL)).kind).toBe("sent");
      const wary = openMailSender({ ...options, ...rest });
      cleanups.push(() => wary.close());
      const result = await wary.send(MAIL);
      expect(result).toMatchObject({ kind: "failed", permanent: false, inDoubt: false });
      expect(result.kind === "failed" && result.reason).toMatch(/certificate|encrypted/);
    },
  );

  test("does not continue without encryption if it is required", async () => {
    const { smtp, sender } = await stage({}, { security: "starttls" });
    expect((await sender.send(MAIL)).kind).toBe("failed");
    expect(smtp.received).toEqual([]);
  });

  test("authenticates, and reports a wrong password without repeating it", async () => {
    const login = { user: "overdue", password: "correct-horse-battery" };
    const good = await stage({ login }, login);
    expect((await good.sender.send(MAIL)).kind).toBe("sent");
    expect(await good.sender.problem()).toBeNull();
    const bad = await stage({ login }, { ...login, password: "wrong-password-1" });
    const result = await bad.sender.send(MAIL);
    expect(result).toMatchObject({ kind: "failed", permanent: false, code: 535 });
    expect(JSON.stringify(result)).not.toContain("wrong-password-1");
    expect(await bad.sender.problem()).toMatch(/^The mail server rejected the login/);
  });

  test("masks a password that the server repeats, plain or as base64", async () => {
    const password = "secret-of-the-relay";
    const { smtp, sender } = await stage({}, { user: "overdue", password });
    const base64 = Buffer.from(password).toString("base64");
    smtp.behave({ onRcptTo: () => `550 5.1.1 you said ${password} and ${base64}` });
    const result = await sender.send(MAIL);
    expect(JSON.stringify(result)).not.toMatch(new RegExp(`${password}|${base64}`));
    expect(JSON.stringify(result)).toContain("********");
  });
});

describe("A sender that is closed", () => {
  test("lets what has begun end, and sends nothing more", async () => {
    const { smtp, sender } = await stage();
    smtp.behave({ dataMs: 300 });
    const begun = sender.send(MAIL);
    await new Promise((resolve) => setTimeout(resolve, 100));
    await sender.close();
    expect((await begun).kind).toBe("sent");
    expect(await sender.send(MAIL)).toMatchObject({ kind: "failed", inDoubt: false });
  });
});
