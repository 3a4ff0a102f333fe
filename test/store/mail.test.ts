// Account emails, preferences, email data of channels, and what reports read: each statement against the schema.
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../src/core/instant.ts";
import { findAccountById, findAccountByUuid } from "../../src/store/accounts.ts";
import {
  type Channel,
  findChannelById,
  findRecipient,
  insertChannel,
  isAddressOfMember,
  markVerified,
  noteChannelError,
} from "../../src/store/channels.ts";
import {
  addMissingPreferences,
  claimDueEmails,
  findEmailByUuid,
  findNewestEmail,
  findPreferences,
  insertEmail,
  listChecksOfAccount,
  listDownChecks,
  listStatusChanges,
  lockDueReports,
  lockReminded,
  pruneEmails,
  settleClaimedEmail,
  writePreferences,
  writeReminderDates,
  writeReportDates,
} from "../../src/store/emails.ts";
import { insertEvents } from "../../src/store/events.ts";
import { insertFlips, retractFlip } from "../../src/store/flips.ts";
import { inTransaction, type Tx } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { MONDAY_NOON, sampleAccount, sampleCheck, sampleProject } from "../support/sample.ts";

const database = useDatabase();
const write = <T>(work: (tx: Tx) => Promise<T>) => inTransaction(database.db, work);

async function sampleMailChannel(projectId: number): Promise<Channel> {
  return write((tx) =>
    insertChannel(tx, {
      uuid: randomUUID(),
      projectId,
      kind: "email",
      name: "",
      config: { value: "ann@example.org", up: true, down: true },
      createdAt: MONDAY_NOON,
    }),
  );
}

const setStatus = (checkId: number, status: string, lastPingAt: number | null) =>
  database.db.pool.query("update check_states set status = $2, last_ping_at = $3 where check_id = $1", [
    checkId,
    status,
    lastPingAt === null ? null : new Date(lastPingAt),
  ]);

describe("account emails", () => {
  test("are claimed once, oldest first, and due again when the claim has run out", async () => {
    const { id: accountId } = await sampleAccount(database.db);
    const uuids = [randomUUID(), randomUUID()];
    for (const [index, uuid] of uuids.entries()) {
      const createdAt = MONDAY_NOON + index;
      await write((tx) =>
        insertEmail(tx, { uuid, kind: "report", accountId, channelId: null, about: { a: [1] }, createdAt }),
      );
    }
    const claim = (now: number) =>
      write((tx) =>
        claimDueEmails(tx, { now, limit: 10, claimedBy: randomUUID(), untilAt: now + MINUTE_MS }),
      );
    expect(await claim(MONDAY_NOON - 1)).toEqual([]);
    const claimed = await claim(MONDAY_NOON + 1);
    expect(claimed.map(({ uuid, attemptCount, about }) => ({ uuid, attemptCount, about }))).toEqual(
      uuids.map((uuid) => ({ uuid, attemptCount: 1, about: { a: [1] } })),
    );
    expect(await claim(MONDAY_NOON + 2)).toEqual([]);
    expect((await claim(MONDAY_NOON + 2 * MINUTE_MS)).map(({ attemptCount }) => attemptCount)).toEqual([
      2, 2,
    ]);
    await write((tx) => pruneEmails(tx, { before: MONDAY_NOON + DAY_MS, limit: 1_000 }));
  });

  test("are settled only by the holder of the claim", async () => {
    const { id: accountId } = await sampleAccount(database.db);
    const uuid = randomUUID();
    await write((tx) =>
      insertEmail(tx, {
        uuid,
        kind: "reminder",
        accountId,
        channelId: null,
        about: {},
        createdAt: MONDAY_NOON,
      }),
    );
    const [mine, other] = [randomUUID(), randomUUID()];
    const [letter] = await write((tx) =>
      claimDueEmails(tx, { now: MONDAY_NOON, limit: 1, claimedBy: mine, untilAt: MONDAY_NOON + MINUTE_MS }),
    );
    const end = {
      emailId: letter?.id ?? 0,
      state: "sent" as const,
      nextTryAt: null,
      reason: null,
      at: MONDAY_NOON,
    };
    expect(await write((tx) => settleClaimedEmail(tx, { ...end, claimedBy: other }))).toBe(false);
    expect(await write((tx) => settleClaimedEmail(tx, { ...end, claimedBy: mine }))).toBe(true);
    expect(await write((tx) => settleClaimedEmail(tx, { ...end, claimedBy: mine }))).toBe(false);
    expect(await findEmailByUuid(database.db, uuid)).toMatchObject({ uuid, kind: "reminder", accountId });
    expect(await findEmailByUuid(database.db, randomUUID())).toBeNull();
    expect(await write((tx) => pruneEmails(tx, { before: MONDAY_NOON, limit: 1_000 }))).toBe(0);
    expect(await write((tx) => pruneEmails(tx, { before: MONDAY_NOON + 1, limit: 1_000 }))).toBe(1);
  });

  test("of a channel: the newest is found", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const { id: channelId } = await sampleMailChannel(projectId);
    for (const hour of [0, 1, 2]) {
      const letter = { kind: "verification" as const, accountId: null, channelId, about: { hour } };
      const createdAt = MONDAY_NOON + hour * HOUR_MS;
      await write((tx) => insertEmail(tx, { ...letter, uuid: randomUUID(), createdAt }));
    }
    const newest = await findNewestEmail(database.db, { channelId, kind: "verification" });
    expect(newest?.about).toEqual({ hour: 2 });
    expect(await findNewestEmail(database.db, { channelId, kind: "unverified" })).toBeNull();
  });
});

