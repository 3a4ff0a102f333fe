// The pages that mails link to, and the hook for undeliverable mail, on a real listener.
import { createHash, randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { bounceLocalPart, reportsToken, unsubscribeToken, verificationToken } from "../../src/core/email.ts";
import { HOUR_MS } from "../../src/core/instant.ts";
import { createLog } from "../../src/lib/log.ts";
import { signingWith } from "../../src/operations/secrets.ts";
import { mailPagesHandler } from "../../src/services/web/mail-pages.ts";
import { type Channel, findChannelById, insertChannel, writeChannel } from "../../src/store/channels.ts";
import { findPreferences, insertEmail, writePreferences } from "../../src/store/emails.ts";
import { inTransaction, type Tx } from "../../src/store/transaction.ts";
import { servePlainly, stopServingAtEnd } from "../management/plain-server.ts";
import { useDatabase } from "../support/database.ts";
import { MONDAY_NOON, sampleAccount, sampleProject } from "../support/sample.ts";
import { autoReply, encodedReport, postfixReport } from "./bounce-mails.ts";

const database = useDatabase();
stopServingAtEnd();
const signing = signingWith({ current: "a-secret-of-the-instance-0123456789", previous: null });
const write = <T>(work: (tx: Tx) => Promise<T>) => inTransaction(database.db, work);

const serve = (siteUrl = "https://overdue.example.org/watch") =>
  servePlainly(
    mailPagesHandler({
      database: database.db,
      site: { name: "Overdue & Co", url: siteUrl },
      signing,
      now: () => MONDAY_NOON,
      log: createLog({ level: "fatal" }),
    }),
  );

async function mailChannel(value = "ann@example.org", projectName = "Shop <& Sons>"): Promise<Channel> {
  const { id: projectId } = await sampleProject(database.db, { name: projectName });
  return write((tx) =>
    insertChannel(tx, {
      uuid: randomUUID(),
      projectId,
      kind: "email",
      name: "",
      config: { value, up: true, down: true },
      createdAt: MONDAY_NOON,
    }),
  );
}

const linkOf = (channel: Channel, purpose: "verify" | "unsub", address = "ann@example.org") => {
  const of = { channelUuid: channel.uuid, address };
  const token = purpose === "verify" ? verificationToken(signing, of) : unsubscribeToken(signing, of);
  return `/integrations/${channel.uuid}/${purpose}/${token}/`;
};
const now = (channel: Channel) => findChannelById(database.db, channel.id);
const post = (url: string, body?: string) =>
  fetch(url, { method: "POST", ...(body !== undefined && { body }) });

describe("A page", () => {
  test("runs and loads nothing, is not cached or framed and sends no referrer, and only its own style sheet is allowed", async () => {
    const site = await serve();
    const answer = await fetch(site + linkOf(await mailChannel(), "unsub"));
    const text = await answer.text();
    const policy = answer.headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    const style = /<style>([^]*)<\/style>/.exec(text)?.[1] ?? "";
    expect(policy).toContain(`'sha256-${createHash("sha256").update(style).digest("base64")}'`);
    expect(text).not.toMatch(/<script|<img|<link(?! rel="icon" href="data:)|style="|\son\w+=/i);
    expect(text).toContain('<meta name="referrer" content="no-referrer">');
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      "cache-control": "no-store",
      "x-robots-tag": "noindex",
      "x-frame-options": "DENY",
    });
    expect(text).toContain("Shop &lt;&amp; Sons&gt;");
    expect(text).toContain("Overdue &amp; Co");
  });

  test("is found with and without the path of the site, and without the slash at its end", async () => {
    const site = await serve();
    const link = linkOf(await mailChannel(), "unsub");
    for (const path of [link, `/watch${link}`, link.replace(/\/$/, ""), `${link}?x=1`]) {
      expect((await fetch(site + path)).status).toBe(200);
    }
  });

  test("has no other methods than looking and pressing the button", async () => {
    const site = await serve();
    const answer = await fetch(site + linkOf(await mailChannel(), "unsub"), { method: "DELETE" });
    expect(answer.status).toBe(405);
    expect(answer.headers.get("allow")).toBe("GET, HEAD, POST");
    const head = await fetch(site + linkOf(await mailChannel(), "unsub"), { method: "HEAD" });
    expect(head.status).toBe(200);
    expect(await head.text()).toBe("");
  });
});

