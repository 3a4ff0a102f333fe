// Subscribers of status pages, through the whole program: an address is asked and agrees, is told about what is
// published, and leaves with one click. Webhooks are signed. Nothing but public texts is sent.
import { createHmac } from "node:crypto";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { createLog } from "../../src/lib/log.ts";
import { openMailSender } from "../../src/lib/mail-sender.ts";
import { openOutgoing } from "../../src/config/connections.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS, type Instant } from "../../src/core/instant.ts";
import { STATUS_ATTEMPTS_MAX, STATUS_FAILURES_MAX, STATUS_SUBSCRIBERS_MAX } from "../../src/core/limits.ts";
import type { StatusPage } from "../../src/core/status-page.ts";
import { secretsOf, signingWith } from "../../src/operations/secrets.ts";
import { addStatusNote, createStatusPost, deleteStatusPage } from "../../src/operations/status-pages.ts";
import {
  addWebhook,
  announceStates,
  claimStatusMessages,
  confirmSubscription,
  isPagePassword,
  removeSubscriber,
  settleStatusMessage,
  subscribeByEmail,
  unsubscribe,
} from "../../src/operations/status-subscribers.ts";
import { sendStatusMessages, type StatusNotifier } from "../../src/roles/status-notifier.ts";
import { countSubscribers, listSubscribers } from "../../src/store/status-subscribers.ts";
import { type ReceivedMail, startSmtp } from "../receivers/smtp.ts";
import { startReceiver } from "../receivers/receiver.ts";
import { useDatabase } from "../support/database.ts";
import { sampleCheck, sampleProject } from "../support/sample.ts";
import { samplePage } from "./pages.ts";

const database = useDatabase();
const smtp = await startSmtp();
const hook = await startReceiver(() => ({ answer: { status: 204 } }));
const mail = openMailSender({
  host: "127.0.0.1",
  port: smtp.port,
  security: "none",
  user: null,
  password: null,
  from: "Overdue <status@overdue.test>",
  connectionsMax: 1,
  timeoutMs: 20_000,
});
const http = openOutgoing({ allowPrivateAddresses: true, outgoingProxy: null });
afterAll(async () => {
  await mail.close();
  await http.close();
  await smtp.close();
  await hook.close();
});

const NOON: Instant = Date.UTC(2026, 10, 18, 12);
const BY = { accountId: null, keyId: null };
const signing = async () =>
  signingWith(await secretsOf(database.db, { secretKey: null, secretKeyPrevious: null }));

const deps = (given: Partial<StatusNotifier> = {}): StatusNotifier => ({
  database: database.db,
  log: createLog({ level: "fatal" }),
  siteUrl: "https://overdue.test",
  signing,
  http,
  mail: { idDomain: "overdue.test", send: (one) => mail.send(one) },
  lookUp: async () => ({ kind: "missing" }),
  ...given,
});

const send = (now: Instant, given: Partial<StatusNotifier> = {}) => sendStatusMessages(deps(given), { now });

const SECRETS = ["zq-unlisted-check", "zq-listed-check", "zqtag", "zq-description", "zq-slug"];

let page: StatusPage;
let checkId: number;
let count = 0;

beforeEach(async () => {
  smtp.behave({});
  smtp.received.length = 0;
  hook.behave({ kind: "judge" });
  hook.received.length = 0;
  await database.db.pool.query("delete from status_pages");
  await database.db.pool.query("delete from attempts");
  const project = await sampleProject(database.db);
  const listed = await sampleCheck(database.db, {
    projectId: project.id,
    name: "zq-listed-check",
    tags: "zqtag",
    desc: "zq-description",
    slug: "zq-slug",
  });
  await sampleCheck(database.db, { projectId: project.id, name: "zq-unlisted-check", tags: "zqtag" });
  checkId = listed.id;
  page = await samplePage(database.db, {
    projectId: project.id,
    slug: `nordlight-${(count += 1)}`,
    title: "Nordlight",
    groups: [
      {
        name: "Billing",
        entries: [
          { id: "aaaaaaaa", name: "Invoices", check: listed.uuid, tag: null },
          { id: "bbbbbbbb", name: "Payouts", check: null, tag: "zqtag" },
        ],
      },
    ],
  });
});

const name = () => ({ projectId: page.projectId, uuid: page.uuid });
const subscribe = (address: string, at = NOON, network = "192.0.2.1") =>
  subscribeByEmail(database.db, { pageId: page.id, address, network, at });
