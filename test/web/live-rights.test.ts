// A user who loses access while watching a project: the stream ends at once, and later changes are not sent.
import { request } from "node:http";
import { afterEach, describe, expect, test } from "vitest";
import type { AccountPage } from "../../src/contract/api/account.ts";
import { openSession } from "../../src/operations/sessions.ts";
import type { Account } from "../../src/store/accounts.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { sampleAccount } from "../support/sample.ts";
import { useDashboard } from "./dashboard.ts";

const at = useDashboard({ roles: ["web", "api"] });
const project = () => `/api/overdue/v1/projects/${at.owner.project.uuid}`;

type Stream = { text: string; hasEnded: boolean; close(): void };
type Member = { account: Account; headers: Record<string, string>; sessionId: number; stream: Stream };

const streams = new Set<Stream>();
afterEach(() => {
  for (const stream of streams) stream.close();
  streams.clear();
});

async function watch(headers: Record<string, string>): Promise<Stream> {
  const stream: Stream = { text: "", hasEnded: false, close: () => {} };
  const status = await new Promise((resolve, reject) => {
    const sent = request(`${at.site}${project()}/live`, { headers }, (response) => {
      response.setEncoding("utf8").on("data", (piece: string) => (stream.text += piece));
      response.on("close", () => (stream.hasEnded = true)).on("error", () => {});
      resolve(response.statusCode);
    });
    sent.on("error", reject).end();
    stream.close = () => sent.destroy();
  });
  expect(status).toBe(200);
  streams.add(stream);
  return stream;
}

/** A new member with a session and an open stream. */
async function member(): Promise<Member> {
  const account = await sampleAccount(at.db);
  await at.join(account, "member");
  const of = { accountId: account.id, method: "password", ua: "test", remoteAddr: null } as const;
  const now = await at.now();
  const { token, id } = await inTransaction(at.db, (tx) => openSession(tx, { ...of, now }));
  const headers = {
    Origin: at.site,
    "Sec-Fetch-Site": "same-origin",
    "Content-Type": "application/json",
    Cookie: `overdue_session=${token}`,
  };
  return { account, headers, sessionId: id, stream: await watch(headers) };
}

let made = 0;

/** Creates a check and waits until the owner's stream has it. */
async function makeCheck(owners: Stream): Promise<string> {
  const name = `made ${(made += 1)}`;
  await at.browse(`${project()}/checks`, { method: "POST", body: { name } });
  await expect.poll(() => owners.text.includes(`"${name}"`), { timeout: 30_000 }).toBe(true);
  return name;
}

const WAYS: Readonly<Record<string, (one: Member) => Promise<unknown>>> = {
  "is removed": ({ account }) => at.browse(`${project()}/members/${account.uuid}`, { method: "DELETE" }),
  leaves: ({ headers }) => at.ask(`${project()}/leave`, { method: "POST", headers, body: {} }),
  "signs out": ({ headers }) => at.ask("/accounts/logout/", { method: "POST", headers, body: {} }),
  "ends the session from another browser": ({ account, sessionId }) =>
    at.browse(`/web/account/sessions/${sessionId}`, { method: "DELETE", as: account }),
  "ends all other sessions": ({ account }) =>
    at.browse("/web/account/sessions/end-others", { method: "POST", as: account, body: {} }),
  "closes the account": ({ headers, account: { email } }) =>
    at.ask("/web/account/close", { method: "POST", headers, body: { email } }),
};

describe("the stream of a project", () => {
  test.each(Object.keys(WAYS))("ends for a user who %s, and sends nothing more", async (way) => {
    const owners = await watch(await at.headersOf(at.owner.account));
    const one = await member();
    const before = await makeCheck(owners);
    await expect.poll(() => one.stream.text.includes(`"${before}"`), { timeout: 30_000 }).toBe(true);
    const reply = (await WAYS[way]?.(one)) as { status: number; text: string };
    expect([200, 204, 303], reply.text).toContain(reply.status);
    const after = await makeCheck(owners);
    await expect.poll(() => one.stream.hasEnded, { timeout: 30_000 }).toBe(true);
    expect(one.stream.text).not.toContain(after);
    expect(owners.hasEnded).toBe(false);
    const again = await at.ask(`${project()}/live`, { headers: one.headers });
    expect([401, 404]).toContain(again.status);
  });

  test("continues for a user who becomes read-only", async () => {
    const one = await member();
    const owners = await watch(await at.headersOf(at.owner.account));
    await at.browse(`${project()}/members/${one.account.uuid}`, {
      method: "PATCH",
      body: { role: "readOnly" },
    });
    const after = await makeCheck(owners);
    await expect.poll(() => one.stream.text.includes(`"${after}"`), { timeout: 30_000 }).toBe(true);
    const page = (await at.ask("/web/account", { headers: one.headers })).json as AccountPage;
    expect(page.projects).toMatchObject([{ role: "readOnly" }]);
    expect(one.stream.hasEnded).toBe(false);
  });

  test("ends for all users when the project is deleted", async () => {
    const name = "to be removed";
    const reply = await at.browse("/api/overdue/v1/projects", { method: "POST", body: { name } });
    const { id } = reply.json as { id: string };
    const headers = await at.headersOf(at.owner.account);
    const ended = new Promise((resolve, reject) => {
      const sent = request(`${at.site}/api/overdue/v1/projects/${id}/live`, { headers }, (response) => {
        response.resume().on("close", () => resolve(response.statusCode));
        at.browse(`/api/overdue/v1/projects/${id}`, { method: "DELETE" }).catch(reject);
      });
      sent.on("error", reject).end();
    });
    expect(await ended).toBe(200);
  });
});
