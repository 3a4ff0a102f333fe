// Setting up: what is told about the public address, about mail, and about requests that nearly were a first ping.
import { createServer } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { AddressReport, AddressTest, Echo, MailTest, Setup } from "../../src/contract/api/admin.ts";
import type { CheckSetup } from "../../src/contract/api/history.ts";
import { testAddress } from "../../src/services/api/setup.ts";
import { startSmtp } from "../receivers/smtp.ts";
import { freePort } from "../support/ports.ts";
import { useDashboard } from "./dashboard.ts";

const receiver = await startSmtp();
afterAll(() => receiver.close());
const stage = useDashboard({
  roles: ["web", "api", "ping"],
  settings: {
    OVERDUE_SMTP_HOST: "127.0.0.1",
    OVERDUE_SMTP_PORT: String(receiver.port),
    OVERDUE_SMTP_TLS: "none",
    OVERDUE_MAIL_FROM: "Overdue <overdue@example.org>",
  },
});

let check = "";

beforeAll(async () => {
  await stage.db.pool.query("update accounts set is_operator = true where id = $1", [stage.owner.account.id]);
  check = await make({ name: "First job", slug: "first-job", methods: "POST" });
});

async function make(body: object): Promise<string> {
  const path = `/api/overdue/v1/projects/${stage.owner.project.uuid}/checks`;
  const made = await stage.browse(path, { method: "POST", body });
  if (made.status !== 201) throw new Error(made.text);
  return (made.json as { id: string }).id;
}

const waiting = async (as = stage.owner.account, id = check) =>
  (await stage.browse(`/api/overdue/v1/checks/${id}/setup`, { as })).json as CheckSetup;

describe("the wait for the first ping", () => {
  test("gives the line to try, and names what is wrong with requests that came close", async () => {
    expect(await waiting()).toMatchObject({ pings: [], unmatched: [] });
    expect((await waiting()).curl).toMatch(new RegExp(`^curl .*-X POST http.*/ping/${check}$`));
    const almost = check.replace(/.$/, (last) => (last === "0" ? "1" : "0"));
    await stage.ask(`/ping/${almost}`);
    await stage.ask(`/ping/${check}`, { method: "PUT" });
    await stage.ask(`/${check}`);
    const { unmatched } = await waiting();
    expect(unmatched.map(({ method, text }) => `${method}: ${text}`)).toEqual([
      expect.stringContaining('GET: The UUID is correct, but the path before it is "/"'),
      expect.stringContaining("PUT: The URL is correct, but the method is PUT"),
      expect.stringContaining("GET: The UUID differs from this check's UUID by one character"),
    ]);
  });

  test("shows a request by a method that the check does not take as ignored, then the one that counts", async () => {
    await stage.ask(`/ping/${check}`);
    const ignored = await waiting();
    expect(ignored.pings.map(({ kind, method }) => [kind, method])).toEqual([["ignored", "GET"]]);
    expect(ignored.hints.join()).toContain("accepts only POST");
    await stage.ask(`/ping/${check}`, { method: "POST" });
    expect((await waiting()).pings[0]).toMatchObject({ kind: "success", method: "POST", by: "http" });
  });

  test("shows nothing from before the check was created", async () => {
    const id = await make({ name: "Later job" });
    await stage.ask("/ping/7f3f8a52-2222-4222-8333-944445555666");
    expect(JSON.stringify(await waiting(stage.owner.account, id))).toContain("7f3f8a52-2222");
    await stage.db.pool.query("update checks set created_at = now() + interval '1 minute' where uuid = $1", [
      id,
    ]);
    expect((await waiting(stage.owner.account, id)).unmatched).toEqual([]);
  });

  test("says how many channels hear of the check, also of one that was added meanwhile", async () => {
    expect((await waiting()).channelCount).toBe(0);
    const { uuid } = await stage.channel(stage.owner, { name: "hook", kind: "webhook" });
    await stage.browse(`/api/overdue/v1/projects/${stage.owner.project.uuid}/checks/bulk`, {
      method: "POST",
      body: { ids: [check], action: "addChannel", channel: uuid },
    });
    expect((await waiting()).channelCount).toBe(1);
  });

  test("an attempt with the ping key shows the key, and so only to roles that may see it", async () => {
    const { pingKey } = stage.owner;
    await stage.ask(`/ping/${pingKey}/no-such-job`);
    const toldTo = async (role: "member" | "readOnly") => {
      await stage.join(stage.mate.account, role);
      return JSON.stringify(await waiting(stage.mate.account));
    };
    const member = await toldTo("member");
    expect(member).toContain(pingKey);
    expect(member).toContain("no check has the slug");
    expect(await toldTo("readOnly")).not.toContain(pingKey);
  });

  test("requests of unknown origin are shown only to admins", async () => {
    await stage.ask("/ping/7f3f8a52-1111-4222-8333-944445555666");
    const texts = (setup: CheckSetup) => setup.unmatched.map(({ text }) => text).join();
    expect(texts(await waiting())).toContain("7f3f8a52-1111");
    await stage.join(stage.mate.account, "member");
    expect(texts(await waiting(stage.mate.account))).not.toContain("7f3f8a52-1111");
    expect(
      (await stage.browse(`/api/overdue/v1/checks/${check}/setup`, { as: stage.stranger.account })).status,
    ).toBe(404);
  });
});

