// The pages of links that acknowledge an incident, on a real listener: looking changes nothing, the form does.
import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import { ackNonce, ackUrl } from "../../src/core/ack-link.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../src/core/instant.ts";
import { createLog } from "../../src/lib/log.ts";
import { signingWith } from "../../src/operations/secrets.ts";
import { getIncident } from "../../src/operations/incidents.ts";
import { ackHandler } from "../../src/services/web/ack.ts";
import { type Channel, deleteChannel, insertChannel } from "../../src/store/channels.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { servePlainly, stopServingAtEnd } from "../management/plain-server.ts";
import { useDatabase } from "../support/database.ts";
import { type SampleIncident, sampleIncident } from "../support/incidents.ts";
import { MONDAY_NOON, sampleCheck, sampleProject } from "../support/sample.ts";

const database = useDatabase();
stopServingAtEnd();
const signing = signingWith({ current: "a-secret-of-the-instance-0123456789", previous: null });
const SITE = "https://overdue.example.org/watch";

let now = MONDAY_NOON;
let clockMs = 0;
let origin: string;
let projectId: number;
let incident: SampleIncident;
let channel: Channel;

const newChannel = (of: number, name = "Ops & friends") =>
  inTransaction(database.db, (tx) =>
    insertChannel(tx, {
      uuid: randomUUID(),
      projectId: of,
      kind: "email",
      name,
      config: { value: "ops@example.org", up: true, down: true },
      createdAt: MONDAY_NOON,
    }),
  );

beforeEach(async () => {
  now = MONDAY_NOON;
  // Each test has a full allowance.
  clockMs += 10 * MINUTE_MS;
  projectId = (await sampleProject(database.db, { name: "Shop <& Sons>" })).id;
  await database.db.pool.query("update projects set tz = 'Europe/Riga' where id = $1", [projectId]);
  const { id } = await sampleCheck(database.db, { projectId, name: "Nightly <backup>" });
  incident = await sampleIncident(database.db, { projectId, checkIds: [id] });
  channel = await newChannel(projectId);
  origin ??= await servePlainly(
    ackHandler({
      database: database.db,
      site: { name: "Overdue", url: SITE },
      signing,
      trustedProxies: [],
      now: () => now,
      monotonic: () => clockMs,
      log: createLog({ level: "fatal" }),
    }),
  );
});

const linkOf = (given: { incidentId?: number; channelId?: number } = {}) => {
  const link = { incidentId: incident.id, channelId: channel.id, ...given };
  return ackUrl({ site: SITE, signing }, link).replace(SITE, "/watch");
};
const look = (path = linkOf()) => fetch(origin + path);
const post = (fields: Record<string, string>, path = linkOf()) =>
  fetch(origin + path, { method: "POST", body: new URLSearchParams(fields), redirect: "manual" });
const read = () => getIncident(database.db, { projectId, number: incident.number });

/** The hidden fields of a page. */
function fieldsOf(page: string): Record<string, string> {
  const inputs = page.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g);
  return Object.fromEntries([...inputs].map(([, name = "", value = ""]) => [name, value]));
}
const press = async (path = linkOf()) => post(fieldsOf(await (await look(path)).text()), path);

const UNTOUCHED = { state: "open", acknowledged: null, events: [] };