describe("preferences", () => {
  test("are the defaults until they are set", async () => {
    const { id: accountId } = await sampleAccount(database.db);
    expect(await findPreferences(database.db, accountId)).toEqual({
      tz: null,
      reports: "monthly",
      reminders: "off",
    });
    const wanted = { tz: "Europe/Riga", reports: "daily", reminders: "hourly" } as const;
    await write((tx) => writePreferences(tx, { accountId, ...wanted }));
    expect(await findPreferences(database.db, accountId)).toEqual(wanted);
  });

  test("that are not set are written for all accounts, once", async () => {
    const { id } = await sampleAccount(database.db);
    expect(await write((tx) => addMissingPreferences(tx, 1))).toBe(1);
    while ((await write((tx) => addMissingPreferences(tx, 100))) > 0);
    expect(await write((tx) => addMissingPreferences(tx, 100))).toBe(0);
    // No time zone is chosen by that.
    expect((await findPreferences(database.db, id)).tz).toBeNull();
  });

  test("return due reports, and whether their checks had pings", async () => {
    const { id: ownerId } = await sampleAccount(database.db);
    const { id: projectId } = await sampleProject(database.db, { ownerId });
    const { id: checkId } = await sampleCheck(database.db, { projectId });
    await write((tx) =>
      writePreferences(tx, { accountId: ownerId, tz: "UTC", reports: "daily", reminders: "off" }),
    );
    const mine = async (now: number) => {
      const due = await write((tx) => lockDueReports(tx, { now, aliveFrom: MONDAY_NOON, limit: 1_000 }));
      return due.find(({ accountId }) => accountId === ownerId);
    };
    expect(await mine(MONDAY_NOON)).toMatchObject({ dueAt: null, isAlive: false, reports: "daily" });
    await write((tx) => writeReportDates(tx, [{ accountId: ownerId, nextAt: MONDAY_NOON + 5 }]));
    expect(await mine(MONDAY_NOON + 4)).toBeUndefined();
    await setStatus(checkId, "up", MONDAY_NOON);
    expect(await mine(MONDAY_NOON + 5)).toMatchObject({ dueAt: MONDAY_NOON + 5, isAlive: true });
  });

  test("say who wants reminders, and whether anything of theirs is down", async () => {
    const { id: accountId } = await sampleAccount(database.db);
    const { id: projectId } = await sampleProject(database.db, { ownerId: accountId });
    const { id: checkId } = await sampleCheck(database.db, { projectId });
    await write((tx) => writePreferences(tx, { accountId, tz: "UTC", reports: "off", reminders: "hourly" }));
    const mine = async () => {
      const options = { afterId: accountId - 1, aliveFrom: MONDAY_NOON, limit: 1 };
      return (await write((tx) => lockReminded(tx, options)))[0];
    };
    expect(await mine()).toMatchObject({ accountId, hasDown: false, nextAt: null });
    await setStatus(checkId, "down", MONDAY_NOON);
    await write((tx) => writeReminderDates(tx, [{ accountId, nextAt: MONDAY_NOON + HOUR_MS }]));
    expect(await mine()).toMatchObject({
      accountId,
      hasDown: true,
      isAlive: true,
      nextAt: MONDAY_NOON + HOUR_MS,
    });
    // Another setting restarts the timer; the same one continues.
    await write((tx) =>
      writePreferences(tx, { accountId, tz: "Asia/Tokyo", reports: "off", reminders: "hourly" }),
    );
    expect(await mine()).toMatchObject({ nextAt: MONDAY_NOON + HOUR_MS });
    await write((tx) =>
      writePreferences(tx, { accountId, tz: "Asia/Tokyo", reports: "off", reminders: "daily" }),
    );
    expect(await mine()).toMatchObject({ nextAt: null });
  });
});