const subscribers = () => countSubscribers(database.db, page.id);

function linkIn({ mail: { text = "" } }: ReceivedMail, verb: string): string {
  const found = new RegExp(`https://overdue\\.test/status/${page.slug}/${verb}/(\\S+)/`).exec(text)?.[1];
  if (found === undefined) throw new Error(`the email has no link to ${verb}: ${text}`);
  return found;
}

function firstMail(): ReceivedMail {
  const [found] = smtp.received;
  if (found === undefined) throw new Error("no email was received");
  return found;
}

/** A confirmed subscriber; the emails so far are forgotten. */
async function confirmed(address: string): Promise<void> {
  await subscribe(address, NOON, address);
  await send(NOON);
  const token = linkIn(firstMail(), "confirm");
  expect(
    await confirmSubscription(database.db, { signing: await signing(), token, at: NOON }),
  ).not.toBeNull();
  smtp.received.length = 0;
}

const publish = (at = NOON) =>
  createStatusPost(database.db, {
    ...name(),
    request: {
      kind: "incident",
      title: "Invoices are late",
      text: "We are on it.",
      entries: ["aaaaaaaa"],
      from: null,
      until: null,
      incident: null,
      silence: null,
    },
    by: BY,
    at,
  });

describe("an email address", () => {
  test("gets nothing but a question until its owner confirms", async () => {
    await subscribe(" Ada@Example.org ");
    await publish();
    expect(await send(NOON)).toEqual(["sent"]);
    const [question, ...rest] = smtp.received;
    expect([question?.to, rest]).toEqual([["ada@example.org"], []]);
    expect(question?.mail.subject).toBe("Confirm your subscription to Nordlight");
    await subscribe("ada@example.org", NOON + 1);
    expect(await send(NOON + 1)).toEqual(["sent"]);
    expect(await subscribers()).toMatchObject({ confirmed: 0, total: 1 });
  });

  test("is told, and leaves with one click", async () => {
    await confirmed("ada@example.org");
    const post = await publish();
    expect(await send(NOON)).toEqual(["sent"]);
    const told = firstMail();
    expect(told.mail.subject).toBe("Nordlight: Invoices are late");
    expect(told.mail.text).toContain("We are on it.");
    expect(told.mail.text).toContain("Affected: Invoices.");
    const token = linkIn(told, "unsubscribe");
    const url = `https://overdue.test/status/${page.slug}/unsubscribe/${token}/`;
    expect(told.header("List-Unsubscribe")).toBe(`<${url}>`);
    expect(told.header("List-Unsubscribe-Post")).toBe("List-Unsubscribe=One-Click");
    for (const secret of [...SECRETS, page.uuid]) expect(told.raw).not.toContain(secret);
    smtp.received.length = 0;
    const given = { ...name(), post: post.uuid, text: "All were sent.", isResolved: true };
    await addStatusNote(database.db, { ...given, by: BY, at: NOON + HOUR_MS });
    expect(await send(NOON + HOUR_MS)).toEqual(["sent"]);
    expect(firstMail().mail.subject).toBe("Nordlight: Invoices are late (resolved)");
    expect(await unsubscribe(database.db, { signing: await signing(), token })).not.toBeNull();
    expect(await unsubscribe(database.db, { signing: await signing(), token })).toBeNull();
    expect(await subscribers()).toMatchObject({ total: 0 });
  });

  test("a link for one purpose, or of another address, does nothing", async () => {
    await subscribe("ada@example.org");
    await send(NOON);
    const token = linkIn(firstMail(), "confirm");
    expect(await unsubscribe(database.db, { signing: await signing(), token })).toBeNull();
    const forged = `${token.slice(0, -2)}${token.endsWith("a") ? "b" : "a"}x`;
    expect(
      await confirmSubscription(database.db, { signing: await signing(), token: forged, at: NOON }),
    ).toBeNull();
    const late = { signing: await signing(), token, at: NOON + 2 * DAY_MS + 1 };
    expect(await confirmSubscription(database.db, late)).toBeNull();
    expect(await subscribers()).toMatchObject({ confirmed: 0 });
  });

  test("a known address is not asked again, and gets the same answer", async () => {
    await confirmed("ada@example.org");
    await expect(subscribe("ada@example.org", NOON + 1)).resolves.toBeUndefined();
    expect(await send(NOON + 1)).toEqual([]);
  });

  test("what is no address is refused", async () => {
    await expect(subscribe("ada")).rejects.toMatchObject({ code: "invalid" });
    await expect(subscribe("ada@example.org\nBcc: bob@example.org")).rejects.toMatchObject({
      code: "invalid",
    });
  });

  test("is limited by network, address and number", async () => {
    for (let index = 0; index < 10; index += 1) await subscribe(`a${index}@example.org`);
    await expect(subscribe("b@example.org")).rejects.toMatchObject({ code: "rate_limited" });
    await subscribe("b@example.org", NOON, "198.51.100.1");
    for (let index = 0; index < 5; index += 1) {
      await subscribe(`v.ictim+${index}@example.org`, NOON, `198.51.100.${index + 10}`);
    }
    const again = subscribe("victim@example.org", NOON, "198.51.100.99");
    await expect(again).rejects.toMatchObject({ code: "rate_limited" });
    await database.db.pool.query(
      `insert into status_subscribers (uuid, page_id, kind, address, created_at)
       select gen_random_uuid(), $1, 'email', 'x' || n || '@example.org', now() from generate_series(1, $2::int) as n`,
      [page.id, STATUS_SUBSCRIBERS_MAX],
    );
    const more = subscribe("c@example.org", NOON, "203.0.113.1");
    await expect(more).rejects.toMatchObject({ code: "conflict" });
  });
});