describe("A link", () => {
  test("changes nothing by being looked at", async () => {
    const site = await serve();
    const channel = await mailChannel();
    for (const purpose of ["verify", "unsub"] as const) {
      const answer = await fetch(site + linkOf(channel, purpose));
      expect(await answer.text()).toContain('<form method="post"><button');
    }
    expect(await now(channel)).toMatchObject({ verifiedAddress: null, disabledAt: null });
  });

  test("verifies the address, as often as it is pressed", async () => {
    const site = await serve();
    const channel = await mailChannel();
    for (const _ of [1, 2]) {
      const answer = await post(site + linkOf(channel, "verify"));
      expect(answer.status).toBe(200);
      expect(await answer.text()).toContain("Email address confirmed");
    }
    expect(await now(channel)).toMatchObject({ verifiedAddress: "ann@example.org" });
    expect(await (await fetch(site + linkOf(channel, "verify"))).text()).not.toContain("<button");
  });

  test("is good for nothing but its own purpose, channel and address", async () => {
    const site = await serve();
    const [channel, other] = [await mailChannel(), await mailChannel()];
    const links = [
      linkOf(channel, "verify").replace("/verify/", "/unsub/"),
      linkOf(channel, "unsub").replace(channel.uuid, other.uuid),
      linkOf(channel, "unsub", "eve@example.org"),
      linkOf(channel, "unsub").replace(/.\/$/, "x/"),
      linkOf(channel, "unsub").replace(channel.uuid, randomUUID()),
    ];
    for (const link of links) {
      const answers = [await fetch(site + link), await post(site + link, "List-Unsubscribe=One-Click")];
      expect(answers.map(({ status }) => status)).toEqual([404, 404]);
      expect(await answers[1]?.text()).toContain("Invalid link");
    }
    expect(await now(channel)).toMatchObject({ verifiedAddress: null, disabledAt: null });
    expect(await now(other)).toMatchObject({ verifiedAddress: null, disabledAt: null });
  });

  test("of an address that the channel had before has no say any more", async () => {
    const site = await serve();
    const channel = await mailChannel();
    const config = { value: "bob@example.org", up: true, down: true };
    await write((tx) => writeChannel(tx, { channelId: channel.id, config }));
    expect((await post(site + linkOf(channel, "unsub"))).status).toBe(404);
    expect((await post(site + linkOf(channel, "verify"))).status).toBe(404);
    expect((await post(site + linkOf(channel, "unsub", "bob@example.org"))).status).toBe(200);
  });

  test("of reports turns off reports and reminders, and nothing else", async () => {
    const site = await serve();
    const account = await sampleAccount(database.db);
    const wanted = { tz: "Asia/Tokyo", reports: "daily", reminders: "hourly" } as const;
    await write((tx) => writePreferences(tx, { accountId: account.id, ...wanted }));
    const link = `/accounts/unsubscribe_reports/${reportsToken(signing, account.uuid)}/`;
    expect(await (await fetch(site + link)).text()).toContain(account.email);
    expect(await findPreferences(database.db, account.id)).toEqual(wanted);
    expect((await post(site + link, "List-Unsubscribe=One-Click")).status).toBe(200);
    expect(await findPreferences(database.db, account.id)).toEqual({
      tz: "Asia/Tokyo",
      reports: "off",
      reminders: "off",
    });
    const forged = link.replace(account.uuid, (await sampleAccount(database.db)).uuid);
    expect((await post(site + forged)).status).toBe(404);
  });
});