describe("email channels", () => {
  test("store which address is confirmed, and reset it", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const { id: channelId } = await sampleMailChannel(projectId);
    const mark = (address: string | null) => write((tx) => markVerified(tx, { channelId, address }));
    expect(await mark("ann@example.org")).toBe(true);
    expect(await mark("ann@example.org")).toBe(false);
    expect(await findChannelById(database.db, channelId)).toMatchObject({
      verifiedAddress: "ann@example.org",
    });
    expect(await mark(null)).toBe(true);
    await write((tx) => noteChannelError(tx, { channelId, error: "came back" }));
    expect(await findChannelById(database.db, channelId)).toMatchObject({
      verifiedAddress: null,
      lastError: "came back",
      disabledAt: null,
    });
  });

  test("are read in the zone that the account with the address has chosen, if any", async () => {
    const owner = await sampleAccount(database.db);
    const reader = await sampleAccount(database.db);
    const { id: projectId } = await sampleProject(database.db, { ownerId: owner.id });
    const { uuid: channelUuid } = await sampleMailChannel(projectId);
    const zoneOf = async (address: string) =>
      (await findRecipient(database.db, { channelUuid, address }))?.zone;
    expect([await zoneOf("nobody@example.org"), await zoneOf(reader.email)]).toEqual([null, null]);
    const rest = { reports: "off", reminders: "off" } as const;
    await write((tx) => writePreferences(tx, { accountId: owner.id, tz: "Europe/Riga", ...rest }));
    await write((tx) => writePreferences(tx, { accountId: reader.id, tz: "Asia/Tokyo", ...rest }));
    expect(await zoneOf("nobody@example.org")).toBeNull();
    expect(await zoneOf(reader.email.toUpperCase())).toBe("Asia/Tokyo");
    expect(
      await findRecipient(database.db, { channelUuid: randomUUID(), address: "x@example.org" }),
    ).toBeNull();
    const isMember = (address: string) => isAddressOfMember(database.db, { projectId, address });
    expect(await isMember(owner.email.toUpperCase())).toBe(true);
    expect(await isMember(reader.email)).toBe(false);
  });
});

describe("reports", () => {
  test("read the checks of all projects of an account, and their changes", async () => {
    const owner = await sampleAccount(database.db);
    expect(await findAccountById(database.db, owner.id)).toEqual(owner);
    expect(await findAccountByUuid(database.db, owner.uuid)).toEqual(owner);
    const checks = [];
    for (const name of ["a", "b"]) {
      const project = await sampleProject(database.db, { ownerId: owner.id, name: `Project ${name}` });
      checks.push(await sampleCheck(database.db, { projectId: project.id, name }));
    }
    const [first, second] = checks;
    if (first === undefined || second === undefined) throw new Error("two checks were made");
    const list = (afterId: number) =>
      listChecksOfAccount(database.db, { accountId: owner.id, afterId, limit: 1 });
    expect((await list(0)).map(({ id }) => id)).toEqual([first.id]);
    expect((await list(first.id)).map(({ id }) => id)).toEqual([second.id]);
    const at = (minute: number) => MONDAY_NOON + minute * MINUTE_MS;
    await write(async (tx) => {
      await insertFlips(tx, [
        { checkId: first.id, flip: { at: at(-1), from: "new", to: "up", reason: "success" } },
        { checkId: first.id, flip: { at: at(1), from: "up", to: "down", reason: "timeout" } },
        { checkId: first.id, flip: { at: at(5), from: "up", to: "down", reason: "timeout" } },
      ]);
      await retractFlip(tx, { checkId: first.id, deadlineAt: at(1), at: at(2) });
      await insertEvents(tx, [
        { checkId: first.id, at: at(5), kind: "paused", accountId: null, detail: { from: "down" } },
        { checkId: first.id, at: at(6), kind: "resumed", accountId: null, detail: {} },
        { checkId: first.id, at: at(7), kind: "edited", accountId: null, detail: {} },
      ]);
    });
    const wanted = { checkIds: [first.id, second.id], from: at(0) };
    const changes = await listStatusChanges(database.db, { ...wanted, limitEach: 5 });
    expect([...changes.keys()]).toEqual([first.id]);
    expect(changes.get(first.id)?.isCut).toBe(false);
    expect(changes.get(first.id)?.changes).toEqual([
      { at: at(1), from: "up", to: "down", isRetracted: true },
      { at: at(5), from: "up", to: "down", isRetracted: false },
      { at: at(5), from: "down", to: "paused", isRetracted: false },
      { at: at(6), from: "paused", to: "new", isRetracted: false },
    ]);
    const newest = await listStatusChanges(database.db, { ...wanted, limitEach: 2 });
    expect(newest.get(first.id)).toEqual({ changes: changes.get(first.id)?.changes.slice(-2), isCut: true });
    await setStatus(first.id, "down", at(-3));
    expect(await listDownChecks(database.db, { accountId: owner.id, limit: 5 })).toEqual({
      down: [
        { uuid: first.uuid, name: "a", projectName: "Project a", lastPingAt: at(-3), downSinceAt: at(5) },
      ],
      downCount: 1,
    });
  });
});