describe("the public address", () => {
  const report = async (at: string, headers = {}) =>
    (await stage.browse(`/api/overdue/v1/admin/setup/address?at=${encodeURIComponent(at)}`, { headers }))
      .json as AddressReport;

  test("agrees when the browser uses it, and otherwise says what to set", async () => {
    const { site } = (await stage.browse("/api/overdue/v1/admin/setup")).json as Setup;
    const same = await report(site.url, { Host: new URL(site.url).host });
    expect(same).toMatchObject({ matches: true, problems: [] });
    const other = await report("https://cron.example.org", { Host: "cron.example.org" });
    expect(other.matches).toBe(false);
    expect(other.problems.map(({ advice }) => advice).join()).toContain(
      "OVERDUE_SITE_URL=https://cron.example.org",
    );
    expect(other.problems.map(({ text }) => text).join()).toContain("X-Forwarded-Proto header is missing");
  });

  test("a proxy that replaces Host is named", async () => {
    const told = await report("http://cron.example.org", { Host: "10.0.0.7:8000" });
    expect(told.problems.map(({ text }) => text).join()).toContain("The proxy replaced the Host header");
  });

  test("what arrived is echoed, without cookies", async () => {
    const echoed = (await stage.browse("/web/set-up/echo", { headers: { Via: "1.1 proxy" } })).json as Echo;
    expect(echoed.headers).toMatchObject({ via: "1.1 proxy", "sec-fetch-site": "same-origin" });
    expect(JSON.stringify(echoed)).not.toContain("overdue_session");
  });

  test("only whoever runs the installation may test", async () => {
    const refused = await stage.browse("/api/overdue/v1/admin/setup/address-test", {
      method: "POST",
      as: stage.mate.account,
    });
    expect([403, 404]).toContain(refused.status);
  });
});

describe("a request to the public address itself", () => {
  type Way = (headers: Record<string, string>) => Record<string, string> | { redirect: string } | "stranger";
  const servers: { close(): void }[] = [];
  afterAll(() => servers.forEach((server) => server.close()));

  /** A proxy in front of an installation, which does with the headers what it likes. */
  async function behind(way: Way): Promise<AddressTest> {
    const port = await freePort();
    const server = createServer((request, response) => {
      const done = way(request.headers as Record<string, string>);
      if (done === "stranger") return void response.end("It works!");
      if ("redirect" in done && typeof done["redirect"] === "string") {
        return void response.writeHead(301, { Location: `${done["redirect"]}${request.url ?? ""}` }).end();
      }
      response.end(JSON.stringify({ overdue: "1", headers: done }));
    }).listen(port, "127.0.0.1");
    servers.push(server);
    return testAddress(new URL(`http://127.0.0.1:${port}/base`));
  }

  test("comes back whole", async () => {
    const told = await behind((headers) => ({ ...headers, via: "1.1 caddy" }));
    expect(told).toMatchObject({ isOurs: true, status: 200, lost: [], problems: [] });
    expect(told.added).toContainEqual({ name: "via", value: "1.1 caddy" });
  });

  test("what the proxy lost is named", async () => {
    const told = await behind((headers) => ({ ...headers, origin: "" }));
    expect(told).toMatchObject({ isOurs: true, lost: ["origin"] });
    expect(told.problems[0]?.text).toContain("The origin header was removed");
  });

  test("a redirect says what to set", async () => {
    const told = await behind(() => ({ redirect: "https://cron.example.org" }));
    expect(told.isOurs).toBe(false);
    expect(told.problems[0]?.advice).toBe(
      "Set OVERDUE_SITE_URL=https://cron.example.org/base and restart the server.",
    );
  });

  test("another server, and none at all", async () => {
    expect((await behind(() => "stranger")).problems[0]?.text).toContain("Another server answers");
    const nobody = await testAddress(new URL(`http://127.0.0.1:${await freePort()}`));
    expect(nobody).toMatchObject({ status: null, isOurs: false });
    expect(nobody.problems[0]?.text).toContain("ECONNREFUSED");
  });

  test("an endless response is read for a limited time", async () => {
    const port = await freePort();
    const server = createServer((_request, response) => {
      const more = () => {
        while (!response.destroyed && response.write("x".repeat(4_096)));
      };
      response.on("drain", more);
      more();
    }).listen(port, "127.0.0.1");
    servers.push(server);
    const told = await testAddress(new URL(`http://127.0.0.1:${port}`));
    expect(told).toMatchObject({ status: 200, isOurs: false });
    expect(told.problems[0]?.text).toContain("Another server answers");
  });
});

describe("a test email", () => {
  const send = async (to: string) =>
    stage.browse("/api/overdue/v1/admin/setup/mail-test", { method: "POST", body: { to } });

  test("the server's own answer is shown, good or bad", async () => {
    const taken = (await send("you@example.org")).json as MailTest;
    expect(taken).toMatchObject({ isSent: true, code: 250, reply: expect.stringMatching(/^250 /) });
    expect(receiver.received.map(({ to }) => to)).toEqual([["you@example.org"]]);
    receiver.behave({ onRcptTo: () => "550 5.7.1 Relaying denied" });
    const refused = (await send("you@example.org")).json as MailTest;
    expect(refused).toMatchObject({ isSent: false, code: 550 });
    expect(refused.reply).toContain("Relaying denied");
    receiver.behave({ hangUp: "greeting" });
    const silent = (await send("you@example.org")).json as MailTest;
    expect(silent).toMatchObject({ isSent: false, reply: null });
    expect(silent.text).toContain(`127.0.0.1:${receiver.port}. Check OVERDUE_SMTP_HOST`);
  });

  test("an invalid address is not tried", async () => {
    expect((await send("no address")).status).toBe(400);
  });
});
