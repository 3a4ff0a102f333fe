// Sign-in methods as rows: passwords, passkeys, apps and their codes, links, steps, attempts, sign-ins, and
// identities.
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { digestOfToken } from "../../src/lib/secrets.ts";
import {
  confirmAuthenticator,
  countRecoveryCodes,
  deleteAuthenticator,
  deleteIdentity,
  deletePasskey,
  deletePassword,
  deleteRecoveryCodes,
  findAuthenticator,
  findPasskey,
  findPassword,
  insertIdentity,
  insertPasskey,
  listIdentities,
  listPasskeys,
  useAuthenticatorStep,
  useIdentity,
  useRecoveryCode,
  writeAuthenticator,
  writePasskeyUse,
  writePassword,
  writeRecoveryCodes,
} from "../../src/store/credentials.ts";
import {
  addSignInFailure,
  deleteStepsOf,
  findNewestToken,
  findSignInFailures,
  findStep,
  findToken,
  findTokenByUuid,
  insertSignIn,
  insertStep,
  insertToken,
  listSignIns,
  lockAttempts,
  pruneAttempts,
  pruneSignIns,
  pruneSteps,
  pruneTokens,
  takeStep,
  trimSignIns,
  useToken,
  voidAllTokens,
  voidTokens,
  writeAttempts,
} from "../../src/store/sign-in.ts";
import { inTransaction, type Tx } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { MONDAY_NOON as NOW, sampleAccount } from "../support/sample.ts";

const database = useDatabase();
const tx = <T>(work: (tx: Tx) => Promise<T>): Promise<T> => inTransaction(database.db, work);
const digest = () => digestOfToken(randomUUID());

describe("Credentials", () => {
  test("a password is set, replaced and removed", async () => {
    const { id: accountId } = await sampleAccount(database.db);
    expect(await findPassword(database.db, accountId)).toBeNull();
    await tx((t) => writePassword(t, { accountId, hash: "one", at: NOW }));
    await tx((t) => writePassword(t, { accountId, hash: "two", at: NOW + 1 }));
    expect(await findPassword(database.db, accountId)).toBe("two");
    expect(await tx((t) => deletePassword(t, accountId))).toBe(true);
    expect(await tx((t) => deletePassword(t, accountId))).toBe(false);
  });

  test("a passkey is found by its credential, counted, and removed only by its owner", async () => {
    const [owner, other] = [await sampleAccount(database.db), await sampleAccount(database.db)];
    const passkey = {
      uuid: randomUUID(),
      accountId: owner.id,
      name: "Phone",
      credentialId: randomUUID(),
      publicKey: Buffer.from([1, 2, 3]),
      useCount: 0,
      transports: ["internal", "hybrid"],
      createdAt: NOW,
    };
    await tx((t) => insertPasskey(t, passkey));
    const found = await findPasskey(database.db, passkey.credentialId);
    expect(found).toMatchObject({ ...passkey, lastUsedAt: null });
    expect(await listPasskeys(database.db, owner.id)).toEqual([found]);
    await expect(tx((t) => insertPasskey(t, { ...passkey, uuid: randomUUID() }))).rejects.toThrow(
      /credential_id/,
    );
    const use = (useCount: number) =>
      tx((t) => writePasskeyUse(t, { passkeyId: found?.id ?? 0, useCount, at: NOW + 1 }));
    expect([await use(0), await use(0), await use(7)]).toEqual([true, true, true]);
    expect([await use(7), await use(6), await use(0)]).toEqual([false, false, false]);
    expect(await findPasskey(database.db, passkey.credentialId)).toMatchObject({
      useCount: 7,
      lastUsedAt: NOW + 1,
    });
    expect(await tx((t) => deletePasskey(t, { accountId: other.id, uuid: passkey.uuid }))).toBeNull();
    expect(await tx((t) => deletePasskey(t, { accountId: owner.id, uuid: passkey.uuid }))).toBe("Phone");
  });

  test("an app is confirmed once, a working one is not replaced, and no step is used twice", async () => {
    const { id: accountId } = await sampleAccount(database.db);
    const write = (sealed: string) =>
      tx((t) => writeAuthenticator(t, { accountId, sealed: Buffer.from(sealed), secretId: "a", at: NOW }));
    expect(await write("one")).toBe(true);
    expect(await write("two")).toBe(true);
    expect(await tx((t) => useAuthenticatorStep(t, { accountId, step: 5 }))).toBe(false);
    expect(await tx((t) => confirmAuthenticator(t, { accountId, at: NOW, step: 5 }))).toBe(true);
    expect(await tx((t) => confirmAuthenticator(t, { accountId, at: NOW, step: 6 }))).toBe(false);
    expect(await write("three")).toBe(false);
    expect(await findAuthenticator(database.db, accountId)).toEqual({
      sealed: Buffer.from("two"),
      confirmedAt: NOW,
      lastStep: 5,
    });
    expect(await tx((t) => useAuthenticatorStep(t, { accountId, step: 5 }))).toBe(false);
    expect(await tx((t) => useAuthenticatorStep(t, { accountId, step: 6 }))).toBe(true);
    expect(await tx((t) => deleteAuthenticator(t, accountId))).toBe(true);
    expect(await tx((t) => deleteAuthenticator(t, accountId))).toBe(false);
  });

  test("a recovery code is used once, and new ones end the old ones", async () => {
    const { id: accountId } = await sampleAccount(database.db);
    const [one, two] = [digest(), digest()];
    await tx((t) => writeRecoveryCodes(t, { accountId, digests: [one, two], secretId: "a" }));
    expect(await countRecoveryCodes(database.db, accountId)).toBe(2);
    expect(await tx((t) => useRecoveryCode(t, { accountId, digests: [digest(), one], at: NOW }))).toBe(true);
    expect(await tx((t) => useRecoveryCode(t, { accountId, digests: [digest(), one], at: NOW }))).toBe(false);
    expect(await countRecoveryCodes(database.db, accountId)).toBe(1);
    const three = digest();
    await tx((t) => writeRecoveryCodes(t, { accountId, digests: [three], secretId: "b" }));
    expect(await tx((t) => useRecoveryCode(t, { accountId, digests: [two], at: NOW }))).toBe(false);
    await tx((t) => deleteRecoveryCodes(t, accountId));
    expect(await tx((t) => useRecoveryCode(t, { accountId, digests: [three], at: NOW }))).toBe(false);
  });

  test("an identity of a provider belongs to one account", async () => {
    const { id: accountId } = await sampleAccount(database.db);
    const who = { issuer: "https://id.example.org", subject: randomUUID() };
    expect(await tx((t) => useIdentity(t, { ...who, at: NOW }))).toBeNull();
    await tx((t) => insertIdentity(t, { ...who, accountId, at: NOW }));
    expect(await tx((t) => useIdentity(t, { ...who, at: NOW + 1 }))).toBe(accountId);
    expect(await listIdentities(database.db, accountId)).toEqual([
      { ...who, createdAt: NOW, lastUsedAt: NOW + 1 },
    ]);
    const { id: otherId } = await sampleAccount(database.db);
    expect(await tx((t) => insertIdentity(t, { ...who, accountId: otherId, at: NOW }))).toBe(false);
    expect(await tx((t) => deleteIdentity(t, { ...who, accountId: otherId }))).toBe(false);
    expect(await tx((t) => deleteIdentity(t, { ...who, accountId }))).toBe(true);
    expect(await listIdentities(database.db, accountId)).toEqual([]);
  });
});

