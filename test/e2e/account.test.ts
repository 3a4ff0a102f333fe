// The page of an account: how things are shown, the ways to sign in, the sessions, and the end of the account.
import { Secret, TOTP } from "otpauth";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { statement } from "../../src/store/db.ts";
import { accessibilityTrouble, visit } from "../support/browser.ts";
import {
  addAuthenticator,
  button,
  expectGone,
  expectSeen,
  expectSoon,
  notice,
  person,
} from "./at-the-screen.ts";
import { type Opened, useSite } from "./use-site.ts";

const used = useSite();
const PASSWORD = "four words in a row";

const LONG_AGO = statement<object>({
  name: "e2e.long_ago",
  text: "update sessions set proven_at = now() - interval '2 hours', created_at = now() - interval '3 hours'",
});

const ADD_IDENTITY = statement<object>({
  name: "e2e.add_identity",
  text: `insert into oidc_identities (issuer, subject, account_id, created_at, last_used_at)
    values ('https://id.example.org', 'somebody', $1, now(), now())`,
});

const ADD_SIGN_INS = statement<object>({
  name: "e2e.add_sign_ins",
  text: `insert into sign_ins (account_id, at, method, ua, remote_addr, failed_count)
    select $1, now() - interval '1 day', 'link', '', '192.0.2.7', 0 from generate_series(1, 4)`,
});

const part = (page: Page, title: string) =>
  page.locator("section.section", { has: page.getByRole("heading", { name: title, exact: true }) });

async function openAccount(email: string): Promise<Opened & { accountId: number }> {
  const accountId = await person(used, email);
  const opened = await used.open({ accountId });
  await visit(opened.page, `${used.site.url}/accounts/profile/`);
  await expectSeen(part(opened.page, "Profile"));
  return { ...opened, accountId };
}

async function setPassword(page: Page): Promise<void> {
  await button(part(page, "Password"), "Set password").click();
  const form = page.getByRole("dialog");
  await form.getByLabel("New password").fill(PASSWORD);
  await button(form, "Save").click();
  await expectSeen(notice(page, "Password set."));
}

/** Sets an authenticator app up, after a wrong code if that is wanted. */
async function setUpApp(
  page: Page,
  { isMistyped }: { isMistyped: boolean },
): Promise<{ app: TOTP; codes: string[] }> {
  await button(part(page, "Authenticator app"), "Set up").click();
  const dialog = page.getByRole("dialog");
  const secret = ((await (await expectSeen(dialog.locator("pre"))).textContent()) ?? "").replaceAll(" ", "");
  const app = new TOTP({ secret: Secret.fromBase32(secret) });
  if (isMistyped) {
    await dialog.getByLabel("Code from the app").fill("000000");
    await button(dialog, "Turn on").click();
    await expectSeen(dialog.getByRole("alert"));
  }
  await dialog.getByLabel("Code from the app").fill(app.generate());
  await button(dialog, "Turn on").click();
  const kept = await expectSeen(page.getByLabel("Recovery codes", { exact: true }));
  const codes = ((await kept.textContent()) ?? "").trim().split(/\s+/);
  await button(page.getByRole("dialog"), "I've saved them").click();
  await expectSeen(part(page, "Authenticator app").getByText(/recovery codes left/));
  return { app, codes };
}

/** Signs in by password in a window of its own, up to whatever comes after the password. */
async function signIn(email: string, password = PASSWORD): Promise<Opened> {
  const opened = await used.open({ signedIn: false });
  await visit(opened.page, `${used.site.url}/accounts/login/`);
  await opened.page.locator("#field-email").fill(email);
  await opened.page.getByLabel("Password").fill(password);
  await button(opened.page, "Sign in").click();
  return opened;
}

test("name, theme, rows and time zone are kept", async () => {
  const { page, context, complaints } = await openAccount("profile@example.org");
  await part(page, "Profile").getByLabel("Name").fill("Pat");
  await button(part(page, "Profile"), "Save").click();
  await expectSeen(notice(page, "Saved."));
  await page.getByLabel("Theme").selectOption("dark");
  await expectSoon(() => page.locator("html").getAttribute("data-theme")).toBe("dark");
  const kept = page.waitForResponse((one) => one.request().postData()?.includes("compact") === true);
  await page.getByLabel("Row density").selectOption("compact");
  expect((await kept).status()).toBe(200);
  expect(await page.locator("html").getAttribute("data-density")).toBe("compact");
  const reloaded = page.waitForEvent("load");
  await page.getByLabel("Time zone").fill("tokyo");
  await page.getByLabel("Time zone").press("Enter");
  await reloaded;
  await expectSeen(part(page, "Profile"));
  expect(await page.getByLabel("Time zone").inputValue()).toBe("Asia/Tokyo");
  expect(await page.locator("html").getAttribute("data-theme")).toBe("dark");
  expect(await page.locator("html").getAttribute("data-density")).toBe("compact");
  expect(await page.getByLabel("Row density").inputValue()).toBe("compact");
  await expectSoon(() => page.locator(".account-button").textContent()).toContain("Pat");
  expect(complaints).toEqual([]);
  await context.close();
});

