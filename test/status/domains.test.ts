// Domains of status pages are proved by a record in DNS, which is asked over UDP.
import { createSocket } from "node:dgram";
import { afterAll, beforeEach, expect, test } from "vitest";
import { DAY_MS, type Instant } from "../../src/core/instant.ts";
import { domainRecord, domainState, type StatusPage } from "../../src/core/status-page.ts";
import { textLookup } from "../../src/lib/dns-text.ts";
import { checkDomains, checkStatusDomain, getStatusPage } from "../../src/operations/status-pages.ts";
import { askDomain } from "../../src/roles/status-notifier.ts";
import { useDatabase } from "../support/database.ts";
import { sampleProject } from "../support/sample.ts";
import { samplePage } from "./pages.ts";

const database = useDatabase();

// A name server with the records of the test. `answers` false: it fails.
const records = new Map<string, string[]>();
let answers = true;
const server = createSocket("udp4");
server.on("message", (question, { port, address }) => server.send(reply(question), port, address));
await new Promise<void>((resolve) => server.bind(0, "127.0.0.1", resolve));
afterAll(() => server.close());
const lookUp = textLookup({
  timeoutMs: 5_000,
  servers: [`127.0.0.1:${server.address().port}`],
});

/** An answer with the TXT records of the name, NXDOMAIN, or SERVFAIL. */
function reply(question: Buffer): Buffer {
  const labels: string[] = [];
  let at = 12;
  for (let length = question.readUInt8(at); length > 0; length = question.readUInt8(at)) {
    labels.push(question.toString("ascii", at + 1, at + 1 + length));
    at += 1 + length;
  }
  const asked = question.subarray(12, at + 5);
  const texts = answers ? (records.get(labels.join(".").toLowerCase()) ?? []) : [];
  const code = answers ? (texts.length === 0 ? 3 : 0) : 2;
  const head = Buffer.from(question.subarray(0, 12));
  head.writeUInt16BE(0x81_80 | code, 2);
  head.writeUInt16BE(texts.length, 6);
  head.writeUInt16BE(0, 8);
  head.writeUInt16BE(0, 10);
  const found = texts.map((text) => {
    // In two parts, as long records are.
    const parts = [text.slice(0, 5), text.slice(5)].map((part) =>
      Buffer.concat([Buffer.from([part.length]), Buffer.from(part)]),
    );
    const data = Buffer.concat(parts);
    const record = Buffer.from([0xc0, 12, 0, 16, 0, 1, 0, 0, 0, 60, 0, data.length]);
    return Buffer.concat([record, data]);
  });
  return Buffer.concat([head, asked, ...found]);
}

const NOON: Instant = Date.UTC(2026, 10, 18, 12);
let page: StatusPage;
let count = 0;

beforeEach(async () => {
  records.clear();
  answers = true;
  await database.db.pool.query("delete from status_pages");
  const projectId = (await sampleProject(database.db)).id;
  const domain = `status${(count += 1)}.example.org`;
  page = await samplePage(database.db, { projectId, slug: `page-${count}`, title: "Nordlight", domain });
});

const check = (at: Instant) =>
  checkDomains(database.db, { ask: (one) => askDomain(lookUp, one), now: async () => at });
const read = async () => {
  const { domain } = await getStatusPage(database.db, page);
  if (domain === null) throw new Error("the page has no domain");
  return domain;
};
const state = async () => domainState(await read());

async function publish(given?: string): Promise<void> {
  const { name, value } = domainRecord(await read());
  records.set(name, ["v=spf1 -all", given ?? value]);
}

test("a record proves the domain", async () => {
  await publish();
  expect(await check(NOON)).toEqual({ changed: 1, isMore: false });
  expect(await state()).toBe("proved");
  expect(await check(NOON + DAY_MS - 1)).toEqual({ changed: 0, isMore: false });
});

test("neither does a record of another page, nor none, nor silence", async () => {
  await publish("overdue-status-page=other");
  await check(NOON);
  expect(await state()).toBe("unproved");
  records.clear();
  await checkStatusDomain(database.db, page);
  await check(NOON + 1);
  expect(await read()).toMatchObject({ provedAt: null, checkedAt: NOON + 1 });
  answers = false;
  await checkStatusDomain(database.db, page);
  await check(NOON + 2);
  expect(await state()).toBe("unproved");
});

test("a record that disappears ends the domain after three days, one that comes back does not", async () => {
  await publish();
  await check(NOON);
  records.clear();
  await check(NOON + DAY_MS);
  expect(await state()).toBe("lost");
  await publish();
  await check(NOON + 2 * DAY_MS);
  expect(await state()).toBe("proved");
  records.clear();
  await check(NOON + 3 * DAY_MS);
  await check(NOON + 5 * DAY_MS);
  expect(await state()).toBe("lost");
  await check(NOON + 6 * DAY_MS);
  expect(await state()).toBe("unproved");
});

test("a name server that fails does not end a domain", async () => {
  await publish();
  await check(NOON);
  answers = false;
  for (let day = 1; day < 10; day += 1) await check(NOON + day * DAY_MS);
  expect(await state()).toBe("proved");
});

test("a page without a domain has nothing to check", async () => {
  const other = await samplePage(database.db, { projectId: page.projectId, slug: "none", title: "None" });
  await expect(checkStatusDomain(database.db, other)).rejects.toMatchObject({ code: "conflict" });
});
