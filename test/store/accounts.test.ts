// Accounts and their sessions, projects, members and the audit log: each statement runs and returns what it should.
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { digestOfToken } from "../../src/lib/secrets.ts";
import {
  deleteAccount,
  findAccountById,
  findEmails,
  findKnownFrom,
  hasAdmin,
  listAccountFacts,
  lockAccount,
  lockAdmins,
  writeAdmin,
  writeEmail,
  writeKnownFrom,
  writeProfile,
  writeSignedIn,
} from "../../src/store/accounts.ts";
import {
  type AuditMentions,
  eraseAuditedAddress,
  eraseAuditedProfile,
  findAuditMentions,
  insertAuditEntries,
  listAuditEntries,
  listFormerAddresses,
  pruneAuditEntries,
} from "../../src/store/audit.ts";
import { findCheckByUuid, markChecksDeleted } from "../../src/store/checks.ts";
import { insertEmail } from "../../src/store/emails.ts";
import { listMigrations, readBacklog, readSizes } from "../../src/store/instance.ts";
import {
  deleteInvitation,
  deleteInvitationsBy,
  deleteInvitationsOfEmail,
  deleteInvitationsTo,
  findInvitation,
  findInvitationByUuid,
  insertInvitation,
  listInvitations,
  pruneInvitations,
} from "../../src/store/invitations.ts";
import {
  countOwnedProjects,
  deleteMember,
  deleteMembersOfProject,
  deleteTransfer,
  findProjectByUuid,
  findTransfer,
  hideProject,
  holdProject,
  insertMember,
  listMembers,
  listTransfersTo,
  lockProject,
  pruneRemovedProjects,
  renameProject,
  writePingKey,
  writeRole,
  writeTransfer,
} from "../../src/store/projects.ts";
import {
  deleteOtherSessions,
  deleteSession,
  deleteSessionByDigest,
  findSessionByDigest,
  insertSession,
  listSessionsOfAccount,
  listLiveViewers,
  markSessionReauthenticated,
  pruneSessions,
  touchSession,
  trimSessions,
} from "../../src/store/sessions.ts";
import { inTransaction, type Tx } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { MONDAY_NOON as NOW, sampleAccount, sampleCheck, sampleProject } from "../support/sample.ts";

const database = useDatabase();
const tx = <T>(work: (tx: Tx) => Promise<T>): Promise<T> => inTransaction(database.db, work);
const digest = () => digestOfToken(randomUUID());