describe("sending", () => {
  test("a message of a process that died is sent again, as the same one", async () => {
    await confirmed("ada@example.org");
    await publish();
    const [lost] = await claimStatusMessages(database.db, { now: NOON, limit: 5 });
    expect(await send(NOON + MINUTE_MS - 1)).toEqual([]);
    expect(await send(NOON + MINUTE_MS)).toEqual(["sent"]);
    expect(firstMail().header("Message-ID")).toBe(`<${lost?.uuid}@overdue.test>`);
    if (lost !== undefined) {
      // The first process comes back: its result no longer counts.
      await settleStatusMessage(database.db, lost, {
        result: { kind: "failed", permanent: true, reason: "late" },
        now: NOON + MINUTE_MS,
      });
    }
    expect(await send(NOON + DAY_MS)).toEqual([]);
    expect(await subscribers()).toMatchObject({ confirmed: 1 });
  });

  test("a mail server that fails is asked again, and given up after a while", async () => {
    await confirmed("ada@example.org");
    await publish();
    smtp.behave({ onData: "451 4.3.0 Try again later" });
    let at = NOON;
    for (let attempt = 1; attempt < STATUS_ATTEMPTS_MAX; attempt += 1) {
      expect(await send(at)).toEqual(["failed"]);
      at += HOUR_MS;
    }
    smtp.behave({});
    expect(await send(at)).toEqual(["sent"]);
    expect(smtp.received).toHaveLength(1);
    expect(await send(at + DAY_MS)).toEqual([]);
  });

  test("an address that does not exist is removed", async () => {
    await confirmed("ada@example.org");
    await publish();
    smtp.behave({ onRcptTo: () => "550 5.1.1 No such user" });
    expect(await send(NOON)).toEqual(["failed"]);
    expect(await subscribers()).toMatchObject({ total: 0 });
  });

  test("nothing is sent about a deleted page", async () => {
    await confirmed("ada@example.org");
    await publish();
    await deleteStatusPage(database.db, { ...name(), expected: null, by: BY, at: NOON });
    expect(await send(NOON)).toEqual(["moot"]);
    expect(smtp.received).toEqual([]);
  });
});

