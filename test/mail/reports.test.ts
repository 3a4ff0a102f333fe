// Reports and reminders on the database, by a clock of the test's own: who is owed a letter, when, once, and what
// stands in it when it is sent.
import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import { EMAIL_LEASE_MS } from "../../src/core/email.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../src/core/instant.ts";
import { askForVerification, isVerified } from "../../src/operations/channels.ts";
import {
  type ClaimedEmail,
  claimEmails,
  composeEmail,
  planReminders,
  planReports,
  setPreferences,
  settleEmail,
} from "../../src/operations/emails.ts";
import type { Account } from "../../src/store/accounts.ts";
import {
  deleteChannel,
  findChannelById,
  insertChannel,
  markVerified,
  writeChannel,
} from "../../src/store/channels.ts";
import { findPreferences } from "../../src/store/emails.ts";
import { insertFlips } from "../../src/store/flips.ts";
import { inTransaction, type Tx } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { MONDAY_NOON, sampleAccount, sampleCheck, sampleProject } from "../support/sample.ts";

const database = useDatabase();
const write = <T>(work: (tx: Tx) => Promise<T>) => inTransaction(database.db, work);

beforeEach(async () => {
  await database.db.pool.query("truncate letters, preferences");
});

const setState = (checkId: number, status: string, lastPingAt: number) =>
  database.db.pool.query("update check_states set status = $2, last_ping_at = $3 where check_id = $1", [
    checkId,
    status,
    new Date(lastPingAt),
  ]);

/** Somebody with one check that was heard of lately. */
async function person(wants: Parameters<typeof setPreferences>[1]["change"]) {
  const account = await sampleAccount(database.db);
  const { id: projectId } = await sampleProject(database.db, { ownerId: account.id, name: "Shop" });
  const check = await sampleCheck(database.db, { projectId, name: "backup" });
  await setState(check.id, "up", MONDAY_NOON);
  await setPreferences(database.db, { email: account.email, change: wants });
  return { account, check, projectId };
}

async function plan(now: number, minute = 30): Promise<void> {
  for (;;) {
    const { isComplete } = await planReports(database.db, { now, drawMinute: () => minute });
    if (isComplete) break;
  }
  await planReminders(database.db, { now });
}

/** The letters to somebody that are due, as they are sent now. */
async function lettersTo({ id, email }: Account, now: number) {
  const all = await claimEmails(database.db, { now, limit: 1_000 });
  const mine = all.filter(({ accountId }) => accountId === id);
  const written = [];
  for (const letter of mine) {
    const read = await composeEmail(database.db, letter, now);
    if (read !== null) expect(read.to).toBe(email);
    await settleEmail(database.db, letter, { result: read === null ? null : { kind: "sent" }, now });
    written.push(read);
  }
  return written;
}

const local = (iso: string) => Date.parse(iso);

