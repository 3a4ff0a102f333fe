// The operations behind `overdue admin`, on a real database: what is stored, and what is rejected.
import { createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import { createAccount } from "../../src/operations/accounts.ts";
import { setCheckLimit } from "../../src/operations/admin.ts";
import { createKeys } from "../../src/operations/api-keys.ts";
import { digestOfKey, secretKeyOf } from "../../src/operations/secrets.ts";
import { listAudit } from "../../src/operations/audit.ts";
import { createProject } from "../../src/operations/projects.ts";
import { findAccountByEmail } from "../../src/store/accounts.ts";
import { findKeyWithProject, listApiKeys } from "../../src/store/api-keys.ts";
import { findSecretKey } from "../../src/store/instance.ts";
import { findProjectByUuid, findProjectOwner } from "../../src/store/projects.ts";
import { useDatabase } from "../support/database.ts";

const database = useDatabase();
const NOW = Date.UTC(2026, 10, 15);
const SECRET_KEY = "a-secret-of-the-operator-0123456789";

let accountCount = 0;
function newAccount(changes: Partial<Parameters<typeof createAccount>[1]> = {}) {
  accountCount += 1;
  const email = `person${accountCount}@example.org`;
  return createAccount(database.db, {
    email,
    name: "",
    isAdmin: false,
    checkLimit: null,
    now: NOW,
    ...changes,
  });
}

async function newProject(name = "Backups") {
  const owner = await newAccount();
  const made = await createProject(database.db, { ownerId: owner.id, name, secretKey: SECRET_KEY, now: NOW });
  return { owner, made };
}

const lookUp = async (key: string, secretKey = SECRET_KEY) =>
  (await findKeyWithProject(database.db, [digestOfKey({ key, secretKey })]))?.key ?? null;

describe("create-account", () => {
  test("stores the address in lower case, and the rest as given", async () => {
    const made = await newAccount({
      email: " Alice@Example.ORG ",
      name: "Alice",
      isAdmin: true,
      checkLimit: 7,
    });
    const stored = await findAccountByEmail(database.db, "alice@example.org");
    expect(stored).toEqual(made);
    expect(stored).toMatchObject({ name: "Alice", isAdmin: true, checkLimit: 7, createdAt: NOW });
  });

  test("rejects a second account for an address, in any letter case", async () => {
    await newAccount({ email: "twice@example.org" });
    await expect(newAccount({ email: "TWICE@example.org" })).rejects.toMatchObject({
      code: "conflict",
      message: "An account for twice@example.org already exists.",
    });
  });

  test.each(["", "alice", "@example.org", "a b@example.org", "a@b@c", `${"a".repeat(250)}@b.org`])(
    "refuses %j as an address",
    async (email) => {
      await expect(newAccount({ email })).rejects.toMatchObject({ code: "invalid" });
    },
  );

  test("refuses a name that is too long", async () => {
    await expect(newAccount({ name: "x".repeat(201) })).rejects.toMatchObject({ code: "invalid" });
  });
});

describe("create-project", () => {
  test("makes a project with an owner and three keys", async () => {
    const { owner, made } = await newProject("  Backups ");
    const project = await findProjectByUuid(database.db, made.uuid);
    expect(project).toMatchObject({ name: "Backups", pingKey: made.pingKey, createdAt: NOW });
    expect(await findProjectOwner(database.db, project?.id ?? 0)).toEqual(owner);
    expect(await lookUp(made.apiKey)).toMatchObject({ kind: "readWrite", projectId: project?.id });
    expect(await lookUp(made.apiKeyReadonly)).toMatchObject({ kind: "readOnly", projectId: project?.id });
  });

  test("stores a digest that needs the secret, and of the key itself only its beginning", async () => {
    const { made } = await newProject();
    expect(await lookUp(made.apiKey, "another secret")).toBeNull();
    expect(digestOfKey({ key: made.apiKey, secretKey: SECRET_KEY })).toEqual(
      createHmac("sha256", SECRET_KEY).update(made.apiKey).digest(),
    );
    const found = await lookUp(made.apiKey);
    const keys = await listApiKeys(database.db, found?.projectId ?? 0);
    expect(keys.find(({ id }) => id === found?.id)?.prefix).toBe(made.apiKey.slice(0, 12));
  });

  test.each(["", "   ", "x".repeat(201)])("refuses %j as a name", async (name) => {
    await expect(newProject(name)).rejects.toMatchObject({ code: "invalid" });
  });
});

describe("create-keys", () => {
  const keysFor = (uuid: string, changes: Partial<Parameters<typeof createKeys>[1]> = {}) =>
    createKeys(database.db, {
      projectUuid: uuid,
      kinds: ["readWrite", "readOnly"],
      name: "",
      replace: false,
      secretKey: SECRET_KEY,
      now: NOW + 1,
      ...changes,
    });

  test("adds keys beside those that are there", async () => {
    const { made } = await newProject();
    const added = await keysFor(made.uuid, { name: "for the new server" });
    expect(added).toMatchObject({ pingKey: made.pingKey, revokedCount: 0 });
    const found = await lookUp(added.keys.readWrite ?? "");
    const keys = await listApiKeys(database.db, found?.projectId ?? 0);
    expect(keys.find(({ id }) => id === found?.id)?.name).toBe("for the new server");
    expect(await lookUp(made.apiKey)).not.toBeNull();
  });

  test("makes only the kinds asked for, and replaces only those", async () => {
    const { made } = await newProject();
    const replaced = await keysFor(made.uuid, { kinds: ["readOnly"], replace: true });
    expect(replaced).toMatchObject({ keys: { readOnly: expect.any(String) }, revokedCount: 1 });
    expect(replaced.keys.readWrite).toBeUndefined();
    expect(await lookUp(made.apiKeyReadonly)).toBeNull();
    expect(await lookUp(made.apiKey)).not.toBeNull();
    const again = await keysFor(made.uuid, { kinds: ["readOnly"], replace: true });
    expect(again.revokedCount).toBe(1);
  });

  test("refuses an unknown project, and changes nothing", async () => {
    const uuid = "00000000-0000-4000-8000-000000000000";
    await expect(keysFor(uuid)).rejects.toMatchObject({ code: "not_found" });
  });

  test("refuses a name that is too long, before the old keys are gone", async () => {
    const { made } = await newProject();
    await expect(keysFor(made.uuid, { name: "x".repeat(101), replace: true })).rejects.toMatchObject({
      code: "invalid",
    });
    const project = await findProjectByUuid(database.db, made.uuid);
    expect(await listApiKeys(database.db, project?.id ?? 0)).toHaveLength(2);
  });
});

describe("set-check-limit", () => {
  test("sets a limit, and null removes it", async () => {
    const { email } = await newAccount();
    const limitOf = async () => (await findAccountByEmail(database.db, email))?.checkLimit;
    await setCheckLimit(database.db, { email: email.toUpperCase(), checkLimit: 0, now: NOW });
    expect(await limitOf()).toBe(0);
    await setCheckLimit(database.db, { email, checkLimit: null, now: NOW });
    expect(await limitOf()).toBeNull();
  });

  test("refuses an address without an account", async () => {
    const wanted = { email: "nobody@example.org", checkLimit: 3, now: NOW };
    await expect(setCheckLimit(database.db, wanted)).rejects.toMatchObject({ code: "not_found" });
  });
});

describe("what the command line does", () => {
  const record = async (projectId: number | null, subject: string) =>
    (await listAudit(database.db, { projectId })).entries
      .filter((entry) => projectId !== null || entry.subject === subject)
      .map(({ what, before, after, accountId, keyId }) => {
        expect([accountId, keyId]).toEqual([null, null]);
        return { what, before, after };
      });

  test("is in the audit log of the server: accounts and their limits", async () => {
    const { email } = await newAccount({ isAdmin: true });
    for (const checkLimit of [5, 5]) await setCheckLimit(database.db, { email, checkLimit, now: NOW });
    expect(await record(null, email)).toEqual([
      { what: "account.limitChanged", before: { checkLimit: null }, after: { checkLimit: 5 } },
      { what: "account.created", before: null, after: { isAdmin: true, checkLimit: null } },
    ]);
  });

  test("is in the audit log of the project: its creation, and its keys", async () => {
    const { made } = await newProject("Recorded");
    const project = await findProjectByUuid(database.db, made.uuid);
    const kinds = ["readOnly"] as const;
    const request = { projectUuid: made.uuid, kinds, name: "deploy", replace: true, now: NOW };
    await createKeys(database.db, { ...request, secretKey: SECRET_KEY });
    expect(await record(project?.id ?? 0, "")).toEqual([
      { what: "key.created", before: null, after: { kind: "readOnly", name: "deploy" } },
      { what: "key.revoked", before: { kind: "readOnly", name: "" }, after: null },
      { what: "project.created", before: null, after: { name: "Recorded" } },
    ]);
    const { entries } = await listAudit(database.db, { projectId: project?.id ?? 0 });
    expect(entries.map(({ subject }) => subject)).toEqual([
      "deploy",
      expect.stringMatching(/^odr_\w{8}…$/),
      "Recorded",
    ]);
  });
});

test("keys are hashed with the configured secret, or with the one stored in the database", async () => {
  expect(await secretKeyOf(database.db, SECRET_KEY)).toBe(SECRET_KEY);
  expect(await secretKeyOf(database.db, null)).toBe(await findSecretKey(database.db));
  expect(await secretKeyOf(database.db, null)).toMatch(/^[0-9a-f]{64}$/);
});