describe("Bounces", () => {
  const bounce = async (channel: Channel, more: { status?: string; address?: string; at?: number } = {}) => {
    const { status = "5.1.1", address = "ann@example.org", at = MONDAY_NOON - HOUR_MS } = more;
    const localPart = bounceLocalPart(signing, { id: `n.${channel.uuid}`, address, at });
    return postfixReport({ to: `${localPart}@bounces.example.org`, status });
  };
  const report = async (raw: string, path = "/api/v3/bounces/") => {
    const answer = await post((await serve()) + path, raw);
    return `${answer.status} ${await answer.text()}`;
  };

  test.each(["/api/v1/bounces/", "/api/v2/bounces/", "/api/v3/bounces/", "/api/v3/bounces"])(
    "that is final disables the channel, posted to %s",
    async (path) => {
      const channel = await mailChannel();
      expect(await report(await bounce(channel), path)).toBe("200 OK");
      expect((await now(channel))?.disabledReason).toBe(
        "The email bounced (5.1.1): 550 5.1.1 <ann@example.org>: User unknown",
      );
    },
  );

  test.each(["4.2.2", "5.4.4"])(
    "that are temporary (%s) are recorded, and the channel stays enabled",
    async (status) => {
      const channel = await mailChannel();
      expect(await report(await bounce(channel, { status }))).toBe("200 OK");
      expect(await now(channel)).toMatchObject({
        disabledAt: null,
        lastError: expect.stringContaining(status),
      });
    },
  );

  test("in another form is read, too", async () => {
    const channel = await mailChannel();
    const localPart = bounceLocalPart(signing, {
      id: `n.${channel.uuid}`,
      address: "ann@example.org",
      at: MONDAY_NOON,
    });
    expect(await report(encodedReport({ to: `${localPart}@bounces.example.org` }))).toBe("200 OK");
    expect((await now(channel))?.lastError).toBe("The email bounced (4.4.1): 421 4.4.1 connection timed out");
  });

  test("that is none, or not ours, or too old, changes nothing", async () => {
    const channel = await mailChannel();
    const localPart = bounceLocalPart(signing, {
      id: `n.${channel.uuid}`,
      address: "ann@example.org",
      at: MONDAY_NOON,
    });
    expect(await report(autoReply(`${localPart}@bounces.example.org`))).toBe("200 OK (ignored)");
    expect(await report(await bounce(channel, { status: "2.0.0" }))).toBe("200 OK (ignored)");
    expect(await report(await bounce(channel, { at: MONDAY_NOON - 49 * HOUR_MS }))).toBe(
      "200 OK (bad signature)",
    );
    expect(await report(await bounce(channel, { address: "eve@example.org" }))).toBe(
      "200 OK (bad signature)",
    );
    expect(await report((await bounce(channel)).replace(/\.[0-9a-f]{16}@/, ".0123456789abcdef@"))).toBe(
      "200 OK (bad signature)",
    );
    expect(await report(await bounce({ ...channel, uuid: randomUUID() }))).toBe(
      "200 OK (notification not found)",
    );
    for (const noise of ["", "\0\xff\r\n\r\n", "To: x", "-".repeat(10_000)]) {
      expect(await report(noise)).toBe("200 OK (bad signature)");
    }
    expect(await report("-".repeat(100_000)), "no header is so long").toBe("200 OK (ignored)");
    expect(await now(channel)).toMatchObject({ disabledAt: null, lastError: null });
  });

  test("of a report turns reports off; of an unknown one, nothing", async () => {
    const account = await sampleAccount(database.db);
    const uuid = randomUUID();
    const letter = { uuid, kind: "report" as const, accountId: account.id, channelId: null, about: {} };
    await write((tx) => insertEmail(tx, { ...letter, createdAt: MONDAY_NOON }));
    const raw = (id: string, status: string) => {
      const localPart = bounceLocalPart(signing, { id: `l.${id}`, address: account.email, at: MONDAY_NOON });
      return postfixReport({ to: `${localPart}@bounces.example.org`, status });
    };
    expect(await report(raw(uuid, "4.0.0"))).toBe("200 OK");
    expect((await findPreferences(database.db, account.id)).reports).toBe("monthly");
    expect(await report(raw(uuid, "5.1.1"))).toBe("200 OK");
    expect(await findPreferences(database.db, account.id)).toMatchObject({
      reports: "off",
      reminders: "off",
    });
    expect(await report(raw(randomUUID(), "5.1.1"))).toBe("200 OK (user not found)");
  });

  test("is posted, not asked for; however long it is, its beginning is enough", async () => {
    const site = await serve();
    expect((await fetch(`${site}/api/v3/bounces/`)).status).toBe(405);
    const channel = await mailChannel();
    const long = `${await bounce(channel)}${"x".repeat(3_000_000)}`;
    expect(await report(long)).toBe("200 OK");
    expect((await now(channel))?.disabledAt).toBe(MONDAY_NOON);
  });
});
