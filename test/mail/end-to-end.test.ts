// Mail as people meet it, through the whole program: an address is asked, agrees, gets alarm and all-clear as one
// thread, and leaves with one click; owners hear of what is not sent.
import { randomUUID } from "node:crypto";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { askForVerification } from "../../src/operations/channels.ts";
import { assignChannels, type Channel, findChannelById, insertChannel } from "../../src/store/channels.ts";
import { findCheckByUuid } from "../../src/store/checks.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { useCast } from "../management/cast.ts";
import { type ReceivedMail, startSmtp } from "../receivers/smtp.ts";

const smtp = await startSmtp();
const cast = useCast({
  roles: ["api", "ping", "notifier"],
  settings: {
    OVERDUE_SMTP_HOST: "127.0.0.1",
    OVERDUE_SMTP_PORT: String(smtp.port),
    OVERDUE_SMTP_TLS: "none",
    OVERDUE_MAIL_FROM: "Overdue <alerts@overdue.test>",
    OVERDUE_MAIL_RETURN_PATH: "%s@bounces.overdue.test",
  },
});
afterAll(() => smtp.close());
beforeEach(() => {
  smtp.behave({});
  smtp.received.length = 0;
});

const WAIT_MS = 40_000;

/** Mails take a second or two: letters are looked for every two seconds. */
async function mailTo(
  address: string,
  isIt: (mail: ReceivedMail) => boolean = () => true,
): Promise<ReceivedMail> {
  const end = performance.now() + WAIT_MS;
  while (performance.now() < end) {
    const found = smtp.received.find((mail) => mail.to.includes(address) && isIt(mail));
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const came = smtp.received.map(({ to, mail }) => `${to.join()}: ${mail.subject}`);
  throw new Error(`no such mail to ${address}; there were: ${came.join("; ") || "none"}`);
}

async function mailChannel(address: string): Promise<Channel> {
  const at = await cast.now();
  return inTransaction(cast.db, async (tx) => {
    const channel = await insertChannel(tx, {
      uuid: randomUUID(),
      projectId: cast.owner.project.id,
      kind: "email",
      name: "On call",
      config: { value: address, up: true, down: true },
      createdAt: at,
    });
    await askForVerification(tx, { channelId: channel.id, address, at, isRequired: true, repeat: false });
    return channel;
  });
}

async function checkTelling(channel: Channel): Promise<string> {
  const { json } = await cast.ask("/api/v3/checks/", {
    method: "POST",
    key: cast.owner.rw,
    body: { name: "backup" },
  });
  const { uuid } = json as { uuid: string };
  const check = await findCheckByUuid(cast.db, uuid);
  if (check === null) throw new Error("the check that was just made is not there");
  await inTransaction(cast.db, (tx) => assignChannels(tx, { checkId: check.id, channelIds: [channel.id] }));
  return uuid;
}

const linkIn = ({ mail }: ReceivedMail, verb: string) =>
  new RegExp(`https?://[^\\s/]+(/\\S*/${verb}/\\S+)`).exec(mail.text ?? "")?.[1] ?? "";
const now = (channel: Channel) => findChannelById(cast.db, channel.id);

async function until<T>(read: () => Promise<T>, isGood: (value: T) => boolean): Promise<T> {
  const end = performance.now() + WAIT_MS;
  for (;;) {
    const value = await read();
    if (isGood(value) || performance.now() > end) return value;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

describe("An address entered by another user", () => {
  test("gets a confirmation email, confirms, gets all alerts as one thread, and unsubscribes with one click", async () => {
    const channel = await mailChannel("ann@example.org");
    const question = await mailTo("ann@example.org");
    expect(question.mail.subject).toBe("Confirm your email address for Project of the owner alerts");
    const verify = linkIn(question, "verify");
    const looked = await cast.ask(verify);
    expect(looked).toMatchObject({ status: 200, text: expect.stringContaining("<button") });
    expect((await now(channel))?.verifiedAddress).toBeNull();
    expect((await cast.ask(verify, { method: "POST" })).text).toContain("Email address confirmed");
    expect((await now(channel))?.verifiedAddress).toBe("ann@example.org");

    const uuid = await checkTelling(channel);
    await cast.ask(`/ping/${uuid}/fail`, { method: "POST", body: "disk full\n" });
    const down = await mailTo("ann@example.org", ({ mail }) => mail.subject === "DOWN | backup");
    expect(down.mail.text).toContain("disk full");
    expect(down.from).toMatch(
      new RegExp(`^n\\.${channel.uuid}\\.[0-9a-f]+\\.[0-9a-f]{16}@bounces\\.overdue\\.test$`),
    );
    expect(down.header("message-id")).toMatch(/@overdue\.test>$/);
    await cast.ask(`/ping/${uuid}`);
    const up = await mailTo("ann@example.org", ({ mail }) => mail.subject === "UP | backup");
    expect(up.header("in-reply-to")).toBe(down.header("message-id"));

    const unsubscribe = new URL(/<(.+)>/.exec(up.header("list-unsubscribe") ?? "")?.[1] ?? "");
    const gone = await cast.ask(unsubscribe.pathname, {
      method: "POST",
      headers: { "Content-Type": "application/x-www-form-urlencoded" },
      body: "List-Unsubscribe=One-Click",
    });
    expect(gone).toMatchObject({ status: 200, text: expect.stringContaining("been unsubscribed") });
    expect(await now(channel)).toMatchObject({
      disabledReason: "Unsubscribed by the recipient",
      verifiedAddress: null,
    });
    const told = await mailTo("owner@example.org", ({ mail }) => /disabled/.test(mail.subject ?? ""));
    expect(told.mail.text).toContain("Unsubscribed by the recipient");
  });

  test("gets no alert before it is confirmed; the channel stays, and its owner is notified once", async () => {
    const channel = await mailChannel("bob@example.org");
    const uuid = await checkTelling(channel);
    await cast.ask(`/ping/${uuid}/fail`);
    const told = await mailTo("owner@example.org", ({ mail }) => /not sent to bob/.test(mail.subject ?? ""));
    expect(told.mail.text).toContain("bob@example.org");
    const after = await until(
      () => now(channel),
      (read) => read?.lastError !== null,
    );
    expect(after).toMatchObject({ lastError: "Email address not confirmed", disabledAt: null });
    const { rows } = await cast.db.pool.query("select state, reason from deliveries where channel_id = $1", [
      channel.id,
    ]);
    expect(rows).toEqual([{ state: "dead", reason: "Email address not confirmed" }]);
    await cast.ask(`/ping/${uuid}`);
    await until(
      async () =>
        (
          await cast.db.pool.query("select 1 from deliveries where channel_id = $1 and state = 'dead'", [
            channel.id,
          ])
        ).rowCount,
      (count) => count === 2,
    );
    const letters = await cast.db.pool.query(
      "select kind from letters where channel_id = $1 and kind = 'unverified'",
      [channel.id],
    );
    expect(letters.rowCount).toBe(1);
    expect(smtp.received.filter(({ mail }) => /\| backup/.test(mail.subject ?? ""))).toEqual([]);
  });
});

describe("An address of a member", () => {
  test("needs no confirmation, and is disabled when its server rejects the address", async () => {
    const channel = await mailChannel("mate@example.org");
    expect((await now(channel))?.verifiedAddress).toBe("mate@example.org");
    const uuid = await checkTelling(channel);
    smtp.behave({
      onRcptTo: (address) => (address === "mate@example.org" ? "451 4.3.0 Try again later" : null),
    });
    await cast.ask(`/ping/${uuid}/fail`);
    const affected = await until(
      () => now(channel),
      (read) => read?.lastError !== null,
    );
    expect(affected).toMatchObject({
      lastError: "The mail server rejected the recipient address: 451 4.3.0 Try again later",
      disabledAt: null,
    });
    smtp.behave({
      onRcptTo: (address) => (address === "mate@example.org" ? "550 5.1.1 No such user" : null),
    });
    // News about the same check is tried at once.
    await cast.ask(`/ping/${uuid}`);
    const refused = await until(
      () => now(channel),
      (read) => read?.disabledAt !== null,
    );
    expect(refused?.disabledReason).toBe(
      "The mail server rejected the recipient address: 550 5.1.1 No such user",
    );
  });
});