describe("Accounts", () => {
  test("are changed, counted and locked, and deleted with their data", async () => {
    const account = await sampleAccount(database.db);
    const accountId = account.id;
    await database.db.pool.query("update accounts set is_operator = false");
    expect(await hasAdmin(database.db)).toBe(false);
    await tx(async (t) => {
      expect(await lockAccount(t, accountId)).toBe(true);
      await writeAdmin(t, { accountId, isAdmin: true });
      await writeEmail(t, { accountId, email: `${account.uuid}@example.org` });
      await writeProfile(t, { accountId, name: "Bob", theme: "dark", density: "compact" });
      await writeProfile(t, { accountId, name: null, theme: null, density: null });
      await writeSignedIn(t, { accountId, at: NOW });
      expect(await findKnownFrom(t, accountId)).toBeNull();
      await writeKnownFrom(t, { accountId, at: NOW });
    });
    expect(await hasAdmin(database.db)).toBe(true);
    expect(await tx((t) => lockAdmins(t))).toEqual([accountId]);
    expect(await findKnownFrom(database.db, accountId)).toBe(NOW);
    const changed = { name: "Bob", email: `${account.uuid}@example.org`, isAdmin: true };
    expect(await findAccountById(database.db, accountId)).toMatchObject(changed);
    const shown = await database.db.pool.query("select theme, density from accounts where id = $1", [
      accountId,
    ]);
    expect(shown.rows).toEqual([{ theme: "dark", density: "compact" }]);
    const { id: otherId, email: other } = await sampleAccount(database.db);
    expect(await findEmails(database.db, [accountId, otherId, 987_654])).toEqual(
      new Map([
        [accountId, changed.email],
        [otherId, other],
      ]),
    );
    expect(await listAccountFacts(database.db, [accountId])).toEqual([
      { accountId, signedInAt: NOW, hasTotp: false },
    ]);
    await tx((t) => insertSession(t, sessionOf(accountId)));
    expect(await tx((t) => deleteAccount(t, accountId))).toBe(true);
    expect(await tx((t) => lockAccount(t, accountId))).toBe(false);
    expect(await listSessionsOfAccount(database.db, accountId)).toEqual([]);
  });

  test("an admin sees the backlog and the migrations", async () => {
    expect(await readBacklog(database.db, { now: NOW })).toMatchObject({
      oldestSweepAt: null,
      oldestUnsentAt: null,
      unsentCount: 0,
      oldestLetterAt: null,
    });
    const { id: accountId } = await sampleAccount(database.db);
    const letter = { uuid: randomUUID(), kind: "report", accountId, channelId: null, about: {} } as const;
    await tx((t) => insertEmail(t, { ...letter, createdAt: NOW }));
    // A failed one waits since it may be retried, not since it was inserted.
    await database.db.pool.query("update letters set next_try_at = created_at + interval '1 minute'");
    const later = (now: number) => readBacklog(database.db, { now });
    expect((await later(NOW + 59_000)).oldestLetterAt).toBeNull();
    expect((await later(NOW + 61_000)).oldestLetterAt).toBe(NOW + 60_000);
    const sizes = await readSizes(database.db);
    const total = Object.values(sizes).reduce((sum, { bytes }) => sum + bytes, 0);
    const { rows } = await database.db.pool.query<{ bytes: number }>(
      "select sum(pg_total_relation_size(oid))::bigint as bytes from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace",
    );
    // Every table is counted, and none twice.
    expect(Math.abs(total - Number(rows[0]?.bytes))).toBeLessThan(100_000);
    expect(Object.keys(sizes)).toContain("pings");
    expect(Object.values(sizes).every(({ bytes, rowCount }) => bytes > 0 && rowCount >= 0)).toBe(true);
    const migrations = await listMigrations(database.db);
    expect(migrations.map(({ name }) => name)).toContain("0001_initial");
    expect(migrations.every(({ appliedAt }) => appliedAt !== null && appliedAt > NOW - 1e11)).toBe(true);
  });
});

function sessionOf(accountId: number, given: { digest?: Buffer; createdAt?: number } = {}) {
  const { digest: own = digest(), createdAt = NOW } = given;
  return {
    digest: own,
    accountId,
    method: "password",
    createdAt,
    authenticatedAt: createdAt,
    ua: "Firefox",
    remoteAddr: "192.0.2.1",
  } as const;
}