describe("A report", () => {
  test("is planned first, then sent once each morning, in the account's time zone", async () => {
    const { account } = await person({ reports: "daily", tz: "Europe/Riga" });
    await plan(MONDAY_NOON);
    expect(await lettersTo(account, MONDAY_NOON)).toEqual([]);
    const morning = local("2026-11-17T07:30:00Z");
    await plan(morning - 1);
    expect(await lettersTo(account, morning - 1)).toEqual([]);
    for (const _ of [1, 2]) await plan(morning);
    const letters = await lettersTo(account, morning);
    expect(letters).toHaveLength(1);
    expect(letters[0]?.facts).toMatchObject({
      kind: "report",
      report: {
        length: "daily",
        zone: "Europe/Riga",
        checkCount: 1,
        periods: [
          { from: local("2026-11-14T22:00:00Z"), to: local("2026-11-15T22:00:00Z") },
          { from: local("2026-11-15T22:00:00Z"), to: local("2026-11-16T22:00:00Z") },
        ],
      },
    });
    await plan(morning + DAY_MS);
    expect(await lettersTo(account, morning + DAY_MS)).toHaveLength(1);
  });

  test("lists each downtime of the last two periods, by check", async () => {
    const { account, check } = await person({ reports: "weekly", tz: "UTC" });
    // Made on the Monday of the second week.
    const begin = local("2026-11-16T00:00:00Z");
    const at = (hours: number) => begin + hours * HOUR_MS;
    await write((tx) =>
      insertFlips(tx, [
        { checkId: check.id, flip: { at: at(20), from: "up", to: "down", reason: "fail" } },
        { checkId: check.id, flip: { at: at(23), from: "down", to: "up", reason: "success" } },
        { checkId: check.id, flip: { at: at(166), from: "up", to: "down", reason: "timeout" } },
      ]),
    );
    await setState(check.id, "down", at(160));
    await plan(MONDAY_NOON);
    const due = local("2026-11-23T09:30:00Z");
    await plan(due);
    const [letter] = await lettersTo(account, due);
    if (letter?.facts.kind !== "report") throw new Error("no report came");
    const { report } = letter.facts;
    expect(report.downCount).toBe(1);
    expect(report.last).toEqual({ affectedCount: 1, count: 2, durationMs: 5 * HOUR_MS, uncountedCount: 0 });
    expect(report.projects).toMatchObject([
      {
        name: "Shop",
        checks: [
          { name: "backup", status: "down", downtimes: [null, { count: 2, durationMs: 5 * HOUR_MS }] },
        ],
      },
    ]);
  });

  test("is not sent to accounts without pings for half a year, or that have turned it off in the meantime", async () => {
    const quiet = await person({ reports: "daily", tz: "UTC" });
    await setState(quiet.check.id, "up", MONDAY_NOON - 200 * DAY_MS);
    const fickle = await person({ reports: "daily", tz: "UTC" });
    await plan(MONDAY_NOON);
    const due = local("2026-11-17T09:30:00Z");
    await plan(due);
    await setPreferences(database.db, { email: fickle.account.email, change: { reports: "off" } });
    const claimed = await claimEmails(database.db, { now: due, limit: 100 });
    expect(claimed.map(({ accountId }) => accountId)).not.toContain(quiet.account.id);
    const theirs = claimed.find(({ accountId }) => accountId === fickle.account.id);
    expect(theirs === undefined ? "gone" : await composeEmail(database.db, theirs, due)).toBeNull();
  });

  test("is planned for accounts without preferences: monthly, in UTC", async () => {
    const account = await sampleAccount(database.db);
    await plan(MONDAY_NOON);
    const { rows } = await database.db.pool.query("select * from preferences where account_id = $1", [
      account.id,
    ]);
    expect(rows).toMatchObject([{ tz: null, reports: "monthly", reminders: "off" }]);
    expect(rows[0].next_report_at).toBe(local("2026-12-01T09:30:00Z"));
  });
});

describe("A reminder", () => {
  test("comes every hour while something is down, and stops with it", async () => {
    const { account, check } = await person({ reports: "off", reminders: "hourly", tz: "UTC" });
    await plan(MONDAY_NOON);
    await setState(check.id, "down", MONDAY_NOON);
    await write((tx) =>
      insertFlips(tx, [
        { checkId: check.id, flip: { at: MONDAY_NOON, from: "up", to: "down", reason: "fail" } },
      ]),
    );
    await plan(MONDAY_NOON + MINUTE_MS);
    const first = MONDAY_NOON + MINUTE_MS + HOUR_MS;
    await plan(first - 1);
    expect(await lettersTo(account, first - 1)).toEqual([]);
    await plan(first);
    expect((await lettersTo(account, first)).map((letter) => letter?.facts)).toMatchObject([
      { kind: "reminder", reminder: { downCount: 1, down: [{ name: "backup", downSinceAt: MONDAY_NOON }] } },
    ]);
    await plan(first + MINUTE_MS);
    expect(await lettersTo(account, first + MINUTE_MS)).toEqual([]);
    await setState(check.id, "up", first);
    await plan(first + HOUR_MS);
    expect(await lettersTo(account, first + HOUR_MS)).toEqual([]);
    const { rows } = await database.db.pool.query(
      "select next_reminder_at from preferences where account_id = $1",
      [account.id],
    );
    expect(rows).toEqual([{ next_reminder_at: null }]);
  });

  test("says nothing when everything came up before it was sent", async () => {
    const { account, check } = await person({ reports: "off", reminders: "daily", tz: "UTC" });
    await setState(check.id, "down", MONDAY_NOON);
    await plan(MONDAY_NOON);
    await plan(MONDAY_NOON + DAY_MS);
    await setState(check.id, "up", MONDAY_NOON);
    expect(await lettersTo(account, MONDAY_NOON + DAY_MS)).toEqual([null]);
  });

  test("is sent to every member of a project, and to no one else", async () => {
    const { check, projectId } = await person({ reports: "off", reminders: "off", tz: "UTC" });
    const mate = await sampleAccount(database.db);
    const stranger = await sampleAccount(database.db);
    await database.db.pool.query(
      "insert into members (project_id, account_id, role, created_at) values ($1, $2, 'readOnly', now())",
      [projectId, mate.id],
    );
    for (const { email } of [mate, stranger]) {
      await setPreferences(database.db, { email, change: { reports: "off", reminders: "hourly" } });
    }
    await setState(check.id, "down", MONDAY_NOON);
    await plan(MONDAY_NOON);
    await plan(MONDAY_NOON + HOUR_MS);
    const claimed = await claimEmails(database.db, { now: MONDAY_NOON + HOUR_MS, limit: 100 });
    expect(claimed.map(({ accountId }) => accountId)).toEqual([mate.id]);
  });
});

