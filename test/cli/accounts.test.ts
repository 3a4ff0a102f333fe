// Letting people in from the command line: for whoever is locked out, and where no mail is sent.
import { Secret, TOTP } from "otpauth";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { beginAuthenticator, finishAuthenticator } from "../../src/operations/credentials.ts";
import { readInvitation } from "../../src/operations/members.ts";
import { isSetupLink, readLink } from "../../src/operations/sign-in.ts";
import { findAccountByEmail } from "../../src/store/accounts.ts";
import { findAuthenticator } from "../../src/store/credentials.ts";
import { openTestDatabase } from "../support/database.ts";
import { callOverdue, useDurablePostgres } from "./run-overdue.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const postgres = useDurablePostgres();
let environment: Record<string, string> = {};
let url = "";

beforeAll(async () => {
  url = await postgres.newDatabase();
  environment = { OVERDUE_DATABASE_URL: url, OVERDUE_SITE_URL: "https://overdue.example.org/watch" };
  await callOverdue(["migrate"], environment);
  await callOverdue(["admin", "create-account", "--email", "ann@example.org"], environment);
});

const admin = (...options: string[]) => callOverdue(["admin", ...options], environment);
const visitor = () => ({ ua: "", remoteAddr: null, network: "", now: Date.now() });

async function onDatabase<T>(work: (db: ReturnType<typeof openTestDatabase>) => Promise<T>): Promise<T> {
  const db = openTestDatabase(url);
  try {
    return await work(db);
  } finally {
    await db.close();
  }
}

describe("overdue admin", () => {
  test("login-link prints a link that signs in once", async () => {
    const { code, out } = await admin("login-link", "--json");
    expect(code).toBe(0);
    const { account, link, minutes } = JSON.parse(out) as Record<string, unknown>;
    expect([account, minutes]).toEqual(["ann@example.org", 60]);
    const token = /^https:\/\/overdue\.example\.org\/watch\/accounts\/link\/([\w-]{43})\/$/.exec(
      String(link),
    )?.[1];
    const read = await onDatabase((db) => readLink(db, { token: token ?? "", visitor: visitor() }));
    expect(read).toEqual({ email: "ann@example.org", isNew: false });
    expect(await onDatabase((db) => isSetupLink(db, { token: token ?? "", now: Date.now() }))).toBe(false);
    const unknown = await admin("login-link", "--account", "nobody@example.org");
    expect([unknown.code, unknown.err]).toEqual([
      1,
      expect.stringContaining("No account found for nobody@example.org"),
    ]);
  });

  test("reset-2fa removes an authenticator app", async () => {
    expect((await admin("reset-2fa")).out).toBe("ann@example.org has no authenticator app.\n");
    const secretKey = "a-secret-of-the-operator-0123456789";
    const accountId = await onDatabase(async (db) => {
      const account = await findAccountByEmail(db, "ann@example.org");
      const person = { accountId: account?.id ?? 0, email: "ann@example.org" };
      const now = Date.now();
      const { secret } = await beginAuthenticator(db, { person, secretKey, siteName: "Overdue", now });
      const app = new TOTP({ secret: Secret.fromBase32(secret.replaceAll(" ", "")) });
      await finishAuthenticator(db, {
        person,
        code: app.generate({ timestamp: now }),
        secrets: { current: secretKey, previous: null },
        now,
      });
      return person.accountId;
    });
    expect(JSON.parse((await admin("reset-2fa", "--json")).out)).toEqual({
      account: "ann@example.org",
      removed: true,
    });
    expect(await onDatabase((db) => findAuthenticator(db, accountId))).toBeNull();
  });

  test("invite prints a link that makes an account", async () => {
    const { out } = await admin("invite", "--email", "Bob@Example.org", "--json");
    const { link, days } = JSON.parse(out) as Record<string, unknown>;
    expect(days).toBe(14);
    const token = String(link).split("/").at(-2) ?? "";
    const read = await onDatabase((db) => readInvitation(db, { token, now: Date.now() }));
    expect(read).toMatchObject({
      hasAccount: false,
      invitation: { email: "bob@example.org", projectId: null },
    });
    expect((await admin("invite", "--email", "ann@example.org")).err).toContain(
      "An account for ann@example.org already exists.",
    );
  });
});