describe("Sessions", () => {
  test("are found by their digest, with whose they are", async () => {
    const account = await sampleAccount(database.db);
    const own = digest();
    const id = await tx((t) => insertSession(t, sessionOf(account.id, { digest: own })));
    expect(await findSessionByDigest(database.db, own)).toEqual({
      session: {
        id,
        method: "password",
        createdAt: NOW,
        seenAt: NOW,
        authenticatedAt: NOW,
        ua: "Firefox",
        remoteAddr: "192.0.2.1",
      },
      person: { ...account, theme: "system", density: "comfortable", zone: null },
    });
    expect(await findSessionByDigest(database.db, digest())).toBeNull();
    await tx(async (t) => {
      await touchSession(t, { sessionId: id, at: NOW + 5, remoteAddr: null });
      await touchSession(t, { sessionId: id, at: NOW + 4, remoteAddr: "192.0.2.9" });
      await markSessionReauthenticated(t, { sessionId: id, at: NOW + 9 });
    });
    expect((await findSessionByDigest(database.db, own))?.session).toMatchObject({
      seenAt: NOW + 5,
      authenticatedAt: NOW + 9,
      remoteAddr: "192.0.2.1",
    });
    await tx(async (writing) => {
      await touchSession(writing, { sessionId: id, at: NOW + 6, remoteAddr: null });
      await tx((t) => touchSession(t, { sessionId: id, at: NOW + 7, remoteAddr: null }));
    });
    expect((await findSessionByDigest(database.db, own))?.session.seenAt, "nobody has waited").toBe(NOW + 6);
    expect(await tx((t) => deleteSessionByDigest(t, own))).toBe(true);
    expect(await tx((t) => deleteSessionByDigest(t, own))).toBe(false);
  });

  test("end one by one, all but one, beyond a number, and with age", async () => {
    const [mine, other] = [await sampleAccount(database.db), await sampleAccount(database.db)];
    const open = (createdAt: number) => tx((t) => insertSession(t, sessionOf(mine.id, { createdAt })));
    const [first, second, third] = [await open(NOW), await open(NOW + 1), await open(NOW + 2)];
    const ids = async () => (await listSessionsOfAccount(database.db, mine.id)).map(({ id }) => id);
    expect(await ids()).toEqual([third, second, first]);
    expect(await tx((t) => deleteSession(t, { accountId: other.id, sessionId: first }))).toBe(false);
    expect(await tx((t) => deleteSession(t, { accountId: mine.id, sessionId: second }))).toBe(true);
    expect(await tx((t) => trimSessions(t, { accountId: mine.id, keep: 1 }))).toBe(1);
    expect(await ids()).toEqual([third]);
    await open(NOW + 3);
    expect(await tx((t) => deleteOtherSessions(t, { accountId: mine.id, keepId: third }))).toBe(1);
    expect(await tx((t) => pruneSessions(t, { before: NOW + 2, limit: 9 }))).toBe(0);
    expect(await tx((t) => pruneSessions(t, { before: NOW + 3, limit: 9 }))).toBe(1);
  });
});

describe("A live connection", () => {
  test("continues while signed in and a member, and not by the session of another user", async () => {
    const [owner, other] = [await sampleAccount(database.db), await sampleAccount(database.db)];
    const { id: projectId } = await sampleProject(database.db, { ownerId: owner.id });
    const { id: elsewhereId } = await sampleProject(database.db, { ownerId: other.id });
    const sessionId = await tx((t) => insertSession(t, sessionOf(owner.id)));
    const othersId = await tx((t) => insertSession(t, sessionOf(other.id)));
    const mine = { sessionId, projectId };
    const asked = [mine, mine, { sessionId, projectId: elsewhereId }, { sessionId: othersId, projectId }];
    expect(await listLiveViewers(database.db, asked)).toEqual([mine]);
    expect(await listLiveViewers(database.db, [])).toEqual([]);
    await tx((t) => deleteSession(t, { accountId: owner.id, sessionId }));
    expect(await listLiveViewers(database.db, asked)).toEqual([]);
  });
});