test("times are those of the browser until a zone is chosen, and again afterwards", async () => {
  const { page, context, complaints } = await openAccount("zone@example.org");
  const zone = page.getByLabel("Time zone");
  const shown = (text: string) => expectSeen(page.locator(".foot").getByText(text, { exact: true }));
  const choose = async (value: string) => {
    const reloaded = page.waitForEvent("load");
    await zone.fill(value);
    await zone.press("Enter");
    await reloaded;
  };
  expect(await zone.inputValue()).toBe("Browser time zone (Europe/Riga)");
  await shown("Browser time zone: Europe/Riga");
  await choose("Asia/Tokyo");
  await shown("Time zone: Asia/Tokyo");
  await choose("browser time zone");
  await shown("Browser time zone: Europe/Riga");
  expect(complaints).toEqual([]);
  await context.close();
});

test("a password that is too short is refused with a sentence; a good one signs in, a wrong one does not", async () => {
  const { page, context } = await openAccount("password@example.org");
  await button(part(page, "Password"), "Set password").click();
  const form = page.getByRole("dialog");
  await form.getByLabel("New password").fill("short");
  await button(form, "Save").click();
  await expectSeen(form.getByRole("alert"));
  await page.keyboard.press("Escape");
  await button(page.getByRole("alertdialog"), "Discard changes").click();
  await setPassword(page);
  const wrong = await signIn("password@example.org", "something else entirely");
  await expectSeen(wrong.page.getByRole("alert"));
  await wrong.context.close();
  const right = await signIn("password@example.org");
  await right.page.waitForURL(`${used.site.url}/`);
  await right.context.close();
  await context.close();
});

test("an authenticator app is required after the password, and a recovery code replaces it once", async () => {
  const email = "totp@example.org";
  const { page, context } = await openAccount(email);
  await setPassword(page);
  const { app, codes } = await setUpApp(page, { isMistyped: true });
  expect(codes.length).toBeGreaterThan(5);
  const [recovery = ""] = codes;

  const first = await signIn(email);
  await expectSeen(first.page.getByRole("heading", { name: "Two-factor authentication" }));
  await first.page.getByLabel("Code").fill("123456");
  await button(first.page, "Sign in").click();
  await expectSeen(first.page.getByRole("alert"));
  // A code is good once, and the first one was used to turn it on: the next one is of the next half minute.
  await first.page.getByLabel("Code").fill(app.generate({ timestamp: Date.now() + 30_000 }));
  await button(first.page, "Sign in").click();
  await first.page.waitForURL(`${used.site.url}/`);
  await first.context.close();

  for (const [attempt, isGood] of [recovery, recovery].map((code, index) => [code, index === 0] as const)) {
    const again = await signIn(email);
    await again.page.getByLabel("Code").fill(attempt);
    await button(again.page, "Sign in").click();
    if (isGood) await again.page.waitForURL(`${used.site.url}/`);
    else await expectSeen(again.page.getByRole("alert"));
    await again.context.close();
  }
  await context.close();
});