describe("looking at a link", () => {
  test("shows the names and a form, with nothing that runs", async () => {
    const answer = await look();
    const text = await answer.text();
    expect(answer.status).toBe(200);
    expect(text).toContain(`Incident #${incident.number}: Nightly &lt;backup&gt;`);
    expect(text).toContain(
      "Project: Shop &lt;&amp; Sons&gt;. Open since 2026-11-16 14:00 Europe/Riga (no ping before the deadline).",
    );
    expect(text).toContain('<button type="submit">Acknowledge</button>');
    expect(text).not.toMatch(/<script|<img|\son\w+=/i);
    expect(answer.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(answer.headers.get("cache-control")).toBe("no-store");
  });

  test("changes nothing, however often and with whatever method", async () => {
    for (const method of ["GET", "HEAD", "GET", "OPTIONS", "PUT", "DELETE"]) {
      const answer = await fetch(origin + linkOf(), { method });
      expect(answer.status).toBe(method === "GET" || method === "HEAD" ? 200 : 405);
    }
    const { action, nonce } = fieldsOf(await (await look()).text());
    // A scanner can open the address that the form would have with GET.
    const query = new URLSearchParams({ action: action ?? "", nonce: nonce ?? "" }).toString();
    await look(`${linkOf()}?${query}`);
    expect(await read()).toMatchObject(UNTOUCHED);
  });

  test("names at most five checks", async () => {
    const checkIds: number[] = [];
    for (const n of [1, 2, 3, 4, 5, 6, 7]) {
      checkIds.push((await sampleCheck(database.db, { projectId, name: `job ${n}` })).id);
    }
    const { id, number } = await sampleIncident(database.db, { projectId, checkIds, key: "project" });
    expect(await (await look(linkOf({ incidentId: id }))).text()).toContain(
      `Incident #${number}: job 1, job 2, job 3, job 4, job 5, and 2 more`,
    );
  });
});

describe("the form", () => {
  test("acknowledges, and says with which link", async () => {
    const answer = await press();
    expect(answer.status).toBe(303);
    expect(answer.headers.get("location")).toBe(SITE + linkOf().replace("/watch", ""));
    const by = { accountId: null, channelId: channel.id };
    expect(await read()).toMatchObject({
      state: "acknowledged",
      acknowledged: { at: MONDAY_NOON, by },
      events: [{ kind: "acknowledged", by }],
    });
    expect(await (await look()).text()).toContain(
      "Acknowledged at 2026-11-16 14:00 Europe/Riga with the link sent to Ops &amp; friends.",
    );
  });

  test("takes the acknowledgement back", async () => {
    await press();
    expect(await (await look()).text()).toContain("Undo acknowledgement");
    await press();
    expect(await read()).toMatchObject({ state: "open", acknowledged: null });
    expect((await read()).events.map(({ kind }) => kind)).toEqual(["acknowledged", "unacknowledged"]);
  });

  test("without its nonce, or with another one, does nothing", async () => {
    const other = await newChannel(projectId, "Other");
    const { action = "", nonce = "" } = fieldsOf(await (await look()).text());
    const nonceOf = (channelId: number) =>
      ackNonce(signing, { link: { incidentId: incident.id, channelId }, action: "acknowledge" }, now);
    expect(nonce).toBe(nonceOf(channel.id));
    const wrong: Record<string, string>[] = [
      {},
      { action },
      { nonce },
      { action, nonce: "" },
      { action, nonce: `${nonce}0` },
      { action, nonce: nonceOf(other.id) },
      { action: "unacknowledge", nonce },
      { action: "resolve", nonce },
    ];
    for (const fields of wrong) expect((await post(fields)).status).toBe(403);
    expect((await fetch(origin + linkOf(), { method: "POST", body: "x".repeat(100_000) })).status).toBe(403);
    expect(await read()).toMatchObject(UNTOUCHED);
  });

  test("works for an hour; later it is shown again", async () => {
    const fields = fieldsOf(await (await look()).text());
    now += HOUR_MS + MINUTE_MS;
    const answer = await post(fields);
    const text = await answer.text();
    expect(answer.status).toBe(403);
    expect(text).toContain("This page has expired. Try again.");
    expect(await read()).toMatchObject(UNTOUCHED);
    expect((await post(fieldsOf(text))).status).toBe(303);
    expect(await read()).toMatchObject({ state: "acknowledged" });
  });
});

describe("a link is invalid", () => {
  const expectInvalid = async (path: string) => {
    const answers = [await look(path), await post({ action: "acknowledge", nonce: "x" }, path)];
    expect(answers.map(({ status }) => status)).toEqual([404, 404]);
    expect(await answers[0]?.text()).toContain("Invalid link");
    expect(await read()).toMatchObject(UNTOUCHED);
  };

  test("if it was changed or signed for something else", async () => {
    await expectInvalid(linkOf().replace(/.$/, (digit) => (digit === "0" ? "1" : "0")));
    await expectInvalid(linkOf().replace(`/${incident.id}.`, `/${incident.id + 1}.`));
    await expectInvalid("/ack/x");
    await expectInvalid(linkOf({ incidentId: 999_999 }));
    await expectInvalid(linkOf({ channelId: (await newChannel((await sampleProject(database.db)).id)).id }));
  });

  test("after its channel was deleted", async () => {
    await inTransaction(database.db, (tx) => deleteChannel(tx, channel.id));
    await expectInvalid(linkOf());
  });

  test("while the project does not use links", async () => {
    await database.db.pool.query("update projects set has_ack_links = false where id = $1", [projectId]);
    await expectInvalid(linkOf());
  });

  test("from seven days after the incident was resolved on; before that, it says so", async () => {
    await database.db.pool.query("update incidents set state = 'resolved', resolved_at = $2 where id = $1", [
      incident.id,
      new Date(MONDAY_NOON),
    ]);
    const text = await (await look()).text();
    expect(text).toContain("Resolved at 2026-11-16 14:00 Europe/Riga.");
    expect(text).not.toContain("<button");
    now += 7 * DAY_MS + 1;
    expect((await look()).status).toBe(404);
  });
});

test("requests of one network are limited", async () => {
  const statuses: number[] = [];
  for (let n = 0; n < 61; n += 1) statuses.push((await look()).status);
  expect(statuses.slice(0, 60).every((status) => status === 200)).toBe(true);
  const refused = await post({ action: "acknowledge", nonce: "x" });
  expect(refused.status).toBe(429);
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
});