describe("Members and transfers", () => {
  test("come, change and go; there is one owner", async () => {
    const owner = await sampleAccount(database.db);
    const mate = await sampleAccount(database.db);
    const project = await sampleProject(database.db, { ownerId: owner.id });
    const projectId = project.id;
    const member = { projectId, accountId: mate.id };
    expect(await tx((t) => insertMember(t, { ...member, role: "member", at: NOW }))).toBe(true);
    expect(await tx((t) => insertMember(t, { ...member, role: "manager", at: NOW }))).toBe(false);
    await tx((t) => writeRole(t, { ...member, role: "manager" }));
    expect((await listMembers(database.db, projectId)).map(({ uuid, role }) => [uuid, role])).toEqual([
      [owner.uuid, "owner"],
      [mate.uuid, "manager"],
    ]);
    await expect(tx((t) => writeRole(t, { ...member, role: "owner" }))).rejects.toThrow(/members_one_owner/);
    await tx((t) => writeTransfer(t, { projectId, toAccountId: mate.id, createdAt: NOW }));
    expect(await findTransfer(database.db, projectId)).toMatchObject({ toAccountId: mate.id });
    expect(await listTransfersTo(database.db, mate.id)).toEqual([
      { uuid: project.uuid, name: project.name, from: owner.email, since: NOW },
    ]);
    expect(await tx((t) => deleteTransfer(t, projectId))).toBe(true);
    expect(await tx((t) => deleteTransfer(t, projectId))).toBe(false);
    expect(await tx((t) => deleteMember(t, member))).toBe(true);
    expect(await tx((t) => deleteMember(t, member))).toBe(false);
    expect(await countOwnedProjects(database.db, owner.id)).toBe(1);
  });

  test("invitations are found by link and by name, once for each address, and end", async () => {
    const owner = await sampleAccount(database.db);
    const project = await sampleProject(database.db, { ownerId: owner.id });
    const email = `${randomUUID()}@example.org`;
    const invitation = {
      uuid: randomUUID(),
      digest: digest(),
      projectId: project.id,
      email,
      role: "member",
      inviterId: owner.id,
      createdAt: NOW,
      expiresAt: NOW + 9,
    } as const;
    await tx((t) => insertInvitation(t, invitation));
    const found = await findInvitation(database.db, invitation.digest);
    expect(found).toMatchObject({ email, role: "member", invitedBy: owner.email, projectName: project.name });
    expect(await findInvitationByUuid(database.db, invitation.uuid)).toEqual(found);
    expect(await listInvitations(database.db, project.id)).toEqual([found]);
    const again = { ...invitation, uuid: randomUUID(), digest: digest() };
    await expect(tx((t) => insertInvitation(t, again))).rejects.toThrow(/invitations_once/);
    await tx((t) => deleteInvitationsOfEmail(t, { projectId: project.id, email }));
    await tx((t) => insertInvitation(t, again));
    const by = { projectId: project.id, inviterId: owner.id };
    expect(await tx((t) => deleteInvitationsBy(t, by))).toEqual([{ email, role: "member" }]);
    expect(await tx((t) => deleteInvitationsBy(t, by))).toEqual([]);
    await tx((t) => insertInvitation(t, again));
    expect(await tx((t) => pruneInvitations(t, { before: NOW + 9, limit: 9 }))).toBe(0);
    expect(await tx((t) => pruneInvitations(t, { before: NOW + 10, limit: 9 }))).toBe(1);
    const house = { ...invitation, uuid: randomUUID(), digest: digest(), projectId: null, role: null };
    await tx((t) => insertInvitation(t, house));
    const id = (await findInvitation(database.db, house.digest))?.id ?? 0;
    expect(await tx((t) => deleteInvitation(t, id))).toBe(true);
    expect(await tx((t) => deleteInvitation(t, id))).toBe(false);
    await tx((t) => insertInvitation(t, house));
    await tx((t) => deleteInvitationsTo(t, email));
    expect(await findInvitation(database.db, house.digest)).toBeNull();
  });
});

describe("Projects", () => {
  test("are renamed, hidden, and deleted when neither members nor checks are left", async () => {
    const project = await sampleProject(database.db);
    const check = await sampleCheck(database.db, { projectId: project.id });
    await tx(async (t) => {
      await holdProject(t, project.id);
      expect(await lockProject(t, project.id)).toBe(true);
      await renameProject(t, { projectId: project.id, name: "Other" });
      await writePingKey(t, { projectId: project.id, pingKey: "another" });
    });
    expect(await findProjectByUuid(database.db, project.uuid)).toMatchObject({
      name: "Other",
      pingKey: "another",
    });
    const badgeKey = randomUUID();
    await tx((t) => hideProject(t, { projectId: project.id, badgeKey }));
    expect(await findProjectByUuid(database.db, project.uuid)).toMatchObject({ pingKey: null, badgeKey });
    expect(await tx((t) => markChecksDeleted(t, { projectId: project.id, at: NOW }))).toBe(1);
    expect(await findCheckByUuid(database.db, check.uuid)).toBeNull();
    await tx((t) => deleteMembersOfProject(t, project.id));
    expect(await tx((t) => pruneRemovedProjects(t, { limit: 9 }))).toBe(0);
    await database.db.pool.query("delete from checks where id = $1", [check.id]);
    expect(await tx((t) => pruneRemovedProjects(t, { limit: 9 }))).toBe(1);
    expect(await findProjectByUuid(database.db, project.uuid)).toBeNull();
  });
});