test("a passkey is added and signs in", async () => {
  const { page, context } = await openAccount("passkey@example.org");
  await setPassword(page);
  await addAuthenticator(page);
  await button(part(page, "Passkeys"), "Add passkey").click();
  const form = page.getByRole("dialog");
  await form.getByLabel("Name").fill("laptop");
  await button(form, "Continue").click();
  await expectSeen(notice(page, "Passkey added."));
  await expectSeen(page.getByRole("list", { name: "Passkeys" }).getByText("laptop"));
  await page.locator(".account-button").click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await page.waitForURL(/\/accounts\/login\//);
  await button(page, "Sign in with a passkey").click();
  await page.waitForURL(`${used.site.url}/`);
  await visit(page, `${used.site.url}/accounts/profile/`);
  await expectSeen(page.getByText("passkey@example.org").first());
  await button(page, "Remove laptop").click();
  await button(page.getByRole("dialog"), "Remove").click();
  await expectSeen(notice(page, "Passkey removed."));
  await context.close();
});

test("an identity of the provider is removed, but not as the last way in", async () => {
  const { page, context, accountId } = await openAccount("provider@example.org");
  await used.site.database.query(ADD_IDENTITY, [accountId]);
  await page.reload();
  const remove = async () => {
    await button(page, "Remove https://id.example.org").click();
    await button(page.getByRole("dialog"), "Remove").click();
  };
  await remove();
  await expectSeen(page.getByRole("dialog").getByText("This is your only sign-in method"));
  expect(await accessibilityTrouble(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await setPassword(page);
  await remove();
  await expectSeen(notice(page, "Identity removed."));
  await expectGone(part(page, "Identity providers"));
  await context.close();
});

test("who signed in is on record, and tries that failed are counted", async () => {
  const email = "record@example.org";
  const { page, context, complaints, accountId } = await openAccount(email);
  await setPassword(page);
  const wrong = await signIn(email, "something else entirely");
  await expectSeen(wrong.page.getByRole("alert"));
  await wrong.context.close();
  await page.reload();
  const record = page.getByRole("list", { name: "Sign-ins" });
  await expectSoon(() => record.getByRole("listitem").count()).toBe(1);
  await expectSeen(part(page, "Sign-ins").getByText(/^1 attempt with a wrong password or code since/));
  await used.site.database.query(ADD_SIGN_INS, [accountId]);
  const right = await signIn(email);
  await right.page.waitForURL(`${used.site.url}/`);
  await right.context.close();
  await page.reload();
  await expectSoon(() => record.getByRole("listitem").count()).toBe(5);
  await expectSoon(() => record.getByRole("listitem").first().textContent()).toMatch(
    /after 1 failed attempt.*with a password/,
  );
  await button(part(page, "Sign-ins"), "Show 1 earlier sign-in").click();
  await expectSoon(() => record.getByRole("listitem").count()).toBe(6);
  expect(await accessibilityTrouble(page)).toEqual([]);
  expect(complaints).toEqual([]);
  await context.close();
});

test("a session elsewhere is ended, and that browser is signed out", async () => {
  const { page, context, accountId } = await openAccount("sessions@example.org");
  const other = await used.open({ accountId });
  await visit(other.page, `${used.site.url}/accounts/profile/`);
  await page.reload();
  const sessions = page.getByRole("list", { name: "Sessions" });
  await expectSoon(() => sessions.getByRole("listitem").count()).toBe(2);
  await sessions
    .getByRole("button", { name: /^Sign out/ })
    .first()
    .click();
  await expectSeen(notice(page, "Session signed out."));
  await expectSoon(() => sessions.getByRole("listitem").count()).toBe(1);
  await other.page.reload();
  await other.page.waitForURL(/\/accounts\/login\//);
  await other.context.close();
  await context.close();
});

test("a dangerous action requires re-authentication after a while, and continues afterwards", async () => {
  const email = "proof@example.org";
  const { page, context } = await openAccount(email);
  await setPassword(page);
  await used.site.database.query(LONG_AGO, []);
  await page.reload();
  await button(part(page, "Password"), "Change password").click();
  await page.waitForURL(/\/accounts\/confirm\//);
  await page.getByLabel("Password").fill(PASSWORD);
  await page.locator("main form button").first().click();
  await page.waitForURL(/\/accounts\/profile\//);
  await expectSeen(page.getByRole("dialog", { name: "Choose a password" }));
  await context.close();
});

test("a user with an authenticator app is asked for its code as well", async () => {
  const { page, context, complaints } = await openAccount("proof-app@example.org");
  await setPassword(page);
  const { codes } = await setUpApp(page, { isMistyped: false });
  await used.site.database.query(LONG_AGO, []);
  await page.reload();
  await button(part(page, "Password"), "Change password").click();
  await page.waitForURL(/\/accounts\/confirm\//);
  await expectSeen(page.getByText("You also need a code from your authenticator app"));
  expect(await accessibilityTrouble(page)).toEqual([]);
  const code = page.getByLabel("Authenticator code or recovery code");
  await page.getByLabel("Password").fill(PASSWORD);
  await button(page, "Confirm").click();
  // The browser itself wants the second field.
  expect(await page.locator("#field-code:invalid").count()).toBe(1);
  await code.fill("not a code");
  await button(page, "Confirm").click();
  await expectSeen(page.getByRole("alert"));
  await page.getByLabel("Password").fill(PASSWORD);
  await code.fill(codes[0] ?? "");
  await button(page, "Confirm").click();
  await page.waitForURL(/\/accounts\/profile\//);
  await expectSeen(page.getByRole("dialog", { name: "Choose a password" }));
  expect(complaints.filter((text) => !text.includes("400"))).toEqual([]);
  await context.close();
});

test("an account is closed when its address is typed, and does not come in again", async () => {
  const email = "leaving@example.org";
  const { page, context } = await openAccount(email);
  await setPassword(page);
  await button(page, "Close my account").click();
  const question = page.getByRole("dialog", { name: "Close your account?" });
  await question.getByRole("textbox").fill(email);
  await button(question, "Close my account").click();
  await page.waitForURL(/\/accounts\/login\//);
  await expectGone(question);
  const again = await signIn(email);
  await expectSeen(again.page.getByRole("alert"));
  await again.context.close();
  await context.close();
});