describe("a webhook", () => {
  const add = (url = `${hook.url}/status`) => addWebhook(database.db, { ...name(), url, by: BY, at: NOON });

  test("gets a signed request for each change, with public texts only", async () => {
    const added = await add();
    const { webhookSecret } = await import("../../src/core/status-page.ts");
    await publish();
    expect(await send(NOON)).toEqual(["sent"]);
    const [request] = hook.received;
    const key = webhookSecret(await signing(), added.uuid);
    const signature = createHmac("sha256", key)
      .update(request?.body ?? "")
      .digest("hex");
    expect(request?.headers["overdue-signature"]).toBe(`sha256=${signature}`);
    expect(request?.json).toMatchObject({
      page: { title: "Nordlight", url: `https://overdue.test/status/${page.slug}/` },
      event: { kind: "incident", title: "Invoices are late", entries: ["Invoices"], isResolved: false },
    });
    for (const secret of [...SECRETS, page.uuid]) expect(request?.body).not.toContain(secret);
  });

  test("is asked again after errors, and ends after too many", async () => {
    await add();
    hook.behave({ kind: "answer", answer: { status: 500 } });
    await publish();
    expect(await send(NOON)).toEqual(["failed"]);
    hook.behave({ kind: "judge" });
    expect(await send(NOON + HOUR_MS)).toEqual(["sent"]);
    expect(new Set(hook.received.map(({ headers }) => headers["idempotency-key"])).size).toBe(1);
    hook.behave({ kind: "answer", answer: { status: 410 } });
    for (let index = 1; index <= STATUS_FAILURES_MAX; index += 1) {
      await publish(NOON + HOUR_MS + index);
      expect(await send(NOON + HOUR_MS + index)).toEqual(["failed"]);
    }
    expect(await subscribers()).toMatchObject({ total: 0 });
  });

  test("does not reach private addresses, unless an admin allows it", async () => {
    await add();
    await publish();
    const guarded = openOutgoing({ allowPrivateAddresses: false, outgoingProxy: null });
    expect(await send(NOON, { http: guarded })).toEqual(["failed"]);
    await guarded.close();
    expect(hook.received).toEqual([]);
  });

  test("is there once, and removed by members of its project only", async () => {
    const added = await add();
    await expect(add()).rejects.toMatchObject({ code: "conflict" });
    const other = await samplePage(database.db, {
      projectId: page.projectId,
      slug: `${page.slug}-b`,
      title: "B",
    });
    const remove = (uuid: string) =>
      removeSubscriber(database.db, {
        projectId: page.projectId,
        uuid,
        subscriber: added.uuid,
        by: BY,
        at: NOON,
      });
    await expect(remove(other.uuid)).rejects.toMatchObject({ code: "not_found" });
    await remove(page.uuid);
    const left = await listSubscribers(database.db, { pageId: page.id, beforeId: added.id + 1, limit: 5 });
    expect(left).toEqual([]);
  });
});

describe("states", () => {
  const tell = (at: Instant) => announceStates(database.db, { now: at, afterId: 0 });
  const set = (status: string) =>
    database.db.pool.query("update check_states set status = $2, last_ping_at = $3 where check_id = $1", [
      checkId,
      status,
      new Date(NOON),
    ]);

  test("are told once, after they have lasted a minute", async () => {
    await confirmed("ada@example.org");
    await set("up");
    await tell(NOON);
    await set("down");
    await tell(NOON + 10 * SECOND_MS);
    expect((await tell(NOON + 60 * SECOND_MS)).messages).toBe(0);
    // The check, and the tag that it has.
    expect((await tell(NOON + 70 * SECOND_MS)).messages).toBe(2);
    expect((await tell(NOON + 80 * SECOND_MS)).messages).toBe(0);
    expect(await send(NOON + 80 * SECOND_MS)).toEqual(["sent", "sent"]);
    const subjects = smtp.received.map(({ mail: { subject } }) => subject);
    expect(subjects).toEqual(["Nordlight: Invoices is down", "Nordlight: Payouts is down"]);
    for (const { raw } of smtp.received) {
      for (const secret of SECRETS) expect(raw).not.toContain(secret);
    }
    smtp.received.length = 0;
    await set("up");
    await tell(NOON + 90 * SECOND_MS);
    expect((await tell(NOON + 150 * SECOND_MS)).messages).toBe(2);
    await send(NOON + 150 * SECOND_MS);
    expect(firstMail().mail.subject).toBe("Nordlight: Invoices is back");
  });
});

test("a password is checked, and attempts are limited", async () => {
  const locked = await samplePage(database.db, {
    projectId: page.projectId,
    slug: `${page.slug}-locked`,
    title: "Locked",
    password: "correct horse",
  });
  const attempt = (password: string, network = "192.0.2.7") =>
    isPagePassword(database.db, { page: locked, password, network, now: NOON });
  expect(await attempt("correct horse")).toBe(true);
  expect(await attempt("correct hors")).toBe(false);
  expect(await isPagePassword(database.db, { page, password: "", network: "192.0.2.8", now: NOON })).toBe(
    false,
  );
  await database.db.pool.query("update attempts set full_at = $1", [new Date(NOON + HOUR_MS)]);
  await expect(attempt("correct horse")).rejects.toMatchObject({ code: "rate_limited" });
});