describe("The record", () => {
  test("is read backwards, by project or without one, and an address or old entries can be removed", async () => {
    const account = await sampleAccount(database.db);
    const project = await sampleProject(database.db, { ownerId: account.id });
    const entry = {
      accountId: account.id,
      keyId: null,
      what: "member.invited",
      subject: "eve@example.org",
      before: null,
      after: { email: "eve@example.org" },
      at: NOW,
    } as const;
    await tx(async (t) => {
      const own = { ...entry, projectId: project.id };
      await insertAuditEntries(t, [own, { ...own, at: NOW + 1 }]);
      await insertAuditEntries(t, [{ ...entry, projectId: null }]);
    });
    const email = "eve@example.org";
    const forget = async () => {
      const mentions = await findAuditMentions(database.db, email);
      await tx((t) => eraseAuditedAddress(t, { email, instead: "(gone)", mentions }));
    };
    const page = { projectId: project.id, beforeId: Number.MAX_SAFE_INTEGER, limit: 9 };
    const [newer, older] = await listAuditEntries(database.db, page);
    expect([newer?.at, older?.at, newer?.email]).toEqual([NOW + 1, NOW, account.email]);
    expect(await listAuditEntries(database.db, { ...page, beforeId: newer?.id ?? 0 })).toEqual([older]);
    expect(await listAuditEntries(database.db, { ...page, projectId: null })).toHaveLength(1);
    await forget();
    const [forgotten] = await listAuditEntries(database.db, page);
    expect(forgotten).toMatchObject({ subject: "(gone)", after: { email: "(gone)" } });
    const others = "steve@example.org, eve@example.org.uk, eve@example.org.";
    await tx((t) =>
      insertAuditEntries(t, [{ ...entry, projectId: project.id, subject: others, at: NOW + 1 }]),
    );
    await forget();
    const [kept] = await listAuditEntries(database.db, page);
    expect(kept?.subject).toBe("steve@example.org, eve@example.org.uk, (gone).");
    expect(await tx((t) => pruneAuditEntries(t, { before: NOW + 1, limit: 9 }))).toBe(2);
  });

  test("an account is removed where its address was found and in newer entries, and nowhere else", async () => {
    const { id: accountId } = await sampleAccount(database.db);
    const { email: taken } = await sampleAccount(database.db);
    const email = "ann@example.org";
    const entry = { projectId: null, accountId, keyId: null, at: NOW } as const;
    const moved = async (from: string) =>
      tx((t) =>
        insertAuditEntries(t, [
          {
            ...entry,
            what: "account.emailChanged",
            subject: email,
            before: { email: from },
            after: { email },
          },
        ]),
      );
    await moved("old@example.org");
    await moved(taken);
    expect(await listFormerAddresses(database.db, accountId)).toEqual(["old@example.org"]);
    const sides = { before: { name: "Ann" }, after: { name: "Anna" } };
    await tx((t) => insertAuditEntries(t, [{ ...entry, what: "account.changed", subject: email, ...sides }]));
    const mentions = await findAuditMentions(database.db, email);
    expect(mentions.ids).toHaveLength(3);
    await moved("late@example.org");
    const forget = async (found: AuditMentions) => {
      await tx((t) => eraseAuditedAddress(t, { email, instead: "(gone)", mentions: found }));
      return (
        await listAuditEntries(database.db, { projectId: null, beforeId: Number.MAX_SAFE_INTEGER, limit: 4 })
      ).filter((one) => JSON.stringify(one).includes(email)).length;
    };
    const far = mentions.head + 1_000_000;
    expect(await forget({ ids: [], head: far })).toBe(4);
    expect(await forget({ ids: mentions.ids, head: far })).toBe(1);
    expect(await forget(mentions)).toBe(0);
    await tx((t) => eraseAuditedProfile(t, accountId));
    const { rows } = await database.db.pool.query(
      "select from audit_entries where after::text like '%Anna%'",
    );
    expect(rows).toEqual([]);
  });
});