describe("An account email", () => {
  const stateOf = async ({ id }: ClaimedEmail) => {
    const { rows } = await database.db.pool.query(
      "select state, reason, next_try_at from letters where id = $1",
      [id],
    );
    return rows[0];
  };

  async function claimed(): Promise<ClaimedEmail> {
    const { check } = await person({ reports: "off", reminders: "hourly", tz: "UTC" });
    await setState(check.id, "down", MONDAY_NOON);
    await plan(MONDAY_NOON);
    await plan(MONDAY_NOON + HOUR_MS);
    const [letter] = await claimEmails(database.db, { now: MONDAY_NOON + HOUR_MS, limit: 1 });
    if (letter === undefined) throw new Error("no letter is due");
    return letter;
  }
  const now = MONDAY_NOON + HOUR_MS;

  test("that was sent is done", async () => {
    const letter = await claimed();
    await settleEmail(database.db, letter, { result: { kind: "sent" }, now });
    expect(await stateOf(letter)).toEqual({ state: "sent", reason: null, next_try_at: null });
  });

  test("that failed is tried again, later and later, and given up in the end", async () => {
    let letter = await claimed();
    const result = {
      kind: "failed" as const,
      permanent: false,
      reason: "The mail server closed the connection",
    };
    let at = now;
    let tries = 0;
    for (; tries < 100; tries += 1) {
      await settleEmail(database.db, letter, { result, now: at });
      const { state, next_try_at: next, reason } = await stateOf(letter);
      expect(reason).toBe("The mail server closed the connection");
      if (state === "dead") break;
      expect(next).toBeGreaterThan(at);
      at = next;
      const [again] = await claimEmails(database.db, { now: at, limit: 1 });
      if (again === undefined) throw new Error("it is not due again");
      letter = again;
    }
    expect(tries).toBeGreaterThan(10);
    expect(at - now).toBeGreaterThan(20 * HOUR_MS);
  });

  test("that is refused for good is not tried again", async () => {
    const letter = await claimed();
    const result = { kind: "failed" as const, permanent: true, reason: "no such user" };
    await settleEmail(database.db, letter, { result, now });
    expect(await stateOf(letter)).toMatchObject({ state: "dead", reason: "no such user" });
    const wanted = await findPreferences(database.db, letter.accountId ?? 0);
    expect(wanted).toMatchObject({ reports: "off", reminders: "off" });
  });

  test("of a sender who never came back belongs to the next, and only to him", async () => {
    const letter = await claimed();
    expect(await claimEmails(database.db, { now: now + EMAIL_LEASE_MS - 1, limit: 1 })).toEqual([]);
    const [again] = await claimEmails(database.db, { now: now + EMAIL_LEASE_MS, limit: 1 });
    expect(again?.uuid).toBe(letter.uuid);
    await settleEmail(database.db, letter, { result: { kind: "sent" }, now });
    expect(await stateOf(letter)).toMatchObject({ state: "pending" });
  });

  test("that waited for a week for a server is not sent any more", async () => {
    const letter = await claimed();
    expect(await composeEmail(database.db, letter, letter.createdAt + 7 * DAY_MS)).not.toBeNull();
    expect(await composeEmail(database.db, letter, letter.createdAt + 7 * DAY_MS + 1)).toBeNull();
  });
});