describe("Links", () => {
  test("are found by their digest and by name, used once, and end when another is given out", async () => {
    const { id: accountId } = await sampleAccount(database.db);
    const give = async (expiresAt: number) => {
      const token = {
        uuid: randomUUID(),
        digest: digest(),
        purpose: "signIn",
        accountId,
        email: null,
        nextPath: "/x/",
        createdAt: NOW,
        expiresAt,
      } as const;
      await tx((t) => insertToken(t, token));
      return token;
    };
    const first = await give(NOW + 1);
    const found = await findToken(database.db, first.digest);
    expect(found).toMatchObject({ purpose: "signIn", accountId, nextPath: "/x/", usedAt: null });
    expect(await findTokenByUuid(database.db, first.uuid)).toEqual(found);
    expect(await findNewestToken(database.db, { accountId, purpose: "signIn" })).toEqual(found);
    expect(await findNewestToken(database.db, { accountId, purpose: "confirm" })).toBeNull();
    const use = { tokenId: found?.id ?? 0, at: NOW };
    expect([await tx((t) => useToken(t, use)), await tx((t) => useToken(t, use))]).toEqual([true, false]);
    const second = await give(NOW + 2);
    await tx((t) => voidTokens(t, { accountId, purpose: "signIn", email: null }));
    expect(await findToken(database.db, second.digest)).toBeNull();
    const third = await give(NOW + 3);
    await tx((t) => voidAllTokens(t, accountId));
    expect(await findToken(database.db, third.digest)).toBeNull();
    expect(await findToken(database.db, first.digest)).toMatchObject({ usedAt: NOW });
    expect(await tx((t) => pruneTokens(t, { before: NOW + 2, limit: 9 }))).toBe(1);
  });
});