describe("Asking an address", () => {
  async function channelOf(address: string, projectId: number) {
    const config = { value: address, up: true, down: true };
    const channel = {
      uuid: randomUUID(),
      projectId,
      kind: "email",
      name: "",
      config,
      createdAt: MONDAY_NOON,
    };
    return write((tx) => insertChannel(tx, channel));
  }
  const ask = (
    channelId: number,
    address: string,
    more: { at?: number; isRequired?: boolean; repeat?: boolean } = {},
  ) =>
    write((tx) =>
      askForVerification(tx, {
        channelId,
        address,
        at: MONDAY_NOON,
        isRequired: true,
        repeat: false,
        ...more,
      }),
    );
  const asked = async () =>
    (await database.db.pool.query("select 1 from letters where kind = 'verification'")).rowCount;

  test("happens once, again an hour later, and for every new address", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const { id } = await channelOf("ann@example.org", projectId);
    for (const at of [MONDAY_NOON, MONDAY_NOON + MINUTE_MS]) await ask(id, "ann@example.org", { at });
    expect(await asked()).toBe(1);
    await ask(id, "ann@example.org", { at: MONDAY_NOON + HOUR_MS });
    expect(await asked()).toBe(2);
    await ask(id, "bob@example.org", { at: MONDAY_NOON + HOUR_MS });
    expect(await asked()).toBe(3);
  });

  test("is not needed if confirmation is off, or the address is confirmed", async () => {
    const owner = await sampleAccount(database.db);
    const { id: projectId } = await sampleProject(database.db, { ownerId: owner.id });
    const { id } = await channelOf(owner.email, projectId);
    expect(await ask(id, owner.email)).toBe("verified");
    expect(await ask(id, "ann@example.org", { isRequired: false })).toBe("verified");
    expect(await ask(id, "ann@example.org")).toBe("verified");
    expect(await asked()).toBe(0);
    // Whoever left has to agree again.
    expect(await ask(id, "ann@example.org", { repeat: true })).toBe("asked");
    const channel = await findChannelById(database.db, id);
    expect(channel?.verifiedAddress).toBeNull();
  });

  test("is reset when the channel gets another address", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const { id: channelId } = await channelOf("ann@example.org", projectId);
    await write((tx) => markVerified(tx, { channelId, address: "ann@example.org" }));
    const read = async () => {
      const channel = await findChannelById(database.db, channelId);
      return channel !== null && isVerified(channel);
    };
    expect(await read()).toBe(true);
    await write((tx) => writeChannel(tx, { channelId, config: { value: "bob@example.org" } }));
    expect(await read()).toBe(false);
  });

  test("is bounded for each account, deleted channels and all projects included", async () => {
    const { id: ownerId } = await sampleAccount(database.db);
    const { id: projectId } = await sampleProject(database.db, { ownerId });
    for (let count = 0; count < 100; count += 1) {
      const { id } = await channelOf(`ann${count}@example.org`, projectId);
      await ask(id, `ann${count}@example.org`);
      await write((tx) => deleteChannel(tx, id));
    }
    const other = await sampleProject(database.db, { ownerId });
    const { id } = await channelOf("one-more@example.org", other.id);
    await expect(ask(id, "one-more@example.org")).rejects.toMatchObject({ code: "rate_limited" });
    expect(await ask(id, "one-more@example.org", { at: MONDAY_NOON + DAY_MS + 1 })).toBe("asked");
  });

  test("asks one address a few times a day for the same account, whatever the channel", async () => {
    const { id: projectId } = await sampleProject(database.db);
    for (let count = 0; count < 5; count += 1) {
      const { id } = await channelOf("ann@example.org", projectId);
      await ask(id, "ann@example.org");
      await write((tx) => deleteChannel(tx, id));
    }
    const { id } = await channelOf("ann@example.org", projectId);
    await expect(ask(id, "ann@example.org")).rejects.toMatchObject({ code: "rate_limited" });
    expect(await ask(id, "bob@example.org")).toBe("asked");
  });

  test("is dropped if the address was confirmed or changed before the email was sent", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const { id: channelId } = await channelOf("ann@example.org", projectId);
    await ask(channelId, "ann@example.org");
    const [letter] = await claimEmails(database.db, { now: MONDAY_NOON, limit: 1 });
    if (letter === undefined) throw new Error("no letter is due");
    expect(await composeEmail(database.db, letter, MONDAY_NOON)).toMatchObject({ to: "ann@example.org" });
    await write((tx) => writeChannel(tx, { channelId, config: { value: "bob@example.org" } }));
    expect(await composeEmail(database.db, letter, MONDAY_NOON)).toBeNull();
  });
});

test("a zone that is not on the list, or an unknown account, is refused in words", async () => {
  const { email } = await sampleAccount(database.db);
  const set = (address: string, tz: string) =>
    setPreferences(database.db, { email: address, change: { tz } });
  await expect(set(email, "europe/riga")).rejects.toThrow("is not a valid time zone");
  await expect(set("nobody@example.org", "UTC")).rejects.toThrow("No account found");
});