describe("Steps and tries", () => {
  test("a step is seen as often as one likes and taken once, by its kind", async () => {
    const step = {
      digest: digest(),
      kind: "oidc",
      accountId: null,
      about: { nonce: "n" },
      createdAt: NOW,
      expiresAt: NOW + 1,
    } as const;
    await tx((t) => insertStep(t, step));
    const named = { digest: step.digest, kind: step.kind };
    expect(await findStep(database.db, named)).toEqual(step);
    expect(await tx((t) => takeStep(t, { ...named, kind: "passkey" }))).toBeNull();
    expect(await tx((t) => takeStep(t, named))).toEqual(step);
    expect(await tx((t) => takeStep(t, named))).toBeNull();
    const { id: accountId } = await sampleAccount(database.db);
    await tx((t) => insertStep(t, { ...step, accountId }));
    await tx((t) => deleteStepsOf(t, accountId));
    expect(await findStep(database.db, named)).toBeNull();
    await tx((t) => insertStep(t, step));
    expect(await tx((t) => pruneSteps(t, { before: NOW + 1, limit: 9 }))).toBe(0);
    expect(await tx((t) => pruneSteps(t, { before: NOW + 2, limit: 9 }))).toBe(1);
  });

  test("a bucket is full at first, is stored, and is deleted once it is full", async () => {
    const of = { kind: "confirm", digest: digest() } as const;
    expect(await tx((t) => lockAttempts(t, { ...of, now: NOW }))).toBe(NOW);
    await tx((t) => writeAttempts(t, { ...of, fullAt: NOW + 60 }));
    expect(await tx((t) => lockAttempts(t, { ...of, now: NOW + 5 }))).toBe(NOW + 60);
    expect(await tx((t) => pruneAttempts(t, { before: NOW + 60, limit: 9 }))).toBe(0);
    expect(await tx((t) => pruneAttempts(t, { before: NOW + 61, limit: 9 }))).toBe(1);
  });
});

describe("The record of sign-ins", () => {
  const signIn = (accountId: number, at: number) =>
    tx((t) =>
      insertSignIn(t, { accountId, at, method: "password", ua: "a browser", remoteAddr: "192.0.2.1" }),
    );
  const list = (accountId: number, limit = 9) => listSignIns(database.db, { accountId, limit });

  test("has the newest first, each with what failed before it, and ends with the account", async () => {
    const [{ id: accountId }, other] = [await sampleAccount(database.db), await sampleAccount(database.db)];
    const fail = (id: number | null, at: number) => tx((t) => addSignInFailure(t, { accountId: id, at }));
    await signIn(accountId, NOW);
    for (const at of [NOW + 1, NOW + 2]) await fail(accountId, at);
    await fail(other.id, NOW + 3);
    expect(await findSignInFailures(database.db, accountId)).toEqual({ count: 2, lastAt: NOW + 2 });
    await signIn(accountId, NOW + 4);
    expect(await findSignInFailures(database.db, accountId)).toBeNull();
    expect(await findSignInFailures(database.db, other.id)).toEqual({ count: 1, lastAt: NOW + 3 });
    const row = { method: "password", ua: "a browser", remoteAddr: "192.0.2.1" };
    expect(await list(accountId)).toEqual([
      { ...row, at: NOW + 4, failedCount: 2 },
      { ...row, at: NOW, failedCount: 0 },
    ]);
    await fail(accountId, NOW + 5);
    await database.db.pool.query("delete from accounts where id = $1", [accountId]);
    expect([await list(accountId), await findSignInFailures(database.db, accountId)]).toEqual([[], null]);
  });

  test("keeps so many of an account, and none from before an instant", async () => {
    const [{ id: accountId }, other] = [await sampleAccount(database.db), await sampleAccount(database.db)];
    await signIn(other.id, NOW);
    for (const at of [NOW, NOW + 1, NOW + 2]) await signIn(accountId, at);
    expect(await tx((t) => trimSignIns(t, { accountId, keep: 2 }))).toBe(1);
    expect((await list(accountId)).map(({ at }) => at)).toEqual([NOW + 2, NOW + 1]);
    expect(await tx((t) => pruneSignIns(t, { before: NOW + 2, limit: 100 }))).toBeGreaterThanOrEqual(2);
    expect((await list(accountId)).map(({ at }) => at)).toEqual([NOW + 2]);
    expect(await list(other.id)).toEqual([]);
  });

  test("contains nothing of unknown addresses", async () => {
    // The other one was just closed.
    for (const accountId of [null, 999_999_999]) await tx((t) => addSignInFailure(t, { accountId, at: NOW }));
    const { rowCount } = await database.db.pool.query(
      "select from sign_in_failures where account_id is null or account_id = 999999999",
    );
    expect(rowCount).toBe(0);
  });
});
